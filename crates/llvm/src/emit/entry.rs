//! JIT entries: wrappers that load arguments from memory slots and store results there.

use super::ModuleEmitter;
use super::assembler::ValueHandle;
use super::memory::{load_plain, store_plain};
use heddle_ir::{Function, Type};

/// Returns the bytes of a value's slot among arguments or results: its size in memory, rounded up to 16.
pub fn slot_bytes(ty: Type) -> usize {
    (ty.bytes() as usize).next_multiple_of(16)
}

/// Prefix of entry names.
pub(crate) const ENTRY: &str = "heddle.entry.";

/// Returns the name of a function's entry, `void entry(arguments, results)`.
pub fn entry_name(name: &str) -> String {
    format!("{ENTRY}{name}")
}

impl ModuleEmitter<'_> {
    /// Emits a function's entry, `void entry(ptr arguments, ptr results)`.
    pub(super) fn emit_entry(&self, func: &Function) {
        let asm = &self.asm;
        let pointer = asm.scalar_ty(heddle_ir::Scalar::Ptr(heddle_ir::Space::Generic));
        let name = entry_name(&format!("{}{}", self.prefix, func.name));
        let entry = asm.add_function(&name, asm.function_ty(asm.void_ty(), &[pointer, pointer]));
        asm.position_at_end(asm.add_label(entry));
        let mut at = 0;
        let mut slot = |base: ValueHandle, ty: Type| {
            let address = asm.offset_address(base, asm.int(64, at), 0);
            at += slot_bytes(ty) as u128;
            address
        };
        let params = func.signature.params.iter();
        let args: Vec<ValueHandle> =
            params.map(|param| load_plain(asm, param.ty, slot(asm.param(entry, 0), param.ty), 1)).collect();
        let (ty, callee) = self.functions[&*func.name];
        let call = asm.call(ty, callee, &args);
        let results = &func.signature.results;
        let mut at = 0;
        for (index, result) in (0..).zip(results) {
            let value = if results.len() == 1 { call } else { asm.field(call, index) };
            let address = asm.offset_address(asm.param(entry, 1), asm.int(64, at), 0);
            at += slot_bytes(result.ty) as u128;
            store_plain(asm, result.ty, value, address, 1);
        }
        asm.ret(None);
    }
}
