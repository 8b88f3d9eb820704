//! Runs a transfer function over all facts of its operands, and compares with everything that may come out.

use crate::operations::{Case, Outcome};
use crate::vectors::{Family, Lanes, contains, contradiction, facts, family, poison_contradiction, wrap};
use heddle_analysis::shape::{Congruence, Fact, Geometry, Shape, Steps, TransferContext, apply};

/// A transfer function under test.
pub type Rule<'a> = &'a dyn Fn(&Case, &[Fact], &TransferContext<'_>) -> Fact;

/// The one of the crate.
pub fn the_rule(case: &Case, operands: &[Fact], context: &TransferContext<'_>) -> Fact {
    apply(&case.operation(), operands, context)[0]
}

/// Counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Combinations of facts.
    pub all: u64,
    /// Of these, how often a smaller shape would do.
    pub loose: u64,
    /// As above, for combinations whose last operand is a constant.
    pub by_constant: u64,
    pub loose_by_constant: u64,
    /// A combination where a smaller shape would do: the shortest one met first.
    pub example: Option<((bool, usize), String)>,
}

/// Operation and operands to check.
pub struct Setup {
    pub lanes: Lanes,
    pub context: TransferContext<'static>,
    /// With promises of straightness, and some lanes not active.
    pub with_straight: bool,
    /// True to search for smaller shapes.
    pub judges: bool,
}

impl Setup {
    pub fn new(extents: &[u32]) -> Setup {
        let lanes = Lanes::new(extents);
        let context = TransferContext::new(lanes.geometry());
        Setup { lanes, context, with_straight: false, judges: true }
    }

    pub fn straight(extents: &[u32]) -> Setup {
        Setup { with_straight: true, judges: false, ..Setup::new(extents) }
    }

    /// The brush is not known.
    pub fn unknown(extents: &[u32]) -> Setup {
        let geometry = Geometry { dimensions: extents.len() as u32, ..Geometry::unknown() };
        Setup { context: TransferContext::new(geometry), judges: false, ..Setup::new(extents) }
    }

    fn masks(&self) -> Vec<u32> {
        let all = (1 << self.lanes.count()) - 1;
        if self.with_straight { (1..=all).rev().collect() } else { vec![all] }
    }
}

/// Possible values of one lane: a set of numbers, and perhaps poison.
#[derive(Clone, Copy, Default)]
struct Held {
    numbers: u128,
    poison: bool,
}

impl Held {
    fn only(self) -> Option<u128> {
        (self.numbers.count_ones() == 1).then(|| self.numbers.trailing_zeros().into())
    }

    fn iter(self) -> impl Iterator<Item = u128> {
        (0..128).filter(move |bit| self.numbers >> bit & 1 == 1)
    }
}

/// The smallest shape of all vectors seen.
struct Smallest {
    width: u32,
    /// Strides that fit so far, with what is known of the base.
    strides: Vec<(Steps<i128>, Option<Congruence>)>,
    each: Option<Congruence>,
}

fn joined(known: Option<Congruence>, number: i128, width: u32) -> Option<Congruence> {
    let number = Congruence::new(number, width);
    Some(known.map_or(number, |known| known.join(number)))
}

impl Smallest {
    fn new(width: u32, steps: &[Steps<i128>]) -> Smallest {
        Smallest { width, strides: steps.iter().map(|&steps| (steps, None)).collect(), each: None }
    }

    fn see(&mut self, held: &[Held], lanes: &Lanes) {
        let width = self.width;
        for held in held {
            for number in held.iter() {
                self.each = joined(self.each, number as i128, width);
            }
        }
        self.strides.retain_mut(|(steps, base)| {
            let mut first: Option<u128> = None;
            let mut free = 0;
            for (lane, held) in held.iter().enumerate().filter(|(_, held)| held.numbers != 0) {
                let distance = lanes.distance(lane, steps.map(|step| step as i64));
                match held.only() {
                    None => free += 1,
                    Some(number) => {
                        let number = wrap(width, number as i128 - distance);
                        if first.is_some_and(|first| first != number) {
                            return false;
                        }
                        first = Some(number);
                    }
                }
                if free > 1 || free == 1 && first.is_some() {
                    return false;
                }
                for number in held.iter() {
                    *base = joined(*base, number as i128 - distance, width);
                }
            }
            true
        });
    }

    fn shapes(&self) -> Vec<Shape> {
        let Some(each) = self.each else { return vec![Shape::Undefined] };
        let strided = self
            .strides
            .iter()
            .map(|&(steps, base)| Shape::strided(self.width, steps, base.unwrap_or(Congruence::ANY)));
        strided.chain([Shape::varying(self.width, each)]).collect()
    }
}

/// Finds a choice of one number per lane that the fact does not allow.
fn held_contradiction(
    fact: &Fact,
    width: u32,
    lanes: &Lanes,
    held: &[Held],
    active: u32,
) -> Option<&'static str> {
    let several = held.iter().filter(|held| held.numbers.count_ones() > 1).count();
    let some = held.iter().filter(|held| held.numbers != 0).count();
    let poisoned = held.iter().filter(|held| held.poison).count();
    let must = held.iter().filter(|held| held.poison && held.numbers == 0).count();
    if poisoned > 0 {
        // Poison in some lanes only is possible unless every value is poison, or there is one lane.
        let count = if must == poisoned || active.count_ones() == 1 { must.max(1) } else { 1 };
        if let Some(reason) = poison_contradiction(fact, active.count_ones() as usize, count) {
            return Some(reason);
        }
    }
    if let Shape::Varying { each } = fact.shape {
        let all = held.iter().flat_map(|held| held.iter()).all(|number| contains(each, number as i128));
        return (!all).then_some("a lane is not in the congruence");
    }
    if several > 0 && some > 1 {
        return Some("lanes are unrelated");
    }
    if several > 0 {
        // One lane alone: each of its numbers.
        let lane = held.iter().position(|held| held.numbers != 0).unwrap_or(0);
        return held[lane].iter().find_map(|number| {
            let mut vector = vec![None; held.len()];
            vector[lane] = Some(number);
            contradiction(fact, width, lanes, &vector)
        });
    }
    let vector: Vec<Option<u128>> = held.iter().map(|held| held.only()).collect();
    contradiction(fact, width, lanes, &vector)
}

/// Checks a rule on all facts of its operands. An `Err` describes an unsound case.
pub fn check(case: &Case, setup: &Setup, rule: Rule<'_>) -> Result<Tally, String> {
    let lanes = &setup.lanes;
    let masks = setup.masks();
    let dimensions = lanes.extents.len();
    let all: Vec<Vec<Fact>> =
        case.from.iter().map(|&width| facts(width, dimensions, setup.with_straight)).collect();
    let families: Vec<Vec<Vec<Family>>> = all
        .iter()
        .zip(&case.from)
        .map(|(facts, &width)| {
            let of = |fact| masks.iter().map(|&mask| family(fact, width, lanes, mask)).collect();
            facts.iter().map(of).collect()
        })
        .collect();
    let table = Table::new(case);
    let mut steps: Vec<Steps<i128>> = facts(case.to, dimensions, false)
        .iter()
        .filter_map(|fact| fact.shape.strides().map(|strides| strides.wide()))
        .collect();
    steps.dedup();
    let mut tally = Tally::default();
    let mut indices = vec![0; case.from.len()];
    loop {
        let operands: Vec<Fact> = indices.iter().zip(&all).map(|(&index, facts)| facts[index]).collect();
        let result = rule(case, &operands, &setup.context);
        let mut smallest = setup.judges.then(|| Smallest::new(case.to, &steps));
        for (at, &mask) in masks.iter().enumerate() {
            let chosen: Vec<&Family> =
                indices.iter().zip(&families).map(|(&index, families)| &families[index][at]).collect();
            each_outcome(&table, &chosen, lanes, mask, |held| {
                if let Some(reason) = held_contradiction(&result, case.to, lanes, held, mask) {
                    let message: Vec<String> = operands.iter().map(describe).collect();
                    let seen: Vec<Vec<u128>> = held.iter().map(|held| held.iter().collect()).collect();
                    return Err(format!(
                        "{}: {} gives {}, but {seen:?} in lanes {mask:b}: {reason}",
                        case.name(),
                        message.join(", "),
                        describe(&result)
                    ));
                }
                if let Some(smallest) = &mut smallest {
                    smallest.see(held, lanes);
                }
                Ok(())
            })?;
        }
        tally.all += 1;
        let by_constant = operands.len() > 1
            && operands
                .last()
                .is_some_and(|last| last.shape.constant(case.from[operands.len() - 1]).is_some());
        tally.by_constant += u64::from(by_constant);
        if let Some(smallest) = smallest {
            let smaller = smallest
                .shapes()
                .into_iter()
                .find(|&shape| shape.is_below(result.shape) && shape != result.shape);
            if let Some(smaller) = smaller {
                tally.loose += 1;
                tally.loose_by_constant += u64::from(by_constant);
                let message: Vec<String> = operands.iter().map(|fact| format!("{:#}", fact.shape)).collect();
                let example =
                    format!("`{}` gives `{:#}`, not `{smaller:#}`", message.join("`, `"), result.shape);
                // Constants are more instructive, and so are short examples.
                let rank = (!by_constant, example.len());
                if tally.example.as_ref().is_none_or(|(best, _)| rank < *best) {
                    tally.example = Some((rank, example));
                }
            }
        }
        let mut position = 0;
        while position < indices.len() {
            indices[position] += 1;
            if indices[position] < all[position].len() {
                break;
            }
            indices[position] = 0;
            position += 1;
        }
        if position == indices.len() {
            return Ok(tally);
        }
    }
}

pub fn describe(fact: &Fact) -> String {
    let mut text = format!("{:#}", fact.shape);
    if !fact.shape.is_uniform() {
        for (holds, word) in [(fact.no_wrap.unsigned, "unsigned"), (fact.no_wrap.signed, "signed")] {
            if holds {
                text += &format!(" {word}");
            }
        }
    }
    format!("[{text}, {:?}]", fact.poison)
}

/// The outcomes of a case, computed once.
struct Table {
    shifts: Vec<u32>,
    outcomes: Vec<Outcome>,
}

impl Table {
    fn new(case: &Case) -> Table {
        let mut shifts = Vec::new();
        let mut bits = 0;
        for &from in &case.from {
            shifts.push(bits);
            bits += from;
        }
        let operands = |index: u128| -> Vec<u128> {
            case.from.iter().zip(&shifts).map(|(&from, &shift)| index >> shift & ((1 << from) - 1)).collect()
        };
        let outcomes = (0..1u128 << bits).map(|index| case.evaluate(&operands(index))).collect();
        Table { shifts, outcomes }
    }

    fn at(&self, index: usize) -> Outcome {
        self.outcomes[index]
    }
}

/// Calls back with what lanes may hold: one call for each choice of lines, with all that unrelated lanes add to it.
fn each_outcome(
    table: &Table,
    families: &[&Family],
    lanes: &Lanes,
    mask: u32,
    mut see: impl FnMut(&[Held]) -> Result<(), String>,
) -> Result<(), String> {
    let counts: Vec<usize> = families
        .iter()
        .map(|family| match family {
            Family::Vectors(vectors) => vectors.len(),
            Family::Each(_) => 1,
        })
        .collect();
    if counts.contains(&0) {
        return Ok(());
    }
    let mut choice = vec![0; families.len()];
    loop {
        let mut held = vec![Held::default(); lanes.count()];
        let mut is_possible = true;
        for (lane, held) in held.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1) {
            gather(table, families, &choice, lane, 0, 0, held);
            is_possible &= held.poison || held.numbers != 0;
        }
        if is_possible {
            see(&held)?;
        }
        let mut position = 0;
        while position < choice.len() {
            choice[position] += 1;
            if choice[position] < counts[position] {
                break;
            }
            choice[position] = 0;
            position += 1;
        }
        if position == choice.len() {
            return Ok(());
        }
    }
}

fn gather(
    table: &Table,
    families: &[&Family],
    choice: &[usize],
    lane: usize,
    operand: usize,
    index: usize,
    held: &mut Held,
) {
    if operand == families.len() {
        match table.at(index) {
            Outcome::Number(number) => held.numbers |= 1u128 << number,
            Outcome::Poison => held.poison = true,
            Outcome::Undefined => {}
        }
        return;
    }
    let shift = table.shifts[operand];
    let mut with = |number: u128| {
        gather(table, families, choice, lane, operand + 1, index | (number as usize) << shift, held);
    };
    match families[operand] {
        Family::Vectors(vectors) => with(vectors[choice[operand]][lane]),
        Family::Each(numbers) => numbers.iter().for_each(|&number| with(number)),
    }
}
