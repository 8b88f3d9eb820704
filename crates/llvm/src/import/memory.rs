//! Import of memory operations: allocas, addresses, loads and stores per scalar, atomics.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::Leaf;
use crate::view::{Ty, Val};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::verify::MAX_ALLOCA_BYTES;
use heddle_ir::words::{AtomicOrdering, Flag, Flags, Rmw, SyncScope};
use heddle_ir::{Op, Scalar, Space, Type, Value};
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};

/// Returns the alignment at an offset from an aligned address.
fn align_at(align: u32, offset: u64) -> u32 {
    match offset.trailing_zeros() {
        zeros if zeros < 31 => align.min(1 << zeros),
        _ => align,
    }
}

impl<'m> BodyImporter<'_, 'm> {
    pub(super) fn alloca(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let ty = inst.allocated_type();
        let count = self.operand(inst, 0)?;
        let Some(count) = self.constant_int(count) else {
            let help = "give the array a constant size, or let the caller pass it";
            return Err(ImportRefusal::new(
                "variable-length array: its size is not known before the program runs",
                help,
            ));
        };
        let size = self.module.types.size(ty)?.checked_mul(u64::try_from(count).unwrap_or(u64::MAX));
        let Some(bytes) = size.filter(|&bytes| bytes <= MAX_ALLOCA_BYTES) else {
            return Err(ImportRefusal::new("the object exceeds 2^32 bytes", "let the caller pass it"));
        };
        let align = inst.alignment().max(1);
        let object = self.emit(InstData::new(Op::Alloca, [], Detail::Alloca { bytes, align }), None)?;
        // LLVM's passes append suffixes to a variable's name.
        if let Some(name) = inst.name().split('.').next().filter(|name| !name.is_empty()) {
            self.func.set_name(object, name);
        }
        // Uninitialized memory is undef, not poison: store one frozen value.
        match self.module.types.leaves(ty).as_deref() {
            Ok(&[leaf @ Leaf { scalar, .. }])
                if !leaf.has_odd_width() && u64::from(scalar.bytes()) == bytes && scalar != Scalar::I1 =>
            {
                let any = self.undefined(scalar)?;
                let detail = Detail::Access(Access::aligned(align));
                self.emit_inst(InstData::new(Op::Store, [any, object], detail), None)?;
            }
            _ if bytes > 0 => {
                let any = self.undefined(Scalar::I8)?;
                let bytes = self.int(Scalar::I64, bytes.into());
                let detail = Detail::Access(Access::aligned(align));
                self.emit_inst(InstData::new(Op::Memset, [object, any, bytes], detail), None)?;
            }
            _ => {}
        }
        let scalar = self.module.types.scalar(inst.ty())?;
        Ok(Leaves::from_slice(&[self.in_space(object, scalar)?]))
    }

    // Addresses.

    /// Imports a `getelementptr`, instruction or constant; lane by lane for vectors.
    pub(super) fn gep(&mut self, gep: Val<'m>, operands: &[Leaves]) -> ImportResult<Leaves> {
        let lanes = self.module.types.leaves(gep.ty())?.len();
        let lane_of = |operand: &Leaves, lane: usize| operand[if operand.len() == 1 { 0 } else { lane }];
        (0..lanes)
            .map(|lane| {
                let args: Vec<Value> = operands.iter().map(|operand| lane_of(operand, lane)).collect();
                self.one_address(gep, &args)
            })
            .collect()
    }

    fn one_address(&mut self, gep: Val<'m>, args: &[Value]) -> ImportResult<Value> {
        let mut ty = gep.gep_type();
        let promises = gep.gep_flags();
        let (inbounds, nusw, nuw) = (promises & 1 != 0, promises & 3 != 0, promises & 4 != 0);
        let mut wrap = Flags::NONE;
        if nusw {
            wrap = wrap.with(Flag::Nsw);
        }
        if nuw {
            wrap = wrap.with(Flag::Nuw);
        }
        let mut known = 0i64;
        let mut terms = Vec::new();
        for (number, &index) in args.iter().enumerate().skip(1) {
            let stride;
            if number > 1 && ty.is_struct() {
                let field = self.constant_int(index).unwrap_or(0) as u32;
                known = known.wrapping_add(self.module.types.layout.field_offset(ty, field) as i64);
                ty = ty.field(field);
                continue;
            }
            if number == 1 {
                stride = self.module.types.size(ty)?;
            } else {
                // Vectors are packed.
                let element = ty.element();
                self.module.types.size(element)?;
                stride = match ty.is_vector() {
                    true => self.module.types.layout.store_size(element),
                    false => self.module.types.size(element)?,
                };
                ty = element;
            }
            let odd = self.module.types.odd_bits(gep.operand(number as u32).ty());
            if let Some(index) = self.constant_int(index).filter(|_| odd.is_none()) {
                known = known.wrapping_add(index.wrapping_mul(stride as i64));
                continue;
            }
            let index = self.index_of(index, gep.operand(number as u32).ty())?;
            terms.push(match stride {
                1 => index,
                0 => continue,
                _ if stride.is_power_of_two() => {
                    let amount = self.int(Scalar::I64, stride.trailing_zeros().into());
                    self.op_with(Op::Shl, &[index, amount], wrap)?
                }
                _ => {
                    let stride = self.int(Scalar::I64, stride.into());
                    self.op_with(Op::Mul, &[index, stride], wrap)?
                }
            });
        }
        // Reassociated sums may wrap in between; a single term keeps its flags.
        let sum_flags = if terms.len() == 1 { wrap } else { Flags::NONE };
        let mut offset = None;
        for term in terms {
            offset = Some(match offset {
                None => term,
                Some(before) => self.op(Op::Add, &[before, term])?,
            });
        }
        let offset = match (offset, known) {
            (None, 0) => return Ok(args[0]),
            (None, known) => self.int(Scalar::I64, known.into()),
            (Some(offset), 0) => offset,
            (Some(offset), known) => {
                let known = self.int(Scalar::I64, known.into());
                self.op_with(Op::Add, &[offset, known], sum_flags.without(Flags::of(&[Flag::Nuw])))?
            }
        };
        let mut flags = Flags::NONE;
        if inbounds {
            flags = flags.with(Flag::Inbounds);
        }
        if nuw {
            flags = flags.with(Flag::Nuw);
        }
        self.op_with(Op::PtrAdd, &[args[0], offset], flags)
    }

    /// Sign-extends an index to i64.
    fn index_of(&mut self, index: Value, ty: Ty<'m>) -> ImportResult<Value> {
        let index = match self.module.types.odd_bits(ty) {
            Some(bits) => self.sign_extend(index, bits)?,
            None => index,
        };
        self.i64_of(index)
    }

    /// Returns an address plus a byte offset within the same object.
    pub(super) fn offset_address(&mut self, address: Value, bytes: u64) -> ImportResult<Value> {
        if bytes == 0 {
            return Ok(address);
        }
        let offset = self.int(Scalar::I64, bytes.into());
        self.op_with(Op::PtrAdd, &[address, offset], Flags::of(&[Flag::Inbounds]))
    }

    // Loads and stores.

    fn access(&self, inst: Val<'m>) -> ImportResult<(Access, Flags)> {
        let mut flags = Flags::NONE;
        if inst.metadata_numbers(self.module.kinds.nontemporal).is_some() {
            flags = flags.with(Flag::Nontemporal);
        }
        if inst.is_volatile() {
            flags = flags.with(Flag::Volatile);
        }
        let mut access = Access::aligned(inst.alignment().max(1));
        if let Some(ordering) = ordering(inst.ordering()) {
            access.atomic = Some((ordering, self.scope(inst)?));
        }
        Ok((access, flags))
    }

    pub(super) fn load(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let address = self.operand(inst, 0)?;
        let (access, mut flags) = self.access(inst)?;
        if inst.metadata_numbers(self.module.kinds.invariant).is_some() {
            flags = flags.with(Flag::Invariant);
        }
        self.load_value(inst.ty(), address, access, flags)
    }

    /// Loads a value of any type, scalar by scalar.
    pub(super) fn load_value(
        &mut self,
        ty: Ty<'m>,
        address: Value,
        access: Access,
        flags: Flags,
    ) -> ImportResult<Leaves> {
        let leaves = self.pieces(ty, &access)?;
        if let Some(whole) = bit_vector(&leaves, ty)? {
            let data = InstData { flags, ..InstData::new(Op::Load, [address], Detail::Access(access)) };
            let bits = self.emit(data, Some(Type::Scalar(whole)))?;
            return (0..leaves.len())
                .map(|lane| {
                    let amount = self.int(whole, lane as i128);
                    let shifted = self.op(Op::Lshr, &[bits, amount])?;
                    self.op_to(Op::Trunc, Scalar::I1, &[shifted])
                })
                .collect();
        }
        leaves
            .iter()
            .map(|leaf| {
                let at = self.offset_address(address, leaf.offset)?;
                let access = Access { align: align_at(access.align, leaf.offset), ..access };
                if leaf.has_odd_width() {
                    return self.load_bytes(leaf, at, access, flags);
                }
                let data = InstData { flags, ..InstData::new(Op::Load, [at], Detail::Access(access)) };
                self.emit(data, Some(Type::Scalar(leaf.scalar)))
            })
            .collect()
    }

    pub(super) fn store(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let (values, address) = (self.leaves(inst.operand(0))?, self.operand(inst, 1)?);
        self.check_written(address)?;
        let (access, flags) = self.access(inst)?;
        self.store_value(inst.operand(0).ty(), &values, address, access, flags)?;
        Ok(Leaves::new())
    }

    /// Stores a value of any type, scalar by scalar.
    pub(super) fn store_value(
        &mut self,
        ty: Ty<'m>,
        values: &Leaves,
        address: Value,
        access: Access,
        flags: Flags,
    ) -> ImportResult<()> {
        let leaves = self.pieces(ty, &access)?;
        if let Some(whole) = bit_vector(&leaves, ty)? {
            let mut bits = self.int(whole, 0);
            for (lane, &value) in values.iter().enumerate() {
                let wide = self.op_to(Op::Zext, whole, &[value])?;
                let amount = self.int(whole, lane as i128);
                let shifted = self.op(Op::Shl, &[wide, amount])?;
                bits = self.op_with(Op::Or, &[bits, shifted], Flags::of(&[Flag::Disjoint]))?;
            }
            let data =
                InstData { flags, ..InstData::new(Op::Store, [bits, address], Detail::Access(access)) };
            self.emit_inst(data, None)?;
            return Ok(());
        }
        for (leaf, &value) in leaves.iter().zip(values) {
            let at = self.offset_address(address, leaf.offset)?;
            let access = Access { align: align_at(access.align, leaf.offset), ..access };
            if leaf.has_odd_width() {
                self.store_bytes(leaf, value, at, access, flags)?;
                continue;
            }
            let data = InstData { flags, ..InstData::new(Op::Store, [value, at], Detail::Access(access)) };
            self.emit_inst(data, None)?;
        }
        Ok(())
    }

    /// Loads an integer of odd width byte by byte.
    fn load_bytes(
        &mut self,
        leaf: &Leaf,
        address: Value,
        access: Access,
        flags: Flags,
    ) -> ImportResult<Value> {
        let mut whole = self.int(leaf.scalar, 0);
        for byte in 0..u64::from(leaf.bits.div_ceil(8)) {
            let at = self.offset_address(address, byte)?;
            let access = Access { align: align_at(access.align, byte), ..access };
            let data = InstData { flags, ..InstData::new(Op::Load, [at], Detail::Access(access)) };
            let mut part = self.emit(data, Some(Type::I8))?;
            if leaf.scalar != Scalar::I8 {
                part = self.op_to(Op::Zext, leaf.scalar, &[part])?;
                let amount = self.int(leaf.scalar, i128::from(byte) * 8);
                part = self.op(Op::Shl, &[part, amount])?;
            }
            whole = self.op_with(Op::Or, &[whole, part], Flags::of(&[Flag::Disjoint]))?;
        }
        self.clear_upper_bits(whole, leaf.bits)
    }

    fn store_bytes(
        &mut self,
        leaf: &Leaf,
        value: Value,
        to: Value,
        access: Access,
        flags: Flags,
    ) -> ImportResult<()> {
        for byte in 0..u64::from(leaf.bits.div_ceil(8)) {
            let at = self.offset_address(to, byte)?;
            let access = Access { align: align_at(access.align, byte), ..access };
            let mut part = value;
            if leaf.scalar != Scalar::I8 {
                let amount = self.int(leaf.scalar, i128::from(byte) * 8);
                part = self.op(Op::Lshr, &[part, amount])?;
                part = self.op_to(Op::Trunc, Scalar::I8, &[part])?;
            }
            let data = InstData { flags, ..InstData::new(Op::Store, [part, at], Detail::Access(access)) };
            self.emit_inst(data, None)?;
        }
        Ok(())
    }

    /// Refuses writes to constant memory.
    pub(super) fn check_written(&self, address: Value) -> ImportResult<()> {
        match self.scalar(address) {
            Scalar::Ptr(Space::Constant) => {
                let reason = "write to constant memory";
                Err(ImportRefusal::new(reason, "use global memory"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the scalars of an accessed type, after checking that the access is supported.
    fn pieces(&self, ty: Ty<'m>, access: &Access) -> ImportResult<std::rc::Rc<[Leaf]>> {
        let leaves = self.module.types.leaves(ty)?;
        if access.atomic.is_some() {
            let [leaf] = leaves[..] else {
                return Err(ImportRefusal::new("atomic access of several values", "access them one by one"));
            };
            if leaf.has_odd_width() {
                return Err(ImportRefusal::new("atomic access of an odd width", "use the next wider type"));
            }
            self.check_atomic(leaf.scalar, access.align)?;
        }
        // Vectors are bit-packed: elements of odd width have no padding.
        if ty.is_vector() && leaves.iter().any(Leaf::has_odd_width) {
            return Err(ImportRefusal::new(
                "a vector of integers of odd widths in memory",
                "use the next wider type",
            ));
        }
        Ok(leaves)
    }

    fn check_atomic(&self, scalar: Scalar, align: u32) -> ImportResult<()> {
        if !scalar.bits().is_multiple_of(8) {
            return Err(ImportRefusal::new("atomic access of a bit", "use a byte"));
        }
        if align < scalar.bytes() {
            return Err(ImportRefusal::new("unaligned atomic access", "align it to its size"));
        }
        Ok(())
    }

    // Atomics.

    fn scope(&self, inst: Val<'m>) -> ImportResult<SyncScope> {
        let id = inst.scope_id();
        const NAMES: [(&str, SyncScope); 14] = [
            ("singlethread", SyncScope::Lane),
            ("", SyncScope::System),
            ("subgroup", SyncScope::Brush),
            ("wavefront", SyncScope::Brush),
            ("workgroup", SyncScope::Group),
            ("block", SyncScope::Group),
            ("agent", SyncScope::Device),
            ("device", SyncScope::Device),
            ("singlethread-one-as", SyncScope::Lane),
            ("one-as", SyncScope::System),
            ("wavefront-one-as", SyncScope::Brush),
            ("workgroup-one-as", SyncScope::Group),
            ("agent-one-as", SyncScope::Device),
            ("all_svm_devices", SyncScope::System),
        ];
        match id {
            0 => return Ok(SyncScope::Lane),
            1 => return Ok(SyncScope::System),
            _ => {}
        }
        let known = NAMES.iter().find(|(name, _)| self.module.llvm.sync_scope(name) == id);
        let unknown =
            || ImportRefusal::new("unknown synchronization scope", "use no scope, or one of OpenCL's");
        known.map(|&(_, scope)| scope).ok_or_else(unknown)
    }

    pub(super) fn fence(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let ordering = ordering(inst.ordering()).unwrap_or(AtomicOrdering::SeqCst);
        let detail = Detail::Fence(ordering, self.scope(inst)?);
        self.emit_inst(InstData::new(Op::Fence, [], detail), None)?;
        Ok(Leaves::new())
    }

    pub(super) fn atomic_rmw(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        use LLVMAtomicRMWBinOp::*;
        let (address, value) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        self.check_written(address)?;
        let rmw = match inst.rmw_op() {
            LLVMAtomicRMWBinOpXchg => Rmw::Exchange,
            LLVMAtomicRMWBinOpAdd => Rmw::Add,
            LLVMAtomicRMWBinOpSub => Rmw::Sub,
            LLVMAtomicRMWBinOpAnd => Rmw::And,
            LLVMAtomicRMWBinOpNand => Rmw::Nand,
            LLVMAtomicRMWBinOpOr => Rmw::Or,
            LLVMAtomicRMWBinOpXor => Rmw::Xor,
            LLVMAtomicRMWBinOpMax => Rmw::Smax,
            LLVMAtomicRMWBinOpMin => Rmw::Smin,
            LLVMAtomicRMWBinOpUMax => Rmw::Umax,
            LLVMAtomicRMWBinOpUMin => Rmw::Umin,
            LLVMAtomicRMWBinOpFAdd => Rmw::Fadd,
            LLVMAtomicRMWBinOpFSub => Rmw::Fsub,
            LLVMAtomicRMWBinOpFMax => Rmw::Fmax,
            LLVMAtomicRMWBinOpFMin => Rmw::Fmin,
            LLVMAtomicRMWBinOpUIncWrap => Rmw::IncWrap,
            LLVMAtomicRMWBinOpUDecWrap => Rmw::DecWrap,
            LLVMAtomicRMWBinOpUSubCond
            | LLVMAtomicRMWBinOpUSubSat
            | LLVMAtomicRMWBinOpFMaximum
            | LLVMAtomicRMWBinOpFMinimum => {
                return Err(ImportRefusal::new(
                    "unsupported atomic operation",
                    "write it as a loop around a compare-and-exchange",
                ));
            }
        };
        let order = ordering(inst.ordering()).unwrap_or(AtomicOrdering::SeqCst);
        let access = self.atomic_access(inst, inst.operand(1).ty(), order)?;
        let data = InstData::new(Op::AtomicRmw, [address, value], Detail::Rmw(rmw, access));
        Ok(Leaves::from_slice(&[self.emit(InstData { flags: volatile(inst.is_volatile()), ..data }, None)?]))
    }

    pub(super) fn compare_exchange(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let args = [self.operand(inst, 0)?, self.operand(inst, 1)?, self.operand(inst, 2)?];
        self.check_written(args[0])?;
        let (success, failure) = inst.exchange_orderings();
        let success = ordering(success).unwrap_or(AtomicOrdering::SeqCst);
        let failure = ordering(failure).unwrap_or(AtomicOrdering::SeqCst);
        let access = self.atomic_access(inst, inst.operand(1).ty(), success)?;
        let data = InstData::new(Op::CompareExchange, args, Detail::CompareExchange(access, failure));
        let exchange = self.emit_inst(InstData { flags: volatile(inst.is_volatile()), ..data }, None)?;
        Ok(self.func.results(exchange).iter().copied().collect())
    }

    fn atomic_access(&self, inst: Val<'m>, ty: Ty<'m>, order: AtomicOrdering) -> ImportResult<Access> {
        let access =
            Access { atomic: Some((order, self.scope(inst)?)), ..Access::aligned(inst.alignment().max(1)) };
        self.pieces(ty, &access)?;
        Ok(access)
    }
}

/// Returns the volatile flag if set.
pub(super) fn volatile(is_volatile: bool) -> Flags {
    if is_volatile { Flags::NONE.with(Flag::Volatile) } else { Flags::NONE }
}

/// Returns the integer type that stores a vector of bits; refuses bits inside other aggregates.
fn bit_vector(leaves: &[Leaf], ty: Ty<'_>) -> ImportResult<Option<Scalar>> {
    let bits = leaves.iter().filter(|leaf| leaf.scalar == Scalar::I1).count();
    let is_vector = ty.is_vector();
    if bits == 0 || !is_vector && leaves.windows(2).all(|pair| pair[0].offset < pair[1].offset) {
        return Ok(None);
    }
    match Scalar::int(leaves.len() as u32) {
        Some(whole) if is_vector && bits == leaves.len() => Ok(Some(whole)),
        _ => Err(ImportRefusal::new(
            format!("no integer type for a vector of {} bits in memory", leaves.len()),
            "use bytes",
        )),
    }
}

fn ordering(ordering: LLVMAtomicOrdering) -> Option<AtomicOrdering> {
    use LLVMAtomicOrdering::*;
    match ordering {
        LLVMAtomicOrderingNotAtomic => None,
        LLVMAtomicOrderingUnordered => Some(AtomicOrdering::Unordered),
        LLVMAtomicOrderingMonotonic => Some(AtomicOrdering::Relaxed),
        LLVMAtomicOrderingAcquire => Some(AtomicOrdering::Acquire),
        LLVMAtomicOrderingRelease => Some(AtomicOrdering::Release),
        LLVMAtomicOrderingAcquireRelease => Some(AtomicOrdering::AcqRel),
        LLVMAtomicOrderingSequentiallyConsistent => Some(AtomicOrdering::SeqCst),
    }
}
