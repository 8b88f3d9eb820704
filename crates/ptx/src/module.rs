//! A PTX module as a tree: what the text says, in its order, without comments and blanks.
//!
//! Names and texts are borrowed from the source. Blocks in braces are not nested: a statement opens one, another closes it.

use crate::names::{PtxNames, Symbol};
use crate::words::Word;
use smallvec::SmallVec;

/// A module.
#[derive(Clone, Debug)]
pub struct PtxModule<'s> {
    /// The text that it was read from.
    pub source: &'s str,
    /// All names.
    pub names: PtxNames<'s>,
    /// Directives, variables and functions, in order.
    pub items: Vec<PtxItem<'s>>,
}

/// Something that stands at the top of a module.
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
        /// Its number.
        number: u64,
        /// The folder that it lies in, between the quotes, if told.
        folder: Option<&'s str>,
        /// Its name, between the quotes.
        name: &'s str,
        /// Time stamp and size, if told.
        stamp: Option<(u64, u64)>,
    },
    /// `.section .debug_info { … }`: its name and what stands between the braces, line by line.
    Section(&'s str, Vec<DebugLine<'s>>),
    /// `.pragma "…";`
    Pragma(Vec<&'s str>),
    /// `.alias name, aliasee;`
    Alias(Symbol, Symbol),
    /// A variable.
    Variable(PtxVariable<'s>),
    /// A function, a kernel, or the declaration of one.
    Function(PtxFunction<'s>),
}

/// A line of a debug section.
#[derive(Clone, PartialEq, Debug)]
pub enum DebugLine<'s> {
    /// `name:`
    Label(&'s str),
    /// `.b8 1, 2, …`: the type, the values as they are written.
    Data(Word, Vec<SmallVec<[&'s str; 4]>>),
}

/// Where a name is seen.
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
    /// The directive, without its dot.
    pub const fn text(self) -> &'static str {
        match self {
            Linkage::Extern => "extern",
            Linkage::Visible => "visible",
            Linkage::Weak => "weak",
            Linkage::Common => "common",
        }
    }

    /// The linkage of this directive.
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

/// A variable, a register or a parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxVariable<'s> {
    /// Where it starts in the source.
    pub at: usize,
    /// Where it is seen.
    pub linkage: Option<Linkage>,
    /// Its space: `.global`, `.reg`, `.param`, ….
    pub space: Word,
    /// Attributes such as `.managed`, as they are written.
    pub attribute: Option<&'s str>,
    /// `.align N`.
    pub align: Option<u64>,
    /// `.v2` or `.v4`.
    pub vector: Option<Word>,
    /// The type of an element.
    pub ty: Word,
    /// Of a kernel's parameter that is an address: what it points at, if that is told, and its alignment.
    pub pointer: Option<(Option<Word>, Option<u64>)>,
    /// Its name; `_` of a parameter without one.
    pub name: Symbol,
    /// `%r<10>`: how many registers of names with numbers behind.
    pub range: Option<u64>,
    /// The number of elements along each dimension; none where it is left open.
    pub dims: SmallVec<[Option<u64>; 1]>,
    /// Its contents at the start.
    pub init: Option<Vec<PtxInitializer<'s>>>,
}

impl PtxVariable<'_> {
    /// The number of bytes, if all dimensions are known and it is not too large to count.
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

    /// Its alignment in bytes.
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

/// A part of an initial value. Braces are parts of their own.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxInitializer<'s> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// A number.
    Number(PtxNumber<'s>),
    /// `name+4`, `generic(name)+4`.
    Address {
        /// The variable or function.
        name: Symbol,
        /// What is added.
        offset: Option<PtxNumber<'s>>,
        /// Whether it is the generic address.
        generic: bool,
    },
}

/// Directives of a function: the word of each, and its numbers.
pub type Directives<'s> = Vec<(&'s str, SmallVec<[u64; 3]>)>;

/// A function or kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxFunction<'s> {
    /// Where it starts in the source.
    pub at: usize,
    /// Where it is seen.
    pub linkage: Option<Linkage>,
    /// Attributes such as `.unified`, as they are written.
    pub attribute: Option<&'s str>,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// What it returns.
    pub returns: Vec<PtxVariable<'s>>,
    /// Its name.
    pub name: Symbol,
    /// Its parameters.
    pub params: Vec<PtxVariable<'s>>,
    /// `.maxntid 128, 1, 1`, `.noreturn`, …: the directive, its numbers.
    pub directives: Directives<'s>,
    /// Pragmas in front of the body.
    pub pragmas: Vec<Vec<&'s str>>,
    /// What it does; none of a declaration.
    pub body: Option<Vec<PtxStatement<'s>>>,
}

/// A statement of a body.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxStatement<'s> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(Symbol, usize),
    /// A variable, registers or parameters of calls.
    Variable(PtxVariable<'s>),
    /// An instruction.
    Instruction(Box<PtxInstruction<'s>>),
    /// `.loc 1 10 3`, and where it was inlined.
    Loc {
        /// File, line and column.
        place: [u64; 3],
        /// The name of the function, the number added to it, and the place that it was inlined at.
        inlined: Option<(Symbol, Option<u64>, [u64; 3])>,
    },
    /// `.pragma "…";`
    Pragma(Vec<&'s str>),
    /// `name: .branchtargets L1, L2;` (or `.calltargets`).
    Targets {
        /// Where it starts in the source.
        at: usize,
        /// Its name.
        name: Symbol,
        /// Whether these are functions.
        calls: bool,
        /// The labels or functions.
        list: Vec<Symbol>,
    },
    /// `name: .callprototype (ret) _ (params);`
    Prototype {
        /// Its name.
        name: Symbol,
        /// What functions of this kind return.
        returns: Vec<PtxVariable<'s>>,
        /// Their parameters.
        params: Vec<PtxVariable<'s>>,
        /// `.noreturn` and others.
        directives: Directives<'s>,
    },
}

/// What an instruction waits for: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PtxGuard {
    /// The predicate.
    pub register: Symbol,
    /// Whether it must be false.
    pub negated: bool,
}

/// An instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxInstruction<'s> {
    /// Where it starts in the source.
    pub at: usize,
    /// Its predicate.
    pub guard: Option<PtxGuard>,
    /// What it is called.
    pub mnemonic: Symbol,
    /// The words behind the dots.
    pub modifiers: SmallVec<[Symbol; 6]>,
    /// The operands.
    pub operands: SmallVec<[PtxOperand<'s>; 4]>,
    /// Its row in the table of instructions.
    pub form: u16,
}

/// A number as it is written, and what it means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PtxNumber<'s> {
    /// How it is written, without its sign.
    pub text: &'s str,
    /// Whether a minus stands before it.
    pub negative: bool,
    /// Integers, or the bits of a float.
    pub value: NumberValue,
}

/// What a number means, its sign taken in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NumberValue {
    /// An integer, modulo 2^64.
    Int(u64),
    /// A single, by its bits.
    Single(u32),
    /// A double, by its bits.
    Double(u64),
}

/// An operand.
#[derive(Clone, PartialEq, Debug)]
pub enum PtxOperand<'s> {
    /// A register, a variable, a label, a function, or `_`.
    Name(Symbol),
    /// `%tid.x`: a component.
    Component(Symbol, Symbol),
    /// `!%p`
    Not(Symbol),
    /// `%p|%q`
    Pair(Symbol, Symbol),
    /// A number.
    Number(PtxNumber<'s>),
    /// `name+4`
    Sum(Symbol, PtxNumber<'s>),
    /// `name[4]`: the address of an element.
    Element(Symbol, PtxNumber<'s>),
    /// `{a, b}`
    Vector(Vec<PtxOperand<'s>>),
    /// `(a, b)`, of calls.
    List(Vec<PtxOperand<'s>>),
    /// `[a+4]`, and of textures `[a, {x, y}]`: base and what follows behind commas.
    Address {
        /// A name or a number.
        base: Box<PtxOperand<'s>>,
        /// What is added to it.
        offset: Option<PtxNumber<'s>>,
        /// What follows behind commas.
        more: Vec<PtxOperand<'s>>,
    },
}
