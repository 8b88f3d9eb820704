//! Simplifies disjunctions of edge masks (issue 4, point 8).
//!
//! ```text
//!     v10 = select v5, v7, false total         The `or` of both edges out of a block is its predicate; without one, it
//!     v11 = select v5, v8, false total         is all-true. v8 is xor v7, true.
//!     v12 = or v9, v10 total
//!     v13 = or v12, v11 total           is     v13 = or v9, v5 total
//! ```
//!
//! Then dead instructions of linearization are removed. The others stay total where they were: a replacement operand is
//! defined in at least as many lanes.

use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::{Block, Constant, Function, Inst, InstData, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Simplifies the instructions with at least this number.
pub(super) fn clean_masks(func: &mut Function, first_new: usize) {
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let is_new = |inst: Inst| inst.as_u32() as usize >= first_new;
    let ors: Vec<Inst> =
        insts.into_iter().filter(|&inst| is_new(inst) && func.inst(inst).op == Op::Or).collect();
    let inner: EntitySet<Value> = ors.iter().flat_map(|&inst| func.inst(inst).args.iter().copied()).collect();
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for inst in ors {
        let result = func.results(inst)[0];
        if inner.contains(result) {
            continue;
        }
        if let Some(value) = merge(func, inst, first_new, &renamed) {
            renamed.insert(result, value);
        }
    }
    if !renamed.is_empty() {
        func.map_values(|value| renamed.get(&value).copied().unwrap_or(value));
        let always = func.make_bool(true);
        let blocks: Vec<Block> = func.blocks().collect();
        for block in blocks {
            if func.predicate(block) == Some(always) {
                func.set_predicate(block, None);
            }
        }
    }
    drop_unread(func, first_new);
}

/// Simpler value of a tree of `or`s, if pairs of its leaves combine.
fn merge(
    func: &mut Function,
    root: Inst,
    first_new: usize,
    renamed: &FxHashMap<Value, Value>,
) -> Option<Value> {
    let mut leaves = Vec::new();
    let mut work = vec![func.results(root)[0]];
    while let Some(value) = work.pop() {
        let is_or = |inst: &Inst| func.inst(*inst).op == Op::Or && inst.as_u32() as usize >= first_new;
        match func.def_inst(value).filter(is_or) {
            Some(inst) => work.extend(func.inst(inst).args.iter().rev()),
            None => leaves.push(renamed.get(&value).copied().unwrap_or(value)),
        }
    }
    let count = leaves.len();
    let mut present: FxHashSet<Value> = FxHashSet::default();
    let mut edges: FxHashMap<(Option<Value>, Value), [Option<Value>; 2]> = FxHashMap::default();
    let mut order = Vec::new();
    let mut work: Vec<Value> = leaves.into_iter().rev().collect();
    while let Some(value) = work.pop() {
        if !present.insert(value) {
            continue;
        }
        order.push(value);
        let (parent, condition, polarity) = edge(func, value);
        let both = edges.entry((parent, condition)).or_default();
        both[usize::from(polarity)] = Some(value);
        if let [Some(no), Some(yes)] = *both {
            present.remove(&no);
            present.remove(&yes);
            match parent {
                Some(parent) => work.push(parent),
                None => return Some(func.make_bool(true)),
            }
        }
    }
    let mut seen = FxHashSet::default();
    let left: Vec<Value> =
        order.into_iter().filter(|value| present.contains(value) && seen.insert(*value)).collect();
    if left.len() == count {
        return None;
    }
    let (&first, rest) = left.split_first()?;
    Some(rest.iter().fold(first, |all, &mask| {
        let data = InstData { flags: func.inst(root).flags, ..InstData::plain(Op::Or, [all, mask]) };
        let inst = func.make_inst(data, &[Type::I1]);
        func.layout.insert_inst_before(inst, root);
        func.results(inst)[0]
    }))
}

/// Decomposes a mask into an edge: predicate of the block, condition, polarity. Any mask is a condition without predicate.
fn edge(func: &Function, mask: Value) -> (Option<Value>, Value, bool) {
    let is_bool = |value: Value, bit| func.constant(value) == Some(&Constant::bool(bit));
    let (parent, condition) = match func.def_inst(mask).map(|inst| func.inst(inst)) {
        Some(data) if data.op == Op::Select && is_bool(data.args[2], false) => {
            (Some(data.args[0]), data.args[1])
        }
        _ => (None, mask),
    };
    match func.def_inst(condition).map(|inst| func.inst(inst)) {
        Some(data) if data.op == Op::Xor && is_bool(data.args[1], true) => (parent, data.args[0], false),
        _ => (parent, condition, true),
    }
}

/// Removes new instructions without readers. They have no effects.
fn drop_unread(func: &mut Function, first_new: usize) {
    let mut reads: SecondaryMap<Value, u32> = SecondaryMap::with_len(func.value_count());
    let mut unread = Vec::new();
    for block in func.blocks() {
        func.predicate(block).into_iter().for_each(|value| reads[value] += 1);
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            data.args.iter().for_each(|&arg| reads[arg] += 1);
            if inst.as_u32() as usize >= first_new && !data.op.is_terminator() {
                unread.push(inst);
            }
        }
    }
    unread.retain(|&inst| reads[func.results(inst)[0]] == 0);
    while let Some(inst) = unread.pop() {
        let args = func.inst(inst).args.clone();
        func.remove_inst(inst);
        for arg in args {
            reads[arg] -= 1;
            let definition = func.def_inst(arg).filter(|inst| inst.as_u32() as usize >= first_new);
            unread.extend(definition.filter(|_| reads[arg] == 0));
        }
    }
}
