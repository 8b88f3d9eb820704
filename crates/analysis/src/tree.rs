//! Trees over entities, with ancestor queries in constant time and upward searches in logarithmic time.
//!
//! The dominator tree, the depth-first tree and the cycle forest need two queries: is `a` an ancestor of `b`, and which is
//! the highest ancestor of `b` with some property? Intervals of pre-order numbers answer the first one. Jump pointers
//! answer the second: each node stores its parent and one further ancestor, at distances that bound a search by O(log
//! depth) steps.

use heddle_ir::entity::Entity;

use crate::lists::Lists;

/// Absence of a node. As pre-order number of a node in no tree it is outside of all intervals.
pub(crate) const NONE: u32 = u32::MAX;

/// Forest over some of the entities `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct AncestorTree<K> {
    up: JumpPointerForest,
    spans: Vec<PreOrderRange>,
    pre_order: Vec<K>,
    children: Lists<K>,
}

impl<K: Entity> AncestorTree<K> {
    /// Builds a forest of the nodes in `order`, parents before children. The parent of a root is [`NONE`]. Siblings keep their
    /// order.
    pub(crate) fn new(num_nodes: usize, parent: impl Fn(u32) -> u32, order: &[u32]) -> Self {
        let mut up = JumpPointerForest::new(num_nodes);
        for &node in order {
            up.attach(node, parent(node));
        }
        let mut size = vec![1; num_nodes];
        for &node in order.iter().rev() {
            if up.parent(node) != NONE {
                size[up.parent(node) as usize] += size[node as usize];
            }
        }
        let mut spans = vec![PreOrderRange { first: NONE, last: 0 }; num_nodes];
        let mut pre_order = vec![K::new(0); order.len()];
        // Pre-order position of the next child of each node.
        let mut next = vec![0; num_nodes];
        let mut next_root = 0;
        for &node in order {
            let parent = up.parent(node);
            let position = if parent == NONE { &mut next_root } else { &mut next[parent as usize] };
            let own = *position;
            *position += size[node as usize];
            next[node as usize] = own + 1;
            spans[node as usize] = PreOrderRange { first: own, last: own + size[node as usize] - 1 };
            pre_order[own as usize] = K::new(node as usize);
        }
        let children = Lists::new(
            num_nodes,
            order.iter().filter_map(|&node| {
                let parent = up.parent(node);
                (parent != NONE).then(|| (parent as usize, K::new(node as usize)))
            }),
        );
        Self { up, spans, pre_order, children }
    }

    /// True if the node is in the forest.
    #[inline]
    pub(crate) fn contains(&self, node: K) -> bool {
        self.spans[node.index()].first != NONE
    }

    /// Returns the parent; none for roots and nodes outside of the forest.
    #[inline]
    pub(crate) fn parent(&self, node: K) -> Option<K> {
        let parent = self.up.parent(node.index() as u32);
        (parent != NONE).then(|| K::new(parent as usize))
    }

    /// Returns the children.
    pub(crate) fn children(&self, node: K) -> &[K] {
        self.children.get(node.index())
    }

    /// Returns the number of strict ancestors.
    #[inline]
    pub(crate) fn depth(&self, node: K) -> u32 {
        self.up.depth(node.index() as u32)
    }

    /// True if `above` is `below` or an ancestor of it. False if one of them is outside of the forest.
    #[inline]
    pub(crate) fn is_ancestor(&self, above: K, below: K) -> bool {
        let position = self.spans[below.index()].first;
        let span = self.spans[above.index()];
        span.first <= position && position <= span.last
    }

    /// Returns all nodes in pre-order: parents before children, each subtree contiguous.
    pub(crate) fn pre_order(&self) -> &[K] {
        &self.pre_order
    }

    /// Returns the pre-order position of a node of the forest.
    pub(crate) fn position(&self, node: K) -> usize {
        self.spans[node.index()].first as usize
    }

    /// Returns the node and all its descendants, in pre-order. Empty outside of the forest.
    pub(crate) fn subtree(&self, node: K) -> &[K] {
        if !self.contains(node) {
            return &[];
        }
        let span = self.spans[node.index()];
        &self.pre_order[span.first as usize..=span.last as usize]
    }

    /// Returns the highest ancestor-or-self of `below` that is not an ancestor of `other`; none if `below` is an ancestor.
    pub(crate) fn highest_not_above(&self, below: K, other: K) -> Option<K> {
        self.highest(below, |node| !self.is_ancestor(node, other))
    }

    /// Returns the highest ancestor-or-self of `below` with a property that holds on a prefix of the path up from `below`.
    pub(crate) fn highest(&self, below: K, mut has: impl FnMut(K) -> bool) -> Option<K> {
        self.up
            .highest(below.index() as u32, |node| has(K::new(node as usize)))
            .map(|node| K::new(node as usize))
    }

    /// Returns the lowest common ancestor; none outside of the forest.
    pub(crate) fn nearest_common(&self, a: K, b: K) -> Option<K> {
        if !self.contains(a) {
            return None;
        }
        self.highest_not_above(a, b).map_or(Some(a), |node| self.parent(node))
    }
}

/// Pre-order positions of a node and of its last descendant.
#[derive(Clone, Copy, Debug)]
struct PreOrderRange {
    first: u32,
    last: u32,
}

/// Parent and jump pointers of a forest that grows one leaf at a time.
#[derive(Clone, Debug)]
pub(crate) struct JumpPointerForest {
    nodes: Vec<JumpPointers>,
}

#[derive(Clone, Copy, Debug)]
struct JumpPointers {
    parent: u32,
    /// A further ancestor; a root's is itself.
    jump: u32,
    depth: u32,
}

impl JumpPointerForest {
    /// Creates `num_nodes` unattached nodes.
    pub(crate) fn new(num_nodes: usize) -> Self {
        let root = |node| JumpPointers { parent: NONE, jump: node, depth: 0 };
        Self { nodes: (0..num_nodes as u32).map(root).collect() }
    }

    /// Attaches a node to a parent that is already attached, or makes it a root.
    pub(crate) fn attach(&mut self, node: u32, parent: u32) {
        if parent == NONE {
            return;
        }
        let above = self.nodes[parent as usize];
        let first = self.nodes[above.jump as usize];
        let second = self.nodes[first.jump as usize];
        // Two jumps of equal length merge into one of twice that length, as in a skew binary number.
        let same_length = above.depth - first.depth == first.depth - second.depth;
        let jump = if same_length { first.jump } else { parent };
        self.nodes[node as usize] = JumpPointers { parent, jump, depth: above.depth + 1 };
    }

    /// Returns the parent of an attached node.
    #[inline]
    pub(crate) fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    /// Returns the number of strict ancestors.
    #[inline]
    pub(crate) fn depth(&self, node: u32) -> u32 {
        self.nodes[node as usize].depth
    }

    /// Returns the lowest common ancestor-or-self of two nodes of one tree.
    pub(crate) fn nearest_common(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = if self.depth(a) > self.depth(b) { (b, a) } else { (a, b) };
        let depth = self.depth(a);
        b = self.highest(b, |node| self.depth(node) >= depth).unwrap_or(b);
        // Jumps from equal depths have equal lengths.
        while a != b {
            let (left, right) = (self.nodes[a as usize], self.nodes[b as usize]);
            (a, b) = match left.jump == right.jump {
                true => (left.parent, right.parent),
                false => (left.jump, right.jump),
            };
        }
        a
    }

    /// Returns the highest ancestor-or-self of `below` with a property that holds on a prefix of the path up from `below`.
    pub(crate) fn highest(&self, below: u32, mut has: impl FnMut(u32) -> bool) -> Option<u32> {
        if !has(below) {
            return None;
        }
        let mut node = below;
        loop {
            let JumpPointers { parent, jump, .. } = self.nodes[node as usize];
            if jump != node && has(jump) {
                node = jump;
            } else if parent != NONE && parent != jump && has(parent) {
                node = parent;
            } else {
                return Some(node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbs_take_logarithmic_steps() {
        let size: u32 = 1 << 17;
        let mut chain = JumpPointerForest::new(size as usize);
        for node in 0..size {
            chain.attach(node, node.checked_sub(1).unwrap_or(NONE));
        }
        let mut worst = 0;
        for target in (0..size).step_by(97) {
            let mut steps = 0;
            let found = chain.highest(size - 1, |node| {
                steps += 1;
                node >= target
            });
            assert_eq!(found, Some(target));
            worst = worst.max(steps);
        }
        assert!(worst <= 4 * 17, "{worst} steps up a chain of 2^17 nodes");
    }
}
