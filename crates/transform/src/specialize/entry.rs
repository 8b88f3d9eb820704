//! Masks lanes at a function's entry: inactive lanes branch to its end.

use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::FunctionKind;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Function, Op, Scalar, Type, Value};

/// Adds an entry block that lets lanes in where the emitted condition holds. The others branch to the end.
pub(super) fn add_entry_mask(func: &mut Function, condition: impl FnOnce(&mut Builder<'_>) -> Value) {
    let old_entry = func.entry();
    let results: Vec<Type> = func.signature.results.iter().map(|result| result.ty).collect();
    let old_ret = func.blocks().find_map(|block| {
        let inst = func.terminator(block)?;
        (func.inst(inst).op == Op::Ret).then_some((block, inst))
    });
    let entry = func.new_block();
    func.layout.prepend_block(entry);
    let end = func.append_block();
    let mut builder = Builder::new(func, InsertPoint::End(entry));
    let condition = condition(&mut builder);
    builder.branch(condition, old_entry, end);
    let mut values: Vec<Value> = results.iter().map(|&ty| builder.func.make_poison(ty)).collect();
    if let Some((block, inst)) = old_ret {
        let given = builder.func.inst(inst).args.clone();
        let origin = builder.func.inst(inst).origin;
        *builder.func.inst_mut(inst) = InstData { origin, ..InstData::jump(end) };
        builder.set_insert_point(InsertPoint::End(end));
        for (value, &given) in values.iter_mut().zip(&given) {
            let ty = builder.func.value_type(given);
            *value = builder.phi(ty, &[(entry, *value), (block, given)], None);
        }
    }
    builder.set_insert_point(InsertPoint::End(end));
    builder.ret(&values);
}

/// Masks the lanes of a kernel that are no work-items, unless the group is known to consist of whole brushes.
///
/// Lanes outside of the group never start, so their own indices cannot identify them; lane 0 always exists. In linear order
/// only the end of the group cuts a brush, in tiles the end along each dimension.
pub(super) fn mask_lanes_outside_group(func: &mut Function, brush: &[u32]) {
    let lanes: u32 = brush.iter().product();
    let is_linear = brush.iter().skip(1).all(|&extent| extent == 1);
    if let FunctionKind::Kernel(Some(sizes)) = func.kind {
        let is_whole = match is_linear {
            true => sizes.iter().fold(1u32, |size, &along| size.saturating_mul(along)).is_multiple_of(lanes),
            false => tile_of(brush).iter().zip(sizes).all(|(&extent, size)| size.is_multiple_of(extent)),
        };
        if is_whole {
            return;
        }
    }
    add_entry_mask(func, |builder| match is_linear {
        true => is_inside_along_order(builder),
        false => {
            let dimensions: Vec<Value> =
                (0..brush.len().min(3) as u8).map(|along| is_inside_along(builder, along, brush)).collect();
            let both = |a, b| builder.op(Op::And, &[a, b]);
            dimensions.into_iter().reduce(both).expect("a brush has a dimension")
        }
    });
}

/// Emits the test that the lane is within the linear order of the group.
fn is_inside_along_order(builder: &mut Builder<'_>) -> Value {
    let sizes = [0, 1, 2].map(|along| query(builder, Op::LocalSize, Some(along)));
    let mut first = index_of_lane_0(builder, 2);
    for along in [1, 0] {
        let rows = builder.op(Op::Mul, &[first, sizes[usize::from(along)]]);
        let place = index_of_lane_0(builder, along);
        first = builder.op(Op::Add, &[rows, place]);
    }
    let slice = builder.op(Op::Mul, &sizes[..2]);
    let all = builder.op(Op::Mul, &[slice, sizes[2]]);
    let left = builder.op(Op::Sub, &[all, first]);
    let lane = query(builder, Op::Lane, None);
    builder.icmp(IntPredicate::Ult, lane, left)
}

/// Returns the number of work-items of a brush along each of the three dimensions of a group. The last two dimensions of a
/// four-dimensional brush both run along the third, in lane order.
pub(super) fn tile_of(brush: &[u32]) -> [u32; 3] {
    let along = |dimension: usize| brush.get(dimension).copied().unwrap_or(1);
    [along(0), along(1), along(2) * along(3)]
}

/// Emits the test that the lane is within the group along a dimension.
fn is_inside_along(builder: &mut Builder<'_>, along: u8, brush: &[u32]) -> Value {
    let first = index_of_lane_0(builder, along);
    let size = query(builder, Op::LocalSize, Some(along));
    let left = builder.op(Op::Sub, &[size, first]);
    let mut lane = query(builder, Op::Lane, Some(along));
    if let (2, &[_, _, extent, _]) = (along, brush) {
        let further = query(builder, Op::Lane, Some(3));
        let extent = builder.int(Scalar::I32, extent.into());
        let before = builder.op(Op::Mul, &[further, extent]);
        lane = builder.op(Op::Add, &[before, lane]);
    }
    builder.icmp(IntPredicate::Ult, lane, left)
}

fn index_of_lane_0(builder: &mut Builder<'_>, along: u8) -> Value {
    let place = query(builder, Op::LocalId, Some(along));
    let lane = builder.int(Scalar::I32, 0);
    builder.op(Op::Broadcast, &[place, lane])
}

fn query(builder: &mut Builder<'_>, op: Op, along: Option<u8>) -> Value {
    builder.value(InstData::new(op, [], Detail::Dimension(along)), Some(Scalar::I32.into()))
}
