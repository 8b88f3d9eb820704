//! The divergence profile of a run: where lanes part, how many are active, how they access memory, how often loops go round.
//!
//! It observes and changes nothing. What is counted is counted once for each execution by a brush; what an instruction costs
//! is a question for the reader of the profile ([`CycleCosts`] is one answer).

use crate::brush::{Brush, RunContext};
use crate::control::ControlGraph;
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

/// The bytes of the segments in which memory is accessed.
const SEGMENTS: [u64; 2] = [32, 128];

/// The profile of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunProfile {
    /// For each function of the module what was observed of it.
    pub functions: Vec<FunctionProfile>,
}

/// What was observed of a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionProfile {
    /// Of each block.
    pub blocks: SecondaryMap<Block, BlockProfile>,
    /// Of each branch with two targets or more, by its block.
    pub branches: SecondaryMap<Block, BranchProfile>,
    /// Of each instruction that accesses memory.
    pub accesses: SecondaryMap<Inst, AccessProfile>,
    /// Of each loop, by its header; of an irreducible one by the entry that is met.
    pub loops: SecondaryMap<Block, LoopProfile>,
}

/// How a block was executed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockProfile {
    /// How often, by the number of active lanes.
    pub by_active_lanes: Vec<u64>,
    /// Lanes of all its executions, active or not.
    pub lanes: u64,
}

impl BlockProfile {
    /// How often it was executed.
    pub fn executions(&self) -> u64 {
        self.by_active_lanes.iter().sum()
    }

    /// The lanes of one execution, active or not.
    pub fn lanes_each(&self) -> u64 {
        self.lanes / self.executions().max(1)
    }

    /// How many lanes were active, in all its executions.
    pub fn active_lanes(&self) -> u64 {
        (0..).zip(&self.by_active_lanes).map(|(lanes, count): (u64, _)| lanes * count).sum()
    }
}

/// How lanes went at a branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BranchProfile {
    /// Executions with active lanes.
    pub executed: u64,
    /// Those in which active lanes parted.
    pub diverged: u64,
    /// For each target in order how many lanes went there. Of a target that comes twice, the first counts.
    pub lanes: SmallVec<[u64; 2]>,
    /// For each target in order in how many executions lanes went there.
    pub taken: SmallVec<[u64; 2]>,
}

/// How lanes accessed memory together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccessProfile {
    /// Executions with active lanes.
    pub executed: u64,
    /// Addresses, in all of them.
    pub lanes: u64,
    /// Executions with one address for all lanes.
    pub uniform: u64,
    /// With each lane's address behind the one before.
    pub contiguous: u64,
    /// With equal steps from lane to lane.
    pub strided: u64,
    /// With anything else.
    pub scattered: u64,
    /// Aligned pieces of 32 bytes that were touched, in all executions.
    pub segments_32: u64,
    /// The same, of 128 bytes.
    pub segments_128: u64,
}

/// How often a loop went round.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoopProfile {
    /// How many lanes left after so many iterations.
    pub trips: BTreeMap<u64, u64>,
}

/// About how many cycles instructions take that a brush executes together, as on a GPU that issues one each cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleCosts {
    /// What is not listed.
    pub plain: u64,
    /// Quotients and roots.
    pub division: u64,
    /// An access, and a call of a function that is only declared.
    pub access: u64,
    /// More of an access for each piece of 128 bytes behind the first.
    pub segment: u64,
}

impl Default for CycleCosts {
    fn default() -> CycleCosts {
        CycleCosts { plain: 1, division: 16, access: 4, segment: 4 }
    }
}

/// Whether an instruction is issued at all: φs are moves that registers are chosen for, jumps are layout.
pub fn is_issued(data: &InstData) -> bool {
    !(data.op == Op::Phi || data.op == Op::Br && data.args.is_empty())
}

impl CycleCosts {
    /// Those of one execution, but for the pieces of memory.
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

    /// Instructions that brushes executed in a block, and about how many cycles that took.
    pub fn cost(&self, func: &Function, block: Block, cycles: &CycleCosts) -> (u64, u64) {
        let executions = self.blocks[block].executions();
        let mut cost = (0, 0);
        for inst in func.block_insts(block) {
            let (issued, taken) = self.inst_cost(func, inst, executions, cycles);
            cost = (cost.0 + issued, cost.1 + taken);
        }
        cost
    }

    /// The same of an instruction, in a block that was executed so often.
    pub fn inst_cost(&self, func: &Function, inst: Inst, executions: u64, cycles: &CycleCosts) -> (u64, u64) {
        let data = func.inst(inst);
        let access = &self.accesses[inst];
        let more = access.segments_128.saturating_sub(access.executed) * cycles.segment;
        (executions * u64::from(is_issued(data)), executions * cycles.of(data) + more)
    }

    /// Instructions that brushes executed, and about how many cycles that took.
    pub fn total(&self, func: &Function, cycles: &CycleCosts) -> (u64, u64) {
        func.blocks().fold((0, 0), |total, block| {
            let cost = self.cost(func, block, cycles);
            (total.0 + cost.0, total.1 + cost.1)
        })
    }
}

impl RunProfile {
    /// An empty profile of these functions.
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

    /// A block is executed with so many lanes active, of so many.
    pub(crate) fn note_block(&mut self, code: usize, block: Block, active: usize, lanes: usize) {
        let block = &mut self.functions[code].blocks[block];
        block.by_active_lanes.resize(lanes + 1, 0);
        block.by_active_lanes[active] += 1;
        block.lanes += lanes as u64;
    }

    /// Active lanes go from a block to these.
    pub(crate) fn note_branch<M: LaneMask>(
        &mut self,
        code: usize,
        block: Block,
        targets: &[Block],
        goes: &LanePartition<Block, M>,
        active: M,
    ) {
        let branch = &mut self.functions[code].branches[block];
        branch.lanes.resize(targets.len(), 0);
        branch.taken.resize(targets.len(), 0);
        let mut ways = 0;
        for (target, party) in goes.iter() {
            let lanes = (party & active).count();
            ways += u32::from(lanes > 0);
            if let Some(number) = targets.iter().position(|&other| other == target) {
                branch.lanes[number] += u64::from(lanes);
                branch.taken[number] += u64::from(lanes > 0);
            }
        }
        branch.executed += u64::from(ways > 0);
        branch.diverged += u64::from(ways > 1);
    }
}

/// How often the lanes of a frame have gone round its loops.
#[derive(Debug, Default)]
pub(crate) struct TripCounters {
    /// For each loop that was gone round, each lane's iterations behind the first.
    of_loop: BTreeMap<u32, Vec<u64>>,
}

impl TripCounters {
    /// Lanes go along an edge, or return: tells of the loops that they leave.
    #[expect(clippy::too_many_arguments, reason = "an edge, with what takes it and where that is noted")]
    fn follow<M: LaneMask>(
        &mut self,
        control: &ControlGraph,
        from: Block,
        to: Option<Block>,
        party: M,
        lanes: usize,
        profile: &mut FunctionProfile,
        budget: &mut Budget,
    ) -> Result<(), FaultKind> {
        let mut around = control.innermost(from);
        while let Some(cycle) = around {
            if to.is_some_and(|to| control.is_inside(to, cycle)) {
                break;
            }
            budget.work(u64::from(party.count()))?;
            let rounds = self.of_loop.get_mut(&cycle);
            let trips = &mut profile.loops[control.header(cycle)].trips;
            let mut done = rounds;
            for lane in party.lanes() {
                let count = done.as_mut().map_or(0, |rounds| std::mem::take(&mut rounds[lane])) + 1;
                if !trips.contains_key(&count) {
                    budget.hold(64)?;
                }
                *trips.entry(count).or_default() += 1;
            }
            around = control.parent(cycle);
        }
        if let Some(cycle) = to.and_then(|to| control.entered_again(from, to)) {
            let rounds = self.of_loop.entry(cycle).or_insert_with(|| vec![0; lanes]);
            party.lanes().for_each(|lane| rounds[lane] += 1);
        }
        Ok(())
    }
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Notes where the lanes of the running block go.
    pub(crate) fn profile_ways(
        &mut self,
        code: &PreparedFunction<'_>,
        block: Block,
        data: &InstData,
        goes: &LanePartition<Block, M>,
        world: &mut RunContext<'_>,
    ) -> Result<(), FaultKind> {
        let Some(profile) = &mut world.profile else { return Ok(()) };
        let lanes = self.lanes;
        let frame = self.frames.last_mut().expect("a running brush has a frame");
        if data.targets().len() > 1 && !frame.active.is_none() {
            profile.note_branch(frame.code, block, data.targets(), goes, frame.active);
        }
        let function = &mut profile.functions[frame.code];
        let mut returned = frame.control;
        for (target, party) in goes.iter() {
            returned &= !party;
            let budget = &mut world.budget;
            frame.rounds.follow(code.control(), block, Some(target), party, lanes, function, budget)?;
        }
        frame.rounds.follow(code.control(), block, None, returned, lanes, function, &mut world.budget)
    }

    /// Notes which addresses an instruction accesses.
    pub(crate) fn profile_access(
        &self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        world: &mut RunContext<'_>,
    ) -> Result<(), FaultKind> {
        let Some(profile) = &mut world.profile else { return Ok(()) };
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
        let admits = match data.op {
            Op::MaskedLoad | Op::Gather => data.args.get(1),
            Op::MaskedStore | Op::Scatter => data.args.get(2),
            _ => None,
        };
        let own_addresses = matches!(data.op, Op::Gather | Op::Scatter);
        world.budget.work(u64::from(mask.count()).saturating_mul(elements as u64))?;
        let holds = |value: &Value, lane, element| self.get(code, *value, lane, element) == Some(1);
        let mut found: SmallVec<[(u64, u64); 32]> = SmallVec::new();
        for lane in (mask & M::first(self.lanes)).lanes() {
            for element in 0..elements {
                if !admits.is_none_or(|admits| holds(admits, lane, element)) {
                    continue;
                }
                let at = if own_addresses { element } else { 0 };
                let Some(bits) = self.get(code, address, lane, at) else { continue };
                let offset = if own_addresses { 0 } else { element as u64 * size };
                found.push(((lane * elements + element) as u64, (bits as u64).wrapping_add(offset)));
            }
        }
        let access = &mut profile.functions[self.frame().code].accesses[inst];
        access.note(&found, size);
        Ok(())
    }
}

impl AccessProfile {
    /// An execution in which these lanes access these addresses, so many bytes at each.
    fn note(&mut self, lanes: &[(u64, u64)], size: u64) {
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
