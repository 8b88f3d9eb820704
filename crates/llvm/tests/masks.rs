//! Rewritten masks compute the same as masks of `i1`.

use heddle_llvm::{CodegenLevel, Cpu, Jit, LlvmModule, MaskRepresentation, read_ir, rewrite_masks};

const LOOP: &str = include_str!("masks/loop.ll");
const BLOCKS: &str = include_str!("masks/blocks.ll");
const AVX2: MaskRepresentation = MaskRepresentation::Elements { register: 256 };
/// Eight lanes of 32 bits fill one register, or two.
const AVX512: MaskRepresentation = MaskRepresentation::Bits { register: 512 };
const HALF: MaskRepresentation = MaskRepresentation::Bits { register: 128 };
const SSE: MaskRepresentation = MaskRepresentation::Elements { register: 128 };

fn formed(text: &str, form: MaskRepresentation) -> LlvmModule {
    let module = read_ir("masks.ll", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    rewrite_masks(&module, form);
    module.verify().unwrap_or_else(|reason| panic!("{reason}\n{}", module.text()));
    module
}

/// Returns the memory that the function writes.
fn run(module: LlvmModule, arguments: &[f32]) -> Vec<u8> {
    let jit = Jit::new(module, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}"));
    let entry = jit.entry("f").unwrap_or_else(|error| panic!("{error}"));
    // The function accesses whole vectors at LLVM's alignment.
    let mut memory = vec![0u8; 512];
    let at = memory.as_ptr().align_offset(64);
    let (input, output) = memory[at..].split_at_mut(128);
    for (place, number) in input.chunks_mut(4).zip(arguments) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    // SAFETY: the functions read 64 bytes, write 96, and do nothing undefined with numbers that are none.
    unsafe { entry.call(input, output) };
    output[..96].to_vec()
}

fn inputs() -> Vec<Vec<f32>> {
    let number = |seed: u32, lane: u32| ((seed * 37 + lane * 11) % 23) as f32 * 0.75 - 1.0;
    let row = |seed| (0..16).map(|lane| number(seed, lane)).collect();
    let mut all: Vec<Vec<f32>> = (0..40).map(row).collect();
    all.push(vec![f32::NAN; 16]);
    all.push(vec![0.0; 16]);
    all
}

#[test]
fn all_forms_compute_the_same() {
    for text in [LOOP, BLOCKS] {
        for arguments in inputs() {
            let expected = run(formed(text, MaskRepresentation::Any), &arguments);
            for form in [AVX2, SSE, AVX512, HALF] {
                assert_eq!(
                    run(formed(text, form), &arguments),
                    expected,
                    "{form:?} of {arguments:?}\n{text}"
                );
            }
        }
    }
}

fn count(module: &LlvmModule, words: &str) -> usize {
    module.text().matches(words).count()
}

#[test]
fn a_mask_that_goes_round_a_loop_is_as_wide_as_what_it_guards() {
    let module = formed(LOOP, AVX2);
    assert_eq!([count(&module, "phi <8 x i1>"), count(&module, "phi <8 x i32>")], [0, 2]);
    let doubles =
        LOOP.replace("float", "double").replace("i64 32", "i64 64").replace("<8 x i32> [", "<8 x i64> [");
    let doubles = doubles
        .replace("<8 x i32> %number, <8 x i32> %left", "<8 x i64> %number, <8 x i64> %left")
        .replace("<8 x i32> poison, i32 %following", "<8 x i64> poison, i64 %far.following")
        .replace(
            "shufflevector <8 x i32> %number.first, <8 x i32>",
            "shufflevector <8 x i64> %number.first, <8 x i64>",
        )
        .replace("  %small", "  %far.following = zext i32 %following to i64\n  %small")
        .replace("store <8 x i32> %kept", "store <8 x i64> %kept");
    let module = formed(&doubles, AVX2);
    assert_eq!([count(&module, "phi <8 x i1>"), count(&module, "phi <8 x i64>")], [0, 2]);
}

#[test]
fn registers_are_joined_before_their_lanes_are_looked_at() {
    let joined =
        |form| count(&formed(LOOP, form), "i32> %") - count(&formed(LOOP, MaskRepresentation::Any), "i32> %");
    // Eight lanes of 32 bits fill two registers of SSE: two halves, and one `or` of them.
    assert!(joined(SSE) > joined(AVX2));
    assert!(formed(LOOP, SSE).text().contains("bitcast <4 x i1>"));
    assert!(formed(LOOP, AVX2).text().contains("bitcast <8 x i1>"));
}

#[test]
fn masks_of_bits_are_one_for_each_register() {
    let phis = |form| [" = phi <8 x i1>", " = phi <4 x i1>"].map(|words| count(&formed(LOOP, form), words));
    assert_eq!([phis(AVX512), phis(HALF)], [[1, 0], [0, 2]]);
}

#[test]
fn masks_of_one_block_stay_what_they_are() {
    let text = "define <8 x float> @f(<8 x float> %a, <8 x float> %b) {\n  \
                %less = fcmp olt <8 x float> %a, %b\n  \
                %r = select <8 x i1> %less, <8 x float> %a, <8 x float> %b\n  ret <8 x float> %r\n}\n";
    assert_eq!(formed(text, AVX2).text(), formed(text, MaskRepresentation::Any).text());
}

#[test]
fn combined_masks_of_several_registers_are_as_wide_as_what_they_guard() {
    let text = |lanes: u32| {
        let ty = format!("<{lanes} x i32>");
        format!(
            "define {ty} @f({ty} %a, {ty} %b) {{\n  %less = icmp slt {ty} %a, %b\n  %small = icmp ult {ty} %b, splat (i32 9)\n  \
             %both = and <{lanes} x i1> %less, %small\n  %r = zext <{lanes} x i1> %both to {ty}\n  ret {ty} %r\n}}\n"
        )
    };
    let wide_ands = |lanes, form| count(&formed(&text(lanes), form), "and <16 x i32>");
    assert_eq!([AVX2, SSE, AVX512].map(|form| wide_ands(16, form)), [1, 1, 0]);
    assert_eq!(formed(&text(8), AVX2).text(), formed(&text(8), MaskRepresentation::Any).text());
}

#[test]
fn who_has_registers_for_masks_keeps_bits_in_them() {
    let form = |name: &str, triple: Option<&str>| {
        MaskRepresentation::of(&Cpu {
            name: name.into(),
            features: String::new(),
            triple: triple.map(String::from),
        })
    };
    assert_eq!(form("x86-64-v4", Some("x86_64-linux")), AVX512);
    assert_eq!(form("x86-64-v3", Some("x86_64-linux")), AVX2);
    assert_eq!(form("x86-64-v2", Some("x86_64-linux")), SSE);
    assert_eq!(form("cortex-a72", Some("aarch64-unknown-linux-gnu")), SSE);
    assert_eq!(form("any", Some("riscv64-linux")), MaskRepresentation::Any);
}
