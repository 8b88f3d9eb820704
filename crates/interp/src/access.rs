//! Loads, stores, copies and atomics.

use crate::brush::{Brush, LaneFault, RunContext};
use crate::elementwise;
use crate::fault::FaultKind;
use crate::lanes::LaneMask;
use crate::limits::BYTES_PER_WORK;
use crate::memory::ResolvedAddress;
use crate::program::PreparedFunction;
use crate::race::{ItemEpoch, Race};
use heddle_ir::inst::Access;
use heddle_ir::words::{AtomicOrdering, Rmw, SyncScope};
use heddle_ir::{Detail, Inst, InstData, Op, Space, Value};
use smallvec::SmallVec;

/// Load or store by a set of lanes.
struct MemoryAccess<'a, M> {
    /// Value loaded or stored.
    value: Value,
    address: Value,
    /// Mask of the accessed elements; none accesses all.
    mask: Option<Value>,
    access: &'a Access,
    is_write: bool,
    /// Bytes of an element.
    size: usize,
    lanes: M,
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Checks an access of a lane and resolves its address. Reports it to the race detector.
    fn resolve_access(
        &self,
        address: u64,
        size: u64,
        access: &Access,
        is_write: bool,
        (code, lane): (&PreparedFunction<'_>, usize),
        cx: &mut RunContext<'_>,
    ) -> Result<ResolvedAddress, LaneFault> {
        let fault = |kind| (kind, Some(lane));
        if !address.is_multiple_of(u64::from(access.align.max(1))) {
            return Err(fault(FaultKind::Misaligned { address, align: access.align }));
        }
        let target = cx.memory.find(address, size, self.level, lane).map_err(fault)?;
        let object = cx.memory.target(target);
        if is_write && object.space == Space::Constant {
            return Err(fault(FaultKind::WriteToConstant));
        }
        if target.offset as u64 + u64::from(access.dereferenceable) > object.bytes.len() as u64 {
            return Err(fault(FaultKind::BrokenPromise("`dereferenceable`")));
        }
        if let Some(base) = access.base.and_then(|base| self.get(code, base, lane, 0)) {
            let inside = cx.memory.find(base as u64, 0, self.level, lane);
            if !inside.is_ok_and(|base| (base.heap, base.object) == (target.heap, target.object)) {
                return Err(fault(FaultKind::BrokenPromise("`base`")));
            }
        }
        if object.space != Space::Private
            && let Some(detector) = &mut cx.detector
        {
            let item = self.position.item(lane);
            let accessor = ItemEpoch { number: item, group: self.position.group_number, epoch: cx.epoch };
            let kind = (is_write, access.atomic.is_some());
            let race =
                detector.record(target, size as usize, accessor, kind, &mut cx.budget).map_err(fault)?;
            if let (Some((offset, other)), None) = (race, &cx.race) {
                let object = object.name.as_deref().map(String::from);
                cx.race = Some(Race { object, offset, items: [other, item], is_write });
            }
        }
        Ok(target)
    }

    fn address(
        &self,
        code: &PreparedFunction<'_>,
        value: Value,
        lane: usize,
        element: usize,
    ) -> Result<u64, LaneFault> {
        match self.get(code, value, lane, element) {
            Some(bits) => Ok(bits as u64),
            None => Err((FaultKind::PoisonAddress(value), Some(lane))),
        }
    }

    /// True if the mask operand of a masked access holds for an element.
    #[inline]
    fn is_enabled(
        &self,
        code: &PreparedFunction<'_>,
        mask: Option<Value>,
        lane: usize,
        element: usize,
    ) -> Result<bool, LaneFault> {
        let Some(mask) = mask else { return Ok(true) };
        match self.get(code, mask, lane, element) {
            Some(bit) => Ok(bit == 1),
            None => Err((FaultKind::ControlOnPoison(mask), Some(lane))),
        }
    }

    /// Calls `visit_element` for each element of an access in each of its lanes, with the resolved address. It is none for an element
    /// that the mask operand disables.
    fn for_each_element(
        &mut self,
        data: &InstData,
        code: &PreparedFunction<'_>,
        accessed: &MemoryAccess<'_, M>,
        cx: &mut RunContext<'_>,
        mut visit_element: impl FnMut(&mut Self, &mut RunContext<'_>, (usize, usize), Option<ResolvedAddress>),
    ) -> Result<(), LaneFault> {
        let &MemoryAccess { address: addresses, mask, access, is_write, .. } = accessed;
        let size = accessed.size as u64;
        let elements = self.elements(code, accessed.value);
        // Each element of a gather or scatter has its own address. Other accesses are contiguous, and their attributes
        // apply to the first element.
        let has_own_addresses = matches!(data.op, Op::Gather | Op::Scatter);
        let later_access = Access { align: access.align.min(size as u32), dereferenceable: 0, ..*access };
        for lane in accessed.lanes.lanes() {
            for element in 0..elements {
                let mut target = None;
                if self.is_enabled(code, mask, lane, element)? {
                    let (address, access) = match element {
                        _ if has_own_addresses => (self.address(code, addresses, lane, element)?, access),
                        0 => (self.address(code, addresses, lane, 0)?, access),
                        _ => {
                            let first = self.address(code, addresses, lane, 0)?;
                            (first.wrapping_add(element as u64 * size), &later_access)
                        }
                    };
                    target = Some(self.resolve_access(address, size, access, is_write, (code, lane), cx)?);
                }
                visit_element(self, cx, (lane, element), target);
            }
        }
        Ok(())
    }

    pub(crate) fn load(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        lanes: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let (Detail::Access(access), Some(value)) = (&data.detail, code.func.result(inst)) else {
            return Ok(());
        };
        let scalar = self.scalar_of(code, value);
        let size = scalar.bytes() as usize;
        let (address, mask, otherwise) = (data.args[0], data.args.get(1).copied(), data.args.get(2).copied());
        let accessed = MemoryAccess { value, address, mask, access, is_write: false, size, lanes };
        self.for_each_element(data, code, &accessed, cx, |brush, cx, (lane, element), target| {
            let bits = match target {
                // A byte other than 0 and 1 is no `i1`: the load gives poison.
                Some(target) => {
                    let bits = cx.memory.target(target).read(target.offset, size);
                    bits.filter(|bits| bits & !scalar.bit_mask() == 0)
                }
                None => otherwise.and_then(|otherwise| brush.get(code, otherwise, lane, element)),
            };
            brush.set(code, value, lane, element, bits);
        })
    }

    pub(crate) fn store(
        &mut self,
        data: &InstData,
        code: &PreparedFunction<'_>,
        lanes: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let Detail::Access(access) = &data.detail else { return Ok(()) };
        let (value, address, mask) = (data.args[0], data.args[1], data.args.get(2).copied());
        let size = self.scalar_of(code, value).bytes() as usize;
        let accessed = MemoryAccess { value, address, mask, access, is_write: true, size, lanes };
        self.for_each_element(data, code, &accessed, cx, |brush, cx, (lane, element), target| {
            if let Some(target) = target {
                let bits = brush.get(code, value, lane, element);
                cx.memory.target_mut(target).write(target.offset, size, bits);
            }
        })
    }

    pub(crate) fn transfer(
        &mut self,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        for lane in mask.lanes() {
            let Some(size) = self.get(code, data.args[2], lane, 0) else {
                return Err((FaultKind::PoisonSize(data.args[2]), Some(lane)));
            };
            if size == 0 {
                continue;
            }
            let size = u64::try_from(size).unwrap_or(u64::MAX);
            let to = self.address(code, data.args[0], lane, 0)?;
            match &data.detail {
                Detail::Access(access) => {
                    let target = self.resolve_access(to, size, access, true, (code, lane), cx)?;
                    cx.budget.work(size / BYTES_PER_WORK).map_err(|kind| (kind, Some(lane)))?;
                    let byte = self.get(code, data.args[1], lane, 0);
                    let object = cx.memory.target_mut(target);
                    let all = target.offset..target.offset + size as usize;
                    object.bytes[all.clone()].fill(byte.unwrap_or(0) as u8);
                    object.poison[all].fill(byte.is_none());
                }
                Detail::Transfer(both) => {
                    let from = self.address(code, data.args[1], lane, 0)?;
                    let source = self.resolve_access(from, size, &both.1, false, (code, lane), cx)?;
                    let target = self.resolve_access(to, size, &both.0, true, (code, lane), cx)?;
                    let overlap =
                        from < to.saturating_add(size) && to < from.saturating_add(size) && from != to;
                    if data.op == Op::Memcpy && overlap {
                        return Err((FaultKind::OverlappingCopy, Some(lane)));
                    }
                    cx.budget.work(size / BYTES_PER_WORK).map_err(|kind| (kind, Some(lane)))?;
                    cx.budget.hold(2 * size).map_err(|kind| (kind, Some(lane)))?;
                    let object = cx.memory.target(source);
                    let all = source.offset..source.offset + size as usize;
                    let (bytes, poison) = (object.bytes[all.clone()].to_vec(), object.poison[all].to_vec());
                    let object = cx.memory.target_mut(target);
                    let all = target.offset..target.offset + size as usize;
                    object.bytes[all.clone()].copy_from_slice(&bytes);
                    object.poison[all].copy_from_slice(&poison);
                    cx.budget.give_back(2 * size);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn atomic(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let (Detail::Rmw(_, access) | Detail::CompareExchange(access, _)) = &data.detail else {
            return Ok(());
        };
        let access =
            Access { atomic: access.atomic.or(Some((AtomicOrdering::SeqCst, SyncScope::System))), ..*access };
        let results: SmallVec<[Value; 2]> = code.func.results(inst).iter().copied().collect();
        let Some(&old_value) = results.first() else { return Ok(()) };
        let scalar = self.scalar_of(code, old_value);
        let size = u64::from(scalar.bytes());
        for lane in mask.lanes() {
            let address = self.address(code, data.args[0], lane, 0)?;
            let target = self.resolve_access(address, size, &access, true, (code, lane), cx)?;
            let old = cx.memory.target(target).read(target.offset, size as usize);
            let operand = self.get(code, data.args[1], lane, 0);
            let new = match &data.detail {
                Detail::Rmw(Rmw::Exchange, _) => Some(operand),
                Detail::Rmw(rmw, _) => Some(
                    old.zip(operand).map(|(old, operand)| elementwise::update(*rmw, scalar, old, operand)),
                ),
                _ => {
                    let expected = operand.ok_or((FaultKind::PoisonComparison(data.args[1]), Some(lane)))?;
                    let old = old.ok_or((FaultKind::PoisonInMemory, Some(lane)))?;
                    let is_same = old == expected;
                    if let Some(&happened) = results.get(1) {
                        self.set(code, happened, lane, 0, Some(is_same.into()));
                    }
                    is_same.then(|| self.get(code, data.args[2], lane, 0))
                }
            };
            self.set(code, old_value, lane, 0, old);
            if let Some(new) = new {
                cx.memory.target_mut(target).write(target.offset, size as usize, new);
            }
        }
        Ok(())
    }
}
