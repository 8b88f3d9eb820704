//! Functions that the JIT calls: arguments come from memory, one in each slot, and results go there.

use super::ModuleEmitter;
use super::assembler::ValueHandle;
use super::memory::{load_plain, store_plain};
use heddle_ir::{Function, Type};

/// The bytes of the slot that a value of this type gets among arguments or results: as it lies in memory, rounded up
/// to sixteen.
pub fn slot_bytes(ty: Type) -> usize {
    (ty.bytes() as usize).next_multiple_of(16)
}

/// What the names of entries begin with.
pub(crate) const ENTRY: &str = "heddle.entry.";

/// The name of the function that is called for this one with arguments in memory: `void entry(arguments, results)`.
pub fn entry_name(name: &str) -> String {
    format!("{ENTRY}{name}")
}

impl ModuleEmitter<'_> {
    /// `void entry(arguments, results)`, both of them addresses.
    pub(super) fn emit_entry(&self, func: &Function) {
        let asm = &self.asm;
        let pointer = asm.scalar_ty(heddle_ir::Scalar::Ptr(heddle_ir::Space::Generic));
        let name = entry_name(&format!("{}{}", self.prefix, func.name));
        let entry = asm.add_function(&name, asm.function_ty(asm.void_ty(), &[pointer, pointer]));
        asm.go(asm.add_label(entry));
        let mut at = 0;
        let mut slot = |base: ValueHandle, ty: Type| {
            let address = asm.further(base, asm.int(64, at), 0);
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
            let address = asm.further(asm.param(entry, 1), asm.int(64, at), 0);
            at += slot_bytes(result.ty) as u128;
            store_plain(asm, result.ty, value, address, 1);
        }
        asm.ret(None);
    }
}
