//! Spreads the iterations of a marked loop over lanes.
//!
//! Requires: Stage::Canonical; a function with a single outermost loop, entered by all lanes with equal arguments.
//! Ensures: Stage::Source, in lock-step: the lanes together execute what one thread did before.
//! Invariant: each iteration runs once, in one lane; results are equal in all lanes.
//! After: Moll's thesis, chapter 3 (outer-loop vectorization). Differs in: the region is the whole loop including its
//! remainder, so partial results of reductions stay in registers until the end.
//!
//! ```text
//!   preheader                 preheader            full = count / W, rest = count % W
//!       │                      │      └────────┐
//!     header ◄─┐             header ◄─┐        │   lane l executes iterations l, l + W, …
//!      ...     │     ──►      ...     │        │
//!     latch ───┘             latch ───┘        │
//!       │                      └──────► rest ◄─┘
//!      exit                             │   └─► header', …, latch': one iteration, if lane < rest
//!                                      join ◄─────────────────────┘
//!                                       │           combine the lanes' partial results
//!                                      exit
//! ```

mod nest;
mod objects;
mod pointers;
mod reduction;
mod refill;
mod refusal;

use crate::block_copier::BlockCopier;
use crate::edges::{phis, set_incoming, set_latch_value};
use crate::induction::{
    InductionVariable, LoopCounter, find_counter, find_induction, is_invariant, resize, trip_count,
};
use crate::ssa_builder::{SsaBuilder, SsaVariable};
use heddle_analysis::cycles::Cycle;
use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::function::Origin;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::{Flag, Flags, IntPredicate};
use heddle_ir::{Block, Diagnostic, Function, Inst, Op, Scalar, Value};
pub use nest::{NestLevels, NestProjection, spread_nest};
use objects::copy_objects;
use pointers::declare_loaded_pointers;
use reduction::{LoopUses, ReductionKind, find_reduction, find_short_circuit};
pub use refill::refill_lanes;
use refusal::{SpreadRefusal, refuse};
use rustc_hash::FxHashMap;

/// Role of a header φ.
enum HeaderPhiKind {
    /// Induction variable: grows by a loop-invariant step.
    Induction { init: Value, step: Value, is_pointer: bool },
    /// Reduction over all iterations.
    Reduction { init: Value, by: ReductionKind },
}

/// A φ of the loop's header.
struct HeaderPhi {
    phi: Inst,
    value: Value,
    /// Its value along the back edge.
    next: Value,
    kind: HeaderPhiKind,
}

/// A loop that can be spread over lanes.
struct SpreadableLoop {
    preheader: Block,
    header: Block,
    latch: Block,
    exit: Block,
    blocks: Vec<Block>,
    inside: EntitySet<Block>,
    header_phis: Vec<HeaderPhi>,
}

/// Facts about a loop that its code does not show.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LoopPromises {
    /// Iterations are independent and may be speculated: an operand of `&&` may be evaluated though an earlier one was false.
    pub is_parallel: bool,
}

/// Spreads the iterations of the function's outermost loop over lanes.
pub fn spread_loop(func: &mut Function, promises: LoopPromises) -> Result<(), Diagnostic> {
    declare_loaded_pointers(func);
    let (marked, counter) = find_outermost_loop(func, promises)?;
    let live_outs = find_live_outs(func, &marked)?;
    LoopSpreader::new(func, marked, &counter, SpreadLanes::ALL).spread(&live_outs);
    Ok(())
}

/// Lanes over which a loop's iterations are spread.
#[derive(Clone, Copy, Debug)]
struct SpreadLanes {
    /// Dimension of the brush; none for all lanes in linear order.
    dimension: Option<u8>,
    /// True if the trip count is a multiple of the lanes.
    is_multiple: bool,
}

impl SpreadLanes {
    const ALL: SpreadLanes = SpreadLanes { dimension: None, is_multiple: false };
}

fn find_outermost(func: &Function, forest: &CycleForest) -> Result<Cycle, Diagnostic> {
    let all: Vec<Cycle> = forest.outermost().collect();
    match all[..] {
        [cycle] => Ok(cycle),
        _ => Err(refuse(func, None, SpreadRefusal::NotOneLoop(all.len()))),
    }
}

fn find_outermost_loop(
    func: &Function,
    promises: LoopPromises,
) -> Result<(SpreadableLoop, LoopCounter), Diagnostic> {
    let cfg = Cfg::new(func);
    let forest = CycleForest::new(&cfg);
    let cycle = find_outermost(func, &forest)?;
    find_loop(func, &cfg, &forest, cycle, promises)
}

fn find_loop(
    func: &Function,
    cfg: &Cfg,
    forest: &CycleForest,
    cycle: Cycle,
    promises: LoopPromises,
) -> Result<(SpreadableLoop, LoopCounter), Diagnostic> {
    let header = forest.header(cycle);
    let at_header = func.terminator(header);
    let not_simple = || refuse(func, at_header, SpreadRefusal::NotCanonical);
    let preheader = forest.preheader(cfg, cycle).ok_or_else(not_simple)?;
    let latch = forest.unique_latch(cfg, cycle).ok_or_else(not_simple)?;
    let exiting: Vec<_> = forest.exiting_edges(cfg, cycle).collect();
    let &[edge] = &exiting[..] else {
        let at = exiting.get(1).and_then(|edge| func.terminator(edge.from)).or(at_header);
        return Err(refuse(func, at, SpreadRefusal::Exits(exiting.len())));
    };
    if edge.from != latch {
        return Err(refuse(func, func.terminator(edge.from), SpreadRefusal::LeftInTheMiddle));
    }
    let blocks = forest.blocks(cycle).to_vec();
    let inside: EntitySet<Block> = blocks.iter().copied().collect();
    let uses = LoopUses::new(func, &blocks);
    let mut header_phis = Vec::new();
    for phi in func.phis(header) {
        header_phis.push(classify(func, &uses, &inside, phi, preheader, promises)?);
    }
    let inductions: Vec<InductionVariable> = header_phis
        .iter()
        .filter_map(|it| find_induction(func, it.phi, |block| inside.contains(block)))
        .collect();
    let no_count = || refuse(func, func.terminator(latch), SpreadRefusal::NoCount);
    let counter = find_counter(func, &inside, latch, &inductions).ok_or_else(no_count)?;
    Ok((SpreadableLoop { preheader, header, latch, exit: edge.to, blocks, inside, header_phis }, counter))
}

fn classify(
    func: &Function,
    uses: &LoopUses,
    inside: &EntitySet<Block>,
    phi: Inst,
    preheader: Block,
    promises: LoopPromises,
) -> Result<HeaderPhi, Diagnostic> {
    let value = func.results(phi)[0];
    let (mut init, mut next) = (None, None);
    for (from, incoming) in func.inst(phi).incoming() {
        *(if from == preheader { &mut init } else { &mut next }) = Some(incoming);
    }
    let (Some(init), Some(next)) = (init, next) else {
        return Err(refuse(func, Some(phi), SpreadRefusal::NotCanonical));
    };
    let header_phi = |kind| HeaderPhi { phi, value, next, kind };
    let is_inside = |block| inside.contains(block);
    if let Some(InductionVariable { step, is_pointer, .. }) = find_induction(func, phi, is_inside) {
        return Ok(header_phi(HeaderPhiKind::Induction { init, step, is_pointer }));
    }
    let header = func.layout.block_of(phi).expect("a φ stands in a block");
    let found = find_reduction(func, uses, value, next).or_else(|at| {
        let sticky =
            promises.is_parallel.then(|| find_short_circuit(func, uses, inside, header, value, next));
        sticky.flatten().ok_or(at)
    });
    match found {
        Ok(by) => Ok(header_phi(HeaderPhiKind::Reduction { init, by })),
        Err(at) => Err(refuse(func, Some(at), SpreadRefusal::Recurrence)),
    }
}

/// Value of an exit φ after the loop.
#[derive(Clone, Copy)]
enum LoopLiveOut {
    /// Loop-invariant, or a constant.
    Invariant(Value),
    /// Result of a reduction: index of its header φ.
    Reduced(usize),
    /// Value from the last iteration.
    Last(Value),
}

fn find_live_outs(func: &Function, marked: &SpreadableLoop) -> Result<Vec<(Inst, LoopLiveOut)>, Diagnostic> {
    let partial: FxHashMap<Value, usize> = (marked.header_phis.iter().enumerate())
        .filter(|(_, header_phi)| matches!(header_phi.kind, HeaderPhiKind::Reduction { .. }))
        .flat_map(|(number, header_phi)| [(header_phi.value, number), (header_phi.next, number)])
        .collect();
    let mut found = Vec::new();
    for phi in func.phis(marked.exit) {
        for (from, value) in func.inst(phi).incoming() {
            if from != marked.latch {
                continue;
            }
            let live_out = match partial.get(&value) {
                Some(&number) if marked.header_phis[number].next == value => LoopLiveOut::Reduced(number),
                Some(_) => return Err(refuse(func, Some(phi), SpreadRefusal::PartialResult)),
                None if is_invariant(func, &marked.inside, value) => LoopLiveOut::Invariant(value),
                None => LoopLiveOut::Last(value),
            };
            found.push((phi, live_out));
        }
    }
    Ok(found)
}

/// Number, in linear order, of the first lane at an index along a dimension.
fn linear_lane(builder: &mut Builder<'_>, dimension: u8, index: Value) -> Value {
    (0..dimension).fold(index, |index, inner| {
        let width = query(builder, Op::Width, Some(inner));
        builder.op(Op::Mul, &[index, width])
    })
}

/// State of the transformation of one loop.
struct LoopSpreader<'f> {
    func: &'f mut Function,
    marked: SpreadableLoop,
    lanes: SpreadLanes,
    origin: Origin,
    /// Number of lanes, and the lane number.
    width: Value,
    lane: Value,
    /// Number of full brushes, number of remaining iterations, and the lane of the last iteration.
    full: Value,
    remainder: Value,
    last_lane: Value,
    /// Number of iterations in full brushes.
    done: Value,
    /// Initial value of each header φ, the same in all lanes.
    starts: Vec<Value>,
}

fn query(builder: &mut Builder<'_>, op: Op, dimension: Option<u8>) -> Value {
    builder.value(InstData::new(op, [], Detail::Dimension(dimension)), Some(Scalar::I64.into()))
}

impl<'f> LoopSpreader<'f> {
    fn new(
        func: &'f mut Function,
        marked: SpreadableLoop,
        counter: &LoopCounter,
        lanes: SpreadLanes,
    ) -> LoopSpreader<'f> {
        let end = func.terminator(marked.preheader).expect("a preheader ends in a jump");
        let origin = func.terminator(marked.latch).map_or(Origin::NONE, |inst| func.inst(inst).origin);
        let mut builder = Builder::new(func, InsertPoint::Before(end));
        builder.set_origin(origin);
        let (back, count) = trip_count(&mut builder, counter);
        let (width, lane) = [Op::Width, Op::Lane].map(|op| query(&mut builder, op, lanes.dimension)).into();
        let full = builder.op(Op::Udiv, &[count, width]);
        let remainder = builder.op(Op::Urem, &[count, width]);
        let last_lane = builder.op(Op::Urem, &[back, width]);
        let last_lane = match lanes.dimension {
            None => last_lane,
            Some(dimension) => linear_lane(&mut builder, dimension, last_lane),
        };
        let last_lane = builder.op_to(Op::Trunc, Scalar::I32.into(), &[last_lane]);
        let done = builder.op(Op::Mul, &[full, width]);
        let mut starts = Vec::new();
        for header_phi in &marked.header_phis {
            let ty = builder.func.value_type(header_phi.value);
            starts.push(match &header_phi.kind {
                HeaderPhiKind::Induction { init, .. } => *init,
                HeaderPhiKind::Reduction { init, by } => {
                    by.neutral(ty.scalar()).map_or(*init, |neutral| builder.func.make_const(neutral))
                }
            });
        }
        LoopSpreader { func, marked, lanes, origin, width, lane, full, remainder, last_lane, done, starts }
    }

    /// Returns the value of an induction variable in an iteration.
    fn at_iteration(builder: &mut Builder<'_>, header_phi: &HeaderPhi, number: Value) -> Value {
        let HeaderPhiKind::Induction { init, step, is_pointer } = header_phi.kind else {
            return header_phi.value;
        };
        let ty = builder.func.value_type(step);
        let number = resize(builder, number, ty);
        let far = builder.op(Op::Mul, &[number, step]);
        builder.op(if is_pointer { Op::PtrAdd } else { Op::Add }, &[init, far])
    }

    fn spread(self, live_outs: &[(Inst, LoopLiveOut)]) {
        let SpreadableLoop { preheader, header, latch, exit, .. } = self.marked;
        let blocks = self.marked.blocks.clone();
        let full_preheader = self.func.insert_block_after(preheader);
        let [full_exit, remainder, remainder_entry] = [(); 3].map(|()| self.func.append_block());

        // The remainder copies the loop before it changes.
        let objects = copy_objects(self.func, &self.marked.inside);
        let original = self.func.clone();
        let copy = BlockCopier::within(&original, self.func, &blocks);
        let join = self.func.append_block();

        // Full brushes.
        let end = self.func.terminator(preheader).expect("a preheader ends in a jump");
        self.func.remove_inst(end);
        let mut builder = Builder::new(self.func, InsertPoint::End(preheader));
        builder.set_origin(self.origin);
        let zero = builder.int(Scalar::I64, 0);
        let is_some = builder.icmp(IntPredicate::Ne, self.full, zero);
        builder.branch(is_some, full_preheader, remainder);
        builder.set_insert_point(InsertPoint::End(full_preheader));
        let mut entry_values = Vec::new();
        for (header_phi, &start) in self.marked.header_phis.iter().zip(&self.starts) {
            entry_values.push(match header_phi.kind {
                HeaderPhiKind::Induction { .. } => Self::at_iteration(&mut builder, header_phi, self.lane),
                HeaderPhiKind::Reduction { .. } => start,
            });
        }
        builder.jump(header);
        let at_end = self.func.terminator(latch).expect("a latch ends in a branch");
        let mut builder = Builder::new(self.func, InsertPoint::Before(at_end));
        builder.set_origin(self.origin);
        let mut back_edge_values = Vec::new();
        for header_phi in &self.marked.header_phis {
            back_edge_values.push(match header_phi.kind {
                HeaderPhiKind::Induction { step, is_pointer, .. } => {
                    let ty = builder.func.value_type(step);
                    let width = resize(&mut builder, self.width, ty);
                    let far = builder.op(Op::Mul, &[width, step]);
                    builder.op(if is_pointer { Op::PtrAdd } else { Op::Add }, &[header_phi.value, far])
                }
                HeaderPhiKind::Reduction { .. } => header_phi.next,
            });
        }
        builder.set_insert_point(InsertPoint::Start(header));
        let one = builder.int(Scalar::I64, 1);
        let brush = builder.phi(Scalar::I64.into(), &[(full_preheader, zero)], None);
        builder.set_insert_point(InsertPoint::Before(at_end));
        let next_brush = builder.op_with(Op::Add, &[brush, one], Flags::of(&[Flag::Nuw]));
        let continues_iteration = builder.icmp(IntPredicate::Ne, next_brush, self.full);
        builder.func.remove_inst(at_end);
        builder.set_insert_point(InsertPoint::End(latch));
        builder.branch(continues_iteration, header, full_exit);
        set_latch_value(self.func, brush, latch, next_brush);
        for ((header_phi, &entry_values), &next) in
            self.marked.header_phis.iter().zip(&entry_values).zip(&back_edge_values)
        {
            set_incoming(self.func, header_phi.phi, [(full_preheader, entry_values), (latch, next)]);
        }

        // The remainder: one further iteration in some lanes.
        let [copied_header, copied_latch] = [header, latch].map(|block| copy.block_or_self(block));
        let mut builder = Builder::new(self.func, InsertPoint::End(full_exit));
        builder.set_origin(self.origin);
        builder.jump(remainder);
        builder.set_insert_point(InsertPoint::End(remainder));
        let is_some = match self.lanes.is_multiple {
            true => builder.int(Scalar::I1, 0),
            false => builder.icmp(IntPredicate::Ne, self.remainder, zero),
        };
        builder.branch(is_some, remainder_entry, join);
        builder.set_insert_point(InsertPoint::End(remainder_entry));
        let number = builder.op(Op::Add, &[self.done, self.lane]);
        let mut entry_values = objects;
        for header_phi in &self.marked.header_phis {
            let value = Self::at_iteration(&mut builder, header_phi, number);
            entry_values.insert(copy.value_or_self(header_phi.value), value);
        }
        let has_one = builder.icmp(IntPredicate::Ult, self.lane, self.remainder);
        let branch = builder.branch(has_one, copied_header, join);
        // Never no lane: the remainder is not zero. Without weights a guard would seem to pay.
        if let Detail::Branch(_, weights) = &mut builder.func.inst_mut(branch).detail {
            *weights = Some([1, 1].into());
        }
        let end_of_copy = builder.func.terminator(copied_latch).expect("a latch ends in a branch");
        builder.func.remove_inst(end_of_copy);
        builder.set_insert_point(InsertPoint::End(copied_latch));
        builder.jump(join);
        builder.set_insert_point(InsertPoint::End(join));
        let end = builder.jump(exit);
        for phi in phis(self.func, copied_header) {
            self.func.remove_inst(phi);
        }

        // Values that the full brushes pass on to the remainder, and both to the end: their values on entry.
        let mut passed: Vec<(Value, Value)> = (self.marked.header_phis.iter().zip(&self.starts))
            .filter(|(header_phi, _)| matches!(header_phi.kind, HeaderPhiKind::Reduction { .. }))
            .map(|(header_phi, &start)| (header_phi.next, start))
            .collect();
        for &(_, live_out) in live_outs {
            if let LoopLiveOut::Last(value) = live_out {
                passed.push((value, self.func.make_poison(self.func.value_type(value))));
            }
        }
        let cfg = Cfg::new(self.func);
        let mut ssa = SsaBuilder::new(&cfg);
        cfg.blocks().for_each(|block| ssa.fill_block(self.func, block));
        let mut variables: FxHashMap<Value, SsaVariable> = FxHashMap::default();
        for &(value, start) in passed.iter().rev() {
            let ty = self.func.value_type(value);
            let variable = *variables.entry(value).or_insert_with(|| ssa.declare_var(ty));
            ssa.def_var(preheader, variable, start);
            ssa.def_var(latch, variable, value);
        }
        for header_phi in &self.marked.header_phis {
            if let HeaderPhiKind::Reduction { .. } = header_phi.kind {
                let value = ssa.use_var(self.func, remainder_entry, variables[&header_phi.next]);
                entry_values.insert(copy.value_or_self(header_phi.value), value);
            }
        }
        for &block in &blocks {
            let block = copy.block_or_self(block);
            self.func.map_values_of_block(block, |value| entry_values.get(&value).copied().unwrap_or(value));
        }
        for (value, _) in &passed {
            let copied = copy.value_or_self(*value);
            let copied = entry_values.get(&copied).copied().unwrap_or(copied);
            ssa.def_var(copied_latch, variables[value], copied);
        }

        // Partial results of all lanes.
        let mut builder = Builder::new(self.func, InsertPoint::Before(end));
        builder.set_origin(self.origin);
        let mut results = Vec::new();
        for &(phi, live_out) in live_outs {
            let value = match live_out {
                LoopLiveOut::Invariant(value) => value,
                LoopLiveOut::Last(value) => {
                    let joined = ssa.use_var(builder.func, join, variables[&value]);
                    builder.op(Op::Broadcast, &[joined, self.last_lane])
                }
                LoopLiveOut::Reduced(number) => {
                    let header_phi = &self.marked.header_phis[number];
                    let HeaderPhiKind::Reduction { init, by } = &header_phi.kind else { continue };
                    let joined = ssa.use_var(builder.func, join, variables[&header_phi.next]);
                    by.combine(&mut builder, *init, joined)
                }
            };
            results.push((phi, value));
        }
        for (phi, value) in results {
            set_incoming(self.func, phi, [(join, value)]);
        }
        ssa.finish(self.func);
    }
}
