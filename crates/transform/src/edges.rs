//! Redirects control-flow edges and updates the φs at their ends.
//!
//! A φ has one operand for each distinct predecessor, even if several edges come from it.

use heddle_ir::function::Function;
use heddle_ir::inst::{Args, BlockList, Detail, InstData};
use heddle_ir::{Block, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// φs of a block, collected so that the function may change during iteration.
pub(crate) fn phis(func: &Function, block: Block) -> Vec<Inst> {
    func.phis(block).collect()
}

/// Redirects all edges from `source` to `old` to `new`. The caller updates the φs at both ends.
pub(crate) fn retarget(func: &mut Function, source: Block, old: Block, new: Block) {
    let terminator = func.terminator(source).expect("a block that has successors has a terminator");
    for target in func.inst_mut(terminator).targets_mut() {
        if *target == old {
            *target = new;
        }
    }
}

/// Replaces the incoming edges of a φ; keeps its shadow.
pub(crate) fn set_incoming(
    func: &mut Function,
    phi: Inst,
    incoming: impl IntoIterator<Item = (Block, Value)>,
) {
    let data = func.inst_mut(phi);
    let shadow = data.shadow();
    let (blocks, mut args): (BlockList, Args) = incoming.into_iter().unzip();
    args.extend(shadow);
    data.args = args;
    data.detail = Detail::Phi(blocks);
}

/// Appends an incoming edge to a φ.
pub(crate) fn add_incoming(func: &mut Function, phi: Inst, from: Block, value: Value) {
    let data = func.inst_mut(phi);
    if let Detail::Phi(blocks) = &mut data.detail {
        data.args.insert(blocks.len(), value);
        blocks.push(from);
    }
}

/// Appends the latch's edge to a header φ, which was made before the loop's body.
pub(crate) fn set_latch_value(func: &mut Function, phi: Value, latch: Block, next: Value) {
    let phi = func.def_inst(phi).expect("a header φ gives the value");
    add_incoming(func, phi, latch, next);
}

/// Replaces φ predecessors of `target`: each listed block by the blocks in its list, which supply the same value. An
/// empty list removes the predecessor.
pub(crate) fn replace_predecessors(
    func: &mut Function,
    target: Block,
    replacement: &FxHashMap<Block, SmallVec<[Block; 2]>>,
) {
    for phi in phis(func, target) {
        let mut incoming = Vec::new();
        for (source, value) in func.inst(phi).incoming() {
            match replacement.get(&source) {
                None => incoming.push((source, value)),
                Some(sources) => incoming.extend(sources.iter().map(|&source| (source, value))),
            }
        }
        set_incoming(func, phi, incoming);
    }
}

/// Inserts an empty block before `target` for each group of its predecessors; returns the new blocks.
///
/// All edges from a group to the target go through the group's new block, and its φs merge the group's values. The
/// target's φs keep their names, their positions and their shadows.
pub(crate) fn funnel(func: &mut Function, target: Block, groups: &[Vec<Block>]) -> Vec<Block> {
    let mut group_of = FxHashMap::default();
    let mut funnels = Vec::with_capacity(groups.len());
    for (index, group) in groups.iter().enumerate() {
        let last = *group.last().expect("a group has a block");
        let funnel = func.insert_block_after(last);
        for &source in group {
            group_of.insert(source, index);
            retarget(func, source, target, funnel);
        }
        funnels.push(funnel);
    }
    for phi in phis(func, target) {
        let mut kept: Vec<(Option<usize>, (Block, Value))> = Vec::new();
        let mut grouped: Vec<Vec<(Block, Value)>> = vec![Vec::new(); groups.len()];
        for (source, value) in func.inst(phi).incoming() {
            match group_of.get(&source) {
                None => kept.push((None, (source, value))),
                Some(&group) => {
                    if grouped[group].is_empty() {
                        kept.push((Some(group), (funnels[group], value)));
                    }
                    grouped[group].push((source, value));
                }
            }
        }
        let ty = func.value_type(func.results(phi)[0]);
        let origin = func.inst(phi).origin;
        let mut incoming = Vec::with_capacity(kept.len());
        for (group, (source, value)) in kept {
            let value = match group {
                Some(group) if grouped[group].iter().any(|&(_, other)| other != value) => {
                    let data = InstData { origin, ..InstData::phi(grouped[group].iter().copied(), None) };
                    let inst = func.make_inst(data, &[ty]);
                    func.layout.append_inst(inst, source);
                    func.results(inst)[0]
                }
                _ => value,
            };
            incoming.push((source, value));
        }
        set_incoming(func, phi, incoming);
    }
    for &funnel in &funnels {
        append_jump(func, funnel, target);
    }
    funnels
}

/// Ends a block with a jump.
pub(crate) fn append_jump(func: &mut Function, block: Block, target: Block) {
    let jump = func.make_inst(InstData::jump(target), &[]);
    func.layout.append_inst(jump, block);
}

/// Inserts a φ at the start of a block and returns its result.
pub(crate) fn prepend_phi(func: &mut Function, block: Block, data: InstData, ty: heddle_ir::Type) -> Value {
    debug_assert_eq!(data.op, Op::Phi);
    let phi = func.make_inst(data, &[ty]);
    func.layout.prepend_inst(phi, block);
    func.results(phi)[0]
}
