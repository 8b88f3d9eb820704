//! Calls with LLVM's own signature: indirect, variadic, or with vectors.
//!
//! The IR decomposes values and calls by name. Such a call becomes one of a declared wrapper, which takes the scalars
//! and encodes their grouping in its name. Emission defines the wrapper: it packs the scalars and calls. Vector code
//! calls it lane by lane, like any external function.
//!
//! ```text
//!     heddle.outside.i32(ptr,...,i32).printf        int printf(const char*, …) with an int after the format
//!     heddle.outside.4xf32(4xf32,i32).              through the pointer that comes first
//! ```
//!
//! The address of a function is that of an external, empty global `heddle.address.NAME`.

use heddle_ir::Scalar;
use std::fmt::Write as _;

/// Prefix of wrapper names.
const CALLS: &str = "heddle.outside.";
/// Prefix of function address globals.
const ADDRESS: &str = "heddle.address.";
/// Marker before variadic arguments in a name.
const OPEN: &str = "...";

/// Native parameter or result: a scalar or a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NativeType {
    /// Scalar type; emission takes it from the declaration.
    pub(crate) scalar: Option<Scalar>,
    /// Number of lanes; none for a scalar.
    pub(crate) lanes: Option<u16>,
}

/// Native signature and callee of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NativeSignature {
    /// Results.
    pub(crate) results: Vec<NativeType>,
    /// Parameters.
    pub(crate) params: Vec<NativeType>,
    /// Number of fixed parameters of a variadic function.
    pub(crate) fixed: Option<usize>,
    /// Callee name; none for an indirect call.
    pub(crate) callee: Option<String>,
}

/// Returns the name of a function's address global.
pub(crate) fn address_name(func: &str) -> String {
    format!("{ADDRESS}{func}")
}

/// Returns the function whose address a global stands for.
pub(crate) fn function_of_address(global: &str) -> Option<&str> {
    global.strip_prefix(ADDRESS)
}

impl NativeSignature {
    /// Returns the wrapper's name.
    pub(crate) fn name(&self) -> String {
        let mut name = CALLS.to_string();
        for (index, &part) in self.results.iter().enumerate() {
            name.push_str(if index > 0 { "," } else { "" });
            write_part(&mut name, part);
        }
        name.push('(');
        for index in 0..=self.params.len() {
            if self.fixed == Some(index) {
                name.push_str(if index > 0 { "," } else { "" });
                name.push_str(OPEN);
            }
            let Some(&part) = self.params.get(index) else { continue };
            name.push_str(if index > 0 || self.fixed == Some(0) { "," } else { "" });
            write_part(&mut name, part);
        }
        name.push_str(").");
        name.push_str(self.callee.as_deref().unwrap_or_default());
        name
    }

    /// Parses a wrapper's name.
    pub(crate) fn parse(name: &str) -> Option<NativeSignature> {
        let (results, rest) = name.strip_prefix(CALLS)?.split_once('(')?;
        let (params, callee) = rest.split_once(").")?;
        let part = |text: &str| {
            let lanes = text.split_once('x').and_then(|(lanes, _)| lanes.parse().ok());
            NativeType { scalar: None, lanes }
        };
        let words = |text: &str| -> Vec<String> {
            text.split(',').filter(|word| !word.is_empty()).map(String::from).collect()
        };
        let params = words(params);
        Some(NativeSignature {
            results: words(results).iter().map(|word| part(word)).collect(),
            fixed: params.iter().position(|word| word == OPEN),
            params: params.iter().filter(|word| *word != OPEN).map(|word| part(word)).collect(),
            callee: Some(callee.to_string()).filter(|callee| !callee.is_empty()),
        })
    }
}

fn write_part(name: &mut String, part: NativeType) {
    if let Some(lanes) = part.lanes {
        _ = write!(name, "{lanes}x");
    }
    // Parentheses delimit the parameters.
    if let Some(scalar) = part.scalar {
        name.push_str(&scalar.to_string().replace(['(', ')'], "_"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_was_made_of() {
        let part = |lanes| NativeType { scalar: Some(Scalar::F32), lanes };
        for (results, params, fixed, callee) in [
            (vec![], vec![], None, None),
            (vec![part(None)], vec![part(None), part(Some(4))], None, Some("f")),
            (vec![part(Some(4)), part(None)], vec![part(None)], Some(0), Some("g.h(1).")),
            (vec![], vec![part(None), part(None)], Some(1), Some("printf")),
            (vec![], vec![part(None)], Some(1), None),
        ] {
            let one = NativeSignature { results, params, fixed, callee: callee.map(String::from) };
            let mut found = NativeSignature::parse(&one.name()).expect("it is one");
            for part in found.results.iter_mut().chain(&mut found.params) {
                part.scalar = Some(Scalar::F32);
            }
            assert_eq!(found, one, "{}", one.name());
        }
        assert_eq!(NativeSignature::parse("printf"), None);
        assert_eq!(function_of_address(&address_name("f")), Some("f"));
    }
}
