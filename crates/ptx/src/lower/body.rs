//! Lowering of a body: SSA construction over slots, in dominator tree order.
//!
//! Invariant: [`FunctionLowering::effects`] lists all slots that an instruction reads and writes, so φs are placed
//! wherever values meet.

use super::emit::IrEmitter;
use super::flow::{PtxBlock, PtxCfg, PtxTerminator, is_named_param, operation, split_blocks};
use super::meeting::BarrierMeeting;
use super::product::has_many_products;
use super::{CLOCK, LAUNCH, LowerResult, LoweringContext, PtxRefusal, WORKSPACE, layout, refuse};
use crate::check::{
    ParamLocation, Reg, ResolvedBody, ResolvedInst, ResolvedOperand, ResolvedStatement, SpecialRegister,
    VarRef,
};
use crate::module::NumberValue;
use crate::operation::{IntegerOp, PtxOperation};
use crate::table::{self, OperandRole};
use crate::words::Word;
use heddle_ir::entity::Entity as _;
use heddle_ir::function::{Origin, OriginData, SourceLoc};
use heddle_ir::inst::{Access, Detail, InstData, SwitchDetail};
use heddle_ir::module::Declaration;
use heddle_ir::words::{AtomicOrdering, Flags, IntPredicate, Rmw, SyncScope};
use heddle_ir::{Block, Function, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashMap;

/// Slots of a parameter: the first one, their type, their number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParamSlots {
    pub(crate) first: usize,
    pub(crate) scalar: Scalar,
    pub(crate) count: usize,
}

/// State of the lowering of a function.
pub(crate) struct FunctionLowering<'c, 'a, 's> {
    pub(crate) cx: &'c LoweringContext<'a, 's>,
    pub(crate) body: &'c ResolvedBody<'a, 's>,
    pub(crate) emit: IrEmitter,
    /// Type of each slot.
    pub(crate) slots: Vec<Scalar>,
    /// Slots of each parameter, by number of its variable.
    pub(crate) params: FxHashMap<u32, ParamSlots>,
    pub(crate) carry: usize,
    pub(crate) current: Vec<Option<Value>>,
    /// Undo log of `current` for the blocks on the dominator tree path.
    undo_log: Vec<(usize, Option<Value>)>,
    /// Objects of variables in local memory.
    pub(crate) objects: FxHashMap<u32, Value>,
    /// Objects of parameters whose address is taken.
    pub(crate) addressed: FxHashMap<u32, Value>,
    /// Condition under which instructions write their slots.
    pub(crate) guard: Option<Value>,
    /// Hub of the kernel's barriers, if its threads may wait apart.
    pub(crate) meeting: Option<BarrierMeeting>,
    /// True if products of matrices are calls.
    pub(crate) calls_products: bool,
}

/// Lowers a body. An error has the offset in the source.
pub(crate) fn lower_body<'a, 's>(
    cx: &LoweringContext<'a, 's>,
    body: &ResolvedBody<'a, 's>,
    declaration: &Declaration,
) -> Result<Function, (usize, PtxRefusal)> {
    let at = body.function.at;
    let mut func = Function::new(declaration.name.clone(), declaration.signature.clone());
    func.kind = declaration.kind;
    let mut ptx_blocks = split_blocks(body);
    let entry = func.new_block();
    let emit = IrEmitter { func, block: entry, origin: Origin::NONE, broken: None };
    let mut lower = FunctionLowering {
        cx,
        body,
        emit,
        slots: Vec::new(),
        params: FxHashMap::default(),
        carry: 0,
        current: Vec::new(),
        undo_log: Vec::new(),
        objects: FxHashMap::default(),
        addressed: FxHashMap::default(),
        guard: None,
        meeting: None,
        calls_products: has_many_products(body),
    };
    lower.make_slots().map_err(|refusal| (at, refusal))?;
    lower.plan_meeting(&mut ptx_blocks);
    let mut blocks = vec![entry];
    blocks.extend((1..ptx_blocks.len()).map(|_| lower.emit.func.new_block()));
    lower.run(&ptx_blocks, &blocks)?;
    if let Some(reason) = lower.emit.broken {
        let refusal = PtxRefusal {
            reason: format!("internal error: type mismatch ({reason})"),
            help: "please report it, with this file".into(),
        };
        return Err((at, refusal));
    }
    Ok(lower.emit.func)
}

impl FunctionLowering<'_, '_, '_> {
    fn make_slots(&mut self) -> LowerResult<()> {
        self.slots = self.body.regs.values().map(|&ty| layout::scalar(ty)).collect();
        for (index, variable) in self.body.vars.iter().enumerate() {
            if variable.space == Word::Param {
                let (scalar, count) = layout::param_words(variable)?;
                let words = ParamSlots { first: self.slots.len(), scalar, count: count as usize };
                self.params.insert(index as u32, words);
                self.slots.extend(std::iter::repeat_n(scalar, words.count));
            }
        }
        self.carry = self.slots.len();
        self.slots.push(Scalar::I1);
        self.current = vec![None; self.slots.len()];
        Ok(())
    }

    // Slots.

    pub(crate) fn get(&mut self, slot: usize) -> Value {
        match self.current[slot] {
            Some(value) => value,
            None => self.emit.func.make_poison(Type::Scalar(self.slots[slot])),
        }
    }

    /// Writes a slot. Under a guard, selects between the new and the old value.
    pub(crate) fn set(&mut self, slot: usize, value: Value) {
        let value = match self.guard {
            Some(guard) => {
                let old = self.get(slot);
                self.emit.select(guard, value, old)
            }
            None => value,
        };
        self.undo_log.push((slot, self.current[slot]));
        self.current[slot] = Some(value);
    }

    /// Reports the slots that an instruction reads, and those that it writes.
    pub(crate) fn effects(
        &self,
        inst: &ResolvedInst,
        guarded: bool,
        read: &mut dyn FnMut(usize),
        write: &mut dyn FnMut(usize),
    ) {
        let operation = operation(inst);
        let choice = inst.guard.filter(|_| !guarded);
        if let Some((guard, _)) = choice {
            read(guard.index());
        }
        let is_call = operation == PtxOperation::Call;
        let specs = table::specs(inst.form);
        for (index, arg) in inst.args.iter().enumerate() {
            let role = specs.get(index).map(|spec| spec.role);
            let is_dest = match role {
                _ if is_call => index == 0 && matches!(arg, ResolvedOperand::List(_)) && inst.args.len() > 1,
                _ => specs.get(index).is_some_and(|spec| spec.is_dest),
            };
            if role == Some(OperandRole::Memory) && is_named_param(inst) {
                let ResolvedOperand::Address { base, offset } = arg else { continue };
                let ResolvedOperand::Variable(VarRef::Local(var), more) = **base else { continue };
                let Some(words) = self.params.get(&var) else { continue };
                let bytes = access_bytes(inst);
                let (overlapped_slots, whole) = overlapped_slots(*words, offset.wrapping_add(more), bytes);
                for slot in overlapped_slots {
                    if operation == PtxOperation::Ld || !whole || choice.is_some() {
                        read(slot);
                    }
                    if operation == PtxOperation::St {
                        write(slot);
                    }
                }
                continue;
            }
            let mut one = |arg: &ResolvedOperand| match arg {
                ResolvedOperand::Reg(reg) | ResolvedOperand::Not(reg) => {
                    if is_dest {
                        if choice.is_some() {
                            read(reg.index());
                        }
                        write(reg.index());
                    } else {
                        read(reg.index());
                    }
                }
                ResolvedOperand::Pair(first, second) => {
                    for reg in [first, second].into_iter().flatten() {
                        if choice.is_some() {
                            read(reg.index());
                        }
                        write(reg.index());
                    }
                }
                ResolvedOperand::Address { base, .. } => {
                    if let ResolvedOperand::Reg(reg) = **base {
                        read(reg.index());
                    }
                }
                ResolvedOperand::Variable(VarRef::Local(var), _) if is_call => {
                    if let Some(words) = self.params.get(var) {
                        for slot in words.first..words.first + words.count {
                            if is_dest { write(slot) } else { read(slot) }
                        }
                    }
                }
                _ => {}
            };
            match arg {
                ResolvedOperand::Vector(parts) | ResolvedOperand::List(parts) => parts.iter().for_each(one),
                arg => one(arg),
            }
        }
        if matches!(operation, PtxOperation::Integer(IntegerOp::Addc | IntegerOp::Subc | IntegerOp::Madc)) {
            read(self.carry);
        }
        if inst.words.contains(&Word::Cc) {
            if choice.is_some() {
                read(self.carry);
            }
            write(self.carry);
        }
    }

    /// Returns the slots of the results.
    fn returned(&self) -> Vec<usize> {
        self.body.results.iter().flat_map(|&location| self.slots_of(location)).collect()
    }

    fn slots_of(&self, location: ParamLocation) -> std::ops::Range<usize> {
        match location {
            ParamLocation::Reg(reg) => reg.index()..reg.index() + 1,
            ParamLocation::Var(var) => {
                self.params.get(&var).map_or(0..0, |words| words.first..words.first + words.count)
            }
        }
    }

    /// Computes the slots that each block reads before it writes them, and those that it writes.
    fn block_effects(&self, ptx_blocks: &[PtxBlock]) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut read_in = vec![usize::MAX; self.slots.len()];
        let mut written_in = vec![usize::MAX; self.slots.len()];
        let returned = self.returned();
        let mut all = Vec::with_capacity(ptx_blocks.len());
        for (block, ptx_block) in ptx_blocks.iter().enumerate() {
            let mut reads = Vec::new();
            let mut writes = Vec::new();
            let mut now = Vec::new();
            let mut note = |slot: usize| {
                reads.push(slot);
                read_in[slot] = block;
            };
            self.resumption_effects(ptx_block, &mut note, &mut |slot| now.push(slot));
            for slot in now.drain(..) {
                if written_in[slot] != block {
                    written_in[slot] = block;
                    writes.push(slot);
                }
            }
            for step in &self.body.steps[ptx_block.steps.clone()] {
                let ResolvedStatement::Inst(inst) = step else { continue };
                let mut note = |slot: usize| {
                    if written_in[slot] != block && read_in[slot] != block {
                        read_in[slot] = block;
                        reads.push(slot);
                    }
                };
                self.effects(inst, ptx_block.guarded, &mut note, &mut |slot| now.push(slot));
                for slot in now.drain(..) {
                    if written_in[slot] != block {
                        written_in[slot] = block;
                        writes.push(slot);
                    }
                }
            }
            let mut note = |slot: usize| {
                if written_in[slot] != block && read_in[slot] != block {
                    read_in[slot] = block;
                    reads.push(slot);
                }
            };
            match &ptx_block.end {
                PtxTerminator::Branch { guard, .. } => note(guard.index()),
                PtxTerminator::Switch { step, .. } => {
                    if let ResolvedStatement::Inst(inst) = &self.body.steps[*step]
                        && let Some(ResolvedOperand::Reg(reg)) = inst.args.first()
                    {
                        note(reg.index());
                    }
                }
                PtxTerminator::Return => returned.iter().for_each(|&slot| note(slot)),
                PtxTerminator::Wait { step, .. } => {
                    self.arrival_effects(*step, &mut note, &mut |slot| now.push(slot));
                }
                PtxTerminator::Meet { .. } => self.hub_effects(&mut note, &mut |slot| now.push(slot)),
                PtxTerminator::Jump(_) | PtxTerminator::Stuck => {}
            }
            for slot in now.drain(..) {
                if written_in[slot] != block {
                    written_in[slot] = block;
                    writes.push(slot);
                }
            }
            all.push((reads, writes));
        }
        // Parameters and the objects of local memory are defined at the entry.
        let entry = &mut all[0].1;
        entry.extend(self.incoming());
        entry.extend(self.meeting.iter().flat_map(BarrierMeeting::slots));
        entry.sort_unstable();
        entry.dedup();
        all
    }

    /// Returns the slots of the parameters, in order.
    fn incoming(&self) -> Vec<usize> {
        self.body.params.iter().flat_map(|&location| self.slots_of(location)).collect()
    }

    // Blocks.

    fn run(&mut self, ptx_blocks: &[PtxBlock], blocks: &[Block]) -> Result<(), (usize, PtxRefusal)> {
        let graph = PtxCfg::new(ptx_blocks);
        let effects = self.block_effects(ptx_blocks);
        let joins = graph.joins(self.slots.len(), &effects);
        let mut reached = vec![false; ptx_blocks.len()];
        graph.order.iter().for_each(|&block| reached[block] = true);
        for (index, &block) in blocks.iter().enumerate() {
            if reached[index] {
                self.emit.func.layout.append_block(block);
            }
        }
        let mut phis: Vec<Vec<heddle_ir::Inst>> = vec![Vec::new(); ptx_blocks.len()];
        for &block in &graph.order {
            for &slot in &joins[block] {
                let data = InstData::phi([], None);
                let phi = self.emit.func.make_inst(data, &[Type::Scalar(self.slots[slot])]);
                self.emit.func.layout.append_inst(phi, blocks[block]);
                phis[block].push(phi);
            }
        }
        let mut edges: Vec<Vec<(Block, Vec<Value>)>> = vec![Vec::new(); ptx_blocks.len()];
        let params = self.emit.func.params().to_vec();
        for (slot, value) in self.incoming().into_iter().zip(params) {
            let value = self.in_slot(value, slot);
            self.current[slot] = Some(value);
        }
        self.emit.block = blocks[0];
        self.local_objects().map_err(|refusal| (self.body.function.at, refusal))?;
        self.addressed_params();
        self.clear_reserved();
        self.begin_meeting();

        // Walks the dominator tree; the mark restores the slots when a subtree is done.
        let mut stack = vec![(0, None)];
        while let Some((block, mark)) = stack.pop() {
            if let Some(mark) = mark {
                for (slot, value) in self.undo_log.drain(mark..).rev() {
                    self.current[slot] = value;
                }
                continue;
            }
            stack.push((block, Some(self.undo_log.len())));
            self.emit.block = blocks[block];
            for (&slot, &phi) in joins[block].iter().zip(&phis[block]) {
                let value = self.emit.func.result(phi);
                self.undo_log.push((slot, self.current[slot]));
                self.current[slot] = value;
            }
            self.block(&ptx_blocks[block], blocks)?;
            for target in ptx_blocks[block].end.targets() {
                let values = joins[target].iter().map(|&slot| self.get(slot)).collect();
                edges[target].push((blocks[block], values));
            }
            stack.extend(graph.children[block].iter().map(|&child| (child, None)));
        }
        for &block in &graph.order {
            for (index, &phi) in phis[block].iter().enumerate() {
                let incoming = edges[block].iter().map(|(from, values)| (*from, values[index]));
                let data = InstData::phi(incoming, None);
                let phi = self.emit.func.inst_mut(phi);
                phi.args = data.args;
                phi.detail = data.detail;
            }
        }
        Ok(())
    }

    fn block(&mut self, ptx_block: &PtxBlock, blocks: &[Block]) -> Result<(), (usize, PtxRefusal)> {
        let body = self.body;
        if let Some(step) = ptx_block.resumes
            && let ResolvedStatement::Inst(inst) = &body.steps[step]
        {
            self.set_origin(inst);
            self.resume(inst);
        }
        for step in &body.steps[ptx_block.steps.clone()] {
            let ResolvedStatement::Inst(inst) = step else { continue };
            self.set_origin(inst);
            self.guard = match inst.guard.filter(|_| !ptx_block.guarded) {
                Some((guard, negated)) => {
                    let value = self.get(guard.index());
                    Some(if negated { self.emit.not(value) } else { value })
                }
                None => None,
            };
            self.instruction(inst).map_err(|refusal| (inst.at, refusal))?;
            self.guard = None;
        }
        match &ptx_block.end {
            PtxTerminator::Jump(target) => {
                self.emit.inst(InstData::jump(blocks[*target]), None);
            }
            PtxTerminator::Branch { guard, negated, then, otherwise } => {
                let condition = self.get(guard.index());
                let (then, otherwise) = if *negated { (otherwise, then) } else { (then, otherwise) };
                self.emit.inst(InstData::branch(condition, blocks[*then], blocks[*otherwise]), None);
            }
            PtxTerminator::Switch { step, targets, default } => {
                let ResolvedStatement::Inst(inst) = &body.steps[*step] else { return Ok(()) };
                let index = self.read(&inst.args[0], Word::U32).map_err(|refusal| (inst.at, refusal))?;
                let mut switch = SwitchDetail { cases: Vec::new(), targets: vec![blocks[*default]] };
                for (number, &target) in targets.iter().enumerate() {
                    switch.cases.push(number as u128);
                    switch.targets.push(blocks[target]);
                }
                self.emit.inst(InstData::new(Op::Switch, [index], Detail::Switch(Box::new(switch))), None);
            }
            PtxTerminator::Wait { step, is_yield, site, hub } => {
                let ResolvedStatement::Inst(inst) = &body.steps[*step] else { return Ok(()) };
                self.set_origin(inst);
                self.arrive_at_hub(inst, *is_yield, *site).map_err(|refusal| (inst.at, refusal))?;
                self.emit.inst(InstData::jump(blocks[*hub]), None);
            }
            PtxTerminator::Meet { resumed, hub, stuck } => {
                let next = self.meet(resumed.len());
                let mut switch = SwitchDetail { cases: Vec::new(), targets: vec![blocks[*hub]] };
                for (number, &target) in resumed.iter().chain([stuck]).enumerate() {
                    switch.cases.push(number as u128);
                    switch.targets.push(blocks[target]);
                }
                self.emit.inst(InstData::new(Op::Switch, [next], Detail::Switch(Box::new(switch))), None);
            }
            PtxTerminator::Stuck => {
                self.report_stuck();
                self.emit.inst(InstData::plain(Op::Ret, []), None);
            }
            PtxTerminator::Return => {
                self.leave_meeting();
                let values: Vec<Value> = self.returned().into_iter().map(|slot| self.get(slot)).collect();
                self.emit.inst(InstData::plain(Op::Ret, values), None);
            }
        }
        Ok(())
    }

    fn set_origin(&mut self, inst: &ResolvedInst) {
        let loc_of_source = inst.loc.and_then(|[file, line, column]| {
            let file = *self.cx.files.get(&file)?;
            (line > 0).then_some(SourceLoc { file, line, column })
        });
        let loc = loc_of_source.unwrap_or_else(|| {
            let (line, column) = self.cx.line(inst.at);
            SourceLoc { file: self.cx.own_file, line, column }
        });
        self.emit.origin = self.emit.func.make_origin(OriginData { loc: Some(loc), ..OriginData::default() });
    }

    fn local_objects(&mut self) -> LowerResult<()> {
        for (index, variable) in self.body.vars.iter().enumerate() {
            if variable.space != Word::Local {
                continue;
            }
            let Some(bytes) = variable.bytes() else {
                return refuse("local variable without a fixed size", "declare a size");
            };
            let align = variable.alignment() as u32;
            let object =
                self.emit.value(InstData::new(Op::Alloca, [], Detail::Alloca { bytes, align }), None);
            self.objects.insert(index as u32, object);
        }
        Ok(())
    }

    /// Stores parameters whose address is taken to objects as well. They are read-only, so named accesses still use the value.
    fn addressed_params(&mut self) {
        let body = self.body;
        let mut taken = vec![false; body.vars.len()];
        for step in &body.steps {
            let ResolvedStatement::Inst(inst) = step else { continue };
            if operation(inst) == PtxOperation::Call || is_named_param(inst) {
                continue;
            }
            let mut one = |arg: &ResolvedOperand| {
                let arg = if let ResolvedOperand::Address { base, .. } = arg { base } else { arg };
                if let ResolvedOperand::Variable(VarRef::Local(index), _) = arg {
                    taken[*index as usize] = true;
                }
            };
            for arg in &inst.args {
                match arg {
                    ResolvedOperand::Vector(parts) => parts.iter().for_each(&mut one),
                    arg => one(arg),
                }
            }
        }
        for &location in &body.params {
            let ParamLocation::Var(index) = location else { continue };
            let Some(&words) = self.params.get(&index).filter(|_| taken[index as usize]) else { continue };
            let width = words.scalar.bytes();
            let bytes = u64::from(width) * words.count as u64;
            let align = (body.vars[index as usize].alignment() as u32).max(width);
            let alloca = InstData::new(Op::Alloca, [], Detail::Alloca { bytes, align });
            let object = self.emit.value(alloca, None);
            for word in 0..words.count {
                let value = self.get(words.first + word);
                let address = self.emit.add_bytes(object, i64::from(width) * word as i64);
                self.emit.store(value, address, Access::aligned(width), Flags::NONE);
            }
            self.addressed.insert(index, object);
        }
    }

    // Operands.

    /// Converts a value to the type of a slot.
    fn in_slot(&mut self, value: Value, slot: usize) -> Value {
        let to = self.slots[slot];
        self.converted(value, to, false)
    }

    /// Converts a value to another type of the same bits; truncates or extends if the width differs.
    pub(crate) fn converted(&mut self, value: Value, to: Scalar, signed: bool) -> Value {
        let from = self.emit.scalar(value);
        if from == to {
            return value;
        }
        let value = match from {
            Scalar::Ptr(_) => self.number_of(value),
            _ => self.emit.as_int(value),
        };
        match to {
            Scalar::Ptr(space) => {
                let value = self.emit.resize(value, Scalar::I64, signed);
                self.pointer_of(value, space)
            }
            _ => {
                let value = self.emit.resize(value, layout::int(to.bits()), signed);
                self.emit.bitcast(value, to)
            }
        }
    }

    /// Returns a source operand as a value of this type.
    pub(crate) fn read(&mut self, arg: &ResolvedOperand, ty: Word) -> LowerResult<Value> {
        let to = layout::scalar(ty);
        Ok(match arg {
            ResolvedOperand::Reg(reg) => {
                let value = self.get(reg.index());
                self.converted(value, to, false)
            }
            ResolvedOperand::Not(reg) => {
                let value = self.get(reg.index());
                self.emit.not(value)
            }
            ResolvedOperand::Number(number) => self.number(*number, to)?,
            ResolvedOperand::Special(special) => {
                let value = self.special(*special);
                let value = self.emit.resize(value, layout::int(to.bits()), false);
                self.emit.bitcast(value, to)
            }
            ResolvedOperand::Variable(var, offset) => {
                let value = self.variable_number(*var, *offset)?;
                self.emit.resize(value, layout::int(to.bits()), false)
            }
            ResolvedOperand::Function(index) => {
                let address = self.cx.addresses.of_item(*index);
                let value = self.emit.int(Scalar::I64, address.into());
                self.emit.resize(value, layout::int(to.bits()), false)
            }
            _ => return refuse("operand without a value", "write a register or a constant"),
        })
    }

    pub(crate) fn number(&mut self, number: NumberValue, to: Scalar) -> LowerResult<Value> {
        let bits = match (number, to) {
            (NumberValue::Int(value), Scalar::I1) => u128::from(value != 0),
            (NumberValue::Int(value), Scalar::I128) => value as i64 as i128 as u128,
            (NumberValue::Int(value), _) => u128::from(value),
            (NumberValue::Single(bits), Scalar::F64) => f64::from(f32::from_bits(bits)).to_bits().into(),
            (NumberValue::Single(bits), _) => bits.into(),
            (NumberValue::Double(bits), Scalar::F32) => (f64::from_bits(bits) as f32).to_bits().into(),
            (NumberValue::Double(_), Scalar::F16 | Scalar::BF16) => {
                return refuse("unsupported constant for a half", "write its bits: `0x3C00`");
            }
            (NumberValue::Double(bits), _) => bits.into(),
        };
        Ok(self.emit.bits(to, bits))
    }

    /// Writes a destination. A wider register is zero- or sign-extended.
    pub(crate) fn write(&mut self, arg: &ResolvedOperand, value: Value, signed: bool) {
        if let ResolvedOperand::Reg(reg) | ResolvedOperand::Pair(Some(reg), _) = arg {
            self.write_reg(*reg, value, signed);
        }
    }

    pub(crate) fn write_reg(&mut self, reg: Reg, value: Value, signed: bool) {
        let slot = reg.index();
        let value = self.converted(value, self.slots[slot], signed);
        self.set(slot, value);
    }

    /// Writes the predicate after `|`.
    pub(crate) fn write_second(&mut self, arg: &ResolvedOperand, value: impl FnOnce(&mut Self) -> Value) {
        if let ResolvedOperand::Pair(_, Some(reg)) = arg {
            let value = value(self);
            self.write_reg(*reg, value, false);
        }
    }

    fn special(&mut self, special: SpecialRegister) -> Value {
        let e = &mut self.emit;
        match special {
            SpecialRegister::Tid(dimension) => e.query(Op::LocalId, Some(dimension)),
            SpecialRegister::Ntid(dimension) => e.query(Op::LocalSize, Some(dimension)),
            SpecialRegister::Ctaid(dimension) => e.query(Op::GroupId, Some(dimension)),
            SpecialRegister::Nctaid(dimension) => e.query(Op::NumGroups, Some(dimension)),
            SpecialRegister::Laneid => e.query(Op::Lane, None),
            SpecialRegister::Warpid => {
                let index = self.linear_id();
                let by = self.emit.int32(5);
                self.emit.op(Op::Lshr, &[index, by])
            }
            SpecialRegister::Nwarpid => {
                let size = self.group_size();
                let (more, by) = (self.emit.int32(31), self.emit.int32(5));
                let size = self.emit.op(Op::Add, &[size, more]);
                self.emit.op(Op::Lshr, &[size, by])
            }
            SpecialRegister::LanemaskEq
            | SpecialRegister::LanemaskLt
            | SpecialRegister::LanemaskLe
            | SpecialRegister::LanemaskGt
            | SpecialRegister::LanemaskGe => {
                let lane = e.query(Op::Lane, None);
                let one = e.int32(1);
                let own = e.op(Op::Shl, &[one, lane]);
                let below = e.op(Op::Sub, &[own, one]);
                match special {
                    SpecialRegister::LanemaskEq => own,
                    SpecialRegister::LanemaskLt => below,
                    SpecialRegister::LanemaskLe => e.op(Op::Or, &[below, own]),
                    SpecialRegister::LanemaskGe => e.not(below),
                    _ => {
                        let up_to = e.op(Op::Or, &[below, own]);
                        e.not(up_to)
                    }
                }
            }
            SpecialRegister::Clock => {
                let ticks = self.ticks();
                self.emit.resize(ticks, Scalar::I32, false)
            }
            SpecialRegister::ClockHi => {
                let ticks = self.ticks();
                let by = self.emit.int(Scalar::I64, 32);
                let ticks = self.emit.op(Op::Lshr, &[ticks, by]);
                self.emit.resize(ticks, Scalar::I32, false)
            }
            SpecialRegister::Clock64 => self.ticks(),
            SpecialRegister::Smid | SpecialRegister::Gridid => e.int32(0),
            SpecialRegister::Nsmid => e.int32(1),
            SpecialRegister::DynamicSharedSize => self.dynamic_shared(),
            SpecialRegister::TotalSharedSize => {
                let own = e.int32((self.cx.shared.bytes - self.cx.shared.dynamic).into());
                let more = self.dynamic_shared();
                self.emit.op(Op::Add, &[own, more])
            }
            SpecialRegister::Workspace { is_high } => {
                if !self.cx.shared.launch_objects {
                    return e.int32(0);
                }
                let address = e.global(Space::Global, &WORKSPACE.into());
                let number = e.value(InstData::plain(Op::Ptrtoint, [address]), Some(Scalar::I64.into()));
                let by = e.int(Scalar::I64, if is_high { 32 } else { 0 });
                let half = e.op(Op::Lshr, &[number, by]);
                e.resize(half, Scalar::I32, false)
            }
            SpecialRegister::WarpSize => e.int32(32),
            SpecialRegister::Fixed(number) => e.int32(number.into()),
        }
    }

    /// Returns the linear index of the thread in its work-group, first dimension fastest.
    pub(crate) fn linear_id(&mut self) -> Value {
        let e = &mut self.emit;
        let [x, y, z] = [0, 1, 2].map(|dimension| e.query(Op::LocalId, Some(dimension)));
        let [width, height] = [0, 1].map(|dimension| e.query(Op::LocalSize, Some(dimension)));
        let rows = e.op(Op::Mul, &[z, height]);
        let rows = e.op(Op::Add, &[rows, y]);
        let undo_log = e.op(Op::Mul, &[rows, width]);
        e.op(Op::Add, &[undo_log, x])
    }

    /// Returns the number of threads of the work-group.
    pub(crate) fn group_size(&mut self) -> Value {
        let e = &mut self.emit;
        let [x, y, z] = [0, 1, 2].map(|dimension| e.query(Op::LocalSize, Some(dimension)));
        let area = e.op(Op::Mul, &[x, y]);
        e.op(Op::Mul, &[area, z])
    }

    /// Returns the size of dynamic shared memory in bytes.
    fn dynamic_shared(&mut self) -> Value {
        if !self.cx.shared.launch_objects {
            return self.emit.int32(self.cx.shared.dynamic.into());
        }
        let address = self.emit.global(Space::Global, &LAUNCH.into());
        let access = Detail::Access(Access::aligned(4));
        self.emit.value(InstData::new(Op::Load, [address], access), Some(Scalar::I32.into()))
    }

    /// Returns a monotonic clock: each read advances it by a thousand ticks.
    fn ticks(&mut self) -> Value {
        let address = self.emit.global(Space::Global, &CLOCK.into());
        let step = self.emit.int(Scalar::I64, 1000);
        let access =
            Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Device)), ..Access::aligned(8) };
        self.emit.value(InstData::new(Op::AtomicRmw, [address, step], Detail::Rmw(Rmw::Add, access)), None)
    }

    // Instructions.

    fn instruction(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        use PtxOperation::*;
        let ty = inst.words.iter().copied().rfind(|word| word.is_type()).unwrap_or(Word::B32);
        let operation = operation(inst);
        if inst.words.contains(&Word::SharedCluster) && matches!(operation, Ld | Ldu | St | Atom | Red | Cp) {
            return refuse("shared memory of other work-groups", "launch without clusters");
        }
        match operation {
            Integer(op) => self.integer(inst, op, ty),
            Float(op) => self.float(inst, op, ty),
            Video(op, parts) => self.video(inst, op, parts.into()),
            Dp4a => self.dot(inst, true),
            Dp2a => self.dot(inst, false),
            Testp => self.test_class(inst, ty),
            Setp => self.compare(inst, true, ty),
            Set => self.compare(inst, false, ty),
            Selp => self.select_by_predicate(inst, ty),
            Slct => self.select_by_sign(inst, ty),
            Mov => self.mov(inst, ty),
            Cvt => self.convert(inst),
            Cvta => self.convert_address(inst, ty),
            Isspacep => self.is_in_space(inst),
            Ld | Ldu => self.access(inst, false, ty),
            St => self.access(inst, true, ty),
            Atom => self.atomic(inst, true, ty),
            Red => self.atomic(inst, false, ty),
            Cp => self.copy(inst),
            Bar => self.barrier(inst),
            Fence => self.fence(inst),
            Mbarrier => self.barrier_object(inst),
            Activemask => self.active_mask(inst),
            Vote => self.vote(inst),
            Shfl => self.shuffle(inst),
            Match => self.matches(inst, ty),
            Redux => self.reduce(inst, ty),
            Elect => self.elect(inst),
            Mma => self.product(inst),
            Wmma => self.fragments(inst),
            Ldmatrix => self.load_matrices(inst),
            Stmatrix => self.store_matrices(inst),
            Movmatrix => self.transpose(inst),
            Tex => self.texture(inst, false),
            Tld4 => self.texture(inst, true),
            Txq => self.texture_size(inst),
            Suld => self.surface(inst, false, ty),
            Sust => self.surface(inst, true, ty),
            Call => self.call(inst),
            Trap => {
                self.trap();
                Ok(())
            }
            Exit if !self.body.function.is_kernel => {
                refuse("`exit` inside of a function", "return from the function, and exit in the kernel")
            }
            Ret | Exit | Bra | Brx | Hint => Ok(()),
            // Accesses ignore policies.
            CachePolicy => {
                let none = self.emit.int(Scalar::I64, 0);
                self.write(&inst.args[0], none, false);
                Ok(())
            }
            Refused(reason) => {
                let name = table::FORMS[usize::from(inst.form)].mnemonic;
                let (reason, help) = reason.split_once("; ").unwrap_or((reason, ""));
                refuse(format!("`{name}`: {reason}"), help)
            }
        }
    }

    fn mov(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let (dest, source) = (&inst.args[0], &inst.args[1]);
        let bits = ty.bits().unwrap_or(32);
        let whole = layout::int(bits);
        match (dest, source) {
            (ResolvedOperand::Vector(parts), source) => {
                let value = match source {
                    ResolvedOperand::Vector(from) if from.len() == parts.len() => {
                        let part = part_of(bits, parts.len())?;
                        let values: Vec<Value> =
                            from.iter().map(|from| self.read(from, part)).collect::<LowerResult<_>>()?;
                        for (dest, value) in parts.iter().zip(values) {
                            self.write(dest, value, false);
                        }
                        return Ok(());
                    }
                    _ => self.read(source, untyped(bits))?,
                };
                let part = part_of(bits, parts.len())?.bits().unwrap_or(8);
                for (index, dest) in parts.iter().enumerate() {
                    let by = self.emit.int(whole, i128::from(part) * index as i128);
                    let shifted = self.emit.op(Op::Lshr, &[value, by]);
                    let value = self.emit.resize(shifted, layout::int(part), false);
                    self.write(dest, value, false);
                }
                Ok(())
            }
            (_, ResolvedOperand::Vector(parts)) => {
                let part = part_of(bits, parts.len())?;
                let mut value = self.emit.int(whole, 0);
                for (index, from) in parts.iter().enumerate() {
                    let one = self.read(from, part)?;
                    let one = self.emit.resize(one, whole, false);
                    let by = self.emit.int(whole, i128::from(part.bits().unwrap_or(8)) * index as i128);
                    let one = self.emit.op(Op::Shl, &[one, by]);
                    value = self.emit.op(Op::Or, &[value, one]);
                }
                self.write(dest, value, false);
                Ok(())
            }
            (_, ResolvedOperand::Reg(reg)) if ty != Word::Pred => {
                // Keeps the register's type, which may be an address.
                let value = self.get(reg.index());
                self.write(dest, value, false);
                Ok(())
            }
            _ => {
                let value = self.read(source, ty)?;
                self.write(dest, value, false);
                Ok(())
            }
        }
    }

    /// Compares a value with zero.
    pub(crate) fn is_zero(&mut self, value: Value) -> Value {
        let zero = self.emit.int(self.emit.scalar(value), 0);
        self.emit.icmp(IntPredicate::Eq, value, zero)
    }
}

/// Returns the untyped PTX type of this width.
pub(crate) fn untyped(bits: u32) -> Word {
    match bits {
        8 => Word::B8,
        16 => Word::B16,
        64 => Word::B64,
        128 => Word::B128,
        _ => Word::B32,
    }
}

fn part_of(bits: u32, count: usize) -> LowerResult<Word> {
    match bits / (count.max(1) as u32) {
        part @ (8 | 16 | 32 | 64) if part * count as u32 == bits => Ok(untyped(part)),
        _ => {
            refuse("the parts of a vector do not add up to the whole", "use two or four parts of equal size")
        }
    }
}

/// Returns the number of bytes that a load or store accesses.
pub(crate) fn access_bytes(inst: &ResolvedInst) -> u64 {
    let lanes = inst.words.iter().fold(1, |lanes, word| match word {
        Word::V2 => 2,
        Word::V4 => 4,
        Word::V8 => 8,
        _ => lanes,
    });
    let bits = inst.words.iter().rev().find_map(|word| word.bits()).unwrap_or(8);
    u64::from(bits / 8) * lanes
}

/// Returns the slots of a parameter that an access overlaps, and whether it covers them entirely.
pub(crate) fn overlapped_slots(words: ParamSlots, offset: i64, bytes: u64) -> (std::ops::Range<usize>, bool) {
    let width = u64::from(words.scalar.bytes());
    let end = words.count as u64 * width;
    let start = u64::try_from(offset).unwrap_or(u64::MAX).min(end);
    let stop = start.saturating_add(bytes).min(end);
    let range = (start / width) as usize..stop.div_ceil(width) as usize;
    let whole = start % width == 0 && stop % width == 0;
    (words.first + range.start..words.first + range.end, whole)
}
