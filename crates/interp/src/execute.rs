//! Execution of instructions that neither end a block nor call nor wait.

use crate::brush::{Brush, LaneFault, RunContext};
use crate::elementwise;
use crate::fault::FaultKind;
use crate::frame::RegisterFile;
use crate::lanes::LaneMask;
use crate::program::{ElementwiseInst, PreparedFunction, RegisterSlot};
use crate::scalar::Trap;
use heddle_ir::words::Flag;

use heddle_ir::{Detail, Inst, InstData, Op, Scalar, Value};

/// Executor of an elementwise instruction over the registers of a frame.
struct ElementwiseExecutor<'r, M> {
    operation: &'r ElementwiseInst,
    mask: M,
    /// Divisor of a division: poison in it is a fault.
    divisor: Option<Value>,
    registers: &'r mut RegisterFile<M>,
}

impl<M: LaneMask> elementwise::LaneExecutor for ElementwiseExecutor<'_, M> {
    #[inline]
    fn execute(
        self,
        meaning: impl Fn(u128, u128, u128) -> Result<Option<u128>, Trap>,
    ) -> Result<(), LaneFault> {
        let ElementwiseExecutor { operation: &ElementwiseInst { to, from, .. }, mask, divisor, registers } =
            self;
        for element in 0..to.elements {
            let (to, [x, y, z]) = (to.row(element), from.map(|slot| slot.row(element)));
            let mut poison =
                [x, y, z].iter().fold(M::NONE, |poison, &row| poison | registers.poison(row)) & mask;
            let poison_divisor = divisor.and_then(|_| (registers.poison(y) & mask).lanes().next());
            let [x, y, z, result] = registers.cells([x, y, z, to]);
            for lane in (mask & !poison).lanes() {
                if poison_divisor.is_some_and(|first| first < lane) {
                    break;
                }
                match meaning(x[lane].get(), y[lane].get(), z[lane].get()) {
                    Ok(Some(bits)) => result[lane].set(bits),
                    Ok(None) => poison |= M::of(lane),
                    Err(trap) => return Err((trap.into(), Some(lane))),
                }
            }
            if let (Some(divisor), Some(lane)) = (divisor, poison_divisor) {
                return Err((FaultKind::PoisonDivisor(divisor), Some(lane)));
            }
            registers.set_poison(to, mask, poison);
        }
        Ok(())
    }
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Executes an instruction that neither ends a block nor calls nor waits.
    pub(crate) fn execute(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        cx: &mut RunContext<'_>,
    ) -> Result<(), LaneFault> {
        let mask = if data.is_total() { M::first(self.lanes) } else { self.frame().active };
        let active = u64::from(mask.count());
        cx.counters.lane_operations += active;
        let elementwise = code.elementwise[inst].as_ref();
        let elements = match elementwise {
            Some(operation) => operation.to.elements,
            None => {
                let values = code.func.results(inst).iter().chain(&data.args);
                values.map(|&value| code.slot(value).elements).max().unwrap_or(1)
            }
        };
        cx.budget.work(1 + active * elements as u64).map_err(|kind| (kind, None))?;
        if let Some(operation) = elementwise {
            self.write_passive_results(inst, code, mask, cx);
            let divisor = operation.traps.then(|| data.args[1]);
            let running =
                ElementwiseExecutor { operation, mask, divisor, registers: &mut self.frame_mut().registers };
            return elementwise::evaluate(data, operation, cx.options.fused, running);
        }
        if cx.profile.is_some() {
            self.profile_access(inst, data, code, mask, cx).map_err(|kind| (kind, None))?;
        }
        // `mask` writes every lane.
        let executed = if data.op == Op::Mask { M::first(self.lanes) } else { mask };
        self.write_passive_results(inst, code, executed, cx);
        match data.op {
            Op::Select => self.select(inst, data, code, mask),
            Op::Freeze => self.map(inst, data, code, mask, |bits| Some(bits.unwrap_or(0))),
            Op::Bitcast => self.bitcast(inst, data, code, mask),
            Op::Assume => match self.read_mask(code, data.args[0], mask)? {
                holds if (mask & !holds).is_none() => {}
                holds => return Err((FaultKind::BrokenAssumption, (mask & !holds).lanes().next())),
            },
            Op::PtrAdd => self.ptradd(inst, data, code, mask, cx),
            Op::Alloca => {
                let Detail::Alloca { bytes, align } = data.detail else { return Ok(()) };
                let lanes = mask.lanes();
                let address = cx
                    .memory
                    .allocate(self.level, lanes, bytes, align, &mut cx.budget)
                    .map_err(|kind| (kind, None))?;
                self.write_lanes(inst, code, mask, |_| Some(address.into()));
            }
            Op::Load | Op::MaskedLoad | Op::Gather => self.load(inst, data, code, mask, cx)?,
            Op::Store | Op::MaskedStore | Op::Scatter => self.store(data, code, mask, cx)?,
            Op::Memcpy | Op::Memmove | Op::Memset => self.transfer(data, code, mask, cx)?,
            Op::AtomicRmw | Op::CompareExchange => self.atomic(inst, data, code, mask, cx)?,
            Op::Fence => {}
            Op::Lane
            | Op::Width
            | Op::LocalId
            | Op::LocalSize
            | Op::EnqueuedSize
            | Op::GroupId
            | Op::NumGroups
            | Op::GlobalId
            | Op::GlobalSize
            | Op::GlobalOffset
            | Op::WorkDim => self.geometry(inst, data, code, mask),
            Op::Mask => {
                let active = self.frame().active;
                self.write_lanes(inst, code, M::first(self.lanes), |lane| Some(active.has(lane).into()));
            }
            Op::Any | Op::All | Op::Ballot | Op::Popcount | Op::Reduce => self.reduce(inst, data, code, mask),
            Op::Scan => self.scan(inst, data, code, mask),
            Op::Shuffle | Op::Broadcast | Op::First => self.shuffle(inst, data, code, mask),
            Op::Splat | Op::Extract | Op::Insert | Op::Permute | Op::Compress | Op::Expand => {
                self.rearrange(inst, data, code, mask);
            }
            Op::Launch => self.launch(inst, data, code, mask, cx)?,
            op => return Err((FaultKind::Misplaced(format!("`{op}` cannot run here")), None)),
        }
        Ok(())
    }

    pub(crate) fn scalar_of(&self, code: &PreparedFunction<'_>, value: Value) -> Scalar {
        code.func.value_type(value).scalar()
    }

    /// Returns one element of a value in a lane.
    pub(crate) fn get(
        &self,
        code: &PreparedFunction<'_>,
        value: Value,
        lane: usize,
        element: usize,
    ) -> Option<u128> {
        self.frame().registers.get(code.slot(value).row(element), lane)
    }

    pub(crate) fn set(
        &mut self,
        code: &PreparedFunction<'_>,
        value: Value,
        lane: usize,
        element: usize,
        bits: Option<u128>,
    ) {
        self.frame_mut().registers.set(code.slot(value).row(element), lane, bits);
    }

    pub(crate) fn elements(&self, code: &PreparedFunction<'_>, value: Value) -> usize {
        code.slot(value).elements
    }

    /// Writes the scalar result of an instruction in these lanes.
    pub(crate) fn write_lanes(
        &mut self,
        inst: Inst,
        code: &PreparedFunction<'_>,
        mask: M,
        bits: impl Fn(usize) -> Option<u128>,
    ) {
        if let Some(result) = code.func.result(inst) {
            let row = code.slot(result).first;
            let registers = &mut self.frame_mut().registers;
            mask.lanes().for_each(|lane| registers.set(row, lane, bits(lane)));
        }
    }

    /// Applies a function to each element; it also sees poison.
    fn map(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        f: impl Fn(Option<u128>) -> Option<u128>,
    ) {
        let Some(result) = code.func.result(inst) else { return };
        for lane in mask.lanes() {
            for element in 0..self.elements(code, result) {
                let bits = f(self.get(code, data.args[0], lane, element));
                self.set(code, result, lane, element, bits);
            }
        }
    }

    fn select(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let Some(result) = code.func.result(inst) else { return };
        let [condition, then, otherwise] = [0, 1, 2].map(|index| code.slot(data.args[index]));
        let to = code.slot(result);
        let registers = &mut self.frame_mut().registers;
        for element in 0..to.elements {
            let [condition, then, otherwise, to] =
                [condition, then, otherwise, to].map(|slot| slot.row(element));
            for lane in mask.lanes() {
                let chosen =
                    registers.get(condition, lane).map(|bit| if bit & 1 == 1 { then } else { otherwise });
                let bits = chosen.and_then(|chosen| registers.get(chosen, lane));
                registers.set(to, lane, bits);
            }
        }
    }

    fn bitcast(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let Some(result) = code.func.result(inst) else { return };
        let (from_bits, to_bits) =
            (self.scalar_of(code, data.args[0]).bits(), self.scalar_of(code, result).bits());
        let (from_count, to_count) = (self.elements(code, data.args[0]), self.elements(code, result));
        for lane in mask.lanes() {
            if from_count == to_count {
                for element in 0..to_count {
                    let bits = self.get(code, data.args[0], lane, element);
                    self.set(code, result, lane, element, bits);
                }
                continue;
            }
            // Via the concatenated bits. A result element is poison if one of its bits is.
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

    fn ptradd(
        &mut self,
        inst: Inst,
        data: &InstData,
        code: &PreparedFunction<'_>,
        mask: M,
        cx: &RunContext<'_>,
    ) {
        let Some(result) = code.func.result(inst) else { return };
        let offset_bits = self.scalar_of(code, data.args[1]).bits();
        let [to, base, offset] = [result, data.args[0], data.args[1]].map(|value| code.slot(value));
        let (nuw, inbounds) = (data.flags.has(Flag::Nuw), data.flags.has(Flag::Inbounds));
        for lane in mask.lanes() {
            for element in 0..to.elements {
                let registers = &self.frame().registers;
                let read = |slot: RegisterSlot| registers.get(slot.row(element), lane);
                let operands = read(base).zip(read(offset));
                let bits = operands.and_then(|(base, offset)| {
                    let offset = crate::scalar::integer::signed(offset_bits, offset);
                    let sum = (base as u64).wrapping_add(offset as u64);
                    let wraps = nuw && (offset < 0 || sum < base as u64);
                    let leaves = inbounds && offset != 0 && !self.is_inside(base as u64, sum, lane, cx);
                    (!wraps && !leaves).then_some(sum.into())
                });
                self.frame_mut().registers.set(to.row(element), lane, bits);
            }
        }
    }

    /// True if both addresses lie in one object or at its end.
    fn is_inside(&self, from: u64, to: u64, lane: usize, cx: &RunContext<'_>) -> bool {
        let Ok(target) = cx.memory.find(from, 0, self.level, lane) else { return false };
        let object = cx.memory.target(target);
        to >= object.address && to <= object.address + object.bytes.len() as u64
    }

    // Geometry.

    fn geometry(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let (Detail::Dimension(dimension), Some(result)) = (&data.detail, code.func.result(inst)) else {
            return;
        };
        let dim = dimension.map(usize::from);
        let bit_mask = self.scalar_of(code, result).bit_mask();
        let geometry = self.position.geometry.clone();
        let edge_node = |all: &[u32], dim: usize| u64::from(all.get(dim).copied().unwrap_or(1));
        for lane in mask.lanes() {
            let local = self.position.local[lane].unwrap_or_default();
            let at = dim.unwrap_or(0).min(2);
            let number = match (data.op, dim) {
                (Op::Lane, None) => lane as u64,
                (Op::Lane, Some(dim)) => {
                    let before: u64 = (0..dim).map(|dim| edge_node(&self.dims, dim)).product();
                    lane as u64 / before % edge_node(&self.dims, dim)
                }
                (Op::Width, None) => self.lanes as u64,
                (Op::Width, Some(dim)) => edge_node(&self.dims, dim),
                (Op::LocalId, _) => local[at].into(),
                (Op::LocalSize, _) => self.position.size[at].into(),
                (Op::EnqueuedSize, _) => geometry.local[at].into(),
                (Op::GroupId, _) => self.position.group[at].into(),
                (Op::NumGroups, _) => geometry.groups[at].into(),
                (Op::GlobalId, _) => {
                    let group = u64::from(self.position.group[at]) * u64::from(geometry.local[at]);
                    geometry.offset[at].wrapping_add(group + u64::from(local[at]))
                }
                (Op::GlobalSize, _) => self.position.global[at],
                (Op::GlobalOffset, _) => geometry.offset[at],
                _ => geometry.dims.into(),
            };
            self.set(code, result, lane, 0, Some(u128::from(number) & bit_mask));
        }
    }
}
