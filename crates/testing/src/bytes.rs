//! Properties of arbitrary bytes. The targets of `fuzz/` call these functions; panics are finds.

use heddle_compiler::Session;
use heddle_ir::Code;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{parse_bytes, parse_module};

/// Checks that bytes either give a diagnostic or parse to a module whose text parses to the same module.
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

/// Checks that the verifier accepts or diagnoses a module at each stage. A module valid at the first stage must
/// canonicalize, and later passes must establish their stage or refuse it by name.
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
            Err(diagnostic) if diagnostic.code != Code::InvalidIr => {
                return assert!(!diagnostic.text.is_empty());
            }
            Err(error) => panic!("{error}\n{module}"),
        }
    }
}
