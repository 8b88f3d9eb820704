//! Index of φ operands by predecessor, for φs with many edges.

use heddle_ir::{Block, Function, Inst, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Number of edges above which joins are evaluated last, because an evaluation visits all edges.
pub(super) const MAX_EDGES: usize = 8;

/// Operands by predecessor of each φ with many edges.
#[derive(Default)]
pub(super) struct IncomingIndex {
    sorted: FxHashMap<Inst, Vec<(Block, Value)>>,
}

impl IncomingIndex {
    /// Indexes a φ if it has many edges.
    pub(super) fn add(&mut self, func: &Function, inst: Inst) {
        let data = func.inst(inst);
        if data.args.len() > MAX_EDGES {
            let mut incoming: Vec<(Block, Value)> = data.incoming().collect();
            incoming.sort_unstable();
            self.sorted.insert(inst, incoming);
        }
    }

    /// True if the φ has many edges.
    pub(super) fn has_many(&self, inst: Inst) -> bool {
        self.sorted.contains_key(&inst)
    }

    /// Returns the distinct values that a φ has for these predecessors, which are sorted.
    pub(super) fn of(&self, func: &Function, phi: Inst, from: &[Block]) -> SmallVec<[Value; 4]> {
        match self.sorted.get(&phi) {
            Some(sorted) => distinct(sorted, from),
            None => distinct(&func.inst(phi).incoming().collect::<SmallVec<[_; MAX_EDGES]>>(), from),
        }
    }
}

/// Returns the distinct items of these predecessors, which are sorted. Long lists of items must be sorted too.
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
