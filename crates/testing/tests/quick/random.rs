//! Passes over random functions: the result has the form that it should have, and does what the source does.

use crate::common::{End, faults, random_function, refines};
use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::Stage;
use heddle_transform::{canonicalize, simplify, split_critical_edges};

const SEEDS: std::ops::Range<u64> = 0..6000;

#[test]
fn canonicalize_gives_the_form_and_keeps_the_meaning() {
    let (mut returned, mut irreducible, mut loops) = (0, 0, 0);
    for seed in SEEDS {
        let before = random_function(seed, if seed % 10 == 0 { 30 } else { 12 });
        assert_eq!(faults(&before, Stage::Source), Vec::<String>::new(), "generated from {seed}");
        let cfg = Cfg::new(&before);
        let forest = CycleForest::new(&cfg);
        irreducible += usize::from(!forest.is_graph_reducible());
        loops += usize::from(forest.num_cycles() > 1);
        let mut after = before.clone();
        canonicalize(&mut after);
        assert_eq!(faults(&after, Stage::Canonical), Vec::<String>::new(), "seed {seed}");
        for run in 0..4 {
            match refines(&before, &after, seed * 4 + run) {
                Ok(end) => returned += usize::from(end == End::Returned),
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
    }
    // A count of programs means nothing without what they covered.
    let total = SEEDS.end as usize;
    assert!(irreducible * 10 > total && loops * 3 > total, "{irreducible} irreducible, {loops} with loops");
    assert!(returned * 5 > total * 4, "{returned} runs returned");
}

#[test]
fn canonicalize_changes_nothing_the_second_time() {
    for seed in 0..500 {
        let mut func = random_function(seed, 12);
        canonicalize(&mut func);
        let (blocks, insts) = (func.block_count(), func.inst_count());
        canonicalize(&mut func);
        assert_eq!((func.block_count(), func.inst_count()), (blocks, insts), "seed {seed}");
    }
}

#[test]
fn splitting_critical_edges_leaves_none_and_keeps_the_stage() {
    for seed in 0..1000 {
        let before = random_function(seed, 12);
        let mut after = before.clone();
        canonicalize(&mut after);
        split_critical_edges(&mut after, |_| true);
        assert_eq!(faults(&after, Stage::Canonical), Vec::<String>::new(), "seed {seed}");
        let cfg = Cfg::new(&after);
        let is_critical = |edge: &heddle_analysis::Edge| {
            cfg.succs(edge.from).iter().any(|&to| to != edge.to)
                && cfg.preds(edge.to).iter().any(|&from| from != edge.from)
        };
        assert_eq!(cfg.edges().find(is_critical), None, "seed {seed}");
        if let Err(error) = refines(&before, &after, seed) {
            panic!("seed {seed}: {error}");
        }
    }
}

#[test]
fn simplify_refines_and_keeps_the_stage() {
    let (mut removed, mut total) = (0, 0);
    for seed in SEEDS {
        let before = random_function(seed, if seed % 10 == 0 { 30 } else { 12 });
        let mut canonical = before.clone();
        canonicalize(&mut canonical);
        for (func, stage) in [(&before, Stage::Source), (&canonical, Stage::Canonical)] {
            let mut after = func.clone();
            simplify(&mut after);
            assert_eq!(
                faults(&after, stage),
                Vec::<String>::new(),
                "seed {seed}, stage {stage}\n{func}\n{after}"
            );
            let count = |func: &heddle_ir::Function| -> usize {
                func.blocks().map(|block| func.block_insts(block).count()).sum()
            };
            total += count(func);
            removed += count(func).saturating_sub(count(&after));
            for run in 0..4 {
                if let Err(error) = refines(&before, &after, seed * 4 + run) {
                    panic!("seed {seed}, stage {stage}: {error}\n{func}\n{after}");
                }
            }
            // Source loops may become closed; closed loops stay closed the next time.
            if stage == Stage::Canonical {
                assert!(!simplify(&mut after), "seed {seed}: there is still something to do\n{after}");
            }
        }
    }
    assert!(removed * 10 > total, "only {removed} of {total} instructions went");
}
