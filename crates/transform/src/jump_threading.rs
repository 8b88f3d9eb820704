//! Threads jumps past blocks whose branch condition is known on an incoming edge.
//!
//! Requires: Stage::Source.  Ensures: Stage::Source.
//! Invariant: blocks keep their names and instructions; branch targets and φ operands change.
//!
//! clang compiles a `break` to a block like block5, which tests the same condition again:
//!
//! ```text
//!     block3:  br v1, block4, block5                    block3:  br v1, block4, block6
//!     block4:  …;  br block5                            block4:  …;  br block5
//!     block5:  v2 = phi [block4: v3], [block3: v4]      block5:  v2 = phi [block4: v3]
//!              br v1, block2, block6                             br v1, block2, block6
//!     block6:  v5 = phi [block5: v2], …                 block6:  v5 = phi [block5: v2], [block3: v4], …
//! ```
//!
//! The condition may be a φ with a constant operand on the edge. Loop-carried values then need no select for lanes that
//! leave. The branch of block5 is implied by that of block3, which dominates it, and becomes a jump. The bypassed block
//! has no other instructions, so lanes that met there behave as before. Edges into and back to loop headers stay.

use heddle_analysis::{Cfg, CycleForest, DominatorTree, Edge};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Constant, Function, Inst, Op, Value};

use crate::edges::{add_incoming, phis, set_incoming};

/// Maximum number of rounds: a redirected jump may lead to another block with the same condition.
const MAX_ROUNDS: usize = 4;
/// Maximum number of dominators to search for a branch on the same condition.
const MAX_DOMINATOR_STEPS: usize = 16;

/// Edge that can bypass a block.
#[derive(Clone, Copy)]
struct ThreadedJump {
    from: Block,
    /// Slot of the target to change.
    slot: usize,
    past: Block,
    to: Block,
}

/// Threads all jumps with a known target; returns their number.
pub fn thread_jumps(func: &mut Function) -> usize {
    let mut count = 0;
    for _ in 0..MAX_ROUNDS {
        let found = find_jumps(func);
        if found.is_empty() {
            break;
        }
        count += found.len();
        found.into_iter().for_each(|jump| redirect(func, jump));
    }
    if count > 0 {
        implied_branches(func).into_iter().for_each(|(block, slot)| make_unconditional(func, block, slot));
    }
    count
}

/// Branches whose slot is implied by a dominating branch on the same condition, with that slot.
fn implied_branches(func: &Function) -> Vec<(Block, usize)> {
    let cfg = Cfg::new(func);
    let dominators = DominatorTree::new(&cfg);
    let known = |block: Block| {
        let (condition, _) = branch_of(func, block)?;
        let above = std::iter::successors(dominators.idom(block), |&block| dominators.idom(block));
        let implied = above.take(MAX_DOMINATOR_STEPS).find_map(|from| {
            let (before, targets) = branch_of(func, from).filter(|&(before, _)| before == condition)?;
            let dominates_block =
                |&target: &Block| dominators.dominates(target, block) && cfg.preds(target).len() == 1;
            Some((before, targets.iter().position(dominates_block)?))
        });
        Some((block, implied?.1))
    };
    func.blocks().filter(|&block| func.predicate(block).is_none()).filter_map(known).collect()
}

/// Replaces a block's branch by a jump to one target.
fn make_unconditional(func: &mut Function, block: Block, slot: usize) {
    let Some((_, targets)) = branch_of(func, block) else { return };
    for phi in phis(func, targets[1 - slot]) {
        let remaining: Vec<(Block, Value)> =
            func.inst(phi).incoming().filter(|&(pred, _)| pred != block).collect();
        set_incoming(func, phi, remaining);
    }
    if let Some(branch) = func.terminator(block) {
        let origin = func.inst(branch).origin;
        *func.inst_mut(branch) = InstData { origin, ..InstData::jump(targets[slot]) };
    }
}

/// Condition and targets of a block's branch.
fn branch_of(func: &Function, block: Block) -> Option<(Value, [Block; 2])> {
    let data = func.inst(func.terminator(block)?);
    match (data.op, data.targets()) {
        (Op::Br, &[then, otherwise]) if then != otherwise => Some((data.args[0], [then, otherwise])),
        _ => None,
    }
}

/// Slot that a block's branch takes if control comes from this predecessor, if that is known.
fn target_from(func: &Function, past: Block, condition: Value, from: Block) -> Option<usize> {
    let own = func.def_inst(condition).filter(|&inst| func.layout.block_of(inst) == Some(past));
    let condition = match own {
        Some(phi) => func.inst(phi).incoming_from(from)?,
        None => condition,
    };
    if let Some(Constant::Scalar(_, bits)) = func.constant(condition) {
        return Some(usize::from(*bits == 0));
    }
    let (_, targets) = branch_of(func, from).filter(|&(before, _)| before == condition)?;
    targets.iter().position(|&target| target == past)
}

/// Finds jumps to thread; no two of them share a block.
fn find_jumps(func: &Function) -> Vec<ThreadedJump> {
    let cfg = Cfg::new(func);
    let mut analyses: Option<(CycleForest, EntitySet<Value>)> = None;
    let mut touched: EntitySet<Block> = EntitySet::new();
    let mut found = Vec::new();
    for past in func.blocks() {
        let Some((condition, past_targets)) = branch_of(func, past) else { continue };
        let is_empty = func.block_insts(past).all(|inst| matches!(func.inst(inst).op, Op::Phi | Op::Br));
        if !is_empty || func.predicate(past).is_some() || past_targets.contains(&past) {
            continue;
        }
        for &from in cfg.preds(past) {
            let Some(slot_taken) = target_from(func, past, condition, from) else { continue };
            let Some(branch) = func.terminator(from).filter(|&inst| func.inst(inst).op == Op::Br) else {
                continue;
            };
            let targets = func.inst(branch).targets();
            let is_single_edge = targets.iter().filter(|&&target| target == past).count() == 1;
            let Some(slot) = targets.iter().position(|&target| target == past) else { continue };
            let to = past_targets[slot_taken];
            if !is_single_edge || func.predicate(from).is_some() || targets.contains(&to) || from == past {
                continue;
            }
            let (forest, elsewhere) =
                analyses.get_or_insert_with(|| (CycleForest::new(&cfg), phis_read_elsewhere(func)));
            let is_header = forest.headed_by(past).is_some();
            let is_back_edge = forest.is_retreating(Edge { from: past, to });
            let is_read = |phi: Inst| func.results(phi).iter().any(|&value| elsewhere.contains(value));
            let is_free = ![from, past, to].iter().any(|&block| touched.contains(block));
            if is_header || is_back_edge || !is_free || func.phis(past).any(is_read) {
                continue;
            }
            [from, past, to].into_iter().for_each(|block| _ = touched.insert(block));
            found.push(ThreadedJump { from, slot, past, to });
        }
    }
    found
}

/// φs with readers other than φs of successors and their own block's branch.
fn phis_read_elsewhere(func: &Function) -> EntitySet<Value> {
    let phi_block = |value: Value| {
        let inst = func.def_inst(value).filter(|&inst| func.inst(inst).op == Op::Phi)?;
        func.layout.block_of(inst)
    };
    let mut elsewhere = EntitySet::new();
    for inst in func.blocks().flat_map(|block| func.block_insts(block)) {
        let data = func.inst(inst);
        if data.op == Op::Phi {
            let incoming: Vec<(Block, Value)> = data.incoming().collect();
            let shadow = data.args.get(incoming.len()).copied();
            let foreign = incoming.into_iter().filter(|&(from, value)| phi_block(value) != Some(from));
            foreign.map(|(_, value)| value).chain(shadow).for_each(|value| _ = elsewhere.insert(value));
        } else {
            let of_branch =
                |value: Value| data.op == Op::Br && phi_block(value) == func.layout.block_of(inst);
            let read = data.args.iter().filter(|&&value| !of_branch(value));
            read.for_each(|&value| _ = elsewhere.insert(value));
        }
    }
    elsewhere
}

fn redirect(func: &mut Function, jump: ThreadedJump) {
    let ThreadedJump { from, slot, past, to } = jump;
    let operand = |func: &Function, value: Value| {
        let phi = func.def_inst(value).filter(|&inst| func.layout.block_of(inst) == Some(past))?;
        func.inst(phi).incoming_from(from)
    };
    for phi in phis(func, to) {
        let Some(value) = func.inst(phi).incoming_from(past) else { continue };
        let value = operand(func, value).unwrap_or(value);
        add_incoming(func, phi, from, value);
    }
    for phi in phis(func, past) {
        let remaining: Vec<(Block, Value)> =
            func.inst(phi).incoming().filter(|&(pred, _)| pred != from).collect();
        set_incoming(func, phi, remaining);
    }
    if let Some(branch) = func.terminator(from)
        && let Some(target) = func.inst_mut(branch).targets_mut().get_mut(slot)
    {
        *target = to;
    }
}
