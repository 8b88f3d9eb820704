//! The pass `params`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, store, word};
use crate::options::parse_default_shape;
use heddle_ir::module::DeclaredShape;
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};
use heddle_transform::specialize::root_functions;

pub(super) const INFO: PassInfo = PassInfo {
    name: "params",
    doc: "default shape for parameters without a declared shape",
    requires: Stage::Source,
    ensures: None,
    options: || describe(OPTIONS),
    parse: |word| Ok(Pass::Params(parse_default_shape(word)?)),
};

const OPTIONS: &[OptionWord<DeclaredShape>] = &[word("SHAPE", "`uniform` or `varying`", |shape, word| store(shape, parse_default_shape(word)))];

pub(super) fn run(shape: &DeclaredShape, module: &mut Module, _: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    let entered = root_functions(module);
    for func in module.functions.iter_mut().filter(|func| entered.contains(&func.name)) {
        for param in &mut func.signature.params {
            param.shape.get_or_insert_with(|| shape.clone());
        }
    }
    Ok(())
}
