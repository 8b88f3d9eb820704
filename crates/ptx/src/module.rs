//! Syntax tree of a PTX module, in source order, without comments and white space.
//!
//! Names and strings borrow from the source. Blocks in braces are not nested: a statement opens one, another closes it.

use crate::names::{PtxNames, Symbol};
use crate::words::Word;
use smallvec::SmallVec;

/// PTX module.
#[derive(Clone, Debug)]
pub struct PtxModule<'s> {
    /// Source text.
    pub source: &'s str,
    /// All names.
    pub names: PtxNames<'s>,
    /// Directives, variables and functions, in order.
    pub items: Vec<PtxItem<'s>>,
}

/// Top-level item of a module.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxItem<'s> {
    /// `.version 8.8`
    Version(&'s str),
    /// `.target sm_75, debug`
    Target(Vec<&'s str>),
    /// `.address_size 64`
    AddressSize(u64),
    /// `.file 1 "folder" "name"`, with time stamp and size.
    File {
        /// Number.
        number: u64,
        /// Folder, between the quotes.
        folder: Option<&'s str>,
        /// Name, between the quotes.
        name: &'s str,
        /// Time stamp and size.
        stamp: Option<(u64, u64)>,
    },
    /// `.section .debug_info { … }`: name, and the lines between the braces.
    Section(&'s str, Vec<DebugLine<'s>>),
    /// `.pragma "…";`
    Pragma(Vec<&'s str>),
    /// `.alias name, aliasee;`
    Alias(Symbol, Symbol),
    /// Variable.
    Variable(PtxVariable<'s>),
    /// Function or kernel, defined or declared.
    Function(PtxFunction<'s>),
}

impl PtxItem<'_> {
    /// True for a variable that another module defines.
    pub(crate) fn is_extern(&self) -> bool {
        matches!(self, PtxItem::Variable(variable) if variable.linkage == Some(Linkage::Extern))
    }
}

/// Line of a debug section.
#[derive(Clone, PartialEq, Debug)]
pub enum DebugLine<'s> {
    /// `name:`
    Label(&'s str),
    /// `.b8 1, 2, …`: type, and values as written.
    Data(Word, Vec<SmallVec<[&'s str; 4]>>),
}

/// Linkage of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// `.extern`
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

impl Linkage {
    /// Returns the directive, without its dot.
    pub const fn text(self) -> &'static str {
        match self {
            Linkage::Extern => "extern",
            Linkage::Visible => "visible",
            Linkage::Weak => "weak",
            Linkage::Common => "common",
        }
    }

    /// Returns the linkage of a directive.
    pub fn from_text(text: &str) -> Option<Linkage> {
        Some(match text {
            "extern" => Linkage::Extern,
            "visible" => Linkage::Visible,
            "weak" => Linkage::Weak,
            "common" => Linkage::Common,
            _ => return None,
        })
    }
}

/// Variable, register or parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxVariable<'s> {
    /// Offset in the source.
    pub at: usize,
    /// Linkage.
    pub linkage: Option<Linkage>,
    /// Space: `.global`, `.reg`, `.param`, ….
    pub space: Word,
    /// Attributes such as `.managed`, as written.
    pub attribute: Option<&'s str>,
    /// `.align N`.
    pub align: Option<u64>,
    /// `.v2` or `.v4`.
    pub vector: Option<Word>,
    /// Type of an element.
    pub ty: Word,
    /// `.ptr` of a kernel parameter: space of the pointee, and its alignment.
    pub pointer: Option<(Option<Word>, Option<u64>)>,
    /// Name; `_` for a parameter without one.
    pub name: Symbol,
    /// `%r<10>`: number of registers in a numbered range.
    pub range: Option<u64>,
    /// Number of elements along each dimension; none for an open dimension.
    pub dims: SmallVec<[Option<u64>; 1]>,
    /// Initial value.
    pub init: Option<Vec<PtxInitializer<'s>>>,
}

impl PtxVariable<'_> {
    /// Returns the size in bytes; none for open dimensions and on overflow.
    pub fn bytes(&self) -> Option<u64> {
        let lanes = match self.vector {
            Some(Word::V2) => 2,
            Some(Word::V4) => 4,
            Some(Word::V8) => 8,
            _ => 1,
        };
        let one = u64::from(self.ty.bits()?.div_ceil(8)).checked_mul(lanes)?;
        self.dims.iter().try_fold(one, |bytes, dim| bytes.checked_mul((*dim)?))
    }

    /// Returns the alignment in bytes.
    pub fn alignment(&self) -> u64 {
        let lanes = match self.vector {
            Some(Word::V2) => 2,
            Some(Word::V4) => 4,
            Some(Word::V8) => 8,
            _ => 1,
        };
        let natural = u64::from(self.ty.bits().unwrap_or(8).div_ceil(8)) * lanes;
        self.align.unwrap_or(natural).max(1)
    }
}

/// Part of an initial value. Braces are separate parts.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxInitializer<'s> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// Number.
    Number(PtxNumber<'s>),
    /// `name+4`, `generic(name)+4`.
    Address {
        /// Variable or function.
        name: Symbol,
        /// Addend.
        offset: Option<PtxNumber<'s>>,
        /// True for the generic address.
        generic: bool,
    },
}

/// Directives of a function: the keyword of each, and its numbers.
pub type Directives<'s> = Vec<(&'s str, SmallVec<[u64; 3]>)>;

/// Function or kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxFunction<'s> {
    /// Offset in the source.
    pub at: usize,
    /// Linkage.
    pub linkage: Option<Linkage>,
    /// Attributes such as `.unified`, as written.
    pub attribute: Option<&'s str>,
    /// True for kernels.
    pub is_kernel: bool,
    /// Results.
    pub returns: Vec<PtxVariable<'s>>,
    /// Name.
    pub name: Symbol,
    /// Parameters.
    pub params: Vec<PtxVariable<'s>>,
    /// `.maxntid 128, 1, 1`, `.noreturn`, …: the keyword of each, and its numbers.
    pub directives: Directives<'s>,
    /// Pragmas before the body.
    pub pragmas: Vec<Vec<&'s str>>,
    /// Body; none for a declaration.
    pub body: Option<Vec<PtxStatement<'s>>>,
}

/// Statement of a body.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxStatement<'s> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(Symbol, usize),
    /// Variable, registers or parameters of calls.
    Variable(PtxVariable<'s>),
    /// Instruction.
    Instruction(Box<PtxInstruction<'s>>),
    /// Instruction that the table does not have. Only the function that holds it is refused.
    Unknown {
        /// Offset in the source.
        at: usize,
        /// The instruction as written, without the semicolon.
        text: &'s str,
        /// Reason of the refusal.
        reason: String,
    },
    /// `.loc 1 10 3`, with its call site if inlined.
    Loc {
        /// File, line and column.
        place: [u64; 3],
        /// Function name, addend, and location of the call site.
        inlined: Option<(Symbol, Option<u64>, [u64; 3])>,
    },
    /// `.pragma "…";`
    Pragma(Vec<&'s str>),
    /// `name: .branchtargets L1, L2;` (or `.calltargets`).
    Targets {
        /// Offset in the source.
        at: usize,
        /// Name.
        name: Symbol,
        /// True for `.calltargets`.
        calls: bool,
        /// Labels or functions.
        list: Vec<Symbol>,
    },
    /// `name: .callprototype (ret) _ (params);`
    Prototype {
        /// Name.
        name: Symbol,
        /// Results of such functions.
        returns: Vec<PtxVariable<'s>>,
        /// Parameters of such functions.
        params: Vec<PtxVariable<'s>>,
        /// `.noreturn` and others.
        directives: Directives<'s>,
    },
}

/// Predicate guard of an instruction: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PtxGuard {
    /// Predicate register.
    pub register: Symbol,
    /// True for `@!p`.
    pub negated: bool,
}

/// Instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxInstruction<'s> {
    /// Offset in the source.
    pub at: usize,
    /// Predicate guard.
    pub guard: Option<PtxGuard>,
    /// Mnemonic.
    pub mnemonic: Symbol,
    /// Modifiers after the mnemonic.
    pub modifiers: SmallVec<[Symbol; 6]>,
    /// Operands.
    pub operands: SmallVec<[PtxOperand<'s>; 4]>,
    /// Row in the table of instruction forms.
    pub form: u16,
}

/// Number: its spelling and value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PtxNumber<'s> {
    /// Spelling, without the sign.
    pub text: &'s str,
    /// True if a minus precedes it.
    pub negative: bool,
    /// Value, sign included.
    pub value: NumberValue,
}

/// Value of a number, sign included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NumberValue {
    /// Integer, modulo 2^64.
    Int(u64),
    /// Bits of an `f32`.
    Single(u32),
    /// Bits of an `f64`.
    Double(u64),
}

/// Operand.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxOperand<'s> {
    /// Register, variable, label, function, or `_`.
    Name(Symbol),
    /// `%tid.x`: component of a register.
    Component(Symbol, Symbol),
    /// `!%p`
    Not(Symbol),
    /// `%p|%q`
    Pair(Symbol, Symbol),
    /// Number.
    Number(PtxNumber<'s>),
    /// `name+4`
    Sum(Symbol, PtxNumber<'s>),
    /// `name[4]`: address of an element.
    Element(Symbol, PtxNumber<'s>),
    /// `{a, b}`
    Vector(Vec<PtxOperand<'s>>),
    /// `(a, b)` of calls.
    List(Vec<PtxOperand<'s>>),
    /// `[a+4]`; with coordinates for textures: `[a, {x, y}]`.
    Address {
        /// Name or number.
        base: Box<PtxOperand<'s>>,
        /// Addend.
        offset: Option<PtxNumber<'s>>,
        /// Operands after commas.
        more: Vec<PtxOperand<'s>>,
    },
}

impl PtxOperand<'_> {
    /// Hands each name in the operand to `take`.
    pub fn names(&self, take: &mut impl FnMut(Symbol)) {
        let mut work = vec![self];
        while let Some(operand) = work.pop() {
            match operand {
                PtxOperand::Number(_) => {}
                PtxOperand::Name(name)
                | PtxOperand::Not(name)
                | PtxOperand::Sum(name, _)
                | PtxOperand::Element(name, _)
                | PtxOperand::Component(name, _) => take(*name),
                PtxOperand::Pair(first, second) => [*first, *second].into_iter().for_each(&mut *take),
                PtxOperand::Vector(parts) | PtxOperand::List(parts) => work.extend(parts),
                PtxOperand::Address { base, more, .. } => {
                    work.push(base.as_ref());
                    work.extend(more);
                }
            }
        }
    }
}
