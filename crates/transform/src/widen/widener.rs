//! Walks through a linear function and writes the wide one.

use super::interleave_groups::InterleaveGroups;
use super::private_objects::PrivateObjects;
use super::signature::{wide_name, wide_signature};
use super::structure_groups::StructureGroups;
use super::value_reps::{ValueRep, ValueReps};
use super::{Remark, WidenContext, WidenOptions, Widened, refusal};
use heddle_analysis::shape::Steps;
use heddle_analysis::{Cfg, Condition, CycleForest, Divergence, Dominators};
use heddle_ir::Diagnostic;
use heddle_ir::builder::{At, Builder};
use heddle_ir::entity::SecondaryMap;
use heddle_ir::function::Origin;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::ops::{Effect, Format};
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::words::{Flag, Flags, IntPredicate, Reduction};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Type, Value, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

pub(super) type WidenResult<T = ()> = Result<T, Diagnostic>;

/// What has been decided before.
pub(super) struct WideningPlan<'a> {
    pub(super) reps: &'a ValueReps,
    pub(super) objects: &'a PrivateObjects,
    pub(super) interleave_groups: &'a InterleaveGroups,
    pub(super) structure_groups: &'a StructureGroups,
    pub(super) options: &'a WidenOptions,
}

/// The state of the walk.
pub(super) struct Widener<'a> {
    /// The linear function.
    pub(super) old: &'a Function,
    /// What is known of its lanes.
    pub(super) facts: &'a Divergence,
    pub(super) reps: &'a ValueReps,
    pub(super) objects: &'a PrivateObjects,
    interleave_groups: &'a InterleaveGroups,
    structure_groups: &'a StructureGroups,
    pub(super) options: &'a WidenOptions,
    /// What was chosen, and why.
    pub(super) remarks: Vec<Remark>,
    pub(super) brush: [u32; MAX_DIMENSIONS],
    pub(super) lanes: u16,
    /// The functions around it.
    pub(super) context: &'a WidenContext<'a>,
    /// The wide function.
    pub(super) new: Function,
    /// Where instructions go to now.
    at: At,
    /// The block of the linear function that is being written.
    block: Block,
    /// The last piece of each block that has been written.
    ends: SecondaryMap<Block, Option<Block>>,
    /// Whether code goes behind a branch that the linear function does not have: what is made there stays there.
    in_conditional_code: bool,
    /// The scalar of each value: lane 0's.
    scalars: SecondaryMap<Value, Option<Value>>,
    /// The vectors made of each value, each with the block behind whose start it can be used.
    vectors: SecondaryMap<Value, SmallVec<[(Block, Value); 1]>>,
    /// Per block, whether any lane is active in it.
    any: SecondaryMap<Block, Option<Value>>,
    /// Whether conditions hold, each from where it is known.
    conditions: FxHashMap<Condition, SmallVec<[(Block, Value); 1]>>,
    /// Per block, the first lane that is active in it.
    first: SecondaryMap<Block, Option<Value>>,
    origins: SecondaryMap<Origin, Option<Origin>>,
    origin: Origin,
    cfg: Cfg,
    cycles: CycleForest,
    dominators: Dominators,
}

impl<'a> Widener<'a> {
    pub(super) fn new(
        old: &'a Function,
        facts: &'a Divergence,
        plan: WideningPlan<'a>,
        brush: [u32; MAX_DIMENSIONS],
        context: &'a WidenContext<'a>,
    ) -> Widener<'a> {
        let WideningPlan { reps, objects, interleave_groups, structure_groups, options } = plan;
        let lanes = brush.iter().product::<u32>() as u16;
        let cfg = Cfg::new(old);
        let signature = wide_signature(&old.signature, old.kind, lanes);
        let mut new = Function::new(wide_name(&old.name, &brush), signature);
        new.kind = old.kind;
        for block in old.blocks() {
            new.reserve_block(block);
            new.layout.append_block(block);
        }
        Widener {
            old,
            facts,
            reps,
            objects,
            interleave_groups,
            structure_groups,
            options,
            remarks: Vec::new(),
            brush,
            lanes,
            context,
            new,
            at: At::End(old.entry()),
            block: old.entry(),
            ends: SecondaryMap::new(),
            in_conditional_code: false,
            scalars: SecondaryMap::new(),
            vectors: SecondaryMap::new(),
            any: SecondaryMap::new(),
            conditions: FxHashMap::default(),
            first: SecondaryMap::new(),
            origins: SecondaryMap::new(),
            origin: Origin::NONE,
            cycles: CycleForest::new(&cfg),
            dominators: Dominators::new(&cfg),
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
            self.block = block;
            self.at = At::End(block);
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
        if let Some(written) = self.interleaved_access(inst, self.interleave_groups) {
            return written;
        }
        if let Some(written) = self.structure_load(inst, self.structure_groups) {
            return written;
        }
        let op = self.old.inst(inst).op;
        match op {
            Op::Phi => self.begin_phi(inst),
            Op::Br | Op::Ret | Op::Unreachable | Op::Switch => return self.terminator(inst),
            Op::Alloca => self.alloca(inst),
            Op::Load => return self.load(inst),
            Op::Store => return self.store(inst),
            Op::Memcpy | Op::Memmove | Op::Memset => return self.transfer(inst),
            Op::AtomicRmw | Op::CompareExchange => return self.atomic_update(inst),
            Op::Fence | Op::Barrier => self.synchronize(inst),
            Op::Assume => self.assume(inst),
            Op::Call => return self.call(inst),
            _ if op.info().effect == Effect::Horizontal => self.horizontal(inst),
            _ if op.info().effect == Effect::Traps => self.division(inst),
            _ if op.info().format == Format::Dimension => self.work_item_query(inst),
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

    /// Brings the φs of a block what comes along its edges, now that all blocks are written.
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
                (self.block, self.at) = (from, At::Before(terminator));
                let value = if is_vector { self.vector(value) } else { self.scalar(value) };
                incoming.push((end, value));
            }
            self.complete_phi(new, incoming);
        }
        Ok(())
    }

    /// Gives a φ that was begun what comes along its edges.
    pub(super) fn complete_phi(&mut self, phi: Value, incoming: impl IntoIterator<Item = (Block, Value)>) {
        let inst = self.new.def_inst(phi).expect("a φ gives it");
        let origin = self.new.inst(inst).origin;
        *self.new.inst_mut(inst) = InstData { origin, ..InstData::phi(incoming, None) };
    }

    // Places.

    /// The predicate under which an instruction runs; none if all lanes run it.
    pub(super) fn predicate_of(&self, inst: Inst) -> Option<Value> {
        if self.old.inst(inst).is_total() {
            return None;
        }
        self.old.predicate(self.block)
    }

    /// The lanes that run an instruction, as a mask; none if all do.
    pub(super) fn mask(&mut self, inst: Inst) -> Option<Value> {
        self.predicate_of(inst).map(|predicate| self.vector(predicate))
    }

    /// Whether any lane is active in the block that is being written, where not all are.
    fn any_in_block(&mut self) -> Option<Value> {
        let predicate = self.old.predicate(self.block)?;
        if let Some(any) = self.any[self.block] {
            return Some(any);
        }
        let any = match self.reps.is_uniform(predicate) {
            true => self.scalar(predicate),
            false => {
                let mask = self.vector(predicate);
                self.emit(InstData::plain(Op::Any, [mask]), None)
            }
        };
        if !self.in_conditional_code {
            self.any[self.block] = Some(any);
        }
        Some(any)
    }

    /// Whether any lane runs an instruction, where it may be that none does.
    pub(super) fn any_active_lane(&mut self, inst: Inst) -> Option<Value> {
        self.predicate_of(inst)?;
        self.any_in_block()
    }

    /// The first lane that is active in the block, or lane 0.
    pub(super) fn first_lane(&mut self) -> Value {
        let Some(predicate) = self.old.predicate(self.block) else {
            return self.new.make_int(Scalar::I32, 0);
        };
        if let Some(first) = self.first[self.block] {
            return first;
        }
        let mask = self.vector(predicate);
        let first = self.first_lane_of(mask);
        if !self.in_conditional_code {
            self.first[self.block] = Some(first);
        }
        first
    }

    /// The first lane that is active in the block; the last one if none is.
    fn first_or_last_lane(&mut self) -> Value {
        let Some(predicate) = self.old.predicate(self.block) else { return self.first_lane() };
        let mask = self.vector(predicate);
        let Some(ballot) = self.ballot(mask) else {
            return self.reduce_lane_numbers(mask, Reduction::Umin, self.lanes - 1);
        };
        let scalar = self.new.value_type(ballot).scalar();
        let last = self.new.make_int(scalar, 1 << (self.lanes - 1));
        let some = self.emit(InstData::plain(Op::Or, [ballot, last]), None);
        self.emit(InstData::plain(Op::Cttz, [some]), None)
    }

    /// The last lane of a mask, or the last of all.
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

    /// The first lane of a mask; if it has none, a number that is no lane's.
    pub(super) fn first_lane_of(&mut self, mask: Value) -> Value {
        match self.ballot(mask) {
            Some(ballot) => self.emit(InstData::plain(Op::Cttz, [ballot]), None),
            None => self.reduce_lane_numbers(mask, Reduction::Umin, self.lanes),
        }
    }

    /// A bit for each lane, if there is an integer with room for them.
    fn ballot(&mut self, mask: Value) -> Option<Value> {
        let bits = u32::from(self.lanes).next_power_of_two().max(8);
        let scalar = Scalar::int(bits)?;
        Some(self.emit(InstData::plain(Op::Ballot, [mask]), Some(scalar.into())))
    }

    /// The least or the greatest number of a lane in a mask, or of these.
    fn reduce_lane_numbers(&mut self, mask: Value, by: Reduction, otherwise: u16) -> Value {
        let lanes = self.new.value_type(mask).lanes().unwrap_or(1);
        let ty = Type::Vector(Scalar::I16, lanes);
        let numbers = self.new.make_const(Constant::Vector(Scalar::I16, (0..u128::from(lanes)).collect()));
        let otherwise = self.new.make_const(Constant::splat(ty, otherwise.into()));
        let shown = self.emit(InstData::plain(Op::Select, [mask, numbers, otherwise]), None);
        self.emit(InstData::new(Op::Reduce, [shown], Detail::Reduce(by)), None)
    }

    /// Writes code that only runs if a condition holds, if there is one; gives what it gives, or ⊤.
    pub(super) fn emit_if(
        &mut self,
        condition: Option<Value>,
        write: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let Some(condition) = condition else { return write(self) };
        let before = self.current_block();
        let inside = self.new.insert_block_after(before);
        let behind = self.new.insert_block_after(inside);
        self.insert(InstData::branch(condition, inside, behind), None);
        self.at = At::End(inside);
        let was_conditional = std::mem::replace(&mut self.in_conditional_code, true);
        let values = write(self);
        self.in_conditional_code = was_conditional;
        let end = self.current_block();
        self.insert(InstData::jump(behind), None);
        self.continue_in(behind);
        let join = |value: Value| {
            let ty = self.new.value_type(value);
            let poison = self.new.make_poison(ty);
            self.emit(InstData::phi([(before, poison), (end, value)], None), Some(ty))
        };
        values.into_iter().map(join).collect()
    }

    /// Writes code for where a condition holds, and for where it does not; gives what the one or the other gives.
    pub(super) fn emit_if_else(
        &mut self,
        condition: Value,
        holds: impl FnOnce(&mut Self) -> Vec<Value>,
        fails: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let before = self.current_block();
        let one = self.new.insert_block_after(before);
        let other = self.new.insert_block_after(one);
        let behind = self.new.insert_block_after(other);
        self.insert(InstData::branch(condition, one, other), None);
        let was_conditional = std::mem::replace(&mut self.in_conditional_code, true);
        self.at = At::End(one);
        let ones = holds(self);
        let end_of_one = self.current_block();
        self.insert(InstData::jump(behind), None);
        self.at = At::End(other);
        let others = fails(self);
        let end_of_other = self.current_block();
        self.insert(InstData::jump(behind), None);
        self.in_conditional_code = was_conditional;
        self.continue_in(behind);
        let join = |(one, other): (Value, Value)| {
            let ty = self.new.value_type(one);
            self.emit(InstData::phi([(end_of_one, one), (end_of_other, other)], None), Some(ty))
        };
        ones.into_iter().zip(others).map(join).collect()
    }

    /// Whether conditions hold, each computed in front of the loops that its value does not change in.
    pub(super) fn emit_conditions(&mut self, conditions: &[Condition]) -> Value {
        let mut all: Option<Value> = None;
        for condition in conditions {
            let found = self.conditions.get(condition).into_iter().flatten();
            let mut dominating = found.filter(|(from, _)| self.dominators.dominates(*from, self.block));
            let holds = match dominating.next() {
                Some(&(_, holds)) => holds,
                None => self.emit_condition(condition),
            };
            all = Some(match all {
                None => holds,
                Some(all) => self.emit(InstData::plain(Op::And, [all, holds]), None),
            });
        }
        let all = all.unwrap_or_else(|| self.new.make_bool(true));
        // Where no lane is, a value may be ⊤.
        self.emit(InstData::plain(Op::Freeze, [all]), None)
    }

    fn emit_condition(&mut self, condition: &Condition) -> Value {
        let (block, at) = (self.block, self.at);
        let home = match condition.bound {
            None => self.preheader(condition.value),
            // Where both are known.
            Some(bound) => {
                let homes = self.preheader(condition.value).zip(self.preheader(bound.value));
                homes.map(|(one, other)| if self.dominators.dominates(one, other) { other } else { one })
            }
        };
        if let Some(preheader) = home
            && let Some(terminator) = self.ends[preheader].and_then(|end| self.new.terminator(end))
        {
            (self.block, self.at) = (preheader, At::Before(terminator));
        }
        let mut value = self.scalar(condition.value);
        let scalar = self.new.value_type(value).scalar();
        if condition.width < scalar.bits() {
            let low = self.new.make_const(Constant::int(scalar, (1 << condition.width) - 1));
            value = self.emit(InstData::plain(Op::And, [value, low]), None);
        }
        let [least, greatest] = [condition.least, condition.greatest]
            .map(|number| self.new.make_const(Constant::int(scalar, number)));
        let mut holds = if condition.least == condition.greatest {
            self.compare(IntPredicate::Eq, value, least)
        } else {
            let (at_least, at_most) = match condition.is_signed {
                true => (IntPredicate::Sge, IntPredicate::Sle),
                false => (IntPredicate::Uge, IntPredicate::Ule),
            };
            match (condition.has_least(), condition.has_greatest()) {
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
            let predicate = match (bound.is_greatest, condition.is_signed) {
                (true, true) => IntPredicate::Sle,
                (true, false) => IntPredicate::Ule,
                (false, true) => IntPredicate::Sge,
                (false, false) => IntPredicate::Uge,
            };
            let is_within = self.compare(predicate, closest, limit);
            holds = self.emit(InstData::plain(Op::And, [holds, is_within]), None);
        }
        self.conditions.entry(*condition).or_default().push((self.block, holds));
        (self.block, self.at) = (block, at);
        holds
    }

    /// Starts a piece of the block behind what has been written of it.
    pub(super) fn new_block(&mut self) -> Block {
        let here = self.current_block();
        self.new.insert_block_after(here)
    }

    /// The piece of a block that is being written.
    pub(super) fn current_block(&self) -> Block {
        match self.at {
            At::End(block) | At::Start(block) => block,
            At::Before(inst) | At::After(inst) => {
                self.new.layout.block_of(inst).expect("code goes where code is")
            }
        }
    }

    /// The block goes on in another piece.
    pub(super) fn continue_in(&mut self, piece: Block) {
        self.at = At::End(piece);
        self.ends[self.block] = Some(piece);
    }

    // Instructions.

    fn set_origin(&mut self, inst: Inst) {
        let old = self.old.inst(inst).origin;
        let new = match self.origins[old] {
            Some(new) => new,
            None => self.new.make_origin(self.old.origin(old).of_all_lanes()),
        };
        self.origins[old] = Some(new);
        self.origin = new;
    }

    /// What is written comes from several instructions.
    pub(super) fn merge_origins(&mut self, all: impl Iterator<Item = Inst>) {
        let merged = all.map(|inst| self.old.origin(self.old.inst(inst).origin).of_all_lanes());
        if let Some(merged) = merged.reduce(|a, b| a.merged(&b)) {
            self.origin = self.new.make_origin(merged);
        }
    }

    /// Writes an instruction.
    pub(super) fn insert(&mut self, mut data: InstData, written: Option<Type>) -> Inst {
        data.flags = data.flags.without(Flags::of(&[Flag::Total]));
        data.origin = self.origin;
        Builder::new(&mut self.new, self.at).inst(data, written)
    }

    /// Writes an instruction that gives one value.
    pub(super) fn emit(&mut self, data: InstData, written: Option<Type>) -> Value {
        let inst = self.insert(data, written);
        self.new.result(inst).expect("the instruction gives one value")
    }

    /// Writes what makes an object. What is made once is made at the entry, where code generators expect what is part of the
    /// frame: a block of the linear function may have become several.
    pub(super) fn emit_object(&mut self, data: InstData) -> Value {
        let (entry, at) = (self.old.entry(), self.at);
        if self.cycles.innermost(self.block).is_none() && self.current_block() != entry {
            self.at = At::Start(entry);
        }
        let object = self.emit(data, None);
        self.at = at;
        object
    }

    /// Writes what makes an object that the wide function has for itself, once.
    pub(super) fn emit_at_entry(&mut self, data: InstData) -> Value {
        let at = std::mem::replace(&mut self.at, At::Start(self.old.entry()));
        let object = self.emit(data, None);
        self.at = at;
        object
    }

    /// What an instruction of the linear function gives, by its kind.
    pub(super) fn define(&mut self, inst: Inst, value: Value) {
        let old = self.old.result(inst).expect("the instruction gives one value");
        self.define_value(old, value);
    }

    pub(super) fn define_value(&mut self, old: Value, value: Value) {
        match self.reps.of(old) {
            ValueRep::Vector => self.vectors[old].push((self.block, value)),
            ValueRep::Scalar(_) => self.scalars[old] = Some(value),
        }
    }

    /// The type of all lanes together.
    pub(super) fn wide_type(&self, ty: Type) -> Type {
        Type::Vector(ty.scalar(), self.lanes)
    }

    // Operands.

    fn constant(&mut self, old: Value) -> Option<Value> {
        let constant = self.old.constant(old)?.clone();
        Some(self.new.make_const(constant))
    }

    /// A value as a scalar: that of the lanes that are active here, if they share it, else lane 0's.
    pub(super) fn scalar(&mut self, old: Value) -> Value {
        if let Some(constant) = self.constant(old) {
            return constant;
        }
        if let Some(scalar) = self.scalars[old] {
            return scalar;
        }
        let vector = self.vector(old);
        // What is computed in all lanes, such as the way out of a loop that no lane is in, is there without them.
        let is_total = self.old.def_inst(old).is_some_and(|inst| self.old.inst(inst).is_total());
        let lane = if is_total { self.first_or_last_lane() } else { self.first_lane() };
        self.emit(InstData::plain(Op::Extract, [vector, lane]), None)
    }

    /// A value as a vector.
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
        let found = self.vectors[old].iter().find(|(from, _)| self.dominators.dominates(*from, self.block));
        if let Some(&(_, vector)) = found {
            return vector;
        }
        self.strided_value(old, ty)
    }

    /// Makes a vector of a scalar, in front of the loops that it does not change in.
    fn strided_value(&mut self, old: Value, ty: Type) -> Value {
        let ValueRep::Scalar(steps) = self.reps.of(old) else {
            unreachable!("a vector comes before its uses")
        };
        let scalar = self.scalars[old].expect("a scalar comes before its uses");
        let (block, at) = (self.block, self.at);
        if !self.in_conditional_code
            && let Some(preheader) = self.preheader(old)
            && let Some(terminator) = self.ends[preheader].and_then(|end| self.new.terminator(end))
        {
            (self.block, self.at) = (preheader, At::Before(terminator));
        }
        let vector = self.strided_vector(scalar, steps, ty);
        if !self.in_conditional_code {
            self.vectors[old].push((self.block, vector));
        }
        (self.block, self.at) = (block, at);
        vector
    }

    /// The block before the outermost loop around here that a value comes into from outside.
    fn preheader(&self, old: Value) -> Option<Block> {
        let home = match self.old.value_def(old) {
            ValueDef::Result(inst, _) => self.old.layout.block_of(inst)?,
            _ => self.old.entry(),
        };
        let cycle = self.cycles.outermost_without(self.block, home)?;
        self.cycles.preheader(&self.cfg, cycle)
    }

    /// The vector of lane 0's number and steps from lane to lane.
    pub(super) fn strided_vector(&mut self, scalar: Value, steps: Steps<i64>, ty: Type) -> Value {
        if steps == Steps::default() {
            return self.emit(InstData::plain(Op::Splat, [scalar]), Some(ty));
        }
        let kind = ty.scalar();
        let number = if kind.is_ptr() { Scalar::I64 } else { kind };
        let offsets: Vec<u128> =
            self.offsets(steps).into_iter().map(|offset| offset as u128 & number.bit_mask()).collect();
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

    /// How far each lane is from lane 0.
    pub(super) fn offsets(&self, steps: Steps<i64>) -> Vec<i128> {
        self.reps.offsets(steps)
    }

    /// The step from each lane to the next, if it is always the same.
    pub(super) fn lane_step(&self, steps: Steps<i64>) -> Option<i64> {
        self.reps.lane_step(steps)
    }

    /// A comparison of integers.
    pub(super) fn compare(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.emit(InstData::new(Op::Icmp, [a, b], heddle_ir::Detail::IntCompare(predicate)), None)
    }
}
