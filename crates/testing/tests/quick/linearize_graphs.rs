//! Partial linearization as a matter of graphs alone: the theorems of chapter 8 on random graphs, against the listing
//! word by word.

use heddle_analysis::{
    BlockIndex, Cfg, ControlDependence, CycleForest, DominatorTree, Edge, PostDominatorTree,
};
use heddle_ir::Block;
use heddle_ir::entity::{Entity as _, EntitySet};
use heddle_testing::uniformity::free_branches;
use heddle_transform::canonicalize;
use heddle_transform::linearize::{LinearEdges, linearize_edges};
use std::collections::{BTreeMap, BTreeSet};

use crate::common::{Random, random_function};

struct Graph {
    cfg: Cfg,
    cycles: CycleForest,
    index: BlockIndex,
    dominators: DominatorTree,
    divergent: EntitySet<Block>,
}

/// The new targets of each block.
type Targets = BTreeMap<Block, Vec<Block>>;

impl Graph {
    fn new(cfg: Cfg, divergent: EntitySet<Block>) -> Graph {
        let (cycles, dominators) = (CycleForest::new(&cfg), DominatorTree::new(&cfg));
        let index = BlockIndex::new(&cfg, &dominators, &cycles);
        Graph { cfg, cycles, index, dominators, divergent }
    }

    fn fold(&self) -> LinearEdges {
        linearize_edges(&self.cfg, &self.cycles, &self.index, &self.divergent, &EntitySet::new())
    }

    fn targets(&self) -> Targets {
        let folded = self.fold();
        self.index.order().iter().map(|&block| (block, folded.targets(block).to_vec())).collect()
    }

    fn is_back(&self, from: Block, to: Block) -> bool {
        self.cycles.is_retreating(Edge { from, to })
    }

    /// True if the block's branch may send lanes to different blocks.
    fn diverges(&self, block: Block) -> bool {
        let succs = self.cfg.succs(block);
        self.divergent.contains(block) && succs.iter().any(|&succ| succ != succs[0])
    }
}

/// A graph without cycles where each block leads further; the last one is the only one without successors.
fn random_dag(seed: u64) -> Graph {
    let mut random = Random(seed);
    let count = 3 + random.below(12);
    let near = [2, 4, count][random.below(3)];
    let mut edges = Vec::new();
    for from in 0..count - 1 {
        let rest = (count - 1 - from).min(near);
        for _ in 0..[1, 2, 2][random.below(3)] {
            edges.push((Block::new(from), Block::new(from + 1 + random.below(rest))));
        }
    }
    let cfg = Cfg::from_edges(count, Block::new(0), edges);
    let chance = [20, 50, 80][random.below(3)];
    let divergent = cfg.blocks().filter(|_| random.below(100) < chance).collect();
    Graph::new(cfg, divergent)
}

/// Returns a reducible graph in the form of stage Canonical, with uniform loops only; `None` if it is not closed.
fn random_loops(seed: u64) -> Option<Graph> {
    let mut func = random_function(seed, 8 + seed as usize % 17);
    canonicalize(&mut func);
    let cfg = Cfg::new(&func);
    let ends = cfg.blocks().filter(|&block| cfg.is_reachable(block) && cfg.succs(block).is_empty()).count();
    if ends != 1 || !PostDominatorTree::new(&cfg).pseudo_exits().is_empty() {
        return None;
    }
    let mut random = Random(seed);
    let chance = [20, 50, 80, 100][random.below(4)];
    let divergent = free_branches(&cfg).iter().filter(|_| random.below(100) < chance).collect();
    Some(Graph::new(cfg, divergent))
}

/// Fault planted in the new edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    /// The other targets of a linearized branch are dropped.
    FoldedTarget,
    /// Deferred edges are dropped where a branch was linearized.
    HandOn,
    /// A kept branch forgets what is deferred.
    KeptBranch,
    /// A kept branch forgets its own target where it goes elsewhere first.
    OwnTarget,
    /// Deferred edges are dropped at loop exits.
    Exit,
    /// Only the first of what is deferred is handed on.
    Rest,
    /// The last instead of the first comes next.
    Last,
    /// A uniform branch is linearized.
    FoldsUniform,
    /// A divergent branch is kept.
    KeepsDivergent,
}

/// Listing 8 by the letter, on the graph without back edges.
fn listing_8(graph: &Graph) -> Targets {
    listing_8_with(graph, Fault::None)
}

fn listing_8_with(graph: &Graph, fault: Fault) -> Targets {
    let min = |all: &BTreeSet<Block>| {
        let by_number = |&block: &Block| graph.index.number(block);
        let found = match fault {
            Fault::Last => all.iter().copied().max_by_key(by_number),
            _ => all.iter().copied().min_by_key(by_number),
        };
        found.expect("there is a target")
    };
    let mut deferral: BTreeMap<Block, BTreeSet<Block>> = BTreeMap::new();
    let mut result = Targets::new();
    for &b in graph.index.order() {
        let mut t = deferral.remove(&b).unwrap_or_default();
        if fault == Fault::Rest && t.len() > 1 {
            t = [min(&t)].into();
        }
        let mut put = |next: Block, all: BTreeSet<Block>| {
            deferral.entry(next).or_default().extend(all.into_iter().filter(|&other| other != next));
        };
        let succs = graph.cfg.succs(b);
        let mut targets = Vec::new();
        let is_free = !succs.iter().any(|&s| graph.is_back(b, s));
        let diverges = match fault {
            Fault::FoldsUniform => is_free,
            Fault::KeepsDivergent => false,
            _ => graph.divergent.contains(b),
        };
        if diverges && !succs.is_empty() {
            let all: BTreeSet<Block> = succs.iter().copied().chain(t.iter().copied()).collect();
            targets.push(min(&all));
            match fault {
                Fault::FoldedTarget => put(targets[0], t),
                Fault::HandOn => put(targets[0], succs.iter().copied().collect()),
                _ => put(targets[0], all),
            }
        } else {
            for &s in succs {
                if graph.is_back(b, s) {
                    targets.push(s);
                    continue;
                }
                let all: BTreeSet<Block> = t.iter().copied().chain([s]).collect();
                let left = graph.cycles.outermost_without(b, s).is_some();
                targets.push(min(&all));
                match fault {
                    Fault::KeptBranch => put(min(&all), [s].into()),
                    Fault::OwnTarget => put(min(&all), t.clone()),
                    Fault::Exit if left => put(min(&all), [s].into()),
                    _ => put(min(&all), all),
                }
            }
            if targets.len() > 1 && targets.iter().all(|&to| to == targets[0]) {
                targets.truncate(1);
            }
        }
        result.insert(b, targets);
    }
    result
}

/// Everything that should hold of new targets.
fn check(graph: &Graph, targets: &Targets, seed: u64) -> Result<(), String> {
    adds_nothing(graph, targets)?;
    embeds_paths(graph, targets, seed)?;
    keeps_dominance(graph, targets)?;
    keeps_control_dependence(graph, targets)?;
    keeps_relative_branches(graph, targets)
}

fn adds_nothing(graph: &Graph, targets: &Targets) -> Result<(), String> {
    for (&block, targets) in targets {
        let succs = graph.cfg.succs(block);
        if targets.len() > succs.len() || graph.divergent.contains(block) && targets.len() > 1 {
            return Err(format!("{block} goes from {succs:?} to {targets:?}"));
        }
        for &to in targets {
            let is_forward = graph.index.number(block) < graph.index.number(to);
            if is_forward == graph.is_back(block, to) || !is_forward && !succs.contains(&to) {
                return Err(format!("{block} -> {to} goes back"));
            }
        }
    }
    Ok(())
}

/// Decides branches: a uniform one by the block and the iterations of the enclosing loops, a divergent one also by the
/// lane.
struct Choices<'a> {
    graph: &'a Graph,
    seed: u64,
}

impl Choices<'_> {
    fn walk(&self, lane: Option<u64>, succs: impl Fn(Block) -> Vec<Block>) -> Option<Vec<Block>> {
        let graph = self.graph;
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
        let mut path = vec![graph.cfg.entry()];
        let mut from: Option<Block> = None;
        for _ in 0..400 {
            let block = *path.last().expect("a path is not empty");
            if let Some(cycle) = graph.cycles.headed_by(block) {
                let goes_round = from.is_some_and(|from| graph.cycles.contains(cycle, from));
                let count = counts.entry(cycle.index()).or_default();
                *count = if goes_round { *count + 1 } else { 0 };
            }
            let all = succs(block);
            let next = match &all[..] {
                [] => return Some(path),
                [next] => *next,
                _ => {
                    let mut hash = self.seed ^ (block.index() as u64) << 32;
                    let mut mix = |word: u64| hash = Random(hash ^ word).next();
                    for cycle in graph.cycles.cycles().filter(|&cycle| graph.cycles.contains(cycle, block)) {
                        mix(counts.get(&cycle.index()).copied().unwrap_or(0) + 7);
                    }
                    if graph.diverges(block) {
                        mix(lane.expect("what is linear has no divergent branch") + 99);
                    }
                    all[(Random(hash).next() % all.len() as u64) as usize]
                }
            };
            from = Some(block);
            path.push(next);
        }
        None
    }
}

/// Theorem 3, run: what a lane's choices select in the old graph is embedded in what they select in the new one.
/// Theorem 4, run: a block with a uniform predicate is only executed if it was.
fn embeds_paths(graph: &Graph, targets: &Targets, seed: u64) -> Result<(), String> {
    let uniform = uniform_blocks(graph);
    for round in 0..6 {
        let choices = Choices { graph, seed: seed * 8 + round };
        let Some(new) = choices.walk(None, |block| targets[&block].clone()) else { continue };
        for lane in 0..4 {
            let Some(old) = choices.walk(Some(lane), |block| graph.cfg.succs(block).to_vec()) else {
                continue;
            };
            let mut rest = new.iter();
            if let Some(lost) = old.iter().find(|&&block| !rest.any(|&other| other == block)) {
                return Err(format!("{old:?} is not embedded in {new:?}: {lost}"));
            }
            let count = |path: &[Block], block: Block| path.iter().filter(|&&other| other == block).count();
            for &block in new.iter().filter(|&&block| uniform.contains(block)) {
                if count(&new, block) != count(&old, block) {
                    return Err(format!("{block} has a uniform predicate: {old:?} became {new:?}"));
                }
            }
        }
    }
    Ok(())
}

/// The blocks all of whose control dependences are uniform.
fn uniform_blocks(graph: &Graph) -> EntitySet<Block> {
    let post_dominators = PostDominatorTree::new(&graph.cfg);
    let dependence = ControlDependence::new(&post_dominators);
    let is_uniform =
        |&block: &Block| dependence.iterated([block]).into_iter().all(|decides| !graph.diverges(decides));
    graph.index.order().iter().copied().filter(is_uniform).collect()
}

fn new_graph(graph: &Graph, targets: &Targets) -> Cfg {
    let edges = targets.iter().flat_map(|(&from, all)| all.iter().map(move |&to| (from, to)));
    Cfg::from_edges(graph.cfg.num_blocks(), graph.cfg.entry(), edges)
}

/// Dominance is preserved, as appendix B says of SSA form.
fn keeps_dominance(graph: &Graph, targets: &Targets) -> Result<(), String> {
    let dominators = DominatorTree::new(&new_graph(graph, targets));
    for &block in graph.index.order() {
        if let Some(above) = graph.dominators.idom(block)
            && !dominators.dominates(above, block)
        {
            return Err(format!("{above} does not dominate {block} any more"));
        }
    }
    Ok(())
}

/// Lemma 2: blocks with uniform predicates depend on the edges that they depended on.
fn keeps_control_dependence(graph: &Graph, targets: &Targets) -> Result<(), String> {
    let new = new_graph(graph, targets);
    let (before, after) = (PostDominatorTree::new(&graph.cfg), PostDominatorTree::new(&new));
    let (before, after) = (ControlDependence::new(&before), ControlDependence::new(&after));
    for block in uniform_blocks(graph).iter() {
        if before.edges(block) != after.edges(block) {
            return Err(format!(
                "{block} depends on {:?}, not {:?}",
                after.edges(block),
                before.edges(block)
            ));
        }
    }
    Ok(())
}

/// Theorem 5: an edge that is uniform relative to a dominator whose region is together is preserved.
fn keeps_relative_branches(graph: &Graph, targets: &Targets) -> Result<(), String> {
    for &root in graph.index.order() {
        if graph.index.dominated_range(root).is_none() {
            continue;
        }
        let inside = |block: Block| graph.dominators.dominates(root, block);
        let edges: Vec<(Block, Block)> = graph
            .cfg
            .edges()
            .filter(|edge| inside(edge.from) && edge.to != root)
            .map(|edge| (edge.from, edge.to))
            .collect();
        // Paths end where they leave the region.
        let edges = edges.into_iter().filter(|&(from, _)| inside(from));
        let region = Cfg::from_edges(graph.cfg.num_blocks(), root, edges);
        let post_dominators = PostDominatorTree::new(&region);
        let dependence = ControlDependence::new(&post_dominators);
        for &block in graph.dominators.dominated(root) {
            if graph.diverges(block) || dependence.iterated([block]).into_iter().any(|at| graph.diverges(at))
            {
                continue;
            }
            for (slot, &to) in graph.cfg.succs(block).iter().enumerate() {
                let is_inside = graph.dominators.strictly_dominates(root, to);
                let new = &targets[&block];
                if is_inside && new.get(slot).or(new.first()) != Some(&to) {
                    return Err(format!("{block} -> {to} is uniform relative to {root} but goes to {new:?}"));
                }
            }
        }
    }
    Ok(())
}

const SEEDS: u64 = 20_000;

#[test]
fn the_theorems_hold_on_random_graphs_without_cycles() {
    let (mut kept, mut folded, mut coincided) = (0, 0, 0);
    for seed in 0..SEEDS {
        let graph = random_dag(seed);
        let targets = graph.targets();
        assert_eq!(targets, listing_8(&graph), "seed {seed}");
        check(&graph, &targets, seed).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{targets:?}"));
        kept += targets.values().filter(|targets| targets.len() > 1).count();
        folded += graph.divergent.iter().filter(|&block| graph.diverges(block)).count();
        coincided += graph.fold().coincided;
    }
    assert!(kept > 5000 && folded > 15_000 && coincided > 1000, "{kept} {folded} {coincided}");
}

#[test]
fn the_theorems_hold_on_random_graphs_with_uniform_loops() {
    let (mut loops, mut kept, mut folded) = (0, 0, 0);
    for seed in 0..SEEDS {
        let Some(graph) = random_loops(seed) else { continue };
        let targets = graph.targets();
        assert_eq!(targets, listing_8(&graph), "seed {seed}");
        check(&graph, &targets, seed).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{targets:?}"));
        loops += graph.cycles.num_cycles();
        kept += targets.values().filter(|targets| targets.len() > 1).count();
        folded += graph.divergent.iter().filter(|&block| graph.diverges(block)).count();
    }
    assert!(loops > 5000 && kept > 5000 && folded > 4000, "{loops} {kept} {folded}");
}

type Edges = Vec<(usize, usize)>;
type Family = (&'static str, fn(usize) -> Edges);

/// Families of growing graphs: edges of `0..count`, whose blocks with even numbers diverge, or all of them.
const FAMILIES: &[Family] = &[
    ("tests whose targets follow in the same order", |count| {
        let half = count / 2;
        (0..half)
            .flat_map(|at| [(at, at + 1), (at, half + at)])
            .chain((half..count - 1).map(|at| (at, at + 1)))
            .collect()
    }),
    ("tests whose targets follow in reverse", |count| {
        let half = count / 2;
        let rest = (half..count - 1).map(|at| (at, at + 1));
        (0..half).flat_map(|at| [(at, at + 1), (at, count - 1 - at)]).chain(rest).collect()
    }),
    ("one branch after the other", |count| {
        (0..count - 3)
            .flat_map(|at| match at % 3 {
                0 => vec![(at, at + 1), (at, at + 2)],
                1 => vec![(at, at + 2)],
                _ => vec![(at, at + 1)],
            })
            .chain((count - 3..count - 1).map(|at| (at, at + 1)))
            .collect()
    }),
    ("far and near", |count| {
        let mut random = Random(count as u64);
        let mut edges = Vec::new();
        for at in 0..count - 1 {
            edges.push((at, at + 1));
            let near = [5, 1000, count][random.below(3)].min(count - 1 - at);
            edges.push((at, at + 1 + random.below(near)));
        }
        edges
    }),
];

#[test]
fn steps_are_linear_in_edges() {
    for &(name, edges) in FAMILIES {
        for everything in [true, false] {
            let mut worst = Vec::new();
            for count in [1_000, 10_000, 100_000] {
                let edges = edges(count).into_iter().map(|(from, to)| (Block::new(from), Block::new(to)));
                let cfg = Cfg::from_edges(count, Block::new(0), edges);
                let divergent = cfg.blocks().filter(|block| everything || block.index() % 2 == 0).collect();
                let graph = Graph::new(cfg, divergent);
                let folded = graph.fold();
                worst.push(folded.steps as f64 / graph.cfg.num_edges() as f64);
            }
            assert!(worst.iter().all(|&steps| steps < 8.0), "{name}: {worst:?} steps an edge");
            assert!(worst[2] < worst[0] * 1.5 + 0.5, "{name}: {worst:?} steps an edge");
        }
    }
}

#[test]
fn faults_in_the_new_edges_are_caught() {
    use Fault::*;
    for fault in [FoldedTarget, HandOn, KeptBranch, OwnTarget, Exit, Rest, Last, FoldsUniform, KeepsDivergent]
    {
        let mut graphs = (0..4000).filter_map(|seed| match seed % 2 {
            0 => Some((seed, random_dag(seed))),
            _ => random_loops(seed).map(|graph| (seed, graph)),
        });
        let caught = graphs.find(|(seed, graph)| {
            let targets = listing_8_with(graph, fault);
            adds_nothing(graph, &targets).is_err()
                || is_connected(graph, &targets) && check(graph, &targets, *seed).is_err()
                || !is_connected(graph, &targets)
        });
        assert!(caught.is_some(), "{fault:?}");
    }
}

/// True if every block is still reachable: if not, a path is lost, and no further check is needed.
fn is_connected(graph: &Graph, targets: &Targets) -> bool {
    new_graph(graph, targets).num_reachable() == graph.cfg.num_reachable()
}
