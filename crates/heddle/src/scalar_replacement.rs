//! The pass `ssrqp`: its options in words, and what it says.

use crate::options::{not_understood, parse_races};
use heddle_ir::diagnostic::Place;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_transform::replace_scalars;
use heddle_transform::scalar_replacement::{Options, Replaced, Variant};
use heddle_transform::widen::{ChosenForm, Remark};

/// Options, with + in between: a variant, `races=excluded`.
pub(crate) fn parse_scalars(words: &str) -> Result<Options, Diagnostic> {
    let mut options = Options::default();
    for word in words.split('+').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("races", races)) => options.races = parse_races(races)?,
            _ => {
                let variant = Variant::ALL.into_iter().find(|variant| variant.name() == word);
                let names = Variant::ALL.map(|variant| format!("`{}`", variant.name())).join(", ");
                let way_out = format!("write one of {names}, or `races=excluded`");
                options.variant = variant.ok_or_else(|| not_understood(word, &way_out))?;
            }
        }
    }
    Ok(options)
}

/// Replaces scalars in all functions; says in which, and how many.
pub(crate) fn replace_scalars_of(module: &mut Module, options: &Options) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for func in &mut module.functions {
        let replaced = replace_scalars(func, options);
        if replaced != Replaced::default() {
            let told = Diagnostic::remark(Code::Scalars, replaced.to_string()).at(Place::of_func(&func.name));
            remarks.push(Remark { form: ChosenForm::Scalars, accesses: 0, told });
        }
    }
    remarks
}
