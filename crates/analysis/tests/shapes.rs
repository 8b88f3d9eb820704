//! Shapes of straight-line functions: the text of a function, and the shape of each value.
#![allow(missing_docs)]

use heddle_analysis::shape::{
    Congruence, Fact, Geometry, Poison, Shape, TransferContext, declared_fact, transfer,
};
use heddle_ir::module::DeclaredShape;
use heddle_ir::{Function, Type, Value, parse_module};
use rustc_hash::FxHashMap;

fn shapes(text: &str, geometry: &Geometry) -> String {
    let module = parse_module(text).expect("the text is well-formed");
    let func: &Function = &module.functions[0];
    let context = TransferContext::new(geometry.clone());
    let mut facts: FxHashMap<Value, Fact> = FxHashMap::default();
    for (&value, param) in func.params().iter().zip(&func.signature.params) {
        facts.insert(value, declared_fact(param.ty, param.shape.as_ref(), param.align, &context));
    }
    let mut out = String::new();
    for block in func.blocks() {
        for inst in func.block_insts(block) {
            let fact = |value: &Value| match func.constant(*value) {
                Some(constant) => Fact::of_constant(constant),
                None => facts[value],
            };
            let operands: Vec<Fact> = func.inst(inst).args.iter().map(fact).collect();
            let results = transfer(func, inst, &operands, &context);
            for (&value, fact) in func.results(inst).iter().zip(results) {
                out += &format!("{value}: {}\n", fact.shape);
                facts.insert(value, fact);
            }
        }
    }
    out
}

/// Thesis Fig. 10.5 (c): addresses after `shl` and `or`.
#[test]
fn or_is_an_addition_where_alignment_leaves_room() {
    let text = "func @f(v0: ptr(global) uniform align 8, v1: i64 linear(1) align 8) {
block0:
  v2 = shl v1, 1
  v3 = or v2, 1
  v4 = shl v3, 3
  v5 = ptradd v0, v4
  ret
}
";
    assert_eq!(
        shapes(text, &Geometry::lanes(8)),
        "v2: strided 2 align 16\nv3: strided 2\nv4: strided 16 align 8\nv5: strided 16 align 8\n"
    );
}

/// Thesis Fig. 10.11, without wrap-around: `4l + lane >= 36k` is uniform for four lanes, and not for eight.
#[test]
fn a_comparison_that_no_lane_crosses_is_uniform() {
    let text = "func @f(v0: i32 uniform, v1: i32 uniform) {
block0:
  v2 = lane i32
  v3 = mul v0, 4
  v4 = add v3, v2
  v5 = mul v1, 36
  v6 = icmp sge v4, v5
  ret
}
";
    let four = shapes(text, &Geometry::lanes(4));
    assert!(four.contains("v4: strided 1 align 4\n") && four.ends_with("v6: uniform\n"), "{four}");
    let eight = shapes(text, &Geometry::lanes(8));
    assert!(eight.ends_with("v6: varying\n"), "{eight}");
}

/// Every opcode with any operands, well-typed or not, has a result.
#[test]
fn nothing_panics() {
    use heddle_analysis::shape::{
        Activation, Congruence, DetachedInst, Domain, MemoryUniformity, NoWrap, Shape, apply,
    };
    use heddle_ir::words::{Flag, Flags, IntPredicate, Reduction};
    use heddle_ir::{Detail, Op};
    let domains = [0, 1, 3, 8, 32, 64, 128]
        .map(|width| if width == 0 { Domain::Opaque } else { Domain::Number(width) });
    let facts = |domain: Domain| {
        let width = domain.width();
        let extreme = i128::from(i64::MIN);
        let mut facts = vec![Fact::BOTTOM, Fact::POISON, Fact::TOP, Fact::of_shape(Shape::UNIFORM)];
        for base in
            [Congruence::ANY, Congruence::new(0, width), Congruence::new(-1, width), Congruence::new(3, 2)]
        {
            facts.push(Fact::of_shape(Shape::uniform(base.known(width))));
            facts.push(Fact::of_shape(Shape::varying(width, base)));
            for step in [1, -3, extreme, extreme + 1] {
                if width > 0 {
                    let fact = Fact::of_shape(Shape::strided(width, [step, 0, 0, 0], base));
                    facts.push(fact);
                    facts.push(Fact { no_wrap: NoWrap::BOTH, ..fact });
                }
            }
        }
        facts
    };
    let details = [
        Detail::None,
        Detail::IntCompare(IntPredicate::Sle),
        Detail::Dimension(None),
        Detail::Dimension(Some(7)),
        Detail::Reduce(Reduction::Mul),
        Detail::Scan { by: Reduction::Add, before: true },
        Detail::Alloca { bytes: 1, align: 3 },
    ];
    let all_flags = Flags::of(Flag::ALL);
    let mut count = 0usize;
    for geometry in
        [Geometry::unknown(), Geometry::lanes(1), Geometry::lanes(128), Geometry::brush(&[2, 3, 4])]
    {
        let context = TransferContext {
            activation: Activation::Full,
            memory: MemoryUniformity::Uniform,
            ..TransferContext::new(geometry)
        };
        for &op in Op::ALL {
            for (index, domain) in domains.into_iter().enumerate() {
                let detail = match op {
                    Op::Icmp => &details[1],
                    Op::Reduce => &details[4],
                    Op::Scan => &details[5],
                    Op::Alloca => &details[6],
                    op if op.info().format == heddle_ir::ops::InstFormat::Dimension => {
                        &details[2 + index % 2]
                    }
                    _ => &details[0],
                };
                for flags in [Flags::NONE, all_flags] {
                    for other in [domain, domains[(index + 3) % domains.len()]] {
                        let operands = [domain, other, other];
                        let results = [other, domain];
                        let operation = DetachedInst {
                            op,
                            detail,
                            flags,
                            operands: operands.into_iter().collect(),
                            results: results.into_iter().collect(),
                            reads_vector: false,
                        };
                        for &x in &facts(domain) {
                            for &y in facts(other).iter().step_by(1 + count % 3) {
                                count += apply(&operation, &[x, y, x], &context).len();
                            }
                        }
                        apply(&operation, &[], &context);
                    }
                }
            }
        }
    }
    assert!(count > 1_000_000, "{count}");
}

/// The meet of two strides is the first one; of equal strides, the meet of the bases.
#[test]
fn of_two_strides_the_first_is_kept() {
    let strided = |step, base, bits| Shape::strided(32, [step, 0, 0, 0], Congruence::new(base, bits));
    assert_eq!(strided(4, 0, 2).meet(strided(8, 8, 4)), strided(4, 0, 2));
    assert_eq!(strided(8, 8, 4).meet(strided(4, 0, 2)), strided(8, 8, 4));
    assert_eq!(strided(4, 0, 2).meet(strided(4, 8, 4)), strided(4, 8, 4));
    assert_eq!(strided(4, 1, 2).meet(strided(4, 8, 4)), Shape::Undefined);
    assert_eq!(Shape::UNIFORM.meet(strided(4, 0, 2)), Shape::UNIFORM);
}

/// Opaque values have no steps, even if a declaration states some.
#[test]
fn only_numbers_are_declared_to_step() {
    let context = TransferContext::new(Geometry::lanes(4));
    let steps = DeclaredShape::Linear([4].into_iter().collect());
    assert_eq!(
        declared_fact(Type::F32, Some(&steps), 1, &context),
        declared_fact(Type::F32, None, 1, &context)
    );
    let number = declared_fact(Type::I32, Some(&steps), 1, &context);
    assert_eq!((number.shape.to_string().as_str(), number.poison), ("strided 4", Poison::Any));
}
