//! Control flow of a function: dominators, simple loops, and the conditions on the way to a block.

use crate::view::{Bb, Val};
use llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMValueKind};
use rustc_hash::FxHashMap;

/// Maximum number of dominating blocks whose conditions are read.
const MAX_CONDITIONS: usize = 16;

/// Dominator tree of the reachable blocks.
#[derive(Debug)]
pub(super) struct Flow<'m> {
    /// Reachable blocks in reverse postorder.
    pub(super) blocks: Vec<Bb<'m>>,
    numbers: FxHashMap<Bb<'m>, usize>,
    predecessors: Vec<Vec<usize>>,
    /// Immediate dominators; that of the entry is the entry.
    parents: Vec<usize>,
    /// First and last number of each subtree of the dominator tree.
    spans: Vec<(usize, usize)>,
}

/// Loop with one edge into its header and one back to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimpleLoop<'m> {
    pub(super) header: Bb<'m>,
    pub(super) entering: Bb<'m>,
    pub(super) latch: Bb<'m>,
}

/// Comparison that holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownComparison<'m> {
    pub(super) predicate: LLVMIntPredicate,
    pub(super) left: Val<'m>,
    pub(super) right: Val<'m>,
}

impl<'m> Flow<'m> {
    pub(super) fn new(func: Val<'m>) -> Flow<'m> {
        let blocks = func.reverse_postorder();
        let numbers: FxHashMap<_, _> =
            blocks.iter().enumerate().map(|(number, &block)| (block, number)).collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (number, block) in blocks.iter().enumerate() {
            for successor in block.terminator().map(Val::successors).unwrap_or_default() {
                predecessors[numbers[&successor]].push(number);
            }
        }
        let parents = dominators(&predecessors);
        let spans = spans(&parents);
        Flow { blocks, numbers, predecessors, parents, spans }
    }

    fn dominates_number(&self, above: usize, below: usize) -> bool {
        let ((first, last), (number, _)) = (self.spans[above], self.spans[below]);
        (first..=last).contains(&number)
    }

    /// True if a value is a constant or an argument, or its definition strictly dominates the block.
    pub(super) fn is_defined_above(&self, value: Val<'m>, block: Bb<'m>) -> bool {
        if value.kind() != LLVMValueKind::LLVMInstructionValueKind {
            return true;
        }
        let Some(&above) = self.numbers.get(&value.block()) else { return false };
        let below = self.numbers[&block];
        above != below && self.dominates_number(above, below)
    }

    /// Returns the simple loops, outer ones first.
    pub(super) fn loops(&self) -> Vec<SimpleLoop<'m>> {
        let of_header = |header: usize| {
            let (latches, entering): (Vec<usize>, Vec<usize>) =
                self.predecessors[header].iter().partition(|&&from| self.dominates_number(header, from));
            let (&[latch], &[entering]) = (&latches[..], &entering[..]) else { return None };
            let block = |number: usize| self.blocks[number];
            Some(SimpleLoop { header: block(header), entering: block(entering), latch: block(latch) })
        };
        (0..self.blocks.len()).filter_map(of_header).collect()
    }

    /// Returns comparisons that hold whenever control passes from one block to a successor.
    pub(super) fn facts(&self, from: Bb<'m>, to: Bb<'m>) -> Vec<KnownComparison<'m>> {
        let mut facts = Vec::new();
        facts.extend(fact_of_edge(from, to));
        let mut block = self.numbers[&from];
        for _ in 0..MAX_CONDITIONS {
            let parent = self.parents[block];
            if parent == block {
                break;
            }
            if self.predecessors[block][..] == [parent] {
                facts.extend(fact_of_edge(self.blocks[parent], self.blocks[block]));
            }
            block = parent;
        }
        facts
    }
}

/// Returns the comparison that holds along an edge.
pub(super) fn fact_of_edge<'m>(from: Bb<'m>, to: Bb<'m>) -> Option<KnownComparison<'m>> {
    let branch = from.terminator().filter(|inst| inst.opcode() == LLVMOpcode::LLVMBr)?;
    let condition = branch.condition()?;
    let [then, otherwise] = branch.successors()[..] else { return None };
    let is_comparison = condition.kind() == LLVMValueKind::LLVMInstructionValueKind
        && condition.opcode() == LLVMOpcode::LLVMICmp;
    if !is_comparison || then == otherwise {
        return None;
    }
    let predicate = condition.int_predicate();
    let predicate = if to == then { predicate } else { inverse(predicate) };
    Some(KnownComparison { predicate, left: condition.operand(0), right: condition.operand(1) })
}

/// Returns the predicate that holds where this one does not.
pub(super) fn inverse(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => LLVMIntNE,
        LLVMIntNE => LLVMIntEQ,
        LLVMIntUGT => LLVMIntULE,
        LLVMIntUGE => LLVMIntULT,
        LLVMIntULT => LLVMIntUGE,
        LLVMIntULE => LLVMIntUGT,
        LLVMIntSGT => LLVMIntSLE,
        LLVMIntSGE => LLVMIntSLT,
        LLVMIntSLT => LLVMIntSGE,
        LLVMIntSLE => LLVMIntSGT,
    }
}

/// Returns the predicate of the swapped operands.
pub(super) fn swapped(predicate: LLVMIntPredicate) -> LLVMIntPredicate {
    use LLVMIntPredicate::*;
    match predicate {
        LLVMIntEQ => LLVMIntEQ,
        LLVMIntNE => LLVMIntNE,
        LLVMIntUGT => LLVMIntULT,
        LLVMIntUGE => LLVMIntULE,
        LLVMIntULT => LLVMIntUGT,
        LLVMIntULE => LLVMIntUGE,
        LLVMIntSGT => LLVMIntSLT,
        LLVMIntSGE => LLVMIntSLE,
        LLVMIntSLT => LLVMIntSGT,
        LLVMIntSLE => LLVMIntSGE,
    }
}

/// Returns immediate dominators of blocks numbered in reverse postorder, by iteration (Cooper, Harvey and Kennedy).
fn dominators(predecessors: &[Vec<usize>]) -> Vec<usize> {
    const UNKNOWN: usize = usize::MAX;
    let mut parents = vec![UNKNOWN; predecessors.len()];
    if let Some(entry) = parents.first_mut() {
        *entry = 0;
    }
    let mut is_changed = true;
    while std::mem::take(&mut is_changed) {
        for block in 1..parents.len() {
            let known = predecessors[block].iter().copied().filter(|&from| parents[from] != UNKNOWN);
            let meet = |mut a: usize, mut b: usize| {
                while a != b {
                    if a > b { a = parents[a] } else { b = parents[b] }
                }
                a
            };
            let Some(parent) = known.reduce(meet) else { continue };
            is_changed |= parents[block] != parent;
            parents[block] = parent;
        }
    }
    parents
}

/// Numbers the dominator tree in preorder; returns the first and the last number of each subtree.
fn spans(parents: &[usize]) -> Vec<(usize, usize)> {
    let mut children = vec![Vec::new(); parents.len()];
    (1..parents.len()).for_each(|block| children[parents[block]].push(block));
    let mut spans = vec![(0, 0); parents.len()];
    let (mut count, mut work) = (0, Vec::from_iter((!parents.is_empty()).then_some((0, false))));
    while let Some((block, is_left)) = work.pop() {
        if is_left {
            spans[block].1 = count - 1;
        } else {
            spans[block].0 = count;
            count += 1;
            work.push((block, true));
            work.extend(children[block].iter().map(|&child| (child, false)));
        }
    }
    spans
}
