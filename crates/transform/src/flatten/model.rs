//! Whether flattening pays: what lanes that run together take for an iteration of the outer loop, before and after.
//!
//! Be `a` the cost of the payload, `b` that of an iteration of the inner loop, and let the inner loop go round `t` times,
//! in each lane by itself. Before, lanes wait for the slowest: `a + b E[max t]`. After, a lane goes round `E[t]` times
//! for each iteration of the outer loop, once at least; each time all that some lane does is executed: the inner loop,
//! and the payload if a lane has come to its end. That is not so with probability `(1 - 1/E[t])^W`. In the end lanes
//! wait for the one with the most to do in all; over many iterations that evens out.
//!
//! Formula (1) of the paper says that it pays if `n/N > Ta/(Ta + Tb)`, where `n/N` is the share of lanes that are idle in
//! the inner loop. It knows no overhead, and takes the payload to be executed each time. Both are told.

use heddle_analysis::{ControlTables, Cycle};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, InstData, Op};
use std::fmt;

use super::Options;

/// How often loops go round of which nothing is known, on average.
const UNKNOWN_TRIPS: f64 = 8.0;
/// How many iterations of an outer loop even out what lanes have to do, if nothing is known of it.
const UNKNOWN_ROUNDS: f64 = 32.0;
/// What must be gained, as a factor.
const LEAST_GAIN: f64 = 1.05;

/// How often a loop goes round once it is entered: counts of lanes, by number of iterations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trips {
    /// Pairs of a number of iterations and how often it came, in ascending order.
    pub counts: Vec<(u64, u64)>,
}

impl Trips {
    /// From words: `1x31/64x1` is one iteration 31 times, 64 iterations once.
    pub fn parse(words: &str) -> Option<Trips> {
        let pair = |word: &str| {
            let (trips, count) = word.split_once('x')?;
            Some((trips.parse().ok()?, count.parse().ok().filter(|&count: &u64| count > 0)?))
        };
        let mut counts = words.split('/').map(pair).collect::<Option<Vec<(u64, u64)>>>()?;
        counts.sort_unstable();
        Some(Trips { counts })
    }

    /// Mean, variance, and the mean of the most of so many lanes that are independent.
    fn moments(&self, lanes: u32) -> Option<(f64, f64, f64)> {
        let total: u64 = self.counts.iter().fold(0, |total: u64, &(_, count)| total.saturating_add(count));
        if total == 0 {
            return None;
        }
        let share = |count: u64| count as f64 / total as f64;
        let mean: f64 = self.counts.iter().map(|&(trips, count)| trips as f64 * share(count)).sum();
        let variance: f64 =
            self.counts.iter().map(|&(trips, count)| (trips as f64 - mean).powi(2) * share(count)).sum();
        let (mut below, mut most) = (0u64, 0.0);
        for &(trips, count) in &self.counts {
            let all_below = share(below).powi(lanes as i32);
            below = below.saturating_add(count);
            most += trips as f64 * (share(below).powi(lanes as i32) - all_below);
        }
        Some((mean, variance, most))
    }

    /// As if after each iteration the lane left with the same probability.
    fn geometric(mean: f64, lanes: u32) -> (f64, f64, f64) {
        let stays = 1.0 - 1.0 / mean;
        // E[max] = sum over t of P(max > t).
        let (mut most, mut above) = (0.0, 1.0f64);
        while above > 1e-9 {
            most += 1.0 - (1.0 - above).powi(lanes as i32);
            above *= stays;
        }
        (mean, mean * mean * stays, most)
    }
}

/// What the model makes of a nest; costs are in instructions of lanes together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// An iteration of the outer loop as it is.
    pub before: f64,
    /// The same, flattened.
    pub after: f64,
    /// Formula (1): the share of lanes that are idle in the inner loop.
    pub idle: f64,
    /// Formula (1): the share of the payload in one way round.
    pub payload: f64,
}

impl Estimate {
    /// Whether it pays.
    pub fn pays(&self) -> bool {
        self.before > LEAST_GAIN * self.after
    }

    /// Whether it would by formula (1).
    pub fn pays_by_formula(&self) -> bool {
        self.idle > self.payload
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.pays_by_formula() { "pays" } else { "does not pay" };
        write!(
            f,
            "{:.1} instructions for an iteration become {:.1}; by formula (1), {:.2} idle against {:.2}, it {word}",
            self.before, self.after, self.idle, self.payload
        )
    }
}

/// What the parts of a function cost.
pub(super) struct Costs<'a> {
    control: &'a ControlTables,
    own: SecondaryMap<Block, f64>,
}

/// About how many simple instructions one takes.
fn cost(data: &InstData) -> f64 {
    match data.op {
        Op::Phi => 0.0,
        Op::Br if data.args.is_empty() => 0.0,
        Op::Sqrt | Op::Fdiv | Op::Frem => 8.0,
        _ => match data.op.info().effect {
            Effect::Traps => 12.0,
            Effect::Reads | Effect::Writes | Effect::ReadsWrites => 4.0,
            Effect::Callee => 20.0,
            _ => 1.0,
        },
    }
}

impl<'a> Costs<'a> {
    pub(super) fn new(func: &Function, control: &'a ControlTables) -> Costs<'a> {
        let mut own = SecondaryMap::with_len(func.block_count());
        for &block in control.index.order() {
            own[block] = func.block_insts(block).map(|inst| cost(func.inst(inst))).sum();
        }
        Costs { control, own }
    }

    /// An iteration of a loop, those inside of it gone round as often as nobody knows.
    fn iteration(&self, cycle: Cycle) -> f64 {
        let forest = &self.control.cycles;
        let depth = forest.depth(cycle);
        let weight =
            |block: &Block| UNKNOWN_TRIPS.powi((forest.depth_of_block(*block) - depth - 1).min(6) as i32);
        forest.blocks(cycle).iter().map(|block| self.own[*block] * weight(block)).sum()
    }

    pub(super) fn estimate(&self, outer: Cycle, inner: &[Cycle], options: &Options) -> Estimate {
        let forest = &self.control.cycles;
        let lanes = options.lanes.max(1);
        let whole = self.iteration(outer);
        let mut estimate = Estimate { before: 0.0, after: 0.0, idle: 0.0, payload: 0.0 };
        let (mut rounds, mut spread, mut in_loops, mut most_in_loops, mut work) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut in_each = 0.0;
        for &cycle in inner {
            let body = self.iteration(cycle);
            let (mean, variance, most) = (options.trips.get(&forest.header(cycle)))
                .and_then(|trips| trips.moments(lanes))
                .unwrap_or_else(|| Trips::geometric(UNKNOWN_TRIPS, lanes));
            rounds += mean;
            spread += variance;
            in_loops += body * UNKNOWN_TRIPS;
            most_in_loops += body * most;
            work += body * mean;
            in_each += body;
        }
        let payload = (whole - in_loops).max(0.0);
        let rounds = f64::max(rounds, 1.0);
        // Asking for the state, and whether the lane leaves.
        let overhead = inner.len() as f64 + 1.0;
        let comes_to_an_end = 1.0 - (1.0 - 1.0 / rounds).powi(lanes as i32);
        // How far the lane with the most to do is above the mean.
        let uneven = 1.0 + (spread * 2.0 * f64::from(lanes).ln() / UNKNOWN_ROUNDS).sqrt() / rounds;
        estimate.before = payload + most_in_loops;
        estimate.after = rounds * uneven * (in_each + overhead + comes_to_an_end * payload);
        estimate.idle = if most_in_loops > 0.0 { 1.0 - work / most_in_loops } else { 0.0 };
        estimate.payload = payload / f64::max(payload + in_each, 1.0);
        estimate
    }
}
