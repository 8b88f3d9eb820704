//! SPIR-V: instructions that clang does not write, on the oracle.

use heddle_builtins::compile_spirv;
use heddle_runs::line::RunLine;
use heddle_spirv::SpirvOptions;
use spirv::{Op, OpenclStd100Op};

const VOID: u32 = 1;
const SHORT: u32 = 2;
const INT: u32 = 3;
const LONG: u32 = 4;
const HALF: u32 = 5;
const FLOAT: u32 = 6;
const INT2: u32 = 7;
const LONG3: u32 = 8;
const FIRST_PAIR: u32 = 9;
const SECOND_PAIR: u32 = 10;
const FIRST_NEST: u32 = 11;
const SECOND_NEST: u32 = 12;
const ITEMS: u32 = 13;
const TEXEL: u32 = 14;
const IMAGE_READ: u32 = 15;
const IMAGE_WRITTEN: u32 = 16;
const SAMPLER: u32 = 17;
const SAMPLED: u32 = 18;
const OPENCL: u32 = 19;
/// Type of the pointers to a type.
const POINTERS: u32 = 20;
const SIGNATURE: u32 = 40;
const KERNEL: u32 = 41;
const FIRST: u32 = 42;
const SECOND: u32 = 43;
const ITEM_VARIABLE: u32 = 44;
const LABEL: u32 = 45;
const RESULT: u32 = 50;
/// The constant `n` of 32 bits has the id `CONSTANT + n`.
const CONSTANT: u32 = 70;
const ZERO_FLOAT: u32 = 80;
const ZEROS: u32 = 81;
const SAMPLER_VALUE: u32 = 82;
const NEST_VALUE: u32 = 83;
const PAIR_VALUE: u32 = 84;
const TOP: u32 = 100;

fn put(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    words.push((operands.len() as u32 + 1) << 16 | op as u32);
    words.extend_from_slice(operands);
}

/// Returns a kernel of two parameters with these instructions; one decoration precedes the types.
fn module(decoration: &[u32], params: [u32; 2], body: &[(Op, &[u32])]) -> Vec<u8> {
    let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0600, 0, TOP, 0];
    let it = &mut words;
    let [first, second, third] = [*b"Open", *b"CL.s", *b"td\0\0"].map(u32::from_le_bytes);
    put(it, Op::ExtInstImport, &[OPENCL, first, second, third]);
    put(it, Op::MemoryModel, &[2, 2]);
    put(it, Op::EntryPoint, &[6, KERNEL, u32::from(b'k'), ITEM_VARIABLE]);
    put(it, Op::Decorate, &[ITEM_VARIABLE, 11, 28]);
    if !decoration.is_empty() {
        put(it, Op::Decorate, decoration);
    }
    put(it, Op::TypeVoid, &[VOID]);
    for (id, bits) in [(SHORT, 16), (INT, 32), (LONG, 64)] {
        put(it, Op::TypeInt, &[id, bits, 0]);
    }
    put(it, Op::TypeFloat, &[HALF, 16]);
    put(it, Op::TypeFloat, &[FLOAT, 32]);
    put(it, Op::TypeVector, &[INT2, INT, 2]);
    put(it, Op::TypeVector, &[LONG3, LONG, 3]);
    put(it, Op::TypeVector, &[TEXEL, FLOAT, 4]);
    for (pair, nest) in [(FIRST_PAIR, FIRST_NEST), (SECOND_PAIR, SECOND_NEST)] {
        put(it, Op::TypeStruct, &[pair, INT, FLOAT]);
        put(it, Op::TypeStruct, &[nest, INT, pair]);
    }
    put(it, Op::TypePointer, &[ITEMS, 1, LONG3]);
    put(it, Op::TypeImage, &[IMAGE_READ, VOID, 1, 0, 0, 0, 0, 0, 0]);
    put(it, Op::TypeImage, &[IMAGE_WRITTEN, VOID, 1, 0, 0, 0, 0, 0, 1]);
    put(it, Op::TypeSampler, &[SAMPLER]);
    put(it, Op::TypeSampledImage, &[SAMPLED, IMAGE_READ]);
    for ty in [SHORT, INT, LONG, HALF, FLOAT, INT2, SECOND_NEST] {
        put(it, Op::TypePointer, &[POINTERS + ty, 5, ty]);
    }
    for number in 0..8 {
        put(it, Op::Constant, &[INT, CONSTANT + number, number]);
    }
    put(it, Op::Constant, &[FLOAT, ZERO_FLOAT, 0]);
    put(it, Op::ConstantNull, &[INT2, ZEROS]);
    put(it, Op::ConstantSampler, &[SAMPLER, SAMPLER_VALUE, 0, 0, 0]);
    put(it, Op::ConstantComposite, &[FIRST_PAIR, PAIR_VALUE, CONSTANT + 7, ZERO_FLOAT]);
    put(it, Op::ConstantComposite, &[FIRST_NEST, NEST_VALUE, CONSTANT + 5, PAIR_VALUE]);
    put(it, Op::TypeFunction, &[SIGNATURE, VOID, params[0], params[1]]);
    put(it, Op::Variable, &[ITEMS, ITEM_VARIABLE, 1]);
    put(it, Op::Function, &[VOID, KERNEL, 0, SIGNATURE]);
    put(it, Op::FunctionParameter, &[params[0], FIRST]);
    put(it, Op::FunctionParameter, &[params[1], SECOND]);
    put(it, Op::Label, &[LABEL]);
    for (op, operands) in body {
        put(it, *op, operands);
    }
    put(it, Op::Return, &[]);
    put(it, Op::FunctionEnd, &[]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Compiles a module, and runs its kernel as the line says.
fn check(bytes: &[u8], line: &str) {
    let program = compile_spirv(bytes, "test.spv", &SpirvOptions::default(), &[]);
    let program = program.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(program.refused.is_empty(), "{line}: {}", program.refused[0]);
    let found = RunLine::parse(line).and_then(|run| {
        let ran = run.run(&program.module, &run.options)?;
        run.check(&program.module, &ran)
    });
    match found {
        Ok(None) => {}
        Ok(Some(found)) => panic!("{line}\n  gives {found}"),
        Err(error) => panic!("{line}\n  {error}"),
    }
}

/// Instructions that load the work-item's element, convert it, and store the result.
fn each_item(op: Op, from: u32, to: u32) -> Vec<(Op, Vec<u32>)> {
    let id = |index: u32| RESULT + 1 + index;
    vec![
        (Op::Load, vec![LONG3, id(0), ITEM_VARIABLE]),
        (Op::CompositeExtract, vec![LONG, id(1), id(0), 0]),
        (Op::InBoundsPtrAccessChain, vec![POINTERS + from, id(2), FIRST, id(1)]),
        (Op::Load, vec![from, id(3), id(2)]),
        (op, vec![to, RESULT, id(3)]),
        (Op::InBoundsPtrAccessChain, vec![POINTERS + to, id(4), SECOND, id(1)]),
        (Op::Store, vec![id(4), RESULT]),
    ]
}

fn converted(op: Op, from: u32, to: u32, mode: u32) -> Vec<u8> {
    let body = each_item(op, from, to);
    let body: Vec<(Op, &[u32])> = body.iter().map(|(op, operands)| (*op, &operands[..])).collect();
    module(&[RESULT, 39, mode], [POINTERS + from, POINTERS + to], &body)
}

#[test]
fn halves_are_converted_by_rounding_modes() {
    // 2.5, 3.5, -2.5, 1.25 by RTE, RTZ, RTP, RTN.
    let expected = [[2, 4, -2, 1], [2, 3, -2, 1], [3, 4, -2, 2], [2, 3, -3, 1]];
    for (mode, expected) in expected.into_iter().enumerate() {
        let bytes = converted(Op::ConvertFToS, HALF, SHORT, mode as u32);
        let line = format!(
            "@k(&a, &o) lanes=4 local=4 with a: i16 [16640, 17152, -16128, 15616]; o: i16 zero 4 -> o: {expected:?}"
        );
        check(&bytes, &line);
    }
    // 1 + 2^-11 is between the halves 1 and 1 + 2^-10.
    let expected = [[15360, -17408], [15360, -17408], [15361, -17408], [15360, -17407]];
    for (mode, expected) in expected.into_iter().enumerate() {
        let bytes = converted(Op::FConvert, FLOAT, HALF, mode as u32);
        let line = format!(
            "@k(&a, &o) lanes=2 local=2 with a: f32 [1.00048828125, -1.00048828125]; o: i16 zero 2 -> o: {expected:?}"
        );
        check(&bytes, &line);
    }
}

#[test]
fn logical_copies_take_parts_of_equal_types() {
    let body: &[(Op, &[u32])] =
        &[(Op::CopyLogical, &[SECOND_NEST, RESULT, NEST_VALUE]), (Op::Store, &[FIRST, RESULT])];
    let bytes = module(&[], [POINTERS + SECOND_NEST, POINTERS + INT], body);
    check(&bytes, "@k(&o, &o) lanes=1 local=1 with o: i32 [9, 9, 9] -> o: [5, 7, 0]");
    // Parts differ: a vector is no structure.
    let body: &[(Op, &[u32])] = &[(Op::CopyLogical, &[SECOND_NEST, RESULT, ZEROS])];
    let bytes = module(&[], [POINTERS + SECOND_NEST, POINTERS + INT], body);
    let Err(error) = compile_spirv(&bytes, "test.spv", &SpirvOptions::default(), &[]) else {
        panic!("it is invalid");
    };
    assert!(error.to_string().contains("has other parts"), "{error}");
}

#[test]
fn pointers_are_vectors_of_their_bits() {
    let id = |index: u32| RESULT + index;
    let body: &[(Op, &[u32])] = &[
        (Op::Bitcast, &[INT2, id(0), FIRST]),
        (Op::Bitcast, &[LONG, id(1), FIRST]),
        (Op::Bitcast, &[LONG, id(2), id(0)]),
        (Op::ISub, &[LONG, id(3), id(1), id(2)]),
        (Op::Store, &[SECOND, id(3)]),
        (Op::Bitcast, &[POINTERS + INT, id(4), id(0)]),
        (Op::Store, &[id(4), CONSTANT + 6]),
    ];
    let bytes = module(&[], [POINTERS + INT, POINTERS + LONG], body);
    check(&bytes, "@k(&a, &o) lanes=1 local=1 with a: i32 [3]; o: i64 [5] -> a: [6]; o: [0]");
}

#[test]
fn accesses_of_images_may_be_nontemporal() {
    let id = |index: u32| RESULT + index;
    let body: &[(Op, &[u32])] = &[
        (Op::SampledImage, &[SAMPLED, id(0), FIRST, SAMPLER_VALUE]),
        (Op::ImageSampleExplicitLod, &[TEXEL, id(1), id(0), ZEROS, 0x4002, ZERO_FLOAT]),
        (Op::ImageWrite, &[SECOND, ZEROS, id(1), 0x4000]),
    ];
    let program = compile_spirv(
        &module(&[], [IMAGE_READ, IMAGE_WRITTEN], body),
        "test.spv",
        &SpirvOptions::default(),
        &[],
    );
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    assert!(program.refused.is_empty(), "{}", program.refused[0]);
}

/// Instructions with their operands.
type InstructionList<'a> = &'a [(Op, &'a [u32])];

/// Returns a kernel whose first block leads to two others, which compute `RESULT` and `RESULT + 1` and meet. `last` is there.
fn diamond(last: InstructionList<'_>) -> Vec<u8> {
    const ONE: u32 = LABEL + 1;
    const OTHER: u32 = LABEL + 2;
    const MEET: u32 = LABEL + 3;
    let mut body: Vec<(Op, &[u32])> = vec![
        (Op::Switch, &[CONSTANT + 1, ONE, 0, OTHER]),
        (Op::Label, &[ONE]),
        (Op::IAdd, &[INT, RESULT, CONSTANT + 2, CONSTANT + 3]),
        (Op::Branch, &[MEET]),
        (Op::Label, &[OTHER]),
        (Op::IAdd, &[INT, RESULT + 1, CONSTANT + 4, CONSTANT + 5]),
        (Op::Branch, &[MEET]),
        (Op::Label, &[MEET]),
    ];
    body.extend_from_slice(last);
    module(&[], [POINTERS + INT, POINTERS + INT], &body)
}

#[test]
fn definitions_dominate_their_uses() {
    const PHI: u32 = RESULT + 2;
    let [one, other] = [LABEL + 1, LABEL + 2];
    let store: (Op, &[u32]) = (Op::Store, &[FIRST, PHI]);
    let phi = [INT, PHI, RESULT, one, RESULT + 1, other];
    let line = "@k(&o, &o) lanes=1 local=1 with o: i32 [0] -> o: [5]";
    check(&diamond(&[(Op::Phi, &phi), store]), line);
    let exchanged = [INT, PHI, RESULT + 1, one, RESULT, other];
    let lacking = [INT, PHI, RESULT, one];
    let twice = [INT, PHI, RESULT, one, RESULT, one];
    let sum: (Op, &[u32]) = (Op::IAdd, &[INT, RESULT + 3, CONSTANT, CONSTANT]);
    let cases: [(InstructionList<'_>, &str); 8] = [
        (&[(Op::Store, &[FIRST, RESULT])], "is used where a path leads past its definition"),
        (
            &[store, (Op::IAdd, &[INT, PHI, CONSTANT, CONSTANT])],
            "is used where a path leads past its definition",
        ),
        (&[(Op::IAdd, &[INT, PHI, PHI, CONSTANT])], "is used where a path leads past its definition"),
        (&[(Op::Phi, &exchanged)], "is used where a path leads past its definition"),
        (&[(Op::Phi, &lacking)], "a predecessor of the block has no value"),
        (&[(Op::Phi, &twice)], "is there twice"),
        (&[sum, (Op::Phi, &phi)], "other instructions of the block are before it"),
        (&[(Op::Branch, &[LABEL]), (Op::Label, &[LABEL + 4])], "is the first block of the function"),
    ];
    for (last, reason) in cases {
        match compile_spirv(&diamond(last), "test.spv", &SpirvOptions::default(), &[]) {
            Ok(_) => panic!("it lacks: {reason}"),
            Err(error) => assert!(error.to_string().contains(reason), "{reason}: {error}"),
        }
    }
    // Blocks that nothing reaches use what they like.
    let unreached: [(Op, &[u32]); 8] = [
        (Op::Phi, &phi),
        store,
        (Op::Return, &[]),
        (Op::Label, &[LABEL + 4]),
        sum,
        (Op::IAdd, &[INT, RESULT + 4, RESULT, RESULT + 3]),
        (Op::Branch, &[LABEL + 4]),
        // The end of the kernel.
        (Op::Label, &[RESULT + 5]),
    ];
    check(&diamond(&unreached), line);
}

#[test]
fn one_parameter_is_the_memory_of_a_result() {
    // `FuncParamAttr` (38) `Sret` (3) is for the first two parameters, and not together with `ByVal` (2).
    let store: InstructionList<'_> = &[(Op::Store, &[SECOND, CONSTANT + 5])];
    let bytes = module(&[SECOND, 38, 3], [POINTERS + INT, POINTERS + INT], store);
    check(&bytes, "@k(&o, &o) lanes=1 local=1 with o: i32 [0] -> o: [5]");
    let mut both = module(&[SECOND, 38, 3], [POINTERS + INT, POINTERS + INT], store);
    // The other decoration takes the place of that of the builtin variable.
    let decorated = [ITEM_VARIABLE, 11, 28].map(u32::to_le_bytes).concat();
    let at = both.windows(12).position(|bytes| bytes == decorated).expect("the variable is decorated");
    both[at..at + 12].copy_from_slice(&[SECOND, 38, 2].map(u32::to_le_bytes).concat());
    match compile_spirv(&both, "test.spv", &SpirvOptions::default(), &[]) {
        Ok(_) => panic!("it is invalid"),
        Err(error) => assert!(error.to_string().contains("cannot be the memory"), "{error}"),
    }
}

/// A number that was stored is known behind a store of another type only if the build option says so; a vector may be a part of anything.
#[test]
fn types_tell_memory_apart_under_strict_aliasing() {
    let loads = |stored: [u32; 2], options: &[&str]| {
        let [ty, value] = stored;
        let body: &[(Op, &[u32])] = &[
            (Op::Store, &[FIRST, CONSTANT + 5]),
            (Op::Store, &[SECOND, value]),
            (Op::Load, &[INT, RESULT, FIRST]),
            (Op::IAdd, &[INT, RESULT + 1, RESULT, RESULT]),
            (Op::Store, &[FIRST, RESULT + 1]),
        ];
        let bytes = module(&[], [POINTERS + INT, POINTERS + ty], body);
        let options: Vec<String> = options.iter().map(|&it| it.into()).collect();
        let program = compile_spirv(&bytes, "test.spv", &SpirvOptions::default(), &options);
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        program.module.to_string().matches("load i32").count()
    };
    let strict: &[&str] = &["-cl-strict-aliasing"];
    assert_eq!((loads([FLOAT, ZERO_FLOAT], &[]), loads([FLOAT, ZERO_FLOAT], strict)), (1, 0));
    assert_eq!(loads([INT2, ZEROS], strict), 1);
}

/// Minima and maxima ask for NaNs unless a decoration or a build option says that there are none.
#[test]
fn minima_of_numbers_ask_for_no_nans() {
    // `FPFastMathMode` (40): `NotNaN` (1), `NSZ` (4).
    let tests = |op: OpenclStd100Op, decoration: &[u32], option: Option<&str>| {
        let minimum = [FLOAT, RESULT, OPENCL, op as u32, RESULT + 1, RESULT + 2];
        let body: InstructionList<'_> = &[
            (Op::Load, &[FLOAT, RESULT + 1, FIRST]),
            (Op::Load, &[FLOAT, RESULT + 2, SECOND]),
            (Op::ExtInst, &minimum),
            (Op::Store, &[FIRST, RESULT]),
        ];
        let bytes = module(decoration, [POINTERS + FLOAT, POINTERS + FLOAT], body);
        let options: Vec<String> = option.into_iter().map(String::from).collect();
        let program = compile_spirv(&bytes, "test.spv", &SpirvOptions::default(), &options);
        let text = program.unwrap_or_else(|error| panic!("{error}")).module.to_string();
        text.contains("fcmp uno")
    };
    for op in [OpenclStd100Op::fmin, OpenclStd100Op::fmax] {
        assert!(tests(op, &[], None) && tests(op, &[RESULT, 40, 4], None), "{op:?}");
        assert!(!tests(op, &[RESULT, 40, 1], None), "{op:?}");
        for option in ["-cl-finite-math-only", "-cl-fast-relaxed-math"] {
            assert!(!tests(op, &[], Some(option)), "{op:?} with {option}");
        }
    }
}
