//! Turns lock-step code for `W` lanes into vector code for one thread.
//!
//! Requires: Stage::Linear, all `W` lanes enter.  Ensures: Stage::Wide.
//! Invariants: blocks keep their names and their order; new ones stand behind the block that they were cut from. An
//! effect happens for the lanes for which it happened, in ascending order.
//! After: S. Moll, *The Region Vectorizer*, 3.3 and 11.4; R. Karrenberg and S. Hack, *Improving Performance of OpenCL on
//! CPUs*, 3. Differs in: scalars may step from lane to lane; a scalar effect stands behind a branch, not in a loop.
//!
//! ```text
//!     block1 [v17]:                       block1:
//!       v9 = lshr v7, 1                     v9 = lshr v7, splat 1       v7 differs between lanes
//!       v10 = add v8, 1                     v10 = add v8, 1             v8 does not
//!       store v10, v5                       masked_store …, v5, v17     lanes lie side by side from v5 on
//! ```
//!
//! * `value_reps` decides for each value whether it is held as a scalar or as a vector.
//! * `private_objects` decides which private objects lanes share.
//! * `worklist` asks instructions until both have settled.
//! * `widener` walks through the blocks and hands each value out in the form that its user wants.
//! * `interleave_groups` decides which accesses are done together or in versions, `interleaving` does so; `single_lane` finds out
//!   where.
//! * `structure_groups` decides which fields of structures are read at once, and does so.
//! * `rows` is for brushes of several dimensions.
//! * `lane_wise`, `memory`, `horizontal`, `work_item_queries`, `calls` turn one instruction each into its wide form.
//! * `combined_atomics` makes one atomic update of what all lanes do to one place; `lane_loop` is for what has no vector form: one lane after
//!   the other; `brush_atomics` is for atomics that only the lanes see.
//!
//! *Passive lanes.* Vector operations also run in lanes for which the source did not run them. What comes out there is
//! never looked at, but it must do no harm: masked memory operations leave them alone, divisors become 1 there, and
//! horizontals see neutral elements. *Empty masks.* A block may run for no lane at all. Scalar code in it then computes
//! with whatever there is: scalar effects stand behind `any(mask)`, and a branch is taken on a frozen condition.

mod calls;
mod worklist;
mod interleave_groups;
mod combined_atomics;
mod horizontal;
mod value_reps;
mod lane_loop;
mod launches;
mod interleaving;
mod memory;
mod candidate_elements;
mod merge;
mod private_objects;
mod single_lane;
mod work_item_queries;
mod lane_wise;
mod structure_groups;
mod rows;
mod signature;
mod brush_atomics;
mod widener;

pub use launches::replace_launches;
pub use signature::{wide_declaration, wide_name};

pub(crate) use value_reps::may_be_private;

use crate::target::TargetInfo;
use heddle_analysis::{AccessGroups, Divergence};
use heddle_ir::diagnostic::{Code, Diagnostic, Place};
use heddle_ir::module::DeclaredShape;
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use heddle_ir::{Function, Inst, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Why an instruction has no wide form: the reason, and what to do.
fn refusal(func: &Function, inst: Inst, reason: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::NoVectorForm, reason).of_inst(func, inst)
}

/// What became of accesses, the first of them this one.
fn access_remark(func: &Function, inst: Inst, text: String) -> Diagnostic {
    Diagnostic::remark(Code::AccessForm, text).at(Place::line_of(func, inst))
}

/// What an access is of, as its source has it, or its address.
fn describe_location(func: &Function, address: Value) -> String {
    match func.describe_object(address) {
        Some(object) => format!("of {object}"),
        None => format!("at {}", func.describe(address)),
    }
}

/// What stands around a function.
#[derive(Clone, Debug)]
pub struct WidenContext<'a> {
    /// The names of the functions that are defined, and so have a wide form when all is done.
    pub defined: FxHashSet<&'a str>,
    /// Whether the brush is a work-group by itself: the function is part of a region that sequential code launches.
    pub is_region: bool,
    /// Of functions that are only declared, their vector forms for this brush.
    pub vector_variants: FxHashMap<String, Vec<VectorVariant>>,
}

/// A vector form of a function that is defined elsewhere: it takes whole vectors, and a mask behind them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorVariant {
    /// Its name.
    pub name: String,
    /// What lanes share of each parameter.
    pub shapes: Vec<DeclaredShape>,
    /// Whether a mask says which lanes are there.
    pub is_masked: bool,
}

/// Where accesses get a version for when run-time conditions hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum VersioningPolicy {
    /// Where they pay.
    #[default]
    Model,
    /// Wherever they can be.
    Force,
    /// Nowhere.
    None,
}

/// What may be chosen.
#[derive(Clone, Debug, Default)]
pub struct WidenOptions {
    /// The machine that the code is for.
    pub target: TargetInfo,
    /// VersioningPolicy of accesses.
    pub versions: VersioningPolicy,
    /// Whether accesses are done together whatever is in between: tests see whether that is noticed.
    #[doc(hidden)]
    pub ignores_order: bool,
}

/// What was chosen: what accesses have become, or which lanes run together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RemarkKind {
    /// Each is for itself.
    PerLane,
    /// Whole lines of memory.
    Interleaved,
    /// Several fields of each lane's structure at once.
    Structures,
    /// One access for each row of lanes.
    Rows,
    /// A branch on run-time conditions, and one of two forms.
    Versioned,
    /// So many brushes side by side; that is of no accesses.
    Brushes,
    /// One loop of a nest, or the nest as it was; that is of no accesses.
    Nest,
    /// The sides of a branch, merged; that is of no accesses.
    Fused,
    /// A branch that stays as it is; that is of no accesses.
    KeptBranch,
    /// Loads and operations replaced by values that are there; that is of no accesses.
    ScalarReplacement,
    /// Lanes go on one block a round, since a loop waits; that is of no accesses.
    ForwardProgress,
    /// One lane after the other; that is of no accesses.
    Serialized,
}

/// What was chosen, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// What was chosen.
    pub kind: RemarkKind,
    /// For how many accesses.
    pub accesses: usize,
    /// All that in words, where the first of the accesses, or the loop that decided, came from.
    pub diagnostic: Diagnostic,
}

/// A wide function, and what was chosen in it.
#[derive(Clone, Debug)]
pub struct Widened {
    /// The function.
    pub func: Function,
    /// What became of accesses that had a choice.
    pub remarks: Vec<Remark>,
}

/// The wide form of a function for a brush, given what is known of its lanes and of its accesses. It calls the wide forms of functions
/// around it by the names that [`wide_name`] gives them.
pub fn widen(
    func: &Function,
    facts: &Divergence,
    accesses: &AccessGroups,
    brush: &[u32],
    context: &WidenContext<'_>,
    options: &WidenOptions,
) -> Result<Widened, Diagnostic> {
    let lanes = brush.iter().fold(1u32, |lanes, &extent| lanes.saturating_mul(extent));
    if brush.is_empty() || brush.len() > MAX_DIMENSIONS || !(1..=MAX_LANES).contains(&lanes) {
        let text =
            format!("{brush:?} is no brush: 1 to {MAX_LANES} lanes along 1 to {MAX_DIMENSIONS} dimensions");
        return Err(Diagnostic::error(Code::NoVectorForm, text).of_func(&func.name));
    }
    let mut extents = [1; MAX_DIMENSIONS];
    extents[..brush.len()].copy_from_slice(brush);
    let worklist = worklist::InstWorklist::new(func);
    let objects = private_objects::PrivateObjects::new(func, &worklist, facts, lanes)?;
    let reps = value_reps::ValueReps::new(func, &worklist, facts, extents, &objects, context);
    let interleave_groups =
        interleave_groups::InterleaveGroups::new(func, accesses, &reps, lanes as u16, options);
    let structure_groups = structure_groups::StructureGroups::new(
        func,
        facts,
        accesses,
        &reps,
        &interleave_groups,
        extents,
        options,
    );
    let plan = widener::WideningPlan {
        reps: &reps,
        objects: &objects,
        interleave_groups: &interleave_groups,
        structure_groups: &structure_groups,
        options,
    };
    let widener = widener::Widener::new(func, facts, plan, extents, context);
    let mut wide = widener.widen_function()?;
    merge::merge_chains(&mut wide.func);
    wide.remarks.extend(interleave_groups.remarks);
    wide.remarks.extend(structure_groups.remarks);
    Ok(wide)
}
