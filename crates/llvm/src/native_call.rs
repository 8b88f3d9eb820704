//! Functions that are called as they are: through a pointer, with any number of arguments, or with vectors.
//!
//! The IR takes values apart and calls by name, so such a call is one of a function that is only declared, takes the
//! parts, and says by its name what they are. Emission gives it a body: it puts the parts together and calls. Vector code
//! calls it lane by lane, like all that is defined elsewhere.
//!
//! ```text
//!     heddle.outside.i32(ptr,...,i32).printf        int printf(const char*, …) with an int behind the format
//!     heddle.outside.4xf32(4xf32,i32).              through the pointer that comes first
//! ```
//!
//! The address of a function is that of a global of no bytes that is defined elsewhere, `heddle.address.NAME`.

use heddle_ir::Scalar;
use std::fmt::Write as _;

/// What the names of such functions begin with.
const CALLS: &str = "heddle.outside.";
/// What the names of functions' addresses begin with.
const ADDRESS: &str = "heddle.address.";
/// What stands before arguments that the function's type does not name.
const OPEN: &str = "...";

/// A value that a function takes or gives: a scalar, or a vector of so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NativeType {
    /// The type of the scalars; emission has it from the declaration.
    pub(crate) scalar: Option<Scalar>,
    /// How many; none if it is no vector.
    pub(crate) lanes: Option<u16>,
}

/// A function as it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NativeSignature {
    /// What it gives.
    pub(crate) results: Vec<NativeType>,
    /// What it takes.
    pub(crate) params: Vec<NativeType>,
    /// How many of those its type names, if it takes any number.
    pub(crate) fixed: Option<usize>,
    /// Its name; none if it is called through a pointer.
    pub(crate) callee: Option<String>,
}

/// The name of a function's address.
pub(crate) fn address_name(func: &str) -> String {
    format!("{ADDRESS}{func}")
}

/// The function whose address a global is, if it is one.
pub(crate) fn function_of_address(global: &str) -> Option<&str> {
    global.strip_prefix(ADDRESS)
}

impl NativeSignature {
    /// The name of the function that is called in its place.
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

    /// What a name says, if it is one of these.
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
    // Parentheses are taken.
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
