//! Modules: files, globals, declared functions and functions.

use crate::entity::PrimaryMap;
use crate::function::Function;
use crate::types::{Scalar, Space, Type};
use smallvec::SmallVec;
use std::sync::Arc;

crate::entity! {
    /// A source file of the module.
    pub File, "file"
}

crate::entity! {
    /// Something that a front end says and its back end understands; nothing in between does.
    pub MetadataNode, "fact"
}

/// What a fact is made of.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MetadataOperand {
    /// A text.
    Text(String),
    /// A fact that comes before this one.
    Node(MetadataNode),
    /// A number of this type, by its bits.
    Number(Scalar, u128),
}

/// Whether a function may be launched over an NDRange.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// An ordinary function.
    Function,
    /// A kernel, with the size of its work-group where the source fixes it.
    Kernel(Option<[u32; 3]>),
}

/// What a front end, a user or a caller says about the lanes of a parameter or result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DeclaredShape {
    /// The same in all lanes.
    Uniform,
    /// Lane 0's value plus these strides (bytes for pointers) for each step along each brush dimension.
    Linear(SmallVec<[i64; 2]>),
    /// Anything.
    Varying,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Param {
    /// Its type.
    pub ty: Type,
    /// What is said of its lanes; nothing said is `varying` to a caller, and open to an entry point's options.
    pub shape: Option<DeclaredShape>,
    /// Alignment of lane 0's value, a power of two; 1 if unknown.
    pub align: u32,
    /// Bytes that may be read at a pointer.
    pub dereferenceable: u64,
    /// Whether nothing else that the function touches aliases a pointer.
    pub noalias: bool,
    /// Whether the function does not write through a pointer.
    pub readonly: bool,
}

impl Param {
    /// A parameter of which only the type is known.
    pub const fn new(ty: Type) -> Param {
        Param { ty, shape: None, align: 1, dereferenceable: 0, noalias: false, readonly: false }
    }

    /// Whether it is a generic pointer to memory that lanes share, for a function of this kind.
    pub fn is_shared_pointer(&self, kind: FunctionKind) -> bool {
        let is_uniform = match &self.shape {
            Some(shape) => *shape == DeclaredShape::Uniform,
            None => matches!(kind, FunctionKind::Kernel(_)),
        };
        is_uniform && self.ty == Type::ptr(Space::Generic)
    }
}

/// A result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReturnValue {
    /// Its type.
    pub ty: Type,
    /// What is said of its lanes.
    pub shape: Option<DeclaredShape>,
}

/// What a call of a function may do beside giving results.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effects {
    /// Reads memory.
    pub reads: bool,
    /// Writes memory.
    pub writes: bool,
    /// Has undefined behaviour for some arguments.
    pub traps: bool,
    /// Depends on which lane it is, or on which are active with it.
    pub convergent: bool,
    /// May not return.
    pub endless: bool,
}

impl Effects {
    /// Anything.
    pub const ANY: Effects =
        Effects { reads: true, writes: true, traps: true, convergent: true, endless: true };
    /// Nothing.
    pub const PURE: Effects =
        Effects { reads: false, writes: false, traps: false, convergent: false, endless: false };

    /// The words of the text format, each with whether it is said.
    pub fn words(self) -> [(&'static str, bool); 5] {
        [
            ("reads", self.reads),
            ("writes", self.writes),
            ("traps", self.traps),
            ("convergent", self.convergent),
            ("endless", self.endless),
        ]
    }

    /// Whether the effect of this word is among them, to change it.
    pub fn word_mut(&mut self, word: &str) -> Option<&mut bool> {
        Some(match word {
            "reads" => &mut self.reads,
            "writes" => &mut self.writes,
            "traps" => &mut self.traps,
            "convergent" => &mut self.convergent,
            "endless" => &mut self.endless,
            _ => return None,
        })
    }
}

/// Types, shapes and effects of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// The parameters.
    pub params: Vec<Param>,
    /// The results; live-outs of a region are several.
    pub results: Vec<ReturnValue>,
    /// What a call may do.
    pub effects: Effects,
}

impl Signature {
    /// A signature of which only the types are known.
    pub fn new(params: &[Type], results: &[Type]) -> Signature {
        Signature {
            params: params.iter().map(|&ty| Param::new(ty)).collect(),
            results: results.iter().map(|&ty| ReturnValue { ty, shape: None }).collect(),
            effects: Effects::ANY,
        }
    }
}

/// What callers know of a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Declaration {
    /// Its name, without `@`.
    pub name: String,
    /// Function or kernel.
    pub kind: FunctionKind,
    /// Types, shapes and effects.
    pub signature: Signature,
}

/// A run of bytes in a global's initial contents.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GlobalInit {
    /// Values of one type, by their bits.
    Values(Scalar, Vec<u128>),
    /// This many zero bytes.
    Zero(u64),
    /// This many bytes that hold ⊤.
    Poison(u64),
    /// The address of a global plus an offset.
    Address(Arc<str>, i64),
    /// What another module defines: so many bytes at least, whose contents are not known. It is all that a global has.
    Extern(u64),
}

impl GlobalInit {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            GlobalInit::Values(scalar, values) => u64::from(scalar.bytes()) * values.len() as u64,
            GlobalInit::Zero(bytes) | GlobalInit::Poison(bytes) | GlobalInit::Extern(bytes) => *bytes,
            GlobalInit::Address(..) => 8,
        }
    }
}

/// A global object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Global {
    /// Its name, without `@`.
    pub name: Arc<str>,
    /// Where it lies.
    pub space: Space,
    /// Its alignment in bytes, a power of two.
    pub align: u32,
    /// Its contents at the start, run by run.
    pub init: Vec<GlobalInit>,
}

impl Global {
    /// Whether another module defines it.
    pub fn is_extern(&self) -> bool {
        matches!(self.init[..], [GlobalInit::Extern(_)])
    }

    /// The size in bytes.
    pub fn bytes(&self) -> u64 {
        self.init.iter().fold(0, |sum, init| sum.saturating_add(init.bytes()))
    }
}

/// A module.
#[derive(Clone, Default, Debug)]
pub struct Module {
    /// Source files, by name.
    pub files: PrimaryMap<File, String>,
    /// What a front end says, part by part; instructions refer to it.
    pub facts: PrimaryMap<MetadataNode, Vec<MetadataOperand>>,
    /// Global objects.
    pub globals: Vec<Global>,
    /// Functions that are only declared.
    pub declarations: Vec<Arc<Declaration>>,
    /// Functions.
    pub functions: Vec<Function>,
}

impl Module {
    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|func| func.name == name)
    }
    /// The same, to change it.
    pub fn function_mut(&mut self, name: &str) -> Option<&mut Function> {
        self.functions.iter_mut().find(|func| func.name == name)
    }
    /// The global of this name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|global| &*global.name == name)
    }
}
