//! Chooses how many brushes one call of vector code runs.
//!
//! In a loop that lanes leave one by one, each iteration often depends on the last, so the machine mostly waits for
//! latencies. The dependence chains of several brushes overlap, if each brush has its own registers and live mask. One
//! more brush pays while the machine still waits and the loop-carried values stay in registers.
//!
//! Wide code for `K * W` lanes does this: its vectors have all lanes, and code generation splits them into registers. So
//! it suffices to choose `K`, and to check that no program observes the lanes.
//!
//! After: S. Moll, *The Region Vectorizer*, 11.5 (vector register tiling). Differs in: a model chooses.

use crate::target::{OpTime, TargetInfo};
use crate::timing::{CallTimes, ReadyTimes, call_times, is_mask, serialized_busy, simulate, time_of};
use heddle_analysis::{BlockIndex, Cfg, Cycle, CycleForest, DominatorTree};
use heddle_ir::function::SourceLoc;
use heddle_ir::ops::{InstFormat, Observed};
use heddle_ir::types::MAX_DEFAULT_LANES;
use heddle_ir::{Block, Function, Inst, Module, Op, Type, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// Maximum number of brushes.
const MAX_BRUSHES: u32 = 8;
/// Maximum number of iterations of a strip.
const MAX_STRIP: u128 = 16;
/// Number of simulated iterations; latencies settle in the first half.
const SIMULATED_ITERATIONS: u32 = 8;
/// Minimum gain of doubling the number of brushes, in percent.
const MIN_GAIN_PERCENT: u64 = 8;
/// Registers for temporaries per brush; mask registers as well.
const SCRATCH_REGISTERS: u32 = 2;

/// Finds the first instruction by which a lock-step function observes the lanes of its brush. Calls to `defined` functions
/// don't count: those are checked on their own. Without a launch the brush is the work-group, so position queries count.
pub fn find_brush_observer(func: &Function, is_launched: bool, defined: &FxHashSet<&str>) -> Option<Inst> {
    let observes = |inst: &Inst| {
        let data = func.inst(*inst);
        let observes_position = data.op.info().format == InstFormat::Dimension && !is_launched;
        observes_position
            || data.op.observes(Observed::Lanes)
            || func
                .callee_of(data)
                .is_some_and(|callee| callee.signature.effects.convergent && !defined.contains(&*callee.name))
    };
    func.blocks().flat_map(|block| func.block_insts(block)).find(observes)
}

/// Estimated timing of an innermost loop, for one brush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopEstimate {
    /// Source location.
    pub loc: Option<SourceLoc>,
    /// Latency from one iteration's values to the next iteration's, in tenths of a cycle.
    pub latency: u32,
    /// Time per iteration for operations on lanes, in tenths of a cycle.
    pub busy: u32,
    /// Time per iteration for operations shared by all brushes, in tenths of a cycle.
    pub shared: u32,
    /// Time per iteration for operations on lanes if scalar code serializes them, in tenths of a cycle.
    pub serialized: u32,
    /// Number of vector registers for loop-carried values.
    pub registers: u32,
    /// Number of mask registers for loop-carried values.
    pub masks: u32,
}

/// Chosen number of brushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrushChoice {
    /// Number of brushes.
    pub brushes: u32,
    /// Hottest loop, which decided; none if no loop computes with vectors.
    pub deciding_loop: Option<LoopEstimate>,
}

impl fmt::Display for BrushChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let brushes = match self.brushes {
            1 => "1 brush".to_string(),
            count => format!("{count} brushes next to each other"),
        };
        let Some(estimate) = self.deciding_loop else {
            return write!(f, "{brushes}: no loop depends on its previous iteration");
        };
        let cycles = |tenths: u32| format!("{}.{}", tenths / 10, tenths % 10);
        let masks = match estimate.masks {
            0 => String::new(),
            masks => format!(" and {masks} for masks"),
        };
        write!(
            f,
            "{brushes}: an iteration waits {} cycles for the previous one, occupies the machine for {}, and needs {} vector registers{masks}",
            cycles(estimate.latency),
            cycles(estimate.busy + estimate.shared),
            estimate.registers
        )
    }
}

/// Time per iteration of a loop as vector and as scalar code, for all lanes, in tenths of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScalarComparison {
    /// Source location of the loop.
    pub loc: Option<SourceLoc>,
    /// Time of the vector code.
    pub vectors: u32,
    /// Time of scalar code that runs the lanes one after the other.
    pub scalars: u32,
}

/// Compares the hottest loop as vector code with the same loop as scalar code. Latencies don't count: scalar code of one
/// lane proceeds while another waits, and with predicted branches its loads are speculated, too.
pub fn compare_with_scalars(
    module: &Module,
    wide: &Function,
    lanes: u32,
    target: &TargetInfo,
) -> Option<ScalarComparison> {
    let estimate = hottest(&estimate_loops(module, wide, target))?;
    let of_lanes = lanes.saturating_mul(estimate.shared);
    Some(ScalarComparison {
        loc: estimate.loc,
        vectors: estimate.busy.saturating_add(estimate.shared),
        scalars: estimate.serialized.saturating_add(of_lanes),
    })
}

/// Returns the hottest loop of all functions of a module of wide code.
pub fn estimate_hottest_loop(module: &Module, target: &TargetInfo) -> Option<LoopEstimate> {
    let calls = call_times(module, target);
    let loops = module.functions.iter().flat_map(|func| estimate_loops_of(func, &calls, target));
    hottest(&loops.collect::<Vec<_>>())
}

/// Estimates the innermost loops that compute with vectors; each with its depth.
fn estimate_loops(module: &Module, wide: &Function, target: &TargetInfo) -> Vec<(usize, LoopEstimate)> {
    estimate_loops_of(wide, &call_times(module, target), target)
}

fn estimate_loops_of(wide: &Function, calls: &CallTimes, target: &TargetInfo) -> Vec<(usize, LoopEstimate)> {
    let cfg = Cfg::new(wide);
    let (dominators, cycles) = (DominatorTree::new(&cfg), CycleForest::new(&cfg));
    let index = BlockIndex::new(&cfg, &dominators, &cycles);
    let mut own_blocks: FxHashMap<Cycle, Vec<Block>> = FxHashMap::default();
    for &block in index.order() {
        if let Some(cycle) = cycles.innermost(block) {
            own_blocks.entry(cycle).or_default().push(block);
        }
    }
    (cycles.cycles())
        .filter(|&cycle| cycles.children(cycle).is_empty())
        .filter_map(|cycle| {
            let (header, blocks) = (cycles.header(cycle), own_blocks.get(&cycle)?);
            let mut estimate = estimate_loop(wide, header, blocks, calls, target)?;
            // A strip of few iterations takes its share of what the loop around it does for all of them.
            if let (Some(around), Some(trips)) = (cycles.parent(cycle), few_trips(wide, header, blocks)) {
                let times = own_blocks.get(&around).and_then(|blocks| times_in(wide, blocks, calls, target));
                let (busy, shared) = busy_and_shared(wide, &times.unwrap_or_default());
                estimate.busy += busy / trips;
                estimate.shared += shared / trips;
            }
            Some((cycles.depth(cycle), estimate))
        })
        .collect()
}

/// Number of iterations of a loop that counts from one constant to another, if these are few.
fn few_trips(func: &Function, header: Block, blocks: &[Block]) -> Option<u32> {
    let number = |value: Value| func.unsigned_constant(value);
    let trips = func.phis(header).find_map(|phi| {
        let incoming = || func.inst(phi).incoming();
        let first =
            incoming().find(|(from, _)| !blocks.contains(from)).and_then(|(_, value)| number(value))?;
        let (latch, next) = incoming().find(|(from, _)| blocks.contains(from))?;
        let add = func.inst(func.def_inst(next)?);
        if add.op != Op::Add || func.result(phi) != Some(add.args[0]) {
            return None;
        }
        let step = number(add.args[1]).filter(|&step| step > 0)?;
        let condition = *func.inst(func.terminator(latch)?).args.first()?;
        let compared = func.inst(func.def_inst(condition)?);
        if compared.op != Op::Icmp || compared.args[0] != next {
            return None;
        }
        number(compared.args[1])?.checked_sub(first).map(|distance| distance.div_ceil(step))
    });
    trips.filter(|trips| (1..=MAX_STRIP).contains(trips)).map(|trips| trips as u32)
}

/// Times of the instructions of some blocks; none if one calls a function of unknown time.
fn times_in(
    func: &Function,
    blocks: &[Block],
    calls: &CallTimes,
    target: &TargetInfo,
) -> Option<Vec<(Inst, OpTime)>> {
    let insts = blocks.iter().flat_map(|&block| func.block_insts(block));
    insts.map(|inst| Some((inst, time_of(func, inst, calls, target)?))).collect()
}

/// Time of operations on lanes, and of those that all brushes share.
fn busy_and_shared(func: &Function, times: &[(Inst, OpTime)]) -> (u32, u32) {
    let (mut busy, mut shared) = (0, 0);
    for &(inst, time) in times {
        let has_vector = func.inst(inst).args.iter().any(|&arg| func.value_type(arg).is_vector());
        let is_of_lanes = has_vector || is_vector(func, inst) && func.inst(inst).op != Op::Splat;
        *(if is_of_lanes { &mut busy } else { &mut shared }) += time.busy;
    }
    (busy, shared)
}

fn is_vector(func: &Function, inst: Inst) -> bool {
    func.results(inst).iter().any(|&value| func.value_type(value).is_vector())
}

/// Loop with the greatest depth, then the greatest time; the first of several.
fn hottest(loops: &[(usize, LoopEstimate)]) -> Option<LoopEstimate> {
    let weight = |(depth, estimate): &&(usize, LoopEstimate)| (*depth, estimate.cost_per_brush(1));
    loops.iter().rev().max_by_key(weight).map(|&(_, estimate)| estimate)
}

/// Chooses the number of brushes from a function's wide form for one brush and the wide forms that it calls.
pub fn choose_brushes(module: &Module, wide: &Function, lanes: u32, target: &TargetInfo) -> BrushChoice {
    let found = estimate_loops(module, wide, target);
    let Some(hottest) = hottest(&found) else { return BrushChoice { brushes: 1, deciding_loop: None } };
    let mut brushes = 1;
    while brushes < MAX_BRUSHES && 2 * brushes * lanes <= MAX_DEFAULT_LANES {
        let fits = found.iter().all(|(_, estimate)| estimate.fits_in_registers(2 * brushes, target));
        let gains = hottest.cost_per_brush(brushes) * 100
            >= hottest.cost_per_brush(2 * brushes) * (100 + MIN_GAIN_PERCENT);
        if !fits || !gains || !hottest.waits(brushes) {
            break;
        }
        brushes *= 2;
    }
    BrushChoice { brushes, deciding_loop: Some(hottest) }
}

impl LoopEstimate {
    fn busy_for(&self, count: u32) -> u64 {
        u64::from(self.shared) + u64::from(self.busy) * u64::from(count)
    }

    /// True if latency dominates an iteration of this many brushes. More lanes also wait longer for the last of them, so
    /// shared operations alone are no reason for more.
    fn waits(&self, count: u32) -> bool {
        2 * u64::from(self.latency) >= self.busy_for(count)
    }

    /// Cost of an iteration per brush, with this many brushes; latency and throughput overlap, but not completely.
    fn cost_per_brush(&self, count: u32) -> u64 {
        let (latency, busy) = (u64::from(self.latency), self.busy_for(count));
        (latency.max(busy) * 4 + latency.min(busy)) * u64::from(MAX_BRUSHES) / u64::from(count)
    }

    /// True if the loop-carried values of this many brushes stay in registers.
    fn fits_in_registers(&self, count: u32, target: &TargetInfo) -> bool {
        let masks = if self.masks == 0 { 0 } else { self.masks + SCRATCH_REGISTERS };
        count * (self.registers + SCRATCH_REGISTERS) <= target.registers
            && (target.mask_registers == 0 || count * masks <= target.mask_registers)
    }
}

/// Latency from one iteration's values to the next iteration's, in tenths of a cycle, of an innermost loop; `times` are those of
/// its instructions but the φs of its header.
pub(crate) fn carried_latency(
    func: &Function,
    header: Block,
    blocks: &[Block],
    times: &[(Inst, OpTime)],
) -> u32 {
    let inside: FxHashSet<Block> = blocks.iter().copied().collect();
    let carried: Vec<Inst> = func.phis(header).collect();
    let mut ready = ReadyTimes::default();
    let mut totals = Vec::new();
    for _ in 0..SIMULATED_ITERATIONS {
        let from_last = |phi: &Inst| {
            let back = func.inst(*phi).incoming().filter(|(from, _)| inside.contains(from));
            back.map(|(_, value)| ready.values.get(&value).copied().unwrap_or(0)).max().unwrap_or(0)
        };
        let begun: Vec<u32> = carried.iter().map(from_last).collect();
        let last = |times: &mut dyn Iterator<Item = u32>| times.max().unwrap_or(0);
        totals.push([last(&mut begun.iter().copied()), last(&mut ready.objects.values().copied())]);
        ready.values.extend(carried.iter().filter_map(|&phi| func.result(phi)).zip(begun));
        simulate(func, times, &mut ready);
    }
    let (half, last) = (SIMULATED_ITERATIONS as usize / 2, SIMULATED_ITERATIONS as usize - 1);
    let grown = |of: usize| (totals[last][of] - totals[half][of]) / (last - half) as u32;
    grown(0).max(grown(1))
}

/// Estimates an innermost loop, whose blocks are in an order with definitions before uses. None if it computes without
/// vectors, or if it calls a function of unknown time.
fn estimate_loop(
    func: &Function,
    header: Block,
    blocks: &[Block],
    calls: &CallTimes,
    target: &TargetInfo,
) -> Option<LoopEstimate> {
    if !blocks.iter().flat_map(|&block| func.block_insts(block)).any(|inst| is_vector(func, inst)) {
        return None;
    }
    let carried: Vec<Inst> = func.phis(header).collect();
    let is_carried = |inst: Inst| func.inst(inst).op == Op::Phi && func.layout.block_of(inst) == Some(header);
    let mut times = times_in(func, blocks, calls, target)?;
    times.retain(|&(inst, _)| !is_carried(inst));
    let latency = carried_latency(func, header, blocks, &times);
    let (mut registers, mut masks) = (0, 0);
    for phi in carried.iter().filter(|&&phi| is_vector(func, phi)) {
        let ty = func.result(*phi).map_or(Type::I1, |value| func.value_type(value));
        match (is_mask(ty), target.mask_registers) {
            (true, 1..) => masks += 1,
            (true, 0) => registers += 1,
            (false, _) => registers += target.registers_of(ty.bytes() * 8),
        }
    }
    let loc = blocks.iter().flat_map(|&block| func.block_insts(block)).find_map(|inst| func.loc(inst));
    let (busy, shared) = busy_and_shared(func, &times);
    let serialized =
        times.iter().fold(0u32, |sum, &(inst, _)| sum.saturating_add(serialized_busy(func, inst, target)));
    Some(LoopEstimate { loc, latency, busy, shared, serialized, registers, masks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::OpTimes;
    use heddle_ir::parse_module;

    /// Loop-carried are x (four operations of four cycles), a mask, and a live-out.
    const LOOP: &str = "\
func @root(v0: <8 x f32>, v1: i32) -> <8 x f32> {
block0:
  br block1
block1:
  v2 = phi mask<8> [block0: splat true], [block2: v15]
  v3 = phi <8 x f32> [block0: splat 0.0], [block2: v14]
  v4 = phi <8 x f32> [block0: splat 0.5], [block2: v9]
  v5 = phi i32 [block0: 0], [block2: v16]
  v6 = fmul v0, v4
  v7 = fmul v6, v4
  v8 = fsub splat 1.5, v7
  v9 = fmul v4, v8
  v10 = fsub v9, v4
  v11 = fcmp olt v10, splat 1.0e-6
  v12 = xor v11, splat true
  v13 = select v2, v11, splat false
  v14 = select v13, v9, v3
  v15 = select v2, v12, splat false
  v16 = add v5, 1
  v17 = any v15
  br v17, block2, block3
block2:
  br block1
block3:
  ret v14
}
";

    fn choice(text: &str, target: &TargetInfo) -> BrushChoice {
        let module = parse_module(text).expect("it parses");
        choose_brushes(&module, &module.functions[0], 8, target)
    }

    #[test]
    fn a_loop_is_followed_and_its_registers_are_counted() {
        let estimate = choice(LOOP, &TargetInfo::AVX2)
            .deciding_loop
            .map(|estimate| LoopEstimate { loc: None, ..estimate });
        // Five float operations, a comparison, three selects and a vote; a shared addition and branch. Scalar code needs neither
        // masks nor votes.
        let serialized = 8 * (5 * 5 + 2 * 2);
        let expected = LoopEstimate {
            loc: None,
            latency: 160,
            busy: 5 * 5 + 5 * 4,
            shared: 2 + 2,
            serialized,
            registers: 3,
            masks: 0,
        };
        assert_eq!(estimate, Some(expected));
        let with_masks = choice(LOOP, &TargetInfo::AVX512).deciding_loop.map(|it| (it.registers, it.masks));
        assert_eq!(with_masks, Some((2, 1)));
    }

    #[test]
    fn scalar_code_wins_where_little_is_done_with_what_is_gathered() {
        let text = |work: &str| {
            format!(
                "\
func @chase(v0: ptr(global), v1: <8 x i64>) -> <8 x i64> {{
block0:
  v2 = splat <8 x ptr(global)>, v0
  br block1
block1:
  v3 = phi <8 x i64> [block0: v1], [block1: v6]
  v4 = ptradd v2, v3
  v5 = gather <8 x i64>, v4, splat true, poison
{work}
  v7 = icmp ne v6, splat 0
  v8 = any v7
  br v8, block1, block2
block2:
  ret v6
}}
"
            )
        };
        let compared = |work: &str, target: &TargetInfo| {
            let module = parse_module(&text(work)).expect("it parses");
            compare_with_scalars(&module, &module.functions[0], 8, target).expect("there is a loop")
        };
        let little = compared("  v6 = freeze v5", &TargetInfo::ZEN4);
        assert!(little.scalars < little.vectors, "{little:?}");
        let steps: String = (0..40)
            .map(|at| format!("  v{} = add v{}, v5\n", 10 + at, if at == 0 { 5 } else { 9 + at }))
            .collect();
        let much = compared(&format!("{steps}  v6 = freeze v49"), &TargetInfo::ZEN4);
        assert!(much.scalars > much.vectors, "{much:?}");
    }

    #[test]
    fn brushes_are_as_many_as_wait_and_fit() {
        assert_eq!(choice(LOOP, &TargetInfo::AVX2).brushes, 2);
        // Eight brushes of three registers and temporaries exceed the registers; four don't.
        let many = TargetInfo { registers: 32, ..TargetInfo::AVX2 };
        assert_eq!(choice(LOOP, &many).brushes, 4);
        let busy = OpTimes { float: OpTime { latency: 40, busy: 60 }, ..TargetInfo::AVX2.times };
        assert_eq!(choice(LOOP, &TargetInfo { times: busy, ..many }).brushes, 1);
        let few_masks = TargetInfo { mask_registers: 5, ..TargetInfo::AVX512 };
        assert_eq!(choice(LOOP, &few_masks).brushes, 1);
    }

    #[test]
    fn what_is_written_to_a_private_object_is_waited_for_by_those_who_read_it() {
        let text = "\
func @walk(v0: <8 x i64>, v1: <8 x i32>) -> <8 x i32> {
block0:
  v2 = alloca 2048 align 4
  v3 = splat <8 x ptr(private)>, v2
  v4 = ptradd v3, v0
  br block1
block1:
  v5 = phi i32 [block0: 0], [block1: v8]
  v6 = gather <8 x i32>, v4, splat true, poison
  v7 = add v6, v1
  scatter v7, v4, splat true
  v8 = add v5, 1
  v9 = icmp slt v8, 100
  br v9, block1, block2
block2:
  ret v7
}
";
        let latency =
            |text: &str| choice(text, &TargetInfo::AVX512).deciding_loop.map(|estimate| estimate.latency);
        // For both, eight lanes of a register and a load; an addition in between.
        assert_eq!(latency(text), Some((70 + 30 + 8 * 6) + 10 + (70 + 30 + 8 * 8)));
        // Each iteration stores to this offset before it loads: only the counter has latency.
        let anew = text
            .replace("gather <8 x i32>, v4, splat true, poison", "load <8 x i32>, v12")
            .replace("  v6 =", "  store v1, v12\n  v6 =")
            .replace("scatter v7, v4, splat true", "store v7, v12")
            .replace("  br block1\nblock1", "  v12 = ptradd v2, i64 64\n  br block1\nblock1");
        assert_eq!(latency(&anew), Some(10));
        assert_ne!(latency(&anew.replace("  store v1, v12\n", "")), Some(10));
        // Another object: only the counter has latency.
        let apart = text.replace("scatter v7, v4", "scatter v7, v10").replace(
            "  br block1\nblock1",
            "  v11 = alloca 2048 align 4\n  v12 = splat <8 x ptr(private)>, v11\n  v10 = ptradd v12, v0\n  br block1\nblock1",
        );
        assert_eq!(latency(&apart), Some(10));
    }

    #[test]
    fn a_strip_takes_its_share_of_the_loop_around_it() {
        let text = |trips: u32| {
            format!(
                "\
func @strips(v0: <8 x f32>, v1: ptr, v2: i32 uniform) -> <8 x f32> {{
block0:
  br block1
block1:
  v3 = phi <8 x f32> [block0: splat 0.0], [block3: v8]
  v4 = phi i32 [block0: 0], [block3: v12]
  v5 = fmul v0, v0
  v6 = fmul v5, v0
  v15 = fmul v6, v0
  v16 = fmul v15, v0
  br block2
block2:
  v7 = phi <8 x f32> [block1: v3], [block2: v8]
  v9 = phi i32 [block1: 0], [block2: v10]
  v8 = fadd v7, v16
  v10 = add v9, 1
  v11 = icmp ult v10, {trips}
  br v11, block2, block3
block3:
  v12 = add v4, 1
  v13 = icmp slt v12, v2
  br v13, block1, block4
block4:
  ret v8
}}
"
            )
        };
        let busy = |trips: u32| choice(&text(trips), &TargetInfo::AVX512).deciding_loop.map(|it| it.busy);
        let [one, own] = [busy(1), busy(1000)].map(|busy| busy.expect("there is a loop"));
        assert_eq!(busy(4), Some(own + (one - own) / 4));
        assert!(one > own, "{one} {own}");
    }

    #[test]
    fn machines_divide_integers_lane_by_lane() {
        let divides = LOOP.replace(
            "v8 = fsub splat 1.5, v7",
            "v18 = bitcast <8 x i32>, v7\n  v19 = udiv v18, splat 3\n  v8 = bitcast <8 x f32>, v19",
        );
        let busy = |text: &str| choice(text, &TargetInfo::AVX2).deciding_loop.map(|estimate| estimate.busy);
        let one_float_less = 5 * 4 + 5 * 4;
        assert_eq!(busy(&divides), Some(one_float_less + 8 * 60));
    }

    #[test]
    fn calls_are_looked_into_if_they_have_no_loops() {
        let called = LOOP.replace("v7 = fmul v6, v4", "v7 = call @twice(v6)");
        let declared = "func @twice(v0: <8 x f32>) -> <8 x f32> {\nblock0:\n  v1 = fmul v0, v0\n  v2 = fmul v1, v1\n  ret v2\n}\n";
        let latency =
            |text: &str| choice(text, &TargetInfo::AVX2).deciding_loop.map(|estimate| estimate.latency);
        assert_eq!(latency(&format!("{called}\n{declared}")), Some(200));
        let unknown = format!("declare @twice(<8 x f32>) -> <8 x f32>\n\n{called}");
        assert_eq!(latency(&unknown), None);
    }
}
