//! Results and refusals of single passes, given other facts than the pipeline's.

use crate::claims::launches;
use crate::code::code;
use crate::programs::Program;
use crate::{Column, Figures, kind_of_message};
use heddle_analysis::ControlTables;
use heddle_compiler::divergence::{divergent_branches, uniform_loops};
use heddle_ir::entity::EntitySet;
use heddle_ir::verify::Stage;
use heddle_ir::{Block, Function, Module};
use heddle_transform::boscc::{GuardOptions, GuardPolicy, GuardRequest};
use heddle_transform::{
    LoopFacts, canonicalize, guard_regions,
    linearize::{self, linearize},
    lock_step_functions, make_loops_uniform, simplify, tidy,
};

pub(crate) fn edits(figures: &mut Figures, kind: &str, program: &Program) {
    if program.stage != Stage::Source {
        return;
    }
    lock_step(&mut figures.column("lock-step functions", kind), &program.module);
    for func in program.module.functions.iter().filter(|func| !launches(func)) {
        let mut func = func.clone();
        canonicalize(&mut func);
        loops(figures, kind, &func);
        folds(figures, kind, "loops as they are", &func);
        let facts = LoopFacts::obvious(&func);
        if make_loops_uniform(&mut func, &facts).is_ok() {
            folds(figures, kind, "uniform loops", &func);
            guards(figures, kind, &func);
        }
    }
}

/// Counts functions by the brushes that enter them, without specialization.
fn lock_step(column: &mut Column<'_>, module: &Module) {
    match lock_step_functions(module, &[4]) {
        Ok(found) => {
            column.add("functions", found.len());
            column.add("regions", found.iter().filter(|it| it.is_region).count());
        }
        Err(error) => column.add(format!("refused: {}", kind_of_message(&error)), 1),
    }
}

/// Divergent loops, by facts of different strength.
fn loops(figures: &mut Figures, kind: &str, func: &Function) {
    let all =
        [("nothing known", LoopFacts::pessimistic(func)), ("what is obvious", LoopFacts::obvious(func))];
    for (name, facts) in all {
        let column = &mut figures.column(&format!("loops of {kind} functions"), name);
        column.add("facts: divergent loops", facts.divergent_loops.iter().count());
        column.add("facts: uniform exits", facts.uniform_exits.iter().count());
        let mut func = func.clone();
        match make_loops_uniform(&mut func, &facts) {
            Ok(()) => count(column, func),
            Err(error) => column.add(format!("refused: {}", kind_of_message(&error.to_string())), 1),
        }
    }
}

/// Linearizes all branches, or every other one, divergent or not.
fn folds(figures: &mut Figures, kind: &str, what: &str, func: &Function) {
    for (name, takes) in [("all", 1), ("every other", 2)] {
        let divergent: EntitySet<Block> = func.blocks().filter(|block| block.as_u32() % takes == 0).collect();
        let column = &mut figures.column(&format!("branches folded in {kind} functions, {what}"), name);
        fold(column, func.clone(), &divergent);
    }
}

fn fold(column: &mut Column<'_>, mut func: Function, divergent: &EntitySet<Block>) {
    let ControlTables { cfg, cycles, index, .. } = ControlTables::new(&func);
    let parts = |block: &Block| cfg.succs(*block).windows(2).any(|pair| pair[0] != pair[1]);
    let diverged = cfg.blocks().filter(|block| divergent.contains(*block) && parts(block)).collect();
    match linearize(&mut func, divergent) {
        Ok(()) => {
            let folded = linearize::linearize_edges(&cfg, &cycles, &index, &diverged, &EntitySet::new());
            column.add("folding: steps", folded.steps);
            column.add("folding: uniform branches gone", folded.coincided);
            column.add("tidied", usize::from(tidy(&mut func)));
            count(column, func);
        }
        Err(refusal) => column.add(format!("refused: {}", kind_of_message(&refusal.to_string())), 1),
    }
}

fn count(column: &mut Column<'_>, mut func: Function) {
    simplify(&mut func);
    code(column, &Module { functions: vec![func], ..Module::default() });
}

/// Guards, and what is refused with and without them.
fn guards(figures: &mut Figures, kind: &str, func: &Function) {
    let mut func = func.clone();
    if uniform_loops(&mut func).is_err() {
        return;
    }
    let Ok(divergent) = divergent_branches(&func) else { return };
    let everywhere = func.blocks().collect();
    let policy = |policy| GuardOptions { policy, ..GuardOptions::default() };
    let all = [
        ("where they pay", &divergent, policy(GuardPolicy::Model)),
        ("where needed", &divergent, policy(GuardPolicy::Needed)),
        ("wherever they can", &divergent, policy(GuardPolicy::Force)),
        ("pay, all part", &everywhere, policy(GuardPolicy::Model)),
        ("can, all part", &everywhere, policy(GuardPolicy::Force)),
    ];
    for (name, divergent, options) in all {
        guard(figures, kind, name, &func, divergent, &options);
    }
    for requested in [GuardRequest::AllFalse, GuardRequest::AllTrue, GuardRequest::None] {
        for block in func.blocks().filter(|block| block.as_u32() % 5 == 1) {
            let options = GuardOptions { requests: [(block, requested)].into(), ..GuardOptions::default() };
            guard(figures, kind, &format!("requested, {requested:?}"), &func, &everywhere, &options);
        }
    }
}

fn guard(
    figures: &mut Figures,
    kind: &str,
    name: &str,
    func: &Function,
    divergent: &EntitySet<Block>,
    options: &GuardOptions,
) {
    let column = &mut figures.column(&format!("guards in {kind} functions"), name);
    let mut func = func.clone();
    match guard_regions(&mut func, divergent, options) {
        Ok(guarded) => {
            column.add("guards", guarded.len());
            code(column, &Module { functions: vec![func.clone()], ..Module::default() });
        }
        Err(impossible) => column.add(format!("impossible: {}", kind_of_message(&impossible.to_string())), 1),
    }
    // Lane queries are uniform.
    let Ok(divergent) = divergent_branches(&func) else { return };
    if let Err(refusal) = linearize(&mut func, &divergent) {
        column.add(format!("refused: {}", kind_of_message(&refusal.to_string())), 1);
    }
}
