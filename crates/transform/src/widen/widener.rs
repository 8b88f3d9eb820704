//! Visits a linear function in block order and emits the wide one.

use super::access_plan::{AccessPlans, predicate_of};
use super::cursor::WideCursor;
use super::private_objects::PrivateObjects;
use super::row_vectors::LoadedRows;
use super::signature::{wide_name, wide_signature};
use super::value_reps::{ValueRep, ValueReps};
use super::widening_plan::WideningPlan;
use super::{Remark, WidenContext, WidenOptions, Widened, refusal};
use heddle_analysis::shape::Steps;
use heddle_analysis::{Cfg, CycleForest, Divergence, DominatorTree, StrideCondition};
use heddle_ir::Diagnostic;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::function::Origin;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::{Effect, InstFormat};
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, Flags, IntPredicate, Reduction};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub(super) type WidenResult<T = ()> = Result<T, Diagnostic>;

/// Equal values, each with the block from whose start on it is available.
type AvailableValues = SmallVec<[(Block, Value); 1]>;

/// Emitter of one wide function.
pub(super) struct Widener<'a> {
    /// Source: the linear function.
    pub(super) old: &'a Function,
    /// Shapes of its values.
    pub(super) facts: &'a Divergence,
    pub(super) reps: &'a ValueReps,
    pub(super) objects: &'a PrivateObjects,
    pub(super) accesses: &'a AccessPlans,
    pub(super) options: &'a WidenOptions,
    /// Remarks on emitted instructions.
    pub(super) remarks: Vec<Remark>,
    pub(super) brush: [u32; MAX_DIMENSIONS],
    pub(super) lanes: u16,
    /// Surrounding module.
    pub(super) context: &'a WidenContext<'a>,
    /// Wide function under construction.
    pub(super) new: Function,
    pub(super) cursor: WideCursor,
    /// Last of the wide blocks that each linear block was split into.
    ends: SecondaryMap<Block, Option<Block>>,
    /// Scalar of each value: lane 0's.
    scalars: SecondaryMap<Value, Option<Value>>,
    /// Vectors of each value, each with the block from whose start on it is available.
    vectors: SecondaryMap<Value, AvailableValues>,
    /// Per block: true if any lane is active.
    any: SecondaryMap<Block, Option<Value>>,
    /// Run-time conditions, each with the block from which on it is available.
    conditions: FxHashMap<StrideCondition, AvailableValues>,
    /// Masks of rows, each with the block from which on it is available.
    pub(super) row_masks: FxHashMap<(Value, u32), AvailableValues>,
    /// Rows in registers.
    pub(super) loaded_rows: LoadedRows,
    /// Memory for the vectors of loops over lanes, by slot and type.
    pub(super) lane_memory: FxHashMap<(usize, Type), Value>,
    /// Per block: its first active lane.
    first: SecondaryMap<Block, Option<Value>>,
    origins: SecondaryMap<Origin, Option<Origin>>,
    cfg: Cfg,
    cycles: CycleForest,
    pub(super) dominators: DominatorTree,
}

impl<'a> Widener<'a> {
    pub(super) fn new(
        old: &'a Function,
        facts: &'a Divergence,
        plan: &'a WideningPlan<'a>,
        context: &'a WidenContext<'a>,
    ) -> Widener<'a> {
        let &WideningPlan { brush, ref reps, ref objects, ref accesses, options } = plan;
        let lanes = brush.iter().product::<u32>() as u16;
        let cfg = Cfg::new(old);
        let signature = wide_signature(&old.signature, old.kind, lanes);
        let mut new = Function::new(wide_name(&old.name, &brush), signature);
        new.kind = old.kind;
        new.register_arrays.clone_from(&old.register_arrays);
        for block in old.blocks() {
            new.reserve_block(block);
            new.layout.append_block(block);
        }
        Widener {
            old,
            facts,
            reps,
            objects,
            accesses,
            options,
            remarks: Vec::new(),
            brush,
            lanes,
            context,
            new,
            cursor: WideCursor::start_of(old.entry()),
            ends: SecondaryMap::new(),
            scalars: SecondaryMap::new(),
            vectors: SecondaryMap::new(),
            any: SecondaryMap::new(),
            conditions: FxHashMap::default(),
            row_masks: FxHashMap::default(),
            loaded_rows: LoadedRows::default(),
            lane_memory: FxHashMap::default(),
            first: SecondaryMap::new(),
            origins: SecondaryMap::new(),
            cycles: CycleForest::new(&cfg),
            dominators: DominatorTree::new(&cfg),
            cfg,
        }
    }

    pub(super) fn widen_function(mut self) -> WidenResult<Widened> {
        for index in 0..self.old.params().len() {
            let (old, new) = (self.old.params()[index], self.new.params()[index]);
            match self.reps.of(old) {
                ValueRep::Scalar(_) => self.scalars[old] = Some(new),
                ValueRep::Vector => self.vectors[old].push((self.old.entry(), new)),
            }
        }
        let order = heddle_analysis::BlockIndex::new(&self.cfg, &self.dominators, &self.cycles);
        for &block in order.order() {
            self.cursor = WideCursor::start_of(block);
            self.ends[block] = Some(block);
            for inst in self.old.block_insts(block) {
                self.set_origin(inst);
                self.widen_inst(inst)?;
            }
        }
        for &block in order.order() {
            self.complete_phis(block)?;
        }
        Ok(Widened { func: self.new, remarks: self.remarks })
    }

    fn widen_inst(&mut self, inst: Inst) -> WidenResult {
        if !matches!(
            self.old.inst(inst).op.info().effect,
            Effect::Pure | Effect::Traps | Effect::Reads | Effect::Joins
        ) {
            self.loaded_rows.clear();
        }
        if let Some((plan, remarks)) = self.accesses.of(inst) {
            self.remarks.extend_from_slice(remarks);
            return self.access(inst, plan);
        }
        let op = self.old.inst(inst).op;
        match op {
            Op::Phi => self.begin_phi(inst),
            Op::Br | Op::Ret | Op::Unreachable | Op::Switch => return self.terminator(inst),
            Op::Alloca => self.alloca(inst),
            Op::Fence | Op::Barrier => self.synchronize(inst),
            Op::Assume => self.assume(inst),
            Op::Call => return self.call(inst),
            _ if op.info().effect == Effect::Horizontal => self.horizontal(inst),
            _ if op.info().effect == Effect::Traps => self.division(inst),
            _ if op.info().format == InstFormat::Dimension => self.work_item_query(inst),
            Op::PtrAdd if self.objects.is_interleaved(self.old.inst(inst).args[0]) => {
                self.interleaved_ptr_add(inst)
            }
            Op::Launch => {
                let reason = "a region launches no other: widen the function that launches it instead";
                return Err(refusal(self.old, inst, reason));
            }
            Op::Splat
            | Op::Extract
            | Op::Insert
            | Op::Permute
            | Op::Compress
            | Op::Expand
            | Op::MaskedLoad
            | Op::MaskedStore
            | Op::Gather
            | Op::Scatter => {
                return Err(refusal(self.old, inst, "the function works on vectors already"));
            }
            _ => self.lane_wise(inst),
        }
        Ok(())
    }

    fn terminator(&mut self, inst: Inst) -> WidenResult {
        let mut data = self.old.inst(inst).clone();
        match data.op {
            Op::Br if !data.args.is_empty() => {
                let mut condition = self.scalar(data.args[0]);
                let constant = self.new.constant(condition);
                let may_be_poison = constant.is_none_or(|constant| matches!(constant, Constant::Poison(_)));
                if self.predicate_of(inst).is_some() && may_be_poison {
                    condition = self.emit(InstData::plain(Op::Freeze, [condition]), None);
                }
                data.args[0] = condition;
            }
            Op::Ret => {
                for index in 0..data.args.len() {
                    let is_one = !self.new.signature.results[index].ty.is_vector();
                    let arg = data.args[index];
                    data.args[index] = if is_one { self.scalar(arg) } else { self.vector(arg) };
                }
            }
            Op::Switch => {
                let reason = "a switch is no branch of stage Linear: run `canonicalize` before";
                return Err(refusal(self.old, inst, reason));
            }
            _ => {}
        }
        self.insert(data, None);
        Ok(())
    }

    // φs.

    fn begin_phi(&mut self, inst: Inst) {
        let result = self.old.result(inst).expect("a φ gives a value");
        let ty = self.old.value_type(result);
        let ty = if self.reps.of(result) == ValueRep::Vector { self.wide_type(ty) } else { ty };
        let value = self.emit(InstData::phi([], None), Some(ty));
        self.define(inst, value);
    }

    /// Fills in the φ operands of a block from its predecessors, after all blocks are emitted.
    fn complete_phis(&mut self, block: Block) -> WidenResult {
        for inst in self.old.phis(block) {
            let result = self.old.result(inst).expect("a φ gives a value");
            let is_vector = self.reps.of(result) == ValueRep::Vector;
            let new = if is_vector {
                self.vectors[result][0].1
            } else {
                self.scalars[result].expect("it was begun")
            };
            let mut incoming: Vec<(Block, Value)> = Vec::new();
            for (from, value) in self.old.inst(inst).incoming() {
                let Some(end) = self.ends[from] else { continue };
                let terminator = self.new.terminator(end).expect("the block has been written");
                let origin = self.cursor.origin;
                self.cursor =
                    WideCursor { at: InsertPoint::Before(terminator), origin, ..WideCursor::start_of(from) };
                let value = if is_vector { self.vector(value) } else { self.scalar(value) };
                incoming.push((end, value));
            }
            self.complete_phi(new, incoming);
        }
        Ok(())
    }

    /// Sets the incoming edges of a φ that was created empty.
    pub(super) fn complete_phi(&mut self, phi: Value, incoming: impl IntoIterator<Item = (Block, Value)>) {
        let inst = self.new.def_inst(phi).expect("a φ gives it");
        let origin = self.new.inst(inst).origin;
        *self.new.inst_mut(inst) = InstData { origin, ..InstData::phi(incoming, None) };
    }

    // Masks and blocks.

    /// Predicate of an instruction; none if all lanes run it.
    pub(super) fn predicate_of(&self, inst: Inst) -> Option<Value> {
        predicate_of(self.old, inst)
    }

    /// Mask of the lanes that run an instruction; none if all do.
    pub(super) fn mask(&mut self, inst: Inst) -> Option<Value> {
        self.predicate_of(inst).map(|predicate| self.vector(predicate))
    }

    /// True if any lane is active in the current block; none if all are.
    fn any_in_block(&mut self) -> Option<Value> {
        let predicate = self.old.predicate(self.cursor.block)?;
        if let Some(any) = self.any[self.cursor.block] {
            return Some(any);
        }
        let any = match self.reps.is_uniform(predicate) {
            true => self.scalar(predicate),
            false => {
                let mask = self.vector(predicate);
                self.emit(InstData::plain(Op::Any, [mask]), None)
            }
        };
        if !self.cursor.is_conditional {
            self.any[self.cursor.block] = Some(any);
        }
        Some(any)
    }

    /// True if any lane runs an instruction; none if all do.
    pub(super) fn any_active_lane(&mut self, inst: Inst) -> Option<Value> {
        self.predicate_of(inst)?;
        self.any_in_block()
    }

    /// First active lane of the current block; lane 0 if the block has no predicate.
    pub(super) fn first_lane(&mut self) -> Value {
        let Some(predicate) = self.old.predicate(self.cursor.block) else {
            return self.new.make_int(Scalar::I32, 0);
        };
        if let Some(first) = self.first[self.cursor.block] {
            return first;
        }
        let mask = self.vector(predicate);
        let first = self.first_lane_of(mask);
        if !self.cursor.is_conditional {
            self.first[self.cursor.block] = Some(first);
        }
        first
    }

    /// First active lane of the current block; the last lane if none is active.
    fn first_or_last_lane(&mut self) -> Value {
        let Some(predicate) = self.old.predicate(self.cursor.block) else { return self.first_lane() };
        let mask = self.vector(predicate);
        let Some(ballot) = self.ballot(mask) else {
            return self.reduce_lane_numbers(mask, Reduction::Umin, self.lanes - 1);
        };
        let scalar = self.new.value_type(ballot).scalar();
        let last = self.new.make_int(scalar, 1 << (self.lanes - 1));
        let some = self.emit(InstData::plain(Op::Or, [ballot, last]), None);
        self.emit(InstData::plain(Op::Cttz, [some]), None)
    }

    /// Last lane of a mask; without a mask, the last lane.
    pub(super) fn last_lane(&mut self, mask: Option<Value>) -> Value {
        let Some(mask) = mask else { return self.new.make_int(Scalar::I32, i128::from(self.lanes) - 1) };
        let Some(ballot) = self.ballot(mask) else {
            return self.reduce_lane_numbers(mask, Reduction::Umax, 0);
        };
        let zeros = self.emit(InstData::plain(Op::Ctlz, [ballot]), None);
        let scalar = self.new.value_type(ballot).scalar();
        let top = self.new.make_int(scalar, i128::from(scalar.bits()) - 1);
        self.emit(InstData::plain(Op::Sub, [top, zeros]), None)
    }

    /// First lane of a mask; not a valid lane number if the mask is empty.
    pub(super) fn first_lane_of(&mut self, mask: Value) -> Value {
        match self.ballot(mask) {
            Some(ballot) => self.emit(InstData::plain(Op::Cttz, [ballot]), None),
            None => self.reduce_lane_numbers(mask, Reduction::Umin, self.lanes),
        }
    }

    /// Mask as an integer with a bit for each lane, if there is an integer type that is wide enough.
    fn ballot(&mut self, mask: Value) -> Option<Value> {
        let bits = u32::from(self.lanes).next_power_of_two().max(8);
        let scalar = Scalar::int(bits)?;
        Some(self.emit(InstData::plain(Op::Ballot, [mask]), Some(scalar.into())))
    }

    /// Minimum or maximum of the lane numbers in a mask; `otherwise` stands for lanes outside of it.
    fn reduce_lane_numbers(&mut self, mask: Value, by: Reduction, otherwise: u16) -> Value {
        let lanes = self.new.value_type(mask).lanes().unwrap_or(1);
        let ty = Type::Vector(Scalar::I16, lanes);
        let numbers = self.new.make_const(Constant::Vector(Scalar::I16, (0..u128::from(lanes)).collect()));
        let otherwise = self.new.make_const(Constant::splat(ty, otherwise.into()));
        let shown = self.emit(InstData::plain(Op::Select, [mask, numbers, otherwise]), None);
        self.emit(InstData::new(Op::Reduce, [shown], Detail::Reduce(by)), None)
    }

    /// Emits code under a condition, if there is one. Results are poison where the condition is false.
    pub(super) fn emit_if(
        &mut self,
        condition: Option<Value>,
        write: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let Some(condition) = condition else { return write(self) };
        let before = self.current_block();
        let inside = self.new.insert_block_after(before);
        let after = self.new.insert_block_after(inside);
        self.insert(InstData::branch(condition, inside, after), None);
        let values = self.write_conditional(inside, write);
        let end = self.current_block();
        self.insert(InstData::jump(after), None);
        self.continue_in(after);
        let join = |value: Value| {
            let ty = self.new.value_type(value);
            let poison = self.new.make_poison(ty);
            self.emit(InstData::phi([(before, poison), (end, value)], None), Some(ty))
        };
        values.into_iter().map(join).collect()
    }

    /// Emits an if-else; returns the merged results.
    pub(super) fn emit_if_else(
        &mut self,
        condition: Value,
        holds: impl FnOnce(&mut Self) -> Vec<Value>,
        fails: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let before = self.current_block();
        let one = self.new.insert_block_after(before);
        let other = self.new.insert_block_after(one);
        let after = self.new.insert_block_after(other);
        self.insert(InstData::branch(condition, one, other), None);
        let ones = self.write_conditional(one, holds);
        let end_of_one = self.current_block();
        self.insert(InstData::jump(after), None);
        let others = self.write_conditional(other, fails);
        let end_of_other = self.current_block();
        self.insert(InstData::jump(after), None);
        self.continue_in(after);
        let join = |(one, other): (Value, Value)| {
            let ty = self.new.value_type(one);
            self.emit(InstData::phi([(end_of_one, one), (end_of_other, other)], None), Some(ty))
        };
        ones.into_iter().zip(others).map(join).collect()
    }

    /// Emits code into a block that a branch guards, and stays at its end.
    fn write_conditional(
        &mut self,
        inside: Block,
        write: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let was_conditional = self.cursor.is_conditional;
        (self.cursor.at, self.cursor.is_conditional) = (InsertPoint::End(inside), true);
        let values = write(self);
        self.cursor.is_conditional = was_conditional;
        values
    }

    /// Emits code at another position, and comes back.
    fn at_cursor<T>(&mut self, cursor: WideCursor, write: impl FnOnce(&mut Self) -> T) -> T {
        let here = std::mem::replace(&mut self.cursor, cursor);
        let written = write(self);
        self.cursor = here;
        written
    }

    /// Emits code that has no counterpart in the source (`code_estimate` tells by that).
    pub(super) fn without_origin<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let origin = std::mem::replace(&mut self.cursor.origin, Origin::NONE);
        let written = write(self);
        self.cursor.origin = origin;
        written
    }

    /// Conjunction of conditions, each computed in the outermost preheader where its value is available.
    pub(super) fn emit_conditions(&mut self, conditions: &[StrideCondition]) -> Value {
        // Several accesses may share a condition.
        self.without_origin(|widener| {
            let mut all: Option<Value> = None;
            for condition in conditions {
                let holds = widener.available(widener.conditions.get(condition));
                let holds = holds.unwrap_or_else(|| widener.emit_condition(condition));
                all = Some(match all {
                    None => holds,
                    Some(all) => widener.emit(InstData::plain(Op::And, [all, holds]), None),
                });
            }
            let all = all.unwrap_or_else(|| widener.new.make_bool(true));
            // With an empty mask a value may be poison.
            widener.emit(InstData::plain(Op::Freeze, [all]), None)
        })
    }

    /// One of some equal values that is available in the current block.
    pub(super) fn available(&self, values: Option<&AvailableValues>) -> Option<Value> {
        let mut values = values.into_iter().flatten();
        let (_, value) = values.find(|(from, _)| self.dominators.dominates(*from, self.cursor.block))?;
        Some(*value)
    }

    fn emit_condition(&mut self, condition: &StrideCondition) -> Value {
        let preheader = match condition.bound {
            None => self.preheader(condition.value),
            // The lower of the two: both values are available there.
            Some(bound) => {
                let preheaders = self.preheader(condition.value).zip(self.preheader(bound.value));
                preheaders.map(|(one, other)| if self.dominators.dominates(one, other) { other } else { one })
            }
        };
        let there = self.end_of_preheader(preheader);
        let holds = self.at_cursor(there, |widener| widener.compare_condition(condition));
        self.conditions.entry(*condition).or_default().push((there.block, holds));
        holds
    }

    /// Emits the comparisons of a condition.
    fn compare_condition(&mut self, condition: &StrideCondition) -> Value {
        let mut value = self.scalar(condition.value);
        let scalar = self.new.value_type(value).scalar();
        if condition.width < scalar.bits() {
            let low = self.new.make_const(Constant::int(scalar, (1 << condition.width) - 1));
            value = self.emit(InstData::plain(Op::And, [value, low]), None);
        }
        let [least, greatest] =
            [condition.min, condition.max].map(|number| self.new.make_const(Constant::int(scalar, number)));
        let mut holds = if condition.min == condition.max {
            self.compare(IntPredicate::Eq, value, least)
        } else {
            let (at_least, at_most) = match condition.is_signed {
                true => (IntPredicate::Sge, IntPredicate::Sle),
                false => (IntPredicate::Uge, IntPredicate::Ule),
            };
            match (condition.has_lower_bound(), condition.has_upper_bound()) {
                (true, false) => self.compare(at_least, value, least),
                (false, _) => self.compare(at_most, value, greatest),
                (true, true) => {
                    let above = self.compare(at_least, value, least);
                    let below = self.compare(at_most, value, greatest);
                    self.emit(InstData::plain(Op::And, [above, below]), None)
                }
            }
        };
        if let Some(bound) = condition.bound {
            let limit = self.scalar(bound.value);
            let reach = self.new.make_const(Constant::int(scalar, bound.reach.into()));
            let closest = self.emit(InstData::plain(Op::Add, [value, reach]), None);
            let predicate = match (bound.is_upper, condition.is_signed) {
                (true, true) => IntPredicate::Sle,
                (true, false) => IntPredicate::Ule,
                (false, true) => IntPredicate::Sge,
                (false, false) => IntPredicate::Uge,
            };
            let is_within = self.compare(predicate, closest, limit);
            holds = self.emit(InstData::plain(Op::And, [holds, is_within]), None);
        }
        holds
    }

    /// Inserts an empty block after the current one.
    pub(super) fn new_block(&mut self) -> Block {
        let here = self.current_block();
        self.new.insert_block_after(here)
    }

    /// Wide block at the insertion point.
    pub(super) fn current_block(&self) -> Block {
        match self.cursor.at {
            InsertPoint::End(block) | InsertPoint::Start(block) => block,
            InsertPoint::Before(inst) | InsertPoint::After(inst) => {
                self.new.layout.block_of(inst).expect("code goes where code is")
            }
        }
    }

    /// Continues the current linear block in another wide block.
    pub(super) fn continue_in(&mut self, piece: Block) {
        self.cursor.at = InsertPoint::End(piece);
        self.ends[self.cursor.block] = Some(piece);
    }

    // Instructions.

    fn set_origin(&mut self, inst: Inst) {
        let old = self.old.inst(inst).origin;
        let new = match self.origins[old] {
            Some(new) => new,
            None => self.new.make_origin(self.old.origin(old).without_per_lane_metadata()),
        };
        self.origins[old] = Some(new);
        self.cursor.origin = new;
    }

    /// Sets the origin to the merged origins of several instructions.
    pub(super) fn merge_origins(&mut self, all: impl Iterator<Item = Inst>) {
        let merged = all.map(|inst| self.old.origin(self.old.inst(inst).origin).without_per_lane_metadata());
        if let Some(merged) = merged.reduce(|a, b| a.merged(&b)) {
            self.cursor.origin = self.new.make_origin(merged);
        }
    }

    /// Emits an instruction; `written` is its type where operands don't determine it.
    pub(super) fn insert(&mut self, mut data: InstData, written: Option<Type>) -> Inst {
        data.flags = data.flags.without(Flags::of(&[Flag::Total]));
        data.origin = self.cursor.origin;
        Builder::new(&mut self.new, self.cursor.at).inst(data, written)
    }

    /// Emits an instruction with a single result.
    pub(super) fn emit(&mut self, data: InstData, written: Option<Type>) -> Value {
        let inst = self.insert(data, written);
        self.new.result(inst).expect("the instruction gives one value")
    }

    /// Emits an alloca. Outside of loops it goes to the entry block, where code generators expect static allocas: the
    /// linear block may have been split.
    pub(super) fn emit_object(&mut self, data: InstData) -> Value {
        if self.cycles.innermost(self.cursor.block).is_none() && self.current_block() != self.old.entry() {
            return self.emit_at_entry(data);
        }
        self.emit(data, None)
    }

    /// Emits an alloca that the wide function adds, in the entry block.
    pub(super) fn emit_at_entry(&mut self, data: InstData) -> Value {
        let entry = WideCursor { at: InsertPoint::Start(self.old.entry()), ..self.cursor };
        self.at_cursor(entry, |widener| widener.emit(data, None))
    }

    /// Records the wide value of an instruction's result, as a scalar or a vector by its representation.
    pub(super) fn define(&mut self, inst: Inst, value: Value) {
        let old = self.old.result(inst).expect("the instruction gives one value");
        self.define_value(old, value);
    }

    pub(super) fn define_value(&mut self, old: Value, value: Value) {
        match self.reps.of(old) {
            ValueRep::Vector => self.vectors[old].push((self.cursor.block, value)),
            ValueRep::Scalar(_) => self.scalars[old] = Some(value),
        }
    }

    /// Vector type with an element for each lane.
    pub(super) fn wide_type(&self, ty: Type) -> Type {
        Type::Vector(ty.scalar(), self.lanes)
    }

    // Operands.

    fn constant(&mut self, old: Value) -> Option<Value> {
        let constant = self.old.constant(old)?.clone();
        Some(self.new.make_const(constant))
    }

    /// Scalar of a value: that of the active lanes if it is uniform among them, else lane 0's.
    pub(super) fn scalar(&mut self, old: Value) -> Value {
        if let Some(constant) = self.constant(old) {
            return constant;
        }
        if let Some(scalar) = self.scalars[old] {
            return scalar;
        }
        let vector = self.vector(old);
        // Total values, such as the exit condition of a loop with an empty mask, exist without active lanes.
        let is_total = self.old.def_inst(old).is_some_and(|inst| self.old.inst(inst).is_total());
        let lane = if is_total { self.first_or_last_lane() } else { self.first_lane() };
        self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
    }

    /// Vector of a value.
    pub(super) fn vector(&mut self, old: Value) -> Value {
        let ty = self.wide_type(self.old.value_type(old));
        if let Some(constant) = self.old.constant(old) {
            let constant = match constant {
                Constant::Poison(_) => Constant::Poison(ty),
                Constant::Scalar(_, bits) => Constant::splat(ty, *bits),
                other => {
                    let address = other.clone();
                    let address = self.new.make_const(address);
                    return self.emit(InstData::plain(Op::Splat, [address]), Some(ty));
                }
            };
            return self.new.make_const(constant);
        }
        self.available(Some(&self.vectors[old])).unwrap_or_else(|| self.strided_value(old, ty))
    }

    /// Makes a vector from a scalar, in the outermost preheader where the scalar is available.
    fn strided_value(&mut self, old: Value, ty: Type) -> Value {
        let ValueRep::Scalar(steps) = self.reps.of(old) else {
            unreachable!("a vector comes before its uses")
        };
        let scalar = self.scalars[old].expect("a scalar comes before its uses");
        let (block, vector) = self.in_preheader(old, |widener| widener.strided_vector(scalar, steps, ty));
        if !self.cursor.is_conditional {
            self.vectors[old].push((block, vector));
        }
        vector
    }

    /// Emits code in the outermost preheader where a value is available, or here if code is conditional; also returns the block.
    pub(super) fn in_preheader(
        &mut self,
        old: Value,
        write: impl FnOnce(&mut Self) -> Value,
    ) -> (Block, Value) {
        let preheader = self.preheader(old).filter(|_| !self.cursor.is_conditional);
        let there = self.end_of_preheader(preheader);
        (there.block, self.at_cursor(there, write))
    }

    /// Position at the end of a preheader; the current one if there is none.
    fn end_of_preheader(&self, preheader: Option<Block>) -> WideCursor {
        let end = preheader.and_then(|block| Some((block, self.ends[block]?)));
        match end.and_then(|(block, end)| Some((block, self.new.terminator(end)?))) {
            Some((block, terminator)) => {
                WideCursor { block, at: InsertPoint::Before(terminator), ..self.cursor }
            }
            None => self.cursor,
        }
    }

    /// Preheader of the outermost loop around the current block that doesn't contain the value's definition.
    fn preheader(&self, old: Value) -> Option<Block> {
        let definition = match self.old.value_def(old) {
            ValueDef::Result(inst, _) => self.old.layout.block_of(inst)?,
            _ => self.old.entry(),
        };
        let cycle = self.cycles.outermost_without(self.cursor.block, definition)?;
        self.cycles.preheader(&self.cfg, cycle)
    }

    /// Vector of lane 0's value plus a step for each lane.
    pub(super) fn strided_vector(&mut self, scalar: Value, steps: Steps<i64>, ty: Type) -> Value {
        let offsets = self.offsets(steps);
        self.scalar_plus_offsets(scalar, &offsets, ty)
    }

    /// Vector of a scalar plus an offset for each element.
    pub(super) fn scalar_plus_offsets(&mut self, scalar: Value, offsets: &[i128], ty: Type) -> Value {
        if offsets.iter().all(|&offset| offset == 0) {
            return self.emit(InstData::plain(Op::Splat, [scalar]), Some(ty));
        }
        let kind = ty.scalar();
        let number = if kind.is_ptr() { Scalar::I64 } else { kind };
        let offsets: Vec<u128> = offsets.iter().map(|&offset| offset as u128 & number.bit_mask()).collect();
        let base = self.new.constant(scalar).and_then(|constant| match constant {
            Constant::Scalar(_, bits) => Some(*bits),
            _ => None,
        });
        if let Some(base) = base.filter(|_| !kind.is_ptr()) {
            let all = offsets.iter().map(|offset| base.wrapping_add(*offset) & number.bit_mask()).collect();
            return self.new.make_const(Constant::Vector(number, all));
        }
        let offsets = self.new.make_const(Constant::Vector(number, offsets.into()));
        let splat = self.emit(InstData::plain(Op::Splat, [scalar]), Some(ty));
        let op = if kind.is_ptr() { Op::PtrAdd } else { Op::Add };
        self.emit(InstData::plain(op, [splat, offsets]), None)
    }

    /// Offset of each lane's value from lane 0's.
    pub(super) fn offsets(&self, steps: Steps<i64>) -> Vec<i128> {
        self.reps.offsets(steps)
    }

    /// Constant step between neighbouring lanes, if there is one.
    pub(super) fn lane_step(&self, steps: Steps<i64>) -> Option<i64> {
        self.reps.lane_step(steps)
    }

    /// Emits an integer comparison.
    pub(super) fn compare(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.emit(InstData::new(Op::Icmp, [a, b], heddle_ir::Detail::IntCompare(predicate)), None)
    }
}
