//! Acyclic graph of the nodes where lanes wait, and its reachability (thesis ch. 5, design §4).
//!
//! Besides the blocks, it has a *latch* for each cycle, where lanes that take a back edge wait for those still inside.
//! Each irreducible cycle also has a *dispatch header*:
//!
//! ```text
//!        │                   │ │
//!        ▼                   ▼ ▼
//!   ┌─► head              header ◄──┐       a lane on a back edge waits at the latch; from there it moves to
//!   │  ╱    ╲             ╱      ╲   │       the head, or to the dispatch header and on to the entry it chose
//!   │ a      b           e ◄────► f  │
//!   │  ╲    ╱             ╲      ╱   │       an exit comes after the latch: a lane that left waits for the rest
//!   └─ latch              latch ────┘
//!        │                   │
//! ```
//!
//! A node may be scheduled when no other node with waiting lanes reaches it in this graph: then every block is a
//! barrier (Def. 18). A back edge is an edge inside a cycle to one of its entries. The cycles that remain without back
//! edges nest; the forest is unique, so it does not depend on any search order.

use crate::fault::FaultKind;
use crate::limits::Budget;
use heddle_ir::entity::{Entity as _, SecondaryMap};
use heddle_ir::{Block, Function};
use smallvec::SmallVec;
use std::cell::RefCell;

/// Units of work to visit a block and its edges.
const BLOCK_WORK: u64 = 16;

/// Node at which lanes wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlNode {
    Block(Block),
    Latch(u32),
    DispatchHeader(u32),
}

#[derive(Debug)]
struct Cycle {
    parent: Option<u32>,
    entries: Vec<Block>,
    latch: u32,
    dispatch_header: Option<u32>,
    /// Preorder number in the forest of cycles.
    preorder: u32,
    /// Number of cycles in its subtree, itself included.
    subtree_size: u32,
}

/// Control graph of a function.
#[derive(Debug)]
pub(crate) struct ControlGraph {
    nodes: Vec<ControlNode>,
    /// Node of each reachable block.
    node_of: SecondaryMap<Block, u32>,
    successors: Vec<SmallVec<[u32; 2]>>,
    /// Position of each node in a topological order.
    rank: Vec<u32>,
    cycles: Vec<Cycle>,
    innermost: SecondaryMap<Block, Option<u32>>,
    /// Cycle of which a block is an entry.
    entry_of: SecondaryMap<Block, Option<u32>>,
    /// Number of the last search that visited each node, and the number of searches.
    visited: RefCell<(Vec<u32>, u32)>,
}

impl ControlGraph {
    pub(crate) fn new(func: &Function, budget: &mut Budget) -> Result<ControlGraph, FaultKind> {
        let blocks = reachable_blocks(func);
        budget.work(blocks.len() as u64 * BLOCK_WORK)?;
        let mut control = ControlGraph {
            nodes: Vec::new(),
            node_of: SecondaryMap::filled(u32::MAX, func.block_count()),
            successors: Vec::new(),
            rank: Vec::new(),
            cycles: Vec::new(),
            innermost: SecondaryMap::with_len(func.block_count()),
            entry_of: SecondaryMap::with_len(func.block_count()),
            visited: RefCell::default(),
        };
        for &block in &blocks {
            let node = control.add_node(ControlNode::Block(block));
            control.node_of[block] = node;
        }
        control.find_cycles(func, &blocks, budget)?;
        control.number_cycles();
        control.connect(func, &blocks, budget)?;
        control.sort();
        control.visited = RefCell::new((vec![0; control.nodes.len()], 0));
        Ok(control)
    }

    fn add_node(&mut self, node: ControlNode) -> u32 {
        self.nodes.push(node);
        self.successors.push(SmallVec::new());
        self.nodes.len() as u32 - 1
    }

    pub(crate) fn node(&self, node: u32) -> ControlNode {
        self.nodes[node as usize]
    }

    /// Returns the position of a node in the greedy scheduler's order.
    pub(crate) fn rank(&self, node: u32) -> u32 {
        self.rank[node as usize]
    }

    /// Returns the node at which lanes start.
    pub(crate) fn start(&self, func: &Function) -> u32 {
        self.node_of[func.entry()]
    }

    /// Returns the node of a reachable block.
    pub(crate) fn block_node(&self, block: Block) -> u32 {
        self.node_of[block]
    }

    /// Returns the first node on an edge.
    pub(crate) fn edge_node(&self, from: Block, to: Block) -> u32 {
        match self.entry_of[to] {
            Some(cycle) if self.is_inside(from, cycle) => self.cycles[cycle as usize].latch,
            Some(cycle) => self.cycles[cycle as usize].dispatch_header.unwrap_or(self.node_of[to]),
            None => self.node_of[to],
        }
    }

    /// Returns the node after a latch or dispatch header, for a lane on its way to `to`.
    pub(crate) fn next_node(&self, node: u32, to: Block) -> u32 {
        match self.node(node) {
            ControlNode::Latch(cycle) => {
                self.cycles[cycle as usize].dispatch_header.unwrap_or(self.node_of[to])
            }
            ControlNode::DispatchHeader(_) | ControlNode::Block(_) => self.node_of[to],
        }
    }

    /// True if a lane at `from` may reach `to` without another iteration of a cycle that it could have left.
    pub(crate) fn reaches(&self, from: u32, to: u32, budget: &mut Budget) -> Result<bool, FaultKind> {
        let end = self.rank(to);
        let (visited, search) = &mut *self.visited.borrow_mut();
        *search += 1;
        let mut work = if self.rank(from) < end { vec![from] } else { vec![] };
        while let Some(node) = work.pop() {
            budget.work(1)?;
            for &next in &self.successors[node as usize] {
                if next == to {
                    return Ok(true);
                }
                let visited = &mut visited[next as usize];
                if self.rank(next) < end && *visited != *search {
                    *visited = *search;
                    work.push(next);
                }
            }
        }
        Ok(false)
    }

    /// Returns the innermost cycle around a block.
    pub(crate) fn innermost(&self, block: Block) -> Option<u32> {
        self.innermost[block]
    }

    /// Returns the parent of a cycle in the forest.
    pub(crate) fn parent(&self, cycle: u32) -> Option<u32> {
        self.cycles[cycle as usize].parent
    }

    /// Returns the first entry of a cycle.
    pub(crate) fn header(&self, cycle: u32) -> Block {
        self.cycles[cycle as usize].entries[0]
    }

    /// Returns the cycle of which an edge is a back edge.
    pub(crate) fn back_edge_cycle(&self, from: Block, to: Block) -> Option<u32> {
        self.entry_of[to].filter(|&cycle| self.is_inside(from, cycle))
    }

    pub(crate) fn is_inside(&self, block: Block, cycle: u32) -> bool {
        let Some(inner) = self.innermost[block] else { return false };
        let (inner, outer) = (&self.cycles[inner as usize], &self.cycles[cycle as usize]);
        (outer.preorder..outer.preorder + outer.subtree_size).contains(&inner.preorder)
    }

    /// Numbers the forest of cycles in preorder. Parents come before their children in `cycles`.
    fn number_cycles(&mut self) {
        for cycle in (0..self.cycles.len()).rev() {
            if let Some(parent) = self.cycles[cycle].parent {
                self.cycles[parent as usize].subtree_size += self.cycles[cycle].subtree_size;
            }
        }
        let mut outermost = 0;
        let mut next_inside = vec![0; self.cycles.len()];
        for cycle in 0..self.cycles.len() {
            let subtree_size = self.cycles[cycle].subtree_size;
            let next = match self.cycles[cycle].parent {
                Some(parent) => &mut next_inside[parent as usize],
                None => &mut outermost,
            };
            let preorder = *next;
            *next += subtree_size;
            self.cycles[cycle].preorder = preorder;
            next_inside[cycle] = preorder + 1;
        }
    }

    /// Finds the cycles: strongly connected components, then recursively those without the edges to their entries.
    fn find_cycles(
        &mut self,
        func: &Function,
        blocks: &[Block],
        budget: &mut Budget,
    ) -> Result<(), FaultKind> {
        let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::with_len(func.block_count());
        for &from in blocks {
            func.successors(from).iter().for_each(|&to| predecessors[to].push(from));
        }
        let mut numbers = SecondaryMap::filled(0, func.block_count());
        let mut work: Vec<(Option<u32>, Vec<Block>)> = vec![(None, blocks.to_vec())];
        while let Some((parent, region)) = work.pop() {
            // Blocks in nested cycles are visited once for each.
            budget.work(region.len() as u64 * BLOCK_WORK)?;
            let inside = |block: Block| {
                let is_entry = |cycle: u32| self.entry_of[block] == Some(cycle);
                self.innermost[block] == parent && !parent.is_some_and(is_entry)
            };
            let inner =
                |block: Block| func.successors(block).iter().copied().filter(|&next| inside(next)).collect();
            for component in components(&region, &mut numbers, inner) {
                let cycle = self.cycles.len() as u32;
                component.iter().for_each(|&block| self.innermost[block] = Some(cycle));
                // An entry has an edge from outside of the component; the function's entry has one from its caller.
                let is_outside = |from: &Block| self.innermost[*from] != Some(cycle);
                let is_entry =
                    |block: &Block| *block == func.entry() || predecessors[*block].iter().any(is_outside);
                let entries: Vec<Block> = component.iter().copied().filter(is_entry).collect();
                let latch = self.add_node(ControlNode::Latch(cycle));
                let dispatch_header =
                    (entries.len() > 1).then(|| self.add_node(ControlNode::DispatchHeader(cycle)));
                entries.iter().for_each(|&entry| self.entry_of[entry] = Some(cycle));
                self.cycles.push(Cycle {
                    parent,
                    entries,
                    latch,
                    dispatch_header,
                    preorder: 0,
                    subtree_size: 1,
                });
                work.push((Some(cycle), component));
            }
        }
        Ok(())
    }

    fn connect(&mut self, func: &Function, blocks: &[Block], budget: &mut Budget) -> Result<(), FaultKind> {
        for &from in blocks {
            for &to in func.successors(from) {
                let first = self.edge_node(from, to);
                let from_node = self.node_of[from];
                self.successors[from_node as usize].push(first);
                // A lane that leaves a cycle here may take a back edge first, so the latch comes before the exit.
                let mut left = self.innermost[from];
                while let Some(cycle) = left.filter(|&cycle| !self.is_inside(to, cycle)) {
                    let latch = self.cycles[cycle as usize].latch;
                    budget.work(1)?;
                    self.successors[latch as usize].push(first);
                    left = self.cycles[cycle as usize].parent;
                }
            }
        }
        for cycle in &self.cycles {
            if let Some(dispatch_header) = cycle.dispatch_header {
                for entry in &cycle.entries {
                    self.successors[dispatch_header as usize].push(self.node_of[*entry]);
                }
            }
        }
        Ok(())
    }

    fn sort(&mut self) {
        let mut incoming = vec![0u32; self.nodes.len()];
        self.successors.iter().flatten().for_each(|&next| incoming[next as usize] += 1);
        let mut ready: Vec<u32> =
            (0..self.nodes.len() as u32).rev().filter(|&node| incoming[node as usize] == 0).collect();
        self.rank = vec![u32::MAX; self.nodes.len()];
        let mut count = 0;
        while let Some(node) = ready.pop() {
            self.rank[node as usize] = count;
            count += 1;
            for &next in self.successors[node as usize].iter().rev() {
                incoming[next as usize] -= 1;
                if incoming[next as usize] == 0 {
                    ready.push(next);
                }
            }
        }
        debug_assert_eq!(count as usize, self.nodes.len(), "the places of @… form no cycle");
    }
}

fn reachable_blocks(func: &Function) -> Vec<Block> {
    let mut visited = vec![false; func.block_count()];
    let mut order = vec![func.entry()];
    visited[func.entry().index()] = true;
    let mut at = 0;
    while let Some(&block) = order.get(at) {
        at += 1;
        for &next in func.successors(block) {
            if !std::mem::replace(&mut visited[next.index()], true) {
                order.push(next);
            }
        }
    }
    order
}

/// Returns the strongly connected components that contain an edge, each in the order of `region`. Ignores successors
/// outside of the region; `numbers` is scratch space.
fn components(
    region: &[Block],
    numbers: &mut SecondaryMap<Block, u32>,
    successors: impl Fn(Block) -> SmallVec<[Block; 2]>,
) -> Vec<Vec<Block>> {
    for (number, &block) in region.iter().enumerate() {
        numbers[block] = number as u32;
    }
    let forward: Vec<SmallVec<[u32; 2]>> =
        region.iter().map(|&block| successors(block).iter().map(|&next| numbers[next]).collect()).collect();
    let mut backward: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); region.len()];
    for (from, successors) in forward.iter().enumerate() {
        successors.iter().for_each(|&to| backward[to as usize].push(from as u32));
    }
    // Kosaraju: finish times on the graph, then trees on its reverse.
    let mut visited = vec![false; region.len()];
    let mut finished = Vec::with_capacity(region.len());
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..region.len() {
        if !std::mem::replace(&mut visited[root], true) {
            path.push((root as u32, 0));
        }
        while let Some((block, next)) = path.last_mut() {
            match forward[*block as usize].get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut visited[to as usize], true) {
                        path.push((to, 0));
                    }
                }
                None => {
                    finished.push(*block);
                    path.pop();
                }
            }
        }
    }
    let mut component_of = vec![u32::MAX; region.len()];
    let mut count = 0;
    for &root in finished.iter().rev() {
        if component_of[root as usize] != u32::MAX {
            continue;
        }
        component_of[root as usize] = count;
        let mut stack = vec![root];
        while let Some(block) = stack.pop() {
            for &from in &backward[block as usize] {
                if component_of[from as usize] == u32::MAX {
                    component_of[from as usize] = count;
                    stack.push(from);
                }
            }
        }
        count += 1;
    }
    let mut components = vec![Vec::new(); count as usize];
    for (&block, &component) in region.iter().zip(&component_of) {
        components[component as usize].push(block);
    }
    components.retain(|component| {
        let first = numbers[component[0]];
        component.len() > 1 || forward[first as usize].contains(&first)
    });
    components
}
