//! Adds a fast version of a region for brushes whose index arithmetic is uniform or strided.
//!
//! ```text
//!     x % s, x / s        lanes are in one block of s work-items         x₀ % s + lane, x₀ / s
//!     x & m, x >> k       brushes begin at multiples of their lanes      x₀ & m, x₀ >> k
//!     x & (2ⁿ - 1)        lanes are in one block of 2ⁿ work-items        (x₀ & m) + lane
//!     x ^ j, x | j        and j has no bit among those of lanes          (x₀ ^ j) + lane
//!     zext x, sext x, …   no lane of the brush wraps around              zext x₀ + lane
//!     min(x, u), …        all lanes choose x                             x₀ + lane
//!     x < u ? 0 : x - u   x is u or more in all lanes                    x₀ - u + lane
//!     x < u ? x + 1 : x   all lanes choose x + 1                         x₀ + 1 + lane
//!     zext (x < u)        x is below u in all lanes                      1
//! ```
//!
//! The left column is the operation, the middle one its condition, the right one the replacement. Here `x` is `x₀ + lane`, and
//! the other operand is uniform. Both are computed from the region's parameters, so a block before the region tests the
//! conditions once per brush. In the fast version addresses are contiguous, conditions uniform, and divisions scalar.
//!
//! Divisions in loops over work-items have conditions of their own ([`strided_loops`]).
//!
//! Each condition is frozen on its own: it is poison only where its operation is.

mod builder;
mod candidates;
mod strided_loops;

use crate::widen::VersioningPolicy;
use builder::VersionBuilder;
use candidates::{LaneRewrite, ONE_BLOCK, RewriteCandidate, RewriteCandidates};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::diagnostic::{AccessLowering, DiagnosticLocation};
use heddle_ir::entity::{EntitySet, SecondaryMap};
use heddle_ir::module::Effects;
use heddle_ir::{Block, Diagnostic, Function, Inst, Op, Value};
use std::collections::BTreeSet;

/// Maximum size of a region that gets a fast version.
const MAX_INSTRUCTIONS: usize = 600;
/// Maximum size if only extensions might wrap: each access tests those anyway.
const MAX_INSTRUCTIONS_FOR_EXTENSIONS: usize = 200;
/// Maximum number of conditions of a version.
const MAX_CONDITIONS: usize = 12;

/// Adds a fast version to a region if it may make addresses contiguous. Returns a remark for each access that gains.
pub(super) fn add_fast_version(
    region: &mut Function,
    brush: &[u32],
    versions: VersioningPolicy,
) -> Vec<Diagnostic> {
    let lanes = brush[0];
    if versions == VersioningPolicy::None || lanes < 2 || !lanes.is_power_of_two() {
        return Vec::new();
    }
    let blocks: Vec<Block> = region.blocks().collect();
    let count = blocks.iter().map(|&block| region.block_insts(block).count()).sum::<usize>();
    if count > MAX_INSTRUCTIONS || may_wait(region) {
        return Vec::new();
    }
    if RewriteCandidates::new(region, lanes).is_empty() {
        return Vec::new();
    }
    // Simplification exposes the sources of extensions, which determine whether they wrap.
    crate::simplify(region);
    let blocks: Vec<Block> = region.blocks().collect();
    let found = RewriteCandidates::new(region, lanes);
    let (mut chosen, mut divisions) = (found.candidates.clone(), found.divisions.clone());
    if versions == VersioningPolicy::Model {
        // `reach` contains the operands of these candidates, too.
        let reach = find_address_operands(region);
        let is_reached = |inst: Inst| region.results(inst).iter().any(|&it| reach.contains(it));
        chosen.retain(|candidate| is_reached(candidate.inst));
        divisions.retain(|division| is_reached(division.inst));
    }
    let is_extension = |it: &RewriteCandidate| match it.rewrite {
        LaneRewrite::Extension { .. } | LaneRewrite::SignedLowBits { .. } | LaneRewrite::Frozen => true,
        LaneRewrite::LowBits => it.uniform.is_some_and(|mask| region.constant(mask).is_some()),
        _ => false,
    };
    let gains = versions == VersioningPolicy::Force
        || !divisions.is_empty()
        || !chosen.iter().all(is_extension)
        || count <= MAX_INSTRUCTIONS_FOR_EXTENSIONS && wraps_around(region, &chosen, brush);
    let number = chosen.len() + divisions.len();
    if number == 0 || number > MAX_CONDITIONS || !gains {
        return Vec::new();
    }
    let made = VersionBuilder::new(region, &found, lanes).write(&blocks, &chosen, &divisions);
    let rewritten = chosen.iter().map(|it| (it.inst, it.rewrite.condition()));
    let rewritten = rewritten.chain(divisions.iter().map(|it| (it.inst, ONE_BLOCK)));
    let remark = remarks(region, rewritten);
    *region = made;
    remark
}

/// Returns remarks for the accesses whose addresses depend on rewritten instructions.
fn remarks(region: &Function, rewritten: impl Iterator<Item = (Inst, &'static str)>) -> Vec<Diagnostic> {
    let mut users: SecondaryMap<Value, Vec<Inst>> = SecondaryMap::new();
    for inst in region.blocks().flat_map(|block| region.block_insts(block)) {
        region.inst(inst).args.iter().for_each(|&arg| users[arg].push(inst));
    }
    // Values with the conditions of the rewritten instructions that they depend on.
    let mut conditions: SecondaryMap<Value, BTreeSet<&'static str>> = SecondaryMap::new();
    let mut work: Vec<(Value, &'static str)> =
        rewritten.filter_map(|(inst, condition)| Some((region.result(inst)?, condition))).collect();
    while let Some((value, condition)) = work.pop() {
        if conditions[value].insert(condition) {
            let passing = users[value].iter().filter(|&&user| region.inst(user).op != Op::Load);
            work.extend(passing.flat_map(|&user| region.results(user)).map(|&result| (result, condition)));
        }
    }
    let insts = region.blocks().flat_map(|block| region.block_insts(block));
    let accesses = insts.filter_map(|inst| {
        let data = region.inst(inst);
        let (is_store, address) = match data.op {
            Op::Load => (false, data.args[0]),
            Op::Store => (true, data.args[1]),
            _ => return None,
        };
        let remark = Diagnostic::access(AccessLowering {
            accesses: 1,
            is_store,
            objects: region.describe_object(address).into_iter().collect(),
            lowering: "strided in the fast version of its region".into(),
            condition: conditions[address].iter().copied().collect::<Vec<_>>().join(" and "),
            is_wrap_test: false,
            is_chosen: true,
            costs: None,
        });
        let remark = remark.at(DiagnosticLocation::line_of(region, inst));
        (!conditions[address].is_empty()).then_some(remark)
    });
    accesses.collect()
}

/// True if some result may wrap without the conditions. True for irreducible control flow, where divergence is unknown.
fn wraps_around(region: &Function, chosen: &[RewriteCandidate], brush: &[u32]) -> bool {
    if chosen.is_empty() {
        return false;
    }
    let control = ControlTables::new(region);
    if !control.cycles.is_graph_reducible() {
        return true;
    }
    let initial = InitialShapes::declared(region, Geometry::brush(brush));
    let facts = divergence(region, &control, &initial);
    let steps = |result: Value| facts.shape(result).strides().is_some();
    chosen.iter().any(|candidate| region.result(candidate.inst).is_some_and(|result| !steps(result)))
}

/// True if lanes may wait for each other in a loop. Lanes then proceed one by one, and none represents the others.
fn may_wait(region: &Function) -> bool {
    region.blocks().flat_map(|block| region.block_insts(block)).any(|inst| {
        let data = region.inst(inst);
        let calls = region.callee_of(data).is_some_and(|callee| callee.signature.effects != Effects::PURE);
        calls || data.is_ordered()
    })
}

/// Returns the values that addresses are computed from.
fn find_address_operands(region: &Function) -> EntitySet<Value> {
    let mut reach: EntitySet<Value> = EntitySet::new();
    let mut work: Vec<Value> = Vec::new();
    for inst in region.blocks().flat_map(|block| region.block_insts(block)) {
        let data = region.inst(inst);
        match data.op {
            Op::Load | Op::AtomicRmw | Op::CompareExchange => work.push(data.args[0]),
            Op::Store => work.push(data.args[1]),
            _ => {}
        }
    }
    while let Some(value) = work.pop() {
        if !reach.insert(value) {
            continue;
        }
        if let Some(inst) = region.def_inst(value)
            && !matches!(region.inst(inst).op, Op::Load | Op::Call | Op::Phi)
        {
            work.extend(region.inst(inst).args.iter().copied());
        }
    }
    reach
}
