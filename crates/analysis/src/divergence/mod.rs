//! Divergence analysis: shapes of values, and uniformity of branches, loop exits and private objects.
//! Requires: a reducible function. Uses outside of the defining loop are allowed; LCSSA gives them facts of their own.
//!
//! An optimistic fixpoint: nothing is reached and all lanes agree, until an instruction contradicts (thesis 6.4). A value
//! varies through one of these dependences:
//!
//! * *data*: its operands vary ([`transfer`]);
//! * *sync dependence*: it is a φ in the influence region of a divergent branch, with different values on the edges;
//! * *temporal dependence*: it is defined in a loop that lanes leave in different iterations, and used outside;
//! * *activation*: it exposes the active lanes (`mask`, a shadow), and its block may run without some lanes;
//! * *memory*: it is loaded from memory that each lane has for itself.
//!
//! Lanes in a loop are in the same iteration. In a divergent loop values therefore stay uniform, and vary after it. Each
//! divergent branch has its influence region (see [`SyncDependence`]) applied once, later blocks first, so that regions
//! are shared. A loop with divergent exits acts like a branch with many targets.
//!
//! This relation also holds between the brushes of a work-group, and between the groups of a launch: a branch that is
//! uniform in a brush may diverge between brushes. Each effect has a *limit*: the widest level at which lanes still agree,
//! or none if the lanes of a brush may differ.
//!
//! Masks: a shape describes the lanes in its instruction's definition mask that do not hold poison (see [`shape`]). An
//! operand defined under a smaller mask than that of its use may be poison.
//!
//! After: Moll, thesis, chapter 6. Differs in: the stride lattice; levels; individually divergent exits; states of private
//! objects have shapes, not just objects; activation is transitive and inherited by dominance. φs do not vary whose
//! divergent edges carry one value, or one value and poison; nor do exit φs of values from outside of the loop.
//!
//! [`shape`]: crate::shape
//! [`transfer`]: crate::shape::transfer
//! [`SyncDependence`]: crate::sync_dependence::SyncDependence
mod initial;
mod table;

mod activity;
mod facts;
mod incoming;
mod objects;
mod influence_regions;
mod solver;

mod summaries;

use heddle_ir::Function;

pub use initial::InitialShapes;
pub use summaries::{ResultSummaries, callees_first, returned_facts};
pub use table::{Divergence, SlotFact};
pub(crate) use table::{DivergenceEffect, DivergenceOrigin};

use crate::control_tables::ControlTables;
use crate::shape::UniformityLevel;
use solver::DivergenceSolver;

/// Widest level at which lanes agree; `None` if the lanes of a brush may differ.
pub type Agreement = Option<UniformityLevel>;

/// Agreement of all lanes of the launch.
pub const ALL_AGREE: Agreement = Some(UniformityLevel::Launch);

/// Computes the divergence of a function.
pub fn divergence(func: &Function, control: &ControlTables, initial: &InitialShapes) -> Divergence {
    let mut solver = DivergenceSolver::new(func, control, initial);
    solver.solve();
    solver.finish()
}
