//! Lowers `switch` to a chain of comparisons.
//!
//! ```text
//!     block0: switch v1, block9 [0: block7, 5: block8]
//!
//!     block0: v2 = icmp eq v1, 0    ──false──►  block10: v3 = icmp eq v1, 5    ──false──►  block9
//!             br v2, block7, block10                     br v3, block8, block9
//! ```
//!
//! The order of the chain decides nothing that a greedy schedule of the `switch` could not decide. A lane in the chain
//! corresponds to a lane of the `switch` at its target. Every block that waits for that target waits for the chain too,
//! since the chain leads there. The target itself waits for all of the chain that still leads to it, so all lanes of one
//! target arrive together. A schedule of the chain, without the chain's blocks, is thus a greedy schedule of the `switch`.
//!
//! Cases with the default target are left to the default. The chain inherits the block's predicate: the compared value is
//! defined only under it.

use heddle_ir::function::Origin;
use heddle_ir::inst::{Detail, InstData, SwitchDetail};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Builder, Constant, Function, InsertPoint};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::edges::replace_predecessors;

/// Lowers every `switch`.
pub(crate) fn lower_switches(func: &mut Function) {
    // For each target: the chain blocks that replace each switching block.
    let mut moved: FxHashMap<Block, FxHashMap<Block, SmallVec<[Block; 2]>>> = FxHashMap::default();
    let mut targets: Vec<Block> = Vec::new();
    let blocks: Vec<Block> = func.blocks().collect();
    for block in blocks {
        for (source, target) in lower_switch(func, block) {
            // Only φs need the predecessors.
            if func.phis(target).next().is_none() {
                continue;
            }
            let sources = moved.entry(target).or_insert_with(|| {
                targets.push(target);
                FxHashMap::default()
            });
            let sources = sources.entry(block).or_default();
            if sources.last() != Some(&source) {
                sources.push(source);
            }
        }
    }
    for target in targets {
        replace_predecessors(func, target, &moved[&target]);
    }
}

/// Lowers the `switch` at the end of a block, if any. Returns the edges that replace its own.
fn lower_switch(func: &mut Function, block: Block) -> Vec<(Block, Block)> {
    let Some(terminator) = func.terminator(block) else { return Vec::new() };
    let data = func.inst_mut(terminator);
    let Detail::Switch(switch) = &mut data.detail else { return Vec::new() };
    let SwitchDetail { cases, targets } = std::mem::take(&mut **switch);
    let (value, origin, default) = (data.args[0], data.origin, targets[0]);
    let predicate = func.predicate(block);
    let scalar = func.value_type(value).scalar();
    func.remove_inst(terminator);

    let others = |&(_, target): &(u128, Block)| target != default;
    let mut cases = cases.into_iter().zip(targets[1..].iter().copied()).filter(others).peekable();
    let mut edges = Vec::new();
    let mut here = block;
    while let Some((case, target)) = cases.next() {
        let is_last = cases.peek().is_none();
        let otherwise = if is_last { default } else { func.insert_block_after(here) };
        let case = func.make_const(Constant::Scalar(scalar, case));
        let mut builder = at_end(func, here, origin);
        let is_case = builder.icmp(IntPredicate::Eq, value, case);
        builder.branch(is_case, target, otherwise);
        edges.push((here, target));
        if is_last {
            edges.push((here, default));
        } else {
            func.set_predicate(otherwise, predicate);
            here = otherwise;
        }
    }
    if edges.is_empty() {
        at_end(func, block, origin).inst(InstData::jump(default), None);
        edges.push((block, default));
    }
    edges
}

fn at_end(func: &mut Function, block: Block, origin: Origin) -> Builder<'_> {
    let mut builder = Builder::new(func, InsertPoint::End(block));
    builder.set_origin(origin);
    builder
}
