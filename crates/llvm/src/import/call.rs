//! Calls: of intrinsics, of work-item functions, of functions.

use super::body::{Body, Leaves};
use super::refusal::{Take, Why};
use crate::view::Val;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::{Declaration, Effects, Signature};
use heddle_ir::{Op, Scalar, Type, Value};
use llvm_sys::LLVMValueKind;
use std::sync::Arc;

const FUNCTION: u32 = u32::MAX;

impl<'m> Body<'_, 'm> {
    pub(super) fn call(&mut self, inst: Val<'m>) -> Take<Leaves> {
        let callee = inst.called();
        match callee.kind() {
            LLVMValueKind::LLVMFunctionValueKind => {}
            LLVMValueKind::LLVMInlineAsmValueKind => {
                let reason = "inline assembly does what only one machine knows";
                return Err(Why::new(reason, "write it in C, or keep it out of this function"));
            }
            _ => return Err(Why::new("the function is called through a pointer", "call it by its name")),
        }
        if callee.intrinsic_id() != 0 {
            return self.intrinsic(inst, callee);
        }
        if let Some(taken) = self.work_item_function(inst, callee)? {
            return Ok(taken);
        }
        if let Some(taken) = self.horizontal(inst, callee)? {
            return Ok(taken);
        }
        let twice = self.module.kinds.returns_twice;
        if callee.attribute(FUNCTION, twice).is_some() || inst.call_attribute(FUNCTION, twice).is_some() {
            let reason = format!("@{} may return twice", callee.name());
            return Err(Why::new(reason, "do without setjmp"));
        }
        if inst.called_type() != callee.value_type() {
            return Err(Why::new(
                "the call and the function differ in their types",
                "declare the function before",
            ));
        }
        if inst.bundle_count() > 0 {
            return Err(Why::new(
                "the call carries bundles of operands",
                "compile without the feature that needs it",
            ));
        }
        let declaration = match self.module.declarations.get(&callee) {
            Some(Ok(declaration)) => Arc::clone(declaration),
            Some(Err(why)) => {
                return Err(Why::new(
                    format!("@{} is not taken: {}", callee.name(), why.reason),
                    &why.way_out,
                ));
            }
            None => return Err(Why::new(format!("@{} is not known", callee.name()), "declare it")),
        };
        let mut args = Leaves::new();
        for (index, argument) in inst.arguments().into_iter().enumerate() {
            let leaves = self.leaves(argument)?;
            match inst.call_type_attribute(index as u32 + 1, self.module.kinds.byval) {
                Some(_) if callee.is_declaration() => {
                    let reason =
                        format!("@{} is defined elsewhere and takes a struct by value", callee.name());
                    return Err(Why::new(
                        reason,
                        "pass its address, or define the function in the same module",
                    ));
                }
                Some(ty) => {
                    let align =
                        inst.call_attribute(index as u32 + 1, self.module.kinds.align).unwrap_or(1) as u32;
                    let bytes = self.module.types.size(ty)?;
                    args.push(self.copy_of(leaves[0], bytes, align)?);
                }
                None => args.extend(leaves),
            }
        }
        self.call_declared(&declaration, &args)
    }

    /// The address of a copy of an object.
    fn copy_of(&mut self, address: Value, bytes: u64, align: u32) -> Take<Value> {
        let align = if align.is_power_of_two() { align } else { 1 };
        let copy = self.put(InstData::new(Op::Alloca, [], Detail::Alloca { bytes, align }), None)?;
        let size = self.int(Scalar::I64, bytes.into());
        let detail = Detail::Transfer(Box::new((Access::aligned(align), Access::aligned(align))));
        self.put_inst(InstData::new(Op::Memcpy, [copy, address, size], detail), None)?;
        let scalar = self.scalar(address);
        self.in_space(copy, scalar)
    }

    /// A call of a function that is known.
    pub(super) fn call_declared(&mut self, declaration: &Arc<Declaration>, args: &[Value]) -> Take<Leaves> {
        let callee = self.func.make_callee(declaration);
        let call =
            self.put_inst(InstData::new(Op::Call, args.iter().copied(), Detail::Call(callee)), None)?;
        Ok(self.func.results(call).iter().copied().collect())
    }

    /// A call of a function of the C library that does nothing but give its value.
    pub(super) fn call_math(&mut self, name: &str, args: &[Value]) -> Take<Value> {
        let scalar = self.scalar(args[0]);
        match scalar {
            Scalar::F32 | Scalar::F64 => {
                let name = if scalar == Scalar::F32 { format!("{name}f") } else { name.into() };
                let ty = Type::Scalar(scalar);
                let signature =
                    Signature { effects: Effects::PURE, ..Signature::new(&vec![ty; args.len()], &[ty]) };
                let kind = heddle_ir::module::Kind::Function;
                let declaration = Arc::new(Declaration { name, kind, signature });
                Ok(self.call_declared(&declaration, args)?[0])
            }
            _ => {
                let mut wide = Vec::new();
                for &arg in args {
                    wide.push(self.op_to(Op::Fpext, Scalar::F32, &[arg])?);
                }
                let result = self.call_math(name, &wide)?;
                self.op_to(Op::Fptrunc, scalar, &[result])
            }
        }
    }
}
