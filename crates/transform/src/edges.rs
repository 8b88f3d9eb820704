//! Leading control-flow edges elsewhere, with the φs at their ends.
//!
//! A φ has one incoming value for each distinct predecessor, however many edges come from there.

use heddle_ir::function::Function;
use heddle_ir::inst::{Args, Blocks, Detail, InstData};
use heddle_ir::{Block, Inst, Op, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The φs of a block, collected so that the function may change while they are visited.
pub(crate) fn phis(func: &Function, block: Block) -> Vec<Inst> {
    func.phis(block).collect()
}

/// Makes every edge from `source` to `old` lead to `new`. The φs at both ends are the caller's.
pub(crate) fn retarget(func: &mut Function, source: Block, old: Block, new: Block) {
    let terminator = func.terminator(source).expect("a block that has successors has a terminator");
    for target in func.inst_mut(terminator).targets_mut() {
        if *target == old {
            *target = new;
        }
    }
}

/// Gives a φ new incoming edges; its shadow stays.
pub(crate) fn set_incoming(
    func: &mut Function,
    phi: Inst,
    incoming: impl IntoIterator<Item = (Block, Value)>,
) {
    let data = func.inst_mut(phi);
    let shadow = data.shadow();
    let (blocks, mut args): (Blocks, Args) = incoming.into_iter().unzip();
    args.extend(shadow);
    data.args = args;
    data.detail = Detail::Phi(blocks);
}

/// Adds an incoming edge to a φ, behind the others.
pub(crate) fn add_incoming(func: &mut Function, phi: Inst, from: Block, value: Value) {
    let data = func.inst_mut(phi);
    if let Detail::Phi(blocks) = &mut data.detail {
        data.args.insert(blocks.len(), value);
        blocks.push(from);
    }
}

/// Says that what came to the φs of `target` from one block now comes from those in its list, the same from each;
/// from none if the list is empty. Blocks without a list stay.
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

/// Puts an empty block between `target` and each group of its predecessors and returns the new blocks.
///
/// All edges from the blocks of a group to the target go through the group's new block, which takes over the
/// φs' choice among them. The target's φs keep their names, their places and their shadows.
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

/// Puts a φ at the start of a block and returns its result.
pub(crate) fn prepend_phi(func: &mut Function, block: Block, data: InstData, ty: heddle_ir::Type) -> Value {
    debug_assert_eq!(data.op, Op::Phi);
    let phi = func.make_inst(data, &[ty]);
    func.layout.prepend_inst(phi, block);
    func.results(phi)[0]
}
