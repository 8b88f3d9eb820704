//! Merges all returns into a single block.
//!
//! A function that never returns stays unchanged, as does `unreachable`. A lane that returned early now waits at the new
//! block for the others, as idle as after its own `ret`. Passive lanes of a predicated returning block arrive as well. The new
//! block then has a φ of the predicates as its own, so that they pass it as passively as the old `ret`.

use heddle_ir::function::OriginData;
use heddle_ir::inst::InstData;
use heddle_ir::{Block, Function, Inst, Op, Type, Value};

use crate::edges::append_jump;

/// Leaves at most one `ret` in the function.
pub(crate) fn unify_returns(func: &mut Function) {
    let returns: Vec<(Block, Inst)> = func
        .blocks()
        .filter_map(|block| Some((block, func.terminator(block)?)))
        .filter(|&(_, inst)| func.inst(inst).op == Op::Ret)
        .collect();
    let &[(_, first), _, ..] = &returns[..] else { return };

    let all = func.append_block();
    let count = func.inst(first).args.len();
    let mut origin: OriginData = func.origin(func.inst(first).origin).clone();
    for &(_, inst) in &returns[1..] {
        origin = origin.merged(func.origin(func.inst(inst).origin));
    }
    let mut results = Vec::with_capacity(count);
    for index in 0..count {
        let incoming: Vec<(Block, Value)> =
            returns.iter().map(|&(block, inst)| (block, func.inst(inst).args[index])).collect();
        results.push(join(func, all, &incoming));
    }
    if returns.iter().any(|&(block, _)| func.predicate(block).is_some()) {
        let always = func.make_bool(true);
        let incoming: Vec<(Block, Value)> =
            returns.iter().map(|&(block, _)| (block, func.predicate(block).unwrap_or(always))).collect();
        let predicate = join(func, all, &incoming);
        func.set_predicate(all, Some(predicate));
    }
    for (block, inst) in returns {
        func.remove_inst(inst);
        append_jump(func, block, all);
    }
    let mut ret = InstData::plain(Op::Ret, results);
    ret.origin = func.make_origin(origin);
    let ret = func.make_inst(ret, &[]);
    func.layout.append_inst(ret, all);
}

/// Returns the value that all edges share, or a φ of them.
fn join(func: &mut Function, block: Block, incoming: &[(Block, Value)]) -> Value {
    let (_, value) = incoming[0];
    if incoming.iter().all(|&(_, other)| other == value) {
        return value;
    }
    let ty: Type = func.value_type(value);
    let phi = func.make_inst(InstData::phi(incoming.iter().copied(), None), &[ty]);
    func.layout.append_inst(phi, block);
    func.results(phi)[0]
}
