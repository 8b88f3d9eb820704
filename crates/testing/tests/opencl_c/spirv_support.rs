//! SPIR-V: each instruction of kernels is done or refused by name, and a done one is taken by a module.

use heddle_builtins::compile_spirv;
use heddle_spirv::{FeatureSupport, SpirvOptions, UNSUPPORTED, instruction_support, lower};
use heddle_testing::spirv_coverage::{SpirvCoverage, instructions};
use rspirv::grammar::{Instruction, OperandKind, OperandQuantifier};
use spirv::Op;
use std::collections::BTreeSet;

/// Assembler of words.
#[derive(Default)]
struct Words {
    words: Vec<u32>,
    ops: BTreeSet<u32>,
}

impl Words {
    fn add(&mut self, op: Op, operands: &[u32]) {
        self.ops.insert(op as u32);
        self.words.push((operands.len() as u32 + 1) << 16 | op as u32);
        self.words.extend_from_slice(operands);
    }
}

/// Ids of types; those of [`VALUES`] are parameters of the function with the instruction.
const VOID: u32 = 1;
const BOOL: u32 = 2;
const CHAR: u32 = 3;
const SHORT: u32 = 4;
const INT: u32 = 5;
const LONG: u32 = 6;
const HALF: u32 = 7;
const FLOAT: u32 = 8;
const BOOL4: u32 = 10;
const INT2: u32 = 11;
const INT4: u32 = 12;
const FLOAT4: u32 = 13;
const CHAR4: u32 = 14;
const PAIR: u32 = 15;
const PRIVATE: u32 = 16;
const GLOBAL: u32 = 17;
const LOCAL: u32 = 18;
const GENERIC: u32 = 19;
const GLOBAL_FLOAT: u32 = 20;
const EVENT: u32 = 21;
const EVENTS: u32 = 22;
const READ_IMAGE: u32 = 23;
const WRITE_IMAGE: u32 = 24;
const SAMPLER: u32 = 25;
const SAMPLED: u32 = 26;
const UNTYPED: u32 = 27;
const FLOATS: u32 = 28;
const VALUES: [u32; 27] = [
    INT,
    FLOAT,
    INT4,
    BOOL,
    GLOBAL,
    LONG,
    CHAR,
    SHORT,
    HALF,
    9,
    BOOL4,
    INT2,
    FLOAT4,
    CHAR4,
    PAIR,
    PRIVATE,
    LOCAL,
    GENERIC,
    GLOBAL_FLOAT,
    EVENT,
    EVENTS,
    READ_IMAGE,
    WRITE_IMAGE,
    SAMPLER,
    SAMPLED,
    UNTYPED,
    FLOATS,
];
/// Fewer values, for instructions of three operands and more.
const FEW: [u32; 9] = [INT, FLOAT, INT4, BOOL, GLOBAL, LONG, GLOBAL_FLOAT, CHAR4, PRIVATE];
const SIGNATURE: u32 = 40;
const KERNEL_SIGNATURE: u32 = 41;
/// The constant `n` has the id `CONSTANT + n`.
const CONSTANT: u32 = 50;
const OPENCL: u32 = 70;
const FUNCTION: u32 = 80;
const KERNEL: u32 = 81;
const RESULT: u32 = 90;
const SIZE: u32 = 400;

fn value(ty: u32) -> u32 {
    100 + ty
}

fn head() -> Words {
    let mut it = Words { words: vec![spirv::MAGIC_NUMBER, 0x0001_0600, 0, SIZE, 0], ops: BTreeSet::new() };
    it.add(Op::ExtInstImport, &[OPENCL, 0x6e65_704f, 0x732e_4c43, 0x0000_6474]);
    it.add(Op::MemoryModel, &[2, 2]);
    it.add(Op::EntryPoint, &[6, KERNEL, u32::from(b'k')]);
    it.add(Op::TypeVoid, &[VOID]);
    it.add(Op::TypeBool, &[BOOL]);
    for (id, bits) in [(CHAR, 8), (SHORT, 16), (INT, 32), (LONG, 64)] {
        it.add(Op::TypeInt, &[id, bits, 0]);
    }
    for (id, bits) in [(HALF, 16), (FLOAT, 32), (9, 64)] {
        it.add(Op::TypeFloat, &[id, bits]);
    }
    for (id, element, count) in
        [(BOOL4, BOOL, 4), (INT2, INT, 2), (INT4, INT, 4), (FLOAT4, FLOAT, 4), (CHAR4, CHAR, 4)]
    {
        it.add(Op::TypeVector, &[id, element, count]);
    }
    it.add(Op::TypeStruct, &[PAIR, INT, INT]);
    for (id, class, to) in [
        (PRIVATE, 7, INT),
        (GLOBAL, 5, INT),
        (LOCAL, 4, INT),
        (GENERIC, 8, INT),
        (GLOBAL_FLOAT, 5, FLOAT),
        (FLOATS, 4, FLOAT),
    ] {
        it.add(Op::TypePointer, &[id, class, to]);
    }
    it.add(Op::TypeEvent, &[EVENT]);
    it.add(Op::TypePointer, &[EVENTS, 7, EVENT]);
    it.add(Op::TypeImage, &[READ_IMAGE, VOID, 1, 0, 0, 0, 0, 0, 0]);
    it.add(Op::TypeImage, &[WRITE_IMAGE, VOID, 1, 0, 0, 0, 0, 0, 1]);
    it.add(Op::TypeSampler, &[SAMPLER]);
    it.add(Op::TypeSampledImage, &[SAMPLED, READ_IMAGE]);
    it.add(Op::TypeUntypedPointerKHR, &[UNTYPED, 5]);
    it.add(Op::TypeFunction, &[&[SIGNATURE, VOID][..], &VALUES].concat());
    it.add(Op::TypeFunction, &[KERNEL_SIGNATURE, VOID]);
    for number in 0..9 {
        it.add(Op::Constant, &[INT, CONSTANT + number, number]);
    }
    it
}

/// Module with a function that has one instruction of its own, and an empty kernel.
fn module(op: Op, operands: &[u32]) -> Vec<u8> {
    let mut it = head();
    it.add(Op::Function, &[VOID, FUNCTION, 0, SIGNATURE]);
    for ty in VALUES {
        it.add(Op::FunctionParameter, &[ty, value(ty)]);
    }
    it.add(Op::Label, &[82]);
    it.add(op, operands);
    it.add(Op::Return, &[]);
    it.add(Op::FunctionEnd, &[]);
    end(it)
}

/// Adds an empty kernel.
fn end(mut it: Words) -> Vec<u8> {
    it.add(Op::Function, &[VOID, KERNEL, 0, KERNEL_SIGNATURE]);
    it.add(Op::Label, &[83]);
    it.add(Op::Return, &[]);
    it.add(Op::FunctionEnd, &[]);
    it.words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn is_taken(bytes: &[u8]) -> bool {
    lower(bytes, &SpirvOptions::default()).is_ok_and(|text| !text.contains(UNSUPPORTED))
}

/// Operand of an attempt: fixed words, a result type, or any value.
#[derive(Clone, Copy)]
enum Slot {
    Type,
    Fixed(u32),
    Value,
}

/// Shapes of an instruction's operands: scopes and literals as given, optional operands absent, or once.
fn shapes(inst: &Instruction<'_>) -> Vec<Vec<Slot>> {
    let mut found = Vec::new();
    for (scope, literal, extra) in
        [(3, 0, 0), (2, 0, 0), (3, 3, 0), (3, 1, 0), (3, 0, 1), (3, 0, 2), (3, 1, 1), (2, 5, 0), (2, 7, 0)]
    {
        let mut slots = Vec::new();
        for operand in inst.operands {
            let slot = match operand.kind {
                OperandKind::IdResultType => Slot::Type,
                OperandKind::IdResult => Slot::Fixed(RESULT),
                OperandKind::IdScope => Slot::Fixed(CONSTANT + scope),
                OperandKind::IdMemorySemantics => Slot::Fixed(CONSTANT),
                OperandKind::IdRef => Slot::Value,
                _ => Slot::Fixed(literal),
            };
            let count = match operand.quantifier {
                OperandQuantifier::One => 1,
                _ if operand.kind == OperandKind::MemoryAccess => 0,
                _ => extra,
            };
            slots.extend(std::iter::repeat_n(slot, count));
        }
        found.push(slots);
    }
    found
}

fn filled(slots: &[Slot], ty: u32, values: &[u32]) -> Vec<u32> {
    let mut values = values.iter();
    slots
        .iter()
        .map(|slot| match slot {
            Slot::Type => ty,
            Slot::Fixed(word) => *word,
            Slot::Value => values.next().copied().unwrap_or(0),
        })
        .collect()
}

/// Finds operands with which an instruction is taken.
fn find(inst: &Instruction<'_>) -> Option<Vec<u8>> {
    let kinds = |types: &[u32]| types.iter().map(|&ty| value(ty)).collect::<Vec<u32>>();
    // Instructions of several kinds of operands.
    let pairs = [Op::IAddCarry, Op::ISubBorrow, Op::UMulExtended, Op::SMulExtended];
    let given = match inst.opcode {
        Op::GroupAsyncCopy => {
            Some([&[EVENT, RESULT, CONSTANT + 2][..], &kinds(&[LOCAL, GLOBAL, LONG, LONG, EVENT])].concat())
        }
        op if pairs.contains(&op) => Some([&[PAIR, RESULT][..], &kinds(&[INT, INT])].concat()),
        Op::ImageWrite => Some(kinds(&[WRITE_IMAGE, INT2, FLOAT4])),
        Op::UntypedPtrAccessChainKHR | Op::UntypedInBoundsPtrAccessChainKHR => {
            Some([&[UNTYPED, RESULT, INT][..], &kinds(&[UNTYPED, LONG])].concat())
        }
        _ => None,
    };
    if let Some(operands) = given {
        return Some(module(inst.opcode, &operands)).filter(|bytes| is_taken(bytes));
    }
    for slots in shapes(inst) {
        let count = slots.iter().filter(|slot| matches!(slot, Slot::Value)).count();
        let results: &[u32] =
            if slots.iter().any(|slot| matches!(slot, Slot::Type)) { &VALUES } else { &[0] };
        for &ty in results {
            for of in VALUES {
                let bytes = module(inst.opcode, &filled(&slots, ty, &vec![value(of); count]));
                if is_taken(&bytes) {
                    return Some(bytes);
                }
            }
        }
        let pool: Vec<u32> = match count {
            0 | 1 => continue,
            2 => VALUES.iter().map(|&ty| value(ty)).chain([VOID, INT, CONSTANT + 1]).collect(),
            3 => FEW.iter().map(|&ty| value(ty)).chain([CONSTANT + 4]).collect(),
            _ => [INT, GLOBAL, FLOAT].iter().map(|&ty| value(ty)).chain([CONSTANT + 4]).collect(),
        };
        for &ty in results.iter().filter(|ty| count == 2 || **ty == 0 || FEW.contains(ty)) {
            for number in 0..pool.len().pow(count.min(5) as u32) {
                let pick = |place: usize| pool[number / pool.len().pow(place as u32) % pool.len()];
                let values: Vec<u32> = (0..count).map(pick).collect();
                let bytes = module(inst.opcode, &filled(&slots, ty, &values));
                if is_taken(&bytes) {
                    return Some(bytes);
                }
            }
        }
    }
    None
}

/// Module with the instructions that stand before functions, make blocks or need each other.
fn written() -> (Vec<u8>, BTreeSet<u32>) {
    use Op::*;
    let mut it = head();
    let head: &[(Op, &[u32])] = &[
        (Source, &[3, 300]),
        (SourceContinued, &[0]),
        (SourceExtension, &[0]),
        (Extension, &[0]),
        (ModuleProcessed, &[0]),
        (Capability, &[6]),
        (String, &[200, 0x6c63_2e61, 0]),
        (Name, &[INT, 0x0074_6e69]),
        (MemberName, &[PAIR, 0, 0x78]),
        (Decorate, &[201, 26]),
        (MemberDecorate, &[PAIR, 0, 26]),
        (DecorationGroup, &[202]),
        (GroupDecorate, &[202, 203]),
        (GroupMemberDecorate, &[202, PAIR, 0]),
        (DecorateId, &[204, 46, CONSTANT + 4]),
        (DecorateString, &[205, 5635, 0x61]),
        (MemberDecorateString, &[PAIR, 0, 5635, 0x61]),
        (ExecutionMode, &[KERNEL, 31]),
        (ExecutionModeId, &[KERNEL, 39, CONSTANT + 4, CONSTANT + 1, CONSTANT + 1]),
        (AliasDomainDeclINTEL, &[206]),
        (AliasScopeDeclINTEL, &[207, 206]),
        (AliasScopeListDeclINTEL, &[208, 207]),
        (TypeForwardPointer, &[210, 5]),
        (TypeStruct, &[211, 210]),
        (TypePointer, &[210, 5, 211]),
        (TypeArray, &[212, INT, CONSTANT + 4]),
        (TypeOpaque, &[213, 0x61]),
        (TypeDeviceEvent, &[214]),
        (TypeReserveId, &[215]),
        (TypeQueue, &[216]),
        (TypePipe, &[217, 0]),
        (TypePipeStorage, &[218]),
        (TypePointer, &[219, 5, 212]),
        (TypeUntypedPointerKHR, &[220, 7]),
        (TypeFunction, &[221, INT, INT]),
        (TypeFunction, &[222, VOID, READ_IMAGE, SAMPLER]),
        (Constant, &[FLOAT, 246, 0]),
        (ConstantSizeOfEXT, &[INT, 245, INT]),
        (ConstantTrue, &[BOOL, 230]),
        (ConstantFalse, &[BOOL, 231]),
        (ConstantComposite, &[INT2, 232, CONSTANT, CONSTANT]),
        (ConstantNull, &[212, 233]),
        (ConstantSampler, &[SAMPLER, 234, 0, 0, 0]),
        (SpecConstantTrue, &[BOOL, 235]),
        (SpecConstantFalse, &[BOOL, 236]),
        (SpecConstant, &[INT, 237, 7]),
        (SpecConstantComposite, &[INT2, 238, 237, 237]),
        (SpecConstantOp, &[INT, 239, 128, 237, 237]),
        (ConstantCompositeReplicateEXT, &[212, 240, CONSTANT]),
        (SpecConstantCompositeReplicateEXT, &[212, 241, 237]),
        (Undef, &[INT, 242]),
        (Variable, &[219, 243, 5, 233]),
        (Nop, &[]),
        (NoLine, &[]),
    ];
    for &(op, operands) in head {
        it.add(op, operands);
    }
    it.add(ExtInst, &[VOID, 244, OPENCL, 184, value(GLOBAL), CONSTANT]);
    let body: &[(Op, &[u32])] = &[
        (Function, &[INT, 250, 0, 221]),
        (FunctionParameter, &[INT, 251]),
        (Label, &[252]),
        (Line, &[200, 3, 4]),
        (Variable, &[PRIVATE, 253, 7, CONSTANT + 1]),
        (UntypedVariableKHR, &[220, 254, 7, INT]),
        (LifetimeStart, &[253, 4]),
        (LoopControlINTEL, &[0]),
        (SelectionMerge, &[256, 0]),
        (Switch, &[251, 256, 1, 255]),
        (Label, &[255]),
        (LoopMerge, &[256, 255, 0]),
        (BranchConditional, &[230, 256, 255]),
        (Label, &[256]),
        (Phi, &[INT, 257, 251, 252, CONSTANT, 255]),
        (FunctionCall, &[INT, 258, 250, 257]),
        (ExtInst, &[INT, 259, OPENCL, 141, 258]),
        (ExtInstWithForwardRefsKHR, &[INT, 260, OPENCL, 141, 259]),
        (LifetimeStop, &[253, 4]),
        (Branch, &[262]),
        (Label, &[262]),
        (BranchConditional, &[231, 263, 264]),
        (Label, &[263]),
        (ReturnValue, &[260]),
        (Label, &[264]),
        (Unreachable, &[]),
        (FunctionEnd, &[]),
        (Function, &[VOID, 270, 0, 222]),
        (FunctionParameter, &[READ_IMAGE, 271]),
        (FunctionParameter, &[SAMPLER, 272]),
        (Label, &[273]),
        (SampledImage, &[SAMPLED, 274, 271, 272]),
        (ImageSampleExplicitLod, &[FLOAT4, 275, 274, 232, 2, 246]),
        (Image, &[READ_IMAGE, 276, 274]),
        (Return, &[]),
        (FunctionEnd, &[]),
    ];
    for &(op, operands) in body {
        it.add(op, operands);
    }
    let ops = it.ops.clone();
    (end(it), ops)
}

#[test]
fn no_feature_is_missing() {
    let coverage = SpirvCoverage::new();
    let missing: Vec<&str> = coverage.missing().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let done = |chapter: &str| {
        let list = coverage.chapter(chapter);
        list.iter().filter(|it| it.support == FeatureSupport::Done).count()
    };
    assert!(done("instructions") > 320 && done("OpenCL.std") == 162 && done("capabilities") > 60);
}

#[test]
fn each_done_instruction_is_taken() {
    let (bytes, mut known) = written();
    let text = lower(&bytes, &SpirvOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!text.contains(UNSUPPORTED), "{text}");
    let mut never = Vec::new();
    let mut modules = vec![bytes];
    for inst in instructions().filter(|it| instruction_support(it.opcode) == FeatureSupport::Done) {
        if known.contains(&(inst.opcode as u32)) {
            continue;
        }
        match find(inst) {
            Some(bytes) => {
                known.insert(inst.opcode as u32);
                modules.push(bytes);
            }
            None => never.push(inst.opname),
        }
    }
    assert!(never.is_empty(), "{} instructions are never taken: {never:?}", never.len());
    for bytes in modules {
        let program = compile_spirv(&bytes, "written.spv", &SpirvOptions::default(), &[]);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        assert!(program.refused.is_empty(), "{}", program.refused[0]);
    }
}

#[test]
fn refused_instructions_name_their_reason() {
    let mut count = 0;
    for inst in instructions() {
        let FeatureSupport::Refused(reason) = instruction_support(inst.opcode) else { continue };
        if inst.opname.starts_with("Type") || inst.opname.contains("Constant") {
            continue;
        }
        let words = [INT, RESULT, CONSTANT + 3, CONSTANT + 3, CONSTANT + 3, CONSTANT + 3];
        let found = match lower(&module(inst.opcode, &words), &SpirvOptions::default()) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        assert!(found.contains(reason), "{}: {reason}", inst.opname);
        count += 1;
    }
    assert!(count > 200, "only {count}");
}
