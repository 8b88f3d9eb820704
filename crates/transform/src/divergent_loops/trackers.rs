//! Tracks the live-outs of a divergent loop: the exit that each lane took, and the operands of the exits' φs.
//!
//! ```text
//!     NewH: v18 = phi i32 [P: poison], [L: v22]                     x.out: value with which the lane left
//!     L:    v22 = phi i32 [GuardH: v18], [B: v10], [E: v10]         a lane that leaves takes v10; one that left keeps its own
//!     X:    v16 = phi i32 [Disp: v18]
//! ```
//!
//! A lane that continues does not read its tracker before it leaves, so it may take v10 as well where v10 is available. The live mask of
//! the iteration then selects the lanes, and no mask of leaving lanes is needed.
//!
//! A lane takes a single exit, so it needs at most as many trackers as an exit has φs: exits share trackers. A retained exit has its
//! own ones: all lanes take it in one iteration, and uniform values stay uniform after it. Masks record which exit a lane
//! took; for many exits a number does, so that the code is linear in their count.

use heddle_analysis::Cycle;
use heddle_ir::{Block, Function, Inst, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::LoopMembership;
use super::exits::{LoopExit, UniformLoopPlan};
use crate::edges::phis;

/// Per-lane value that is kept from when a lane leaves.
#[derive(Debug)]
pub(super) struct Tracker {
    pub(super) ty: Type,
    /// Value before a lane leaves.
    pub(super) initial: Value,
    /// New value for a lane that leaves along an edge. Other edges keep it.
    updates: FxHashMap<(Block, Block), Value>,
    /// True if a rerouted exit changes it.
    pub(super) is_rerouted: bool,
}

impl Tracker {
    /// Returns its new value for a lane that leaves by this exit.
    pub(super) fn update(&self, exit: &LoopExit) -> Option<Value> {
        self.updates.get(&exit.edge()).copied()
    }
}

/// Record of the exit that each lane took.
#[derive(Debug)]
pub(super) enum TakenExit {
    /// For each exit but the last, the tracker of its mask.
    Masks(Vec<usize>),
    /// Tracker of the exit's number.
    Number(usize),
}

/// Maximum number of exits recorded by masks.
const MAX_MASKED_EXITS: usize = 2;

/// Source of an exit φ's value after the dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiveOut {
    /// Value from outside of the loop, equal along all edges.
    Invariant(Value),
    /// Index of a tracker.
    Tracked(usize),
}

/// All trackers of a loop.
#[derive(Debug)]
pub(super) struct Trackers {
    pub(super) all: Vec<Tracker>,
    pub(super) taken_exit: TakenExit,
    /// φs of each exit, in the order of the plan, with their sources.
    pub(super) live_outs: Vec<Vec<(Inst, LiveOut)>>,
}

impl Trackers {
    /// Creates trackers for live-outs that may differ between lanes, and for the exit taken if there are several.
    pub(super) fn new(
        func: &mut Function,
        membership: &LoopMembership<'_>,
        cycle: Cycle,
        plan: &UniformLoopPlan,
    ) -> Trackers {
        let number: FxHashMap<Block, usize> =
            plan.targets.iter().enumerate().map(|(index, &target)| (target, index)).collect();
        let mut edges: Vec<Vec<(LoopExit, bool)>> = vec![Vec::new(); plan.targets.len()];
        plan.rerouted.iter().for_each(|exit| edges[number[&exit.to]].push((*exit, true)));
        plan.retained.iter().for_each(|exit| edges[number[&exit.to]].push((*exit, false)));

        let mut all = Vec::new();
        let taken_exit = taken_exit(func, &mut all, &edges);
        let mut shared = SharedTrackers {
            first: all.len(),
            all,
            by_value: FxHashMap::default(),
            by_type: FxHashMap::default(),
        };
        let mut live_outs = Vec::with_capacity(plan.targets.len());
        for (&target, edges) in plan.targets.iter().zip(&edges) {
            let is_rerouted = edges.iter().any(|&(_, is_rerouted)| is_rerouted);
            let mut same: FxHashMap<Vec<(Block, Value)>, usize> = FxHashMap::default();
            let mut used: FxHashSet<usize> = FxHashSet::default();
            let mut next: FxHashMap<Type, usize> = FxHashMap::default();
            let mut outs = Vec::new();
            for phi in phis(func, target) {
                let incoming: Vec<(Block, Value)> = func.inst(phi).incoming().collect();
                let &[(_, first), ..] = &incoming[..] else { continue };
                let is_one = incoming.iter().all(|&(_, value)| value == first);
                if is_one && !membership.defines(func, cycle, first) {
                    outs.push((phi, LiveOut::Invariant(first)));
                    continue;
                }
                if let Some(&tracker) = same.get(&incoming) {
                    outs.push((phi, LiveOut::Tracked(tracker)));
                    continue;
                }
                let ty = func.value_type(first);
                let kept = (ty, is_rerouted, is_one.then_some(first));
                let tracker = shared.tracker(func, kept, &used, next.entry(ty).or_default());
                used.insert(tracker);
                let updates = incoming.iter().map(|&(from, value)| ((from, target), value));
                shared.all[tracker].updates.extend(updates);
                same.insert(incoming, tracker);
                outs.push((phi, LiveOut::Tracked(tracker)));
            }
            live_outs.push(outs);
        }
        Trackers { all: shared.all, taken_exit, live_outs }
    }
}

/// Creates the trackers that record the exit taken.
fn taken_exit(func: &mut Function, all: &mut Vec<Tracker>, edges: &[Vec<(LoopExit, bool)>]) -> TakenExit {
    let is_rerouted = edges.iter().flatten().any(|&(_, is_rerouted)| is_rerouted);
    if edges.len() > MAX_MASKED_EXITS {
        let mut updates = FxHashMap::default();
        for (index, edges) in edges.iter().enumerate() {
            let number = func.make_int(Scalar::I32, index as i128);
            updates.extend(edges.iter().map(|(exit, _)| (exit.edge(), number)));
        }
        let initial = func.make_int(Scalar::I32, 0);
        all.push(Tracker { ty: Scalar::I32.into(), initial, updates, is_rerouted });
        return TakenExit::Number(0);
    }
    let [yes, no] = [true, false].map(|value| func.make_bool(value));
    let masked = &edges[..edges.len() - 1];
    all.extend(masked.iter().map(|edges| Tracker {
        ty: Type::I1,
        initial: no,
        updates: edges.iter().map(|(exit, _)| (exit.edge(), yes)).collect(),
        is_rerouted: edges.iter().any(|&(_, is_rerouted)| is_rerouted),
    }));
    TakenExit::Masks((0..masked.len()).collect())
}

/// Key for sharing a tracker: its type, whether it is rerouted, and its value if equal along all edges of an exit.
type TrackerKey = (Type, bool, Option<Value>);

/// Trackers shared by exits.
struct SharedTrackers {
    /// Index of the first tracker for values.
    first: usize,
    all: Vec<Tracker>,
    by_value: FxHashMap<TrackerKey, usize>,
    by_type: FxHashMap<(Type, bool), Vec<usize>>,
}

impl SharedTrackers {
    /// Returns a tracker that this exit does not use yet, preferably one with the same value. Trackers of its type before `next` are used.
    fn tracker(
        &mut self,
        func: &mut Function,
        kept: TrackerKey,
        used: &FxHashSet<usize>,
        next: &mut usize,
    ) -> usize {
        let (ty, is_rerouted, value) = kept;
        if value.is_some()
            && let Some(&tracker) = self.by_value.get(&kept).filter(|tracker| !used.contains(*tracker))
        {
            return tracker;
        }
        let same = self.by_type.entry((ty, is_rerouted)).or_default();
        while same.get(*next).is_some_and(|tracker| used.contains(tracker)) {
            *next += 1;
        }
        // All lanes take a retained exit in one iteration: sharing would make its tracker varying.
        let tracker = match same.get(*next).filter(|_| is_rerouted) {
            Some(&tracker) => tracker,
            None => {
                let initial = func.make_poison(ty);
                self.all.push(Tracker { ty, initial, updates: FxHashMap::default(), is_rerouted });
                same.push(self.all.len() - 1);
                self.all.len() - 1
            }
        };
        debug_assert!(tracker >= self.first, "masks are no live-outs");
        if value.is_some() {
            self.by_value.insert(kept, tracker);
        }
        tracker
    }
}
