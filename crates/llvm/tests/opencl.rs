//! In-process clang: modules, build logs, options, threads.

use heddle_llvm::{
    LinkInput, LlvmModule, OpenClOptions, compile_opencl, compile_opencl_with, import, link_programs,
};

const SCALE: &str =
    "kernel void scale(global float *a, float by) { size_t i = get_global_id(0); a[i] *= by; }\n";

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn source_becomes_a_kernel() {
    let (module, warnings) = compile_opencl(SCALE, "scale.cl", &[]).expect("it compiles");
    assert_eq!(warnings, "");
    let imported = import(&module);
    assert!(imported.refused.is_empty(), "{:?}", imported.refused);
    assert_eq!(imported.module.functions[0].name, "scale");
}

fn compiled(source: &str, list: &[&str], is_object: bool) -> LlvmModule {
    let options = OpenClOptions { words: words(list), is_object, ..OpenClOptions::default() };
    compile_opencl_with(source, "k.cl", &options).unwrap_or_else(|log| panic!("{log}")).0
}

const HELPERS: &str =
    "int twice(int x) { int y[1]; y[0] = 2 * x; return y[0]; }\nint unused(int x) { return twice(x) + 1; }\n";
const CALLER: &str = "int twice(int x);\nkernel void k(global int *a) { a[0] = twice(a[0]); }\n";

#[test]
fn functions_that_no_kernel_reaches_are_deleted() {
    let both = format!("{HELPERS}{CALLER}");
    let text = compiled(&both, &[], false).text();
    assert!(text.contains("i32 @twice(") && !text.contains("@unused"), "{text}");
    assert!(compiled(&both, &[], true).text().contains("@unused"), "an object has them");
    assert!(compiled(HELPERS, &[], false).text().contains("@unused"), "there is no kernel");
}

/// Objects of the same options are optimized together, others before they are joined.
#[test]
fn programs_are_linked_and_then_optimized() {
    let input = |source: &str, list: &[&str]| LinkInput {
        bitcode: compiled(source, list, true).bitcode(),
        words: Some(words(list)),
    };
    let link = |inputs: &[&LinkInput], is_library| {
        let linked = link_programs(inputs.iter().map(|&it| it.clone()).collect(), &[], is_library);
        linked.unwrap_or_else(|log| panic!("{log}"))
    };
    let (helpers, caller) = (input(HELPERS, &[]), input(CALLER, &[]));
    let plain = input(HELPERS, &["-cl-opt-disable"]);
    let library = link(&[&helpers], true);
    assert!(library.text().contains("@unused") && !library.text().contains("alloca"), "{}", library.text());
    let library = LinkInput { bitcode: library.bitcode(), words: None };
    for (inputs, has_array) in [
        ([&caller, &helpers], false),
        ([&helpers, &caller], false),
        ([&caller, &library], false),
        ([&caller, &plain], true),
    ] {
        let text = link(&inputs, false).text();
        assert!(text.contains("@twice(") && !text.contains("@unused"), "{text}");
        assert_eq!(text.contains("alloca [1 x i32]"), has_array, "{text}");
    }
    let log = link_programs(vec![helpers.clone(), helpers], &[], false).err();
    assert!(log.is_some_and(|log| log.contains("several programs define @")), "twice is defined twice");
}

#[test]
fn a_refusal_is_the_build_log() {
    let log = compile_opencl("kernel void k(global int *a) {\n  a[0] = b;\n}\n", "bad \"one\".cl", &[])
        .unwrap_err();
    assert!(log.contains("bad \"one\".cl:2:10: error: use of undeclared identifier 'b'"), "{log}");
    let log = compile_opencl("#error no\n", "", &[]).unwrap_err();
    assert!(log.contains("<source>:1:2: error: no"), "{log}");
    let log = compile_opencl(SCALE, "scale.cl", &words(&["-cl-what"])).unwrap_err();
    assert!(log.contains("unknown build option `-cl-what`"), "{log}");
    let log = compile_opencl(SCALE, "scale.cl", &words(&["-D"])).unwrap_err();
    assert!(log.contains("`-D` lacks its value"), "{log}");
}

#[test]
fn options_reach_clang() {
    let source = "int unused(void) { int x; return N; }\nkernel void k(global int *a) { a[0] = N + __OPENCL_C_VERSION__; }\n";
    let text = |list: &[&str]| {
        let (module, log) =
            compile_opencl(source, "k.cl", &words(list)).unwrap_or_else(|log| panic!("{log}"));
        (module.text(), log)
    };
    assert!(text(&["-DN=1"]).0.contains("store i32 121"));
    assert!(text(&["-D", "N=2", "-cl-std=CL3.0"]).0.contains("store i32 302"));
    assert!(
        text(&["-DN=3", "-cl-std=CL2.0", "-Wunused-variable"]).1.contains("warning: unused variable 'x'")
    );
    assert_eq!(text(&["-DN=3", "-Wunused-variable", "-w"]).1, "");
    let strict = compile_opencl(source, "k.cl", &words(&["-DN=3", "-Wunused-variable", "-Werror"]));
    assert!(strict.unwrap_err().contains("error: unused variable 'x'"));
    let source = "kernel void k(global float *a) { a[0] = a[1] * a[2] + a[3]; }";
    let flags = |list: &[&str]| compile_opencl(source, "k.cl", &words(list)).expect("it compiles").0.text();
    assert!(flags(&["-cl-fast-relaxed-math"]).contains("reassoc nnan ninf nsz arcp afn float"));
    assert!(flags(&[]).contains("llvm.fmuladd.f32"));
}

/// Many existing programs rely on older compilers' mere warnings.
#[test]
fn what_was_a_warning_once_is_one() {
    let source = "kernel void k(global float *a) {\n  global float2 *b = a;\n  int address = a;\n  b[address] = 0;\n}\n";
    let (_, log) = compile_opencl(source, "k.cl", &[]).unwrap_or_else(|log| panic!("{log}"));
    assert!(log.contains("k.cl:2:18: warning: incompatible pointer types"), "{log}");
    assert!(log.contains("k.cl:3:7: warning: incompatible pointer to integer conversion"), "{log}");
    let strict = compile_opencl(source, "k.cl", &words(&["-Werror"])).unwrap_err();
    assert!(strict.contains("k.cl:2:18: error: incompatible pointer types"), "{strict}");
}

#[test]
fn hostile_sources_end_in_a_log() {
    let deep = format!("int f(void) {{ return {}1{}; }}", "(".repeat(200_000), ")".repeat(200_000));
    assert!(compile_opencl(&deep, "deep.cl", &[]).unwrap_err().contains("nesting level"));
    assert!(compile_opencl("#include __FILE__", "again.cl", &[]).is_err());
    assert!(compile_opencl("#include \"/etc/no/such\"", "gone.cl", &[]).unwrap_err().contains("not found"));
    assert!(compile_opencl("kernel void k() {}\0}", "zero.cl", &[]).is_err());
    assert!(compile_opencl("", "a\0b\n.cl", &[]).is_ok());
}

#[test]
fn several_threads_compile_at_once() {
    let expected = compile_opencl(SCALE, "scale.cl", &[]).expect("it compiles").0.text();
    std::thread::scope(|scope| {
        let run = || {
            (0..8).all(|_| compile_opencl(SCALE, "scale.cl", &[]).expect("it compiles").0.text() == expected)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().expect("it ends")));
    });
}

/// Every option of clBuildProgram and Heddle's own are accepted.
#[test]
fn all_build_options_are_taken() {
    let options = "-cl-single-precision-constant -cl-denorms-are-zero -cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable \
                   -cl-strict-aliasing -cl-uniform-work-group-size -cl-no-subgroup-ifp -cl-mad-enable -cl-no-signed-zeros \
                   -cl-unsafe-math-optimizations -cl-finite-math-only -cl-fast-relaxed-math -w -cl-std=CL2.0 \
                   -cl-kernel-arg-info -g -heddle-math=exact -heddle-math=fast";
    for option in options.split(' ').filter(|option| !option.is_empty()) {
        let done = compile_opencl(SCALE, "scale.cl", &words(&[option]));
        assert!(done.as_ref().is_ok_and(|(_, log)| log.is_empty()), "{option}: {done:?}");
    }
}

/// LLVM's passes must not see undefined divisions, and ranges remove what makes others defined.
#[test]
fn divisions_are_defined() {
    let text = |expression: &str| {
        let source = format!(
            "kernel void k(global int *a, int x, int y, uint u, uint w) {{ a[0] = {expression}; }}\n"
        );
        compile_opencl(&source, "k.cl", &[]).unwrap_or_else(|log| panic!("{log}")).0.text()
    };
    for open in ["x / y", "x % y", "u / w", "u % w"] {
        assert!(text(open).contains("llvm.umax"), "{open}");
    }
    for closed in
        ["x / 7", "u % 12", "u / (w | 1)", "y > 0 ? x / y : 0", "w ? u / w : 1", "x / (uchar)(y | 4)"]
    {
        assert!(!text(closed).contains("llvm.umax"), "{closed}:\n{}", text(closed));
    }
    for constant in ["x / 0", "5 / 0", "u % 0u", "INT_MIN / -1", "x / -1"] {
        let text = text(constant);
        assert!(
            text.contains("store i32") && !text.contains("poison") && !text.contains("nsw"),
            "{constant}:\n{text}"
        );
    }
}

/// The index of an element by its row and column is the index again, though a division by zero is none.
#[test]
fn rows_and_columns_cancel() {
    let text = |declared: &str, index: &str| {
        let source = format!("kernel void k(global int *a, {declared}) {{ a[{index}] = 1; }}\n");
        compile_opencl(&source, "k.cl", &[]).unwrap_or_else(|log| panic!("{log}")).0.text()
    };
    let has_division = |text: &str| ["udiv", "sdiv", "urem", "srem"].iter().any(|it| text.contains(it));
    for declared in ["int i, int w", "uint i, uint w", "ulong i, ulong w"] {
        let cancelled = text(declared, "i / w * w + i % w");
        assert!(!has_division(&cancelled), "{declared}:\n{cancelled}");
        for index in ["i % w", "i / w * w", "i / (w + 1) * w + i % w", "i / w * w - i % w"] {
            assert!(has_division(&text(declared, index)), "{declared}, {index}");
        }
    }
    let mixed = text("int i, uint w", "i / (int)w * w + i % w");
    assert!(has_division(&mixed), "{mixed}");
}
