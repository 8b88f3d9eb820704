//! Facts proved about single operations: shapes of all kinds as operands, counts of the result's facts as figures.

use crate::{Column, Figures};
use heddle_analysis::shape::{
    Activation, Congruence, DetachedInst, Domain, Fact, Geometry, GroupExtent, MemoryUniformity, NoWrap,
    Poison, Shape, TransferContext, UniformityLevel, apply,
};
use heddle_ir::Detail;
use heddle_ir::ops::{Effect, InstFormat, Op, OperandConstraint, TypeClass};
use heddle_ir::words::{Flag, Flags, IntPredicate, Reduction};

/// Facts for an operand.
fn facts(domain: Domain) -> Vec<Fact> {
    let width = domain.width();
    let mut facts = vec![
        Fact::TOP,
        Fact::of_shape(Shape::UNIFORM),
        Fact { poison: Poison::Uniform, ..Fact::of_shape(Shape::UNIFORM) },
        Fact::POISON,
    ];
    if width == 0 {
        return facts;
    }
    // Unknown, aligned, aligned with a rest, small, negative.
    for constant in [2, 3, 4] {
        facts.push(Fact::of_shape(Shape::uniform(Congruence::new(constant, width))));
    }
    let bases = [
        Congruence::ANY,
        Congruence::aligned(4, width),
        Congruence::new(3, 2.min(width)),
        Congruence::new(0, width),
        Congruence::new(1, width),
        Congruence::new(6, width),
        Congruence::new(-1, width),
        Congruence::new(1i128 << (width - 1), width),
    ];
    for base in bases {
        facts.push(Fact::of_shape(Shape::uniform(base.known(width))));
    }
    for base in bases.into_iter().take(5) {
        facts.push(Fact::of_shape(Shape::varying(width, base)));
        for steps in [[1, 0, 0, 0], [-1, 0, 0, 0], [4, 0, 0, 0], [12, 0, 0, 0], [1, 4, 0, 0], [0, 2, 0, 0]] {
            let fact = Fact::of_shape(Shape::strided(width, steps, base));
            facts.push(fact);
            if steps[0] == 1 {
                facts.push(Fact { no_wrap: NoWrap { unsigned: true, signed: false }, ..fact });
                facts.push(Fact { no_wrap: NoWrap { unsigned: false, signed: true }, ..fact });
            } else {
                facts.push(Fact { no_wrap: NoWrap::BOTH, ..fact });
            }
        }
    }
    facts
}

/// Rare facts for an operand besides constants: more strides, more known bits, values near the ends of the range, and
/// all kinds of flags.
fn rare(width: u32) -> Vec<Fact> {
    if width < 8 {
        return Vec::new();
    }
    let far = 1 << (width.min(64) - 2);
    let mut facts = Vec::new();
    let bases = [(1, 1), (5, 3), (11, 4), (13, 4), (3, width), (-5, width), (-1, width - 1)];
    for (residue, bits) in bases {
        let base = Congruence::new(residue, bits).known(width);
        facts.push(Fact::of_shape(Shape::varying(width, base)));
        let steps = [2, 3, 6, -4, 16, far, -far].map(|step| [step, 0, 0, 0]);
        for (number, steps) in
            steps.into_iter().chain([[1, 0, 8, 0], [0, 1, 2, 0], [-1, 2, 0, 0]]).enumerate()
        {
            let fact = Fact::of_shape(Shape::strided(width, steps, base));
            let one = NoWrap { unsigned: number % 2 == 0, signed: number % 2 != 0 };
            facts.extend([NoWrap::NEITHER, NoWrap::BOTH, one].map(|no_wrap| Fact { no_wrap, ..fact }));
        }
    }
    facts
}

fn constants(width: u32) -> Vec<Fact> {
    let numbers = [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, -1, -2, -4, -8, 1 << (width.max(1) - 1)];
    let known = |number| Fact::of_shape(Shape::uniform(Congruence::new(number, width)));
    numbers.map(known).into_iter().chain([Fact::TOP, Fact::of_shape(Shape::UNIFORM)]).collect()
}

/// Two operands, and numbers by which the others are chosen: each of many facts with each, rare ones with some constants.
fn pairs(width: u32, menu: &[Fact], is_one: bool) -> Vec<([usize; 2], [Fact; 2])> {
    let others = if is_one { &menu[..1] } else { menu };
    let both = menu
        .iter()
        .enumerate()
        .flat_map(|(at, &x)| others.iter().enumerate().map(move |(with, &y)| ([at, with], [x, y])));
    let constants = constants(width);
    let mut pairs: Vec<_> = both.collect();
    for (at, &x) in rare(width).iter().enumerate() {
        for with in 0..if is_one { 1 } else { 4 } {
            let y = constants[(3 * at + 5 * with) % constants.len()];
            pairs.push(([at, with], [x, y]));
            if !is_one {
                pairs.push(([at, with], [y, x]));
            }
        }
    }
    pairs
}

fn details(op: Op) -> Vec<Detail> {
    match (op, op.info().format) {
        (_, InstFormat::Plain | InstFormat::Cast) => vec![Detail::None],
        (_, InstFormat::IntCompare) => IntPredicate::ALL.iter().map(|&it| Detail::IntCompare(it)).collect(),
        (_, InstFormat::Dimension) => [None, Some(0), Some(1), Some(2)].map(Detail::Dimension).to_vec(),
        (Op::Reduce, _) => Reduction::ALL.iter().map(|&by| Detail::Reduce(by)).collect(),
        (Op::Scan, _) => {
            let both =
                Reduction::ALL.iter().flat_map(|&by| [false, true].map(|before| Detail::Scan { by, before }));
            both.collect()
        }
        (Op::Alloca, _) => vec![Detail::Alloca { bytes: 16, align: 8 }],
        _ => vec![Detail::None],
    }
}

fn contexts() -> [(&'static str, TransferContext<'static>); 4] {
    let groups = Geometry {
        local: [GroupExtent::Known(8), GroupExtent::MultipleOfWidth, GroupExtent::Unknown],
        offset_align: [0, 4, 1],
        global_bits: 20,
        ..Geometry::lanes(4)
    };
    let tile = Geometry {
        local: [GroupExtent::Known(4), GroupExtent::Known(2), GroupExtent::Known(1)],
        ..Geometry::brush(&[4, 2])
    };
    let full = |geometry| TransferContext {
        activation: Activation::Full,
        memory: MemoryUniformity::Uniform,
        ..TransferContext::new(geometry)
    };
    [
        ("4 lanes", full(Geometry::lanes(4))),
        ("of 8, some", TransferContext { activation: Activation::Uniform, ..TransferContext::new(groups) }),
        ("4x2", full(tile)),
        ("unknown", TransferContext::new(Geometry::unknown())),
    ]
}

/// Counts of the results' facts.
#[derive(Default)]
struct Known {
    uniform: u64,
    strided: u64,
    steps: u64,
    bits: u64,
    never: u64,
    even: u64,
    straight: u64,
    alike: u64,
}

impl Known {
    fn add(&mut self, fact: &Fact) {
        self.uniform += u64::from(fact.is_uniform());
        if let Shape::Strided { strides, .. } = fact.shape
            && !fact.is_uniform()
        {
            self.strided += 1;
            self.steps += strides.all().iter().map(|step| step.unsigned_abs().min(64)).sum::<u64>();
        }
        self.bits += u64::from(fact.shape.base().bits());
        self.never += u64::from(fact.poison == Poison::Never);
        self.even += u64::from(fact.poison == Poison::Uniform);
        self.straight += u64::from(fact.no_wrap.signed) + u64::from(fact.no_wrap.unsigned);
        self.alike += u64::from(fact.level > UniformityLevel::Brush);
    }

    fn tell(self, column: &mut Column<'_>, op: Op) {
        let Known { uniform, strided, steps, bits, never, even, straight, alike } = self;
        let rows = [
            ("uniform", uniform),
            ("strided", strided),
            ("strided, steps", steps),
            ("bits known", bits),
            ("never poison", never),
            ("evenly poison", even),
            ("straight", straight),
            ("alike beyond the brush", alike),
        ];
        rows.into_iter().filter(|&(_, count)| count > 0).for_each(|(row, count)| {
            column.add(format!("{}: {row}", op.name()), count);
        });
    }
}

pub(crate) fn operations(figures: &mut Figures) {
    for (name, context) in contexts() {
        for &op in Op::ALL {
            if matches!(op.info().effect, Effect::Terminator | Effect::Callee) {
                continue;
            }
            let mut known = Known::default();
            let column = &mut figures.column("proved of operations", name);
            for detail in details(op) {
                for width in [1, 8, 32, 64] {
                    operation(column, &mut known, op, &detail, width, &context);
                }
            }
            known.tell(column, op);
        }
    }
}

fn operation(
    column: &mut Column<'_>,
    known: &mut Known,
    op: Op,
    detail: &Detail,
    width: u32,
    context: &TransferContext<'_>,
) {
    let info = op.info();
    let count = match op {
        Op::Phi => 2,
        _ => info.operands.len().max(1),
    };
    let is_float =
        info.operands.iter().any(|operand| matches!(operand, OperandConstraint::T(TypeClass::Float)));
    let domain = if is_float { Domain::Opaque } else { Domain::Number(width) };
    let results: &[Domain] = match (op, info.format) {
        (Op::Icmp | Op::Fcmp | Op::Any | Op::All, _) => &[Domain::Number(1)],
        (Op::Bitcast, _) => &[domain, Domain::Opaque],
        (_, InstFormat::Cast) => &[Domain::Number(32), Domain::Number(4), Domain::Opaque],
        _ => &[domain],
    };
    let menu = facts(domain);
    let condition = facts(Domain::Number(1));
    let allowed: Vec<Flag> = Flag::ALL.iter().copied().filter(|&flag| info.flags.has(flag)).collect();
    let single = allowed.iter().map(|&flag| Flags::of(&[flag]));
    let promises: Vec<Flags> = [Flags::NONE, Flags::of(&allowed)].into_iter().chain(single).collect();
    let mut domains = vec![domain; count];
    if op == Op::Select {
        domains[0] = Domain::Number(1);
    }
    let mut operation = DetachedInst {
        op,
        detail,
        flags: Flags::NONE,
        operands: domains.into_iter().collect(),
        results: Default::default(),
        reads_vector: false,
    };
    let is_one = |result: &&Domain| match op {
        Op::Trunc => result.width() < width,
        Op::Zext | Op::Sext => result.width() > width,
        _ => true,
    };
    let is_horizontal = info.effect == Effect::Horizontal;
    for &result in results.iter().filter(is_one) {
        operation.results = [result].into_iter().collect();
        for ([at, with], [x, y]) in pairs(domain.width(), &menu, count == 1) {
            // Of what the others are, and of the promises, each sees another part.
            let turn = at + with;
            operation.flags = promises[(at * 3 + with) % promises.len()];
            operation.reads_vector = is_horizontal && turn % 3 == 0;
            for more in 0..if count > 2 { 3 } else { 1 } {
                let z = menu[(turn + 7 * more * (1 + with)) % menu.len()];
                let operands = match op {
                    Op::Select => [condition[(turn + more) % condition.len()], x, y],
                    _ => [x, y, z],
                };
                for found in &apply(&operation, &operands[..count.min(3)], context) {
                    known.add(found);
                    column.sign(format_args!("{op} {found:?}"));
                }
            }
        }
    }
}
