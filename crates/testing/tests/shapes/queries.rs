//! Lane positions: claims about geometry queries, compared with runs of the interpreter.

use crate::vectors::{Lanes, contradiction};
use heddle_analysis::shape::{Fact, Geometry, GroupExtent, TransferContext, transfer};
use heddle_interp::{Memory, RunOptions, run};
use heddle_ir::{Function, Inst, Op, Value, parse_module};
use rustc_hash::FxHashMap;

const OPS: [Op; 11] = [
    Op::Lane,
    Op::Width,
    Op::LocalId,
    Op::LocalSize,
    Op::EnqueuedSize,
    Op::GroupId,
    Op::NumGroups,
    Op::GlobalId,
    Op::GlobalSize,
    Op::GlobalOffset,
    Op::WorkDim,
];

fn text() -> String {
    let mut text = String::from("kernel @k() {\nblock0:\n");
    let mut value = 0;
    for op in OPS {
        for ty in ["i8", "i32", "i64"] {
            let linear = [Op::Lane, Op::Width, Op::WorkDim].contains(&op);
            let along = if op == Op::WorkDim { None } else { Some(0..3) };
            for dimension in linear
                .then_some(String::new())
                .into_iter()
                .chain(along.into_iter().flatten().map(|dimension| format!(", {dimension}")))
            {
                text += &format!("  v{value} = {op} {ty}{dimension}\n");
                value += 1;
            }
        }
    }
    text + "  ret\n}\n"
}

/// Checks a launch: what lanes see, under each degree of knowledge that is true of it.
fn check(brush: &[u32], local: [u32; 3], groups: [u32; 3], offset: [u64; 3]) -> usize {
    let module = parse_module(&text()).expect("the text is well-formed");
    let func: &Function = &module.functions[0];
    let insts: FxHashMap<Value, Inst> = func
        .blocks()
        .flat_map(|block| func.block_insts(block))
        .filter_map(|inst| Some((func.result(inst)?, inst)))
        .collect();
    let launched = heddle_interp::LaunchGeometry { dims: 3, local, groups, offset };
    let options =
        RunOptions { brush: brush.to_vec(), geometry: Some(launched), trace: true, ..RunOptions::default() };
    let outcome = run(&module, "k", &[], &mut Memory::default(), &options).expect("nothing can go wrong");
    let lanes = Lanes::new(brush);
    let width: u32 = brush.iter().product();
    let align = |number: u64| if number == 0 { 0 } else { 1 << number.trailing_zeros() };
    let known = Geometry {
        local: local.map(GroupExtent::Known),
        offset_align: offset.map(align),
        global_bits: 16,
        ..Geometry::brush(brush)
    };
    let coarser =
        local.map(|size| if size % width == 0 { GroupExtent::MultipleOfWidth } else { GroupExtent::Unknown });
    let flat = [coarser[0], GroupExtent::Known(local[1]), GroupExtent::Known(local[2])];
    let knowledge = [
        Geometry { local: coarser, ..known.clone() },
        Geometry { local: flat, ..known.clone() },
        Geometry { brush: None, dimensions: brush.len() as u32, ..known.clone() },
        Geometry { brush: None, dimensions: brush.len() as u32, local: coarser, ..known.clone() },
        Geometry::brush(brush),
        Geometry { dimensions: brush.len() as u32, ..Geometry::unknown() },
        known,
    ];
    let mut strided = 0;
    for geometry in knowledge {
        let context = TransferContext::new(geometry);
        for step in &outcome.trace.steps {
            for (value, numbers) in &step.values {
                let fact: Fact = transfer(func, insts[value], &[], &context)[0];
                let bits = func.value_type(*value).scalar().bits();
                let active = |lane: usize| step.active.contains(lane);
                let seen: Vec<Option<u128>> =
                    numbers.iter().enumerate().map(|(lane, n)| n.bits().filter(|_| active(lane))).collect();
                let reason = contradiction(&fact, bits, &lanes, &seen);
                let text = func.inst(insts[value]).op;
                assert_eq!(
                    reason, None,
                    "{text} {value} is {:#} {:?} in {brush:?} of {local:?}, but {seen:?}; {:?}",
                    fact.shape, fact.no_wrap, context.geometry
                );
                strided += usize::from(!fact.shape.is_varying());
            }
        }
    }
    strided
}

#[test]
fn lanes_have_their_declared_positions() {
    let sizes =
        [[8, 1, 1], [4, 4, 2], [16, 2, 1], [6, 3, 1], [1, 8, 2], [1, 3, 4], [2, 6, 1], [5, 1, 1], [2, 2, 2]];
    let brushes: [&[u32]; 11] = [
        &[1],
        &[2],
        &[4],
        &[3],
        &[8],
        &[2, 2],
        &[4, 1, 2],
        &[1, 4],
        &[2, 2, 2],
        &[2, 1, 2, 2],
        &[1, 1, 1, 2],
    ];
    let mut claims = 0;
    for local in sizes {
        for brush in brushes {
            claims += check(brush, local, [2, 1, 1], [0; 3]);
            claims += check(brush, local, [1, 2, 2], [8, 4, 3]);
        }
    }
    assert!(claims > 100_000, "{claims}");
}

/// The claims that matter, one by one.
#[test]
fn what_is_known_of_places() {
    let module = parse_module(&text()).expect("the text is well-formed");
    let func: &Function = &module.functions[0];
    let shape = |wanted: Op, ty: u32, dimension: Option<u8>, geometry: Geometry| {
        let inst = func.blocks().flat_map(|block| func.block_insts(block)).find(|&inst| {
            let data = func.inst(inst);
            let is_wide = |value: Value| func.value_type(value).scalar().bits() == ty;
            data.op == wanted
                && data.detail == heddle_ir::Detail::Dimension(dimension)
                && func.result(inst).is_some_and(is_wide)
        });
        format!(
            "{:#}",
            transfer(func, inst.expect("it is there"), &[], &TransferContext::new(geometry))[0].shape
        )
    };
    let multiple = |width: u32| Geometry {
        local: [GroupExtent::MultipleOfWidth, GroupExtent::Unknown, GroupExtent::Unknown],
        ..Geometry::lanes(width)
    };
    assert_eq!(shape(Op::Lane, 8, None, Geometry::lanes(4)), "strided 1 from 0 mod 256");
    assert_eq!(shape(Op::Lane, 8, None, Geometry::brush(&[4, 2])), "strided (1, 4) from 0 mod 256");
    assert_eq!(shape(Op::Lane, 8, Some(1), Geometry::brush(&[4, 2])), "strided (0, 1) from 0 mod 256");
    assert_eq!(shape(Op::LocalId, 32, Some(0), Geometry::lanes(8)), "varying");
    assert_eq!(shape(Op::LocalId, 32, Some(0), multiple(8)), "strided 1 from 0 mod 8");
    assert_eq!(shape(Op::LocalId, 32, Some(1), multiple(8)), "uniform");
    assert_eq!(shape(Op::GlobalId, 64, Some(0), multiple(8)), "strided 1");
    let at_zero = Geometry { offset_align: [0; 3], ..multiple(8) };
    assert_eq!(shape(Op::GlobalId, 64, Some(0), at_zero), "strided 1 from 0 mod 8");
    assert_eq!(shape(Op::LocalId, 32, Some(1), Geometry::brush(&[4, 2])), "strided (0, 1) from 0 mod 2");
    assert_eq!(shape(Op::GroupId, 32, Some(0), Geometry::lanes(8)), "uniform");
}
