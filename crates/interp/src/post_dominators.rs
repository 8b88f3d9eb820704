//! Immediate post-dominators.
//!
//! Only paths that end count: a block from which no path ends has none.
//!
//! After: Georgiadis, Tarjan, Werneck, JGAA 2006: semi-dominators by path compression, then each block's immediate
//! dominator as the lowest common ancestor of its parent and its semi-dominator. Runs on the reverse graph, from a
//! virtual root whose successors are all blocks that end the function.

use heddle_ir::entity::SecondaryMap;
use heddle_ir::{Block, Function};

const ROOT: u32 = 0;
const UNSEEN: u32 = u32::MAX;

/// Immediate post-dominator of each block that has one.
#[derive(Debug)]
pub(crate) struct ImmediatePostDominators {
    immediate: SecondaryMap<Block, Option<Block>>,
}

impl ImmediatePostDominators {
    pub(crate) fn new(func: &Function) -> ImmediatePostDominators {
        let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::with_len(func.block_count());
        for from in func.blocks() {
            func.successors(from).iter().for_each(|&to| predecessors[to].push(from));
        }
        // A backward search from the ends numbers the blocks; the root is number 0.
        let mut number = SecondaryMap::filled(UNSEEN, func.block_count());
        let (mut blocks, mut parents) = (vec![None], vec![ROOT]);
        let ends = func.blocks().filter(|&block| func.successors(block).is_empty());
        let mut work: Vec<(Block, u32)> = ends.map(|end| (end, ROOT)).collect();
        while let Some((block, parent)) = work.pop() {
            if number[block] == UNSEEN {
                number[block] = blocks.len() as u32;
                work.extend(predecessors[block].iter().map(|&from| (from, number[block])));
                blocks.push(Some(block));
                parents.push(parent);
            }
        }
        let is_end = |block: Block| func.successors(block).is_empty();
        let mut forest = LinkEvalForest::new(&parents);
        let mut semi: Vec<u32> = (0..blocks.len() as u32).collect();
        for here in (1..blocks.len() as u32).rev() {
            let Some(block) = blocks[here as usize] else { continue };
            let to_root = is_end(block).then_some(ROOT);
            let after = func.successors(block).iter().map(|&next| number[next]);
            for next in after.filter(|&next| next != UNSEEN).chain(to_root) {
                let least = if next <= here { next } else { semi[forest.least(next, here, &semi) as usize] };
                semi[here as usize] = semi[here as usize].min(least);
            }
        }
        let mut dominator = parents;
        let mut immediate = SecondaryMap::with_len(func.block_count());
        for here in 1..blocks.len() {
            let mut above = dominator[here];
            while above > semi[here] {
                above = dominator[above as usize];
            }
            dominator[here] = above;
            if let Some(block) = blocks[here] {
                immediate[block] = blocks[above as usize];
            }
        }
        ImmediatePostDominators { immediate }
    }

    /// Returns the immediate post-dominator of a block.
    pub(crate) fn immediate(&self, block: Block) -> Option<Block> {
        self.immediate[block]
    }
}

/// Processed part of the search tree, with compressed paths to minimum semi-dominators.
struct LinkEvalForest {
    above: Vec<u32>,
    label: Vec<u32>,
}

impl LinkEvalForest {
    fn new(parents: &[u32]) -> LinkEvalForest {
        LinkEvalForest { above: parents.to_vec(), label: (0..parents.len() as u32).collect() }
    }

    /// Returns the block with the minimum semi-dominator on the tree path from `block` up to the processed blocks, whose
    /// numbers are above `done`.
    fn least(&mut self, block: u32, done: u32, semi: &[u32]) -> u32 {
        let mut path = vec![block];
        let mut top = block;
        while self.above[top as usize] > done {
            top = self.above[top as usize];
            path.push(top);
        }
        // Top down, each block takes the minimum above it and points to the root of the path.
        let root = self.above[top as usize];
        let mut least = self.label[top as usize];
        for &here in path.iter().rev() {
            if semi[self.label[here as usize] as usize] > semi[least as usize] {
                self.label[here as usize] = least;
            }
            least = self.label[here as usize];
            self.above[here as usize] = root;
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::module::Signature;
    use heddle_ir::{Builder, InsertPoint, Scalar};

    /// Reference: by definition, the first of the blocks on every path to an end.
    fn by_definition(edges: &[Vec<usize>], block: usize) -> Option<usize> {
        let ends_without = |from: usize, without: usize| {
            let (mut seen, mut work) = (vec![false; edges.len()], vec![from]);
            while let Some(here) = work.pop() {
                if here == without || std::mem::replace(&mut seen[here], true) {
                    continue;
                }
                if edges[here].is_empty() {
                    return true;
                }
                work.extend(&edges[here]);
            }
            false
        };
        let nowhere = usize::MAX;
        if !ends_without(block, nowhere) {
            return None;
        }
        let needed: Vec<usize> =
            (0..edges.len()).filter(|&other| other != block && !ends_without(block, other)).collect();
        // The first one needs all the others.
        needed
            .iter()
            .copied()
            .find(|&first| needed.iter().all(|&other| other == first || !ends_without(first, other)))
    }

    #[test]
    fn they_are_those_of_the_definition() {
        let mut state = 1u64;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        let (mut with, mut without) = (0, 0);
        for _ in 0..4000 {
            let blocks = 1 + below(9);
            let edges: Vec<Vec<usize>> =
                (0..blocks).map(|_| (0..below(4).min(2)).map(|_| below(blocks)).collect()).collect();
            let mut func = Function::new("f", Signature::new(&[], &[]));
            let names: Vec<Block> = (0..blocks).map(|_| func.append_block()).collect();
            for (block, targets) in edges.iter().enumerate() {
                let condition = func.make_int(Scalar::I1, 1);
                let mut builder = Builder::new(&mut func, InsertPoint::End(names[block]));
                match targets[..] {
                    [] => _ = builder.ret(&[]),
                    [to] => _ = builder.jump(names[to]),
                    _ => _ = builder.branch(condition, names[targets[0]], names[targets[1]]),
                }
            }
            let found = ImmediatePostDominators::new(&func);
            for block in 0..blocks {
                let expected = by_definition(&edges, block).map(|block| names[block]);
                assert_eq!(found.immediate(names[block]), expected, "of {block} in {edges:?}");
                *(if expected.is_some() { &mut with } else { &mut without }) += 1;
            }
        }
        assert!(with > 1000 && without > 1000, "{with} with, {without} without");
    }
}
