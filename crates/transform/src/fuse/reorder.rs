//! Canonical order of a side's elements, so that sides with equal operations in different orders can be aligned.
//!
//! A list scheduler: pure operations move as far as their operands and users allow; everything else keeps its order. Of the
//! ready elements, the one with the longest chain of users comes first; ties are broken by the op.

use heddle_ir::ops::Effect;
use heddle_ir::{Function, Inst, Value};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::sides::{BranchSide, SideElement};

/// Returns the elements of a side in canonical order.
pub(super) fn canonical_order(func: &Function, side: &BranchSide) -> Vec<SideElement> {
    let elements = &side.elements;
    let mut defined_by: FxHashMap<Value, usize> = FxHashMap::default();
    for (number, &element) in elements.iter().enumerate() {
        each_inst(func, side, element, |inst| {
            func.results(inst).iter().for_each(|&value| _ = defined_by.insert(value, number));
        });
    }
    // Dependences; all lead from earlier to later elements.
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); elements.len()];
    let mut waits_for: Vec<usize> = vec![0; elements.len()];
    let mut fixed: Option<usize> = None;
    for (number, &element) in elements.iter().enumerate() {
        let mut needed: Vec<usize> = Vec::new();
        each_inst(func, side, element, |inst| {
            needed.extend(func.inst(inst).args.iter().filter_map(|arg| defined_by.get(arg)));
        });
        if !is_movable(func, element) {
            needed.extend(fixed.replace(number));
        }
        needed.retain(|&other| other < number);
        needed.sort_unstable();
        needed.dedup();
        waits_for[number] = needed.len();
        needed.into_iter().for_each(|other| users[other].push(number));
    }
    let mut height: Vec<u32> = vec![0; elements.len()];
    for number in (0..elements.len()).rev() {
        height[number] = users[number].iter().map(|&user| height[user] + 1).max().unwrap_or(0);
    }
    let key = |number: usize| {
        let op = match elements[number] {
            SideElement::Inst(inst) => Some(func.inst(inst).op),
            SideElement::NestedRegion(_) => None,
        };
        (height[number], Reverse(op), Reverse(number))
    };
    let mut ready: BinaryHeap<_> =
        (0..elements.len()).filter(|&number| waits_for[number] == 0).map(key).collect();
    let mut ordered = Vec::with_capacity(elements.len());
    while let Some((_, _, Reverse(number))) = ready.pop() {
        ordered.push(elements[number]);
        for &user in &users[number] {
            waits_for[user] -= 1;
            if waits_for[user] == 0 {
                ready.push(key(user));
            }
        }
    }
    ordered
}

/// True if an element may be reordered.
fn is_movable(func: &Function, element: SideElement) -> bool {
    matches!(element, SideElement::Inst(inst) if func.inst(inst).op.info().effect == Effect::Pure)
}

/// Visits the instructions of an element; of a region, its blocks', the branch into it, and the φs at its exit.
fn each_inst(func: &Function, side: &BranchSide, element: SideElement, mut visit: impl FnMut(Inst)) {
    match element {
        SideElement::Inst(inst) => visit(inst),
        SideElement::NestedRegion(number) => {
            let region = &side.regions[number];
            let inner = region.blocks.iter().flat_map(|&block| func.block_insts(block));
            let exit = side.chain.contains(&region.exit).then_some(region.exit);
            let phis = exit.into_iter().flat_map(|exit| func.phis(exit));
            for inst in func.terminator(region.from).into_iter().chain(inner).chain(phis) {
                visit(inst);
            }
        }
    }
}
