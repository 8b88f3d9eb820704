//! What lanes take out of a divergent loop: the exit they took, and the values that the exits' φs read.
//!
//! ```text
//!     NewH: v18 = phi i32 [P: poison], [L: v22]                     x.out: what the lane left with
//!     L:    v22 = phi i32 [GuardH: v18], [B: v10], [E: v10]         a lane that leaves now takes v10; one that left keeps its own
//!     X:    v16 = phi i32 [Disp: v18]
//! ```
//!
//! A lane that goes on does not read its tracker before it leaves, so it may take v10 as well (where v10 is there): the live mask of
//! the round says which lanes take it, and no mask of those that leave is needed.
//!
//! A lane leaves by one exit, so what it leaves with needs no more trackers than the exit has φs: exits share theirs.
//! An exit that stays has its own: all lanes take it in one round, and what is uniform there stays so behind it. Which
//! exit a lane took is told by masks, or by a number if there are many, so that the size is linear in the exits.

use heddle_analysis::Cycle;
use heddle_ir::{Block, Function, Inst, Scalar, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Nest;
use super::exits::{Exit, Plan};
use crate::edges::phis;

/// A value that is kept for each lane from when it leaves.
#[derive(Debug)]
pub(super) struct Tracker {
    pub(super) ty: Type,
    /// What it is before a lane leaves.
    pub(super) initial: Value,
    /// What it becomes for a lane that leaves by an edge, from one block to another. Along other edges it stays.
    updates: FxHashMap<(Block, Block), Value>,
    /// Whether an edge that goes round through the latch changes it.
    pub(super) goes_round: bool,
}

impl Tracker {
    /// What it becomes for a lane that leaves by this exit.
    pub(super) fn update(&self, exit: &Exit) -> Option<Value> {
        self.updates.get(&exit.edge()).copied()
    }
}

/// How lanes remember by which exit they left.
#[derive(Debug)]
pub(super) enum Taken {
    /// For each exit but the last the tracker of its mask.
    Masks(Vec<usize>),
    /// The tracker of the exit's number.
    Number(usize),
}

/// The most exits that are told by masks.
const MOST_MASKED: usize = 2;

/// What an exit's φ reads behind the dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiveOut {
    /// A value of outside of the loop, the same along all edges.
    Invariant(Value),
    /// The tracker of this number.
    Tracked(usize),
}

/// All trackers of a loop.
#[derive(Debug)]
pub(super) struct Trackers {
    pub(super) all: Vec<Tracker>,
    pub(super) taken: Taken,
    /// By exit, in the order of the plan: its φs and what they read.
    pub(super) live_outs: Vec<Vec<(Inst, LiveOut)>>,
}

impl Trackers {
    /// Finds what must be tracked: values that live out and can differ, and which exit lanes took if there are several.
    pub(super) fn new(func: &mut Function, nest: &Nest<'_>, cycle: Cycle, plan: &Plan) -> Trackers {
        let number: FxHashMap<Block, usize> =
            plan.targets.iter().enumerate().map(|(index, &target)| (target, index)).collect();
        let mut edges: Vec<Vec<(Exit, bool)>> = vec![Vec::new(); plan.targets.len()];
        plan.rebound.iter().for_each(|exit| edges[number[&exit.to]].push((*exit, true)));
        plan.retained.iter().for_each(|exit| edges[number[&exit.to]].push((*exit, false)));

        let mut all = Vec::new();
        let taken = taken(func, &mut all, &edges);
        let mut shared =
            Shared { first: all.len(), all, by_value: FxHashMap::default(), by_type: FxHashMap::default() };
        let mut live_outs = Vec::with_capacity(plan.targets.len());
        for (&target, edges) in plan.targets.iter().zip(&edges) {
            let goes_round = edges.iter().any(|&(_, goes_round)| goes_round);
            let mut same: FxHashMap<Vec<(Block, Value)>, usize> = FxHashMap::default();
            let mut used: FxHashSet<usize> = FxHashSet::default();
            let mut next: FxHashMap<Type, usize> = FxHashMap::default();
            let mut outs = Vec::new();
            for phi in phis(func, target) {
                let incoming: Vec<(Block, Value)> = func.inst(phi).incoming().collect();
                let &[(_, first), ..] = &incoming[..] else { continue };
                let is_one = incoming.iter().all(|&(_, value)| value == first);
                if is_one && !nest.defines(func, cycle, first) {
                    outs.push((phi, LiveOut::Invariant(first)));
                    continue;
                }
                if let Some(&tracker) = same.get(&incoming) {
                    outs.push((phi, LiveOut::Tracked(tracker)));
                    continue;
                }
                let ty = func.value_type(first);
                let kept = (ty, goes_round, is_one.then_some(first));
                let tracker = shared.tracker(func, kept, &used, next.entry(ty).or_default());
                used.insert(tracker);
                let updates = incoming.iter().map(|&(from, value)| ((from, target), value));
                shared.all[tracker].updates.extend(updates);
                same.insert(incoming, tracker);
                outs.push((phi, LiveOut::Tracked(tracker)));
            }
            live_outs.push(outs);
        }
        Trackers { all: shared.all, taken, live_outs }
    }
}

/// Makes what tells by which exit a lane left.
fn taken(func: &mut Function, all: &mut Vec<Tracker>, edges: &[Vec<(Exit, bool)>]) -> Taken {
    let goes_round = edges.iter().flatten().any(|&(_, goes_round)| goes_round);
    if edges.len() > MOST_MASKED {
        let mut updates = FxHashMap::default();
        for (index, edges) in edges.iter().enumerate() {
            let number = func.make_int(Scalar::I32, index as i128);
            updates.extend(edges.iter().map(|(exit, _)| (exit.edge(), number)));
        }
        let initial = func.make_int(Scalar::I32, 0);
        all.push(Tracker { ty: Scalar::I32.into(), initial, updates, goes_round });
        return Taken::Number(0);
    }
    let [yes, no] = [true, false].map(|value| func.make_bool(value));
    let masked = &edges[..edges.len() - 1];
    all.extend(masked.iter().map(|edges| Tracker {
        ty: Type::I1,
        initial: no,
        updates: edges.iter().map(|(exit, _)| (exit.edge(), yes)).collect(),
        goes_round: edges.iter().any(|&(_, goes_round)| goes_round),
    }));
    Taken::Masks((0..masked.len()).collect())
}

/// What a tracker keeps: its type, whether it goes round, and the value, if it is the same along all edges of an exit.
type Kept = (Type, bool, Option<Value>);

/// Trackers that exits share.
struct Shared {
    /// The first tracker of a value.
    first: usize,
    all: Vec<Tracker>,
    by_value: FxHashMap<Kept, usize>,
    by_type: FxHashMap<(Type, bool), Vec<usize>>,
}

impl Shared {
    /// A tracker that this exit does not use yet: that of the same value if there is one. Of its type, those before
    /// `next` are in use.
    fn tracker(
        &mut self,
        func: &mut Function,
        kept: Kept,
        used: &FxHashSet<usize>,
        next: &mut usize,
    ) -> usize {
        let (ty, goes_round, value) = kept;
        if value.is_some()
            && let Some(&tracker) = self.by_value.get(&kept).filter(|tracker| !used.contains(*tracker))
        {
            return tracker;
        }
        let same = self.by_type.entry((ty, goes_round)).or_default();
        while same.get(*next).is_some_and(|tracker| used.contains(tracker)) {
            *next += 1;
        }
        // What stays an exit is left by all lanes in one round: nothing is shared, which would make it vary.
        let tracker = match same.get(*next).filter(|_| goes_round) {
            Some(&tracker) => tracker,
            None => {
                let initial = func.make_poison(ty);
                self.all.push(Tracker { ty, initial, updates: FxHashMap::default(), goes_round });
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
