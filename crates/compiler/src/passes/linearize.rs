//! The pass `linearize`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, parse_options, word};
use crate::options::parse_block;
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Diagnostic, Module};

pub(super) const INFO: PassInfo = PassInfo {
    name: "linearize",
    doc: "linearize divergent branches into predicated code",
    requires: Stage::Uniform,
    ensures: Some(Stage::Linear),
    options: || describe(OPTIONS),
    parse: |words| Ok(Pass::Linearize(parse_options(OPTIONS, words, EntitySet::new())?)),
};

const OPTIONS: &[OptionWord<EntitySet<Block>>] = &[word("BLOCK", "branch to linearize: `block1+block2` (default: divergent ones)", |blocks, word| parse_block(word).map(|block| _ = blocks.insert(block)))];

pub(super) fn run(named: &EntitySet<Block>, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    for func in &mut module.functions {
        let divergent = match named.is_empty() {
            true => context.analyses.divergent_branches(func)?,
            false => named.clone(),
        };
        heddle_transform::linearize(func, &divergent)?;
    }
    Ok(())
}
