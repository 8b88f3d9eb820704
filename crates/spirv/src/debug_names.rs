//! Finds the names of functions and values that only the debug information has.
//!
//! Modules without `OpName` may still name their functions (`DebugFunction`) and variables (`DebugLocalVariable`, which
//! `DebugDeclare` and `DebugValue` connect with ids). Both instruction sets number these instructions alike.

use crate::binary::SpirvInst;
use crate::module::{ExtendedSet, SpirvModule};
use spirv::{NonsemanticShaderDebuginfo100Op as ShaderOp, Op, OpenclDebuginfo100Op as OpenClOp};

/// Maximum bytes of a name: every instruction may repeat one.
const LONGEST: usize = 255;
/// Words of an extended instruction before its operands: type, result, set, number.
const HEAD: usize = 4;
/// Operand of OpenCL's `DebugFunction` that is the function.
const DEFINED_FUNCTION: usize = 9;

/// Set, number and operands of an instruction of debug information.
fn debug_inst<'w>(module: &SpirvModule<'_>, inst: &SpirvInst<'w>) -> Option<(ExtendedSet, u32, &'w [u32])> {
    let is_extended = matches!(inst.op, Some(Op::ExtInst | Op::ExtInstWithForwardRefsKHR));
    let (set, number) = (inst.words.get(2).filter(|_| is_extended)?, *inst.words.get(3)?);
    let set = *module.sets.get(set)?;
    matches!(set, ExtendedSet::OpenClDebug | ExtendedSet::ShaderDebug)
        .then(|| (set, number, &inst.words[HEAD..]))
}

/// Returns the name that an instruction of debug information has as its first operand.
fn name_of(module: &SpirvModule<'_>, id: u32) -> Option<String> {
    let (_, _, operands) = debug_inst(module, module.debug.get(&id)?)?;
    module.strings.get(operands.first()?).filter(|name| (1..=LONGEST).contains(&name.len())).cloned()
}

/// Returns the names that debug information gives to ids, in the order of its instructions.
pub(crate) fn debug_names(module: &SpirvModule<'_>, insts: &[SpirvInst<'_>]) -> Vec<(u32, String)> {
    let mut names = Vec::new();
    for inst in insts {
        let Some((set, number, operands)) = debug_inst(module, inst) else { continue };
        let named = match (set, operands) {
            (_, &[variable, id, ..])
                if number == ShaderOp::DebugDeclare as u32 || number == ShaderOp::DebugValue as u32 =>
            {
                Some((id, variable))
            }
            (ExtendedSet::ShaderDebug, &[function, id, ..])
                if number == ShaderOp::DebugFunctionDefinition as u32 =>
            {
                Some((id, function))
            }
            (ExtendedSet::OpenClDebug, operands) if number == OpenClOp::DebugFunction as u32 => {
                operands.get(DEFINED_FUNCTION).copied().zip(inst.words.get(1).copied())
            }
            _ => None,
        };
        names.extend(named.and_then(|(id, of)| Some((id, name_of(module, of)?))));
    }
    names
}
