//! Divergence profile of a run: divergent branches, active lanes, memory access patterns, trip counts.
//!
//! Profiling has no effect on the run. Counts are per execution by a brush; the cost of an instruction is left to the
//! reader of the profile ([`CycleCosts`] is one model).

use crate::brush::{Brush, RunContext};
use crate::control_graph::ControlGraph;
use crate::fault::FaultKind;
use crate::lane_partition::LanePartition;
use crate::lanes::LaneMask;
use crate::limits::Budget;
use crate::program::PreparedFunction;
use heddle_ir::entity::SecondaryMap;
use heddle_ir::ops::Effect;
use heddle_ir::{Block, Function, Inst, InstData, Op, Value};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Sizes of memory segments in bytes.
const SEGMENTS: [u64; 2] = [32, 128];

/// Profile of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunProfile {
    /// Profile of each function of the module.
    pub functions: Vec<FunctionProfile>,
}

/// Profile of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionProfile {
    /// Profile of each block.
    pub blocks: SecondaryMap<Block, BlockProfile>,
    /// Profile of each branch with at least two targets, by its block.
    pub branches: SecondaryMap<Block, BranchProfile>,
    /// Profile of each instruction that accesses memory.
    pub accesses: SecondaryMap<Inst, AccessProfile>,
    /// Profile of each loop, by its header; that of an irreducible loop by its first entry.
    pub loops: SecondaryMap<Block, LoopProfile>,
}

/// Execution counts of a block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockProfile {
    /// Number of executions, by the number of active lanes.
    pub by_active_lanes: Vec<u64>,
    /// Sum of the lanes of all executions, active or not.
    pub lanes: u64,
}

impl BlockProfile {
    /// Returns the number of executions.
    pub fn executions(&self) -> u64 {
        self.by_active_lanes.iter().sum()
    }

    /// Returns the lanes of one execution, active or not.
    pub fn lanes_each(&self) -> u64 {
        self.lanes / self.executions().max(1)
    }

    /// Returns the sum of the active lanes of all executions.
    pub fn active_lanes(&self) -> u64 {
        (0..).zip(&self.by_active_lanes).map(|(lanes, count): (u64, _)| lanes * count).sum()
    }
}

/// Targets taken at a branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BranchProfile {
    /// Executions with active lanes.
    pub executed: u64,
    /// Executions whose active lanes diverged.
    pub diverged: u64,
    /// Number of lanes that took each target. Duplicate targets count as the first.
    pub lanes: SmallVec<[u64; 2]>,
    /// Number of executions in which a lane took each target.
    pub taken: SmallVec<[u64; 2]>,
}

/// Access patterns of an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessProfile {
    /// Executions with active lanes.
    pub executed: u64,
    /// Sum of the addresses of all executions.
    pub lanes: u64,
    /// Executions with one address for all lanes.
    pub uniform: u64,
    /// Executions with adjacent addresses in lane order.
    pub contiguous: u64,
    /// Executions with another constant stride.
    pub strided: u64,
    /// Executions with any other pattern.
    pub scattered: u64,
    /// Aligned segments of 32 bytes touched, summed over all executions.
    pub segments_32: u64,
    /// Aligned segments of 128 bytes touched, summed over all executions.
    pub segments_128: u64,
}

/// Trip counts of a loop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoopProfile {
    /// Number of lanes that left, by the number of iterations.
    pub trips: BTreeMap<u64, u64>,
}

/// Approximate cost of instructions executed by a brush, in cycles, as on a GPU that issues one each cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleCosts {
    /// Default.
    pub plain: u64,
    /// Quotients and roots.
    pub division: u64,
    /// Memory accesses, and calls of declared functions.
    pub access: u64,
    /// Additional cost of an access for each 128-byte segment after the first.
    pub segment: u64,
}

impl Default for CycleCosts {
    fn default() -> CycleCosts {
        CycleCosts { plain: 1, division: 16, access: 4, segment: 4 }
    }
}

/// True if an instruction is issued. φs are moves that register allocation coalesces; jumps are layout.
pub fn is_issued(data: &InstData) -> bool {
    !(data.op == Op::Phi || data.op == Op::Br && data.args.is_empty())
}

impl CycleCosts {
    /// Returns the cost of one execution, without memory segments.
    pub fn of(&self, data: &InstData) -> u64 {
        match data.op {
            _ if !is_issued(data) => 0,
            Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem | Op::Fdiv | Op::Frem | Op::Sqrt | Op::Rsqrt => {
                self.division
            }
            _ => match data.op.info().effect {
                Effect::Reads | Effect::Writes | Effect::ReadsWrites | Effect::Callee => self.access,
                _ => self.plain,
            },
        }
    }
}

impl FunctionProfile {
    fn new(func: &Function) -> FunctionProfile {
        FunctionProfile {
            blocks: SecondaryMap::with_len(func.block_count()),
            branches: SecondaryMap::with_len(func.block_count()),
            accesses: SecondaryMap::with_len(func.inst_count()),
            loops: SecondaryMap::with_len(func.block_count()),
        }
    }

    /// Returns the number of instructions executed in a block and their approximate cycles.
    pub fn cost(&self, func: &Function, block: Block, cycles: &CycleCosts) -> (u64, u64) {
        let executions = self.blocks[block].executions();
        let mut cost = (0, 0);
        for inst in func.block_insts(block) {
            let (issued, taken) = self.inst_cost(func, inst, executions, cycles);
            cost = (cost.0 + issued, cost.1 + taken);
        }
        cost
    }

    /// Returns the executions of an instruction and their approximate cycles; `executions` is the count of its block.
    pub fn inst_cost(&self, func: &Function, inst: Inst, executions: u64, cycles: &CycleCosts) -> (u64, u64) {
        let data = func.inst(inst);
        let access = &self.accesses[inst];
        let more = access.segments_128.saturating_sub(access.executed) * cycles.segment;
        (executions * u64::from(is_issued(data)), executions * cycles.of(data) + more)
    }

    /// Returns the number of instructions executed and their approximate cycles.
    pub fn total(&self, func: &Function, cycles: &CycleCosts) -> (u64, u64) {
        func.blocks().fold((0, 0), |total, block| {
            let cost = self.cost(func, block, cycles);
            (total.0 + cost.0, total.1 + cost.1)
        })
    }
}

impl RunProfile {
    /// Creates an empty profile of these functions.
    pub(crate) fn new<'m>(
        functions: impl Iterator<Item = &'m Function>,
        lanes: usize,
        budget: &mut Budget,
    ) -> Result<RunProfile, FaultKind> {
        let mut profile = RunProfile::default();
        for func in functions {
            let blocks = func.block_count()
                * (size_of::<(BlockProfile, BranchProfile, LoopProfile)>() + 8 * (lanes + 1));
            budget.hold((blocks + func.inst_count() * size_of::<AccessProfile>()) as u64)?;
            profile.functions.push(FunctionProfile::new(func));
        }
        Ok(profile)
    }

    /// Records the execution of a block with `active` of `lanes` lanes active.
    pub(crate) fn record_block(&mut self, code: usize, block: Block, active: usize, lanes: usize) {
        let block = &mut self.functions[code].blocks[block];
        block.by_active_lanes.resize(lanes + 1, 0);
        block.by_active_lanes[active] += 1;
        block.lanes += lanes as u64;
    }

    /// Records the targets of active lanes at a branch.
    pub(crate) fn record_branch<M: LaneMask>(
        &mut self,
        code: usize,
        block: Block,
        targets: &[Block],
        destinations: &LanePartition<Block, M>,
        active: M,
    ) {
        let branch = &mut self.functions[code].branches[block];
        branch.lanes.resize(targets.len(), 0);
        branch.taken.resize(targets.len(), 0);
        let mut taken_targets = 0;
        for (target, members) in destinations.iter() {
            let lanes = (members & active).count();
            taken_targets += u32::from(lanes > 0);
            if let Some(number) = targets.iter().position(|&other| other == target) {
                branch.lanes[number] += u64::from(lanes);
                branch.taken[number] += u64::from(lanes > 0);
            }
        }
        branch.executed += u64::from(taken_targets > 0);
        branch.diverged += u64::from(taken_targets > 1);
    }
}

/// Iteration counts of the lanes of a frame.
#[derive(Debug, Default)]
pub(crate) struct TripCounters {
    /// For each cycle whose back edge was taken, each lane's iterations after the first.
    by_cycle: BTreeMap<u32, Vec<u64>>,
}

impl TripCounters {
    /// Records that lanes take an edge, or return. Reports the trip counts of the loops that they leave.
    #[expect(clippy::too_many_arguments, reason = "an edge, with what takes it and where that is noted")]
    fn record_edge<M: LaneMask>(
        &mut self,
        control: &ControlGraph,
        from: Block,
        to: Option<Block>,
        members: M,
        lanes: usize,
        profile: &mut FunctionProfile,
        budget: &mut Budget,
    ) -> Result<(), FaultKind> {
        let mut cycle_around = control.innermost(from);
        while let Some(cycle) = cycle_around {
            if to.is_some_and(|to| control.is_inside(to, cycle)) {
                break;
            }
            budget.work(u64::from(members.count()))?;
            let mut iterations = self.by_cycle.get_mut(&cycle);
            let trips = &mut profile.loops[control.header(cycle)].trips;
            for lane in members.lanes() {
                let count = iterations.as_mut().map_or(0, |counts| std::mem::take(&mut counts[lane])) + 1;
                if !trips.contains_key(&count) {
                    budget.hold(64)?;
                }
                *trips.entry(count).or_default() += 1;
            }
            cycle_around = control.parent(cycle);
        }
        if let Some(cycle) = to.and_then(|to| control.back_edge_cycle(from, to)) {
            let iterations = self.by_cycle.entry(cycle).or_insert_with(|| vec![0; lanes]);
            members.lanes().for_each(|lane| iterations[lane] += 1);
        }
        Ok(())
    }
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Records the edges that the lanes of the running block take.
    pub(crate) fn profile_edges(
        &mut self,
        code: &PreparedFunction<'_>,
        block: Block,
        data: &InstData,
        destinations: &LanePartition<Block, M>,
        cx: &mut RunContext<'_>,
    ) -> Result<(), FaultKind> {
        let Some(profile) = &mut cx.profile else { return Ok(()) };
        let lanes = self.lanes;
        let frame = self.frames.last_mut().expect("a running brush has a frame");
        if data.targets().len() > 1 && !frame.active.is_none() {
            profile.record_branch(frame.code, block, data.targets(), destinations, frame.active);
        }
        let function = &mut profile.functions[frame.code];
        let mut returned = frame.control;
        for (target, members) in destinations.iter() {
            returned &= !members;
            let budget = &mut cx.budget;
            frame.trips.record_edge(code.control(), block, Some(target), members, lanes, function, budget)?;
        }
        frame.trips.record_edge(code.control(), block, None, returned, lanes, function, &mut cx.budget)
    }

    /// Records the addresses that an instruction accesses.
    pub(crate) fn profile_access(
        &self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), FaultKind> {
        let Some(profile) = &mut cx.profile else { return Ok(()) };
        let Some(address) = data.address().filter(|_| !mask.is_none()) else { return Ok(()) };
        let accessed = match data.op {
            Op::Store | Op::MaskedStore | Op::Scatter => Some(data.args[0]),
            Op::AtomicRmw | Op::CompareExchange => Some(data.args[1]),
            Op::Memcpy | Op::Memmove | Op::Memset => None,
            _ => code.func.result(inst),
        };
        let (elements, size) = accessed.map_or((1, 1), |value| {
            (self.elements(code, value), u64::from(self.scalar_of(code, value).bytes()))
        });
        let mask_operand = match data.op {
            Op::MaskedLoad | Op::Gather => data.args.get(1),
            Op::MaskedStore | Op::Scatter => data.args.get(2),
            _ => None,
        };
        let own_addresses = matches!(data.op, Op::Gather | Op::Scatter);
        cx.budget.work(u64::from(mask.count()).saturating_mul(elements as u64))?;
        let holds = |value: &Value, lane, element| self.get(code, *value, lane, element) == Some(1);
        let mut addresses: SmallVec<[(u64, u64); 32]> = SmallVec::new();
        for lane in (mask & M::first(self.lanes)).lanes() {
            for element in 0..elements {
                if !mask_operand.is_none_or(|mask_operand| holds(mask_operand, lane, element)) {
                    continue;
                }
                let at = if own_addresses { element } else { 0 };
                let Some(bits) = self.get(code, address, lane, at) else { continue };
                let offset = if own_addresses { 0 } else { element as u64 * size };
                addresses.push(((lane * elements + element) as u64, (bits as u64).wrapping_add(offset)));
            }
        }
        let access = &mut profile.functions[self.frame().code].accesses[inst];
        access.record(&addresses, size);
        Ok(())
    }
}

impl AccessProfile {
    /// Records an execution that accesses `size` bytes at each of these addresses, given by lane.
    fn record(&mut self, lanes: &[(u64, u64)], size: u64) {
        let (Some(&(first_lane, first)), Some(&(last_lane, last))) = (lanes.first(), lanes.last()) else {
            return;
        };
        self.executed += 1;
        self.lanes += lanes.len() as u64;
        let steps = last_lane - first_lane;
        let step = if steps == 0 { 0 } else { (last.wrapping_sub(first) as i64) / steps as i64 };
        let fits = |&(lane, address): &(u64, u64)| {
            first.wrapping_add_signed(step.wrapping_mul((lane - first_lane) as i64)) == address
        };
        let kind = match step {
            _ if !lanes.iter().all(fits) => &mut self.scattered,
            0 => &mut self.uniform,
            _ if step == size as i64 => &mut self.contiguous,
            _ => &mut self.strided,
        };
        *kind += 1;
        for (bytes, sum) in SEGMENTS.into_iter().zip([&mut self.segments_32, &mut self.segments_128]) {
            let pieces = lanes.iter().flat_map(|&(_, address)| {
                let end = address.saturating_add(size.max(1) - 1);
                [address / bytes, end / bytes]
            });
            let mut pieces: SmallVec<[u64; 64]> = pieces.collect();
            pieces.sort_unstable();
            pieces.dedup();
            *sum += pieces.len() as u64;
        }
    }
}
