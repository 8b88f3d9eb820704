//! What each instruction does, for the lanes that execute it.

use crate::brush::{Brush, Error, World, all_lanes, lanes_of};
use crate::elementwise::{self, combine, neutral};
use crate::fault::FaultKind;
use crate::math;
use crate::memory::Target;
use crate::program::Code;
use crate::race::Race;
use crate::run::{Datum, Position};
use heddle_ir::inst::{Access, Launch};
use heddle_ir::module::{Declaration, DeclaredShape};
use heddle_ir::words::{Flag, Ordering, Rmw, Scope};
use heddle_ir::{Detail, Inst, InstData, Op, Scalar, Space, Value};
use smallvec::SmallVec;

/// The elements that a horizontal operation ranges over, in ascending order: of a scalar those of the active lanes,
/// of a vector all of it.
type Row = SmallVec<[(usize, Option<u128>); 32]>;

impl Brush<'_, '_> {
    /// Executes an instruction that neither ends a block nor calls nor waits.
    pub(crate) fn execute(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        let mask = if data.is_total() { all_lanes(self.lanes) } else { self.frame().active };
        world.counters.lane_operations += u64::from(mask.count_ones());
        if elementwise::is_elementwise(data.op) {
            return self.elementwise(inst, data, code, mask, world);
        }
        // `mask` tells every lane.
        let executed = if data.op == Op::Mask { all_lanes(self.lanes) } else { mask };
        self.write_nothing(inst, code, executed, world);
        match data.op {
            Op::Select => self.select(inst, data, code, mask),
            Op::Freeze => self.map(inst, data, code, mask, |bits| Some(bits.unwrap_or(0))),
            Op::Bitcast => self.bitcast(inst, data, code, mask),
            Op::Assume => match self.read_mask(code, data.args[0], mask)? {
                holds if mask & !holds == 0 => {}
                holds => return Err((FaultKind::BrokenAssumption, lanes_of(mask & !holds).next())),
            },
            Op::PtrAdd => self.ptradd(inst, data, code, mask, world),
            Op::Alloca => {
                let Detail::Alloca { bytes, align } = data.detail else { return Ok(()) };
                let lanes = lanes_of(mask);
                let address =
                    world.memory.allocate(self.level, lanes, bytes, align).map_err(|kind| (kind, None))?;
                self.write_lanes(inst, code, mask, |_| Some(address.into()));
            }
            Op::Load | Op::MaskedLoad | Op::Gather => self.load(inst, data, code, mask, world)?,
            Op::Store | Op::MaskedStore | Op::Scatter => self.store(data, code, mask, world)?,
            Op::Memcpy | Op::Memmove | Op::Memset => self.transfer(data, code, mask, world)?,
            Op::AtomicRmw | Op::CompareExchange => self.atomic(inst, data, code, mask, world)?,
            Op::Fence => {}
            Op::Lane
            | Op::Width
            | Op::LocalId
            | Op::LocalSize
            | Op::GroupId
            | Op::NumGroups
            | Op::GlobalId
            | Op::GlobalSize
            | Op::GlobalOffset
            | Op::WorkDim => self.geometry(inst, data, code, mask),
            Op::Mask => {
                let active = self.frame().active;
                self.write_lanes(inst, code, all_lanes(self.lanes), |lane| Some(active >> lane & 1));
            }
            Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Reduce => self.reduce(inst, data, code, mask),
            Op::Scan => self.scan(inst, data, code, mask),
            Op::Shuffle | Op::Broadcast | Op::First => self.shuffle(inst, data, code, mask),
            Op::Splat | Op::Extract | Op::Insert | Op::Permute | Op::Compress | Op::Expand => {
                self.rearrange(inst, data, code, mask);
            }
            Op::Launch => self.launch(inst, data, code, mask, world)?,
            op => return Err((FaultKind::Misplaced(format!("`{op}` cannot run here")), None)),
        }
        Ok(())
    }

    fn scalar_of(&self, code: &Code<'_>, value: Value) -> Scalar {
        code.func.value_type(value).scalar()
    }

    /// One element of a value in a lane.
    fn get(&self, code: &Code<'_>, value: Value, lane: usize, element: usize) -> Option<u128> {
        let slot = code.slot(value, self.lanes);
        // A scalar operand stands for each element of a vector.
        let offset = if slot.elements == 1 { lane } else { lane * slot.elements + element };
        self.frame().registers.get(slot.first + offset)
    }

    fn set(&mut self, code: &Code<'_>, value: Value, lane: usize, element: usize, bits: Option<u128>) {
        let slot = code.slot(value, self.lanes);
        self.frame_mut().registers.set(slot.first + lane * slot.elements + element, bits);
    }

    fn elements(&self, code: &Code<'_>, value: Value) -> usize {
        code.slot(value, self.lanes).elements
    }

    /// Writes the scalar result of an instruction in these lanes.
    fn write_lanes(&mut self, inst: Inst, code: &Code<'_>, mask: u128, bits: impl Fn(usize) -> Option<u128>) {
        if let Some(result) = code.func.result(inst) {
            lanes_of(mask).for_each(|lane| self.set(code, result, lane, 0, bits(lane)));
        }
    }

    fn elementwise(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        world: &World<'_>,
    ) -> Result<(), Error> {
        if mask != all_lanes(self.lanes) {
            self.write_nothing(inst, code, mask, world);
        }
        let Some(result) = code.func.result(inst) else { return Ok(()) };
        let lanes = self.lanes;
        let to = code.slot(result, lanes);
        let to_scalar = self.scalar_of(code, result);
        let scalars = code.operand_scalars[inst];
        let count = data.args.len().min(3);
        let mut from = [Scalar::I1; 3];
        let mut firsts = [0; 3];
        for index in 0..count {
            from[index] = scalars[index].unwrap_or(Scalar::I1);
            firsts[index] = code.slot(data.args[index], lanes).first;
        }
        let fused = world.options.fused;
        let registers = &mut self.frame_mut().registers;
        let mut run = |lane: usize| {
            for offset in lane * to.elements..(lane + 1) * to.elements {
                let mut operands = [0; 3];
                let mut is_poison = false;
                for index in 0..count {
                    operands[index] = registers.bits[firsts[index] + offset];
                    is_poison |= registers.poison[firsts[index] + offset];
                }
                let bits = match is_poison {
                    true if data.op.info().effect == heddle_ir::ops::Effect::Traps
                        && registers.poison[firsts[1] + offset] =>
                    {
                        return Err((FaultKind::ControlOnPoison(data.args[1]), Some(lane)));
                    }
                    true => None,
                    false => {
                        elementwise::evaluate(data, &from[..count], to_scalar, &operands[..count], fused)
                            .map_err(|trap| (trap.into(), Some(lane)))?
                    }
                };
                registers.set(to.first + offset, bits);
            }
            Ok(())
        };
        if mask == all_lanes(lanes) {
            (0..lanes).try_for_each(&mut run)
        } else {
            lanes_of(mask).try_for_each(run)
        }
    }

    /// A function of each element by itself, ⊤ included.
    fn map(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        f: impl Fn(Option<u128>) -> Option<u128>,
    ) {
        let Some(result) = code.func.result(inst) else { return };
        for lane in lanes_of(mask) {
            for element in 0..self.elements(code, result) {
                let bits = f(self.get(code, data.args[0], lane, element));
                self.set(code, result, lane, element, bits);
            }
        }
    }

    fn select(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let Some(result) = code.func.result(inst) else { return };
        for lane in lanes_of(mask) {
            for element in 0..self.elements(code, result) {
                let bits = match self.get(code, data.args[0], lane, element) {
                    None => None,
                    Some(condition) => {
                        self.get(code, data.args[if condition & 1 == 1 { 1 } else { 2 }], lane, element)
                    }
                };
                self.set(code, result, lane, element, bits);
            }
        }
    }

    fn bitcast(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let Some(result) = code.func.result(inst) else { return };
        let (from_bits, to_bits) =
            (self.scalar_of(code, data.args[0]).bits(), self.scalar_of(code, result).bits());
        let (from_count, to_count) = (self.elements(code, data.args[0]), self.elements(code, result));
        for lane in lanes_of(mask) {
            if from_count == to_count {
                for element in 0..to_count {
                    let bits = self.get(code, data.args[0], lane, element);
                    self.set(code, result, lane, element, bits);
                }
                continue;
            }
            // Through the bits side by side; a result element is ⊤ if one of its bits is.
            let bit = |brush: &Self, index: u32| {
                let bits = brush.get(code, data.args[0], lane, (index / from_bits) as usize)?;
                Some(bits >> (index % from_bits) & 1)
            };
            for element in 0..to_count {
                let first = element as u32 * to_bits;
                let bits =
                    (0..to_bits).try_fold(0, |bits, index| Some(bits | bit(self, first + index)? << index));
                self.set(code, result, lane, element, bits);
            }
        }
    }

    fn ptradd(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128, world: &World<'_>) {
        let Some(result) = code.func.result(inst) else { return };
        let offset_scalar = self.scalar_of(code, data.args[1]);
        for lane in lanes_of(mask) {
            for element in 0..self.elements(code, result) {
                let base = self.get(code, data.args[0], lane, element);
                let offset = self.get(code, data.args[1], lane, element);
                let bits = base.zip(offset).and_then(|(base, offset)| {
                    let offset = crate::scalar::integer::signed(offset_scalar.bits(), offset);
                    let sum = (base as u64).wrapping_add(offset as u64);
                    let wraps = data.flags.has(Flag::Nuw) && offset < 0
                        || data.flags.has(Flag::Nuw) && sum < base as u64;
                    let leaves = data.flags.has(Flag::Inbounds)
                        && offset != 0
                        && !self.is_inside(base as u64, sum, lane, world);
                    (!wraps && !leaves).then_some(sum.into())
                });
                self.set(code, result, lane, element, bits);
            }
        }
    }

    /// Whether both addresses lie in one object or at its end.
    fn is_inside(&self, from: u64, to: u64, lane: usize, world: &World<'_>) -> bool {
        let Ok(target) = world.memory.find(from, 0, self.level, lane) else { return false };
        let object = world.memory.target(target);
        to >= object.address && to <= object.address + object.bytes.len() as u64
    }

    // Memory.

    /// Finds what an access of a lane touches, and notes it for the race detector.
    fn touch(
        &self,
        address: u64,
        size: u64,
        access: &Access,
        is_write: bool,
        lane: usize,
        world: &mut World<'_>,
    ) -> Result<Target, Error> {
        let fault = |kind| (kind, Some(lane));
        if !address.is_multiple_of(u64::from(access.align.max(1))) {
            return Err(fault(FaultKind::Misaligned { address, align: access.align }));
        }
        let target = world.memory.find(address, size, self.level, lane).map_err(fault)?;
        let object = world.memory.target(target);
        if is_write && object.space == Space::Constant {
            return Err(fault(FaultKind::WriteToConstant));
        }
        let object_size = object.bytes.len();
        if target.offset as u64 + u64::from(access.dereferenceable) > object_size as u64 {
            return Err(fault(FaultKind::BrokenPromise("`dereferenceable`")));
        }
        if object.space != Space::Private
            && let Some(detector) = &mut world.detector
        {
            let item = Position::item(&self.position, lane);
            let seen =
                crate::race::Item { number: item, group: self.position.group_number, epoch: world.epoch };
            let is_atomic = access.atomic.is_some();
            let race = detector.note(target, size as usize, object_size, seen, is_write, is_atomic);
            if let (Some((offset, other)), None) = (race, &world.race) {
                let object = object.name.as_deref().map(String::from);
                world.race = Some(Race { object, offset, items: [other, item], is_write });
            }
        }
        Ok(target)
    }

    fn address(&self, code: &Code<'_>, value: Value, lane: usize, element: usize) -> Result<u64, Error> {
        match self.get(code, value, lane, element) {
            Some(bits) => Ok(bits as u64),
            None => Err((FaultKind::PoisonAddress(value), Some(lane))),
        }
    }

    /// The element's address: of a gather or scatter its own, else the one behind the element before.
    fn element_address(
        &self,
        data: &InstData,
        code: &Code<'_>,
        address: Value,
        (lane, element): (usize, usize),
        size: u64,
    ) -> Result<u64, Error> {
        if matches!(data.op, Op::Gather | Op::Scatter) {
            return self.address(code, address, lane, element);
        }
        Ok(self.address(code, address, lane, 0)?.wrapping_add(element as u64 * size))
    }

    /// Whether the mask operand of a masked access holds for an element.
    fn admits(
        &self,
        code: &Code<'_>,
        mask: Option<Value>,
        lane: usize,
        element: usize,
    ) -> Result<bool, Error> {
        let Some(mask) = mask else { return Ok(true) };
        match self.get(code, mask, lane, element) {
            Some(bit) => Ok(bit == 1),
            None => Err((FaultKind::ControlOnPoison(mask), Some(lane))),
        }
    }

    /// The access of the element after the first: vectors promise alignment only for their start.
    fn element_access(data: &InstData, access: &Access, element: usize, size: u64) -> Access {
        match data.op {
            Op::Gather | Op::Scatter => *access,
            _ if element == 0 => *access,
            _ => Access { align: access.align.min(size as u32), dereferenceable: 0, ..*access },
        }
    }

    fn load(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        let (Detail::Access(access), Some(result)) = (&data.detail, code.func.result(inst)) else {
            return Ok(());
        };
        let scalar = self.scalar_of(code, result);
        let size = u64::from(scalar.bytes());
        let (admitted, otherwise) = (data.args.get(1).copied(), data.args.get(2).copied());
        for lane in lanes_of(mask) {
            for element in 0..self.elements(code, result) {
                let bits = if self.admits(code, admitted, lane, element)? {
                    let address = self.element_address(data, code, data.args[0], (lane, element), size)?;
                    let access = Self::element_access(data, access, element, size);
                    let target = self.touch(address, size, &access, false, lane, world)?;
                    let bits = world.memory.target(target).read(target.offset, size as usize);
                    // A byte that is no truth value was not written as one.
                    bits.filter(|bits| bits & !scalar.bit_mask() == 0)
                } else {
                    otherwise.and_then(|otherwise| self.get(code, otherwise, lane, element))
                };
                self.set(code, result, lane, element, bits);
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        let Detail::Access(access) = &data.detail else { return Ok(()) };
        let (value, address) = (data.args[0], data.args[1]);
        let admitted = data.args.get(2).copied();
        let size = u64::from(self.scalar_of(code, value).bytes());
        for lane in lanes_of(mask) {
            for element in 0..self.elements(code, value) {
                if !self.admits(code, admitted, lane, element)? {
                    continue;
                }
                let address = self.element_address(data, code, address, (lane, element), size)?;
                let access = Self::element_access(data, access, element, size);
                let target = self.touch(address, size, &access, true, lane, world)?;
                let bits = self.get(code, value, lane, element);
                world.memory.target_mut(target).write(target.offset, size as usize, bits);
            }
        }
        Ok(())
    }

    fn transfer(
        &mut self,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        for lane in lanes_of(mask) {
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
                    let target = self.touch(to, size, access, true, lane, world)?;
                    let byte = self.get(code, data.args[1], lane, 0);
                    let object = world.memory.target_mut(target);
                    let all = target.offset..target.offset + size as usize;
                    object.bytes[all.clone()].fill(byte.unwrap_or(0) as u8);
                    object.poison[all].fill(byte.is_none());
                }
                Detail::Transfer(both) => {
                    let from = self.address(code, data.args[1], lane, 0)?;
                    let overlap =
                        from < to.saturating_add(size) && to < from.saturating_add(size) && from != to;
                    if data.op == Op::Memcpy && overlap {
                        return Err((FaultKind::OverlappingCopy, Some(lane)));
                    }
                    let source = self.touch(from, size, &both.1, false, lane, world)?;
                    let target = self.touch(to, size, &both.0, true, lane, world)?;
                    let object = world.memory.target(source);
                    let all = source.offset..source.offset + size as usize;
                    let (bytes, poison) = (object.bytes[all.clone()].to_vec(), object.poison[all].to_vec());
                    let object = world.memory.target_mut(target);
                    let all = target.offset..target.offset + size as usize;
                    object.bytes[all.clone()].copy_from_slice(&bytes);
                    object.poison[all].copy_from_slice(&poison);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        let (Detail::Rmw(_, access) | Detail::CompareExchange(access, _)) = &data.detail else {
            return Ok(());
        };
        let access = Access { atomic: access.atomic.or(Some((Ordering::SeqCst, Scope::System))), ..*access };
        let results: SmallVec<[Value; 2]> = code.func.results(inst).iter().copied().collect();
        let Some(&old_value) = results.first() else { return Ok(()) };
        let scalar = self.scalar_of(code, old_value);
        let size = u64::from(scalar.bytes());
        for lane in lanes_of(mask) {
            let address = self.address(code, data.args[0], lane, 0)?;
            let target = self.touch(address, size, &access, true, lane, world)?;
            let old = world.memory.target(target).read(target.offset, size as usize);
            let operand = self.get(code, data.args[1], lane, 0);
            let new = match &data.detail {
                Detail::Rmw(Rmw::Exchange, _) => Some(operand),
                Detail::Rmw(rmw, _) => Some(
                    old.zip(operand).map(|(old, operand)| elementwise::update(*rmw, scalar, old, operand)),
                ),
                _ => {
                    let Some((old, expected)) = old.zip(operand) else {
                        return Err((FaultKind::ControlOnPoison(data.args[1]), Some(lane)));
                    };
                    let is_same = old == expected;
                    if let Some(&happened) = results.get(1) {
                        self.set(code, happened, lane, 0, Some(is_same.into()));
                    }
                    is_same.then(|| self.get(code, data.args[2], lane, 0))
                }
            };
            self.set(code, old_value, lane, 0, old);
            if let Some(new) = new {
                world.memory.target_mut(target).write(target.offset, size as usize, new);
            }
        }
        Ok(())
    }

    // Geometry.

    fn geometry(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let (Detail::Dimension(dimension), Some(result)) = (&data.detail, code.func.result(inst)) else {
            return;
        };
        let dim = dimension.map(usize::from);
        let bit_mask = self.scalar_of(code, result).bit_mask();
        let geometry = self.position.geometry.clone();
        let along = |all: &[u32], dim: usize| u64::from(all.get(dim).copied().unwrap_or(1));
        for lane in lanes_of(mask) {
            let local = self.position.local[lane].unwrap_or_default();
            let at = dim.unwrap_or(0).min(2);
            let number = match (data.op, dim) {
                (Op::Lane, None) => lane as u64,
                (Op::Lane, Some(dim)) => {
                    let before: u64 = (0..dim).map(|dim| along(&self.dims, dim)).product();
                    lane as u64 / before % along(&self.dims, dim)
                }
                (Op::Width, None) => self.lanes as u64,
                (Op::Width, Some(dim)) => along(&self.dims, dim),
                (Op::LocalId, _) => local[at].into(),
                (Op::LocalSize, _) => geometry.local[at].into(),
                (Op::GroupId, _) => self.position.group[at].into(),
                (Op::NumGroups, _) => geometry.groups[at].into(),
                (Op::GlobalId, _) => {
                    let group = u64::from(self.position.group[at]) * u64::from(geometry.local[at]);
                    geometry.offset[at].wrapping_add(group + u64::from(local[at]))
                }
                (Op::GlobalSize, _) => u64::from(geometry.local[at]) * u64::from(geometry.groups[at]),
                (Op::GlobalOffset, _) => geometry.offset[at],
                _ => geometry.dims.into(),
            };
            self.set(code, result, lane, 0, Some(u128::from(number) & bit_mask));
        }
    }

    // Horizontals.

    /// The elements that a horizontal operation of this lane ranges over.
    fn row(&self, code: &Code<'_>, value: Value, lane: usize, mask: u128) -> Row {
        match self.elements_if_vector(code, value) {
            Some(elements) => {
                (0..elements).map(|element| (element, self.get(code, value, lane, element))).collect()
            }
            None => lanes_of(mask).map(|lane| (lane, self.get(code, value, lane, 0))).collect(),
        }
    }

    fn elements_if_vector(&self, code: &Code<'_>, value: Value) -> Option<usize> {
        code.func.value_type(value).lanes().map(usize::from)
    }

    fn reduce(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let Some(result) = code.func.result(inst) else { return };
        let operand = data.args[0];
        let scalar = self.scalar_of(code, operand);
        let result_mask = self.scalar_of(code, result).bit_mask();
        let value_of = |row: &Row| {
            let known: Option<Vec<(usize, u128)>> =
                row.iter().map(|&(index, bits)| bits.map(|bits| (index, bits))).collect();
            let known = known?;
            let holds = known.iter().filter(|(_, bits)| *bits == 1);
            Some(match (data.op, &data.detail) {
                (Op::Any, _) => u128::from(holds.count() > 0),
                (Op::All, _) => u128::from(holds.count() == known.len()),
                (Op::Popcount, _) => holds.count() as u128 & result_mask,
                (Op::Ballot, _) => holds.fold(0, |bits, (index, _)| bits | 1 << index) & result_mask,
                (_, Detail::Reduce(by)) => {
                    let mut values = known.iter().map(|&(_, bits)| bits);
                    let first = values.next().unwrap_or_else(|| neutral(*by, scalar));
                    values.fold(first, |sum, bits| combine(*by, scalar, sum, bits))
                }
                _ => 0,
            })
        };
        let mut shared = None;
        for lane in lanes_of(mask) {
            let bits = match (self.elements_if_vector(code, operand), shared) {
                (None, Some(bits)) => bits,
                _ => value_of(&self.row(code, operand, lane, mask)),
            };
            shared = Some(bits);
            self.set(code, result, lane, 0, bits);
        }
    }

    fn scan(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let (Some(result), Detail::Scan { by, before }) = (code.func.result(inst), &data.detail) else {
            return;
        };
        let scalar = self.scalar_of(code, result);
        let scanned = |row: &Row| {
            let mut sum: Option<u128> = None;
            let mut is_poison = false;
            let mut all: Row = Row::new();
            for &(index, bits) in row {
                let earlier = (sum, is_poison);
                is_poison |= bits.is_none();
                let bits = bits.unwrap_or(0);
                sum = Some(sum.map_or(bits, |sum| combine(*by, scalar, sum, bits)));
                let (told, is_poison) = if *before { earlier } else { (sum, is_poison) };
                let told = told.unwrap_or_else(|| neutral(*by, scalar));
                all.push((index, (!is_poison).then_some(told)));
            }
            all
        };
        match self.elements_if_vector(code, result) {
            None => {
                for (lane, bits) in scanned(&self.row(code, data.args[0], 0, mask)) {
                    self.set(code, result, lane, 0, bits);
                }
            }
            Some(_) => {
                for lane in lanes_of(mask) {
                    for (element, bits) in scanned(&self.row(code, data.args[0], lane, mask)) {
                        self.set(code, result, lane, element, bits);
                    }
                }
            }
        }
    }

    fn shuffle(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let Some(result) = code.func.result(inst) else { return };
        let operand = data.args[0];
        let find = |row: &Row, index: Option<u128>| {
            let index = usize::try_from(index?).ok()?;
            row.iter().find(|(at, _)| *at == index)?.1
        };
        if let Some(elements) = self.elements_if_vector(code, result) {
            for lane in lanes_of(mask) {
                let row = self.row(code, operand, lane, mask);
                for element in 0..elements {
                    let bits = find(&row, self.get(code, data.args[1], lane, element));
                    self.set(code, result, lane, element, bits);
                }
            }
            return;
        }
        let row = self.row(code, operand, 0, mask);
        let index = |lane: usize| match data.op {
            Op::First => lanes_of(mask).next().map(|lane| lane as u128),
            _ => self.get(code, data.args[1], lane, 0),
        };
        let indices: Vec<Option<u128>> = (0..self.lanes).map(index).collect();
        // A broadcast asks for one lane, the same for all.
        let agree =
            lanes_of(mask).all(|lane| Some(indices[lane]) == lanes_of(mask).next().map(|lane| indices[lane]));
        let found: Vec<Option<u128>> = indices.iter().map(|&index| find(&row, index)).collect();
        let defined = data.op != Op::Broadcast || agree;
        lanes_of(mask).for_each(|lane| self.set(code, result, lane, 0, found[lane].filter(|_| defined)));
    }

    // Vectors.

    fn rearrange(&mut self, inst: Inst, data: &InstData, code: &Code<'_>, mask: u128) {
        let Some(result) = code.func.result(inst) else { return };
        let count = self.elements(code, result);
        let operand = data.args[0];
        let elements = self.elements(code, operand);
        for lane in lanes_of(mask) {
            let all: SmallVec<[Option<u128>; 16]> =
                (0..elements).map(|element| self.get(code, operand, lane, element)).collect();
            let index = |at: usize| data.args.get(at).and_then(|&index| self.get(code, index, lane, 0));
            let position = |at: usize| index(at).and_then(|index| usize::try_from(index).ok());
            let picked = |element: usize| self.get(code, data.args[1], lane, element);
            let new: SmallVec<[Option<u128>; 16]> = match (data.op, &data.detail) {
                (Op::Splat, _) => (0..count).map(|_| all[0]).collect(),
                (Op::Extract, _) => {
                    std::iter::once(position(1).and_then(|at| all.get(at).copied().flatten())).collect()
                }
                (Op::Insert, _) => match position(2).filter(|&at| at < count) {
                    None => (0..count).map(|_| None).collect(),
                    Some(at) => {
                        let new = self.get(code, data.args[1], lane, 0);
                        (0..count).map(|element| if element == at { new } else { all[element] }).collect()
                    }
                },
                (_, Detail::Permute(indices)) => {
                    let from = |&index: &u16| match usize::from(index) {
                        index if index < elements => all[index],
                        index => self.get(code, data.args[1], lane, index - elements),
                    };
                    indices.iter().map(from).collect()
                }
                _ if (0..count).any(|element| picked(element).is_none()) => {
                    (0..count).map(|_| None).collect()
                }
                (Op::Compress, _) => {
                    let kept =
                        (0..count).filter(|&element| picked(element) == Some(1)).map(|element| all[element]);
                    kept.chain(std::iter::repeat(None)).take(count).collect()
                }
                _ => {
                    let mut front = all.iter().copied();
                    let take =
                        |element| if picked(element) == Some(1) { front.next().flatten() } else { None };
                    (0..count).map(take).collect()
                }
            };
            for (element, bits) in new.into_iter().enumerate() {
                self.set(code, result, lane, element, bits);
            }
        }
    }

    // Calls.

    /// Calls a declared function that the interpreter knows.
    pub(crate) fn call_known(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        declaration: &Declaration,
        mask: u128,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        let params: SmallVec<[Scalar; 4]> =
            data.args.iter().map(|&arg| code.func.value_type(arg).scalar()).collect();
        let unknown = || (FaultKind::UnknownFunction(declaration.name.clone()), None);
        let Some(result) = code.func.result(inst) else { return Err(unknown()) };
        let scalar = self.scalar_of(code, result);
        if math::call(&declaration.name, &params, scalar, &vec![0; params.len()]).is_none() {
            return Err(unknown());
        }
        self.write_nothing(inst, code, mask, world);
        for lane in lanes_of(mask) {
            for element in 0..self.elements(code, result) {
                let args: Option<SmallVec<[u128; 4]>> =
                    data.args.iter().map(|&arg| self.get(code, arg, lane, element)).collect();
                let bits = args.and_then(|args| math::call(&declaration.name, &params, scalar, &args));
                self.set(code, result, lane, element, bits);
            }
        }
        Ok(())
    }

    /// Runs a region with lanes of its own.
    fn launch(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &Code<'_>,
        mask: u128,
        world: &mut World<'_>,
    ) -> Result<(), Error> {
        let misplaced = |reason: &str| Err((FaultKind::Misplaced(reason.into()), None));
        let Detail::Launch(launch) = &data.detail else { return Ok(()) };
        if self.lanes != 1 {
            return misplaced("a region is launched from sequential code, which runs with one lane");
        }
        if mask == 0 {
            return Ok(());
        }
        let Some(declaration) = code.func.callee_of(data) else {
            return misplaced("the region is not declared");
        };
        let Some(entry) = self.program.find_declared(declaration) else {
            return Err((FaultKind::UnknownFunction(declaration.name.clone()), None));
        };
        let args = self.launch_args(data, code, launch, declaration);
        let lanes = launch.lanes() as usize;
        let mut taking_part = all_lanes(lanes);
        if launch.masked {
            let Some(&mask) = data.args.last() else { return Ok(()) };
            taking_part = 0;
            for lane in 0..lanes {
                match self.get(code, mask, 0, lane) {
                    None => return Err((FaultKind::ControlOnPoison(mask), None)),
                    Some(bit) => taking_part |= bit << lane,
                }
            }
        }
        let position = self.region_position(launch);
        let dims = launch.brush.to_vec();
        let nested =
            Brush::with_mask(self.program, entry, &args, position, dims, self.number, taking_part, world);
        let results = nested
            .and_then(|mut region| region.run_region(world))
            .map_err(|fault| (FaultKind::Misplaced(format!("in the launched region: {fault}")), None))?;
        for (&value, lanes_of_result) in code.func.results(inst).iter().zip(results) {
            for element in 0..self.elements(code, value) {
                let bits = match self.elements_if_vector(code, value) {
                    Some(_) => lanes_of_result[element].bits(),
                    // A uniform result is that of any lane which took part.
                    None => lanes_of(taking_part).next().and_then(|lane| lanes_of_result[lane].bits()),
                };
                self.set(code, value, 0, element, bits);
            }
        }
        Ok(())
    }

    fn launch_args(
        &self,
        data: &InstData,
        code: &Code<'_>,
        launch: &Launch,
        declaration: &Declaration,
    ) -> Vec<Vec<Datum>> {
        let lanes = launch.lanes() as usize;
        let params = declaration.signature.params.iter().zip(&data.args);
        params
            .map(|(param, &arg)| {
                let mask = param.ty.scalar().bit_mask();
                let lane_value = |lane: usize| match &param.shape {
                    None | Some(DeclaredShape::Varying) => self.get(code, arg, 0, lane),
                    Some(DeclaredShape::Uniform) => self.get(code, arg, 0, 0),
                    Some(DeclaredShape::Linear(strides)) => self
                        .get(code, arg, 0, 0)
                        .map(|base| crate::run::linear(base, strides, lane, &launch.brush) & mask),
                };
                (0..lanes).map(|lane| lane_value(lane).into()).collect()
            })
            .collect()
    }

    /// The lanes of a region are work-items of one group of its size.
    fn region_position(&self, launch: &Launch) -> Position {
        let mut local = [1; 3];
        local[..launch.brush.len()].copy_from_slice(&launch.brush);
        let index = |lane: u32| [lane % local[0], lane / local[0] % local[1], lane / local[0] / local[1]];
        Position {
            geometry: crate::run::Geometry {
                dims: launch.brush.len() as u32,
                local,
                groups: [1; 3],
                offset: [0; 3],
            },
            group: [0; 3],
            group_number: self.position.group_number,
            local: (0..launch.lanes()).map(|lane| Some(index(lane))).collect(),
        }
    }
}
