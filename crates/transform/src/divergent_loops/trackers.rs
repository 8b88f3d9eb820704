//! What lanes take out of a divergent loop: the exit they took, and the values that the exits' φs read.
//!
//! ```text
//!     NewH: v18 = phi i32 [P: poison], [L: v22]                     x.out: what the lane left with
//!     L:    v22 = phi i32 [GuardH: v18], [B: v18], [E: v10]         who leaves now takes v10; all others keep theirs
//!     X:    v16 = phi i32 [Disp: v18]
//! ```

use heddle_analysis::Cycle;
use heddle_ir::{Block, Function, Inst, Type, Value};
use rustc_hash::FxHashMap;

use super::Nest;
use super::exits::{Exit, Plan};
use crate::edges::phis;

/// A value that is kept for each lane from when it leaves.
#[derive(Debug)]
pub(super) struct Tracker {
    pub(super) ty: Type,
    /// What it is before a lane leaves.
    pub(super) initial: Value,
    /// What it becomes for a lane that leaves by the edge from this block. Along other edges it stays.
    pub(super) updates: FxHashMap<Block, Value>,
}

impl Tracker {
    /// Whether an edge that goes round through the latch changes it.
    pub(super) fn goes_round(&self, plan: &Plan) -> bool {
        plan.rebound.iter().any(|exit| self.updates.contains_key(&exit.from))
    }
}

/// What an exit's φ reads behind the dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiveOut {
    /// A value of outside of the loop, the same along all edges.
    Invariant(Value),
    /// The tracker of this number.
    Tracked(usize),
}

/// All trackers of a loop.
#[derive(Debug, Default)]
pub(super) struct Trackers {
    pub(super) all: Vec<Tracker>,
    /// By exit, in the order of the plan, but for the last: the mask of the lanes that took it.
    pub(super) masks: Vec<usize>,
    /// By exit, in the order of the plan: its φs and what they read.
    pub(super) live_outs: Vec<Vec<(Inst, LiveOut)>>,
}

impl Trackers {
    /// Finds what must be tracked: values that live out and can differ, and which exit lanes took if there are several.
    pub(super) fn new(func: &mut Function, nest: &Nest<'_>, cycle: Cycle, plan: &Plan) -> Trackers {
        let mut trackers = Trackers::default();
        let number: FxHashMap<Block, usize> =
            plan.targets.iter().enumerate().map(|(index, &target)| (target, index)).collect();
        let mut edges: Vec<Vec<Exit>> = vec![Vec::new(); plan.targets.len()];
        plan.rebound.iter().chain(&plan.retained).for_each(|exit| edges[number[&exit.to]].push(*exit));

        let [taken, not_taken] = [true, false].map(|value| func.make_bool(value));
        for edges in &edges[..edges.len() - 1] {
            let updates = edges.iter().map(|exit| (exit.from, taken)).collect();
            trackers.masks.push(trackers.all.len());
            trackers.all.push(Tracker { ty: Type::I1, initial: not_taken, updates });
        }
        let mut tracker_of: FxHashMap<Kept, usize> = FxHashMap::default();
        for &target in &plan.targets {
            let mut live_outs = Vec::new();
            for phi in phis(func, target) {
                let incoming: Vec<(Block, Value)> = func.inst(phi).incoming().collect();
                let &[(_, first), ..] = &incoming[..] else { continue };
                let is_one = incoming.iter().all(|&(_, value)| value == first);
                if is_one && !nest.defines(func, cycle, first) {
                    live_outs.push((phi, LiveOut::Invariant(first)));
                    continue;
                }
                let kept = if is_one { Kept::Value(first) } else { Kept::ByEdge(incoming.clone()) };
                let tracker = *tracker_of.entry(kept).or_insert_with(|| {
                    let ty = func.value_type(first);
                    let initial = func.make_poison(ty);
                    trackers.all.push(Tracker { ty, initial, updates: FxHashMap::default() });
                    trackers.all.len() - 1
                });
                trackers.all[tracker].updates.extend(incoming);
                live_outs.push((phi, LiveOut::Tracked(tracker)));
            }
            trackers.live_outs.push(live_outs);
        }
        trackers
    }
}

/// What a tracker keeps. A lane leaves by one exit, so φs of several exits that read one value share its tracker.
#[derive(PartialEq, Eq, Hash)]
enum Kept {
    Value(Value),
    ByEdge(Vec<(Block, Value)>),
}
