//! Support of each feature of SPIR-V, as the reader treats it.
//!
//! Instructions are tried: a module with the instruction shows whether the lowering has a case for it, whatever its operands. Decorations,
//! execution modes and builtin variables are looked up in the tables that the reader uses.

use crate::binary::SpirvInst;
use crate::extended::has_extended;
use crate::function::{NO_LOWERING, has_builtin};
use crate::module::{has_no_result, is_annotation};
use crate::output::mode_use;
use crate::refusal::refusal;
use crate::types::SpirvTypes;
use crate::{SpirvOptions, UNSUPPORTED, lower};
use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, MAGIC_NUMBER, Op, OpenclStd100Op};

/// Support of a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeatureSupport {
    /// Lowered, or ignored since it asks for nothing.
    Done,
    /// Refused with this reason.
    Refused(&'static str),
    /// Neither.
    Missing,
}

impl FeatureSupport {
    fn of_name(name: &str) -> FeatureSupport {
        refusal(name).map_or(FeatureSupport::Missing, |(reason, _)| FeatureSupport::Refused(reason))
    }

    /// Finds the reason for a name in a text of diagnostics.
    fn of_text(text: &str, name: &str) -> FeatureSupport {
        match refusal(name) {
            _ if text.contains(NO_LOWERING) => FeatureSupport::Missing,
            Some((reason, _)) if text.contains(reason) => FeatureSupport::Refused(reason),
            _ => FeatureSupport::Done,
        }
    }
}

/// Ids of the module in [`tried`].
const VOID: u32 = 1;
const UINT: u32 = 2;
const SIGNATURE: u32 = 3;
const KERNEL: u32 = 4;
const THREE: u32 = 5;
const HEAD: u32 = 6;
const BODY: u32 = 7;
const USE: u32 = 8;
const LABEL: u32 = 9;
const BOUND: u32 = 10;

fn inst(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | op as u32);
    words.extend_from_slice(operands);
}

/// Returns a kernel with an instruction before the functions, one in its body, and a use of [`HEAD`].
fn tried(head: Option<(Op, &[u32])>, body: Option<(Op, &[u32])>) -> Vec<u8> {
    let mut words = vec![MAGIC_NUMBER, 0x0001_0600, 0, BOUND, 0];
    inst(&mut words, Op::MemoryModel, &[2, 2]);
    inst(&mut words, Op::EntryPoint, &[6, KERNEL, u32::from(b'k')]);
    inst(&mut words, Op::TypeVoid, &[VOID]);
    inst(&mut words, Op::TypeInt, &[UINT, 32, 0]);
    inst(&mut words, Op::TypeFunction, &[SIGNATURE, VOID]);
    inst(&mut words, Op::Constant, &[UINT, THREE, 3]);
    if let Some((op, operands)) = head {
        inst(&mut words, op, operands);
    }
    inst(&mut words, Op::Function, &[VOID, KERNEL, 0, SIGNATURE]);
    inst(&mut words, Op::Label, &[LABEL]);
    if let Some((op, operands)) = body {
        inst(&mut words, op, operands);
    }
    if head.is_some() {
        inst(&mut words, Op::CopyObject, &[UINT, USE, HEAD]);
    }
    inst(&mut words, Op::Return, &[]);
    inst(&mut words, Op::FunctionEnd, &[]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the error or the lowered text of a module; the text only where it has a refusal.
fn outcome(bytes: &[u8]) -> String {
    match lower(bytes, &SpirvOptions::default()) {
        Ok(text) if text.contains(UNSUPPORTED) => text,
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

/// Returns the support of an instruction.
pub fn instruction_support(op: Op) -> FeatureSupport {
    let name = format!("{op:?}");
    let is_structure = matches!(
        op,
        Op::Function
            | Op::FunctionParameter
            | Op::FunctionEnd
            | Op::Label
            | Op::Line
            | Op::NoLine
            | Op::TypeForwardPointer
            | Op::MemoryModel
            | Op::String
            | Op::ExtInstImport
    );
    if is_structure || is_annotation(op) {
        return FeatureSupport::Done;
    }
    if name.starts_with("Type") {
        let words = [HEAD, UINT, 3, 0, 0, 0, 0, 0];
        let inst = SpirvInst { op: Some(op), number: op as u32, at: 0, words: &words };
        let tried = SpirvTypes::default().add(&inst, op, |_| None, false);
        return tried.map_or_else(
            |error| FeatureSupport::of_text(&error.to_string(), &name),
            |()| FeatureSupport::Done,
        );
    }
    if name.contains("Constant") {
        return FeatureSupport::of_text(
            &outcome(&tried(Some((op, &[UINT, HEAD, THREE, THREE, THREE])), None)),
            &name,
        );
    }
    let operands: &[u32] = match has_no_result(op) {
        true => &[THREE; 8],
        false => &[UINT, BODY, THREE, THREE, THREE, THREE, THREE, THREE],
    };
    FeatureSupport::of_text(&outcome(&tried(None, Some((op, operands)))), &name)
}

/// Returns the support of an instruction of OpenCL.std.
pub fn extended_support(op: OpenclStd100Op) -> FeatureSupport {
    if has_extended(op) { FeatureSupport::Done } else { FeatureSupport::of_name(&format!("{op:?}")) }
}

/// Returns the support of an execution mode.
pub fn mode_support(mode: ExecutionMode) -> FeatureSupport {
    match mode_use(mode) {
        Some(_) => FeatureSupport::Done,
        None => FeatureSupport::of_name(&format!("{mode:?}")),
    }
}

/// Returns the support of a builtin variable.
pub fn builtin_support(builtin: BuiltIn) -> FeatureSupport {
    match has_builtin(builtin) {
        true => FeatureSupport::Done,
        false => FeatureSupport::of_name(&format!("{builtin:?}")),
    }
}

/// True for decorations that the lowering follows, or that ask for nothing.
pub(crate) fn is_known_decoration(kind: Decoration) -> bool {
    use Decoration::*;
    let is_followed = matches!(
        kind,
        SpecId
            | CPacked
            | BuiltIn
            | Restrict
            | Volatile
            | Constant
            | SaturatedConversion
            | FuncParamAttr
            | FPRoundingMode
            | FPFastMathMode
            | LinkageAttributes
            | Alignment
            | MaxByteOffset
            | NoSignedWrap
            | NoUnsignedWrap
            | NoContraction
    );
    // Promises that the lowering has no use for, and wishes for other devices.
    let is_hint = matches!(
        kind,
        RelaxedPrecision
            | Aliased
            | Coherent
            | NonWritable
            | NonReadable
            | Uniform
            | UniformId
            | AlignmentId
            | MaxByteOffsetId
            | UserSemantic
            | CounterBuffer
            | UserTypeGOOGLE
            | AliasScopeINTEL
            | NoAliasINTEL
            | FPMaxErrorDecorationINTEL
            | HostAccessINTEL
            | CacheControlLoadINTEL
            | CacheControlStoreINTEL
    );
    let name = format!("{kind:?}");
    is_followed || is_hint || name.ends_with("ALTERA") && !name.contains("Pipe")
}

/// Returns the support of a decoration.
pub fn decoration_support(kind: Decoration) -> FeatureSupport {
    match is_known_decoration(kind) {
        true => FeatureSupport::Done,
        false => FeatureSupport::of_name(&format!("{kind:?}")),
    }
}

/// Returns the support of a capability that allows types and operands, and no instruction, decoration, mode or builtin variable.
pub fn capability_support(capability: Capability) -> FeatureSupport {
    use Capability::*;
    let is_done = matches!(
        capability,
        Addresses
            | Linkage
            | Kernel
            | Vector16
            | Float16Buffer
            | Float16
            | Float64
            | Int64
            | Int64Atomics
            | ImageBasic
            | ImageReadWrite
            | LiteralSampler
            | Int16
            | Int8
            | GenericPointer
            | Sampled1D
            | Image1D
            | SampledBuffer
            | ImageBuffer
            | DotProductInputAll
            | DotProductInput4x8Bit
            | DotProductInput4x8BitPacked
            | BFloat16TypeKHR
            | OptNoneEXT
            | DebugInfoModuleINTEL
            | FPFastMathModeINTEL
            | UniformDecoration
    );
    match is_done {
        true => FeatureSupport::Done,
        false => FeatureSupport::of_name(&format!("{capability:?}")),
    }
}
