//! Lowering of loads, stores, atomics, addresses and address spaces.

use super::body::{FunctionLowering, access_bytes, overlapped_slots, untyped};
use super::flow::is_named_param;
use super::layout::{ReservedUse, ZEROED_BYTES, names_reserved};
use super::{LowerResult, layout, refuse};
use crate::check::{ResolvedInst, ResolvedOperand, VarRef};
use crate::module::{NumberValue, PtxItem};
use crate::words::Word;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{AtomicOrdering, Flag, Flags, IntPredicate, Rmw, SyncScope};
use heddle_ir::{Op, Scalar, Space, Value};
use rustc_hash::FxHashMap;

/// Access to reserved memory.
const ZEROED_ACCESS: Access =
    Access { atomic: Some((AtomicOrdering::Relaxed, SyncScope::Group)), ..Access::aligned(8) };

/// Returns the space in the modifiers; generic if none.
pub(crate) fn space_of(words: &[Word]) -> Space {
    words
        .iter()
        .find_map(|word| {
            Some(match word {
                Word::Global => Space::Global,
                Word::Shared | Word::SharedCta => Space::Local,
                Word::Local | Word::Param | Word::ParamEntry | Word::ParamFunc => Space::Private,
                Word::Const => Space::Constant,
                _ => return None,
            })
        })
        .unwrap_or(Space::Generic)
}

fn scope_of(words: &[Word]) -> SyncScope {
    words
        .iter()
        .find_map(|word| {
            Some(match word {
                Word::Cta => SyncScope::Group,
                Word::Cluster | Word::Gpu | Word::Gl => SyncScope::Device,
                Word::Sys => SyncScope::System,
                _ => return None,
            })
        })
        .unwrap_or(SyncScope::Device)
}

fn ordering_of(words: &[Word]) -> Option<AtomicOrdering> {
    words.iter().find_map(|word| {
        Some(match word {
            Word::Relaxed | Word::Mmio => AtomicOrdering::Relaxed,
            Word::Acquire => AtomicOrdering::Acquire,
            Word::Release => AtomicOrdering::Release,
            Word::AcqRel => AtomicOrdering::AcqRel,
            Word::Sc => AtomicOrdering::SeqCst,
            _ => return None,
        })
    })
}

impl FunctionLowering<'_, '_, '_> {
    // Addresses. A shared address is an offset in the window of the work-group; any other equals its pointer.

    fn window(&mut self) -> Value {
        let name = self.cx.shared.name.as_str().into();
        self.emit.global(Space::Local, &name)
    }

    /// Clears the reserved shared memory at the start of a kernel that uses it.
    pub(crate) fn clear_reserved(&mut self) {
        let function = self.body.function;
        let is_used = match self.cx.shared.reserved {
            ReservedUse::None => false,
            ReservedUse::Kernels => names_reserved(self.cx.module, function),
            ReservedUse::Functions => true,
        };
        if !is_used || !function.is_kernel {
            return;
        }
        let zero = self.emit.int(Scalar::I64, 0);
        for offset in (0..ZEROED_BYTES).step_by(8) {
            // All threads store the same value, so their order does not matter.
            let window = self.window();
            let address = self.emit.add_bytes(window, offset);
            self.emit.store(zero, address, ZEROED_ACCESS, Flags::NONE);
        }
        self.group_barrier();
    }

    /// Converts a pointer to its PTX address.
    pub(crate) fn number_of(&mut self, pointer: Value) -> Value {
        let number = self.emit.to(Op::Ptrtoint, Scalar::I64, pointer);
        if self.emit.scalar(pointer) != Scalar::Ptr(Space::Local) {
            return number;
        }
        let window = self.window();
        let base = self.emit.to(Op::Ptrtoint, Scalar::I64, window);
        self.emit.op(Op::Sub, &[number, base])
    }

    /// Converts a PTX address in a space to a pointer.
    pub(crate) fn pointer_of(&mut self, number: Value, space: Space) -> Value {
        if space == Space::Local {
            let window = self.window();
            return match self.emit.constant(number) {
                Some(bits) => self.emit.add_bytes(window, bits as i64),
                None => self.emit.op(Op::PtrAdd, &[window, number]),
            };
        }
        self.emit.to(Op::Inttoptr, Scalar::Ptr(space), number)
    }

    fn cast(&mut self, pointer: Value, space: Space) -> Value {
        match self.emit.scalar(pointer) == Scalar::Ptr(space) {
            true => pointer,
            false => self.emit.to(Op::SpaceCast, Scalar::Ptr(space), pointer),
        }
    }

    /// Returns the pointer to a variable, in its space.
    fn variable_pointer(&mut self, var: VarRef, offset: i64) -> LowerResult<Value> {
        let Some(variable) = layout::variable(self.cx.module, &self.body.vars, var) else {
            return refuse("unknown variable", "declare it");
        };
        let name = self.cx.module.names.text(variable.name);
        let pointer = match (variable.space, var) {
            (Word::Shared, _) => {
                let at = self.cx.shared.offset(variable);
                let window = self.window();
                self.emit.add_bytes(window, at as i64)
            }
            (Word::Local, VarRef::Local(index)) => match self.objects.get(&index) {
                Some(&object) => object,
                None => return refuse(format!("`{name}` is not an object here"), ""),
            },
            (_, VarRef::Module(index)) => match self.cx.objects.get(&index) {
                Some((name, space)) => self.emit.global(*space, name),
                None => {
                    return refuse(
                        format!("`{name}` is not defined in this module, or was refused"),
                        "define it in this module",
                    );
                }
            },
            (Word::Param, var) => {
                let object = match var {
                    VarRef::Local(index) => self.addressed.get(&index).copied(),
                    VarRef::Module(_) => None,
                };
                match object {
                    Some(object) => object,
                    None => {
                        return refuse(
                            format!("address of `{name}`, which is an argument or a result of a function"),
                            "use a parameter of this function, or `.local` memory",
                        );
                    }
                }
            }
            _ => return refuse(format!("`{name}` is declared inside of a function"), "declare it outside"),
        };
        Ok(self.emit.add_bytes(pointer, offset))
    }

    /// Returns the address of a variable as an integer.
    pub(crate) fn variable_number(&mut self, var: VarRef, offset: i64) -> LowerResult<Value> {
        let variable = layout::variable(self.cx.module, &self.body.vars, var);
        if let Some(variable) = variable.filter(|variable| variable.space == Word::Shared) {
            let at = self.cx.shared.offset(variable).wrapping_add(offset as u64);
            return Ok(self.emit.int(Scalar::I64, at.into()));
        }
        let pointer = self.variable_pointer(var, offset)?;
        Ok(self.number_of(pointer))
    }

    /// Returns the pointer of an address operand, in the instruction's space.
    pub(crate) fn address(&mut self, arg: &ResolvedOperand, space: Space) -> LowerResult<Value> {
        let ResolvedOperand::Address { base, offset } = arg else {
            return refuse("not an address", "write it in brackets");
        };
        let pointer = match &**base {
            ResolvedOperand::Variable(var, more) => {
                let pointer = self.variable_pointer(*var, *more)?;
                self.cast(pointer, space)
            }
            ResolvedOperand::Number(NumberValue::Int(number)) => {
                let number = self.emit.int(Scalar::I64, i128::from(*number));
                self.pointer_of(number, space)
            }
            ResolvedOperand::Reg(reg) => {
                let value = self.get(heddle_ir::entity::Entity::index(*reg));
                match self.emit.scalar(value) {
                    Scalar::Ptr(has) if has == space || has != Space::Local && space != Space::Local => {
                        self.cast(value, space)
                    }
                    _ => {
                        // 32-bit addresses wrap around: before the offset is added, one may be below the window.
                        let number = self.converted(value, Scalar::I64, space == Space::Local);
                        self.pointer_of(number, space)
                    }
                }
            }
            _ => return refuse("not an address", "write a register or a variable"),
        };
        Ok(self.emit.add_bytes(pointer, *offset))
    }

    /// Lowers `cvta.space` to a cast to generic, and `cvta.to.space` to a cast from generic.
    pub(super) fn convert_address(&mut self, inst: &ResolvedInst, ty: Word) -> LowerResult<()> {
        let space = space_of(&inst.words);
        let (from, to) = match inst.words.contains(&Word::To) {
            true => (Space::Generic, space),
            false => (space, Space::Generic),
        };
        let pointer = match &inst.args[1] {
            ResolvedOperand::Variable(var, offset) => self.variable_pointer(*var, *offset)?,
            ResolvedOperand::Reg(reg) => {
                let value = self.get(heddle_ir::entity::Entity::index(*reg));
                match self.emit.scalar(value) {
                    Scalar::Ptr(has) if has == from => value,
                    _ => {
                        let number = self.converted(value, Scalar::I64, false);
                        self.pointer_of(number, from)
                    }
                }
            }
            other => {
                let number = self.read(other, untyped(ty.bits().unwrap_or(64)))?;
                let number = self.emit.resize(number, Scalar::I64, false);
                self.pointer_of(number, from)
            }
        };
        let pointer = self.cast(pointer, to);
        self.write(&inst.args[0], pointer, false);
        Ok(())
    }

    /// Lowers `isspacep`. An address is in a space if it is within an object of that space. The global window is all that is
    /// neither shared nor local nor constant, so that it contains parameters, as PTX says.
    pub(super) fn is_in_space(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let address = self.read(&inst.args[1], Word::B64)?;
        let window = self.window();
        let start = self.emit.to(Op::Ptrtoint, Scalar::I64, window);
        let offset = self.emit.op(Op::Sub, &[address, start]);
        let size = self.emit.int(Scalar::I64, self.cx.shared.bytes.into());
        let in_shared = self.emit.icmp(IntPredicate::Ult, offset, size);
        let in_local = self.is_in_objects(address, |lower| &lower.objects);
        let in_params = self.is_in_objects(address, |lower| &lower.addressed);
        let is_param = inst.words.iter().any(|word| matches!(word, Word::Param | Word::ParamEntry));
        let value = match space_of(&inst.words) {
            Space::Local => in_shared,
            // A work-group is its own cluster.
            _ if inst.words.contains(&Word::SharedCluster) => in_shared,
            Space::Private if is_param => in_params,
            Space::Private => in_local,
            Space::Constant => self.is_in_constants(address),
            _ => {
                let in_constants = self.is_in_constants(address);
                let elsewhere = self.emit.op(Op::Or, &[in_shared, in_local]);
                let elsewhere = self.emit.op(Op::Or, &[elsewhere, in_constants]);
                self.emit.not(elsewhere)
            }
        };
        self.write(&inst.args[0], value, false);
        Ok(())
    }

    /// Tests whether an address is within one of these objects of the body's variables.
    fn is_in_objects(&mut self, address: Value, of: fn(&Self) -> &FxHashMap<u32, Value>) -> Value {
        let mut objects: Vec<(u32, Value)> =
            of(self).iter().map(|(&index, &object)| (index, object)).collect();
        objects.sort_unstable();
        let bytes_of = |index: u32| self.body.vars[index as usize].bytes().unwrap_or(0);
        let objects = objects.into_iter().map(|(index, object)| (object, bytes_of(index))).collect();
        self.is_within(address, objects)
    }

    /// Tests whether an address is within a constant of the module.
    fn is_in_constants(&mut self, address: Value) -> Value {
        let mut constants = Vec::new();
        for (index, item) in self.cx.module.items.iter().enumerate() {
            let PtxItem::Variable(variable) = item else { continue };
            if let (Word::Const, Some((name, space))) = (variable.space, self.cx.objects.get(&index)) {
                constants.push((self.emit.global(*space, name), variable.bytes().unwrap_or(0)));
            }
        }
        self.is_within(address, constants)
    }

    /// Tests whether an address is within one of these objects, given by pointer and size in bytes.
    fn is_within(&mut self, address: Value, objects: Vec<(Value, u64)>) -> Value {
        let mut is_within = self.emit.bool(false);
        for (object, bytes) in objects {
            let start = self.emit.to(Op::Ptrtoint, Scalar::I64, object);
            let offset = self.emit.op(Op::Sub, &[address, start]);
            let size = self.emit.int(Scalar::I64, bytes.into());
            let is_here = self.emit.icmp(IntPredicate::Ult, offset, size);
            is_within = self.emit.op(Op::Or, &[is_within, is_here]);
        }
        is_within
    }

    pub(super) fn access(&mut self, inst: &ResolvedInst, is_store: bool, ty: Word) -> LowerResult<()> {
        let (address, data) = if is_store { (0, 1) } else { (1, 0) };
        let parts: &[ResolvedOperand] = match &inst.args[data] {
            ResolvedOperand::Vector(parts) => parts,
            one => std::slice::from_ref(one),
        };
        let bytes = u64::from(ty.bits().unwrap_or(8) / 8);
        if is_named_param(inst) {
            return self.parameter(inst, &inst.args[address], parts, is_store, ty);
        }
        let space = space_of(&inst.words);
        let pointer = self.address(&inst.args[address], space)?;
        let mut flags = Flags::NONE;
        if inst.words.contains(&Word::Volatile) {
            flags = flags.with(Flag::Volatile);
        }
        if inst.words.contains(&Word::Nc) {
            flags = flags.with(Flag::Invariant);
        }
        if inst.words.iter().any(|word| matches!(word, Word::Cs | Word::L1NoAllocate)) {
            flags = flags.with(Flag::Nontemporal);
        }
        let atomic = ordering_of(&inst.words).map(|ordering| (ordering, scope_of(&inst.words)));
        let scalar = layout::scalar(ty);
        let whole = access_bytes(inst);
        // Programs rely on strong vector accesses of up to 16 bytes being single ones.
        if parts.len() > 1 && whole <= 16 && (atomic.is_some() || flags.has(Flag::Volatile)) {
            let access = Access { atomic, ..Access::aligned(whole as u32) };
            return self.strong_vector(parts, pointer, is_store, ty, access, flags);
        }
        let mut loaded = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let at = bytes * index as u64;
            let here = self.emit.add_bytes(pointer, at as i64);
            // A vector access is aligned as a whole.
            let align = if at == 0 { whole } else { 1 << at.trailing_zeros().min(whole.trailing_zeros()) };
            let access = Access { atomic, ..Access::aligned(align as u32) };
            if is_store {
                let value = self.read(part, ty)?;
                self.emit.store(value, here, access, flags);
            } else {
                loaded.push(self.emit.load(scalar, here, access, flags));
            }
        }
        for (part, value) in parts.iter().zip(loaded) {
            self.write(part, value, ty.is_signed());
        }
        Ok(())
    }

    /// Lowers a volatile or atomic access to a vector to one access of its width.
    fn strong_vector(
        &mut self,
        parts: &[ResolvedOperand],
        pointer: Value,
        is_store: bool,
        ty: Word,
        access: Access,
        flags: Flags,
    ) -> LowerResult<()> {
        let bits = ty.bits().unwrap_or(8);
        let whole = layout::int(bits * parts.len() as u32);
        let mut all = match is_store {
            true => self.emit.int(whole, 0),
            false => self.emit.load(whole, pointer, access, flags),
        };
        for (index, part) in parts.iter().enumerate() {
            let by = self.emit.int(whole, i128::from(bits) * index as i128);
            if is_store {
                let value = self.read(part, ty)?;
                let value = self.emit.as_int(value);
                let value = self.emit.resize(value, whole, false);
                let value = self.emit.op(Op::Shl, &[value, by]);
                all = self.emit.op(Op::Or, &[all, value]);
            } else {
                let value = self.emit.op(Op::Lshr, &[all, by]);
                let value = self.emit.resize(value, layout::int(bits), false);
                let value = self.emit.bitcast(value, layout::scalar(ty));
                self.write(part, value, ty.is_signed());
            }
        }
        if is_store {
            self.emit.store(all, pointer, access, flags);
        }
        Ok(())
    }

    /// Lowers an access to a parameter by name: it accesses slots and no memory.
    fn parameter(
        &mut self,
        inst: &ResolvedInst,
        address: &ResolvedOperand,
        parts: &[ResolvedOperand],
        is_store: bool,
        ty: Word,
    ) -> LowerResult<()> {
        let ResolvedOperand::Address { base, offset } = address else { return Ok(()) };
        let ResolvedOperand::Variable(var, more) = **base else { return Ok(()) };
        let words = match var {
            VarRef::Local(index) => self.params.get(&index).copied(),
            VarRef::Module(_) => None,
        };
        let Some(words) = words else {
            return refuse("not a parameter of this function", "use a parameter of this function");
        };
        let offset = offset.wrapping_add(more);
        let end = words.count as u64 * u64::from(words.scalar.bytes());
        let bytes = access_bytes(inst);
        if u64::try_from(offset).map_or(true, |offset| offset.saturating_add(bytes) > end) {
            return refuse("access past the end of a parameter", "stay within its size");
        }
        let one = u64::from(ty.bits().unwrap_or(8) / 8);
        for (index, part) in parts.iter().enumerate() {
            let at = offset as u64 + one * index as u64;
            if is_store {
                let value = self.read(part, ty)?;
                self.store_words(words, at, value);
            } else {
                let value = self.load_words(words, at, ty);
                self.write(part, value, ty.is_signed());
            }
        }
        Ok(())
    }

    fn load_words(&mut self, words: super::body::ParamSlots, at: u64, ty: Word) -> Value {
        self.word_at(words, at, layout::scalar(ty))
    }

    /// Reads a scalar at an offset of a parameter.
    pub(crate) fn word_at(&mut self, words: super::body::ParamSlots, at: u64, scalar: Scalar) -> Value {
        let width = u64::from(words.scalar.bytes());
        let (range, _) = overlapped_slots(words, at as i64, u64::from(scalar.bytes()));
        let first = range.start;
        let single = range.len() == 1 && at.is_multiple_of(width) && u64::from(scalar.bytes()) == width;
        if single {
            let value = self.get(first);
            return match self.emit.scalar(value) {
                Scalar::Ptr(_) => value,
                _ => self.converted(value, scalar, false),
            };
        }
        // Concatenates the words in an integer that holds all of them.
        let bits = (range.len() as u32 * words.scalar.bits()).next_power_of_two().max(8);
        let whole = layout::int(bits);
        let mut value = self.emit.int(whole, 0);
        for (index, slot) in range.enumerate() {
            let word = self.get(slot);
            let word = self.converted(word, layout::int(words.scalar.bits()), false);
            let word = self.emit.resize(word, whole, false);
            let by = self.emit.int(whole, i128::from(words.scalar.bits()) * index as i128);
            let word = self.emit.op(Op::Shl, &[word, by]);
            value = self.emit.op(Op::Or, &[value, word]);
        }
        let by = self.emit.int(whole, i128::from(at % width * 8));
        let value = self.emit.op(Op::Lshr, &[value, by]);
        let value = self.emit.resize(value, layout::int(scalar.bits()), false);
        self.emit.bitcast(value, scalar)
    }

    fn store_words(&mut self, words: super::body::ParamSlots, at: u64, value: Value) {
        let value = match self.emit.scalar(value) {
            Scalar::Ptr(_) => self.number_of(value),
            _ => self.emit.as_int(value),
        };
        let bits = self.emit.scalar(value).bits();
        let word_bits = words.scalar.bits();
        let width = u64::from(words.scalar.bytes());
        let (range, _) = overlapped_slots(words, at as i64, u64::from(bits / 8));
        let word_int = layout::int(word_bits);
        for (index, slot) in range.enumerate() {
            // Position of the word in the value, or of the value in the word.
            let shift = index as i64 * i64::from(word_bits) - (at % width * 8) as i64;
            let word = if bits >= word_bits && shift >= 0 {
                let by = self.emit.int(self.emit.scalar(value), shift.into());
                let part = self.emit.op(Op::Lshr, &[value, by]);
                self.emit.resize(part, word_int, false)
            } else {
                let by = self.emit.int(word_int, (-shift).max(0).into());
                let mask = (layout::int(bits.min(word_bits)).bit_mask()) << (-shift).max(0);
                let part = self.emit.resize(value, word_int, false);
                let part = self.emit.op(Op::Shl, &[part, by]);
                let keep = self.emit.bits(word_int, !mask);
                let old = self.get(slot);
                let old = self.converted(old, word_int, false);
                let old = self.frozen(old);
                let old = self.emit.op(Op::And, &[old, keep]);
                self.emit.op(Op::Or, &[old, part])
            };
            let word = self.converted(word, words.scalar, false);
            self.set(slot, word);
        }
    }

    pub(super) fn atomic(&mut self, inst: &ResolvedInst, gives: bool, ty: Word) -> LowerResult<()> {
        let space = space_of(&inst.words);
        let (address, first) = if gives { (1, 2) } else { (0, 1) };
        let pointer = self.address(&inst.args[address], space)?;
        let ordering = ordering_of(&inst.words).unwrap_or(AtomicOrdering::Relaxed);
        let access = Access {
            atomic: Some((ordering, scope_of(&inst.words))),
            ..Access::aligned(ty.bits().unwrap_or(32) / 8)
        };
        let value = self.read(&inst.args[first], ty)?;
        if let Some(half) = ty.half() {
            let old = self.atomic_pair(pointer, value, layout::scalar(half), access);
            if gives {
                self.write(&inst.args[0], old, false);
            }
            return Ok(());
        }
        if inst.words.contains(&Word::Cas) {
            let new = self.read(&inst.args[first + 1], ty)?;
            let failure = match ordering {
                AtomicOrdering::Release => AtomicOrdering::Relaxed,
                AtomicOrdering::AcqRel => AtomicOrdering::Acquire,
                other => other,
            };
            let data = InstData::new(
                Op::CompareExchange,
                [pointer, value, new],
                Detail::CompareExchange(access, failure),
            );
            let old = self.emit.value(data, None);
            self.write(&inst.args[0], old, false);
            return Ok(());
        }
        let signed = ty.is_signed();
        let word = inst.words.iter().find_map(|word| {
            Some(match word {
                Word::Exch => Rmw::Exchange,
                Word::Add if ty.is_float() => Rmw::Fadd,
                Word::Add => Rmw::Add,
                Word::And => Rmw::And,
                Word::Or => Rmw::Or,
                Word::Xor => Rmw::Xor,
                Word::Inc => Rmw::IncWrap,
                Word::Dec => Rmw::DecWrap,
                Word::Min if signed => Rmw::Smin,
                Word::Min => Rmw::Umin,
                Word::Max if signed => Rmw::Smax,
                Word::Max => Rmw::Umax,
                _ => return None,
            })
        });
        let Some(by) = word else { return refuse("unknown atomic operation", "") };
        let old =
            self.emit.value(InstData::new(Op::AtomicRmw, [pointer, value], Detail::Rmw(by, access)), None);
        if gives {
            self.write(&inst.args[0], old, false);
        }
        Ok(())
    }

    /// Adds a packed pair: each half is an atomic access of its own. Returns the old pair.
    fn atomic_pair(&mut self, pointer: Value, value: Value, half: Scalar, access: Access) -> Value {
        let access = Access { atomic: access.atomic, ..Access::aligned(half.bytes()) };
        let detail = Detail::Rmw(Rmw::Fadd, access);
        let [low, high] = self.emit.halves(value, half);
        let low = self.emit.value(InstData::new(Op::AtomicRmw, [pointer, low], detail.clone()), None);
        let next = self.emit.add_bytes(pointer, half.bytes().into());
        let high = self.emit.value(InstData::new(Op::AtomicRmw, [next, high], detail), None);
        self.emit.packed([low, high])
    }

    /// Lowers `cp.async` to a synchronous copy, so there is nothing to wait for.
    pub(super) fn copy(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        if inst.words.contains(&Word::MbarrierWord) {
            return self.arrive_after_copies(inst);
        }
        if inst.args.len() < 3 {
            return Ok(());
        }
        let to = self.address(&inst.args[0], Space::Local)?;
        let from = self.address(&inst.args[1], Space::Global)?;
        let ResolvedOperand::Number(NumberValue::Int(bytes @ (4 | 8 | 16))) = inst.args[2] else {
            return refuse("`cp.async` copies 4, 8 or 16 bytes", "write one of these");
        };
        let size = self.emit.int(Scalar::I64, bytes.into());
        let access = Access::aligned(bytes as u32);
        let taken = match inst.args.get(3) {
            None => size,
            Some(arg) if matches!(arg, ResolvedOperand::Reg(reg) if self.body.regs[*reg] == Word::Pred) => {
                let ignore = self.read(arg, Word::Pred)?;
                let zero = self.emit.int(Scalar::I64, 0);
                self.emit.select(ignore, zero, size)
            }
            Some(arg) => {
                let taken = self.read(arg, Word::U32)?;
                let taken = self.emit.resize(taken, Scalar::I64, false);
                self.emit.op(Op::Umin, &[taken, size])
            }
        };
        if inst.args.len() > 3 {
            let zero = self.emit.int(Scalar::I8, 0);
            let fill = InstData::new(Op::Memset, [to, zero, size], Detail::Access(access));
            self.emit.inst(fill, None);
        }
        let detail = Detail::Transfer(Box::new((access, access)));
        self.emit.inst(InstData::new(Op::Memcpy, [to, from, taken], detail), None);
        Ok(())
    }

    /// Freezes a value: replaces poison by an arbitrary value.
    pub(crate) fn frozen(&mut self, value: Value) -> Value {
        self.emit.value(InstData::plain(Op::Freeze, [value]), None)
    }
}
