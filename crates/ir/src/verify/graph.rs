//! Control flow for the verifier: blocks by layout position, dominators, natural loops.
//!
//! It shares no code with the analyses of other crates, since the verifier checks their consequences. Everything is
//! iterative and near-linear: dominators after Lengauer & Tarjan, loops by union-find.

/// Sentinel: no block, no loop.
pub(super) const NONE: u32 = u32::MAX;

/// Adjacency lists of all blocks, in one vector.
struct Adjacency {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Adjacency {
    fn of(&self, block: u32) -> &[u32] {
        &self.items[self.starts[block as usize] as usize..self.starts[block as usize + 1] as usize]
    }
}

/// Control-flow graph with distinct edges. Blocks are numbered by layout position; the entry is 0.
pub(super) struct BlockGraph {
    succs: Adjacency,
    preds: Adjacency,
}

impl BlockGraph {
    /// Builds the graph; `targets` lists a block's successors, possibly with duplicates.
    pub(super) fn new(blocks: u32, mut targets: impl FnMut(u32, &mut Vec<u32>)) -> BlockGraph {
        let mut succs = Adjacency { starts: vec![0], items: Vec::new() };
        let mut seen_from = vec![NONE; blocks as usize];
        let mut found = Vec::new();
        let mut starts = vec![0u32; blocks as usize + 1];
        for block in 0..blocks {
            found.clear();
            targets(block, &mut found);
            for &target in &found {
                if seen_from[target as usize] != block {
                    seen_from[target as usize] = block;
                    succs.items.push(target);
                    starts[target as usize + 1] += 1;
                }
            }
            succs.starts.push(succs.items.len() as u32);
        }
        for block in 0..blocks as usize {
            starts[block + 1] += starts[block];
        }
        let mut next = starts.clone();
        let mut items = vec![0; succs.items.len()];
        for block in 0..blocks {
            for &target in succs.of(block) {
                let slot = &mut next[target as usize];
                items[*slot as usize] = block;
                *slot += 1;
            }
        }
        BlockGraph { succs, preds: Adjacency { starts, items } }
    }

    pub(super) fn len(&self) -> u32 {
        self.succs.starts.len() as u32 - 1
    }

    pub(super) fn succs(&self, block: u32) -> &[u32] {
        self.succs.of(block)
    }

    pub(super) fn preds(&self, block: u32) -> &[u32] {
        self.preds.of(block)
    }
}

/// Nested intervals of a forest whose nodes are numbered in topological order, parents first.
struct Intervals {
    enter: Vec<u32>,
    leave: Vec<u32>,
}

impl Intervals {
    /// `parents[node]` is less than `node`, or `NONE` for a root.
    fn new(parents: &[u32]) -> Intervals {
        let mut sizes = vec![1u32; parents.len()];
        for node in (0..parents.len()).rev() {
            if parents[node] != NONE {
                sizes[parents[node] as usize] += sizes[node];
            }
        }
        let mut enter = vec![0; parents.len()];
        let mut next = vec![0; parents.len()];
        let mut next_root = 0;
        for node in 0..parents.len() {
            let slot = if parents[node] == NONE { &mut next_root } else { &mut next[parents[node] as usize] };
            enter[node] = *slot;
            *slot += sizes[node];
            next[node] = enter[node] + 1;
        }
        let leave = enter.iter().zip(&sizes).map(|(enter, size)| enter + size).collect();
        Intervals { enter, leave }
    }

    /// True if `inner` is `outer` or its descendant.
    fn contains(&self, outer: u32, inner: u32) -> bool {
        let (outer, inner) = (outer as usize, inner as usize);
        self.enter[outer] <= self.enter[inner] && self.enter[inner] < self.leave[outer]
    }
}

/// Depth-first search from the entry, and the dominator tree.
pub(super) struct VerifierDominators {
    /// Preorder number of each block; `NONE` if unreachable.
    numbers: Vec<u32>,
    /// The blocks by number.
    order: Vec<u32>,
    search: Intervals,
    tree: Intervals,
}

impl VerifierDominators {
    pub(super) fn new(graph: &BlockGraph) -> VerifierDominators {
        let (numbers, order, parents) = search(graph);
        let immediate = immediate_dominators(graph, &numbers, &order, &parents);
        VerifierDominators {
            numbers,
            order,
            search: Intervals::new(&parents),
            tree: Intervals::new(&immediate),
        }
    }

    pub(super) fn is_reachable(&self, block: u32) -> bool {
        self.numbers[block as usize] != NONE
    }

    /// True if `above` dominates `below`. Both must be reachable.
    pub(super) fn dominates(&self, above: u32, below: u32) -> bool {
        self.tree.contains(self.numbers[above as usize], self.numbers[below as usize])
    }

    /// True if the edge between these reachable blocks leads to an ancestor in the search tree.
    pub(super) fn is_retreating(&self, from: u32, to: u32) -> bool {
        self.search.contains(self.numbers[to as usize], self.numbers[from as usize])
    }
}

/// Numbers the reachable blocks in preorder; returns numbers, order, and the parents by number.
fn search(graph: &BlockGraph) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut numbers = vec![NONE; graph.len() as usize];
    let mut order = Vec::new();
    let mut parents = Vec::new();
    if graph.len() == 0 {
        return (numbers, order, parents);
    }
    let mut visit = |block: u32, parent: u32| {
        numbers[block as usize] = order.len() as u32;
        order.push(block);
        parents.push(parent);
    };
    visit(0, NONE);
    let mut seen = vec![false; graph.len() as usize];
    seen[0] = true;
    // Block, its number, and the number of successors visited so far.
    let mut stack = vec![(0u32, 0u32, 0usize)];
    let mut count = 1;
    while let Some((block, number, done)) = stack.last_mut() {
        let Some(&next) = graph.succs(*block).get(*done) else {
            stack.pop();
            continue;
        };
        *done += 1;
        if !std::mem::replace(&mut seen[next as usize], true) {
            visit(next, *number);
            stack.push((next, count, 0));
            count += 1;
        }
    }
    (numbers, order, parents)
}

/// Lengauer & Tarjan with path compression; all blocks by preorder number.
fn immediate_dominators(graph: &BlockGraph, numbers: &[u32], order: &[u32], parents: &[u32]) -> Vec<u32> {
    let count = order.len();
    let mut semi: Vec<u32> = (0..count as u32).collect();
    let mut label = semi.clone();
    let mut ancestor = vec![NONE; count];
    let mut immediate = vec![NONE; count];
    // The nodes of each semidominator, as lists linked through `next_in_bucket`.
    let mut bucket = vec![NONE; count];
    let mut next_in_bucket = vec![NONE; count];
    let mut path = Vec::new();
    for node in (1..count as u32).rev() {
        for &pred in graph.preds(order[node as usize]) {
            let pred = numbers[pred as usize];
            if pred != NONE {
                let least = least_on_path(pred, &semi, &mut label, &mut ancestor, &mut path);
                semi[node as usize] = semi[node as usize].min(semi[least as usize]);
            }
        }
        let semidominator = semi[node as usize] as usize;
        next_in_bucket[node as usize] = std::mem::replace(&mut bucket[semidominator], node);
        let parent = parents[node as usize];
        ancestor[node as usize] = parent;
        let mut waiting = std::mem::replace(&mut bucket[parent as usize], NONE);
        while waiting != NONE {
            let least = least_on_path(waiting, &semi, &mut label, &mut ancestor, &mut path);
            let is_lower = semi[least as usize] < semi[waiting as usize];
            immediate[waiting as usize] = if is_lower { least } else { parent };
            waiting = next_in_bucket[waiting as usize];
        }
    }
    for node in 1..count {
        if immediate[node] != semi[node] {
            immediate[node] = immediate[immediate[node] as usize];
        }
    }
    immediate
}

/// Returns the node with the minimum semidominator on the path to the root of the forest, the root excluded.
fn least_on_path(
    node: u32,
    semi: &[u32],
    label: &mut [u32],
    ancestor: &mut [u32],
    path: &mut Vec<u32>,
) -> u32 {
    if ancestor[node as usize] == NONE {
        return node;
    }
    let mut at = node;
    while ancestor[ancestor[at as usize] as usize] != NONE {
        path.push(at);
        at = ancestor[at as usize];
    }
    while let Some(at) = path.pop() {
        let above = ancestor[at as usize] as usize;
        if semi[label[above] as usize] < semi[label[at as usize] as usize] {
            label[at as usize] = label[above];
        }
        ancestor[at as usize] = ancestor[above];
    }
    label[node as usize]
}

/// Natural loops of the reachable blocks, nested. The target of a back edge dominates its source; back edges to one
/// header form one loop.
pub(super) struct NaturalLoops {
    /// The headers, outer loops first.
    headers: Vec<u32>,
    innermost: Vec<u32>,
    nest: Intervals,
}

impl NaturalLoops {
    pub(super) fn new(graph: &BlockGraph, dominators: &VerifierDominators) -> NaturalLoops {
        let is_back_edge =
            |from: u32, to: u32| dominators.is_reachable(from) && dominators.dominates(to, from);
        let mut loop_of_header = vec![NONE; graph.len() as usize];
        let mut headers = Vec::new();
        // Preorder puts a header before the headers inside its loop.
        for &block in &dominators.order {
            if graph.preds(block).iter().any(|&pred| is_back_edge(pred, block)) {
                loop_of_header[block as usize] = headers.len() as u32;
                headers.push(block);
            }
        }
        let mut innermost = vec![NONE; graph.len() as usize];
        let mut parents = vec![NONE; headers.len()];
        // Union-find: the header of the outermost loop found so far that contains the block.
        let mut leader: Vec<u32> = (0..graph.len()).collect();
        let mut work = Vec::new();
        for (index, &header) in headers.iter().enumerate().rev() {
            let this = index as u32;
            innermost[header as usize] = this;
            work.extend(graph.preds(header).iter().copied().filter(|&pred| is_back_edge(pred, header)));
            while let Some(block) = work.pop() {
                let block = find(&mut leader, block);
                if block == header {
                    continue;
                }
                leader[block as usize] = header;
                match loop_of_header[block as usize] {
                    NONE => innermost[block as usize] = this,
                    inner => parents[inner as usize] = this,
                }
                work.extend(graph.preds(block).iter().copied().filter(|&pred| dominators.is_reachable(pred)));
            }
        }
        NaturalLoops { nest: Intervals::new(&parents), headers, innermost }
    }

    /// The headers of all loops; a loop's number is its index here.
    pub(super) fn headers(&self) -> &[u32] {
        &self.headers
    }

    /// The innermost loop that a block is in, or `NONE`.
    pub(super) fn innermost(&self, block: u32) -> u32 {
        self.innermost[block as usize]
    }

    /// True if a loop contains a block; `NONE` contains every block.
    pub(super) fn contains(&self, outer: u32, block: u32) -> bool {
        let inner = self.innermost(block);
        outer == NONE || inner != NONE && self.nest.contains(outer, inner)
    }
}

/// Returns the representative of a block and halves the path to it.
fn find(leader: &mut [u32], block: u32) -> u32 {
    let mut top = block;
    while leader[top as usize] != top {
        let next = leader[top as usize];
        leader[top as usize] = leader[next as usize];
        top = leader[top as usize];
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small deterministic stream of numbers.
    struct Stream(u64);

    impl Stream {
        fn below(&mut self, limit: u32) -> u32 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % u64::from(limit)) as u32
        }
    }

    fn random_edges(stream: &mut Stream) -> Vec<Vec<u32>> {
        let blocks = 1 + stream.below(9);
        (0..blocks).map(|_| (0..stream.below(4)).map(|_| stream.below(blocks)).collect()).collect()
    }

    fn graph_of(edges: &[Vec<u32>]) -> BlockGraph {
        BlockGraph::new(edges.len() as u32, |block, found| found.extend(&edges[block as usize]))
    }

    /// The blocks that control reaches from `from` without entering `without`.
    fn reach(edges: &[Vec<u32>], from: u32, without: u32) -> Vec<bool> {
        let mut seen = vec![false; edges.len()];
        let mut work = if from == without { vec![] } else { vec![from] };
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut seen[block as usize], true) {
                work.extend(edges[block as usize].iter().filter(|&&next| next != without));
            }
        }
        seen
    }

    #[test]
    fn dominators_and_loops_are_those_of_the_definitions() {
        let mut stream = Stream(7);
        let (mut nested, mut irreducible) = (0, 0);
        for _ in 0..6000 {
            let edges = random_edges(&mut stream);
            let (blocks, graph) = (edges.len() as u32, graph_of(&edges));
            let dominators = VerifierDominators::new(&graph);
            let loops = NaturalLoops::new(&graph, &dominators);
            let reachable = reach(&edges, 0, NONE);
            let dominates = |above: u32, below: u32| {
                reachable[below as usize] && (above == below || !reach(&edges, 0, above)[below as usize])
            };
            for a in 0..blocks {
                assert_eq!(dominators.is_reachable(a), reachable[a as usize]);
                for b in 0..blocks {
                    assert_eq!(graph.succs(a).contains(&b), edges[a as usize].contains(&b));
                    assert_eq!(graph.preds(b).contains(&a), edges[a as usize].contains(&b));
                    if reachable[a as usize] && reachable[b as usize] {
                        assert_eq!(dominators.dominates(a, b), dominates(a, b), "{edges:?}: {a} over {b}");
                    }
                }
            }
            // A block is in the natural loop of a header if it is the header or comes to a latch without it.
            let is_back = |from: u32, to: u32| {
                reachable[from as usize] && edges[from as usize].contains(&to) && dominates(to, from)
            };
            let in_loop = |header: u32, block: u32| {
                reachable[block as usize]
                    && (0..blocks)
                        .filter(|&latch| is_back(latch, header))
                        .any(|latch| block == header || reach(&edges, block, header)[latch as usize])
            };
            let headers: Vec<u32> =
                (0..blocks).filter(|&to| (0..blocks).any(|from| is_back(from, to))).collect();
            let mut found = loops.headers().to_vec();
            found.sort_unstable();
            assert_eq!(found, headers, "{edges:?}");
            for (number, &header) in loops.headers().iter().enumerate() {
                for block in 0..blocks {
                    let expected = in_loop(header, block);
                    assert_eq!(loops.contains(number as u32, block), expected, "{edges:?}: {header} {block}");
                    nested += usize::from(expected && block != header && headers.contains(&block));
                }
            }
            // Reducible: without its back edges the graph has no cycle.
            let forward: Vec<Vec<u32>> = (0..blocks)
                .map(|from| match reachable[from as usize] {
                    true => edges[from as usize].iter().copied().filter(|&to| !is_back(from, to)).collect(),
                    false => vec![],
                })
                .collect();
            let cyclic = (0..blocks)
                .any(|a| forward[a as usize].iter().any(|&b| reach(&forward, b, NONE)[a as usize]));
            let reported = (0..blocks).filter(|&from| reachable[from as usize]).any(|from| {
                edges[from as usize]
                    .iter()
                    .any(|&to| dominators.is_retreating(from, to) && !dominators.dominates(to, from))
            });
            assert_eq!(reported, cyclic, "{edges:?}");
            irreducible += usize::from(cyclic);
        }
        assert!(nested > 200 && irreducible > 200, "{nested} nested, {irreducible} irreducible");
    }
}
