//! Influence regions against two references: pairs of disjoint paths on acyclic graphs, and two lanes that run under
//! every legal schedule and take every branch target.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use heddle_analysis::{BlockIndex, Cfg, CycleForest, DominatorTree, SyncDependence};
use heddle_ir::entity::Entity;

use crate::graphs::{Graph, Random, Set, bit, block, for_all_graphs, members};

/// Effects observed in some run: joins with their edges, loops left in different iterations by one edge, and blocks that
/// one lane executes without the other.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    joins: BTreeMap<usize, BTreeSet<usize>>,
    /// Header of the loop, and edge.
    exits: BTreeSet<(usize, usize, usize)>,
    apart: BTreeSet<usize>,
}

fn analyzed(graph: &Graph, branch: usize) -> Found {
    let cfg = graph.cfg();
    let dominators = DominatorTree::new(&cfg);
    let cycles = CycleForest::new(&cfg);
    let index = BlockIndex::new(&cfg, &dominators, &cycles);
    let mut sync = SyncDependence::new(&cfg, &dominators, &cycles, &index);
    // Branches are queried in any order.
    for at in 0..graph.len() {
        if cfg.is_reachable(block(at)) {
            sync.branch_region(block(at));
        }
    }
    let all = sync.control_divergence(block(branch));
    let exit = |&(cycle, edge): &(_, heddle_analysis::Edge)| {
        (cycles.header(cycle).index(), edge.from.index(), edge.to.index())
    };
    Found {
        joins: all
            .joins
            .iter()
            .map(|join| (join.block.index(), join.from.iter().map(|from| from.index()).collect()))
            .collect(),
        exits: all.divergent_exits.iter().map(exit).collect(),
        apart: all.partial_blocks.iter().map(|at| at.index()).collect(),
    }
}

/// Position of a waiting lane: a block, or the latch of a loop, numbered after the blocks.
type Place = usize;
const GONE: Place = usize::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Lane {
    place: Place,
    target: usize,
    from: usize,
}

/// State of two lanes in a loop that they entered together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Activation {
    is_shared: bool,
    rounds_differ: bool,
    exit: [Option<(usize, usize)>; 2],
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    lanes: [Lane; 2],
    loops: Vec<Activation>,
}

/// Two lanes in a graph that diverge only at the branch of one block.
struct TwoLanes<'a> {
    graph: &'a Graph,
    branch: usize,
    headers: Vec<usize>,
    bodies: Vec<Set>,
    /// Successor positions of each position.
    leads_to: Vec<Set>,
    found: Found,
}

impl<'a> TwoLanes<'a> {
    fn new(graph: &'a Graph, branch: usize) -> Self {
        let (mut headers, mut bodies) = (Vec::new(), Vec::new());
        for header in members(graph.reachable()) {
            let latches: Set = graph
                .edges()
                .filter(|edge| edge.to == block(header) && graph.dominates(header, edge.from.index()))
                .fold(0, |set, edge| set | bit(edge.from.index()));
            if latches != 0 {
                let inside = |at: &usize| {
                    *at == header
                        || graph.dominates(header, *at) && graph.reach(*at, bit(header)) & latches != 0
                };
                headers.push(header);
                bodies.push(members(graph.reachable()).filter(inside).fold(0, |set, at| set | bit(at)));
            }
        }
        let mut lanes =
            Self { graph, branch, headers, bodies, leads_to: Vec::new(), found: Found::default() };
        let count = graph.len() + lanes.headers.len();
        let mut leads_to = vec![0; count];
        for edge in graph.edges() {
            let (from, to) = (edge.from.index(), edge.to.index());
            let first = lanes.along(from, to);
            leads_to[from] |= bit(first);
            for number in 0..lanes.headers.len() {
                if lanes.bodies[number] & bit(from) != 0 && lanes.bodies[number] & bit(to) == 0 {
                    leads_to[graph.len() + number] |= bit(first);
                }
            }
        }
        for _ in 0..count {
            for place in 0..count {
                leads_to[place] =
                    members(leads_to[place]).fold(leads_to[place], |set, at| set | leads_to[at]);
            }
        }
        lanes.leads_to = leads_to;
        lanes
    }

    /// Returns the first position on an edge.
    fn along(&self, from: usize, to: usize) -> Place {
        let loop_of = self.headers.iter().position(|&header| header == to);
        loop_of.filter(|&number| self.bodies[number] & bit(from) != 0).map_or(to, |it| self.graph.len() + it)
    }

    fn explore(mut self) -> Found {
        let start = Lane { place: self.graph.entry, target: self.graph.entry, from: GONE };
        let first = State { lanes: [start; 2], loops: vec![Activation::default(); self.headers.len()] };
        let mut seen = HashSet::from([first.clone()]);
        let mut work = vec![first];
        while let Some(state) = work.pop() {
            for next in self.steps(&state) {
                if seen.insert(next.clone()) {
                    work.push(next);
                }
            }
        }
        self.found
    }

    fn steps(&mut self, state: &State) -> Vec<State> {
        let waiting: BTreeSet<Place> =
            state.lanes.iter().map(|lane| lane.place).filter(|&at| at != GONE).collect();
        let mut steps = Vec::new();
        for &place in &waiting {
            if waiting.iter().any(|&other| self.leads_to[other] & bit(place) != 0) {
                continue;
            }
            let here: Vec<usize> = (0..2).filter(|&lane| state.lanes[lane].place == place).collect();
            if place >= self.graph.len() {
                let mut next = state.clone();
                for &lane in &here {
                    next.lanes[lane].place = next.lanes[lane].target;
                }
                next.loops[place - self.graph.len()].rounds_differ |= here.len() == 1;
                steps.push(next);
            } else {
                self.execute(state, place, &here, &mut steps);
            }
        }
        steps
    }

    fn execute(&mut self, state: &State, at: usize, here: &[usize], steps: &mut Vec<State>) {
        let mut state = state.clone();
        match here {
            [_, _] => {
                let from = [state.lanes[0].from, state.lanes[1].from];
                if from[0] != from[1] {
                    self.found.joins.entry(at).or_default().extend(from);
                }
            }
            _ => _ = self.found.apart.insert(at),
        }
        if let Some(number) = self.headers.iter().position(|&header| header == at) {
            let enters = |lane: &usize| {
                let from = state.lanes[*lane].from;
                from == GONE || self.bodies[number] & bit(from) == 0
            };
            if here.iter().any(enters) {
                state.loops[number] = Activation { is_shared: here.len() == 2, ..Activation::default() };
            }
        }
        let succs = &self.graph.succs[at];
        if succs.is_empty() {
            here.iter().for_each(|&lane| state.lanes[lane].place = GONE);
            steps.push(state);
            return;
        }
        for &first in succs {
            for &second in succs {
                if first != second && (here.len() == 1 || at != self.branch) {
                    continue;
                }
                let mut next = state.clone();
                for (&lane, to) in here.iter().zip([first, second]) {
                    self.go(&mut next, lane, at, to);
                }
                steps.push(next);
            }
        }
    }

    fn go(&mut self, state: &mut State, lane: usize, from: usize, to: usize) {
        state.lanes[lane] = Lane { place: self.along(from, to), target: to, from };
        for number in 0..self.headers.len() {
            if self.bodies[number] & bit(from) != 0 && self.bodies[number] & bit(to) == 0 {
                let activation = &mut state.loops[number];
                activation.exit[lane] = Some((from, to));
                if activation.is_shared
                    && activation.rounds_differ
                    && activation.exit[0] == activation.exit[1]
                {
                    self.found.exits.insert((self.headers[number], from, to));
                }
            }
        }
    }
}

/// Returns the reachable blocks with several distinct targets.
fn branches(graph: &Graph) -> impl Iterator<Item = usize> + '_ {
    members(graph.reachable()).filter(|&at| graph.succs[at].iter().any(|&to| to != graph.succs[at][0]))
}

fn agree(graph: &Graph) {
    for branch in branches(graph) {
        let expected = TwoLanes::new(graph, branch).explore();
        assert_eq!(analyzed(graph, branch), expected, "lanes part at block{branch}");
    }
}

#[test]
fn small_graphs_do_what_two_lanes_do() {
    for_all_graphs(|graph| {
        // Small graphs with unreachable blocks or parallel edges repeat smaller ones.
        let is_new = graph.len() > 4
            || graph.reachable().count_ones() as usize == graph.len()
                && graph.succs.iter().all(|succs| succs.len() < 2 || succs[0] < succs[1]);
        if graph.len() <= 8 && is_new && graph.is_reducible() {
            agree(graph);
        }
    });
}

/// A random reducible graph of up to nine blocks, mostly with loops.
fn reducible(random: &mut Random) -> Graph {
    loop {
        let len = 4 + random.below(6);
        let mut succs: Vec<Vec<usize>> = (0..len)
            .map(|from| {
                let count = if from + 1 == len { 0 } else { 1 + random.below(3) };
                (0..count).map(|_| from + 1 + random.below((len - from - 1).min(4))).collect()
            })
            .collect();
        for _ in 0..1 + random.below(3) {
            let from = 1 + random.below(len - 1);
            let to = random.below(from + 1);
            succs[from].push(to);
        }
        let graph = Graph { entry: 0, succs };
        if graph.is_reducible() {
            return graph;
        }
    }
}

#[test]
fn loops_do_what_two_lanes_do() {
    let mut random = Random(77);
    let (mut temporal, mut uniform, mut joins) = (0, 0, 0);
    for _ in 0..4000 {
        let graph = reducible(&mut random);
        for branch in branches(&graph) {
            let expected = TwoLanes::new(&graph, branch).explore();
            assert_eq!(analyzed(&graph, branch), expected, "{graph}lanes part at block{branch}");
            let cfg = graph.cfg();
            let cycles = CycleForest::new(&cfg);
            let leaves = |cycle| cycles.exiting_edges(&cfg, cycle).count();
            let left: BTreeSet<usize> = expected.exits.iter().map(|exit| exit.0).collect();
            let all: usize = left.iter().map(|&h| leaves(cycles.headed_by(block(h)).unwrap())).sum();
            temporal += expected.exits.len();
            uniform += all.saturating_sub(expected.exits.len());
            joins += expected.joins.len();
        }
    }
    println!("{joins} joins, {temporal} exits left apart, {uniform} others of the same loops");
    assert!(temporal > 2000 && uniform > 500 && joins > 2000, "{temporal} {uniform} {joins}");
}

/// The graph with a test before some of its branches: one outcome leads to the branch, the other one past it.
fn guarded(mut graph: Graph, random: &mut Random) -> Graph {
    for at in 0..graph.len() {
        let [first, second] = graph.succs[at][..] else { continue };
        if first != second && random.below(4) > 0 {
            let asking = graph.succs.len();
            let past = if random.below(2) == 0 { first } else { second };
            let branch = std::mem::replace(&mut graph.succs[at], vec![past, asking]);
            graph.succs.push(branch);
        }
    }
    graph
}

#[test]
fn behind_guards_lanes_do_what_two_lanes_do() {
    let mut random = Random(78);
    let mut count = 0;
    for round in 0..3000 {
        let graph = match round % 3 {
            0 => reducible(&mut random),
            // Consecutive checks, with arms that lead to the end or back into the chain.
            _ => {
                let checks = 2 + random.below(2);
                let end = 2 * checks;
                let mut succs: Vec<Vec<usize>> =
                    (0..checks).flat_map(|at| [vec![2 * at + 1, 2 * at + 2], vec![end]]).collect();
                succs.push(vec![]);
                for at in 0..checks {
                    if random.below(4) == 0 {
                        let behind = 2 * at + 2 + random.below(end - 2 * at - 1);
                        succs[2 * at + 1] = vec![behind];
                    }
                }
                Graph { entry: 0, succs }
            }
        };
        let graph = guarded(graph, &mut random);
        for branch in branches(&graph) {
            let expected = TwoLanes::new(&graph, branch).explore();
            assert_eq!(analyzed(&graph, branch), expected, "{graph}lanes part at block{branch}");
            count += 1;
        }
    }
    assert!(count > 10_000, "{count}");
}

/// Blocks that two paths from the branch reach by different edges without an inner block in common; enumerates all pairs
/// of paths.
fn disjoint_paths(graph: &Graph, branch: usize) -> BTreeMap<usize, BTreeSet<usize>> {
    fn extend(graph: &Graph, path: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        all.push(path.clone());
        for &to in &graph.succs[*path.last().unwrap()] {
            path.push(to);
            extend(graph, path, all);
            path.pop();
        }
    }
    let mut paths = Vec::new();
    extend(graph, &mut vec![branch], &mut paths);
    let mut joins: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for left in &paths {
        for right in &paths {
            let ([.., from, to], [.., other_from, other_to]) = (&left[..], &right[..]) else { continue };
            let inner = |path: &[usize]| path[1..path.len() - 1].iter().fold(0, |set, &at| set | bit(at));
            if to == other_to && from != other_from && inner(left) & inner(right) == 0 {
                joins.entry(*to).or_default().extend([*from, *other_from]);
            }
        }
    }
    joins
}

#[test]
fn joins_of_acyclic_graphs_are_ends_of_disjoint_paths() {
    // All graphs of five blocks with forward edges only.
    let pairs: Vec<(usize, usize)> =
        (0..5).flat_map(|from| (from + 1..5).map(move |to| (from, to))).collect();
    for code in 0..1u32 << pairs.len() {
        let mut graph = Graph { entry: 0, succs: vec![vec![]; 5] };
        for (number, &(from, to)) in pairs.iter().enumerate() {
            if code >> number & 1 == 1 {
                graph.succs[from].push(to);
            }
        }
        for branch in branches(&graph) {
            assert_eq!(analyzed(&graph, branch).joins, disjoint_paths(&graph, branch), "{graph}{branch}");
        }
    }
    let mut random = Random(5);
    for round in 0..3000 {
        // Some with many edges, some longer with edges to the next few blocks.
        let (len, most, reach) = if round % 2 == 0 { (8, 4, 8) } else { (12, 3, 4) };
        let succs = (0..len)
            .map(|from| {
                let count = if from + 1 == len { 0 } else { random.below(most) };
                (0..count).map(|_| from + 1 + random.below(reach.min(len - from - 1))).collect()
            })
            .collect();
        let graph = Graph { entry: 0, succs };
        for branch in branches(&graph) {
            assert_eq!(analyzed(&graph, branch).joins, disjoint_paths(&graph, branch), "{graph}{branch}");
        }
    }
}

/// Divergent branches everywhere, consecutive or nested: the total is not much more than one walk over the graph.
#[test]
fn cascades_share_their_walks() {
    let cascade = |len: usize| {
        (0..len)
            .flat_map(|at| [(2 * at, 2 * at + 1), (2 * at, 2 * at + 2), (2 * at + 1, 2 * at + 2)])
            .collect()
    };
    let early_outs = |len: usize| (0..2 * len).flat_map(move |at| [(at, at + 1), (at, 2 * len)]).collect();
    let nested = |len: usize| {
        (0..2 * len).map(|at| (at, at + 1)).chain((0..len).map(|at| (at, 2 * len - at))).collect()
    };
    // One loop with many `break`s to one block.
    let breaks = |len: usize| {
        let last = 2 * len - 1;
        (0..last).flat_map(move |at| [(at, at + 1), (at, last + 1)]).chain([(last, 0)]).collect()
    };
    // `for (..) for (..) …`, with each header as exit.
    let loops = |len: usize| {
        (0..len)
            .flat_map(move |at| {
                let out = if at == 0 { 2 * len } else { 2 * len - at };
                [(at, at + 1), (at, out), (2 * len - 1 - at, at)]
            })
            .filter(move |&(from, to)| !(from == len - 1 && to == len))
            .chain([(len - 1, len)])
            .collect()
    };
    // A chain of checks, each with an edge into a chain of clean-ups.
    let ladder = |len: usize| {
        (0..len - 1)
            .flat_map(move |at| [(at, at + 1), (at, len + at), (len + at, len + at + 1)])
            .chain([(len - 1, 2 * len - 1), (2 * len - 1, 2 * len)])
            .collect()
    };
    // Consecutive comparisons, each with an arm of its own; all arms lead to the end.
    let switch = |len: usize| {
        (0..len - 1)
            .flat_map(move |at| [(at, at + 1), (at, len + at), (len + at, 2 * len)])
            .chain([(len - 1, 2 * len - 1), (2 * len - 1, 2 * len)])
            .collect()
    };
    // A switch with a test before each comparison that leads past the arm or straight to it.
    let guarded_switch = |len: usize, past: usize| {
        (0..len)
            .flat_map(move |at| {
                let (asking, arm, next) = (3 * at + 1, 3 * at + 2, 3 * at + 3);
                [(3 * at, asking), (3 * at, [next, arm][past]), (asking, arm), (asking, next), (arm, 3 * len)]
            })
            .collect()
    };
    let len = 20_000;
    let families: [(&str, Vec<(usize, usize)>); 9] = [
        ("switch with arms skipped", guarded_switch(len, 0)),
        ("switch with rests skipped", guarded_switch(len, 1)),
        ("switch", switch(len)),
        ("ladder", ladder(len)),
        ("cascade", cascade(len)),
        ("early outs", early_outs(len)),
        ("nested ifs", nested(len)),
        ("breaks", breaks(len)),
        ("nested loops", loops(len)),
    ];
    for (name, edges) in families {
        let last = edges.iter().map(|&(_, to)| to).max().unwrap_or(0);
        let cfg =
            Cfg::from_edges(last + 1, block(0), edges.iter().map(|&(from, to)| (block(from), block(to))));
        let dominators = DominatorTree::new(&cfg);
        let cycles = CycleForest::new(&cfg);
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        let mut sync = SyncDependence::new(&cfg, &dominators, &cycles, &index);
        for at in cfg.blocks().filter(|&at| cfg.succs(at).len() > 1) {
            sync.branch_region(at);
        }
        for cycle in cycles.cycles() {
            let region = sync.loop_region(cycle, |_| true);
            assert!(region.joins.len() <= 1, "{name}");
        }
        let steps = sync.steps();
        println!("{name}: {steps} steps for {} blocks", cfg.num_blocks());
        assert!(steps <= 8 * cfg.num_blocks() as u64, "{name}: {steps} steps");
    }
}
