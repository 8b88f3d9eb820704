//! Decisions that precede the emission of a wide function: representations of values, layouts of objects, plans of accesses.

use super::access_plan::{AccessPlanner, AccessPlans};
use super::private_objects::PrivateObjects;
use super::value_reps::ValueReps;
use super::worklist::InstWorklist;
use super::{Remark, WidenContext, WidenOptions};
use heddle_analysis::{AccessGroups, ControlTables, Divergence};
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::{Diagnostic, Function};

/// Plan of a wide function.
#[derive(Debug)]
pub(super) struct WideningPlan<'a> {
    pub(super) brush: [u32; MAX_DIMENSIONS],
    pub(super) reps: ValueReps,
    pub(super) objects: PrivateObjects,
    pub(super) accesses: AccessPlans,
    pub(super) options: &'a WidenOptions,
}

impl<'a> WideningPlan<'a> {
    /// Plans the wide form of a function for a brush.
    pub(super) fn new(
        func: &Function,
        facts: &Divergence,
        groups: &AccessGroups,
        brush: [u32; MAX_DIMENSIONS],
        context: &WidenContext<'_>,
        options: &'a WidenOptions,
    ) -> Result<WideningPlan<'a>, Diagnostic> {
        let control = ControlTables::new(func);
        let worklist = InstWorklist::new(func, &control);
        let objects = PrivateObjects::new(func, &worklist, facts, brush.iter().product())?;
        let reps = ValueReps::new(func, &worklist, facts, brush, &objects, context);
        let planner = AccessPlanner {
            func,
            control: &control,
            facts,
            worklist: &worklist,
            reps: &reps,
            objects: &objects,
            brush,
            options,
        };
        let accesses = AccessPlans::new(&planner, groups, &control)?;
        Ok(WideningPlan { brush, reps, objects, accesses, options })
    }

    /// Remarks on groups of accesses and on objects. Those on other accesses come with their code.
    pub(super) fn remarks(self, func: &Function) -> impl Iterator<Item = Remark> {
        let objects = self.objects.remarks(func, self.brush.iter().product());
        self.accesses.remarks.into_iter().chain(objects)
    }
}
