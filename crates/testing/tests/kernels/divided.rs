//! Kernels that divide their index, as kernels of several dimensions.

use heddle_ir::{Function, parse_module};
use heddle_ptx::{LowerOptions, lower, parse};
use heddle_testing::divided::{divides_by, dividing_kernel};
use heddle_transform::kernels::{DividedIndex, divided_index};

#[test]
fn divided_kernels_do_what_kernels_do() {
    let divide = |func: &Function| {
        divided_index(func, "k.divided", |_| false)
            .map(|DividedIndex { kernel, bounded, widths }| ([kernel, bounded], widths))
    };
    let mut counts = [0; 4];
    for seed in 1..2000 {
        match divides_by(&dividing_kernel(seed), &divide) {
            Ok(dimensions) => counts[dimensions] += 1,
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(counts[2] > 500 && counts[3] > 200, "{counts:?} kernels by dimensions");
}

#[test]
fn kernels_that_observe_more_stay() {
    let divided = |more: &str| {
        let text = format!(
            "kernel @k(v0: ptr(global) align 4, v1: i32) {{\nblock0:\n  v2 = global_id i64, 0\n  v3 = trunc i32, v2\n  \
             v4 = udiv v3, v1\n{more}  store v4, v0\n  ret\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"));
        divided_index(&module.functions[0], "k.divided", |_| false).is_some()
    };
    assert!(divided(""));
    for observed in
        ["global_size i64, 0", "global_offset i64, 0", "global_id i64, 1", "local_id i64, 0", "lane i32"]
    {
        assert!(!divided(&format!("  v9 = {observed}\n")), "{observed}");
    }
}

#[test]
fn divisions_of_gpus_are_recognized() {
    for division in ["div.s32", "div.u32", "rem.s32", "rem.u32"] {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 w) {{\n\
             .reg .b32 %r<9>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [out];\nld.param.u32 %r1, [w];\n\
             mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n\
             {division} %r6, %r5, %r1;\nmul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n\
             st.global.u32 [%rd3], %r6;\nret;\n}}\n"
        );
        let source = parse(&text).unwrap_or_else(|reasons| panic!("{reasons:?}"));
        let lowered = lower(&source, "k.ptx", LowerOptions::default()).unwrap_or_else(|it| panic!("{it:?}"));
        let divided = divided_index(&lowered.module.functions[0], "k.divided", |_| false);
        assert_eq!(divided.map(|it| it.widths), Some(vec![1]), "{division}");
    }
}
