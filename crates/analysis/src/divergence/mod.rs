//! Divergence: the shape of every value, and which branches, loop exits and private objects lanes share.
//!
//! An optimistic fixpoint: nothing is reached and all lanes agree, until an instruction says otherwise (thesis 6.4).
//! What makes a value vary:
//!
//! * *data*: its operands ([`transfer`]);
//! * *sync dependence*: it is a φ where lanes meet that have parted, and different values come along their edges;
//! * *temporal dependence*: it was defined in a loop that lanes leave in different rounds, and is used outside;
//! * *activation*: it tells which lanes are active (`mask`, a shadow), and some lanes come here without others;
//! * *memory*: it is loaded from where each lane has its own.
//!
//! Lanes that are in a loop together share its round. So in a divergent loop values stay uniform, and vary behind it.
//! Every branch that is not uniform has its parting (see [`SyncDependence`]) applied once, later blocks first, so that
//! partings are shared; each loop that lanes leave apart acts like a branch with many targets.
//!
//! What holds for lanes of a brush holds for brushes of a work-group too, and for groups of a launch: a branch that is
//! uniform in the brush only parts the brushes. So each effect has a *limit*, the widest level at which lanes still
//! agree, none if not even those of a brush do.
//!
//! Masks: a shape speaks of the lanes in its instruction's definition mask that do not hold ⊤ (see [`shape`]). An operand
//! that was defined under a smaller mask than its use's counts as possibly ⊤.
//!
//! Requires a reducible function. Values may be used outside of the loop that defines them; with LCSSA, what varies
//! behind the loop and what does not is told apart by names.
//!
//! After: Moll, thesis, chapter 6. Differs in: the stride lattice; levels; exits apart from each other; φs whose edges
//! from parted lanes bring one value, or ⊤ beside it, and exit φs of values from outside of the loop, do not vary;
//! states of private objects have shapes, not just objects; activation is transitive and inherited by dominance.
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

mod rule;
mod summaries;

use heddle_ir::Function;

pub use initial::InitialShapes;
pub use rule::DivergenceRule;
pub use summaries::{ResultSummaries, callees_first, returned_facts};
pub use table::{Divergence, SlotFact};
pub(crate) use table::{DivergenceEffect, DivergenceOrigin};

use crate::control_tables::ControlTables;
use crate::shape::UniformityLevel;
use solver::DivergenceSolver;

/// The widest level at which lanes agree; none if those of a brush may not.
pub type Agreement = Option<UniformityLevel>;

/// All lanes of the launch agree.
pub const ALL_AGREE: Agreement = Some(UniformityLevel::Launch);

/// Finds what diverges.
pub fn divergence(func: &Function, control: &ControlTables, initial: &InitialShapes) -> Divergence {
    divergence_without(func, control, initial, None)
}

/// The same without one of the rules: wrong, so that tests can see whether they notice.
#[doc(hidden)]
pub fn divergence_without(
    func: &Function,
    control: &ControlTables,
    initial: &InitialShapes,
    without: Option<DivergenceRule>,
) -> Divergence {
    let mut solver = DivergenceSolver::new(func, control, initial);
    solver.disabled_rule = without;
    solver.solve();
    solver.finish()
}
