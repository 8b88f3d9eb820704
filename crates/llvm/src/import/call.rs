//! Import of calls: intrinsics, work-item functions, other functions.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::signature::touches_no_memory;
use super::types::{AddressSpaceMap, DEVICE_OBJECT, refuse_device_objects};
use crate::space_queries::SPACE_QUERIES;
use crate::spirv::unsupported_feature;
use crate::view::Val;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::{Declaration, Effects, Signature};
use heddle_ir::{Op, Scalar, Type, Value};
use llvm_sys::LLVMValueKind;
use std::sync::Arc;

const FUNCTION: u32 = u32::MAX;

/// `convergent` functions of OpenCL C and CUDA that touch memory but do not communicate between lanes.
const HARMLESS: &[&str] = &[
    "__assert_fail",
    "__assertfail",
    "atom",
    "atomic",
    "fract",
    "free",
    "frexp",
    "lgamma",
    "malloc",
    "mem_fence",
    "modf",
    "prefetch",
    "printf",
    "read_image",
    "read_mem_fence",
    "remquo",
    "sincos",
    "vload",
    "vprintf",
    "vstore",
    "write_image",
    "write_mem_fence",
];

/// Help for an undefined function that a kernel calls.
const DEFINE_HELP: &str = "define it in the program, or link a program that does";

/// Returns the unqualified name in an Itanium-mangled name.
fn plain_name(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("_Z") else { return name };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = rest[..digits].parse().unwrap_or(0);
    rest.get(digits..digits.saturating_add(length)).unwrap_or(name)
}

/// True for a `convergent` function that does not communicate between lanes.
fn is_harmless(name: &str, spaces: AddressSpaceMap) -> bool {
    let name = plain_name(name);
    spaces != AddressSpaceMap::Host && HARMLESS.iter().any(|known| name.starts_with(known))
}

/// True for names of OpenCL C work-group and sub-group functions.
fn is_group_builtin(name: &str) -> bool {
    let name = plain_name(name);
    name.contains("work_group") || name.contains("sub_group")
}

impl<'m> BodyImporter<'_, 'm> {
    pub(super) fn call(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let mut callee = inst.called();
        if callee.kind() == LLVMValueKind::LLVMGlobalAliasValueKind {
            callee = callee.aliasee();
        }
        match callee.kind() {
            LLVMValueKind::LLVMFunctionValueKind => {}
            LLVMValueKind::LLVMInlineAsmValueKind => {
                let reason = "inline assembly";
                return Err(ImportRefusal::new(reason, "write it in C, or move it out of this function"));
            }
            _ => return self.call_through_pointer(inst),
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
        if let Some(refusal) = unsupported_feature(callee) {
            return Err(refusal);
        }
        self.check_convergent(callee)?;
        let twice = self.module.kinds.returns_twice;
        if callee.attribute(FUNCTION, twice).is_some() || inst.call_attribute(FUNCTION, twice).is_some() {
            let reason = format!("@{} may return twice", callee.name());
            return Err(ImportRefusal::new(reason, "remove setjmp"));
        }
        if inst.called_type() != callee.value_type() {
            return Err(ImportRefusal::new(
                "the call's type differs from the function's",
                "declare the function before the call",
            ));
        }
        if inst.bundle_count() > 0 {
            return Err(ImportRefusal::new(
                "operand bundles on a call",
                "compile without the feature that needs it",
            ));
        }
        let takes_vectors = || {
            let params = callee.params().into_iter().map(|param| param.ty());
            callee.is_declaration() && params.chain([inst.ty()]).any(|ty| ty.is_vector())
        };
        if self.module.types.spaces == AddressSpaceMap::Host
            && (inst.called_type().is_var_arg() || takes_vectors())
        {
            return self.import_native_call(inst, callee);
        }
        let declaration = match self.module.declarations.get(&callee) {
            Some(Ok(declaration)) => Arc::clone(declaration),
            Some(Err(why)) => {
                return Err(ImportRefusal::new(
                    format!("call of @{}: {}", callee.name(), why.reason),
                    &why.help,
                ));
            }
            None => {
                return Err(ImportRefusal::new(format!("unknown function @{}", callee.name()), "declare it"));
            }
        };
        let mut args = Leaves::new();
        for (index, argument) in inst.arguments().into_iter().enumerate() {
            let leaves = self.leaves(argument)?;
            match inst.call_type_attribute(index as u32 + 1, self.module.kinds.byval) {
                Some(_) if callee.is_declaration() => {
                    let reason = format!("external function @{} takes a struct by value", callee.name());
                    return Err(ImportRefusal::new(
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

    /// Refuses unknown convergent functions: called lane by lane, each lane would see only itself.
    fn check_convergent(&self, callee: Val<'m>) -> ImportResult<()> {
        let (name, spaces) = (callee.name(), self.module.types.spaces);
        let is_convergent = callee.attribute(FUNCTION, self.module.kinds.convergent).is_some();
        if spaces == AddressSpaceMap::Spir && SPACE_QUERIES.iter().any(|(known, _)| *known == name) {
            return Err(ImportRefusal::new(
                format!("@{name} on a pointer with several possible address spaces"),
                "pass pointers of one address space",
            ));
        }
        if !is_convergent || !callee.is_declaration() || is_harmless(&name, spaces) {
            return Ok(());
        }
        // GPU front ends mark all unknown functions `convergent`; one without memory access is pure arithmetic.
        if spaces != AddressSpaceMap::Host && touches_no_memory(callee) && !is_group_builtin(&name) {
            return Ok(());
        }
        Err(match spaces {
            AddressSpaceMap::Host => ImportRefusal::new(
                format!("unknown `convergent` function @{name}: it may observe other lanes"),
                "use the functions of <heddle.h>, or define it in the same module",
            ),
            _ if callee.value_type().text().contains(DEVICE_OBJECT) => refuse_device_objects(),
            _ => ImportRefusal::undefined(format!("undefined function @{name}"), DEFINE_HELP),
        })
    }

    /// Copies an object to the stack and returns its address. The copy's memory is allocated in the entry block: an
    /// `alloca` in a loop would allocate in each iteration.
    fn copy_of(&mut self, address: Value, bytes: u64, align: u32) -> ImportResult<Value> {
        let align = if align.is_power_of_two() { align } else { 1 };
        let outer = std::mem::replace(&mut self.in_prologue, true);
        let copy = self.emit(InstData::new(Op::Alloca, [], Detail::Alloca { bytes, align }), None);
        self.in_prologue = outer;
        let copy = copy?;
        let size = self.int(Scalar::I64, bytes.into());
        let detail = Detail::Transfer(Box::new((Access::aligned(align), Access::aligned(align))));
        self.emit_inst(InstData::new(Op::Memcpy, [copy, address, size], detail), None)?;
        let scalar = self.scalar(address);
        self.in_space(copy, scalar)
    }

    /// Emits a call of a declared function.
    pub(super) fn call_declared(
        &mut self,
        declaration: &Arc<Declaration>,
        args: &[Value],
    ) -> ImportResult<Leaves> {
        let callee = self.func.make_callee(declaration);
        let call =
            self.emit_inst(InstData::new(Op::Call, args.iter().copied(), Detail::Call(callee)), None)?;
        Ok(self.func.results(call).iter().copied().collect())
    }

    /// Emits a call of a pure C library function.
    pub(super) fn call_math(&mut self, name: &str, args: &[Value]) -> ImportResult<Value> {
        let scalar = self.scalar(args[0]);
        match scalar {
            Scalar::F32 | Scalar::F64 => {
                let name = if scalar == Scalar::F32 { format!("{name}f") } else { name.into() };
                let ty = Type::Scalar(scalar);
                let signature =
                    Signature { effects: Effects::PURE, ..Signature::new(&vec![ty; args.len()], &[ty]) };
                let kind = heddle_ir::module::FunctionKind::Function;
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
