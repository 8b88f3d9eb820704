//! PTX, the assembly language of NVIDIA GPUs: parser, checker, printer, lowering to the IR and back.
//!
//! [`parse`] builds a [`PtxModule`] that keeps every directive; its `Display` prints it. The [`table`] lists the
//! instructions. docs/ptx.md describes the mapping.
#![forbid(unsafe_code)]

pub mod words;
pub mod names;
pub mod operation;
pub mod table;
pub mod module;
mod lexer;
mod parser;
mod printer;
mod check;
mod link;
pub mod lower;
pub mod raise;

pub use check::check;
pub use link::link;
pub use lower::{LowerOptions, LoweredModule, lower};
pub use module::PtxModule;
pub use parser::parse;
pub use raise::{FunctionFacts, ModuleFacts, RaiseOptions, raise};
pub use words::Word;
