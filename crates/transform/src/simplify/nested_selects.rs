//! Merges nested selects of vectors that share an arm: one operation on masks replaces one on values.
//!
//! ```text
//!     best' = select hit, d, best                    lanes that hit
//!     v     = select live, best', best               lanes that take part      →    v = select (live and hit), d, best
//! ```
//!
//! Linearization leaves such pairs wherever a value changes under a condition below a divergent branch.

use heddle_ir::inst::InstData;
use heddle_ir::{Constant, Function, Inst, Op, Value};
use rustc_hash::FxHashMap;

/// Merges what can be merged. Returns true if there was any; the inner selects are then dead.
pub(super) fn merge_selects(func: &mut Function) -> bool {
    let of_vectors =
        |inst: Inst| operands(func, inst).is_some_and(|[mask, ..]| func.value_type(mask).is_vector());
    let selects: Vec<Inst> =
        func.blocks().flat_map(|block| func.block_insts(block)).filter(|&inst| of_vectors(inst)).collect();
    if selects.len() < 2 {
        return false;
    }
    let uses = count_uses(func);
    let mut changed = false;
    for outer in selects {
        let Some(merged) = merge(func, outer, |value| uses.get(&value) == Some(&1)) else { continue };
        let ty = func.value_type(merged.condition[0]);
        let condition = func.make_inst(InstData::plain(Op::Select, merged.condition), &[ty]);
        func.layout.insert_inst_before(condition, outer);
        let condition = func.results(condition)[0];
        func.inst_mut(outer).args = [condition, merged.then, merged.otherwise].into_iter().collect();
        changed = true;
    }
    changed
}

/// Operands of a merged pair of selects.
struct MergedSelect {
    /// Operands of the select that computes the common condition.
    condition: [Value; 3],
    then: Value,
    otherwise: Value,
}

fn merge(func: &mut Function, outer: Inst, is_used_once: impl Fn(Value) -> bool) -> Option<MergedSelect> {
    let [mask, then, otherwise] = operands(func, outer)?;
    let ty = func.value_type(mask);
    let inner = |value: Value| {
        let inst = func.def_inst(value).filter(|_| is_used_once(value))?;
        operands(func, inst).filter(|&[hit, ..]| func.value_type(hit) == ty)
    };
    let (in_then, in_otherwise) = (inner(then), inner(otherwise));
    let [none, all] = [0, 1].map(|bit| func.make_const(Constant::splat(ty, bit)));
    let (condition, inner) = match (in_then, in_otherwise) {
        (Some(inner @ [hit, _, b]), _) if b == otherwise => ([mask, hit, none], inner),
        (Some(inner @ [hit, a, _]), _) if a == otherwise => ([mask, hit, all], inner),
        (_, Some(inner @ [hit, a, _])) if a == then => ([mask, all, hit], inner),
        (_, Some(inner @ [hit, _, b])) if b == then => ([mask, none, hit], inner),
        _ => return None,
    };
    Some(MergedSelect { condition, then: inner[1], otherwise: inner[2] })
}

/// Operands of a select.
fn operands(func: &Function, inst: Inst) -> Option<[Value; 3]> {
    let data = func.inst(inst);
    (data.op == Op::Select).then(|| data.args[..].try_into().ok())?
}

fn count_uses(func: &Function) -> FxHashMap<Value, u32> {
    let mut uses = FxHashMap::default();
    for block in func.blocks() {
        let args = func.block_insts(block).flat_map(|inst| func.inst(inst).args.iter().copied());
        for value in args.chain(func.predicate(block)) {
            *uses.entry(value).or_default() += 1;
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The four forms that merge, and three that do not: another arm, an inner select that others use, a condition for all lanes.
    #[test]
    fn selects_with_a_common_arm_merge() {
        let merges = |body: &str| {
            let text = format!(
                "func @f(v0: mask<4>, v1: mask<4>, v2: <4 x i32>, v3: <4 x i32>, v4: <4 x i32>, v5: i1) -> <4 x i32> {{\nblock0:\n{body}\n}}"
            );
            merge_selects(
                &mut heddle_ir::parse_bytes(text.as_bytes()).expect("the text is valid").functions[0],
            )
        };
        for (inner, outer) in [
            ("v1, v2, v3", "v0, v6, v3"),
            ("v1, v3, v2", "v0, v6, v3"),
            ("v1, v3, v2", "v0, v3, v6"),
            ("v1, v2, v3", "v0, v3, v6"),
        ] {
            assert!(
                merges(&format!("  v6 = select {inner}\n  v7 = select {outer}\n  ret v7")),
                "{inner}; {outer}"
            );
        }
        for (inner, outer, result) in [
            ("v1, v2, v3", "v0, v6, v4", "v7"),
            ("v1, v2, v3", "v0, v6, v3", "v6"),
            ("v5, v2, v3", "v0, v6, v3", "v7"),
        ] {
            let body =
                format!("  v6 = select {inner}\n  v7 = select {outer}\n  v8 = add v6, v7\n  ret {result}");
            let body = if result == "v7" { body.replace("  v8 = add v6, v7\n", "") } else { body };
            assert!(!merges(&body), "{body}");
        }
    }
}
