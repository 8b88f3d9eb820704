//! Kernels that divide their index, as kernels of several dimensions.

use heddle_ir::parse_module;
use heddle_ptx::{LowerOptions, lower, parse};
use heddle_testing::divide_by_forms;
use heddle_testing::divided::{clamping_kernel, cuts_at_guards, divides_by, dividing_kernel, guarded_kernel};
use heddle_testing::grid_iterations::{IterationOutcome, grid_kernel, spreads_iterations};
use heddle_transform::kernels::{IndexExtent, LaunchForm, launch_form};

divide_by_forms!(heddle_transform::kernels);

#[test]
fn divided_kernels_do_what_kernels_do() {
    let mut counts = [0; 4];
    for seed in 1..2000 {
        match divides_by(&dividing_kernel(seed), &forms) {
            Ok(dimensions) => counts[dimensions] += 1,
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(counts[2] > 500 && counts[3] > 200, "{counts:?} kernels by dimensions");
}

#[test]
fn launches_that_are_cut_do_what_launches_do() {
    let mut counts = [0; 3];
    for seed in 1..2000 {
        match cuts_at_guards(&guarded_kernel(seed), &forms) {
            Ok(bounds) => counts[bounds] += 1,
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(counts.iter().all(|&it| it > 200), "{counts:?} kernels by bounds");
}

#[test]
fn launches_that_are_cut_at_clamps_store_what_launches_store() {
    let mut counts = [0; 3];
    for seed in 1..2000 {
        match cuts_at_guards(&clamping_kernel(seed), &forms) {
            Ok(bounds) => counts[bounds] += 1,
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(counts.iter().all(|&it| it > 200), "{counts:?} kernels by bounds");
}

#[test]
fn iterations_that_are_work_items_do_what_loops_do() {
    let (mut kept, mut raced, mut equal) = (0, 0, [0; 4]);
    for seed in 1..4000 {
        match spreads_iterations(&grid_kernel(seed), &forms) {
            Ok(IterationOutcome::Kept) => kept += 1,
            Ok(IterationOutcome::Raced) => raced += 1,
            Ok(IterationOutcome::Equal(dimensions)) => equal[dimensions] += 1,
            Err(reason) => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(kept > 400 && equal[1] > 100 && equal[2] > 200, "{kept}, {raced}, {equal:?}");
}

#[test]
fn kernels_that_observe_more_stay() {
    let divided = |more: &str| {
        let text = format!(
            "kernel @k(v0: ptr(global) align 4, v1: i32) {{\nblock0:\n  v2 = global_id i64, 0\n  v3 = trunc i32, v2\n  \
             v4 = udiv v3, v1\n{more}  store v4, v0\n  ret\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"));
        launch_form(&module.functions[0], |_| false).is_some()
    };
    assert!(divided(""));
    for observed in
        ["global_size i64, 0", "global_offset i64, 0", "global_id i64, 1", "local_id i64, 0", "lane i32"]
    {
        assert!(!divided(&format!("  v9 = {observed}\n  store v9, v0\n")), "{observed}");
    }
}

#[test]
fn a_guard_compares_the_whole_index() {
    let bound = |conversion: &str| {
        let text = format!(
            "kernel @k(v0: ptr(global) align 4, v1: i32) {{\nblock0:\n  v2 = global_id i64, 0\n  v3 = trunc {conversion}, v2\n  \
             v4 = zext i64, v3\n  v5 = trunc i32, v4\n  v6 = icmp ult v5, v1\n  br v6, block1, block2\nblock1:\n  \
             v7 = trunc i32, v2\n  v8 = udiv v7, v1\n  store v8, v0\n  br block2\nblock2:\n  ret\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|reasons| panic!("{reasons:?}\n{text}"));
        launch_form(&module.functions[0], |_| false).and_then(|it| it.bounds[0].clone())
    };
    assert_eq!(bound("i32"), Some(IndexExtent::parameter(1)));
    assert_eq!(bound("i8"), None);
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
        let divided = launch_form(&lowered.module.functions[0], |_| false);
        assert_eq!(divided.map(|it| it.extents), Some(vec![IndexExtent::parameter(1)]), "{division}");
    }
}

#[test]
fn loops_over_the_grid_of_gpus_run_once() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 w, .param .u32 n) {\n\
         .reg .pred %p<3>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [out];\nld.param.u32 %r1, [w];\n\
         ld.param.u32 %r7, [n];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n\
         mad.lo.s32 %r5, %r2, %r3, %r4;\nsetp.ge.s32 %p1, %r5, %r7;\n@%p1 bra END;\nmov.u32 %r8, %nctaid.x;\n\
         mul.lo.s32 %r9, %r3, %r8;\nLOOP:\ndiv.s32 %r6, %r5, %r1;\nmul.wide.u32 %rd2, %r5, 4;\n\
         add.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r6;\nadd.s32 %r5, %r5, %r9;\n\
         setp.lt.s32 %p2, %r5, %r7;\n@%p2 bra LOOP;\nEND:\nret;\n}\n";
    let source = parse(text).unwrap_or_else(|reasons| panic!("{reasons:?}"));
    let lowered = lower(&source, "k.ptx", LowerOptions::default()).unwrap_or_else(|it| panic!("{it:?}"));
    let LaunchForm { extents, limits, iterations, bounds, .. } =
        launch_form(&lowered.module.functions[0], |_| false).expect("an index is divided");
    assert!(iterations.is_some());
    let n = IndexExtent::parameter(2);
    let bounds_of_dimensions = [Some(n.clone()), None, None];
    assert_eq!((extents, limits, bounds), (vec![IndexExtent::parameter(1)], vec![n], bounds_of_dimensions));
}
