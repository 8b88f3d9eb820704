//! Checks that brushes agree as far as levels of uniformity claim it.
//!
//! A value uniform in the work-group is equal in all its brushes that execute the block in the same iterations of the
//! enclosing loops; one uniform in the launch, in the brushes of all groups. So are branch targets, and the iterations
//! in which loops are left. Only a kernel's own code is compared: brushes may differ in how often they called a
//! function before.

use heddle_analysis::{Cycle, Edge, UniformityLevel};
use heddle_interp::{LaneSuccessor, TraceStep};
use heddle_ir::{Block, Value};
use rustc_hash::FxHashMap;

use crate::shapes_oracle::Claims;

/// Fact to compare between brushes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum UniformityFact {
    Value(Value),
    Branch,
    Exit(Cycle, Block),
}

/// Where and when: of which group, if it is not of all; in which function and block, in which rounds.
type LevelKey = (Option<u32>, u32, Block, Vec<u64>, UniformityFact);

/// Facts that brushes have shown, each with the first brush that showed it.
#[derive(Default, Debug)]
pub(crate) struct Levels {
    seen: FxHashMap<LevelKey, (u128, u32, u32)>,
    /// Number of comparisons between brushes.
    pub(crate) compared: u64,
}

impl Levels {
    /// Compares a step with those of other brushes. `round` returns the lanes' iteration of a loop.
    pub(crate) fn check(
        &mut self,
        claims: &Claims<'_>,
        step: &TraceStep,
        round: impl Fn(Cycle) -> u64,
    ) -> Result<(), String> {
        let cycles = &claims.control.cycles;
        let mut around = Vec::new();
        let mut next = cycles.innermost(step.block);
        while let Some(cycle) = next {
            around.push(cycle);
            next = cycles.parent(cycle);
        }
        let rounds: Vec<u64> = around.iter().map(|&cycle| round(cycle)).collect();
        let lanes = || step.active.iter();
        for (value, data) in &step.values {
            let level = claims.divergence.fact(*value).uniform_level();
            let held = lanes().find_map(|lane| data.get(lane)?.bits());
            if let Some(bits) = held.filter(|_| !claims.func.value_type(*value).is_vector()) {
                self.compare(step, level, &rounds, UniformityFact::Value(*value), bits)?;
            }
        }
        let targets = lanes().filter_map(|lane| match step.next.get(lane) {
            Some(&LaneSuccessor::Block(to)) => Some(to),
            _ => None,
        });
        for to in targets {
            let level = claims.divergence.branch_agreement(step.block);
            self.compare(step, level, &rounds, UniformityFact::Branch, to.as_u32().into())?;
            let edge = Edge { from: step.block, to };
            for (at, &cycle) in around.iter().enumerate() {
                let exits = claims.divergence.exits(cycle);
                if let Some((_, level)) = exits.iter().find(|(exit, _)| *exit == edge) {
                    let what = UniformityFact::Exit(cycle, to);
                    self.compare(step, *level, &rounds[at + 1..], what, rounds[at].into())?;
                }
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        step: &TraceStep,
        level: Option<UniformityLevel>,
        rounds: &[u64],
        what: UniformityFact,
        shown: u128,
    ) -> Result<(), String> {
        let group = match level {
            Some(UniformityLevel::Launch) => None,
            Some(UniformityLevel::Group) => Some(step.group),
            Some(UniformityLevel::Brush) | None => return Ok(()),
        };
        let key = (group, step.func, step.block, rounds.to_vec(), what);
        let (known, of_group, of_brush) = *self.seen.entry(key).or_insert((shown, step.group, step.brush));
        self.compared += u64::from((of_group, of_brush) != (step.group, step.brush));
        match known == shown {
            true => Ok(()),
            false => Err(format!(
                "{what:?}: {known} in brush {of_brush} of group {of_group}, {shown} in brush {} of group {}, claimed to be \
                 one in the {}",
                step.brush,
                step.group,
                level.map_or("", UniformityLevel::name),
            )),
        }
    }
}
