//! Import of vector and aggregate operations: extract, insert, shuffle.

use super::body::{BodyImporter, Leaves};
use super::refusal::ImportResult;
use crate::view::Val;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Constant, Op, Value};

impl<'m> BodyImporter<'_, 'm> {
    pub(super) fn extract_value(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let whole = self.leaves(inst.operand(0))?;
        let (first, ty) = self.module.types.part(inst.operand(0).ty(), &inst.indices())?;
        let count = self.module.types.leaves(ty)?.len();
        Ok(whole[first..first + count].iter().copied().collect())
    }

    pub(super) fn insert_value(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let mut whole = self.leaves(inst.operand(0))?;
        let part = self.leaves(inst.operand(1))?;
        let (first, _) = self.module.types.part(inst.operand(0).ty(), &inst.indices())?;
        whole[first..first + part.len()].copy_from_slice(&part);
        Ok(whole)
    }

    pub(super) fn extract_element(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let lanes = self.leaves(inst.operand(0))?;
        let index = self.operand(inst, 1)?;
        let one = match self.known_bits(index) {
            Some(known) => match usize::try_from(known).ok().and_then(|known| lanes.get(known)) {
                Some(&lane) => lane,
                None => self.func.make_poison(self.func.value_type(lanes[0])),
            },
            None => self.pick(&lanes, index)?,
        };
        Ok(Leaves::from_slice(&[one]))
    }

    /// Returns the bits of a constant.
    fn known_bits(&self, value: Value) -> Option<u128> {
        self.func.constant(value).and_then(Constant::splat_bits)
    }

    /// Selects a lane by a run-time index; poison if out of range.
    fn pick(&mut self, lanes: &[Value], index: Value) -> ImportResult<Value> {
        let ty = self.func.value_type(lanes[0]);
        let mut picked = self.func.make_poison(ty);
        for (number, &lane) in lanes.iter().enumerate() {
            let number = self.int(self.scalar(index), number as i128);
            let is_it = self.icmp(IntPredicate::Eq, index, number)?;
            picked = self.choose(is_it, lane, picked)?;
        }
        Ok(picked)
    }

    pub(super) fn insert_element(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let mut lanes = self.leaves(inst.operand(0))?;
        let (value, index) = (self.operand(inst, 1)?, self.operand(inst, 2)?);
        let poison = self.func.make_poison(self.func.value_type(value));
        if let Some(known) = self.known_bits(index) {
            match usize::try_from(known).ok().and_then(|known| lanes.get_mut(known)) {
                Some(lane) => *lane = value,
                None => lanes.fill(poison),
            }
            return Ok(lanes);
        }
        let scalar = self.scalar(index);
        let fits = scalar.bits() < 64 && 1u64 << scalar.bits() <= lanes.len() as u64;
        let count = self.int(scalar, lanes.len() as i128);
        let inside = if fits { None } else { Some(self.icmp(IntPredicate::Ult, index, count)?) };
        for number in 0..lanes.len() {
            let here = self.int(scalar, number as i128);
            let is_it = self.icmp(IntPredicate::Eq, index, here)?;
            let chosen = self.choose(is_it, value, lanes[number])?;
            lanes[number] = match inside {
                Some(inside) => self.choose(inside, chosen, poison)?,
                None => chosen,
            };
        }
        Ok(lanes)
    }

    pub(super) fn shuffle_vector(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let mut both = self.leaves(inst.operand(0))?;
        both.extend(self.leaves(inst.operand(1))?);
        let poison = self.func.make_poison(self.func.value_type(both[0]));
        let mask = inst.shuffle_mask().into_iter();
        Ok(mask
            .map(|lane| lane.and_then(|lane| both.get(lane as usize)).copied().unwrap_or(poison))
            .collect())
    }

    /// Combines all lanes, first to last.
    pub(super) fn combine(
        &mut self,
        op: Op,
        lanes: &[Value],
        flags: heddle_ir::words::Flags,
    ) -> ImportResult<Value> {
        let mut all = lanes[0];
        for &lane in &lanes[1..] {
            all = self.op_with(op, &[all, lane], flags)?;
        }
        Ok(all)
    }
}
