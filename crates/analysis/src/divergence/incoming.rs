//! What joins bring along some of their edges, found without looking at all of them.

use heddle_ir::{Block, Function, Inst, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A join of more edges than this is looked at when all else is settled, for each time costs as much as it has edges.
pub(super) const MAX_EDGES: usize = 8;

/// Per φ of many edges, its values by predecessor.
#[derive(Default)]
pub(super) struct IncomingIndex {
    sorted: FxHashMap<Inst, Vec<(Block, Value)>>,
}

impl IncomingIndex {
    /// Notes a φ if it has many edges.
    pub(super) fn note(&mut self, func: &Function, inst: Inst) {
        let data = func.inst(inst);
        if data.args.len() > MAX_EDGES {
            let mut incoming: Vec<(Block, Value)> = data.incoming().collect();
            incoming.sort_unstable();
            self.sorted.insert(inst, incoming);
        }
    }

    /// Whether a φ has many edges.
    pub(super) fn has_many(&self, inst: Inst) -> bool {
        self.sorted.contains_key(&inst)
    }

    /// The distinct values that a φ has from these predecessors, which are in order.
    pub(super) fn of(&self, func: &Function, phi: Inst, from: &[Block]) -> SmallVec<[Value; 4]> {
        match self.sorted.get(&phi) {
            Some(sorted) => distinct(sorted, from),
            None => distinct(&func.inst(phi).incoming().collect::<SmallVec<[_; MAX_EDGES]>>(), from),
        }
    }
}

/// The distinct things that come from these predecessors; long lists of incoming ones must be in order, and so must the
/// predecessors.
pub(super) fn distinct<T: Copy + Ord>(incoming: &[(Block, T)], from: &[Block]) -> SmallVec<[T; 4]> {
    let mut found: SmallVec<[T; 4]> = if incoming.len() > MAX_EDGES && from.len() < incoming.len() / 4 {
        let at = |pred: &Block| incoming.binary_search_by_key(pred, |&(pred, _)| pred).ok();
        from.iter().filter_map(at).map(|at| incoming[at].1).collect()
    } else {
        incoming.iter().filter(|(pred, _)| from.binary_search(pred).is_ok()).map(|&(_, it)| it).collect()
    };
    found.sort_unstable();
    found.dedup();
    found
}
