//! Emission of native call wrappers ([`crate::native_call`]), and of function addresses.

use super::ModuleEmitter;
use super::assembler::{TypeHandle, ValueHandle};
use crate::native_call::{NativeSignature, NativeType, function_of_address};
use heddle_ir::Type;
use heddle_ir::module::Declaration;

impl ModuleEmitter<'_> {
    /// Emits the wrapper of a native call: packs scalars into arguments, calls, and unpacks the results.
    pub(super) fn emit_native_wrapper(
        &self,
        declaration: &Declaration,
        native: &NativeSignature,
    ) -> (TypeHandle, ValueHandle) {
        let asm = &self.asm;
        let signature = &declaration.signature;
        let (ty, func) = self.declare(&declaration.name, signature);
        asm.set_internal(func);
        asm.position_at_end(asm.add_label(func));
        let mut types = signature.params.iter().map(|param| param.ty);
        let mut leaves = (0..).map(|index| asm.param(func, index));
        let target = match &native.callee {
            Some(_) => None,
            None => types.next().and_then(|_| leaves.next()),
        };
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for part in &native.params {
            let parts: Vec<Type> = types.by_ref().take(part.lanes.unwrap_or(1).into()).collect();
            let Some(&scalar) = parts.first() else { break };
            let nodes: Vec<ValueHandle> = leaves.by_ref().take(parts.len()).collect();
            let (ty, node) = match part.lanes {
                None => (asm.ty(scalar), nodes[0]),
                Some(lanes) => {
                    let whole = asm.ty(Type::Vector(scalar.scalar(), lanes));
                    let lanes = nodes.into_iter().zip(0u128..);
                    let put = |vector, (node, lane)| asm.insert(vector, node, asm.int(32, lane));
                    (whole, lanes.fold(asm.poison(whole), put))
                }
            };
            params.push(ty);
            args.push(node);
        }
        let mut given = signature.results.iter().map(|result| result.ty);
        let result_types: Vec<TypeHandle> = (native.results.iter())
            .filter_map(|part| {
                let first = given.by_ref().take(part.lanes.unwrap_or(1).into()).next()?;
                Some(asm.ty(part.lanes.map_or(first, |lanes| Type::Vector(first.scalar(), lanes))))
            })
            .collect();
        let result = match &result_types[..] {
            [] => asm.void_ty(),
            [one] => *one,
            all => asm.struct_ty(all),
        };
        let called = match native.fixed {
            Some(fixed) => asm.variadic_ty(result, &params[..fixed.min(params.len())]),
            None => asm.function_ty(result, &params),
        };
        let callee = match (&native.callee, target) {
            (Some(name), _) => asm.function_named(name, called),
            (None, Some(target)) => target,
            (None, None) => asm.scalar(heddle_ir::Scalar::Ptr(heddle_ir::Space::Generic), 0),
        };
        let call = asm.call(called, callee, &args);
        let mut parts: Vec<ValueHandle> = Vec::new();
        for (index, part) in (0..).zip(&native.results) {
            let whole = if native.results.len() == 1 { call } else { asm.field(call, index) };
            match part {
                NativeType { lanes: None, .. } => parts.push(whole),
                NativeType { lanes: Some(lanes), .. } => {
                    parts.extend((0..u128::from(*lanes)).map(|lane| asm.extract(whole, asm.int(32, lane))));
                }
            }
        }
        match &parts[..] {
            [] => asm.ret(None),
            [one] => asm.ret(Some(*one)),
            all => {
                let mut whole = asm.poison(self.result_ty(signature));
                for (index, &part) in (0..).zip(all) {
                    whole = asm.with_field(whole, part, index);
                }
                asm.ret(Some(whole));
            }
        }
        (ty, func)
    }

    /// Returns the function whose address a global stands for, from this module or an external one. Standalone code
    /// (`entries`) defines empty stubs for external functions, so that address comparisons still work.
    pub(super) fn function_symbol(&self, global: &str) -> Option<ValueHandle> {
        let name = function_of_address(global)?;
        if let Some(&(_, known)) = self.functions.get(name) {
            return Some(known);
        }
        let asm = &self.asm;
        let func = asm.function_named(name, asm.function_ty(asm.void_ty(), &[]));
        if self.options.entries && asm.is_declared(func) {
            asm.position_at_end(asm.add_label(func));
            asm.ret(None);
            asm.set_internal(func);
        }
        Some(func)
    }
}
