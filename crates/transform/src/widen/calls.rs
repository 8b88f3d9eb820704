//! Calls: of wide forms, where there are some.

use super::Refusal;
use super::kinds::is_pure;
use super::signature::{is_one_scalar, wide_declaration};
use super::writer::{Writer, Written};
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::Kind;
use heddle_ir::{Inst, Value};
use std::sync::Arc;

impl Writer<'_> {
    pub(super) fn call(&mut self, inst: Inst) -> Written {
        let data = self.old.inst(inst).clone();
        let Some(callee) = self.old.callee_of(&data).cloned() else {
            return Err(Refusal::at(self.old, inst, "nothing is known of the function that is called"));
        };
        if !self.around.defined.contains(&*callee.name) {
            let is_same = data.args.iter().all(|&arg| self.kinds.is_shared(arg));
            if !(is_pure(&callee) && is_same) {
                return self.call_lane_by_lane(inst, &callee);
            }
            let args: Vec<Value> = data.args.iter().map(|&arg| self.scalar(arg)).collect();
            let name = self.new.make_callee(&callee);
            let call = self.insert(InstData { args: args.into(), detail: Detail::Call(name), ..data }, None);
            let given = self.new.results(call).to_vec();
            for (index, value) in given.into_iter().enumerate() {
                self.define_value(self.old.results(inst)[index], value);
            }
            return Ok(());
        }
        let mut args = Vec::with_capacity(data.args.len());
        for (param, &arg) in callee.signature.params.iter().zip(&data.args) {
            if !is_one_scalar(param.shape.as_ref(), Kind::Function) {
                args.push(self.vector(arg));
                continue;
            }
            if self.kinds.is_rebased(arg) {
                let reason = "the address of a private object is passed as if lanes shared it: declare the parameter \
                              `varying`";
                return Err(Refusal::at(self.old, inst, reason));
            }
            args.push(self.scalar(arg));
        }
        let wide = Arc::new(wide_declaration(&callee, &self.brush));
        let name = self.new.make_callee(&wide);
        let anyone = self.anyone(inst);
        let values = self.only_if(anyone, |writer| {
            let call =
                writer.insert(InstData { args: args.into(), detail: Detail::Call(name), ..data }, None);
            writer.new.results(call).to_vec()
        });
        for (index, value) in values.into_iter().enumerate() {
            self.define_value(self.old.results(inst)[index], value);
        }
        Ok(())
    }

    /// Calls a function that has no wide form, once for each lane.
    fn call_lane_by_lane(&mut self, inst: Inst, callee: &heddle_ir::module::Declaration) -> Written {
        if callee.signature.effects.convergent && !is_pure(callee) && callee.kind != Kind::Function {
            let reason =
                "what lanes do there together, one lane cannot do alone: define the function in this module";
            return Err(Refusal::at(self.old, inst, reason));
        }
        self.lane_by_lane(inst)
    }
}
