//! What functions of a module return if their callers share all arguments.
//!
//! Functions are looked at behind those that they call, each once; what is called before that, in a cycle of calls, is
//! only known by its declaration.

use heddle_ir::{Block, Function, Module, Op};
use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::{Divergence, InitialShapes, divergence};
use crate::control_tables::ControlTables;
use crate::shape::{Fact, Geometry, UniformityLevel};

/// What is known of the results of functions, by name, where lanes that call together share the arguments.
#[derive(Clone, Debug, Default)]
pub struct ResultSummaries {
    results: FxHashMap<String, Vec<Fact>>,
}

impl ResultSummaries {
    /// Looks at all functions that have a body, for lanes at these places.
    pub fn infer(module: &Module, geometry: &Geometry) -> Arc<ResultSummaries> {
        let mut summaries = Arc::new(ResultSummaries::default());
        for func in callees_first(module).into_iter().map(|number| &module.functions[number]) {
            let control = ControlTables::new(func);
            if !control.cycles.is_graph_reducible() {
                continue;
            }
            let initial = InitialShapes::uniform(func, geometry.clone()).with_summaries(&summaries);
            let facts = divergence(func, &control, &initial);
            // What it was lent has to be back before it grows.
            drop(initial);
            if let Some(results) = returned_facts(func, &control, &facts) {
                Arc::make_mut(&mut summaries).results.insert(func.name.clone(), results);
            }
        }
        summaries
    }

    /// The results of the function of this name.
    pub fn of(&self, name: &str) -> Option<&[Fact]> {
        self.results.get(name).map(Vec::as_slice)
    }
}

/// What lanes that come back together hold; nothing if they may come from different places, or never.
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
    // Brushes do not call together.
    let all = joined.into_iter().map(|fact| fact.at(UniformityLevel::Brush));
    Some(all.collect()).filter(|all: &Vec<Fact>| !all.iter().any(|fact| fact.is_bottom()))
}

/// The numbers of the functions, each behind those that it calls, as far as there is such an order.
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
