//! What must hold of any bytes. The targets of `fuzz/` are calls of these, and panics are finds.

use heddle::Session;
use heddle_ir::Code;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{parse_bytes, parse_module};

/// Bytes are told what is wrong with them, or are a module that prints to what parses to the same.
pub fn parse(bytes: &[u8]) {
    match parse_bytes(bytes) {
        Ok(module) => {
            let text = module.to_string();
            let again = parse_module(&text).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
            assert_eq!(again.to_string(), text, "printed again, it differs");
        }
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty(), "an error without a diagnostic");
            assert!(
                diagnostics
                    .iter()
                    .all(|one| one.place.line >= 1 && one.place.column >= 1 && !one.to_string().is_empty())
            );
        }
    }
}

/// A module is told what is wrong with it at each stage. One that is right at the first can be canonicalized, and the
/// passes behind that do what they ensure, or refuse it by name.
pub fn verify(bytes: &[u8]) {
    let Ok(module) = parse_bytes(bytes) else { return };
    for &stage in Stage::ALL {
        if let Err(violations) = verify_module(&module, stage) {
            assert!(!violations.to_string().is_empty());
        }
    }
    if verify_module(&module, Stage::Source).is_err() {
        return;
    }
    let passes = ["simplify", "canonicalize", "simplify", "loops", "boscc:needed", "linearize"];
    for end in 1..=passes.len() {
        match Session::default().run_passes(&mut module.clone(), &passes[..end], true, |_, _| ()) {
            Ok(_) => {}
            Err(told) if told.code != Code::InvalidIr => return assert!(!told.text.is_empty()),
            Err(error) => panic!("{error}\n{module}"),
        }
    }
}
