//! Throughput of the innermost loop of wide code, to compare brushes of a loop nest.
//!
//! A loop of independent iterations takes as long as the busiest of what it needs: loads, stores, arithmetic, and the latency that it carries
//! from one iteration to the next. The others overlap with it, but not completely. Scalar operations compute addresses, which code
//! generation shares and folds, so only scalar loads count. Rows are seldom aligned, so a load or store of a whole cache line touches two.
//!
//! After: S. Moll, *The Region Vectorizer*, 13.4, which leaves the model open.

use crate::brushes::carried_latency;
use crate::target::{OpTime, TargetInfo};
use crate::timing::{CallTimes, call_times, permutations, time_of, widest_vector};
use heddle_analysis::{BlockIndex, Cfg, Cycle, CycleForest, DominatorTree};
use heddle_ir::{Block, Function, Inst, Module, Op};

/// Bits of a cache line.
const LINE_BITS: f64 = 512.0;
/// Share of what is less busy that does not overlap.
const NOT_OVERLAPPED: f64 = 0.25;
/// Registers that are needed besides those of values that go from one iteration to the next.
const SCRATCH_REGISTERS: u32 = 4;
/// Time of spilling and reloading a register, in tenths of a cycle.
const SPILL: f64 = 15.0;

/// Time of each kind of operation, in tenths of a cycle.
#[derive(Clone, Copy, Default, Debug)]
struct BusyTimes {
    loads: f64,
    stores: f64,
    arithmetic: f64,
}

/// Returns the estimated time per lane of an iteration of the deepest loop of a wide function, in tenths of a cycle; none without a loop that
/// computes with vectors. Of several loops at one depth the first counts: copies for remainders follow it.
pub fn innermost_time(module: &Module, wide: &str, lanes: u32, target: &TargetInfo) -> Option<f64> {
    let func = module.function(wide)?;
    let cfg = Cfg::new(func);
    let (dominators, cycles) = (DominatorTree::new(&cfg), CycleForest::new(&cfg));
    let index = BlockIndex::new(&cfg, &dominators, &cycles);
    let has_vectors = |cycle: Cycle| {
        cycles
            .blocks(cycle)
            .iter()
            .flat_map(|&block| func.block_insts(block))
            .any(|inst| is_vector(func, inst))
    };
    let innermost = cycles.cycles().filter(|&cycle| cycles.children(cycle).is_empty() && has_vectors(cycle));
    let deepest = innermost.rev().max_by_key(|&cycle| cycles.depth(cycle))?;
    let blocks: Vec<Block> =
        index.order().iter().copied().filter(|&block| cycles.contains(deepest, block)).collect();
    let calls = call_times(module, target);
    let time = loop_time(func, cycles.header(deepest), &blocks, &calls, target)?;
    Some(time / f64::from(lanes))
}

fn is_vector(func: &Function, inst: Inst) -> bool {
    func.results(inst).iter().any(|&value| func.value_type(value).is_vector())
}

fn loop_time(
    func: &Function,
    header: Block,
    blocks: &[Block],
    calls: &CallTimes,
    target: &TargetInfo,
) -> Option<f64> {
    let is_carried = |inst: Inst| func.inst(inst).op == Op::Phi && func.layout.block_of(inst) == Some(header);
    let insts = blocks.iter().flat_map(|&block| func.block_insts(block)).filter(|&inst| !is_carried(inst));
    let times: Vec<(Inst, OpTime)> =
        insts.map(|inst| Some((inst, time_of(func, inst, calls, target)?))).collect::<Option<_>>()?;
    let mut busy = BusyTimes::default();
    for &(inst, time) in &times {
        busy.add(func, inst, time, target);
    }
    let latency = f64::from(carried_latency(func, header, blocks, &times));
    let carried = func.phis(header).filter_map(|phi| func.result(phi)).map(|value| func.value_type(value));
    let registers: u32 =
        carried.filter(|ty| ty.is_vector()).map(|ty| target.registers_of(ty.bytes() * 8)).sum();
    let spilled = (registers + SCRATCH_REGISTERS).saturating_sub(target.registers);
    let all = [busy.loads, busy.stores, busy.arithmetic, latency];
    let greatest = all.into_iter().fold(0.0, f64::max);
    let sum: f64 = busy.loads + busy.stores + busy.arithmetic;
    Some(greatest + (sum - greatest).max(0.0) * NOT_OVERLAPPED + f64::from(spilled) * SPILL)
}

impl BusyTimes {
    fn add(&mut self, func: &Function, inst: Inst, time: OpTime, target: &TargetInfo) {
        let time = f64::from(time.busy);
        let (op, vector) = (func.inst(inst).op, widest_vector(func, inst));
        // A load or store of the register's width crosses a line as often as its width is a share of the line.
        let unaligned = 1.0 + f64::from(target.vector_bits) / LINE_BITS;
        match (op, vector) {
            (Op::Load, None) => self.loads += f64::from(target.times.load.busy),
            (Op::Load | Op::MaskedLoad, _) => self.loads += time * unaligned,
            (Op::Gather, _) => self.loads += time,
            (Op::Store, None) => self.stores += f64::from(target.times.store.busy),
            (Op::Store | Op::MaskedStore, _) => self.stores += time * unaligned,
            (Op::Scatter, _) => self.stores += time,
            (Op::Splat, _) | (_, None) => {}
            // Each takes elements from two registers.
            (Op::Permute, _) => {
                let of_sources = |sources: usize| (sources as u32).saturating_sub(1).max(1);
                let count = permutations(func, inst, target, of_sources);
                self.arithmetic += f64::from(target.times.plain.busy * count);
            }
            _ => self.arithmetic += time,
        }
    }
}
