//! SPIR-V: lines and names of both sets of debug information, in modules without `OpName`.

use heddle_builtins::compile_spirv;
use heddle_spirv::{SpirvOptions, lower};
use spirv::{NonsemanticShaderDebuginfo100Op as ShaderOp, Op, OpenclDebuginfo100Op as OpenClOp};

const VOID: u32 = 1;
const INT: u32 = 2;
const POINTER: u32 = 3;
const SIGNATURE: u32 = 4;
const SEVEN: u32 = 5;
const THREE: u32 = 6;
const FILE: u32 = 7;
const FUNCTION_NAME: u32 = 8;
const VARIABLE_NAME: u32 = 9;
const SET: u32 = 10;
const SOURCE: u32 = 11;
const FUNCTION: u32 = 12;
const VARIABLE: u32 = 13;
const KERNEL: u32 = 14;
const PARAM: u32 = 15;
const LABEL: u32 = 16;
/// First of the ids for results that nothing uses.
const FREE: u32 = 17;
const TOP: u32 = 30;

fn put(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | op as u32);
    words.extend_from_slice(operands);
}

/// Adds an instruction whose last operand is a text.
fn put_text(words: &mut Vec<u32>, op: Op, operands: &[u32], text: &str) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() + 4) & !3, 0);
    let text = bytes.as_chunks::<4>().0.iter().map(|chunk| u32::from_le_bytes(*chunk));
    put(words, op, &operands.iter().copied().chain(text).collect::<Vec<u32>>());
}

/// Returns a kernel that stores 7 to its parameter, with these instructions of debug information before and in it.
fn module(set: &str, head: &[&[u32]], body: &[(Op, &[u32])], name: &str) -> Vec<u8> {
    let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0600, 0, TOP, 0];
    let it = &mut words;
    put(it, Op::Capability, &[6]);
    put_text(it, Op::ExtInstImport, &[SET], set);
    put(it, Op::MemoryModel, &[2, 2]);
    put(it, Op::EntryPoint, &[6, KERNEL, u32::from(b'k')]);
    for (id, text) in [(FILE, "k.cl"), (FUNCTION_NAME, name), (VARIABLE_NAME, "result")] {
        put_text(it, Op::String, &[id], text);
    }
    put(it, Op::TypeVoid, &[VOID]);
    put(it, Op::TypeInt, &[INT, 32, 0]);
    put(it, Op::TypePointer, &[POINTER, 5, INT]);
    put(it, Op::TypeFunction, &[SIGNATURE, VOID, POINTER]);
    put(it, Op::Constant, &[INT, SEVEN, 7]);
    put(it, Op::Constant, &[INT, THREE, 3]);
    head.iter().for_each(|operands| put(it, Op::ExtInst, operands));
    put(it, Op::Function, &[VOID, KERNEL, 0, SIGNATURE]);
    put(it, Op::FunctionParameter, &[POINTER, PARAM]);
    put(it, Op::Label, &[LABEL]);
    body.iter().for_each(|(op, operands)| put(it, *op, operands));
    put(it, Op::Store, &[PARAM, SEVEN]);
    put(it, Op::Return, &[]);
    put(it, Op::FunctionEnd, &[]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn shader_module(name: &str) -> Vec<u8> {
    let inst = |result: u32, op: ShaderOp, operands: [u32; 2]| {
        [VOID, result, SET, op as u32, operands[0], operands[1]]
    };
    let line = [VOID, FREE + 2, SET, ShaderOp::DebugLine as u32, SOURCE, SEVEN, SEVEN, THREE, THREE];
    module(
        "NonSemantic.Shader.DebugInfo.100",
        &[
            &inst(SOURCE, ShaderOp::DebugSource, [FILE, FILE]),
            &inst(FUNCTION, ShaderOp::DebugFunction, [FUNCTION_NAME, FILE]),
            &inst(VARIABLE, ShaderOp::DebugLocalVariable, [VARIABLE_NAME, FILE]),
        ],
        &[
            (Op::ExtInst, &inst(FREE, ShaderOp::DebugFunctionDefinition, [FUNCTION, KERNEL])),
            (Op::ExtInst, &inst(FREE + 1, ShaderOp::DebugDeclare, [VARIABLE, PARAM])),
            (Op::ExtInst, &line),
        ],
        name,
    )
}

fn opencl_module() -> Vec<u8> {
    let function = [
        VOID,
        FUNCTION,
        SET,
        OpenClOp::DebugFunction as u32,
        FUNCTION_NAME,
        VOID,
        SOURCE,
        7,
        3,
        SOURCE,
        FUNCTION_NAME,
        0,
        7,
        KERNEL,
    ];
    module(
        "OpenCL.DebugInfo.100",
        &[
            &[VOID, SOURCE, SET, OpenClOp::DebugSource as u32, FILE],
            &function,
            &[VOID, VARIABLE, SET, OpenClOp::DebugLocalVariable as u32, VARIABLE_NAME],
        ],
        &[
            (Op::ExtInst, &[VOID, FREE, SET, OpenClOp::DebugDeclare as u32, VARIABLE, PARAM]),
            (Op::Line, &[FILE, 7, 3]),
        ],
        "total",
    )
}

#[test]
fn debug_information_names_files_lines_functions_and_parameters() {
    for bytes in [shader_module("total"), opencl_module()] {
        let text = lower(&bytes, &SpirvOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        for part in ["DISubprogram(name: \"total\"", "!kernel_arg_name !{!\"result\"}"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        let program = compile_spirv(&bytes, "test.spv", &SpirvOptions::default(), &[]);
        let text = program.unwrap_or_else(|error| panic!("{error}")).module.to_string();
        assert!(text.contains("file0 = \"k.cl\"") && text.contains("file0:7:3"), "{text}");
    }
}

/// Names that each instruction may repeat are bounded.
#[test]
fn long_names_of_debug_information_are_left_out() {
    let text = |length: usize| {
        let bytes = shader_module(&"n".repeat(length));
        lower(&bytes, &SpirvOptions::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    assert!(text(255).contains(&"n".repeat(255)) && !text(256).contains(&"n".repeat(256)));
}
