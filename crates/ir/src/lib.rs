//! The lock-step IR: SSA over basic blocks, executed by `W` lanes in lock-step.
//!
//! docs/ir.md is the definition. A [`Module`] holds [`Function`]s. A function keeps instruction data apart from
//! their order ([`Layout`]). The [ops table](ops) lists each instruction's name, operands and results. Analysis
//! results live in side tables, not in the function.
#![forbid(unsafe_code)]

pub mod entity;
pub mod types;
pub mod words;
pub mod ops;
pub mod constant;
pub mod list;
pub mod inst;
pub mod layout;
pub mod function;
pub mod module;
pub mod typing;
pub mod builder;
mod expression;
pub mod diagnostic;
pub mod text;
pub mod verify;

pub use builder::{Builder, InsertPoint};
pub use constant::Constant;
pub use diagnostic::{Code, Diagnostic};
pub use function::{Function, ValueDef};
pub use inst::{Detail, InstData};
pub use layout::Layout;
pub use module::Module;
pub use ops::Op;
pub use text::{parse_bytes, parse_module};
pub use types::{Scalar, Space, Type};
pub use verify::{Stage, Violations, verify, verify_module};

entity! {
    /// A basic block.
    pub Block, "block"
}

entity! {
    /// A value: a parameter, an instruction's result or a constant.
    pub Value, "v"
}

entity! {
    /// An instruction.
    pub Inst, "inst"
}
