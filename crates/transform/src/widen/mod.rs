//! Turns lock-step code for `W` lanes into vector code for one thread.
//!
//! Requires: Stage::Linear, all `W` lanes enter.  Ensures: Stage::Wide.
//! Invariants: blocks keep their names and their order; a new block follows the one that it was split from. An effect
//! happens for the same lanes as before, in ascending order.
//! After: S. Moll, *The Region Vectorizer*, 3.3 and 11.4; R. Karrenberg and S. Hack, *Improving Performance of OpenCL on
//! CPUs*, 3. Differs in: a scalar may step from lane to lane; a scalar effect is guarded by a branch, not by a loop.
//!
//! ```text
//!     block1 [v17]:                       block1:
//!       v9 = lshr v7, 1                     v9 = lshr v7, splat 1       v7 is varying
//!       v10 = add v8, 1                     v10 = add v8, 1             v8 is uniform
//!       store v10, v5                       masked_store …, v5, v17     lanes are contiguous from v5
//! ```
//!
//! Planning decides, and makes a value of it (`widening_plan`):
//!
//! * `value_reps`: for each value, whether it is held as a scalar or as a vector.
//! * `private_objects`: which private objects lanes share. `worklist` iterates both to a fixed point.
//! * `access_plan`: the lowering of each memory instruction, by the target's costs. `interleave_groups` finds accesses to combine or to
//!   version, `structure_groups` accesses of several fields of one structure per lane, `cell_groups` loads of cells that several lanes
//!   and loads of a brush read (`cell_loads`, `cell_layouts`), also of several rows on one line of memory (`lane_lines`), `cell_stores`
//!   stores of such cells. `row_facts` plans rows and columns of brushes of several dimensions,
//!   `candidate_elements` accesses to all elements of a small private array, `lookup_tables` permutations of one that lanes share.
//!
//! Emission (`widener`, at its `cursor`) visits the blocks and converts each value to the representation that its user needs:
//!
//! * `memory` matches the plans; `interleaving`, `structure_accesses`, `cell_accesses` and `rows` emit groups and rows.
//! * `single_lane` recomputes base addresses; `row_vectors` computes masks by rows and lets rows share loads, whose addresses
//!   `address_polynomial` compares.
//! * `lane_wise`, `horizontal`, `work_item_queries` and `calls` widen one instruction each.
//! * `combined_atomics` merges the lanes' atomic updates of one address; `brush_atomics` lowers atomics that only the
//!   brush observes; `lane_loop` serializes operations without a vector form.
//!
//! *Passive lanes.* Vector operations also run in lanes for which the source did not run them. Nothing reads these
//! results, but the operations must do no harm: memory operations are masked, divisors become 1, and horizontals get
//! neutral elements. *Empty masks.* A block may run for no lane at all. Its scalar code then computes with arbitrary
//! values, so scalar effects are guarded by `any(mask)` and branch conditions are frozen.

mod widening_plan;
mod worklist;
mod value_reps;
mod private_objects;
mod access_plan;
mod interleave_groups;
mod structure_groups;
mod cell_groups;
mod cell_loads;
mod cell_layouts;
mod lane_lines;
mod cell_stores;
mod row_facts;
mod address_polynomial;
mod candidate_elements;
mod blended_stores;
mod lookup_tables;

mod widener;
mod cursor;
mod lane_updates;
mod lane_wise;
mod memory;
mod interleaving;
mod structure_accesses;
mod cell_accesses;
mod rows;
mod row_vectors;
mod single_lane;
mod horizontal;
mod work_item_queries;
mod calls;
mod combined_atomics;
mod brush_atomics;
mod lane_loop;

mod launches;
mod merge;
mod signature;

pub use launches::replace_launches;
pub use signature::{wide_declaration, wide_name};

pub(crate) use address_polynomial::AddressPolynomial;
pub(crate) use value_reps::may_be_private;

use crate::races::RaceSemantics;
use crate::target::TargetInfo;
use heddle_analysis::{AccessGroups, Divergence};
use heddle_ir::diagnostic::{Code, Diagnostic};
use heddle_ir::module::{DeclaredShape, MetadataNode};
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use heddle_ir::{Function, Inst};
use rustc_hash::{FxHashMap, FxHashSet};

/// Error: the instruction has no wide form, with the reason.
fn refusal(func: &Function, inst: Inst, reason: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::NoVectorForm, reason).of_inst(func, inst)
}

/// Properties of the surrounding module that widening a function depends on.
#[derive(Clone, Debug)]
pub struct WidenContext<'a> {
    /// Names of defined functions; each of them gets a wide form.
    pub defined: FxHashSet<&'a str>,
    /// True if the function is a region that sequential code launches: the brush is the work-group.
    pub is_region: bool,
    /// Vector variants for this brush of functions that are only declared.
    pub vector_variants: FxHashMap<String, Vec<VectorVariant>>,
    /// Hint for code generators to keep loops over lanes as loops.
    pub keep_lane_loops: Option<MetadataNode>,
}

/// Vector variant of an external function: takes whole vectors, then a mask if `is_masked`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorVariant {
    /// Symbol name.
    pub name: String,
    /// Declared shape of each parameter.
    pub shapes: Vec<DeclaredShape>,
    /// True if the last parameter is a mask of active lanes.
    pub is_masked: bool,
}

/// Policy for versioning accesses by run-time conditions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum VersioningPolicy {
    /// Where the cost model predicts a gain.
    #[default]
    Model,
    /// Wherever it is possible.
    Force,
    /// Nowhere.
    None,
}

/// Options of widening.
#[derive(Clone, Debug, Default)]
pub struct WidenOptions {
    /// Target whose costs apply.
    pub target: TargetInfo,
    /// Policy for versioned accesses.
    pub versions: VersioningPolicy,
    /// Assumption about data races between lanes.
    pub races: RaceSemantics,
}

/// Kind of decision that a remark reports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RemarkKind {
    /// Each access is lowered separately.
    PerLane,
    /// An interleave group: contiguous vectors of memory and shuffles.
    Interleaved,
    /// A structure group: several fields of each lane's structure in one access.
    Structures,
    /// One access for each row or column of lanes.
    Rows,
    /// A cell group: each cell that several lanes or loads read is loaded once.
    Cells,
    /// A branch on run-time conditions between two lowerings.
    Versioned,
    /// Number of brushes per call; no accesses.
    Brushes,
    /// A loop nest was flattened or kept; no accesses.
    Nest,
    /// The two sides of a branch were fused; no accesses.
    Fused,
    /// A branch was not fused; no accesses.
    KeptBranch,
    /// Loads and operations were replaced by available values; no accesses.
    ScalarReplacement,
    /// Lanes advance one block a round, for forward progress of a loop that waits; no accesses.
    ForwardProgress,
    /// An instruction is serialized over the lanes; no accesses.
    Serialized,
    /// Layout of a private array; no accesses.
    PrivateArray,
}

/// Optimization remark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Kind of decision.
    pub kind: RemarkKind,
    /// Number of accesses that it is about.
    pub accesses: usize,
    /// Message, located at the first access or at the loop that decided.
    pub diagnostic: Diagnostic,
}

/// Wide function, with the remarks on it.
#[derive(Clone, Debug)]
pub struct Widened {
    /// Wide function.
    pub func: Function,
    /// Remarks on accesses with a choice of lowering.
    pub remarks: Vec<Remark>,
}

/// Returns the wide form of a function for a brush. Calls to functions that the context defines become calls to their
/// wide forms, named by [`wide_name`].
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
        let text = format!(
            "{brush:?} is not a brush: 1 to {MAX_LANES} lanes along 1 to {MAX_DIMENSIONS} dimensions"
        );
        return Err(Diagnostic::error(Code::NoVectorForm, text).of_func(&func.name));
    }
    let mut extents = [1; MAX_DIMENSIONS];
    extents[..brush.len()].copy_from_slice(brush);
    let plan = widening_plan::WideningPlan::new(func, facts, accesses, extents, context, options)?;
    let mut wide = widener::Widener::new(func, facts, &plan, context).widen_function()?;
    merge::merge_chains(&mut wide.func);
    wide.remarks.extend(plan.remarks(func));
    Ok(wide)
}
