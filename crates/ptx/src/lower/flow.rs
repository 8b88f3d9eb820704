//! Control flow graph of a body: blocks, order, dominator tree, φ placement.
//!
//! A *slot* is a mutable location of PTX: a register, a word of a parameter, the carry flag.
//! Invariant: a guarded instruction that cannot become a select is in its own block.

use crate::check::{Label, Reg, ResolvedBody, ResolvedInst, ResolvedOperand, ResolvedStatement};
use crate::operation::PtxOperation;
use crate::table;
use crate::words::Word;
use std::ops::Range;

/// Terminator of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PtxTerminator {
    Jump(usize),
    /// Branches to `then` if the guard holds, else to `otherwise`.
    Branch {
        guard: Reg,
        negated: bool,
        then: usize,
        otherwise: usize,
    },
    /// Indirect branch by the instruction of this step.
    Switch {
        step: usize,
        targets: Vec<usize>,
        default: usize,
    },
    /// Waits by the instruction of this step, and goes on after it when the hub says so ([`super::meeting`]); or goes on before
    /// it when all threads have been at the hub.
    Wait {
        step: usize,
        is_yield: bool,
        site: usize,
        hub: usize,
    },
    /// End of the hub: goes on after the waits of these sites, waits again, or is stuck.
    Meet {
        resumed: Vec<usize>,
        hub: usize,
        stuck: usize,
    },
    /// No thread of the block can go on.
    Stuck,
    Return,
}

impl PtxTerminator {
    pub(crate) fn targets(&self) -> Vec<usize> {
        match self {
            PtxTerminator::Jump(target) => vec![*target],
            PtxTerminator::Branch { then, otherwise, .. } => vec![*then, *otherwise],
            PtxTerminator::Switch { targets, default, .. } => {
                let mut all = targets.clone();
                all.push(*default);
                all.sort_unstable();
                all.dedup();
                all
            }
            PtxTerminator::Wait { hub, .. } => vec![*hub],
            PtxTerminator::Meet { resumed, hub, stuck } => {
                let mut all = resumed.clone();
                all.extend([*hub, *stuck]);
                all
            }
            PtxTerminator::Stuck | PtxTerminator::Return => Vec::new(),
        }
    }
}

/// Basic block: a range of steps, and a terminator.
#[derive(Clone, Debug)]
pub(crate) struct PtxBlock {
    pub(crate) steps: Range<usize>,
    /// True if the preceding block branches on the guard of its one step.
    pub(crate) guarded: bool,
    /// Barrier after which the block starts, if it is resumed by the hub.
    pub(crate) resumes: Option<usize>,
    pub(crate) end: PtxTerminator,
}

/// Returns the operation of an instruction.
pub(crate) fn operation(inst: &ResolvedInst) -> PtxOperation {
    table::FORMS[usize::from(inst.form)].operation
}

/// True for a load or store of a parameter by name, which accesses slots and no memory.
pub(crate) fn is_named_param(inst: &ResolvedInst) -> bool {
    let is_param =
        inst.words.iter().any(|word| matches!(word, Word::Param | Word::ParamEntry | Word::ParamFunc));
    let named = |arg: &ResolvedOperand| matches!(arg, ResolvedOperand::Address { base, .. } if matches!(**base, ResolvedOperand::Variable(..)));
    is_param && inst.args.iter().any(named)
}

/// True if a guarded instruction becomes a select between old and new value.
fn is_choice(inst: &ResolvedInst) -> bool {
    use PtxOperation::*;
    match operation(inst) {
        Ld | St => is_named_param(inst),
        Integer(_) | Float(_) | Video(..) | Dp4a | Dp2a | Testp | Setp | Set | Selp | Slct | Mov | Cvt
        | Cvta | Isspacep | Hint | CachePolicy | Refused(_) => true,
        Ldu | Atom | Red | Cp | Bar | Mbarrier | Fence | Vote | Shfl | Match | Redux | Elect | Activemask
        | Call | Trap | Ret | Exit | Bra | Brx | Mma | Wmma | Ldmatrix | Stmatrix | Movmatrix | Tex
        | Tld4 | Txq | Suld | Sust => false,
    }
}

/// Splits a body into basic blocks. The first one is the entry and has no predecessors.
pub(crate) fn split_blocks(body: &ResolvedBody<'_, '_>) -> Vec<PtxBlock> {
    /// Branch target, to be resolved once all labels are known.
    enum PendingTarget {
        Next,
        At(Label),
        To(usize),
    }
    let mut label_blocks: Vec<usize> = vec![0; body.labels];
    /// Steps, guarded flag, guard of the terminator, targets, and step of an indirect branch.
    type UnresolvedBlock = (Range<usize>, bool, Option<(Reg, bool)>, Vec<PendingTarget>, Option<usize>);
    let mut list: Vec<UnresolvedBlock> = Vec::new();
    let mut start = 0;
    let count = body.steps.len();
    for (index, step) in body.steps.iter().enumerate() {
        let inst = match step {
            ResolvedStatement::Label(label) => {
                // A label always starts a block, so the entry has no predecessors.
                list.push((start..index, false, None, vec![PendingTarget::Next], None));
                start = index + 1;
                label_blocks[heddle_ir::entity::Entity::index(*label)] = list.len();
                continue;
            }
            ResolvedStatement::Inst(inst) => inst,
        };
        match operation(inst) {
            PtxOperation::Bra => {
                let Some(ResolvedOperand::Label(label)) = inst.args.first() else { continue };
                let targets = match inst.guard {
                    Some(_) => vec![PendingTarget::At(*label), PendingTarget::Next],
                    None => vec![PendingTarget::At(*label)],
                };
                list.push((start..index, false, inst.guard, targets, None));
                start = index + 1;
            }
            PtxOperation::Ret | PtxOperation::Exit => {
                match inst.guard {
                    Some(_) => {
                        let own = list.len() + 1;
                        list.push((
                            start..index,
                            false,
                            inst.guard,
                            vec![PendingTarget::To(own), PendingTarget::To(own + 1)],
                            None,
                        ));
                        list.push((index..index + 1, true, None, Vec::new(), None));
                    }
                    None => list.push((start..index + 1, false, None, Vec::new(), None)),
                }
                start = index + 1;
            }
            PtxOperation::Brx => {
                if inst.guard.is_some() {
                    let own = list.len() + 1;
                    list.push((
                        start..index,
                        false,
                        inst.guard,
                        vec![PendingTarget::To(own), PendingTarget::To(own + 1)],
                        None,
                    ));
                    start = index;
                }
                let labels = match inst.args.get(1) {
                    Some(ResolvedOperand::Targets(labels)) => labels.as_slice(),
                    _ => &[],
                };
                let targets = labels.iter().map(|&label| PendingTarget::At(label)).collect();
                list.push((start..index, inst.guard.is_some(), None, targets, Some(index)));
                start = index + 1;
            }
            _ if inst.guard.is_some() && !is_choice(inst) => {
                let own = list.len() + 1;
                list.push((
                    start..index,
                    false,
                    inst.guard,
                    vec![PendingTarget::To(own), PendingTarget::To(own + 1)],
                    None,
                ));
                list.push((index..index + 1, true, None, vec![PendingTarget::Next], None));
                start = index + 1;
            }
            _ => {}
        }
    }
    list.push((start..count, false, None, Vec::new(), None));
    let all = list.len();
    let mut ptx_blocks = Vec::with_capacity(all);
    for (index, (steps, guarded, guard, open, switch)) in list.into_iter().enumerate() {
        let targets: Vec<usize> = open
            .iter()
            .map(|target| match target {
                PendingTarget::Next => (index + 1).min(all - 1),
                PendingTarget::At(label) => label_blocks[heddle_ir::entity::Entity::index(*label)],
                PendingTarget::To(block) => (*block).min(all - 1),
            })
            .collect();
        let end = match (switch, guard, &targets[..]) {
            (Some(step), ..) => match targets.split_last() {
                Some((&default, _)) => PtxTerminator::Switch { step, targets, default },
                None => PtxTerminator::Return,
            },
            (_, Some((guard, negated)), &[then, otherwise]) if then != otherwise => {
                PtxTerminator::Branch { guard, negated, then, otherwise }
            }
            (_, _, &[target, ..]) => PtxTerminator::Jump(target),
            _ => PtxTerminator::Return,
        };
        ptx_blocks.push(PtxBlock { steps, guarded, resumes: None, end });
    }
    thread_jumps(&mut ptx_blocks);
    ptx_blocks
}

/// Maximum length of a chain of jumps that is threaded.
const MAX_JUMPS: usize = 16;

/// Jump threading: redirects edges past blocks that only jump. A guarded `bra` is often followed by a `bra.uni`.
fn thread_jumps(ptx_blocks: &mut [PtxBlock]) {
    let next: Vec<Option<usize>> = ptx_blocks
        .iter()
        .map(|block| match block.end {
            PtxTerminator::Jump(target) if block.steps.is_empty() => Some(target),
            _ => None,
        })
        .collect();
    let thread = |mut block: usize| {
        for _ in 0..MAX_JUMPS {
            match next[block] {
                Some(target) => block = target,
                None => break,
            }
        }
        block
    };
    for block in ptx_blocks.iter_mut() {
        match &mut block.end {
            PtxTerminator::Jump(target) => *target = thread(*target),
            PtxTerminator::Branch { then, otherwise, .. } => {
                let threaded = (thread(*then), thread(*otherwise));
                // The two edges keep different targets: φs distinguish edges by predecessor.
                if threaded.0 != threaded.1 {
                    (*then, *otherwise) = threaded;
                }
            }
            _ => {}
        }
    }
}

/// Reachable blocks with their predecessors and dominator tree.
pub(crate) struct PtxCfg {
    /// Reachable blocks in reverse postorder: each before those that it dominates.
    pub(crate) order: Vec<usize>,
    pub(crate) preds: Vec<Vec<usize>>,
    /// Children in the dominator tree.
    pub(crate) children: Vec<Vec<usize>>,
    frontier: Vec<Vec<usize>>,
}

const NONE: usize = usize::MAX;

impl PtxCfg {
    pub(crate) fn new(ptx_blocks: &[PtxBlock]) -> PtxCfg {
        let count = ptx_blocks.len();
        let successors: Vec<Vec<usize>> = ptx_blocks.iter().map(|block| block.end.targets()).collect();
        let mut order = Vec::new();
        let mut seen = vec![false; count];
        let mut stack = vec![(0, 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.pop() {
            match successors[block].get(next) {
                Some(&to) => {
                    stack.push((block, next + 1));
                    if !seen[to] {
                        seen[to] = true;
                        stack.push((to, 0));
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        let mut number = vec![NONE; count];
        for (index, &block) in order.iter().enumerate() {
            number[block] = index;
        }
        let mut preds = vec![Vec::new(); count];
        for &block in &order {
            for &to in &successors[block] {
                preds[to].push(block);
            }
        }
        // After: Cooper, Harvey & Kennedy, "A Simple, Fast Dominance Algorithm".
        let mut above = vec![NONE; count];
        above[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().skip(1) {
                let mut common = NONE;
                for &pred in preds[block].iter().filter(|&&pred| above[pred] != NONE) {
                    common = match common {
                        NONE => pred,
                        mut other => {
                            let mut here = pred;
                            while here != other {
                                while number[here] > number[other] {
                                    here = above[here];
                                }
                                while number[other] > number[here] {
                                    other = above[other];
                                }
                            }
                            here
                        }
                    };
                }
                if above[block] != common {
                    above[block] = common;
                    changed = true;
                }
            }
        }
        let mut children = vec![Vec::new(); count];
        for &block in order.iter().skip(1) {
            children[above[block]].push(block);
        }
        let mut frontier: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &block in order.iter().filter(|&&block| preds[block].len() > 1) {
            for &pred in &preds[block] {
                let mut runner = pred;
                while runner != above[block] {
                    if frontier[runner].last() != Some(&block) {
                        frontier[runner].push(block);
                    }
                    runner = above[runner];
                }
            }
        }
        PtxCfg { order, preds, children, frontier }
    }

    /// Computes the slots that need a φ in each block, by pruned SSA construction. `effects` lists the slots that each block
    /// reads before it writes them, and those that it writes.
    pub(crate) fn joins(&self, slots: usize, effects: &[(Vec<usize>, Vec<usize>)]) -> Vec<Vec<usize>> {
        let mut reads: Vec<Vec<usize>> = vec![Vec::new(); slots];
        let mut writes: Vec<Vec<usize>> = vec![Vec::new(); slots];
        for &block in &self.order {
            effects[block].0.iter().for_each(|&slot| reads[slot].push(block));
            effects[block].1.iter().for_each(|&slot| writes[slot].push(block));
        }
        let mut joins = vec![Vec::new(); effects.len()];
        let mut live = vec![NONE; effects.len()];
        let mut written = vec![NONE; effects.len()];
        let mut joined = vec![NONE; effects.len()];
        for slot in 0..slots {
            if reads[slot].is_empty() || writes[slot].is_empty() {
                continue;
            }
            writes[slot].iter().for_each(|&block| written[block] = slot);
            let mut work = reads[slot].clone();
            work.iter().for_each(|&block| live[block] = slot);
            while let Some(block) = work.pop() {
                for &pred in &self.preds[block] {
                    if written[pred] != slot && live[pred] != slot {
                        live[pred] = slot;
                        work.push(pred);
                    }
                }
            }
            let mut work = writes[slot].clone();
            while let Some(block) = work.pop() {
                for &join in &self.frontier[block] {
                    if live[join] == slot && joined[join] != slot {
                        joined[join] = slot;
                        joins[join].push(slot);
                        work.push(join);
                    }
                }
            }
        }
        joins
    }
}
