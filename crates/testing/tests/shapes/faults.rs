//! Planted faults: wrong transfer functions, at least one for each rule. The checker must find each one unsound.

use crate::checker::{Rule, Setup, check, the_rule};
use crate::horizontals::Horizontal;
use crate::operations::Case;
use heddle_analysis::shape::{Activation, Congruence, Fact, NoWrap, Poison, Shape, Steps, TransferContext};
use heddle_ir::words::{Flag, IntPredicate, Reduction};
use heddle_ir::{Detail, Op};

type WrongAcross = fn(&Horizontal, &[Fact], &TransferContext<'_>) -> Fact;
type Wrong = fn(&Case, &[Fact], &TransferContext<'_>) -> Fact;

fn steps(fact: Fact) -> Option<Steps<i128>> {
    fact.shape.strides().map(|strides| strides.wide())
}

fn strided(case: &Case, steps: Steps<i128>, base: Congruence) -> Fact {
    Fact::of_shape(Shape::strided(case.to, steps, base)).with_poison(Poison::Any)
}

fn both(operands: &[Fact]) -> Option<(Steps<i128>, Steps<i128>)> {
    steps(operands[0]).zip(steps(operands[1]))
}

fn uniform(base: Congruence) -> Fact {
    Fact::of_shape(Shape::uniform(base)).with_poison(Poison::Any)
}

/// The right result with its congruence changed.
fn with_base(fact: Fact, case: &Case, base: Congruence) -> Fact {
    let shape = match fact.shape {
        Shape::Strided { strides, .. } => Shape::strided(case.to, strides.wide(), base),
        Shape::Varying { .. } => Shape::varying(case.to, base),
        Shape::Undefined => Shape::Undefined,
    };
    Fact { shape, ..fact }
}

/// The rule of the op, promised more than it should be: as if every line were straight.
fn trusting(case: &Case, operands: &[Fact], context: &TransferContext<'_>) -> Fact {
    let trusted: Vec<Fact> = operands.iter().map(|&fact| Fact { no_wrap: NoWrap::BOTH, ..fact }).collect();
    the_rule(case, &trusted, context)
}

/// The rule of the op for flags that it does not have.
fn flagged(case: &Case, operands: &[Fact], context: &TransferContext<'_>, flags: &[Flag]) -> Fact {
    let case = Case { flags: heddle_ir::words::Flags::of(flags), ..case.clone() };
    the_rule(&case, operands, context).with_poison(Poison::Any)
}

fn case(op: Op) -> Case {
    Case::new(op, &[], &[3, 3], 3)
}

fn icmp(predicate: IntPredicate) -> Case {
    Case { detail: Detail::IntCompare(predicate), ..Case::new(Op::Icmp, &[], &[3, 3], 1) }
}

/// Thesis Fig. 10.12 as printed, alignments for congruences.
fn printed_comparison(_: &Case, operands: &[Fact], context: &TransferContext<'_>) -> Fact {
    let Some((s, t)) = both(operands) else { return Fact::TOP };
    let last = i128::from(context.geometry.width().unwrap_or(1)) - 1;
    let align = 1 << operands[0].shape.base().zeros().min(operands[1].shape.base().zeros());
    if s[0].max(t[0]) * last < s[0].min(t[0]) * last + align { uniform(Congruence::ANY) } else { Fact::TOP }
}

fn faults() -> Vec<(&'static str, Case, Wrong)> {
    use Flag::{Disjoint, Exact, Nneg, Nsw, Nuw};
    let unary = |op, to| Case::new(op, &[], &[3], to);
    vec![
        ("add: steps of the first operand only", case(Op::Add), |case, operands, context| {
            let right = the_rule(case, operands, context);
            match both(operands) {
                Some((s, _)) => strided(case, s, right.shape.base()),
                None => right,
            }
        }),
        ("add: base of the first operand only", case(Op::Add), |case, operands, context| {
            with_base(the_rule(case, operands, context), case, operands[0].shape.base())
        }),
        ("add: straight without a promise", case(Op::Add), |case, operands, context| Fact {
            no_wrap: NoWrap::BOTH,
            ..the_rule(case, operands, context)
        }),
        (
            "add nsw: straight though operands wrap",
            Case::new(Op::Add, &[Nsw], &[3, 3], 3),
            |case, operands, context| {
                let trusted = operands.iter().map(|fact| Fact { no_wrap: NoWrap::BOTH, ..*fact });
                let trusted: Vec<Fact> = trusted.collect();
                Fact { no_wrap: NoWrap::BOTH, ..the_rule(case, &trusted, context) }
            },
        ),
        (
            "add nuw: straight the signed way",
            Case::new(Op::Add, &[Nuw], &[3, 3], 3),
            |case, operands, context| flagged(case, operands, context, &[Nuw, Nsw]),
        ),
        ("add nuw: never poison", Case::new(Op::Add, &[Nuw], &[3, 3], 3), |case, operands, context| {
            the_rule(case, operands, context).with_poison(Poison::Never)
        }),
        (
            "add nuw: poison in all lanes or in none",
            Case::new(Op::Add, &[Nuw], &[3, 3], 3),
            |case, operands, context| the_rule(case, operands, context).with_poison(Poison::Uniform),
        ),
        ("sub: steps added", case(Op::Sub), |case, operands, context| {
            let right = the_rule(case, operands, context);
            match both(operands) {
                Some((s, t)) => strided(case, [s[0] + t[0], 0, 0, 0], right.shape.base()),
                None => right,
            }
        }),
        ("sub: base not negated", case(Op::Sub), |case, operands, context| {
            let base = operands[0].shape.base().plus(operands[1].shape.base());
            with_base(the_rule(case, operands, context), case, base)
        }),
        ("mul: steps multiplied (Collange)", case(Op::Mul), |case, operands, context| {
            let right = the_rule(case, operands, context);
            match both(operands) {
                Some((s, t)) => strided(case, [s[0] * t[0], 0, 0, 0], right.shape.base()),
                None => right,
            }
        }),
        ("mul: steps times the known part of an unknown factor", case(Op::Mul), |case, operands, context| {
            let right = the_rule(case, operands, context);
            match both(operands) {
                Some((s, [0, ..])) => {
                    let factor = i128::from(operands[1].shape.base().residue());
                    strided(case, [s[0] * factor, 0, 0, 0], right.shape.base())
                }
                _ => right,
            }
        }),
        ("mul: alignments multiplied beyond what lanes share", case(Op::Mul), |case, operands, context| {
            let zeros = operands[0].shape.base().zeros() + operands[1].shape.base().zeros();
            with_base(the_rule(case, operands, context), case, Congruence::new(0, zeros))
        }),
        ("shl: an amount of 2^k shifts by that much (Fig. 10.14)", case(Op::Shl), |_, operands, _| {
            let [x, amount] = [operands[0].shape, operands[1].shape];
            match x.is_uniform() && amount.is_uniform() {
                true => uniform(Congruence::new(0, x.base().zeros() + amount.align() as u32)),
                false => Fact::TOP,
            }
        }),
        ("shl: uniform amounts keep steps", case(Op::Shl), |case, operands, context| {
            match (steps(operands[0]), operands[1].is_uniform()) {
                (Some(s), true) => strided(case, s, Congruence::ANY),
                _ => the_rule(case, operands, context),
            }
        }),
        ("lshr: lines that wrap divided", case(Op::Lshr), trusting),
        ("ashr: lines that wrap divided", case(Op::Ashr), trusting),
        ("ashr: as lshr", case(Op::Ashr), |case, operands, context| {
            the_rule(&Case { op: Op::Lshr, ..case.clone() }, operands, context)
        }),
        ("lshr: steps divided, remainders dropped", case(Op::Lshr), |case, operands, context| {
            match (steps(operands[0]), operands[1].shape.constant(3)) {
                (Some(s), Some(amount @ 0..3)) => strided(case, [s[0] >> amount, 0, 0, 0], Congruence::ANY),
                _ => the_rule(case, operands, context),
            }
        }),
        ("udiv: lines that wrap divided", case(Op::Udiv), trusting),
        ("sdiv: lines that wrap divided", case(Op::Sdiv), trusting),
        ("sdiv: rounded down", case(Op::Sdiv), |case, operands, context| {
            match operands[1].shape.constant(3) {
                Some(2) => {
                    let amount = Fact::of_shape(Shape::uniform(Congruence::new(1, 3)));
                    the_rule(&Case { op: Op::Ashr, ..case.clone() }, &[operands[0], amount], context)
                }
                _ => the_rule(case, operands, context),
            }
        }),
        ("sdiv: as udiv", case(Op::Sdiv), |case, operands, context| {
            the_rule(&Case { op: Op::Udiv, ..case.clone() }, operands, context)
        }),
        ("udiv: exact without a promise", case(Op::Udiv), |case, operands, context| {
            flagged(case, operands, context, &[Exact])
        }),
        ("urem: lines that wrap reduced", case(Op::Urem), trusting),
        (
            "urem: uniform wherever the divisor divides steps",
            case(Op::Urem),
            |case, operands, context| match (steps(operands[0]), operands[1].shape.constant(3)) {
                (Some(s), Some(divisor @ 1..)) if s[0] % i128::from(divisor) == 0 => uniform(Congruence::ANY),
                _ => the_rule(case, operands, context),
            },
        ),
        ("srem: as urem", case(Op::Srem), |case, operands, context| {
            the_rule(&Case { op: Op::Urem, ..case.clone() }, operands, context)
        }),
        ("and: keeps steps", case(Op::And), |case, operands, context| {
            match (steps(operands[0]), operands[1].is_uniform()) {
                (Some(s), true) => strided(case, s, Congruence::ANY),
                _ => the_rule(case, operands, context),
            }
        }),
        ("and: base of the first operand", case(Op::And), |case, operands, context| {
            with_base(the_rule(case, operands, context), case, operands[0].shape.base())
        }),
        ("or: always an addition", case(Op::Or), |case, operands, context| {
            the_rule(&Case { op: Op::Add, ..case.clone() }, operands, context)
        }),
        ("or: disjoint without a promise", case(Op::Or), |case, operands, context| {
            flagged(case, operands, context, &[Disjoint])
        }),
        ("or: an addition where the base alone is aligned", case(Op::Or), |case, operands, context| {
            match operands[1].shape.constant(3) {
                Some(bits) if bits < operands[0].shape.align() => {
                    the_rule(&Case { op: Op::Add, ..case.clone() }, operands, context)
                }
                _ => the_rule(case, operands, context),
            }
        }),
        ("xor: always an addition", case(Op::Xor), |case, operands, context| {
            the_rule(&Case { op: Op::Add, ..case.clone() }, operands, context)
        }),
        ("xor: all ones keep the sign of steps", case(Op::Xor), |case, operands, context| {
            match (steps(operands[0]), operands[1].shape.constant(3)) {
                (Some(s), Some(7)) => strided(case, s, Congruence::ANY),
                _ => the_rule(case, operands, context),
            }
        }),
        ("umin: lines that wrap compared", case(Op::Umin), trusting),
        ("smax: lines that wrap compared", case(Op::Smax), trusting),
        ("smin: as umin", case(Op::Smin), |case, operands, context| {
            the_rule(&Case { op: Op::Umin, ..case.clone() }, operands, context)
        }),
        ("umax: one of two lines", case(Op::Umax), |_, operands, _| operands[0].join(operands[1])),
        ("uadd_sat: an addition", case(Op::UaddSat), |case, operands, context| {
            the_rule(&Case { op: Op::Add, ..case.clone() }, operands, context)
        }),
        ("ssub_sat: a subtraction", case(Op::SsubSat), |case, operands, context| {
            the_rule(&Case { op: Op::Sub, ..case.clone() }, operands, context)
        }),
        ("abs: the number itself", unary(Op::Abs, 3), |_, operands, _| operands[0]),
        ("abs: the negated number", unary(Op::Abs, 3), |_, operands, context| {
            let zero = Fact::of_shape(Shape::uniform(Congruence::new(0, 3)));
            the_rule(&case(Op::Sub), &[zero, operands[0]], context)
        }),
        ("cttz: of what is known only", unary(Op::Cttz, 3), |case, operands, _| {
            strided(case, Steps::default(), Congruence::new(operands[0].shape.each().zeros().into(), 3))
        }),
        ("ctpop: strided in, uniform out", unary(Op::Ctpop, 3), |_, operands, _| match steps(operands[0]) {
            Some(_) => uniform(Congruence::ANY),
            None => Fact::TOP,
        }),
        ("bitreverse: keeps alignment", unary(Op::Bitreverse, 3), |_, operands, _| operands[0]),
        ("fshl: as shl", Case::new(Op::Fshl, &[], &[2, 2, 2], 2), |_, operands, context| {
            let shl = Case::new(Op::Shl, &[], &[2, 2], 2);
            the_rule(&shl, &[operands[0], operands[2]], context)
        }),
        ("fshr: the other one", Case::new(Op::Fshr, &[], &[2, 2, 2], 2), |case, operands, context| {
            the_rule(&Case { op: Op::Fshl, ..case.clone() }, operands, context)
        }),
        ("zext: lines that wrap extended", unary(Op::Zext, 5), trusting),
        ("sext: lines that wrap extended", unary(Op::Sext, 5), trusting),
        ("sext: as zext", unary(Op::Sext, 5), |case, operands, context| {
            the_rule(&Case { op: Op::Zext, ..case.clone() }, operands, context)
        }),
        ("zext: nneg without a promise", unary(Op::Zext, 5), |case, operands, context| {
            flagged(case, operands, context, &[Nneg])
        }),
        ("zext: more bits known than there were", unary(Op::Zext, 5), |case, operands, context| {
            let base = Congruence::new(operands[0].shape.base().residue().into(), 5);
            with_base(the_rule(case, operands, context), case, base)
        }),
        (
            "trunc: straight without a promise",
            Case::new(Op::Trunc, &[], &[3], 2),
            |case, operands, context| Fact { no_wrap: NoWrap::BOTH, ..the_rule(case, operands, context) },
        ),
        ("ptradd: unsigned offsets", Case::new(Op::PtrAdd, &[], &[3, 2], 3), |_, operands, context| {
            let wide = the_rule(&Case::new(Op::Zext, &[], &[2], 3), &operands[1..], context);
            the_rule(&Case::new(Op::Add, &[], &[3, 3], 3), &[operands[0], wide], context)
                .with_poison(Poison::Any)
        }),
        (
            "select: a varying condition joins lines",
            Case::new(Op::Select, &[], &[1, 3, 3], 3),
            |_, operands, _| operands[1].join(operands[2]),
        ),
        ("select: the other arm", Case::new(Op::Select, &[], &[1, 3, 3], 3), |case, operands, context| {
            the_rule(case, &[operands[0], operands[2], operands[1]], context)
        }),
        ("icmp eq: strided operands of other steps", icmp(IntPredicate::Eq), |_, operands, _| {
            match both(operands) {
                Some(_) => uniform(Congruence::ANY),
                None => Fact::TOP,
            }
        }),
        ("icmp eq: bases that differ never meet", icmp(IntPredicate::Eq), |case, operands, context| {
            match operands[0].shape.base().meet(operands[1].shape.base()) {
                None => uniform(Congruence::new(0, 1)),
                Some(_) => the_rule(case, operands, context),
            }
        }),
        ("icmp ne: as eq", icmp(IntPredicate::Ne), |_, operands, context| {
            the_rule(&icmp(IntPredicate::Eq), operands, context)
        }),
        ("icmp ult: lines that wrap compared", icmp(IntPredicate::Ult), trusting),
        ("icmp ule: lines that wrap compared", icmp(IntPredicate::Ule), trusting),
        ("icmp ugt: lines that wrap compared", icmp(IntPredicate::Ugt), trusting),
        ("icmp uge: lines that wrap compared", icmp(IntPredicate::Uge), trusting),
        ("icmp slt: lines that wrap compared", icmp(IntPredicate::Slt), trusting),
        ("icmp sle: lines that wrap compared", icmp(IntPredicate::Sle), trusting),
        ("icmp sgt: lines that wrap compared", icmp(IntPredicate::Sgt), trusting),
        ("icmp sge: lines that wrap compared", icmp(IntPredicate::Sge), trusting),
        ("icmp sge: as printed in Fig. 10.12", icmp(IntPredicate::Sge), printed_comparison),
        ("icmp ule: as ult", icmp(IntPredicate::Ule), |_, operands, context| {
            the_rule(&icmp(IntPredicate::Ult), operands, context)
        }),
        ("icmp sge: as sgt", icmp(IntPredicate::Sge), |_, operands, context| {
            the_rule(&icmp(IntPredicate::Sgt), operands, context)
        }),
        ("icmp slt: as ult", icmp(IntPredicate::Slt), |_, operands, context| {
            the_rule(&icmp(IntPredicate::Ult), operands, context)
        }),
        ("varying operands give uniform results", case(Op::Add), |_, _, _| uniform(Congruence::ANY)),
    ]
}

/// Faults of rules that look across lanes.
fn horizontal_faults() -> Vec<(&'static str, Horizontal, WrongAcross)> {
    let plain = |op, from: &[u32], to| Horizontal { op, detail: Detail::None, from: from.to_vec(), to };
    let reduce = |by| Horizontal { detail: Detail::Reduce(by), ..plain(Op::Reduce, &[2], 2) };
    let scan = |by, before| Horizontal { detail: Detail::Scan { by, before }, ..plain(Op::Scan, &[2], 2) };
    vec![
        ("any: never poison", plain(Op::Any, &[1], 1), |across, operands, context| {
            across.rule(operands, context).with_poison(Poison::Never)
        }),
        ("all: true if known of some", plain(Op::All, &[1], 1), |_, _, _| uniform(Congruence::new(1, 1))),
        ("ballot: the operand", plain(Op::Ballot, &[1], 2), |_, operands, _| operands[0]),
        (
            "popcount: of all lanes",
            plain(Op::Popcount, &[1], 4),
            |across, operands, context| match operands[0].shape.constant(1) {
                Some(1) => uniform(Congruence::new(4, 4)),
                _ => across.rule(operands, context),
            },
        ),
        ("first: the base", plain(Op::First, &[2], 2), |_, operands, _| uniform(operands[0].shape.base())),
        ("first: the operand", plain(Op::First, &[2], 2), |_, operands, _| operands[0]),
        ("broadcast: the base", plain(Op::Broadcast, &[2, 2], 2), |_, operands, _| {
            uniform(operands[0].shape.base())
        }),
        ("shuffle: the operand", plain(Op::Shuffle, &[2, 2], 2), |_, operands, _| {
            operands[0].with_poison(Poison::Any)
        }),
        ("shuffle: never poison", plain(Op::Shuffle, &[2, 2], 2), |across, operands, context| {
            across.rule(operands, context).with_poison(Poison::Never)
        }),
        ("reduce add: keeps what is known", reduce(Reduction::Add), |_, operands, _| {
            uniform(operands[0].shape.each())
        }),
        (
            "reduce xor: of lanes that agree their value",
            reduce(Reduction::Xor),
            |across, operands, context| match operands[0].is_uniform() {
                true => operands[0].with_poison(Poison::Any),
                false => across.rule(operands, context),
            },
        ),
        ("reduce umin: of a line its base", reduce(Reduction::Umin), |_, operands, _| {
            uniform(operands[0].shape.base())
        }),
        ("scan umin: a line stays one", scan(Reduction::Umin, false), |_, operands, _| {
            operands[0].with_poison(Poison::Any)
        }),
        ("scan umin before: as scan", scan(Reduction::Umin, true), |across, operands, context| {
            let detail = Detail::Scan { by: Reduction::Umin, before: false };
            Horizontal { detail, ..across.clone() }.rule(operands, context)
        }),
        (
            "scan add: as if all lanes were active",
            scan(Reduction::Add, false),
            |across, operands, context| {
                across.rule(operands, &TransferContext { activation: Activation::Full, ..context.clone() })
            },
        ),
        ("scan add before: as scan", scan(Reduction::Add, true), |across, operands, context| {
            let detail = Detail::Scan { by: Reduction::Add, before: false };
            Horizontal { detail, ..across.clone() }.rule(operands, context)
        }),
    ]
}

#[test]
fn every_planted_fault_across_lanes_is_caught() {
    let mut missed = Vec::new();
    for (name, across, wrong) in horizontal_faults() {
        let found = [Activation::Varying, Activation::Full]
            .iter()
            .any(|&activation| across.check(&[4], activation, &wrong).is_err());
        if !found {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

#[test]
fn every_planted_fault_is_caught() {
    let setup = Setup { judges: false, ..Setup::new(&[4]) };
    let straight = Setup::straight(&[2]);
    let mut missed = Vec::new();
    for (name, case, wrong) in faults() {
        let rule: Rule<'_> = &wrong;
        if check(&case, &setup, rule).is_ok() && check(&case, &straight, rule).is_ok() {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}
