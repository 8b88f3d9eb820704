//! Lanes that do not come along go to a function's end at once.

use heddle_ir::builder::{At, Builder};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Kind;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Op, Scalar, Type, Value};

/// Lets lanes in only where a condition, written at the start, holds; the others go to the end at once.
pub(super) fn enter_if(func: &mut Function, condition: impl FnOnce(&mut Builder<'_>) -> Value) {
    let old_entry = func.entry();
    let results: Vec<Type> = func.signature.results.iter().map(|result| result.ty).collect();
    let old_ret = func.blocks().find_map(|block| {
        let inst = func.terminator(block)?;
        (func.inst(inst).op == Op::Ret).then_some((block, inst))
    });
    let entry = func.new_block();
    func.layout.prepend_block(entry);
    let end = func.append_block();
    let mut builder = Builder::new(func, At::End(entry));
    let condition = condition(&mut builder);
    builder.branch(condition, old_entry, end);
    let mut values: Vec<Value> = results.iter().map(|&ty| builder.func.make_poison(ty)).collect();
    if let Some((block, inst)) = old_ret {
        let given = builder.func.inst(inst).args.clone();
        let origin = builder.func.inst(inst).origin;
        *builder.func.inst_mut(inst) = InstData { origin, ..InstData::jump(end) };
        builder.go(At::End(end));
        for (value, &given) in values.iter_mut().zip(&given) {
            let ty = builder.func.value_type(given);
            *value = builder.phi(ty, &[(entry, *value), (block, given)], None);
        }
    }
    builder.go(At::End(end));
    builder.ret(&values);
}

/// Lets only lanes in that are work-items, unless the group is known to be whole brushes. A brush along the linear
/// order of a group runs out of it in the last dimension, a tile in each.
pub(super) fn ask_whether_inside(func: &mut Function, brush: &[u32]) {
    let lanes: u32 = brush.iter().product();
    let is_linear = brush.iter().skip(1).all(|&extent| extent == 1);
    if let Kind::Kernel(Some(sizes)) = func.kind {
        let is_whole = match is_linear {
            true => sizes.iter().fold(1u32, |size, &along| size.saturating_mul(along)).is_multiple_of(lanes),
            false => brush.iter().zip(sizes).all(|(&extent, size)| size.is_multiple_of(extent)),
        };
        if is_whole {
            return;
        }
    }
    let dimensions: Vec<u8> = if is_linear { vec![2] } else { (0..brush.len() as u8).collect() };
    enter_if(func, |builder| {
        let mut inside = None;
        for along in dimensions {
            let mut ask = |op| {
                let data = InstData::new(op, [], Detail::Dimension(Some(along)));
                builder.value(data, Some(Scalar::I32.into()))
            };
            let [place, size] = [Op::LocalId, Op::LocalSize].map(&mut ask);
            let here = builder.icmp(IntPredicate::Ult, place, size);
            inside = Some(inside.map_or(here, |before| builder.op(Op::And, &[before, here])));
        }
        inside.expect("a brush has a dimension")
    });
}
