//! Growth of the control-flow analyses' time with the graph: times at sizes 2^11 to 2^17, and the exponent of a
//! least-squares fit on their logarithms.

use std::hint::black_box;
use std::time::Instant;

use heddle_analysis::{
    BlockIndex, Cfg, ControlDependence, CycleForest, DominanceFrontier, DominatorTree, PostDominatorTree,
};
use heddle_ir::Block;
use heddle_ir::entity::Entity;

mod families;

const ANALYSES: &[&str] = &["cfg", "dominators", "post-dom.", "cycles", "index", "frontier", "ctl. dep."];

fn main() {
    let sizes: Vec<usize> = (11..=17).map(|log| 1 << log).collect();
    let mut worst = (0.0, String::new());
    for family in families::FAMILIES {
        let kind = if family.is_reducible { "reducible" } else { "irreducible" };
        println!("{}, {kind} (milliseconds)", family.name);
        print!("{:>10}", "blocks");
        ANALYSES.iter().for_each(|name| print!("{name:>12}"));
        println!();
        let mut points = vec![Vec::new(); ANALYSES.len()];
        for &size in &sizes {
            let (num_blocks, edges) = (family.edges)(size);
            let edges: Vec<(Block, Block)> =
                edges.into_iter().map(|(from, to)| (Block::new(from), Block::new(to))).collect();
            print!("{num_blocks:>10}");
            let times = measure(num_blocks, &edges);
            for (seconds, points) in times.into_iter().zip(&mut points) {
                print!("{:>12.3}", seconds * 1e3);
                points.push((((num_blocks + edges.len()) as f64).ln(), seconds.ln()));
            }
            println!();
        }
        print!("{:>10}", "exponent");
        for (name, points) in ANALYSES.iter().zip(&points) {
            let exponent = slope(points);
            print!("{exponent:>12.2}");
            if exponent > worst.0 {
                worst = (exponent, format!("{name} on {}", family.name));
            }
        }
        println!("\n");
    }
    println!("greatest exponent: {:.2}, {}", worst.0, worst.1);
}

/// Returns the best time of each analysis over several runs.
fn measure(num_blocks: usize, edges: &[(Block, Block)]) -> Vec<f64> {
    let mut best = vec![f64::INFINITY; ANALYSES.len()];
    let rounds = ((1 << 19) / num_blocks).clamp(7, 60);
    for _ in 0..rounds {
        let mut next = best.iter_mut();
        let mut note = |start: Instant| {
            if let Some(slot) = next.next() {
                *slot = start.elapsed().as_secs_f64().min(*slot);
            }
        };
        let start = Instant::now();
        let cfg = Cfg::from_edges(num_blocks, Block::new(0), edges.iter().copied());
        note(start);
        let start = Instant::now();
        let dominators = DominatorTree::new(&cfg);
        note(start);
        let start = Instant::now();
        let post_dominators = PostDominatorTree::new(&cfg);
        note(start);
        let start = Instant::now();
        let cycles = CycleForest::new(&cfg);
        note(start);
        let start = Instant::now();
        black_box(BlockIndex::new(&cfg, &dominators, &cycles));
        note(start);
        let start = Instant::now();
        let some = || cfg.blocks().step_by(3);
        black_box(DominanceFrontier::new(&cfg, &dominators).iterated(some()));
        note(start);
        let start = Instant::now();
        black_box(ControlDependence::new(&post_dominators).iterated(some()));
        note(start);
    }
    best
}

fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let above: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    above / below
}
