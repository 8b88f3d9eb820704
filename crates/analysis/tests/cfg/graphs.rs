//! Test graphs, and the helpers of the reference implementations: bit sets and reachability.

use std::fmt;

use heddle_analysis::{Cfg, Edge};
use heddle_ir::Block;
use heddle_ir::entity::Entity;

/// Set of blocks, one bit each.
pub(crate) type Set = u64;

/// The set of one block.
pub(crate) fn bit(block: usize) -> Set {
    1 << block
}

/// Returns the members, in order.
pub(crate) fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..64).filter(move |&block| set & bit(block) != 0)
}

pub(crate) fn block(index: usize) -> Block {
    Block::new(index)
}

pub(crate) fn set_of(blocks: &[Block]) -> Set {
    let set = blocks.iter().fold(0, |set, block| set | bit(block.index()));
    assert_eq!(set.count_ones() as usize, blocks.len(), "a block comes twice");
    set
}

/// Graph of at most 64 blocks: the successors of each.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) entry: usize,
    pub(crate) succs: Vec<Vec<usize>>,
}

impl Graph {
    pub(crate) fn new(entry: usize, succs: &[&[usize]]) -> Self {
        Self { entry, succs: succs.iter().map(|list| list.to_vec()).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.succs.len()
    }

    pub(crate) fn all_edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.succs.iter().enumerate().flat_map(|(from, list)| list.iter().map(move |&to| (from, to)))
    }

    pub(crate) fn cfg(&self) -> Cfg {
        let edges = self.all_edges().map(|(from, to)| (block(from), block(to)));
        Cfg::from_edges(self.len(), block(self.entry), edges)
    }

    /// Returns the blocks reachable from `start`, itself included, without the blocks in `without`.
    pub(crate) fn reach(&self, start: usize, without: Set) -> Set {
        let mut seen = bit(start) & !without;
        let mut old = 0;
        while seen != old {
            old = seen;
            for from in members(old) {
                for &to in &self.succs[from] {
                    seen |= bit(to) & !without;
                }
            }
        }
        seen
    }

    pub(crate) fn reachable(&self) -> Set {
        self.reach(self.entry, 0)
    }

    /// Returns the edges from reachable blocks.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        let reachable = self.reachable();
        self.all_edges()
            .filter(move |&(from, _)| reachable & bit(from) != 0)
            .map(|(from, to)| Edge { from: block(from), to: block(to) })
    }

    /// True if every path from the entry to `b` contains `a`, both reachable.
    pub(crate) fn dominates(&self, a: usize, b: usize) -> bool {
        self.reachable() & bit(a) & !self.reach(self.entry, bit(a)) != 0
            && self.reachable() & bit(b) & !self.reach(self.entry, bit(a)) != 0
    }

    /// Returns the dominated blocks of each block.
    pub(crate) fn dominance(&self) -> Vec<Set> {
        let reachable = self.reachable();
        (0..self.len())
            .map(|a| if reachable & bit(a) == 0 { 0 } else { reachable & !self.reach(self.entry, bit(a)) })
            .collect()
    }

    /// Returns the pre-order numbers of a recursive depth-first search.
    pub(crate) fn pre_order(&self) -> Vec<Option<usize>> {
        fn visit(graph: &Graph, at: usize, next: &mut usize, numbers: &mut [Option<usize>]) {
            numbers[at] = Some(*next);
            *next += 1;
            for &succ in &graph.succs[at] {
                if numbers[succ].is_none() {
                    visit(graph, succ, next, numbers);
                }
            }
        }
        let mut numbers = vec![None; self.len()];
        visit(self, self.entry, &mut 0, &mut numbers);
        numbers
    }

    /// True if every natural loop is entered at its header only: without edges to dominators the graph is acyclic.
    pub(crate) fn is_reducible(&self) -> bool {
        let reachable = self.reachable();
        let forward = Self {
            entry: self.entry,
            succs: (0..self.len())
                .map(|from| {
                    let keep = |&&to: &&usize| reachable & bit(from) != 0 && !self.dominates(to, from);
                    self.succs[from].iter().filter(keep).copied().collect()
                })
                .collect(),
        };
        members(reachable)
            .all(|at| forward.succs[at].iter().all(|&succ| forward.reach(succ, 0) & bit(at) == 0))
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "entry {}", self.entry)?;
        self.succs.iter().enumerate().try_for_each(|(from, succs)| writeln!(f, "{from} -> {succs:?}"))
    }
}

/// Prints the graph if a check panics.
struct Blame<'a>(&'a Graph);

impl Drop for Blame<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the graph that fails:\n{}", self.0);
        }
    }
}

/// Runs the check on all graphs of at most four blocks with at most two successors each, and on random ones.
pub(crate) fn for_all_graphs(mut check: impl FnMut(&Graph)) {
    for num_blocks in 1..=4 {
        for_each_small(num_blocks, &mut check);
    }
    for_random_graphs(&mut check);
}

/// Runs the check on the random graphs.
pub(crate) fn for_random_graphs(mut check: impl FnMut(&Graph)) {
    let mut random = Random(0x4865_6464_6c65);
    for round in 0..6000 {
        let graph = random.graph(round);
        let _blame = Blame(&graph);
        check(&graph);
    }
}

fn for_each_small(num_blocks: usize, check: &mut impl FnMut(&Graph)) {
    let mut lists: Vec<Vec<usize>> = vec![vec![]];
    lists.extend((0..num_blocks).map(|to| vec![to]));
    lists.extend((0..num_blocks).flat_map(|first| (0..num_blocks).map(move |second| vec![first, second])));
    let count = lists.len().pow(num_blocks as u32);
    for code in 0..count {
        let mut rest = code;
        let mut pick = || {
            let list = lists[rest % lists.len()].clone();
            rest /= lists.len();
            list
        };
        let graph = Graph { entry: 0, succs: (0..num_blocks).map(|_| pick()).collect() };
        let _blame = Blame(&graph);
        check(&graph);
    }
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn graph(&mut self, round: usize) -> Graph {
        let mut graph = match round % 4 {
            0 => self.arbitrary(),
            1 => self.acyclic(),
            2 => self.structured(),
            _ => {
                let mut graph = self.structured();
                for _ in 0..=self.below(3) {
                    let (from, to) = (self.below(graph.len()), self.below(graph.len()));
                    graph.succs[from].push(to);
                }
                graph
            }
        };
        if self.chance(20) {
            let from = self.below(graph.len());
            let parallel = graph.succs[from].clone();
            graph.succs[from].extend(parallel);
        }
        self.shuffle(&graph)
    }

    /// Arbitrary edges: mostly irreducible, often endless, often with unreachable blocks.
    fn arbitrary(&mut self) -> Graph {
        let len = 1 + self.below(20);
        let succs = (0..len)
            .map(|_| {
                let count = [0, 1, 1, 1, 2, 2, 2, 3][self.below(8)];
                (0..count).map(|_| self.below(len)).collect()
            })
            .collect();
        Graph { entry: 0, succs }
    }

    fn acyclic(&mut self) -> Graph {
        let len = 2 + self.below(24);
        let succs = (0..len)
            .map(|from| {
                let count = if from + 1 == len { 0 } else { self.below(4) };
                let near = 1 + self.below(len);
                (0..count).map(|_| from + 1 + self.below((len - from - 1).min(near))).collect()
            })
            .collect();
        Graph { entry: 0, succs }
    }

    /// Nested branches and loops with `break` and `continue` to any enclosing loop, and returns.
    fn structured(&mut self) -> Graph {
        let mut graph = Graph { entry: 0, succs: vec![vec![]] };
        let budget = 6 + self.below(16);
        let mut loops = Vec::new();
        let mut at = 0;
        while graph.len() < budget {
            at = self.statement(&mut graph, at, &mut loops, 5);
        }
        graph
    }

    /// Adds a statement after the block `at`; returns its last block.
    fn statement(
        &mut self,
        graph: &mut Graph,
        at: usize,
        loops: &mut Vec<(usize, usize)>,
        fuel: usize,
    ) -> usize {
        fn fresh(graph: &mut Graph) -> usize {
            assert!(graph.len() < 64);
            graph.succs.push(Vec::new());
            graph.len() - 1
        }
        if fuel == 0 || graph.len() > 36 {
            let next = fresh(graph);
            graph.succs[at].push(next);
            return next;
        }
        match self.below(8) {
            0..=2 => {
                let (header, exit) = (fresh(graph), fresh(graph));
                graph.succs[at].push(header);
                if self.chance(60) {
                    graph.succs[header].push(exit);
                }
                loops.push((header, exit));
                let mut end = header;
                for _ in 0..=self.below(2) {
                    end = self.statement(graph, end, loops, fuel - 1);
                }
                loops.pop();
                graph.succs[end].push(header);
                if self.chance(30) {
                    graph.succs[end].push(exit);
                }
                exit
            }
            3 | 4 => {
                let (arm, join) = (fresh(graph), fresh(graph));
                graph.succs[at].push(arm);
                let end = self.statement(graph, arm, loops, fuel - 1);
                graph.succs[end].push(join);
                if self.chance(50) {
                    graph.succs[at].push(join);
                } else {
                    let other = fresh(graph);
                    graph.succs[at].push(other);
                    let end = self.statement(graph, other, loops, fuel - 1);
                    graph.succs[end].push(join);
                }
                join
            }
            5 | 6 if !loops.is_empty() => {
                let (header, exit) = loops[self.below(loops.len())];
                let next = fresh(graph);
                graph.succs[at].push(if self.chance(60) { exit } else { header });
                graph.succs[at].push(next);
                next
            }
            _ => {
                let (stop, next) = (fresh(graph), fresh(graph));
                graph.succs[at].extend([next, stop]);
                next
            }
        }
    }

    /// Renumbers the blocks at random.
    fn shuffle(&mut self, graph: &Graph) -> Graph {
        let mut name: Vec<usize> = (0..graph.len()).collect();
        for last in (1..name.len()).rev() {
            name.swap(last, self.below(last + 1));
        }
        let mut succs = vec![Vec::new(); graph.len()];
        for (from, list) in graph.succs.iter().enumerate() {
            succs[name[from]] = list.iter().map(|&to| name[to]).collect();
        }
        Graph { entry: name[graph.entry], succs }
    }
}

/// The random graphs cover what they should.
#[test]
fn random_graphs_cover_what_matters() {
    let mut irreducible = 0;
    let mut endless = 0;
    let mut unreachable = 0;
    let mut parallel = 0;
    let mut self_loops = 0;
    let mut deep = 0;
    let mut large = 0;
    for_random_graphs(|graph| {
        let cfg = graph.cfg();
        let cycles = heddle_analysis::CycleForest::new(&cfg);
        irreducible += usize::from(!graph.is_reducible());
        endless += usize::from(!heddle_analysis::PostDominatorTree::new(&cfg).pseudo_exits().is_empty());
        unreachable += usize::from(cfg.num_reachable() < graph.len());
        let mut edges: Vec<Edge> = cfg.edges().collect();
        self_loops += usize::from(edges.iter().any(|edge| edge.from == edge.to));
        edges.sort();
        parallel += usize::from(edges.windows(2).any(|pair| pair[0] == pair[1]));
        deep += usize::from(cycles.cycles().any(|cycle| cycles.depth(cycle) >= 2));
        large += usize::from(cfg.num_reachable() >= 12);
    });
    let counts = [irreducible, endless, unreachable, parallel, self_loops, deep, large];
    assert!(counts.iter().all(|&count| count >= 600), "of 6000: {counts:?}");
}
