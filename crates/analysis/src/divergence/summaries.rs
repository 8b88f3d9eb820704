//! Summaries of function results for uniform arguments.
//!
//! Each function is analyzed once, after its callees. In a cycle of calls, an unanalyzed callee is known by its
//! declaration only.

use heddle_ir::{Block, Function, Module, Op};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::{Divergence, InitialShapes, divergence};
use crate::control_tables::ControlTables;
use crate::shape::{Fact, Geometry, UniformityLevel};

/// Facts of function results, by name, for calls whose lanes share all arguments.
#[derive(Clone, Debug, Default)]
pub struct ResultSummaries {
    results: FxHashMap<String, Vec<Fact>>,
}

impl ResultSummaries {
    /// Analyzes all functions with a body under this geometry.
    pub fn infer(module: &Module, geometry: &Geometry) -> Arc<ResultSummaries> {
        let mut summaries = Arc::new(ResultSummaries::default());
        for func in callees_first(module).into_iter().map(|number| &module.functions[number]) {
            let control = ControlTables::new(func);
            if !control.cycles.is_graph_reducible() {
                continue;
            }
            let initial = InitialShapes::uniform(func, geometry.clone()).with_summaries(&summaries);
            let facts = divergence(func, &control, &initial);
            // Drops the shared reference, so that `make_mut` does not copy.
            drop(initial);
            if let Some(results) = returned_facts(func, &control, &facts) {
                Arc::make_mut(&mut summaries).results.insert(func.name.clone(), results);
            }
        }
        summaries
    }

    /// Returns the facts of a function's results.
    pub fn of(&self, name: &str) -> Option<&[Fact]> {
        self.results.get(name).map(Vec::as_slice)
    }
}

/// Returns the facts of the results of lanes that return together; none if they may return from different blocks, or
/// never.
pub fn returned_facts(func: &Function, control: &ControlTables, facts: &Divergence) -> Option<Vec<Fact>> {
    let returns: Vec<Block> = func
        .blocks()
        .filter(|&block| control.cfg.is_reachable(block))
        .filter(|&block| func.terminator(block).is_some_and(|inst| func.inst(inst).op == Op::Ret))
        .collect();
    let together = facts.region_of_nondivergence(control);
    if returns.is_empty() || returns.len() > 1 && !returns.iter().all(|&block| together.contains(block)) {
        return None;
    }
    let count = func.signature.results.len();
    let mut joined = vec![Fact::BOTTOM; count];
    for block in returns {
        let values = &func.inst(func.terminator(block)?).args;
        for (fact, &value) in joined.iter_mut().zip(values) {
            *fact = fact.join(facts.fact_at(func, control, value, block));
        }
    }
    // Brushes do not call at the same time.
    let all = joined.into_iter().map(|fact| fact.with_level(UniformityLevel::Brush));
    Some(all.collect()).filter(|all: &Vec<Fact>| !all.iter().any(|fact| fact.is_bottom()))
}

/// Returns the indices of the functions in post-order of the call graph: callees first, except in cycles.
pub fn callees_first(module: &Module) -> Vec<usize> {
    let numbers: FxHashMap<&str, usize> =
        module.functions.iter().enumerate().map(|(number, func)| (&*func.name, number)).collect();
    let mut order = Vec::with_capacity(module.functions.len());
    let mut is_seen = vec![false; module.functions.len()];
    for first in 0..module.functions.len() {
        if std::mem::replace(&mut is_seen[first], true) {
            continue;
        }
        let mut open = vec![(first, 0)];
        while let Some(&mut (number, ref mut next)) = open.last_mut() {
            let func = &module.functions[number];
            match func.callees.values().as_slice().get(*next) {
                None => {
                    order.push(number);
                    open.pop();
                }
                Some(callee) => {
                    *next += 1;
                    if let Some(&callee) = numbers.get(&*callee.name)
                        && !std::mem::replace(&mut is_seen[callee], true)
                    {
                        open.push((callee, 0));
                    }
                }
            }
        }
    }
    order
}
