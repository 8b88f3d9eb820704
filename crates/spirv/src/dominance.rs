//! Dominance: each use of a value is one that every path reaches through the value's definition.
//!
//! LLVM's reader ends the process, or leaves a thread behind, where a module breaks this rule. Dominators by Lengauer and Tarjan,
//! "A fast algorithm for finding dominators in a flowgraph" (TOPLAS 1979), in the version without balancing; nothing recurses.

use rustc_hash::{FxHashMap, FxHashSet};

/// Use of a value that the block of the use does not define before it.
#[derive(Clone, Debug)]
pub(crate) struct ValueUse {
    /// The value.
    pub(crate) id: u32,
    /// Block of the use; that of a φ's operand is the predecessor.
    block: u32,
    /// Offset of the instruction, in words.
    pub(crate) word: usize,
    /// True if the end of the block is the use.
    is_at_end: bool,
}

/// Definitions and uses of a function's values.
#[derive(Default, Debug)]
pub(crate) struct ValueFlow {
    /// Blocks of the results of instructions.
    block_of: FxHashMap<u32, u32>,
    /// Results of the instructions so far.
    written: FxHashSet<u32>,
    uses: Vec<ValueUse>,
}

impl ValueFlow {
    /// Notes that a block defines a value.
    pub(crate) fn define(&mut self, id: u32, block: u32) {
        self.block_of.insert(id, block);
    }

    /// Notes that a value's instruction is complete.
    pub(crate) fn complete(&mut self, id: u32) {
        self.written.insert(id);
    }

    /// Notes a use by the instruction at a word.
    pub(crate) fn note_use(&mut self, id: u32, block: u32, word: usize) {
        match self.block_of.get(&id) {
            Some(&of) if of != block || !self.written.contains(&id) => {
                self.uses.push(ValueUse { id, block, word, is_at_end: false });
            }
            _ => {}
        }
    }

    /// Notes a use by the φ at a word, along the edge from a predecessor.
    pub(crate) fn note_phi_use(&mut self, id: u32, predecessor: u32, word: usize) {
        if self.block_of.get(&id).is_some_and(|&of| of != predecessor) {
            self.uses.push(ValueUse { id, block: predecessor, word, is_at_end: true });
        }
    }

    /// Returns the first use that the value's definition does not dominate. Blocks that nothing reaches use what they like.
    pub(crate) fn undominated(&self, entry: u32, edges: &[(u32, u32)]) -> Option<&ValueUse> {
        if self.uses.is_empty() {
            return None;
        }
        let dominators = Dominators::new(entry, edges);
        self.uses.iter().find(|found| match self.block_of.get(&found.id) {
            Some(&of) if of == found.block => !found.is_at_end && dominators.is_reachable(of),
            Some(&of) => !dominators.dominates(of, found.block),
            None => false,
        })
    }
}

/// Dominator tree of the blocks that the entry reaches, by intervals of a walk over the tree.
struct Dominators {
    /// Numbers of blocks, in the order of a depth-first search.
    number: FxHashMap<u32, usize>,
    /// Start and size of each block's interval.
    interval: Vec<(usize, usize)>,
}

impl Dominators {
    fn new(entry: u32, edges: &[(u32, u32)]) -> Dominators {
        let mut targets: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for &(from, to) in edges {
            targets.entry(from).or_default().push(to);
        }
        let (number, parent) = depth_first(entry, &targets);
        let mut sources = vec![Vec::new(); parent.len()];
        for &(from, to) in edges {
            if let (Some(&from), Some(&to)) = (number.get(&from), number.get(&to)) {
                sources[to].push(from);
            }
        }
        let immediate = immediate_dominators(&parent, &sources);
        // A block's dominator has a smaller number.
        let mut size = vec![1; immediate.len()];
        for block in (1..immediate.len()).rev() {
            size[immediate[block]] += size[block];
        }
        let mut interval = vec![(0, 0); immediate.len()];
        let mut next = vec![1; immediate.len()];
        interval[0] = (0, size[0]);
        for block in 1..immediate.len() {
            let start = next[immediate[block]];
            interval[block] = (start, size[block]);
            next[immediate[block]] = start + size[block];
            next[block] = start + 1;
        }
        Dominators { number, interval }
    }

    fn is_reachable(&self, block: u32) -> bool {
        self.number.contains_key(&block)
    }

    /// True if a block dominates another one, or nothing reaches the other one.
    fn dominates(&self, block: u32, other: u32) -> bool {
        let Some(&other) = self.number.get(&other) else { return true };
        let Some(&block) = self.number.get(&block) else { return false };
        let ((start, size), (at, _)) = (self.interval[block], self.interval[other]);
        (start..start + size).contains(&at)
    }
}

/// Returns the numbers of the blocks that the entry reaches, and the parents in the tree of a depth-first search.
fn depth_first(entry: u32, targets: &FxHashMap<u32, Vec<u32>>) -> (FxHashMap<u32, usize>, Vec<usize>) {
    let (mut number, mut parent) = (FxHashMap::default(), Vec::new());
    let mut stack = vec![(entry, 0)];
    while let Some((block, from)) = stack.pop() {
        if number.contains_key(&block) {
            continue;
        }
        let at = parent.len();
        number.insert(block, at);
        parent.push(from);
        stack.extend(targets.get(&block).into_iter().flatten().map(|&to| (to, at)));
    }
    (number, parent)
}

/// Forest of blocks whose semidominators are known.
struct LinkedForest {
    ancestor: Vec<Option<usize>>,
    /// Block with the minimum semidominator on the path to the root, the root left out.
    label: Vec<usize>,
    semi: Vec<usize>,
}

impl LinkedForest {
    /// Returns the block with the minimum semidominator on the path to the root, and shortens the path.
    fn evaluate(&mut self, block: usize) -> usize {
        let mut path = Vec::new();
        let mut at = block;
        while let Some(above) = self.ancestor[at] {
            path.push(at);
            at = above;
        }
        // The topmost block of the path keeps its link to the root.
        path.pop();
        while let Some(at) = path.pop() {
            let Some(above) = self.ancestor[at] else { continue };
            if self.semi[self.label[above]] < self.semi[self.label[at]] {
                self.label[at] = self.label[above];
            }
            self.ancestor[at] = self.ancestor[above];
        }
        self.label[block]
    }
}

/// Returns the immediate dominators of numbered blocks; that of the entry is itself.
fn immediate_dominators(parent: &[usize], sources: &[Vec<usize>]) -> Vec<usize> {
    let count = parent.len();
    let identity: Vec<usize> = (0..count).collect();
    let mut forest =
        LinkedForest { ancestor: vec![None; count], label: identity.clone(), semi: identity.clone() };
    let mut waiting = vec![Vec::new(); count];
    let mut immediate = identity;
    for block in (1..count).rev() {
        for &source in &sources[block] {
            let found = forest.evaluate(source);
            forest.semi[block] = forest.semi[block].min(forest.semi[found]);
        }
        waiting[forest.semi[block]].push(block);
        let above = parent[block];
        forest.ancestor[block] = Some(above);
        for other in std::mem::take(&mut waiting[above]) {
            let found = forest.evaluate(other);
            immediate[other] = if forest.semi[found] < forest.semi[other] { found } else { above };
        }
    }
    for block in 1..count {
        if immediate[block] != forest.semi[block] {
            immediate[block] = immediate[immediate[block]];
        }
    }
    immediate
}

#[cfg(test)]
mod tests {
    use super::Dominators;

    /// Blocks that every path from 0 to a block passes, by removing each.
    fn removed(edges: &[(u32, u32)], without: u32) -> Vec<bool> {
        let mut reached = [0u32; 12].map(|_| false).to_vec();
        let mut stack = vec![0];
        while let Some(block) = stack.pop() {
            if block == without || std::mem::replace(&mut reached[block as usize], true) {
                continue;
            }
            stack.extend(edges.iter().filter(|edge| edge.0 == block).map(|edge| edge.1));
        }
        reached
    }

    #[test]
    fn dominators_are_those_of_the_definition() {
        let mut state = 7u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for _ in 0..2000 {
            let edges: Vec<(u32, u32)> =
                (0..3 + random() % 20).map(|_| (random() % 12, 1 + random() % 11)).collect();
            let dominators = Dominators::new(0, &edges);
            let all = removed(&edges, 99);
            for block in 0..12 {
                let without = removed(&edges, block);
                for other in 0..12 {
                    let expected = match (all[other as usize], all[block as usize]) {
                        (false, _) => true,
                        (true, false) => false,
                        _ => !without[other as usize],
                    };
                    assert_eq!(dominators.dominates(block, other), expected, "{block} {other} {edges:?}");
                }
            }
        }
    }

    #[test]
    fn long_chains_do_not_recurse() {
        let edges: Vec<(u32, u32)> =
            (0..200_000).flat_map(|at| [(at, at + 1), (at + 1, at / 2 + 1)]).collect();
        let dominators = Dominators::new(0, &edges);
        assert!(dominators.dominates(100_000, 200_000) && !dominators.dominates(200_000, 100_000));
    }
}
