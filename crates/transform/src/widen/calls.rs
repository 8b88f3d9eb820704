//! Widens calls: to wide forms, to vector variants, or once for each lane.

use super::signature::{is_one_scalar, wide_declaration};
use super::value_reps::{ValueRep, is_pure};
use super::widener::{WidenResult, Widener};
use super::{VectorVariant, refusal};
use heddle_analysis::shape::Steps;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{Declaration, DeclaredShape, FunctionKind, Param, ReturnValue, Signature};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};
use std::sync::Arc;

impl<'a> Widener<'a> {
    pub(super) fn call(&mut self, inst: Inst) -> WidenResult {
        let data = self.old.inst(inst).clone();
        let Some(callee) = self.old.callee_of(&data).cloned() else {
            return Err(refusal(self.old, inst, "unknown callee"));
        };
        if !self.context.defined.contains(&*callee.name) {
            let is_same = data.args.iter().all(|&arg| self.reps.is_uniform(arg));
            if !(is_pure(&callee) && is_same) {
                return match self.vector_variant(inst, &callee) {
                    Some(variant) => self.call_variant(inst, &callee, variant),
                    None => self.call_lane_by_lane(inst, &callee),
                };
            }
            let args: Vec<Value> = data.args.iter().map(|&arg| self.scalar(arg)).collect();
            let name = self.new.make_callee(&callee);
            let call = self.insert(InstData { args: args.into(), detail: Detail::Call(name), ..data }, None);
            let results = self.new.results(call).to_vec();
            for (index, value) in results.into_iter().enumerate() {
                self.define_value(self.old.results(inst)[index], value);
            }
            return Ok(());
        }
        let mut args = Vec::with_capacity(data.args.len());
        for (param, &arg) in callee.signature.params.iter().zip(&data.args) {
            if !is_one_scalar(param.shape.as_ref(), FunctionKind::Function) {
                args.push(self.vector(arg));
                continue;
            }
            if self.reps.is_rebased(arg) {
                let reason =
                    "the address of a private object is passed as `uniform`: declare the parameter `varying`";
                return Err(refusal(self.old, inst, reason));
            }
            args.push(match &param.shape {
                Some(DeclaredShape::Linear(strides)) => self.lane_0_of(arg, strides),
                _ => self.scalar(arg),
            });
        }
        let wide = Arc::new(wide_declaration(&callee, &self.brush));
        let name = self.new.make_callee(&wide);
        let any = self.any_active_lane(inst);
        let values = self.emit_if(any, |widener| {
            let call =
                widener.insert(InstData { args: args.into(), detail: Detail::Call(name), ..data }, None);
            widener.new.results(call).to_vec()
        });
        for (index, value) in values.into_iter().enumerate() {
            self.define_value(self.old.results(inst)[index], value);
        }
        Ok(())
    }

    /// Lane 0's value of a linear argument; lane 0 may be inactive.
    fn lane_0_of(&mut self, old: Value, strides: &[i64]) -> Value {
        let scalar = self.scalar(old);
        if matches!(self.reps.of(old), ValueRep::Scalar(_)) {
            return scalar;
        }
        // The argument is a vector, and its scalar is the first active lane's value.
        let mut steps = Steps::default();
        steps.iter_mut().zip(strides).for_each(|(step, &stride)| *step = stride.wrapping_neg());
        let ty = self.old.value_type(old).scalar();
        let number = if ty.is_ptr() { Scalar::I64 } else { ty };
        let offsets =
            self.offsets(steps).into_iter().map(|offset| offset as u128 & number.bit_mask()).collect();
        let offsets = self.new.make_const(Constant::Vector(number, offsets));
        let lane = self.first_lane();
        let back = self.emit(InstData::plain(Op::Extract, [offsets, lane]), None);
        let op = if ty.is_ptr() { Op::PtrAdd } else { Op::Add };
        self.emit(InstData::plain(op, [scalar, back]), None)
    }

    /// Vector variant of an external function that fits this call.
    fn vector_variant(&self, inst: Inst, callee: &Declaration) -> Option<&'a VectorVariant> {
        let data = self.old.inst(inst);
        let fits = |(shape, &arg): (&DeclaredShape, &Value)| match shape {
            DeclaredShape::Varying => !self.reps.is_rebased(arg) || self.reps.of(arg) == ValueRep::Vector,
            DeclaredShape::Uniform => self.reps.is_uniform(arg) && !self.reps.is_rebased(arg),
            DeclaredShape::Linear(strides) => {
                let mut steps = Steps::default();
                steps.iter_mut().zip(strides).for_each(|(step, &stride)| *step = stride);
                self.reps.of(arg) == ValueRep::Scalar(steps)
            }
        };
        let is_whole = self.predicate_of(inst).is_none() || is_pure(callee);
        let variants = self.context.vector_variants.get(&callee.name)?;
        let fitting = variants.iter().filter(|variant| {
            variant.shapes.len() == data.args.len()
                && variant.shapes.iter().zip(&data.args).all(fits)
                && (variant.is_masked || is_whole)
        });
        // Prefer a variant without a mask where all lanes are active.
        fitting.min_by_key(|variant| variant.is_masked == is_whole)
    }

    /// Calls a vector variant if any lane is active.
    fn call_variant(&mut self, inst: Inst, callee: &Declaration, variant: &VectorVariant) -> WidenResult {
        let data = self.old.inst(inst).clone();
        let mut args = Vec::with_capacity(data.args.len() + 1);
        for (shape, &arg) in variant.shapes.iter().zip(&data.args) {
            args.push(if *shape == DeclaredShape::Varying { self.vector(arg) } else { self.scalar(arg) });
        }
        if variant.is_masked {
            let all = Constant::splat(Type::Vector(Scalar::I1, self.lanes), 1);
            args.push(self.mask(inst).unwrap_or_else(|| self.new.make_const(all)));
        }
        let params = args.iter().map(|&arg| Param::new(self.new.value_type(arg))).collect();
        let results = self.old.results(inst).to_vec();
        let wide =
            |&result: &Value| ReturnValue { ty: self.wide_type(self.old.value_type(result)), shape: None };
        let effects = callee.signature.effects;
        let signature = Signature { params, results: results.iter().map(wide).collect(), effects };
        let declaration = Declaration { name: variant.name.clone(), kind: FunctionKind::Function, signature };
        let name = self.new.make_callee(&Arc::new(declaration));
        let any = self.any_active_lane(inst);
        let values = self.emit_if(any, |widener| {
            let call =
                widener.insert(InstData { args: args.into(), detail: Detail::Call(name), ..data }, None);
            widener.new.results(call).to_vec()
        });
        for (&result, whole) in results.iter().zip(values) {
            let value = match self.reps.of(result) {
                ValueRep::Vector => whole,
                ValueRep::Scalar(_) => {
                    let lane = self.first_lane();
                    self.emit(InstData::plain(Op::Extract, [whole, lane]), None)
                }
            };
            self.define_value(result, value);
        }
        Ok(())
    }

    /// Serializes a call without a wide form over the lanes.
    fn call_lane_by_lane(&mut self, inst: Inst, callee: &Declaration) -> WidenResult {
        if callee.signature.effects.convergent && !is_pure(callee) && callee.kind != FunctionKind::Function {
            let reason =
                "lanes do this together, which one lane cannot do alone: define the function in this module";
            return Err(refusal(self.old, inst, reason));
        }
        self.lane_by_lane(inst)
    }
}
