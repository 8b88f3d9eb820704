//! The text format `.hed`: docs/text.md is its grammar.
//!
//! A printed function parses to an equal one with equal numbers, and prints to the same bytes again. The printer and
//! the parser share the rule for literals without a type, in `context`.
//!
//! ```
//! let text = "func @twice(v0: i32) -> i32 {\nblock0:\n  v1 = add v0, v0\n  ret v1\n}\n";
//! let module = heddle_ir::parse_module(text).unwrap();
//! assert_eq!(module.to_string(), text);
//! ```

mod context;
mod errors;
mod lexer;
mod literal;
mod names;
mod parser;
mod printer;
mod resolve;
mod syntax;

use crate::diagnostic::Diagnostic;
pub use literal::{read_scalar, write_scalar};
pub use printer::{AnnotatedLine, print_function_with, print_inst, print_operand, print_operation};

use crate::module::Module;
use errors::SyntaxErrors;

/// Parses a module.
pub fn parse_module(source: &str) -> Result<Module, Vec<Diagnostic>> {
    let mut errors = SyntaxErrors::default();
    let module = match u32::try_from(source.len()) {
        Ok(_) => {
            let text = lexer::TokenizedText::new(source);
            let tree = parser::parse(&text, &mut errors);
            resolve::resolve(&text, &tree, &mut errors)
        }
        Err(_) => {
            errors.push(0..0, "the text is larger than 4 GiB");
            Module::default()
        }
    };
    if errors.is_empty() { Ok(module) } else { Err(errors.into_diagnostics(source.as_bytes())) }
}

/// Parses a module from bytes; invalid UTF-8 is an error.
pub fn parse_bytes(source: &[u8]) -> Result<Module, Vec<Diagnostic>> {
    match std::str::from_utf8(source) {
        Ok(source) => parse_module(source),
        Err(error) => {
            let offset = error.valid_up_to();
            let mut errors = SyntaxErrors::default();
            let message = format!("byte 0x{:02x} at offset {offset} is not UTF-8", source[offset]);
            errors.push(offset..offset + 1, message);
            Err(errors.into_diagnostics(source))
        }
    }
}
