//! Cross-lane operations, freezes of poison, and the lattice itself: over all facts, vectors and activations.

use crate::checker::describe;
use crate::vectors::{Family, Lanes, contradiction, facts, family, poison_contradiction, wrap};
use heddle_analysis::shape::{Activation, DetachedInst, Domain, Fact, Poison, TransferContext, apply};
use heddle_interp::scalar::integer;
use heddle_ir::words::{Flags, Reduction};
use heddle_ir::{Detail, Op};

type Vector = Vec<Option<u128>>;

/// Returns every vector that the fact allows, without poison.
fn members(fact: &Fact, width: u32, lanes: &Lanes, active: u32) -> Vec<Vec<u128>> {
    match family(fact, width, lanes, active) {
        Family::Vectors(vectors) => vectors,
        Family::Each(numbers) => {
            let mut vectors = vec![Vec::new()];
            for _ in 0..lanes.count() {
                let longer = |vector: &Vec<u128>| {
                    let extend = |&number: &u128| [vector.as_slice(), &[number]].concat();
                    numbers.iter().map(extend).collect::<Vec<_>>()
                };
                vectors = vectors.iter().flat_map(longer).collect();
            }
            vectors
        }
    }
}

fn active_lanes(mask: u32, lanes: &Lanes) -> Vec<usize> {
    (0..lanes.count()).filter(|lane| mask >> lane & 1 == 1).collect()
}

fn combine(by: Reduction, width: u32, a: u128, b: u128) -> u128 {
    match by {
        Reduction::Add => wrap(width, (a + b) as i128),
        Reduction::Mul => wrap(width, (a * b) as i128),
        Reduction::And => a & b,
        Reduction::Or => a | b,
        Reduction::Xor => a ^ b,
        Reduction::Umin => integer::umin(width, a, b),
        Reduction::Umax => integer::umax(width, a, b),
        Reduction::Smin => integer::smin(width, a, b),
        _ => integer::smax(width, a, b),
    }
}

fn neutral(by: Reduction, width: u32) -> u128 {
    let ones = integer::all_ones(width);
    match by {
        Reduction::Mul => 1,
        Reduction::And | Reduction::Umin => ones,
        Reduction::Smin => ones >> 1,
        Reduction::Smax => (ones >> 1) + 1,
        _ => 0,
    }
}

const INTEGERS: [Reduction; 9] = [
    Reduction::Add,
    Reduction::Mul,
    Reduction::And,
    Reduction::Or,
    Reduction::Xor,
    Reduction::Umin,
    Reduction::Umax,
    Reduction::Smin,
    Reduction::Smax,
];

/// A rule under test.
pub type Rule<'a> = &'a dyn Fn(&Horizontal, &[Fact], &TransferContext<'_>) -> Fact;

/// An operation across lanes.
#[derive(Clone)]
pub struct Horizontal {
    pub op: Op,
    pub detail: Detail,
    pub from: Vec<u32>,
    pub to: u32,
}

impl Horizontal {
    /// Computes the lanes' results by definition; poison in a lane that is read gives poison.
    fn evaluate(&self, operands: &[Vector], mask: u32, lanes: &Lanes) -> Vector {
        let active = active_lanes(mask, lanes);
        let x = &operands[0];
        let row: Vec<Option<u128>> = active.iter().map(|&lane| x[lane]).collect();
        let whole: Option<Vec<u128>> = row.iter().copied().collect();
        let read = |index: Option<u128>| {
            let lane = index.filter(|&index| active.iter().any(|&lane| lane as u128 == index))?;
            x[lane as usize]
        };
        let message = |number: Option<u128>| vec![number; lanes.count()];
        match (self.op, &self.detail) {
            (Op::Any, _) => message(whole.map(|row| row.contains(&1).into())),
            (Op::All, _) => message(whole.map(|row| (!row.contains(&0)).into())),
            (Op::Popcount, _) => {
                message(whole.map(|row| wrap(self.to, row.iter().filter(|&&bit| bit == 1).count() as i128)))
            }
            (Op::Ballot, _) => message(whole.map(|row| {
                let bits = active.iter().zip(row).filter(|(_, bit)| *bit == 1).map(|(lane, _)| 1 << lane);
                wrap(self.to, bits.sum())
            })),
            (Op::First, _) => message(row[0]),
            (Op::Broadcast, _) => {
                let indices = &operands[1];
                let agree = active.iter().all(|&lane| indices[lane] == indices[active[0]]);
                message(indices[active[0]].filter(|_| agree).and_then(|index| read(Some(index))))
            }
            (Op::Shuffle, _) => (0..lanes.count()).map(|lane| read(operands[1][lane])).collect(),
            (Op::Reduce, Detail::Reduce(by)) => {
                message(whole.and_then(|row| row.into_iter().reduce(|a, b| combine(*by, self.from[0], a, b))))
            }
            (Op::Scan, Detail::Scan { by, before }) => {
                let mut result = vec![None; lanes.count()];
                let mut sum = Some(neutral(*by, self.to));
                for &lane in &active {
                    let next = sum.zip(x[lane]).map(|(sum, number)| combine(*by, self.to, sum, number));
                    result[lane] = if *before { sum } else { next };
                    sum = next;
                }
                result
            }
            _ => unreachable!("a horizontal"),
        }
    }

    fn operation(&self) -> DetachedInst<'_> {
        DetachedInst {
            op: self.op,
            detail: &self.detail,
            flags: Flags::NONE,
            operands: self.from.iter().map(|&width| Domain::Number(width)).collect(),
            results: [Domain::Number(self.to)].into_iter().collect(),
            reads_vector: false,
        }
    }

    /// The rule of the crate.
    pub fn rule(&self, operands: &[Fact], context: &TransferContext<'_>) -> Fact {
        apply(&self.operation(), operands, context)[0]
    }

    fn is_sound(&self, extents: &[u32], activation: Activation) {
        self.check(extents, activation, &Horizontal::rule).unwrap_or_else(|reason| panic!("{reason}"));
    }

    /// Checks a rule on all facts, vectors and activations. An `Err` describes an unsound case.
    pub fn check(&self, extents: &[u32], activation: Activation, rule: Rule<'_>) -> Result<(), String> {
        let lanes = Lanes::new(extents);
        let context = TransferContext { activation, ..TransferContext::new(lanes.geometry()) };
        let all = (1u32 << lanes.count()) - 1;
        let masks = if activation == Activation::Full { all..=all } else { 1..=all };
        let mut facts_of: Vec<Vec<Fact>> =
            self.from.iter().map(|&width| facts(width, extents.len(), false)).collect();
        // An operand that may be poison.
        let poisoned =
            |fact: &Fact| [*fact, fact.with_poison(Poison::Uniform), fact.with_poison(Poison::Any)];
        facts_of[0] = facts_of[0].iter().flat_map(poisoned).collect();
        let seconds = facts_of.get(1).cloned().unwrap_or_else(|| vec![Fact::BOTTOM]);
        for first in &facts_of[0] {
            for second in &seconds {
                let operands = &[*first, *second][..self.from.len()];
                let result = rule(self, operands, &context);
                for mask in masks.clone() {
                    let count = mask.count_ones() as usize;
                    let mut vectors: Vec<Vector> = Vec::new();
                    for vector in members(first, self.from[0], &lanes, mask) {
                        let vector: Vector = vector.into_iter().map(Some).collect();
                        if first.poison == Poison::Any {
                            let mut holed = vector.clone();
                            holed[mask.trailing_zeros() as usize] = None;
                            vectors.push(holed);
                        }
                        vectors.push(vector);
                    }
                    if first.poison != Poison::Never {
                        vectors.push(vec![None; lanes.count()]);
                    }
                    let others: Vec<Vector> = match self.from.get(1) {
                        None => vec![Vec::new()],
                        Some(&width) => members(second, width, &lanes, mask)
                            .into_iter()
                            .map(|vector| vector.into_iter().map(Some).collect())
                            .collect(),
                    };
                    for vector in &vectors {
                        for other in &others {
                            let out = self.evaluate(&[vector.clone(), other.clone()], mask, &lanes);
                            let seen: Vector = (0..lanes.count())
                                .map(|lane| out[lane].filter(|_| mask >> lane & 1 == 1))
                                .collect();
                            let defined = seen.iter().flatten().count();
                            let reason = contradiction(&result, self.to, &lanes, &seen)
                                .or_else(|| poison_contradiction(&result, count, count - defined));
                            if let Some(reason) = reason {
                                let message: Vec<String> = operands.iter().map(describe).collect();
                                return Err(format!(
                                    "{} {:?} of {} gives {}, but of {vector:?} {other:?} in lanes {mask:b} comes {seen:?}: {reason}",
                                    self.op,
                                    self.detail,
                                    message.join(", "),
                                    describe(&result)
                                ));
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[test]
fn horizontals_are_sound() {
    let plain = |op, from: &[u32], to| Horizontal { op, detail: Detail::None, from: from.to_vec(), to };
    for activation in [Activation::Varying, Activation::Full] {
        for op in [Op::Any, Op::All] {
            plain(op, &[1], 1).is_sound(&[4], activation);
        }
        for op in [Op::Ballot, Op::Popcount] {
            plain(op, &[1], 4).is_sound(&[4], activation);
            plain(op, &[1], 2).is_sound(&[4], activation);
        }
        plain(Op::First, &[2], 2).is_sound(&[4], activation);
        plain(Op::First, &[1], 1).is_sound(&[4], activation);
        for width in [2, 3] {
            plain(Op::Broadcast, &[width, 2], width).is_sound(&[2], activation);
            plain(Op::Shuffle, &[width, 2], width).is_sound(&[2], activation);
            plain(Op::Shuffle, &[2, width], 2).is_sound(&[2], activation);
        }
        for by in INTEGERS {
            let reduce = Horizontal { op: Op::Reduce, detail: Detail::Reduce(by), from: vec![2], to: 2 };
            reduce.is_sound(&[4], activation);
            reduce.is_sound(&[2, 2], activation);
            for before in [false, true] {
                let scan =
                    Horizontal { op: Op::Scan, detail: Detail::Scan { by, before }, from: vec![2], to: 2 };
                scan.is_sound(&[4], activation);
                Horizontal { from: vec![3], to: 3, ..scan }.is_sound(&[2], activation);
            }
        }
    }
}

#[test]
fn shuffles_along_a_line_are_lines() {
    let shuffle = Horizontal { op: Op::Shuffle, detail: Detail::None, from: vec![3, 3], to: 3 };
    let lanes = Lanes::new(&[4]);
    let context = TransferContext::new(lanes.geometry());
    let strided = facts(3, 1, false).into_iter().filter(|fact| !fact.shape.is_varying());
    let strided: Vec<Fact> = strided.filter(|fact| fact.shape.base().bits() % 3 == 0).collect();
    for first in &strided {
        for second in &strided {
            let result = apply(&shuffle.operation(), &[*first, *second], &context)[0];
            assert!(!result.shape.is_varying(), "{} {}", describe(first), describe(second));
            for vector in members(first, 3, &lanes, 15) {
                for index in members(second, 3, &lanes, 15) {
                    let [vector, index] =
                        [&vector, &index].map(|v| v.iter().copied().map(Some).collect::<Vector>());
                    let seen = shuffle.evaluate(&[vector, index], 15, &lanes);
                    assert_eq!(
                        contradiction(&result, 3, &lanes, &seen),
                        None,
                        "{seen:?} {}",
                        describe(&result)
                    );
                }
            }
        }
    }
}

/// Frozen poison is one value for the execution: any of them, but equal in all lanes.
#[test]
fn freeze_is_sound() {
    let lanes = Lanes::new(&[4]);
    let context = TransferContext::new(lanes.geometry());
    let freeze = Horizontal { op: Op::Freeze, detail: Detail::None, from: vec![2], to: 2 };
    for fact in facts(2, 1, false) {
        for poison in [Poison::Never, Poison::Uniform, Poison::Any] {
            let operand = fact.with_poison(poison);
            let result = apply(&freeze.operation(), &[operand], &context)[0];
            assert_eq!(result.poison, Poison::Never);
            let holes: &[u32] = match poison {
                Poison::Never => &[0],
                Poison::Uniform => &[0, 15],
                Poison::Any => &[0, 1, 2, 4, 5, 8, 11, 15],
            };
            for vector in members(&operand, 2, &lanes, 15) {
                for &holes in holes {
                    for chosen in 0..4 {
                        let lane =
                            |lane: usize| Some(if holes >> lane & 1 == 1 { chosen } else { vector[lane] });
                        let seen: Vector = (0..4).map(lane).collect();
                        let reason = contradiction(&result, 2, &lanes, &seen);
                        assert_eq!(
                            reason,
                            None,
                            "{} gives {}: {seen:?}",
                            describe(&operand),
                            describe(&result)
                        );
                    }
                }
            }
        }
    }
}

/// Order, join and meet are those of the sets of vectors.
#[test]
fn the_lattice_is_that_of_the_sets() {
    let lanes = Lanes::new(&[4]);
    let all = facts(2, 1, false);
    let allows = |fact: &Fact, vector: &[u128]| {
        let vector: Vector = vector.iter().copied().map(Some).collect();
        contradiction(fact, 2, &lanes, &vector).is_none()
    };
    let sets: Vec<Vec<Vec<u128>>> = all.iter().map(|fact| members(fact, 2, &lanes, 15)).collect();
    for (a, left) in all.iter().zip(&sets) {
        for (b, right) in all.iter().zip(&sets) {
            let is_subset = left.iter().all(|vector| allows(b, vector));
            assert_eq!(a.shape.is_below(b.shape), is_subset, "{} {}", a.shape, b.shape);
            let join = a.join(*b);
            assert!(left.iter().chain(right).all(|vector| allows(&join, vector)));
            let meet = Fact::of_shape(a.shape.meet(b.shape));
            assert!(left.iter().filter(|vector| allows(b, vector)).all(|vector| allows(&meet, vector)));
            for c in all.iter().filter(|c| a.shape.is_below(c.shape) && b.shape.is_below(c.shape)) {
                assert!(join.shape.is_below(c.shape), "{} {} {}", a.shape, b.shape, c.shape);
            }
        }
    }
}
