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
    /// A metadata node of the front end, opaque to all passes. The text format calls it a fact.
    pub MetadataNode, "fact"
}

/// Operand of a metadata node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MetadataOperand {
    /// A string.
    Text(String),
    /// An earlier node.
    Node(MetadataNode),
    /// A number of this type, as bits.
    Number(Scalar, u128),
}

/// Kind of a function: ordinary function or kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FunctionKind {
    /// An ordinary function.
    Function,
    /// A kernel, launched over an NDRange; with its work-group size if the source fixes one.
    Kernel(Option<[u32; 3]>),
}

/// Shape of a parameter or result, as declared by a front end, a user or a caller.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DeclaredShape {
    /// Equal in all lanes.
    Uniform,
    /// Lane 0's value plus these strides (bytes for pointers) along each brush dimension.
    Linear(SmallVec<[i64; 2]>),
    /// Arbitrary.
    Varying,
}

/// A parameter of a signature.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Param {
    /// The type.
    pub ty: Type,
    /// Declared shape. Callers treat an undeclared one as varying; options may set it for entry points.
    pub shape: Option<DeclaredShape>,
    /// Alignment of lane 0's value, a power of two; 1 if unknown.
    pub align: u32,
    /// Bytes that may be read through the pointer.
    pub dereferenceable: u64,
    /// True if nothing else that the function accesses aliases the pointer.
    pub noalias: bool,
    /// True if the function does not write through the pointer.
    pub readonly: bool,
}

impl Param {
    /// A parameter with a type and no further attributes.
    pub const fn new(ty: Type) -> Param {
        Param { ty, shape: None, align: 1, dereferenceable: 0, noalias: false, readonly: false }
    }

    /// True for a generic pointer to memory that lanes share, in a function of this kind.
    pub fn is_shared_pointer(&self, kind: FunctionKind) -> bool {
        let is_uniform = match &self.shape {
            Some(shape) => *shape == DeclaredShape::Uniform,
            None => matches!(kind, FunctionKind::Kernel(_)),
        };
        is_uniform && self.ty == Type::ptr(Space::Generic)
    }
}

/// A result of a signature.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReturnValue {
    /// The type.
    pub ty: Type,
    /// Declared shape.
    pub shape: Option<DeclaredShape>,
}

/// Side effects of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effects {
    /// Reads memory.
    pub reads: bool,
    /// Writes memory.
    pub writes: bool,
    /// Has undefined behaviour for some arguments.
    pub traps: bool,
    /// Depends on the lane's index or on the set of active lanes.
    pub convergent: bool,
    /// May not return.
    pub endless: bool,
}

impl Effects {
    /// All effects.
    pub const ANY: Effects =
        Effects { reads: true, writes: true, traps: true, convergent: true, endless: true };
    /// No effects.
    pub const PURE: Effects =
        Effects { reads: false, writes: false, traps: false, convergent: false, endless: false };

    /// The words of the text format, with the value of each effect.
    pub fn words(self) -> [(&'static str, bool); 5] {
        [
            ("reads", self.reads),
            ("writes", self.writes),
            ("traps", self.traps),
            ("convergent", self.convergent),
            ("endless", self.endless),
        ]
    }

    /// Returns the effect that a word of the text format names.
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
    /// The results; several for the live-outs of a region.
    pub results: Vec<ReturnValue>,
    /// Side effects of a call.
    pub effects: Effects,
}

impl Signature {
    /// A signature with types and no further attributes.
    pub fn new(params: &[Type], results: &[Type]) -> Signature {
        Signature {
            params: params.iter().map(|&ty| Param::new(ty)).collect(),
            results: results.iter().map(|&ty| ReturnValue { ty, shape: None }).collect(),
            effects: Effects::ANY,
        }
    }
}

/// A callee's name, kind and signature, as its callers see them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Declaration {
    /// The name, without `@`.
    pub name: String,
    /// The kind.
    pub kind: FunctionKind,
    /// Types, shapes and effects.
    pub signature: Signature,
}

/// Piece of a global's initializer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GlobalInit {
    /// Values of one type, as bits.
    Values(Scalar, Vec<u128>),
    /// This many zero bytes.
    Zero(u64),
    /// This many poison bytes.
    Poison(u64),
    /// Address of a global plus an offset.
    Address(Arc<str>, i64),
    /// Definition in another module, of at least this many bytes. It is a global's only piece.
    Extern(u64),
}

impl GlobalInit {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            GlobalInit::Values(scalar, values) => u64::from(scalar.bytes()) * values.len() as u64,
            GlobalInit::Zero(bytes) | GlobalInit::Poison(bytes) | GlobalInit::Extern(bytes) => *bytes,
            GlobalInit::Address(..) => 8,
        }
    }
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Global {
    /// The name, without `@`.
    pub name: Arc<str>,
    /// The address space.
    pub space: Space,
    /// Alignment in bytes, a power of two.
    pub align: u32,
    /// The initializer, piece by piece.
    pub init: Vec<GlobalInit>,
}

impl Global {
    /// True if another module defines it.
    pub fn is_extern(&self) -> bool {
        matches!(self.init[..], [GlobalInit::Extern(_)])
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.init.iter().fold(0, |sum, init| sum.saturating_add(init.bytes()))
    }
}

/// A module.
#[derive(Clone, Default, Debug)]
pub struct Module {
    /// Names of the source files.
    pub files: PrimaryMap<File, String>,
    /// Metadata of the front end; instructions refer to it.
    pub facts: PrimaryMap<MetadataNode, Vec<MetadataOperand>>,
    /// Global variables.
    pub globals: Vec<Global>,
    /// Declared functions without a body.
    pub declarations: Vec<Arc<Declaration>>,
    /// Defined functions.
    pub functions: Vec<Function>,
}

impl Module {
    /// Returns the function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|func| func.name == name)
    }
    /// Returns the function of this name, mutably.
    pub fn function_mut(&mut self, name: &str) -> Option<&mut Function> {
        self.functions.iter_mut().find(|func| func.name == name)
    }
    /// Returns the global of this name.
    pub fn global(&self, name: &str) -> Option<&Global> {
        self.globals.iter().find(|global| &*global.name == name)
    }
}

/// Returns the fact for a loop hint, given LLVM's name for it.
pub fn loop_hint(facts: &mut PrimaryMap<MetadataNode, Vec<MetadataOperand>>, name: &str) -> MetadataNode {
    let mut named = |parts: Vec<MetadataOperand>| {
        let known = facts.iter().find(|(_, known)| **known == parts).map(|(fact, _)| fact);
        known.unwrap_or_else(|| facts.push(parts))
    };
    let text = named(vec![MetadataOperand::Text(name.into())]);
    named(vec![MetadataOperand::Node(text)])
}
