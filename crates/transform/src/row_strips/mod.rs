//! Strip-mines loops in which each lane walks along a row of its own.
//!
//! Requires, ensures: Stage::Canonical.
//! Invariant: each lane executes the same iterations in the same order. Only accesses of rows move, to the ends of a strip.
//!
//! ```text
//!     for (; k < n; k++)              for (; n - k >= 8; k += 8) {
//!       s += a[row * n + k] * x[k];     strip[0..8] = a[row * n + k ..];      eight loads in a block: `widen` loads 8 elements
//!                                       for (i = 0; i < 8; i++)               for each lane and transposes them in registers
//!                                         s += strip[i] * x[k + i];
//!                                     }
//!                                     for (; k < n; k++) …                    the rest, as before
//! ```
//!
//! A *row access* executes in each iteration, at an address that grows or shrinks by its size, and lanes are apart there: without a
//! strip it is a gather or a scatter in each iteration. Rows are read at the start of a strip and written at its end. The strip is a
//! private array, which lanes interleave; LLVM unrolls short inner loops, which puts it into registers.
//!
//! *Moved accesses* (`accesses`). Within a strip nothing may write what is read earlier, or access what is written later. Objects,
//! spaces and equal sums decide most pairs. For the others the bytes of the whole loop are compared at run time, and the loop
//! runs as before where they overlap. Only accesses of one lane are compared, since lanes that race are undefined
//! ([`RaceSemantics::Excluded`]); otherwise objects and spaces alone decide.
//!
//! Decision: a loop inside a loop instead of unrolled iterations. It keeps large bodies and those with branches as they are; of
//! small ones LLVM makes the same.

mod accesses;
mod rewrite;

use crate::induction::{InductionVariable, LoopCounter, find_counter, find_induction};
use crate::races::RaceSemantics;
use crate::target::{AccessDirection, AccessLanes, TargetInfo};
use accesses::{LoopAccess, OverlapCheck, find_accesses, find_rows};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{AccessGroups, ControlTables, Cycle, Divergence, Shape};
use heddle_ir::entity::EntitySet;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, Op, Value};

/// Loops that are strip-mined.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum StripPolicy {
    /// Those with an estimated gain.
    #[default]
    Model,
    /// All with row accesses.
    Force,
}

/// Options of strip-mining.
#[derive(Clone, Debug)]
pub struct StripOptions {
    /// Loops that are strip-mined.
    pub policy: StripPolicy,
    /// Number of lanes of a brush of one dimension.
    pub lanes: u32,
    /// Target whose costs apply.
    pub target: TargetInfo,
    /// Assumption about data races between lanes.
    pub races: RaceSemantics,
}

/// Maximum number of instructions of a loop.
const MAX_INSTRUCTIONS: usize = 256;
/// Maximum number of loops of a function that are strip-mined.
const MAX_LOOPS: usize = 8;
/// Maximum number of rows of a loop, and of run-time comparisons.
const MAX_ROWS: usize = 8;
const MAX_CHECKS: usize = 8;
/// Number of bytes of a row that a strip covers, and bounds of its number of iterations.
const STRIP_BYTES: u32 = 32;
const MIN_ITERATIONS: u32 = 4;
const MAX_ITERATIONS: u32 = 16;

/// Loop with a single exit, at its latch.
struct RowLoop {
    preheader: Block,
    header: Block,
    latch: Block,
    exit: Block,
    blocks: Vec<Block>,
    inside: EntitySet<Block>,
    inductions: Vec<InductionVariable>,
    counter: LoopCounter,
    /// Pure instructions in the loop that compute the same in each iteration, operands first. Rewriting hoists them.
    invariant: Vec<Inst>,
    invariant_values: EntitySet<Value>,
}

/// Loop to strip-mine.
struct StripPlan {
    row_loop: RowLoop,
    /// Iterations of a strip.
    length: u32,
    rows: Vec<LoopAccess>,
    checks: Vec<OverlapCheck>,
}

/// Strip-mines loops of a function, inner ones first. `facts` analyzes the function's current state; none for code that
/// one thread executes. Returns the number of loops.
pub fn strip_rows(
    func: &mut Function,
    mut facts: impl FnMut(&Function) -> Option<(ControlTables, Divergence)>,
    options: &StripOptions,
) -> usize {
    let mut settled: EntitySet<Block> = EntitySet::new();
    let mut count = 0;
    while count < MAX_LOOPS && has_candidates(func, &settled) {
        let Some((control, divergence)) = facts(func) else { break };
        let loops = control.cycles.cycles().rev().filter(|&it| !settled.contains(control.cycles.header(it)));
        let mut plan = None;
        let mut refused: Vec<Block> = Vec::new();
        for cycle in loops {
            plan = plan_strips(func, &control, &divergence, cycle, options);
            if plan.is_some() {
                break;
            }
            refused.push(control.cycles.header(cycle));
        }
        refused.into_iter().for_each(|header| _ = settled.insert(header));
        let Some(plan) = plan else { break };
        rewrite::strip_mine(func, &plan).into_iter().for_each(|header| _ = settled.insert(header));
        crate::canonicalize(func);
        count += 1;
    }
    count
}

/// True if a loop that is not settled has plain accesses.
fn has_candidates(func: &Function, settled: &EntitySet<Block>) -> bool {
    let flow = crate::cfg_analyses::CfgAnalyses::new(func);
    let forest = flow.forest();
    forest.cycles().any(|cycle| {
        let mut insts = forest.blocks(cycle).iter().flat_map(|&block| func.block_insts(block));
        !settled.contains(forest.header(cycle))
            && insts.any(|inst| matches!(func.inst(inst).op, Op::Load | Op::Store))
    })
}

/// Plans the strips of a loop; none if it has no rows that pay.
fn plan_strips(
    func: &Function,
    control: &ControlTables,
    facts: &Divergence,
    cycle: Cycle,
    options: &StripOptions,
) -> Option<StripPlan> {
    if options.lanes < MIN_ITERATIONS || !options.lanes.is_power_of_two() || facts.is_divergent_loop(cycle) {
        return None;
    }
    let row_loop = RowLoop::new(func, control, cycle)?;
    let is_uniform = |value: Value| func.constant(value).is_some() || facts.shape(value).is_uniform();
    if !is_uniform(row_loop.counter.init) || !is_uniform(row_loop.counter.bound) {
        return None;
    }
    let insts = || row_loop.blocks.iter().flat_map(|&block| func.block_insts(block));
    let keeps_order = |inst: Inst| !may_interfere(func, inst);
    if insts().count() > MAX_INSTRUCTIONS || !insts().all(keeps_order) {
        return None;
    }
    let accesses = find_accesses(func, control, &row_loop);
    let groups = AccessGroups::new(func, control, facts, &Geometry::brush(&[options.lanes]));
    let apart = |access: &LoopAccess, length: u32| is_apart(func, facts, &groups, access, length);
    let widest = accesses.iter().filter(|it| it.is_row() && apart(it, 1)).map(|it| it.bytes).max()?;
    let bytes = STRIP_BYTES.min(options.target.vector_bits / 8);
    let length = (bytes / widest).clamp(1, MAX_ITERATIONS).min(options.lanes);
    if length < MIN_ITERATIONS {
        return None;
    }
    let pays = |access: &LoopAccess| {
        let is_cheap = || {
            let (together, alone) = costs(access, length, options);
            together < alone
        };
        apart(access, length) && (options.policy == StripPolicy::Force || is_cheap())
    };
    let candidates: Vec<usize> = (0..accesses.len())
        .filter(|&at| accesses[at].is_row() && pays(&accesses[at]))
        .take(MAX_ROWS)
        .collect();
    let (rows, checks) = find_rows(func, control, &accesses, candidates, length, options);
    if rows.is_empty() || checks.len() > MAX_CHECKS {
        return None;
    }
    let rows = rows.into_iter().map(|at| accesses[at].clone()).collect();
    Some(StripPlan { row_loop, length, rows, checks })
}

impl RowLoop {
    fn new(func: &Function, control: &ControlTables, cycle: Cycle) -> Option<RowLoop> {
        let (cfg, forest) = (&control.cfg, &control.cycles);
        let (header, preheader) = (forest.header(cycle), forest.preheader(cfg, cycle)?);
        let latch = forest.unique_latch(cfg, cycle)?;
        let mut exiting = forest.exiting_edges(cfg, cycle);
        let edge = exiting.next().filter(|edge| edge.from == latch)?;
        if exiting.next().is_some() || cfg.preds(edge.to).len() != 1 {
            return None;
        }
        let blocks = forest.blocks(cycle).to_vec();
        let inside: EntitySet<Block> = blocks.iter().copied().collect();
        let inductions: Vec<InductionVariable> = func
            .phis(header)
            .filter_map(|phi| find_induction(func, phi, |block| inside.contains(block)))
            .collect();
        let counter = find_counter(func, &inside, latch, &inductions)?;
        let mut this = RowLoop {
            preheader,
            header,
            latch,
            exit: edge.to,
            blocks,
            inside,
            inductions,
            counter,
            invariant: Vec::new(),
            invariant_values: EntitySet::new(),
        };
        this.find_invariant(func, control);
        Some(this)
    }

    /// Finds the instructions that compute the same in each iteration.
    fn find_invariant(&mut self, func: &Function, control: &ControlTables) {
        let order = control.index.order().iter().copied();
        let inside: Vec<Block> = order.filter(|&block| self.inside.contains(block)).collect();
        for inst in inside.into_iter().flat_map(|block| func.block_insts(block)) {
            let data = func.inst(inst);
            let is_pure = data.op.info().effect == Effect::Pure && data.op != Op::Freeze && !data.is_total();
            if let (true, Some(result)) = (is_pure, func.result(inst))
                && data.args.iter().all(|&arg| self.is_invariant(func, arg))
            {
                self.invariant.push(inst);
                self.invariant_values.insert(result);
            }
        }
    }

    /// True if a value is the same in each iteration.
    fn is_invariant(&self, func: &Function, value: Value) -> bool {
        self.invariant_values.contains(value) || crate::induction::is_invariant(func, &self.inside, value)
    }
}

/// True if an instruction other than a plain access has effects that accesses must not move past, or cannot be copied.
fn may_interfere(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    if data.is_total() || data.op == Op::Phi && data.shadow().is_some() {
        return true;
    }
    match data.op {
        Op::Load | Op::Store => !accesses::is_plain(data),
        Op::Phi | Op::Br => false,
        op => match op.info().effect {
            Effect::Pure | Effect::Traps | Effect::Assumes => false,
            Effect::Callee => func.callee_of(data).is_none_or(|callee| {
                let effects = callee.signature.effects;
                op != Op::Call || effects.reads || effects.writes || effects.convergent || effects.endless
            }),
            _ => true,
        },
    }
}

/// True if lanes access memory further apart than a strip, so that an access is not contiguous over lanes anyway, nor under a
/// condition that `widen` tests.
fn is_apart(
    func: &Function,
    facts: &Divergence,
    groups: &AccessGroups,
    access: &LoopAccess,
    length: u32,
) -> bool {
    if let Some(group) = groups.of(access.inst) {
        return group.stride.unsigned_abs() > u64::from(length * access.bytes);
    }
    let address = func.inst(access.inst).address().expect("an access has an address");
    matches!(facts.shape(address), Shape::Varying { .. })
}

/// Costs of a row's strip, and of its accesses one by one.
fn costs(access: &LoopAccess, length: u32, options: &StripOptions) -> (u32, u32) {
    let (target, lanes) = (&options.target, options.lanes);
    let direction = if access.is_store { AccessDirection::Store } else { AccessDirection::Load };
    let element_bits = access.bytes * 8;
    let contiguous =
        |direction, lanes| target.contiguous_cost(direction, AccessLanes::All, lanes, element_bits);
    let each = contiguous(direction, length) + target.lane;
    let permutes = length * length.ilog2() * target.cost(target.permute, lanes, lanes * element_bits);
    let strip = contiguous(AccessDirection::Load, lanes) + contiguous(AccessDirection::Store, lanes);
    let alone = target.repeated_cost(direction, AccessLanes::All, lanes, element_bits, length);
    (lanes * each + permutes + length * strip, alone)
}
