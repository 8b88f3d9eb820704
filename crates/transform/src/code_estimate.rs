//! Estimates the time of a kernel's group function, to choose among vector codes before any of them ran.
//!
//! The estimate is for one work-item: each region of the group function runs once for a brush, so its time is divided by its lanes.
//!
//! * Instructions occupy the machine as `TargetInfo` says. Blocks count as often as they are expected to run.
//! * An innermost loop takes the longer of its instructions and its loop-carried latency. Short loops and straight code overlap
//!   with the next brush as far as the machine looks ahead. Loads that the next iteration's addresses depend on miss the
//!   first-level cache, and so do loops along columns and many arrays of one size.
//! * Branches that depend on data, and the ends of loops whose iterations are not known, are mispredicted at times.
//! * Vector values beyond the registers are spilled and reloaded.
//! * Loops of code with one lane are vectorized by LLVM where iterations take contiguous elements.
//!
//! Requires: stage Wide.
//! Decision: the code itself is estimated rather than extrapolated from one code, since accesses change with the number of lanes;
//! passes up to stage Wide take about a twentieth of LLVM's time.

mod branches;
mod cache_lines;
mod trip_counts;
mod vectorized_loops;

use crate::brushes::carried_latency;
use crate::target::{AccessDirection, AccessLanes, OpTime, TargetInfo};
use crate::timing::{
    CallTimes, ReadyTimes, call_times, has_lane_accesses, is_mask, object_offset, permutations, scalar_time,
    simulate, time_of, widest_vector,
};
use heddle_analysis::{BlockIndex, Cfg, Cycle, CycleForest, DominatorTree};
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, Module, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Operations that the machine looks ahead.
const WINDOW: f64 = 256.0;
/// Time of a plain operation on one register, in tenths of a cycle.
const OPERATION: f64 = 5.0;
/// Time of the loop over brushes, of addresses and of the group, in tenths of a cycle for a brush.
const BRUSH_OVERHEAD: f64 = 25.0;
/// Time of spilling and reloading a register, in tenths of a cycle.
const SPILL: f64 = 15.0;
/// Latency of a load beyond that of the first-level cache, where loads lead from one to the next.
const MISS: u32 = 300;
/// Time of a mispredicted branch.
const MISPREDICTION: f64 = 150.0;
/// Depth of addresses in which loads are looked for.
const COMPUTED_DEPTH: u32 = 8;
/// Depth of conditions in which a vote is looked for.
const VOTE_DEPTH: u32 = 4;

/// Returns the estimated time for a work-item of each region of a kernel, in tenths of a cycle, by the region's name. Regions that run
/// one work-item after the other are part of the group function, and not among them.
pub fn estimate_regions(module: &Module, kernel: &str, target: &TargetInfo) -> BTreeMap<String, f64> {
    let calls = call_times(module, target);
    let mut regions: BTreeMap<String, (&Function, EstimatedBrush)> = BTreeMap::new();
    let Some(group) = module.function(kernel) else { return BTreeMap::new() };
    for inst in group.blocks().flat_map(|block| group.block_insts(block)) {
        let Some(callee) = group.callee_of(group.inst(inst)) else { continue };
        let Some((region, brush)) = region_of(&callee.name, kernel) else { continue };
        let Some(func) = module.function(&callee.name) else { continue };
        // Brushes with all lanes count; the last one of a group may have fewer.
        let is_masked = func.signature.params.iter().any(|param| is_mask(param.ty));
        if !is_masked || !regions.contains_key(region) {
            regions.insert(region.to_string(), (func, brush));
        }
    }
    let time = |func, brush: EstimatedBrush| {
        (CodeEstimate::new(func, brush, &calls, target).time() + BRUSH_OVERHEAD) / brush.lanes
    };
    regions.into_iter().map(|(name, (func, brush))| (name, time(func, brush))).collect()
}

/// Returns the number of machine instructions of a module, roughly: one for each register of an operation, and one for each lane of
/// an access that is made lane by lane.
pub fn instruction_count(module: &Module, target: &TargetInfo) -> f64 {
    let of_inst = |func: &Function, inst: Inst| match widest_vector(func, inst).filter(|ty| !is_mask(*ty)) {
        Some(_) if func.inst(inst).op == Op::Permute => permutations(func, inst, target, |_| 1),
        Some(_) if func.inst(inst).op == Op::Splat => 1,
        Some(ty) if has_lane_accesses(func, inst) => ty.lanes().unwrap_or(1).into(),
        Some(ty) => target.registers_of(ty.bytes() * 8),
        None => 1,
    };
    let of_func = |func: &Function| -> f64 {
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        insts.map(|inst| f64::from(of_inst(func, inst))).sum()
    };
    module.functions.iter().map(of_func).sum()
}

/// True if a module for brushes of one lane has loops that LLVM vectorizes with profit.
pub fn has_vectorized_loops(module: &Module, target: &TargetInfo) -> bool {
    let calls = CallTimes::default();
    let brush = EstimatedBrush { lanes: 1.0, spread: 0.0 };
    module.functions.iter().any(|func| {
        let estimate = CodeEstimate::new(func, brush, &calls, target);
        let mut innermost = estimate.cycles.cycles().filter(|&it| estimate.cycles.children(it).is_empty());
        innermost.any(|cycle| estimate.vectorized_share(cycle, &estimate.blocks_of(cycle)) < 1.0)
    })
}

/// Lanes of a brush.
#[derive(Clone, Copy)]
struct EstimatedBrush {
    lanes: f64,
    /// Doublings of the lanes, by how much their work differs: neighbours in two dimensions do more alike than those of one row.
    spread: f64,
}

impl EstimatedBrush {
    fn parse(text: &str) -> Option<EstimatedBrush> {
        let extents: Vec<f64> = text.split('x').map(|it| it.parse().ok()).collect::<Option<_>>()?;
        let (first, others) = extents.split_first()?;
        let spread = first.log2() + others.iter().map(|it| it.log2() / 4.0).sum::<f64>();
        Some(EstimatedBrush { lanes: extents.iter().product(), spread })
    }
}

/// Number of the region that a wide function runs, and its lanes.
fn region_of<'n>(name: &'n str, kernel: &str) -> Option<(&'n str, EstimatedBrush)> {
    let rest = name.strip_prefix(kernel)?.strip_prefix(".region")?;
    let (shapes, brush) = rest.rsplit_once(".w")?;
    let region = shapes.split('.').next()?;
    Some((region, EstimatedBrush::parse(brush)?))
}

/// Estimate of one function.
struct CodeEstimate<'a> {
    func: &'a Function,
    brush: EstimatedBrush,
    calls: &'a CallTimes,
    target: &'a TargetInfo,
    cfg: Cfg,
    dominators: DominatorTree,
    cycles: CycleForest,
    order: Vec<Block>,
    /// True if the source has locations, so that code without one was added by passes.
    has_locations: bool,
}

/// Time and operations of some instructions.
#[derive(Clone, Copy, Default)]
struct Work {
    busy: f64,
    operations: f64,
}

impl Work {
    fn add(&mut self, other: Work, times: f64) {
        self.busy += other.busy * times;
        self.operations += other.operations * times;
    }

    /// Time with a latency, of which the next brush hides what fits into the window.
    fn with_latency(self, latency: f64) -> f64 {
        let latency = latency * (self.operations / WINDOW).min(1.0);
        self.busy.max(latency) + self.busy.min(latency) / 4.0
    }
}

impl<'a> CodeEstimate<'a> {
    fn new(
        func: &'a Function,
        brush: EstimatedBrush,
        calls: &'a CallTimes,
        target: &'a TargetInfo,
    ) -> CodeEstimate<'a> {
        let cfg = Cfg::new(func);
        let (dominators, cycles) = (DominatorTree::new(&cfg), CycleForest::new(&cfg));
        let order = BlockIndex::new(&cfg, &dominators, &cycles).order().to_vec();
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        let has_locations = insts.any(|inst| func.loc(inst).is_some());
        CodeEstimate { func, brush, calls, target, cfg, dominators, cycles, order, has_locations }
    }

    /// Time of a call.
    fn time(&self) -> f64 {
        let counts = self.execution_counts();
        let mut straight = Work::default();
        let mut total = 0.0;
        let mut straight_times = Vec::new();
        for &block in &self.order {
            let count = counts.get(&block).copied().unwrap_or(0.0);
            match self.cycles.innermost(block) {
                None => {
                    straight.add(self.work_of(block), count);
                    let insts = self.func.block_insts(block);
                    straight_times.extend(insts.map(|inst| (inst, self.time_of(inst))));
                }
                // Innermost loops follow, as a whole.
                Some(cycle) if self.cycles.children(cycle).is_empty() => {}
                Some(_) => total += self.work_of(block).busy * count,
            }
        }
        let mut ready = ReadyTimes::default();
        let latency = simulate(self.func, &straight_times, &mut ready)
            .max(ready.values.values().copied().max().unwrap_or(0));
        total += straight.with_latency(f64::from(latency));
        total += self.evicted_lines(|block| counts.get(&block).copied().unwrap_or(0.0));
        for cycle in self.cycles.cycles().filter(|&it| self.cycles.children(it).is_empty()) {
            total += self.loop_time(cycle, &counts);
        }
        total + MISPREDICTION * self.mispredictions(&counts)
    }

    /// Condition of the branch at the end of a block, without freezes.
    fn condition(&self, block: Block) -> Option<Value> {
        let terminator = self.func.terminator(block).map(|it| self.func.inst(it));
        let condition = terminator.filter(|data| data.op == Op::Br).and_then(|data| data.args.first());
        condition.map(|&it| self.unfrozen(it))
    }

    fn blocks_of(&self, cycle: Cycle) -> Vec<Block> {
        self.order.iter().copied().filter(|&it| self.cycles.innermost(it) == Some(cycle)).collect()
    }

    /// Time of an innermost loop, each time that it is entered, altogether.
    fn loop_time(&self, cycle: Cycle, counts: &FxHashMap<Block, f64>) -> f64 {
        let header = self.cycles.header(cycle);
        let count = |block: Block| counts.get(&block).copied().unwrap_or(0.0);
        let iterations = count(header);
        if iterations <= 0.0 {
            return 0.0;
        }
        let blocks = self.blocks_of(cycle);
        let mut work = Work::default();
        for &block in &blocks {
            work.add(self.work_of(block), count(block) / iterations);
        }
        work.busy += self.conflicts(&blocks, |block| count(block) / iterations);
        work.busy += self.new_lines(cycle, &blocks, |block| count(block) / iterations);
        let insts: Vec<Inst> = blocks.iter().flat_map(|&block| self.func.block_insts(block)).collect();
        let is_carried = |inst: &Inst| {
            self.func.inst(*inst).op == Op::Phi && self.func.layout.block_of(*inst) == Some(header)
        };
        let with_miss = |inst: Inst| {
            let (time, data) = (self.time_of(inst), self.func.inst(inst));
            let is_private = |it: Value| object_offset(self.func, it).is_some();
            let is_load = matches!(data.op, Op::Load | Op::MaskedLoad | Op::Gather);
            match data.address().filter(|&address| is_load && !is_private(address)) {
                Some(_) => OpTime { latency: time.latency + MISS, ..time },
                None => time,
            }
        };
        let times: Vec<(Inst, OpTime)> =
            insts.iter().filter(|inst| !is_carried(inst)).map(|&inst| (inst, with_miss(inst))).collect();
        let latency = carried_latency(self.func, header, &blocks, &times);
        let trips = self.trips(cycle);
        let all = Work { busy: work.busy * trips, operations: work.operations * trips };
        let share = self.vectorized_share(cycle, &blocks);
        all.with_latency(f64::from(latency) * trips) * iterations / trips * share
    }

    fn unfrozen(&self, mut value: Value) -> Value {
        while let Some(inst) = self.func.def_inst(value).filter(|&it| self.func.inst(it).op == Op::Freeze) {
            value = self.func.inst(inst).args[0];
        }
        value
    }

    fn work_of(&self, block: Block) -> Work {
        let mut work = Work::default();
        for inst in self.func.block_insts(block) {
            let busy = f64::from(self.time_of(inst).busy);
            let operations = if busy > 0.0 { (busy / OPERATION).max(1.0) } else { 0.0 };
            work.add(Work { busy, operations }, 1.0);
        }
        work.busy += SPILL * self.spilled(block);
        work
    }

    /// Time of an instruction. Calls of unknown time count as twenty operations.
    fn time_of(&self, inst: Inst) -> OpTime {
        let unknown = OpTime { latency: 200, busy: 200 };
        let data = self.func.inst(inst);
        let results = self.func.results(inst).iter().chain(&data.args);
        if data.op != Op::Call && !results.into_iter().any(|&value| self.func.value_type(value).is_vector()) {
            let time = scalar_time(self.func, inst, self.target);
            // They are part of addresses, or nothing in machine code.
            let is_folded = matches!(data.op, Op::Zext | Op::Trunc | Op::Freeze | Op::PtrAdd);
            let busy = if is_folded || self.is_moved(inst) { 0 } else { time.busy };
            return OpTime { busy, ..time };
        }
        let time = time_of(self.func, inst, self.calls, self.target).unwrap_or(unknown);
        if let Some(registers) = self.indexed_registers(inst) {
            return OpTime { busy: (SPILL as u32) * registers + self.target.times.load.busy, ..time };
        }
        // Masks of more lanes than a register has are several.
        let is_of_masks = self.func.result(inst).is_some_and(|value| is_mask(self.func.value_type(value)));
        if is_of_masks && !matches!(data.op, Op::Icmp | Op::Fcmp) {
            let registers = (self.brush.lanes * 32.0 / f64::from(self.target.vector_bits)).ceil().max(1.0);
            return OpTime { busy: (f64::from(time.busy) * registers) as u32, ..time };
        }
        let value = match data.op {
            Op::MaskedLoad => self.func.result(inst),
            Op::MaskedStore => data.args.first().copied(),
            _ => return time,
        };
        let ty = value.map_or(Type::I1, |value| self.func.value_type(value));
        let (direction, lanes) = (AccessDirection::of(data.op), u32::from(ty.lanes().unwrap_or(1)));
        let busy = self.target.contiguous_cost(direction, AccessLanes::Masked, lanes, ty.bytes() * 8 / lanes);
        OpTime { busy: busy.max(time.busy), ..time }
    }

    /// True if LLVM moves an instruction before the innermost loop around it: nothing that it is computed from changes there.
    fn is_moved(&self, inst: Inst) -> bool {
        /// Values that are looked at, at most.
        const BUDGET: usize = 32;
        let block = self.func.layout.block_of(inst);
        let Some(cycle) = block.and_then(|block| self.cycles.innermost(block)) else { return false };
        let (mut next, mut seen) = (vec![inst], 0);
        while let Some(inst) = next.pop() {
            let is_inside = self.func.layout.block_of(inst).is_some_and(|it| self.cycles.contains(cycle, it));
            if !is_inside {
                continue;
            }
            seen += 1;
            let data = self.func.inst(inst);
            let is_pure = data.op != Op::Phi && data.op.info().effect == Effect::Pure;
            if seen > BUDGET || !is_pure {
                return false;
            }
            next.extend(data.args.iter().filter_map(|&it| self.func.def_inst(it)));
        }
        true
    }

    /// Registers of a vector of which an instruction takes a lane by a number that is not constant: all of them are stored, and the lane is
    /// loaded.
    fn indexed_registers(&self, inst: Inst) -> Option<u32> {
        let data = self.func.inst(inst);
        let is_constant = || data.args.last().is_some_and(|&it| self.func.constant(it).is_some());
        let ty = self.func.value_type(*data.args.first()?);
        let is_indexed = data.op == Op::Extract && !is_mask(ty) && !is_constant();
        is_indexed.then(|| self.target.registers_of(ty.bytes() * 8))
    }

    /// Number of vector registers beyond those of the machine that a block needs at most at one time.
    fn spilled(&self, block: Block) -> f64 {
        let registers = |value: Value| {
            let ty = self.func.value_type(value);
            let is_counted = ty.is_vector() && !is_mask(ty) && self.func.constant(value).is_none();
            if is_counted { f64::from(self.target.registers_of(ty.bytes() * 8)) } else { 0.0 }
        };
        let insts: Vec<Inst> = self.func.block_insts(block).collect();
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        let (mut live, mut most) = (0.0, 0.0f64);
        // From the last instruction to the first; a value is live from its definition to its last use.
        for &inst in insts.iter().rev() {
            for &value in self.func.results(inst) {
                if seen.contains(&value) {
                    live -= registers(value);
                }
            }
            if self.func.inst(inst).op != Op::Phi {
                for &value in &self.func.inst(inst).args {
                    if seen.insert(value) {
                        live += registers(value);
                    }
                }
            }
            most = most.max(live);
        }
        (most - f64::from(self.target.registers)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::parse_module;

    /// A kernel of one region, whose body is given for some lanes.
    pub(super) fn kernel(lanes: u32, body: &str) -> f64 {
        let text = format!(
            "\
file0 = \"k.cl\"

func @k(v0: ptr(global)) {{
block0:
  call @k.region0.u.w{lanes}(v0)
  ret
}}

func @k.region0.u.w{lanes}(v0: ptr(global)) {{
{body}
}}
"
        );
        let module = parse_module(&text).expect("it parses");
        estimate_regions(&module, "k", &TargetInfo::ZEN4)["0"]
    }

    fn copy(lanes: u32, load: &str) -> f64 {
        kernel(lanes, &format!("block0:\n{load}\n  store v1, v0\n  ret"))
    }

    #[test]
    fn contiguous_accesses_gain_by_lanes_and_gathers_do_not() {
        let whole = |lanes: u32| copy(lanes, &format!("  v1 = load <{lanes} x f32>, v0"));
        assert!(whole(16) < 0.3 * whole(4));
        let gather =
            copy(16, "  v2 = splat <16 x ptr(global)>, v0\n  v1 = gather <16 x f32>, v2, splat true, poison");
        assert!(gather > 3.0 * whole(16), "{gather} {}", whole(16));
    }

    fn counted(lanes: u32, end: u32) -> f64 {
        kernel(
            lanes,
            &format!(
                "\
block0:
  v1 = load <{lanes} x f32>, v0
  br block1
block1:
  v2 = phi i32 [block0: 0], [block1: v5]
  v3 = phi <{lanes} x f32> [block0: splat 0.0], [block1: v4]
  v4 = fma v3, v1, v1
  v5 = add v2, 1
  v6 = icmp ult v5, {end}
  br v6, block1, block2
block2:
  store v4, v0
  ret"
            ),
        )
    }

    #[test]
    fn iterations_are_counted_and_latencies_gain_by_more_lanes() {
        assert!(counted(16, 1000) > 9.0 * counted(16, 100));
        // The chain waits four cycles for each operation, so four registers in flight take as long as one.
        assert!(counted(64, 1000) < 0.35 * counted(16, 1000));
    }

    /// A loop that computes a number in each iteration.
    fn repeated(number: &str) -> f64 {
        in_loop(
            "",
            &format!(
                "  v2 = {number}\n  v3 = mul v2, v2\n  v4 = mul v3, v3\n  v5 = ptradd v0, v4\n  store v1, v5"
            ),
            "v20",
        )
    }

    /// Estimate for a block.
    pub(super) fn straight(lanes: u32, body: &str) -> f64 {
        kernel(lanes, &format!("block0:\n{body}\n  ret"))
    }

    #[test]
    fn permutations_cost_by_the_registers_that_change() {
        let lines = |first: u32, second: u32, order: &str, lanes: u32| {
            format!(
                "  v1 = load <{first} x f32>, v0\n  v2 = ptradd v0, i64 512\n  v3 = load <{second} x f32>, v2\n  \
                 v4 = permute <{lanes} x f32>, v1, v3 [{order}]\n  store v4, v0"
            )
        };
        let numbers =
            |range: std::ops::Range<u32>| range.map(|it| it.to_string()).collect::<Vec<String>>().join(", ");
        let time = |lanes: u32, order: &str| straight(16, &lines(lanes, lanes, order, 2 * lanes));
        let plain = straight(16, "  v1 = load <32 x f32>, v0\n  store v1, v0");
        assert!(time(16, &numbers(0..32)) < 1.01 * plain, "two registers next to each other");
        let exchanged = format!("{}, {}", numbers(16..32), numbers(0..16));
        assert!(time(16, &exchanged) < 1.01 * plain, "two registers in the other order");
        let shifted = format!("{}, 0", numbers(1..32));
        assert!(time(16, &shifted) > 1.1 * plain, "registers of elements from two others");
        let joined = straight(16, "  v1 = load <16 x f32>, v0\n  store v1, v0");
        assert!(time(8, &numbers(0..16)) > 1.1 * joined, "halves of a register");
        let even = (0..32).step_by(2).map(|it| it.to_string()).collect::<Vec<String>>().join(", ");
        let odd = (1..32).step_by(2).map(|it| it.to_string()).collect::<Vec<String>>().join(", ");
        let equal = time(16, &format!("{even}, {even}"));
        assert!(time(16, &format!("{even}, {odd}")) > 1.05 * equal, "equal registers are one");
    }

    #[test]
    fn a_load_into_all_lanes_is_one_load() {
        let splat = |ty: &str, of: &str| {
            let text = format!("  v1 = {of}\n  v2 = splat <16 x {ty}>, v1\n  store v2, v0");
            straight(16, &text)
        };
        let added = splat("i32", "load i32, v0") - straight(16, "  store <16 x i32> splat 0, v0");
        let narrow = splat("i16", "load i16, v0") - straight(16, "  store <16 x i16> splat 0, v0");
        assert!(added < narrow, "{added} {narrow}");
    }

    /// Estimate for a loop that counts up from 0, with these φs and instructions.
    pub(super) fn in_loop(carried: &str, body: &str, end: &str) -> f64 {
        kernel(
            1,
            &format!(
                "\
block0:
  v20 = load i64, v0
  br block1
block1:
  v1 = phi i64 [block0: 0], [block1: v9]
{carried}
{body}
  v9 = add v1, 1
  v10 = icmp ult v9, {end}
  br v10, block1, block2
block2:
  ret"
            ),
        )
    }

    #[test]
    fn scalars_that_a_loop_does_not_change_are_computed_before_it() {
        assert!(repeated("mul v20, v20") < 0.5 * repeated("mul v1, v20"));
    }

    #[test]
    fn parts_of_addresses_take_no_time() {
        let chain = |op: &str| {
            let text: String = (0..20).map(|at| format!("  v{} = {op}\n", 10 + at)).collect();
            kernel(
                1,
                &format!("block0:\n  v1 = load i32, v0\n  v2 = load i64, v0\n{text}  store v1, v0\n  ret"),
            )
        };
        assert!(chain("zext i64, v1") < 0.7 * chain("add v1, 1"));
        assert!(chain("ptradd v0, v2") < 0.7 * chain("add v1, 1"));
    }

    /// A loop in which each lane begins with a number, and loads from an index that the next iteration has from this one.
    fn pursuit(start: &str, next: &str) -> f64 {
        let lanes: Vec<String> = (0..64).map(|lane| lane.to_string()).collect();
        let start = start.replace("LANES", &format!("<{}>", lanes.join(", ")));
        kernel(
            64,
            &format!(
                "\
block0:
  v20 = load i64, v0
  v21 = splat <64 x i64>, v20
  v1 = {start}
  v2 = splat <64 x ptr(global)>, v0
  br block1
block1:
  v10 = phi <64 x i64> [block0: v1], [block1: v16]
  v11 = phi i32 [block0: 0], [block1: v17]
  v12 = ptradd v2, v10
  v13 = gather <64 x i64>, v12, splat true, poison
  v14 = add v10, splat 4096
  v15 = lshr v10, splat 1
  v18 = icmp ult v13, v1
  {next}
  v17 = add v11, 1
  v19 = icmp ult v17, 1000
  br v19, block1, block2
block2:
  store v10, v0
  ret"
            ),
        )
    }

    #[test]
    fn rows_evict_one_another_and_other_accesses_do_not() {
        let ahead = "v16 = select splat true, v14, v15";
        let rows = pursuit("mul v21, LANES", ahead);
        assert!(rows > 1.3 * pursuit("mul v21, LANES", "v16 = select v18, v14, v15"), "searches");
        assert!(rows > 1.3 * pursuit("mul <64 x i64> LANES, splat 4", ahead), "neighbours");
        assert!(rows < 1.1 * pursuit("mul <64 x i64> LANES, splat 256", ahead), "rows of 256 bytes");
        assert!(rows > 1.3 * pursuit("load <64 x i64>, v0", ahead), "rows that lie anywhere");
    }

    /// A loop over lanes that stores a lane of a vector.
    fn lanes_of(lanes: u32, lane: &str) -> f64 {
        kernel(
            lanes,
            &format!(
                "\
block0:
  v1 = load <{lanes} x i64>, v0
  br block1
block1:
  v2 = phi i32 [block0: 0], [block1: v4]
  v3 = extract v1, {lane}
  store v3, v0
  v4 = add v2, 1
  v5 = icmp ult v4, {lanes}
  br v5, block1, block2
block2:
  ret"
            ),
        )
    }

    #[test]
    fn lanes_by_number_cost_a_store_of_the_vector() {
        assert!(lanes_of(64, "v2") > 2.0 * lanes_of(64, "i32 5"));
        assert!(lanes_of(64, "v2") > 2.0 * lanes_of(16, "v2"));
    }

    #[test]
    fn counters_over_all_numbers_are_estimated() {
        let text = "\
block0:
  v1 = load <8 x i32>, v0
  br block1
block1:
  v2 = phi i64 [block0: -9223372036854775808], [block1: v5]
  v5 = add v2, 1
  v6 = icmp slt v5, 9223372036854775807
  br v6, block1, block2
block2:
  store v1, v0
  ret";
        assert!(kernel(8, text).is_finite());
    }

    /// A loop from the lanes' numbers to a bound by a step, which lanes leave one by one.
    fn until(bound: &str, step: &str) -> f64 {
        kernel(
            8,
            &format!(
                "\
block0:
  v1 = load i32, v0
  v2 = load i32, v0
  v3 = splat <8 x i32>, v2
  v4 = load <8 x i32>, v0
  br block1
block1:
  v10 = phi mask<8> [block0: splat true], [block2: v17]
  v11 = phi i32 [block0: 0], [block2: v12]
  v18 = any v10
  br v18, block2, block3
block2:
  masked_store v4, v0, v10
  v12 = add v11, {step}
  v13 = splat <8 x i32>, v12
  v14 = add v13, <0, 1, 2, 3, 4, 5, 6, 7>
  v15 = icmp ult v14, {bound}
  v17 = select v10, v15, splat false
  br block1
block3:
  ret"
            ),
        )
    }

    #[test]
    fn lanes_that_leave_together_wait_for_no_other() {
        let regular = until("v3", "v1");
        assert!(until("v4", "v1") > 1.3 * regular, "bounds of each lane");
        assert!(until("v3", "1") > 1.3 * regular, "a step below the number of lanes");
        assert!(until("v3", "8") < 1.1 * regular);
    }

    /// A loop that each lane leaves when its number is below 128.
    fn shrinking(next: &str) -> f64 {
        kernel(
            8,
            &format!(
                "\
block0:
  v1 = load <8 x i32>, v0
  br block1
block1:
  v10 = phi mask<8> [block0: splat true], [block2: v17]
  v11 = phi <8 x i32> [block0: v1], [block2: v13]
  v18 = any v10
  br v18, block2, block3
block2:
  masked_store v11, v0, v10
  v12 = {next}
  v13 = select v10, v12, v11
  v15 = icmp ugt v12, splat 127
  v17 = select v10, v15, splat false
  br block1
block3:
  ret"
            ),
        )
    }

    #[test]
    fn loops_over_the_digits_of_a_number_end_with_it() {
        let unknown = shrinking("sub v11, v1");
        assert!(shrinking("lshr v11, splat 7") < 0.5 * unknown, "five iterations");
        assert!(shrinking("udiv v11, splat 65536") < 0.5 * shrinking("udiv v11, splat 2"), "two iterations");
        assert!(shrinking("lshr v1, splat 7") > 0.9 * unknown, "another number");
        assert!(shrinking("lshr v11, splat 0") > 0.9 * unknown);
    }

    /// A loop from each lane's start to a bound.
    fn chunk(bound: &str) -> f64 {
        kernel(
            8,
            &format!(
                "\
block0:
  v1 = load <8 x i32>, v0
  v2 = load <8 x i32>, v0
  v3 = load i32, v0
  v4 = splat <8 x i32>, v3
  v5 = add v1, splat 100
  v6 = umin v5, v4
  v7 = add v2, splat 100
  br block1
block1:
  v10 = phi mask<8> [block0: splat true], [block2: v17]
  v11 = phi <8 x i32> [block0: v1], [block2: v12]
  v18 = any v10
  br v18, block2, block3
block2:
  masked_store v11, v0, v10
  v12 = add v11, splat 1
  v15 = icmp ult v12, {bound}
  v17 = select v10, v15, splat false
  br block1
block3:
  ret"
            ),
        )
    }

    #[test]
    fn lanes_with_chunks_of_one_length_leave_together() {
        assert!(chunk("v6") < 0.8 * chunk("v2"), "the end of the chunk, or of all");
        assert!(chunk("v7") > 0.9 * chunk("v2"), "of another chunk");
        assert!(chunk("v4") > 0.9 * chunk("v2"), "of all");
    }
}
