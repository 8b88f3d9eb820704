//! Emission of memory operations: `i1` occupies a byte, vectors are stored lane by lane, all spaces are one.

use super::assembler::{Assembler, ValueHandle};
use super::function::BodyEmitter;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{AtomicOrdering, Flag, Flags, Rmw, SyncScope};
use heddle_ir::{Block, Diagnostic, Inst, Op, Scalar, Type};
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMOpcode};

/// Returns the in-memory type of a value.
fn in_memory(ty: Type) -> Type {
    match ty.scalar() {
        Scalar::I1 => ty.with_scalar(Scalar::I8),
        _ => ty,
    }
}

/// Converts a loaded value to its type; a byte other than 0 or 1 gives poison.
fn from_memory(asm: &Assembler, ty: Type, loaded: ValueHandle) -> ValueHandle {
    match ty.scalar() {
        Scalar::I1 => {
            let cut = asm.cast(LLVMOpcode::LLVMTrunc, loaded, asm.ty(ty));
            asm.with_flags(cut, Flags::of(&[Flag::Nuw]))
        }
        _ => loaded,
    }
}

fn to_memory(asm: &Assembler, ty: Type, value: ValueHandle) -> ValueHandle {
    match ty.scalar() {
        Scalar::I1 => asm.cast(LLVMOpcode::LLVMZExt, value, asm.ty(in_memory(ty))),
        _ => value,
    }
}

/// Emits a plain load.
pub(super) fn load_plain(asm: &Assembler, ty: Type, address: ValueHandle, align: u32) -> ValueHandle {
    let loaded = asm.load(asm.ty(in_memory(ty)), address, align);
    from_memory(asm, ty, loaded)
}

/// Emits a plain store.
pub(super) fn store_plain(asm: &Assembler, ty: Type, value: ValueHandle, address: ValueHandle, align: u32) {
    let value = to_memory(asm, ty, value);
    asm.store(value, address, align);
}

/// Maximum number of lanes of one masked access.
///
/// Where the target has no such instruction, LLVM makes a branch for each lane and carries the whole vector from one block to the next. Its
/// fastest register allocator spills that vector in each block: `lanes²` elements of stack, 3 MB for 512 lanes. Accesses of more
/// lanes are therefore split, which keeps the stack linear in the lanes.
const MAX_MASKED_LANES: u32 = 64;

fn vector_lanes(ty: Type) -> u32 {
    ty.lanes().unwrap_or(1).into()
}

/// First lane and number of lanes of each part of a masked access, in lane order.
fn access_parts(ty: Type) -> impl Iterator<Item = (u32, u32)> {
    let lanes = vector_lanes(ty);
    (0..lanes)
        .step_by(MAX_MASKED_LANES as usize)
        .map(move |first| (first, MAX_MASKED_LANES.min(lanes - first)))
}

/// The `count` lanes of a vector from `first` on; `whole` has as many lanes as the vector.
fn lanes_of(asm: &Assembler, vector: ValueHandle, whole: Type, first: u32, count: u32) -> ValueHandle {
    if count == vector_lanes(whole) {
        return vector;
    }
    asm.shuffle(vector, vector, &(first..first + count).collect::<Vec<_>>())
}

/// Address of an element of a contiguous access.
fn element_address(asm: &Assembler, address: ValueHandle, ty: Type, index: u32) -> ValueHandle {
    if index == 0 {
        return address;
    }
    let bytes = index * in_memory(ty).scalar().bytes();
    asm.offset_address(address, asm.int(64, bytes.into()), 0)
}

/// Alignment of the part of an access that begins at lane `first`.
fn part_align(op: Op, access: &Access, ty: Type, first: u32) -> u32 {
    match op {
        Op::MaskedLoad | Op::MaskedStore if first > 0 => {
            let bytes = first * in_memory(ty).scalar().bytes();
            access.align.min(1 << bytes.trailing_zeros())
        }
        _ => access.align,
    }
}

/// Vector of the lanes of `low` and then those of `high`, which has at most as many.
fn concatenated(
    asm: &Assembler,
    low: ValueHandle,
    low_lanes: u32,
    high: ValueHandle,
    high_lanes: u32,
) -> ValueHandle {
    let high = match high_lanes == low_lanes {
        true => high,
        false => asm.shuffle(high, high, &(0..low_lanes).map(|lane| lane % high_lanes).collect::<Vec<_>>()),
    };
    asm.shuffle(low, high, &(0..low_lanes + high_lanes).collect::<Vec<_>>())
}

pub(super) fn ordering(ordering: AtomicOrdering) -> LLVMAtomicOrdering {
    use LLVMAtomicOrdering::*;
    match ordering {
        AtomicOrdering::Unordered => LLVMAtomicOrderingUnordered,
        AtomicOrdering::Relaxed => LLVMAtomicOrderingMonotonic,
        AtomicOrdering::Acquire => LLVMAtomicOrderingAcquire,
        AtomicOrdering::Release => LLVMAtomicOrderingRelease,
        AtomicOrdering::AcqRel => LLVMAtomicOrderingAcquireRelease,
        AtomicOrdering::SeqCst => LLVMAtomicOrderingSequentiallyConsistent,
    }
}

/// Distance of the lines that are fetched ahead, in bytes: four lines.
const AHEAD: u32 = 256;
/// Bytes of a cache line.
const CACHE_LINE: u32 = 64;
/// Operands of `llvm.prefetch`: locality that keeps a line in all caches, and the data cache.
const ALL_CACHES: u128 = 3;
const DATA: u128 = 1;

/// Alignment of the widest vectors, in bytes.
const STACK_ALIGN: u32 = 64;

impl BodyEmitter<'_, '_> {
    /// Emits an instruction that accesses memory.
    pub(super) fn memory(
        &mut self,
        block: Block,
        inst: Inst,
        data: &InstData,
        results: &[Type],
    ) -> Result<Vec<ValueHandle>, Diagnostic> {
        let args = self.nodes(&data.args);
        let types: Vec<Type> = data.args.iter().map(|&arg| self.func.value_type(arg)).collect();
        let asm = &self.module.asm;
        let is_volatile = data.flags.has(Flag::Volatile);
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        let ty = results.first().copied().unwrap_or(Type::I1);
        let one = |node| Ok(vec![node]);
        match data.op {
            Op::Alloca => match data.detail {
                // For an alloca outside the entry block, LLVM 22 moves the stack pointer and then stores vectors
                // passed on the stack as if it were still aligned for them.
                Detail::Alloca { bytes, align } if block != self.func.entry() => {
                    one(asm.alloca(bytes.next_multiple_of(STACK_ALIGN.into()), align.max(STACK_ALIGN)))
                }
                Detail::Alloca { bytes, align } => one(asm.alloca(bytes, align)),
                _ => Ok(Vec::new()),
            },
            Op::PtrAdd => {
                let promises =
                    u32::from(data.flags.has(Flag::Inbounds)) * 3 + u32::from(data.flags.has(Flag::Nuw)) * 4;
                // GEP offsets are signed; LLVM truncates or sign-extends them.
                let offset = match types[1].scalar() {
                    Scalar::I1 => {
                        asm.cast(LLVMOpcode::LLVMSExt, args[1], asm.ty(types[1].with_scalar(Scalar::I8)))
                    }
                    _ => args[1],
                };
                one(asm.offset_address(args[0], offset, promises))
            }
            Op::Load => {
                let load = asm.load(asm.ty(in_memory(ty)), args[0], access.align);
                self.mark(load, data, &access);
                self.fetch_ahead(data, args[0], ty);
                one(from_memory(asm, ty, load))
            }
            Op::Store => {
                let value = to_memory(asm, types[0], args[0]);
                let store = asm.store(value, args[1], access.align);
                self.mark(store, data, &access);
                self.fetch_ahead(data, args[1], types[0]);
                Ok(Vec::new())
            }
            Op::Memcpy | Op::Memmove => {
                let Detail::Transfer(both) = &data.detail else { return Ok(Vec::new()) };
                let name = if data.op == Op::Memcpy { "llvm.memcpy" } else { "llvm.memmove" };
                let pointer = asm.type_of(args[0]);
                let size = self.size(args[2], types[2].scalar());
                let asm = &self.module.asm;
                let operands = [args[0], args[1], size, asm.int(1, is_volatile.into())];
                let call = asm.intrinsic(name, &[pointer, pointer, asm.int_ty(64)], &operands);
                asm.align_argument(call, 1, both.0.align);
                asm.align_argument(call, 2, both.1.align);
                Ok(Vec::new())
            }
            Op::Memset => {
                let size = self.size(args[2], types[2].scalar());
                let asm = &self.module.asm;
                let operands = [args[0], args[1], size, asm.int(1, is_volatile.into())];
                let call = asm.intrinsic("llvm.memset", &[asm.type_of(args[0]), asm.int_ty(64)], &operands);
                asm.align_argument(call, 1, access.align);
                Ok(Vec::new())
            }
            Op::Fence => {
                if let Detail::Fence(order, scope) = data.detail {
                    asm.fence(ordering(order), scope == SyncScope::Lane);
                }
                Ok(Vec::new())
            }
            Op::AtomicRmw => one(self.rmw(data, &args, types[1], &access)),
            Op::CompareExchange => Ok(self.compare_exchange(data, &args, types[1], &access)),
            Op::MaskedLoad | Op::Gather => {
                let otherwise = to_memory(asm, ty, args[2]);
                let mut loaded: Option<(ValueHandle, u32)> = None;
                for (first, count) in access_parts(ty) {
                    let [mask, otherwise] =
                        [args[1], otherwise].map(|it| lanes_of(asm, it, ty, first, count));
                    let memory_ty = asm.ty(Type::Vector(in_memory(ty).scalar(), count as u16));
                    let (name, address) = match data.op {
                        Op::Gather => ("llvm.masked.gather", lanes_of(asm, args[0], ty, first, count)),
                        _ => ("llvm.masked.load", element_address(asm, args[0], ty, first)),
                    };
                    let open = [memory_ty, asm.type_of(address)];
                    let call = asm.intrinsic(name, &open, &[address, mask, otherwise]);
                    asm.align_argument(call, 1, part_align(data.op, &access, ty, first));
                    self.mark(call, data, &Access { atomic: None, ..access });
                    loaded = Some(match loaded {
                        Some((before, lanes)) => {
                            (concatenated(asm, before, lanes, call, count), lanes + count)
                        }
                        None => (call, count),
                    });
                }
                if data.op == Op::MaskedLoad {
                    self.fetch_ahead(data, args[0], ty);
                }
                // Inactive lanes are defined already, so the truncation keeps its flag.
                Ok(loaded.map(|(loaded, _)| from_memory(asm, ty, loaded)).into_iter().collect())
            }
            Op::MaskedStore | Op::Scatter => {
                let value = to_memory(asm, types[0], args[0]);
                for (first, count) in access_parts(types[0]) {
                    let [value, mask] = [value, args[2]].map(|it| lanes_of(asm, it, types[0], first, count));
                    let (name, address) = match data.op {
                        Op::Scatter => {
                            ("llvm.masked.scatter", lanes_of(asm, args[1], types[0], first, count))
                        }
                        _ => ("llvm.masked.store", element_address(asm, args[1], types[0], first)),
                    };
                    let open = [asm.type_of(value), asm.type_of(address)];
                    let call = asm.intrinsic(name, &open, &[value, address, mask]);
                    asm.align_argument(call, 2, part_align(data.op, &access, types[0], first));
                    self.mark(call, data, &Access { atomic: None, ..access });
                }
                if data.op == Op::MaskedStore {
                    self.fetch_ahead(data, args[1], types[0]);
                }
                Ok(Vec::new())
            }
            _ => Err(self.broken(inst, "it touches no memory")),
        }
    }

    /// Converts a byte count to i64.
    fn size(&self, size: ValueHandle, scalar: Scalar) -> ValueHandle {
        let asm = &self.module.asm;
        match scalar.bits() {
            64 => size,
            65.. => asm.cast(LLVMOpcode::LLVMTrunc, size, asm.int_ty(64)),
            _ => asm.cast(LLVMOpcode::LLVMZExt, size, asm.int_ty(64)),
        }
    }

    /// Fetches the lines that follow an access with the flag `ahead`. A prefetch of an invalid address has no effect.
    fn fetch_ahead(&self, data: &InstData, address: ValueHandle, ty: Type) {
        if !data.flags.has(Flag::Ahead) {
            return;
        }
        let asm = &self.module.asm;
        let is_write = matches!(data.op, Op::Store | Op::MaskedStore);
        for line in (0..ty.bytes()).step_by(CACHE_LINE as usize) {
            let at = asm.offset_address(address, asm.int(64, (AHEAD + line).into()), 0);
            let operands = [at, asm.int(32, is_write.into()), asm.int(32, ALL_CACHES), asm.int(32, DATA)];
            asm.intrinsic("llvm.prefetch", &[asm.type_of(at)], &operands);
        }
    }

    fn mark(&self, node: ValueHandle, data: &InstData, access: &Access) {
        let asm = &self.module.asm;
        self.attach_facts(node, data);
        if let Some((order, scope)) = access.atomic {
            asm.make_atomic(node, ordering(order), scope == SyncScope::Lane);
        }
        if data.flags.has(Flag::Volatile) && matches!(data.op, Op::Load | Op::Store) {
            asm.make_volatile(node);
        }
        // Nontemporal hints are optional. x86 has none for small stores, and its loads of ordinary memory ignore
        // them; LLVM 22.1 scalarizes nontemporal vector loads and cannot always select the result.
        let stored = match data.op {
            Op::Store | Op::MaskedStore | Op::Scatter => {
                data.args.first().map(|&value| self.func.value_type(value))
            }
            _ => None,
        };
        let takes_hint = |ty: Type| ty.is_vector() && ty.scalar().bits() >= 32 || matches!(ty.bytes(), 4 | 8);
        if data.flags.has(Flag::Nontemporal) && stored.is_some_and(takes_hint) {
            asm.attach(node, "nontemporal", None, &[1]);
        }
        if data.flags.has(Flag::Invariant) && data.op == Op::Load {
            asm.attach(node, "invariant.load", None, &[]);
        }
    }

    fn rmw(&self, data: &InstData, args: &[ValueHandle], ty: Type, access: &Access) -> ValueHandle {
        use LLVMAtomicRMWBinOp::*;
        let Detail::Rmw(rmw, _) = data.detail else { return args[1] };
        let op = match rmw {
            Rmw::Exchange => LLVMAtomicRMWBinOpXchg,
            Rmw::Add => LLVMAtomicRMWBinOpAdd,
            Rmw::Sub => LLVMAtomicRMWBinOpSub,
            Rmw::And => LLVMAtomicRMWBinOpAnd,
            Rmw::Nand => LLVMAtomicRMWBinOpNand,
            Rmw::Or => LLVMAtomicRMWBinOpOr,
            Rmw::Xor => LLVMAtomicRMWBinOpXor,
            Rmw::Umin => LLVMAtomicRMWBinOpUMin,
            Rmw::Umax => LLVMAtomicRMWBinOpUMax,
            Rmw::Smin => LLVMAtomicRMWBinOpMin,
            Rmw::Smax => LLVMAtomicRMWBinOpMax,
            Rmw::Fadd => LLVMAtomicRMWBinOpFAdd,
            Rmw::Fsub => LLVMAtomicRMWBinOpFSub,
            Rmw::Fmin => LLVMAtomicRMWBinOpFMin,
            Rmw::Fmax => LLVMAtomicRMWBinOpFMax,
            Rmw::IncWrap => LLVMAtomicRMWBinOpUIncWrap,
            Rmw::DecWrap => LLVMAtomicRMWBinOpUDecWrap,
        };
        let (order, scope) = access.atomic.unwrap_or((AtomicOrdering::SeqCst, SyncScope::System));
        if let Some(done) = self.rmw_of_bf16(rmw, data, args, ty, access) {
            return done;
        }
        let asm = &self.module.asm;
        let rmw = asm.rmw(op, args[0], args[1], ordering(order), scope == SyncScope::Lane, access.align);
        if data.flags.has(Flag::Volatile) {
            asm.make_volatile(rmw);
        }
        self.attach_facts(rmw, data);
        rmw
    }

    /// Emits a compare-exchange; LLVM has it for integers and pointers, so floats are bitcast.
    fn compare_exchange(
        &self,
        data: &InstData,
        args: &[ValueHandle],
        ty: Type,
        access: &Access,
    ) -> Vec<ValueHandle> {
        let asm = &self.module.asm;
        let Detail::CompareExchange(_, failure) = data.detail else { return Vec::new() };
        let (order, scope) = access.atomic.unwrap_or((AtomicOrdering::SeqCst, SyncScope::System));
        let is_float = ty.scalar().is_float();
        let as_int = |node| match is_float {
            true => asm.cast(LLVMOpcode::LLVMBitCast, node, asm.int_ty(ty.scalar().bits())),
            false => node,
        };
        let operands = [args[0], as_int(args[1]), as_int(args[2])];
        let orders = [ordering(order), ordering(failure)];
        let both = asm.exchange(operands, orders, scope == SyncScope::Lane, access.align);
        if data.flags.has(Flag::Volatile) {
            asm.make_volatile(both);
        }
        self.attach_facts(both, data);
        let old = asm.field(both, 0);
        let old = if is_float { asm.cast(LLVMOpcode::LLVMBitCast, old, asm.ty(ty)) } else { old };
        vec![old, asm.field(both, 1)]
    }
}
