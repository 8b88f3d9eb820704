//! Import of indirect calls, variadic calls, and calls of external functions with vector parameters.
//!
//! An indirect call is devirtualized: a chain of comparisons with the possible targets, each followed by a direct
//! call for the lanes that match. Other targets are called natively, lane by lane.
//!
//! ```text
//!     block1:  v3 = icmp eq v2, @heddle.address.f;  br v3, block4, block5
//!     block4:  v6 = call @f(v1);  br block7
//!     block5:  v8 = call @"heddle.outside.i32(i32)."(v2, v1);  br block7
//!     block7:  v9 = phi i32 [block4: v6], [block5: v8]
//! ```

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::AddressSpaceMap;
use crate::native_call::{NativeSignature, NativeType, address_name};
use crate::view::{Ty, Val, attribute_kind};
use heddle_ir::inst::InstData;
use heddle_ir::module::{Declaration, Effects, FunctionKind, Param, ReturnValue, Signature};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Constant, Op, Scalar, Space, Type, Value};
use std::sync::Arc;

/// Maximum number of targets compared with a pointer.
const MAX_TARGETS: usize = 32;

impl<'m> BodyImporter<'_, 'm> {
    /// Returns the address of a function.
    pub(super) fn function_address(&mut self, func: Val<'m>, to: Scalar) -> ImportResult<Value> {
        let name = func.name();
        if self.module.types.spaces != AddressSpaceMap::Host || name.is_empty() {
            let reason = format!("use of the address of function @{name}");
            return Err(ImportRefusal::new(reason, "call it by its name"));
        }
        let symbol: Arc<str> = address_name(&name).into();
        self.module.addresses.borrow_mut().insert(Arc::clone(&symbol));
        let address = self.func.make_const(Constant::Address(Space::Constant, symbol));
        self.in_space(address, to)
    }

    /// Imports an indirect call.
    pub(super) fn call_through_pointer(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        if self.module.types.spaces != AddressSpaceMap::Host {
            return Err(ImportRefusal::new("call through a pointer", "call it by its name"));
        }
        if inst.bundle_count() > 0 {
            let reason = "operand bundles on a call";
            return Err(ImportRefusal::new(reason, "compile without the feature that needs it"));
        }
        let target = self.leaf(inst.called())?;
        let mut args = Leaves::new();
        for argument in inst.arguments() {
            args.extend(self.leaves(argument)?);
        }
        // Check the native call first, so that a refusal leaves no partial chain.
        let (native, given) = self.declare_wrapper(inst, Some(target), None)?;
        let ty = inst.called_type();
        let targets: Vec<(Val<'m>, Arc<Declaration>)> = match ty.is_var_arg() {
            true => Vec::new(),
            false => (self.module.targets(ty).into_iter())
                .filter_map(|func| match self.module.declarations.get(&func) {
                    Some(Ok(declaration)) => Some((func, Arc::clone(declaration))),
                    _ => None,
                })
                .collect(),
        };
        if targets.is_empty() {
            return self.call_declared(&native, &given);
        }
        let join = self.new_block();
        let mut joined: Vec<(Block, Leaves)> = Vec::new();
        for (func, declaration) in targets.into_iter().take(MAX_TARGETS) {
            let address = self.function_address(func, Scalar::Ptr(Space::Generic))?;
            let is_it = self.icmp(IntPredicate::Eq, target, address)?;
            let [then, otherwise] = [self.new_block(), self.new_block()];
            self.emit_inst(InstData::branch(is_it, then, otherwise), None)?;
            self.switch_to(then);
            let results = self.call_declared(&declaration, &args)?;
            joined.push((then, results));
            self.emit_inst(InstData::jump(join), None)?;
            self.switch_to(otherwise);
        }
        let last = self.here();
        let results = self.call_declared(&native, &given)?;
        let count = results.len();
        joined.push((last, results));
        self.emit_inst(InstData::jump(join), None)?;
        self.end_in(join);
        (0..count)
            .map(|index| {
                let edges = joined.iter().map(|(block, results)| (*block, results[index]));
                let ty = self.func.value_type(joined[0].1[index]);
                self.emit(InstData::phi(edges, None), Some(ty))
            })
            .collect()
    }

    /// Imports a call of an external function with its native signature.
    pub(super) fn import_native_call(&mut self, inst: Val<'m>, callee: Val<'m>) -> ImportResult<Leaves> {
        let (native, args) = self.declare_wrapper(inst, None, Some(callee.name()))?;
        self.call_declared(&native, &args)
    }

    /// Declares the wrapper of a native call, and collects its arguments.
    fn declare_wrapper(
        &mut self,
        inst: Val<'m>,
        target: Option<Value>,
        callee: Option<String>,
    ) -> ImportResult<(Arc<Declaration>, Leaves)> {
        let (byval, narrow) = (self.module.kinds.byval, ["zeroext", "signext"].map(attribute_kind));
        let ty = inst.called_type();
        let mut native = NativeSignature {
            results: self.parts(ty.result())?,
            params: Vec::new(),
            fixed: ty.is_var_arg().then(|| ty.param_count()),
            callee,
        };
        let mut args: Leaves = target.into_iter().collect();
        for (index, argument) in inst.arguments().into_iter().enumerate() {
            let place = index as u32 + 1;
            if inst.call_type_attribute(place, byval).is_some() {
                let reason = "struct passed by value to an external function";
                return Err(ImportRefusal::new(
                    reason,
                    "pass its address, or define the function in the same module",
                ));
            }
            let mut parts = self.parts(argument.ty())?;
            // A struct is passed as one argument per field, of which only the first would count as fixed.
            if parts.len() != 1 && native.fixed.is_some() {
                return Err(ImportRefusal::new("struct among variable arguments", "pass its address"));
            }
            let mut leaves = self.leaves(argument)?;
            // The caller extends small integers to the register width.
            if let ([part], [value]) = (&mut parts[..], &mut leaves[..])
                && part.lanes.is_none()
                && part.scalar.is_some_and(|scalar| scalar.is_int() && scalar.bits() < 32)
            {
                let [zeros, signs] = narrow.map(|kind| inst.call_attribute(place, kind).is_some());
                if zeros || signs {
                    let op = if signs { Op::Sext } else { Op::Zext };
                    *value = self.op_to(op, Scalar::I32, &[*value])?;
                    part.scalar = Some(Scalar::I32);
                }
            }
            native.params.extend(parts);
            args.extend(leaves);
        }
        let params = args.iter().map(|&arg| Param::new(self.func.value_type(arg))).collect();
        let results = self.module.types.leaves(ty.result())?;
        let results =
            results.iter().map(|leaf| ReturnValue { ty: Type::Scalar(leaf.scalar), shape: None }).collect();
        let effects = Effects { convergent: false, ..Effects::ANY };
        let signature = Signature { params, results, effects };
        Ok((Arc::new(Declaration { name: native.name(), kind: FunctionKind::Function, signature }), args))
    }

    /// Returns the scalars and vectors of a type.
    fn parts(&self, ty: Ty<'m>) -> ImportResult<Vec<NativeType>> {
        let leaves = self.module.types.leaves(ty)?;
        if leaves.iter().any(|leaf| leaf.has_odd_width()) {
            return Err(ImportRefusal::new(
                "integer of an odd width to or from an external function",
                "use the next wider type",
            ));
        }
        if !ty.is_vector() {
            return Ok(leaves
                .iter()
                .map(|leaf| NativeType { scalar: Some(leaf.scalar), lanes: None })
                .collect());
        }
        match (leaves.first().map(|leaf| leaf.scalar), u16::try_from(leaves.len())) {
            (Some(Scalar::I1), _) | (None, _) | (_, Err(_)) => {
                Err(ImportRefusal::new("vector of bits to or from an external function", "use bytes"))
            }
            (scalar, Ok(lanes)) => Ok(vec![NativeType { scalar, lanes: Some(lanes) }]),
        }
    }
}
