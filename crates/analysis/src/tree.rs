//! Rooted trees over entities: ancestor tests in constant time, climbs in logarithmic time.
//!
//! The dominator tree, the depth-first tree and the cycle forest all ask the same two questions: is `a` an
//! ancestor of `b`, and which is the highest ancestor of `b` that still has some property? Intervals of
//! pre-order numbers answer the first one. Jump pointers answer the second: each node knows its parent and one
//! ancestor further up, at distances such that a climb to any ancestor takes O(log depth) steps.

use heddle_ir::entity::Entity;

use crate::lists::Lists;

/// No node. Also the pre-order number of a node that is in no tree, which puts it outside of all intervals.
pub(crate) const NONE: u32 = u32::MAX;

/// A forest over some of the entities `0..n`.
#[derive(Clone, Debug)]
pub(crate) struct AncestorTree<K> {
    up: JumpPointerForest,
    spans: Vec<PreOrderRange>,
    pre_order: Vec<K>,
    children: Lists<K>,
}

impl<K: Entity> AncestorTree<K> {
    /// A forest of the nodes in `order`, where parents come before children; the parent of a root is [`NONE`].
    /// Siblings keep the order that they have in `order`.
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
        // The pre-order position that the next child of a node takes.
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

    /// Whether the node is in the forest.
    #[inline]
    pub(crate) fn contains(&self, node: K) -> bool {
        self.spans[node.index()].first != NONE
    }

    /// The parent; none for roots and for nodes outside of the forest.
    #[inline]
    pub(crate) fn parent(&self, node: K) -> Option<K> {
        let parent = self.up.parent(node.index() as u32);
        (parent != NONE).then(|| K::new(parent as usize))
    }

    /// The children.
    pub(crate) fn children(&self, node: K) -> &[K] {
        self.children.get(node.index())
    }

    /// The number of strict ancestors.
    #[inline]
    pub(crate) fn depth(&self, node: K) -> u32 {
        self.up.depth(node.index() as u32)
    }

    /// Whether `above` is `below` or an ancestor of it. False if one of them is outside of the forest.
    #[inline]
    pub(crate) fn is_ancestor(&self, above: K, below: K) -> bool {
        let position = self.spans[below.index()].first;
        let span = self.spans[above.index()];
        span.first <= position && position <= span.last
    }

    /// All nodes, parents before children, each subtree in one piece.
    pub(crate) fn pre_order(&self) -> &[K] {
        &self.pre_order
    }

    /// The position in the pre-order, for a node of the forest.
    pub(crate) fn position(&self, node: K) -> usize {
        self.spans[node.index()].first as usize
    }

    /// The node and all its descendants, in pre-order. Empty outside of the forest.
    pub(crate) fn subtree(&self, node: K) -> &[K] {
        if !self.contains(node) {
            return &[];
        }
        let span = self.spans[node.index()];
        &self.pre_order[span.first as usize..=span.last as usize]
    }

    /// The highest ancestor of `below`, itself included, that is no ancestor of `other`; none if `below`
    /// itself is one.
    pub(crate) fn highest_apart(&self, below: K, other: K) -> Option<K> {
        self.highest(below, |node| !self.is_ancestor(node, other))
    }

    /// The highest ancestor of `below`, itself included, with a property that no node has below one without it.
    pub(crate) fn highest(&self, below: K, mut has: impl FnMut(K) -> bool) -> Option<K> {
        self.up
            .highest(below.index() as u32, |node| has(K::new(node as usize)))
            .map(|node| K::new(node as usize))
    }

    /// The lowest node that is an ancestor of both. None outside of the forest: nothing there is an ancestor.
    pub(crate) fn nearest_common(&self, a: K, b: K) -> Option<K> {
        if !self.contains(a) {
            return None;
        }
        self.highest_apart(a, b).map_or(Some(a), |node| self.parent(node))
    }
}

/// Positions in the pre-order: a node's own and that of its last descendant.
#[derive(Clone, Copy, Debug)]
struct PreOrderRange {
    first: u32,
    last: u32,
}

/// The upward half of a forest, which grows one leaf at a time.
#[derive(Clone, Debug)]
pub(crate) struct JumpPointerForest {
    nodes: Vec<JumpPointers>,
}

#[derive(Clone, Copy, Debug)]
struct JumpPointers {
    parent: u32,
    /// An ancestor further up; a root's is itself.
    jump: u32,
    depth: u32,
}

impl JumpPointerForest {
    /// `num_nodes` nodes, none of them attached.
    pub(crate) fn new(num_nodes: usize) -> Self {
        let root = |node| JumpPointers { parent: NONE, jump: node, depth: 0 };
        Self { nodes: (0..num_nodes as u32).map(root).collect() }
    }

    /// Hangs a node under a parent that is attached already, or makes it a root.
    pub(crate) fn attach(&mut self, node: u32, parent: u32) {
        if parent == NONE {
            return;
        }
        let above = self.nodes[parent as usize];
        let first = self.nodes[above.jump as usize];
        let second = self.nodes[first.jump as usize];
        // Two jumps of one length become one of twice that length, as in a skew binary number.
        let same_length = above.depth - first.depth == first.depth - second.depth;
        let jump = if same_length { first.jump } else { parent };
        self.nodes[node as usize] = JumpPointers { parent, jump, depth: above.depth + 1 };
    }

    /// The parent of an attached node.
    #[inline]
    pub(crate) fn parent(&self, node: u32) -> u32 {
        self.nodes[node as usize].parent
    }

    /// The number of strict ancestors.
    #[inline]
    pub(crate) fn depth(&self, node: u32) -> u32 {
        self.nodes[node as usize].depth
    }

    /// The lowest node above or at both, which are in one tree.
    pub(crate) fn nearest_common(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = if self.depth(a) > self.depth(b) { (b, a) } else { (a, b) };
        let depth = self.depth(a);
        b = self.highest(b, |node| self.depth(node) >= depth).unwrap_or(b);
        // Jumps from one depth all have one length.
        while a != b {
            let (left, right) = (self.nodes[a as usize], self.nodes[b as usize]);
            (a, b) = match left.jump == right.jump {
                true => (left.parent, right.parent),
                false => (left.jump, right.jump),
            };
        }
        a
    }

    /// The highest ancestor of `below`, itself included, with a property that no node has below one without it.
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
