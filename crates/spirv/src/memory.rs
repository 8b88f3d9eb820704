//! Loads, stores, addresses, copies, atomics, fences.

use crate::binary::SpirvInst;
use crate::chain::{ChainIndex, walk};
use crate::error::SpirvResult;
use crate::function::{ANY, FunctionWriter};
use crate::types::{NumberKind, SpirvTypeKind};
use spirv::{Decoration, MemoryAccess, MemorySemantics, Op};

/// Memory operand of an access.
#[derive(Clone, Copy, Default)]
struct AccessOperand {
    is_volatile: bool,
    align: Option<u32>,
    is_nontemporal: bool,
}

impl AccessOperand {
    /// Reads a memory operand from its first word on; returns the number of its words.
    fn read(inst: &SpirvInst<'_>, index: usize) -> SpirvResult<(AccessOperand, usize)> {
        let Some(&mask) = inst.words.get(index) else { return Ok((AccessOperand::default(), 0)) };
        let mask = MemoryAccess::from_bits_truncate(mask);
        let mut used = 1;
        let mut align = None;
        if mask.contains(MemoryAccess::ALIGNED) {
            let given = inst.operand(index + 1)?;
            if !given.is_power_of_two() || given > 1 << 16 {
                return Err(inst.invalid(format!("the alignment {given} is no power of two")));
            }
            align = Some(given);
            used += 1;
        }
        let is_volatile = mask.contains(MemoryAccess::VOLATILE);
        let is_nontemporal = mask.contains(MemoryAccess::NONTEMPORAL);
        Ok((AccessOperand { is_volatile, align, is_nontemporal }, used))
    }

    fn prefix(self) -> &'static str {
        if self.is_volatile { "volatile " } else { "" }
    }

    fn suffix(self) -> String {
        let align = self.align.map(|align| format!(", align {align}")).unwrap_or_default();
        let hint = if self.is_nontemporal { ", !nontemporal !{i32 1}" } else { "" };
        format!("{align}{hint}")
    }
}

/// Ordering of an atomic operation, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtomicOrder {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    Sequential,
}

impl AtomicOrder {
    fn text(self) -> &'static str {
        match self {
            AtomicOrder::Relaxed => "monotonic",
            AtomicOrder::Acquire => "acquire",
            AtomicOrder::Release => "release",
            AtomicOrder::AcquireRelease => "acq_rel",
            AtomicOrder::Sequential => "seq_cst",
        }
    }

    /// Ordering of a load: releases nothing.
    fn of_load(self) -> AtomicOrder {
        match self {
            AtomicOrder::Release => AtomicOrder::Relaxed,
            AtomicOrder::AcquireRelease => AtomicOrder::Acquire,
            _ => self,
        }
    }

    /// Ordering of a store: acquires nothing.
    fn of_store(self) -> AtomicOrder {
        match self {
            AtomicOrder::Acquire => AtomicOrder::Relaxed,
            AtomicOrder::AcquireRelease => AtomicOrder::Release,
            _ => self,
        }
    }
}

/// LLVM's scope of atomic operations. OpenCL C's builtins use it for every scope.
const SCOPE: &str = "syncscope(\"device\")";

impl FunctionWriter<'_, '_> {
    /// Writes an instruction that accesses memory or computes an address; false for others.
    pub(crate) fn memory(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<bool> {
        match op {
            Op::Load => self.load(inst)?,
            Op::Store => self.store(inst)?,
            Op::CopyMemory => self.copy(inst)?,
            Op::CopyMemorySized => self.copy_sized(inst)?,
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                let (base, space, pointee) = self.pointer(inst, 2)?;
                self.chain(inst, op, &base.text, space, pointee, 3)?;
            }
            Op::UntypedAccessChainKHR
            | Op::UntypedInBoundsAccessChainKHR
            | Op::UntypedPtrAccessChainKHR
            | Op::UntypedInBoundsPtrAccessChainKHR => {
                let (base, space, _) = self.pointer(inst, 3)?;
                self.chain(inst, op, &base.text, space, inst.operand(2)?, 4)?;
            }
            Op::PtrCastToGeneric
            | Op::GenericCastToPtr
            | Op::PtrCastToCrossWorkgroupALTERA
            | Op::CrossWorkgroupCastToPtrALTERA => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let (value, from, _) = self.pointer(inst, 2)?;
                let Some((to, _)) = self.module.types.pointer(ty) else {
                    return Err(inst.invalid("the result is no pointer"));
                };
                let text = self.pointer_text(to);
                match from == to {
                    true => self.alias(id, &text, &value.text),
                    false => self.result(id, &format!("addrspacecast {} to {text}", value.typed())),
                }
            }
            Op::GenericCastToPtrExplicit => self.cast_explicit(inst)?,
            Op::GenericPtrMemSemantics => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                self.pointer(inst, 2)?;
                self.check_type(inst, ty, "i32")?;
                // The memory of a generic pointer is unknown: both kinds are always correct.
                let both = MemorySemantics::WORKGROUP_MEMORY | MemorySemantics::CROSS_WORKGROUP_MEMORY;
                self.alias(id, "i32", &both.bits().to_string());
            }
            Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff => self.compare_pointers(inst, op)?,
            // The wait of a split barrier waits for all; arriving only orders accesses.
            Op::ControlBarrier | Op::ControlBarrierWaitINTEL => self.control_barrier(inst)?,
            Op::ControlBarrierArriveINTEL => {
                self.scope(inst, inst.operand(0)?)?;
                let order = self.order(inst, inst.operand(2)?);
                self.fence(order);
            }
            Op::MemoryBarrier => {
                let order = self.order(inst, inst.operand(1)?);
                self.fence(order);
            }
            Op::AtomicLoad => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                let (pointer, ..) = self.pointer(inst, 2)?;
                let text = self.atomic_type(inst, ty)?;
                let order = self.order(inst, inst.operand(4)?).of_load().text();
                let align = self.natural(ty);
                self.result(
                    id,
                    &format!("load atomic {text}, {} {SCOPE} {order}, align {align}", pointer.typed()),
                );
            }
            Op::AtomicStore => {
                let (pointer, ..) = self.pointer(inst, 0)?;
                let value = self.operand(inst, 3)?;
                self.atomic_type(inst, value.ty)?;
                let order = self.order(inst, inst.operand(2)?).of_store().text();
                let align = self.natural(value.ty);
                let (value, pointer) = (value.typed(), pointer.typed());
                self.line(&format!("store atomic {value}, {pointer} {SCOPE} {order}, align {align}"));
            }
            Op::AtomicExchange => self.read_modify_write(inst, "xchg", None, false)?,
            Op::AtomicIAdd => self.read_modify_write(inst, "add", None, false)?,
            Op::AtomicISub => self.read_modify_write(inst, "sub", None, false)?,
            Op::AtomicIIncrement => self.read_modify_write(inst, "add", Some("1"), false)?,
            Op::AtomicIDecrement => self.read_modify_write(inst, "sub", Some("1"), false)?,
            Op::AtomicSMin => self.read_modify_write(inst, "min", None, false)?,
            Op::AtomicUMin => self.read_modify_write(inst, "umin", None, false)?,
            Op::AtomicSMax => self.read_modify_write(inst, "max", None, false)?,
            Op::AtomicUMax => self.read_modify_write(inst, "umax", None, false)?,
            Op::AtomicAnd => self.read_modify_write(inst, "and", None, false)?,
            Op::AtomicOr => self.read_modify_write(inst, "or", None, false)?,
            Op::AtomicXor => self.read_modify_write(inst, "xor", None, false)?,
            Op::AtomicFAddEXT => self.read_modify_write(inst, "fadd", None, true)?,
            Op::AtomicFMinEXT => self.read_modify_write(inst, "fmin", None, true)?,
            Op::AtomicFMaxEXT => self.read_modify_write(inst, "fmax", None, true)?,
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => self.compare_exchange(inst)?,
            Op::AtomicFlagTestAndSet => {
                let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
                self.check_type(inst, ty, "i1")?;
                let (pointer, ..) = self.pointer(inst, 2)?;
                let order = self.order(inst, inst.operand(4)?).text();
                let old =
                    self.temporary(&format!("atomicrmw xchg {}, i32 1 {SCOPE} {order}", pointer.typed()));
                self.result(id, &format!("icmp ne i32 {old}, 0"));
            }
            Op::AtomicFlagClear => {
                let (pointer, ..) = self.pointer(inst, 0)?;
                let order = self.order(inst, inst.operand(2)?).of_store().text();
                self.line(&format!("store atomic i32 0, {} {SCOPE} {order}, align 4", pointer.typed()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn natural(&self, ty: u32) -> u64 {
        self.module.types.get(ty).map_or(1, |ty| ty.align)
    }

    /// True if accesses through a pointer are volatile.
    fn is_volatile(&self, id: u32) -> bool {
        self.module.decoration(id, Decoration::Volatile).is_some()
    }

    fn load(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.sized_text(inst, ty)?;
        let (pointer, ..) = self.pointer(inst, 2)?;
        let (mut access, _) = AccessOperand::read(inst, 3)?;
        access.is_volatile |= self.is_volatile(pointer.id);
        let (prefix, suffix) = (access.prefix(), access.suffix());
        let tag = self.alias_tag(ty, &text);
        self.result(id, &format!("load {prefix}{text}, {}{suffix}{tag}", pointer.typed()));
        Ok(())
    }

    /// Returns the tag of an access to a number, if types tell memory apart. Bytes and vectors may be a part of anything.
    fn alias_tag(&mut self, ty: u32, text: &str) -> String {
        let kind = self.module.types.number(ty).filter(|number| !number.is_vector).map(|number| number.kind);
        let tag = match kind {
            Some(NumberKind::Int(16..=64) | NumberKind::Float(_)) => self.output.alias_tag(text),
            _ => None,
        };
        tag.map(|tag| format!(", !tbaa !{tag}")).unwrap_or_default()
    }

    fn store(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (pointer, ..) = self.pointer(inst, 0)?;
        let value = self.operand(inst, 1)?;
        let text = self.sized_text(inst, value.ty)?;
        let (mut access, _) = AccessOperand::read(inst, 2)?;
        access.is_volatile |= self.is_volatile(pointer.id);
        let (prefix, suffix) = (access.prefix(), access.suffix());
        let tag = self.alias_tag(value.ty, &text);
        self.line(&format!("store {prefix}{}, {}{suffix}{tag}", value.typed(), pointer.typed()));
        Ok(())
    }

    /// Returns the memory operands of a copy: of the target and of the source.
    fn copy_accesses(inst: &SpirvInst<'_>, index: usize) -> SpirvResult<(AccessOperand, AccessOperand)> {
        let (to, used) = AccessOperand::read(inst, index)?;
        match inst.words.len() > index + used && used > 0 {
            true => Ok((to, AccessOperand::read(inst, index + used)?.0)),
            false => Ok((to, to)),
        }
    }

    fn copy(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (target, _, mut pointee) = self.pointer(inst, 0)?;
        let (source, _, copied) = self.pointer(inst, 1)?;
        // An untyped pointer takes the other one's type.
        if pointee == target.ty {
            pointee = copied;
        }
        let text = self.sized_text(inst, pointee)?;
        let (to, from) = Self::copy_accesses(inst, 2)?;
        let value =
            self.temporary(&format!("load {}{text}, {}{}", from.prefix(), source.typed(), from.suffix()));
        self.line(&format!("store {}{text} {value}, {}{}", to.prefix(), target.typed(), to.suffix()));
        Ok(())
    }

    fn copy_sized(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (target, to_space, _) = self.pointer(inst, 0)?;
        let (source, from_space, _) = self.pointer(inst, 1)?;
        let size = self.index(inst, 2)?;
        let bits = self.number_of(inst, &size)?.kind.bits();
        let size = self.resized(&size.text, bits, 64);
        let (to, from) = Self::copy_accesses(inst, 3)?;
        let name = format!("llvm.memcpy.p{to_space}.p{from_space}.i64");
        let params = format!("{}, {}, i64, i1", target.type_text, source.type_text);
        self.output.declare_plain(&name, "void", &params);
        let align =
            |access: AccessOperand| access.align.map_or(String::new(), |align| format!(" align {align}"));
        self.line(&format!(
            "call void @{name}({}{} {}, {}{} {}, i64 {size}, i1 {})",
            target.type_text,
            align(to),
            target.text,
            source.type_text,
            align(from),
            source.text,
            to.is_volatile || from.is_volatile
        ));
        Ok(())
    }

    fn chain(
        &mut self,
        inst: &SpirvInst<'_>,
        op: Op,
        base: &str,
        space: u32,
        pointee: u32,
        first: usize,
    ) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let mut indices = Vec::new();
        for &index in inst.words.get(first..).unwrap_or_default() {
            let value = self.value(inst, index)?;
            let bits = self.module.constant_bits(index);
            indices.push(ChainIndex { ty: value.ty, text: value.text, bits });
        }
        let chain = walk(self.module, inst, op, space, pointee, &indices)?;
        if self.module.types.pointer(ty).is_none_or(|(to, _)| to != space) {
            return Err(inst.invalid("the result is no pointer of the same storage class"));
        }
        let pointer = self.pointer_text(space);
        match &*chain.indices {
            "" => self.alias(id, &pointer, base),
            list => {
                let flag = if chain.in_bounds { "inbounds " } else { "" };
                let element = &chain.element;
                self.result(id, &format!("getelementptr {flag}{element}, {pointer} {base}{list}"));
            }
        }
        Ok(())
    }

    fn cast_explicit(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let (value, from, _) = self.pointer(inst, 2)?;
        let to = self.module.types.pointer(ty).map(|(space, _)| space);
        // The functions that clang calls for `to_global` and its like.
        let name = match to {
            Some(1) => "__to_global",
            Some(3) => "__to_local",
            Some(0) => "__to_private",
            _ => return Err(inst.invalid("the result is no pointer of such a storage class")),
        };
        if from != 4 {
            return Err(inst.invalid(format!("{} is not generic", self.module.show(value.id))));
        }
        let result = self.type_text(inst, ty)?;
        let call = self.call_text(name, &result, &[(value.type_text, value.text)], ANY);
        self.result(id, &call);
        Ok(())
    }

    fn compare_pointers(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let (left, _, pointee) = self.pointer(inst, 2)?;
        let right = self.operand_of(inst, 3, &left.type_text)?;
        if op != Op::PtrDiff {
            self.check_type(inst, ty, "i1")?;
            let predicate = if op == Op::PtrEqual { "eq" } else { "ne" };
            self.result(id, &format!("icmp {predicate} {}, {}", left.typed(), right.text));
            return Ok(());
        }
        let number = self.number_type(inst, ty)?;
        let bytes = self.module.types.get(pointee).map_or(0, |ty| ty.bytes);
        if !number.kind.is_int() || number.is_vector || bytes == 0 {
            return Err(inst.invalid("the difference is not of elements with a size"));
        }
        let [left, right] =
            [left, right].map(|value| self.temporary(&format!("ptrtoint {} to i64", value.typed())));
        let difference = self.temporary(&format!("sub i64 {left}, {right}"));
        let count = self.temporary(&format!("sdiv exact i64 {difference}, {bytes}"));
        let count = self.resized(&count, 64, number.kind.bits());
        self.alias(id, &number.text(), &count);
        Ok(())
    }

    /// Ordering that memory semantics ask for; the strongest if they are not constant.
    fn order(&self, _: &SpirvInst<'_>, semantics: u32) -> AtomicOrder {
        let Some(bits) = self.module.constant_bits(semantics) else { return AtomicOrder::Sequential };
        let bits = MemorySemantics::from_bits_truncate(bits as u32);
        if bits.contains(MemorySemantics::SEQUENTIALLY_CONSISTENT) {
            AtomicOrder::Sequential
        } else if bits.contains(MemorySemantics::ACQUIRE_RELEASE)
            || bits.contains(MemorySemantics::ACQUIRE | MemorySemantics::RELEASE)
        {
            AtomicOrder::AcquireRelease
        } else if bits.contains(MemorySemantics::ACQUIRE) {
            AtomicOrder::Acquire
        } else if bits.contains(MemorySemantics::RELEASE) {
            AtomicOrder::Release
        } else {
            AtomicOrder::Relaxed
        }
    }

    fn fence(&mut self, order: AtomicOrder) {
        if order != AtomicOrder::Relaxed {
            self.line(&format!("fence {}", order.text()));
        }
    }

    fn control_barrier(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let flags = [("i32".to_string(), "3".to_string())];
        let name = match self.scope(inst, inst.operand(0)?)? {
            spirv::Scope::Workgroup => "_Z7barrierj",
            spirv::Scope::Subgroup => "_Z17sub_group_barrierj",
            // A work-item does not wait for itself.
            spirv::Scope::Invocation => return Ok(()),
            other => {
                let reason = format!("barriers of the scope {other:?} are not supported");
                return Err(inst.unsupported(reason, "use the scopes Workgroup and Subgroup"));
            }
        };
        let call = self.call_text(name, "void", &flags, ANY);
        self.line(&call);
        Ok(())
    }

    /// Returns a constant scope.
    pub(crate) fn scope(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<spirv::Scope> {
        let bits = self.module.constant_bits(id).and_then(|bits| spirv::Scope::from_u32(bits as u32));
        bits.ok_or_else(|| {
            inst.unsupported(format!("{} is no constant scope", self.module.show(id)), "use a constant")
        })
    }

    /// Text of a type that atomic operations take.
    fn atomic_type(&self, inst: &SpirvInst<'_>, ty: u32) -> SpirvResult<String> {
        let text = self.sized_text(inst, ty)?;
        let fits = match self.module.types.get(ty).map(|ty| &ty.kind) {
            Some(SpirvTypeKind::Number(kind)) => !matches!(kind, NumberKind::Bool | NumberKind::BFloat),
            Some(SpirvTypeKind::Pointer { .. }) => true,
            _ => false,
        };
        match fits {
            true => Ok(text),
            false => Err(inst.invalid(format!("atomic operations do not take {text}"))),
        }
    }

    fn read_modify_write(
        &mut self,
        inst: &SpirvInst<'_>,
        opcode: &str,
        value: Option<&str>,
        is_float: bool,
    ) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.atomic_type(inst, ty)?;
        let kind = self.module.types.number(ty).map(|number| number.kind);
        let fits = match opcode {
            "xchg" => true,
            _ => kind.is_some_and(|kind| if is_float { kind.is_float() } else { kind.is_int() }),
        };
        if !fits {
            return Err(inst.invalid(format!("the operation does not take {text}")));
        }
        let (pointer, ..) = self.pointer(inst, 2)?;
        let order = self.order(inst, inst.operand(4)?).text();
        let value = match value {
            Some(value) => value.to_string(),
            None => self.operand_of(inst, 5, &text)?.text,
        };
        self.result(id, &format!("atomicrmw {opcode} {}, {text} {value} {SCOPE} {order}", pointer.typed()));
        Ok(())
    }

    fn compare_exchange(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let text = self.atomic_type(inst, ty)?;
        let (pointer, ..) = self.pointer(inst, 2)?;
        let success = self.order(inst, inst.operand(4)?).text();
        let failure = self.order(inst, inst.operand(5)?).of_load().text();
        let value = self.operand_of(inst, 6, &text)?;
        let expected = self.operand_of(inst, 7, &text)?;
        // LLVM compares and exchanges integers and pointers only.
        let ints = match self.module.types.number(ty) {
            Some(number) if number.kind.is_float() => Some(format!("i{}", number.kind.bits())),
            _ => None,
        };
        let of = ints.clone().unwrap_or_else(|| text.clone());
        let [value, expected] = [value, expected].map(|value| match &ints {
            Some(ints) => self.temporary(&format!("bitcast {} to {ints}", value.typed())),
            None => value.text,
        });
        let pair = self.temporary(&format!(
            "cmpxchg {}, {of} {expected}, {of} {value} {SCOPE} {success} {failure}",
            pointer.typed()
        ));
        let read = format!("extractvalue {{ {of}, i1 }} {pair}, 0");
        match ints {
            None => self.result(id, &read),
            Some(ints) => {
                let old = self.temporary(&read);
                self.result(id, &format!("bitcast {ints} {old} to {text}"));
            }
        }
        Ok(())
    }
}
