//! PTX, the assembly language of NVIDIA's GPUs: read, checked, printed, and lowered to the IR.
//!
//! [`parse`] gives a [`PtxModule`] that keeps every directive; its `Display` is the way back. The [`table`] says what
//! instructions there are. docs/ptx.md is the mapping.
#![forbid(unsafe_code)]

pub mod words;
pub mod names;
pub mod table;
pub mod module;
mod lexer;
mod parser;
mod printer;
mod check;
pub mod lower;
pub mod raise;

pub use check::check;
pub use lower::{LowerOptions, LoweredModule, lower};
pub use module::PtxModule;
pub use parser::parse;
pub use raise::{FunctionFacts, ModuleFacts, RaiseOptions, raise};
pub use words::Word;
