//! Horizontal operations: across the active lanes of a brush, or across a vector.

use crate::brush::Brush;
use crate::elementwise::{combine, identity};
use crate::lanes::LaneMask;
use crate::program::PreparedFunction;
use heddle_ir::{Detail, Inst, InstData, Op, Value};
use smallvec::SmallVec;

/// Elements over which a horizontal operation ranges, in ascending order: the active lanes of a scalar, or all elements of
/// a vector.
type HorizontalElements = SmallVec<[(usize, Option<u128>); 32]>;

/// Returns the bit of a lane in an integer; 0 beyond 128 bits.
fn bit_of(lane: usize) -> u128 {
    u32::try_from(lane).ok().and_then(|lane| 1u128.checked_shl(lane)).unwrap_or(0)
}

impl<M: LaneMask> Brush<'_, '_, M> {
    /// Collects the elements over which a horizontal operation in this lane ranges.
    fn operand_elements(
        &self,
        code: &PreparedFunction<'_>,
        value: Value,
        lane: usize,
        mask: M,
    ) -> HorizontalElements {
        match self.elements_if_vector(code, value) {
            Some(elements) => {
                (0..elements).map(|element| (element, self.get(code, value, lane, element))).collect()
            }
            None => mask.lanes().map(|lane| (lane, self.get(code, value, lane, 0))).collect(),
        }
    }

    pub(crate) fn elements_if_vector(&self, code: &PreparedFunction<'_>, value: Value) -> Option<usize> {
        code.func.value_type(value).lanes().map(usize::from)
    }

    pub(crate) fn reduce(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let Some(result) = code.func.result(inst) else { return };
        let operand = data.args[0];
        let scalar = self.scalar_of(code, operand);
        let result_mask = self.scalar_of(code, result).bit_mask();
        let value_of = |operand_elements: &HorizontalElements| {
            let known: Option<Vec<(usize, u128)>> =
                operand_elements.iter().map(|&(index, bits)| bits.map(|bits| (index, bits))).collect();
            let known = known?;
            let holds = known.iter().filter(|(_, bits)| *bits == 1);
            Some(match (data.op, &data.detail) {
                (Op::Any, _) => u128::from(holds.count() > 0),
                (Op::All, _) => u128::from(holds.count() == known.len()),
                (Op::Popcount, _) => holds.count() as u128 & result_mask,
                (Op::Ballot, _) => holds.fold(0, |bits, &(index, _)| bits | bit_of(index)) & result_mask,
                (_, Detail::Reduce(by)) => {
                    let mut values = known.iter().map(|&(_, bits)| bits);
                    let first = values.next().unwrap_or_else(|| identity(*by, scalar));
                    values.fold(first, |sum, bits| combine(*by, scalar, sum, bits))
                }
                _ => 0,
            })
        };
        let mut shared = None;
        for lane in mask.lanes() {
            let bits = match (self.elements_if_vector(code, operand), shared) {
                (None, Some(bits)) => bits,
                _ => value_of(&self.operand_elements(code, operand, lane, mask)),
            };
            shared = Some(bits);
            self.set(code, result, lane, 0, bits);
        }
    }

    pub(crate) fn scan(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let (Some(result), Detail::Scan { by, before }) = (code.func.result(inst), &data.detail) else {
            return;
        };
        let scalar = self.scalar_of(code, result);
        let scanned = |operand_elements: &HorizontalElements| {
            let mut sum: Option<u128> = None;
            let mut is_poison = false;
            let mut all: HorizontalElements = HorizontalElements::new();
            for &(index, bits) in operand_elements {
                let earlier = (sum, is_poison);
                is_poison |= bits.is_none();
                let bits = bits.unwrap_or(0);
                sum = Some(sum.map_or(bits, |sum| combine(*by, scalar, sum, bits)));
                let (value, is_poison) = if *before { earlier } else { (sum, is_poison) };
                let value = value.unwrap_or_else(|| identity(*by, scalar));
                all.push((index, (!is_poison).then_some(value)));
            }
            all
        };
        match self.elements_if_vector(code, result) {
            None => {
                for (lane, bits) in scanned(&self.operand_elements(code, data.args[0], 0, mask)) {
                    self.set(code, result, lane, 0, bits);
                }
            }
            Some(_) => {
                for lane in mask.lanes() {
                    for (element, bits) in scanned(&self.operand_elements(code, data.args[0], lane, mask)) {
                        self.set(code, result, lane, element, bits);
                    }
                }
            }
        }
    }

    pub(crate) fn shuffle(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let Some(result) = code.func.result(inst) else { return };
        let operand = data.args[0];
        let find = |operand_elements: &HorizontalElements, index: Option<u128>| {
            let index = usize::try_from(index?).ok()?;
            operand_elements.iter().find(|(at, _)| *at == index)?.1
        };
        if let Some(elements) = self.elements_if_vector(code, result) {
            for lane in mask.lanes() {
                let operand_elements = self.operand_elements(code, operand, lane, mask);
                for element in 0..elements {
                    let bits = find(&operand_elements, self.get(code, data.args[1], lane, element));
                    self.set(code, result, lane, element, bits);
                }
            }
            return;
        }
        let operand_elements = self.operand_elements(code, operand, 0, mask);
        let index = |lane: usize| match data.op {
            Op::First => mask.lanes().next().map(|lane| lane as u128),
            _ => self.get(code, data.args[1], lane, 0),
        };
        let indices: Vec<Option<u128>> = (0..self.lanes).map(index).collect();
        // A broadcast whose lanes disagree on the source lane is poison.
        let agree =
            mask.lanes().all(|lane| Some(indices[lane]) == mask.lanes().next().map(|lane| indices[lane]));
        let found: Vec<Option<u128>> = indices.iter().map(|&index| find(&operand_elements, index)).collect();
        let defined = data.op != Op::Broadcast || agree;
        mask.lanes().for_each(|lane| self.set(code, result, lane, 0, found[lane].filter(|_| defined)));
    }

    pub(crate) fn rearrange(&mut self, inst: Inst, data: &InstData, code: &PreparedFunction<'_>, mask: M) {
        let Some(result) = code.func.result(inst) else { return };
        let count = self.elements(code, result);
        let operand = data.args[0];
        let elements = self.elements(code, operand);
        for lane in mask.lanes() {
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
}
