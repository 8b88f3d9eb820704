//! OpenCL C through clang, compiled and launched over ranges of all kinds.

use heddle_ir::Module;
use heddle_llvm::{compile, import};
use heddle_runtime::{
    BuildOptions, BuildServices, KernelModule, LaunchArgument, LaunchError, NdRange, Pool, PreparedKernel,
    Trials, memory,
};
use std::ptr::NonNull;

/// The module of a source in OpenCL C.
fn module_of(name: &str, source: &str) -> Module {
    let path = std::env::temp_dir().join(format!("heddle-{}-{name}.cl", std::process::id()));
    std::fs::write(&path, source).expect("the source can be written");
    let llvm = compile(&path, 2, &[]);
    let _ = std::fs::remove_file(&path);
    let imported = import(&llvm.expect("clang takes the source"));

    assert!(imported.refused.is_empty(), "{:?}", imported.refused);
    imported.module
}

fn program_of(name: &str, source: &str) -> KernelModule {
    KernelModule::new(module_of(name, source), &BuildOptions::default()).expect("the program can be made")
}

/// The address of a vector's elements, and bytes of a value.
fn pointer<T>(values: &mut [T]) -> LaunchArgument<'static> {
    LaunchArgument::Pointer(values.as_mut_ptr().cast())
}

fn range(global: &[u64], local: Option<&[u64]>, offset: Option<&[u64]>) -> NdRange {
    let mut range = NdRange::new(global).expect("a range");
    if let Some(local) = local {
        range = range.with_local(local).expect("a range");
    }
    if let Some(offset) = offset {
        range = range.with_offset(offset).expect("a range");
    }
    range
}

const ADD: &str = "kernel void add(global const float *a, global const float *b, global float *c, int n) {
    int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}";

#[test]
fn each_work_item_runs_once() {
    let kernel = program_of("add", ADD).kernel("add").expect("there is the kernel");
    for threads in [1, 3] {
        let pool = Pool::new(threads);
        for (global, local) in
            [(1, None), (7, Some(7)), (1000, None), (1000, Some(64)), (4096, Some(1)), (4099, Some(100))]
        {
            let mut a: Vec<f32> = (0..global).map(|it| it as f32).collect();
            let mut b: Vec<f32> = a.iter().map(|it| it * 2.0).collect();
            let mut c = vec![-1.0f32; global as usize];
            let n = (global as i32 - 1).to_ne_bytes();
            let args = [pointer(&mut a), pointer(&mut b), pointer(&mut c), LaunchArgument::Bytes(&n)];
            let local = local.map(|size| [size]);
            let range = range(&[global], local.as_ref().map(|it| &it[..]), None);
            // SAFETY: the arrays have an element for each work-item.
            unsafe { kernel.launch(&args, &range, &pool) }.expect("it runs");
            let wanted = |at: usize| if at + 1 < global as usize { at as f32 * 3.0 } else { -1.0 };
            assert!(c.iter().enumerate().all(|(at, &found)| found == wanted(at)), "{global} in {local:?}");
        }
    }
}

#[test]
fn what_was_prepared_is_not_compiled_by_the_launch() {
    const ROWS: &str = "kernel void rows(global int *out) {
        size_t x = get_global_id(0), y = get_global_id(1);
        out[y * get_global_size(0) + x] = get_local_id(1) * 10 + get_local_id(0);
    }";
    let kernel = program_of("rows", ROWS).kernel("rows").expect("there is the kernel");
    let range = range(&[6, 4], Some(&[3, 2]), None);
    let mut out = [-1i32; 24];
    kernel.prepare(&[pointer(&mut out)], &range).expect("it compiles");
    assert_eq!(kernel.reports().len(), 1);
    // SAFETY: the array has an element for each work-item.
    unsafe { kernel.launch(&[pointer(&mut out)], &range, &Pool::new(1)) }.expect("it runs");
    assert_eq!(kernel.reports().len(), 1);
    assert!((0..24).all(|at| out[at as usize] == at / 6 % 2 * 10 + at % 3), "{out:?}");
}

#[test]
fn launches_of_rows_run_in_dimensions() {
    const FLAT: &str = "kernel void flat(global int *out, int w, int h) {
        int i = get_global_id(0), x = i % w, y = i / w;
        out[x * h + y] = 10000 * x + y;
    }";
    let program = program_of("flat", FLAT);
    let launch = |w: i32, h: i32, items: u64, offset: Option<&[u64]>| -> Vec<i32> {
        let kernel = program.kernel("flat").expect("there is the kernel");
        let mut out = vec![-1i32; (w.max(4) * h.max(1)).max(items as i32) as usize * 2 + 1];
        let (width, height) = (w.to_ne_bytes(), h.to_ne_bytes());
        let args = [pointer(&mut out), LaunchArgument::Bytes(&width), LaunchArgument::Bytes(&height)];
        // SAFETY: the array has an element for each index that the kernel computes.
        unsafe { kernel.launch(&args, &range(&[items], None, offset), &Pool::new(2)) }.expect("it runs");
        out
    };
    let check = |w: i32, h: i32, items: u64, offset: Option<&[u64]>| {
        let out = launch(w, h, items, offset);
        let first = offset.map_or(0, |it| it[0] as i32);
        let mut wanted = vec![-1; out.len()];
        for i in first..first + items as i32 {
            wanted[(i % w * h + i / w) as usize] = 10000 * (i % w) + i / w;
        }
        assert_eq!(out, wanted, "{w} x {h}, {items} work-items from {first}");
    };
    let divided = || {
        let kernel = program.kernel("flat").expect("there is the kernel");
        let reports = kernel.reports();
        let has = |name: &str| reports.iter().any(|report| report.to_string().contains(name));
        [has("flat.divided:"), has("flat.divided.bounded:")]
    };
    // An offset, short rows, rows longer than the launch, a row of which too much is left.
    check(100, 33, 3200, Some(&[100]));
    check(100, 4, 310, None);
    check(4, 64, 256, None);
    check(40, 64, 2560, None);
    check(300, 1, 100, None);
    assert_eq!(divided(), [false; 2]);
    // The value of a division by zero is not specified; the launch ends.
    launch(0, 1, 64, None);
    check(100, 33, 3300, None);
    check(64, 1, 64, None);
    check(128, 7, 256, None);
    assert_eq!(divided(), [true, false]);
    // Short rows without idle lanes.
    check(48, 64, 3072, None);
    check(16, 64, 1024, None);
    // A part of a row.
    check(100, 33, 3201, None);
    check(64, 33, 2047, None);
    assert_eq!(divided(), [true; 2]);
}

#[test]
fn launches_end_at_guards() {
    const GUARDED: &str = "kernel void guarded(global int *out, int w, int h) {
        int x = get_global_id(0), y = get_global_id(1);
        if (x >= w || y >= h) return;
        out[y * 64 + x] += 1 + 100 * x + y;
    }
    kernel void required(global int *out, int w, int h) __attribute__((reqd_work_group_size(8, 4, 1))) {
        int x = get_global_id(0), y = get_global_id(1);
        if (x < w && h > y) out[y * 64 + x] += 1 + 100 * x + y;
    }
    kernel void clamped(global int *out, int w, int h) {
        int x = get_global_id(0), y = get_global_id(1);
        x = x < w ? x : w - 1;
        y = y > h - 1 ? h - 1 : y;
        out[y * 64 + x] = 1 + 100 * x + y;
    }
    kernel void faulty(global int *out, int w, int h) {
        int x = get_global_id(0);
        if (x < w) *(global int *)(ulong)h = x;
    }";
    let program = program_of("guarded", GUARDED);
    let mut out = vec![0i32; 64 * 64];
    let mut launch = |name: &str, [w, h]: [i32; 2], range: &NdRange| {
        let kernel = program.kernel(name).expect("there is the kernel");
        out.fill(0);
        let (w, h) = (w.to_ne_bytes(), h.to_ne_bytes());
        let args = [pointer(&mut out), LaunchArgument::Bytes(&w), LaunchArgument::Bytes(&h)];
        // SAFETY: the array has an element for each index that the kernel computes.
        let done = unsafe { kernel.launch(&args, range, &Pool::new(2)) };
        let is_cut = kernel.reports().iter().any(|it| it.to_string().contains(&format!("{name}.cut")));
        done.map(|()| (out.clone(), is_cut))
    };
    for (name, local, offset, is_cut) in [
        ("guarded", None, Some([1, 0]), false),
        ("guarded", None, None, true),
        ("guarded", Some([8, 8]), None, true),
        ("guarded", Some([5, 3]), None, true),
        ("required", Some([8, 4]), None, true),
    ] {
        for [w, h] in [[40, 30], [64, 64], [33, 1], [0, 20], [20, -1], [i32::MAX, 17]] {
            let (local, offset) = (local.as_ref().map(|it| &it[..]), offset.as_ref().map(|it| &it[..]));
            let (found, has) = launch(name, [w, h], &range(&[48, 48], local, offset)).expect("it runs");
            let wanted = |at: i32| {
                let (x, y) = (at % 64, at / 64);
                let first = offset.map_or(0, |it| it[0] as i32);
                let runs = x >= first && x < first + 48 && x < w && y < h.min(48);
                if runs { 1 + 100 * x + y } else { 0 }
            };
            let what = format!("{name}: {w} x {h} in {local:?} from {offset:?}");
            assert!((0..64 * 64).all(|at| found[at as usize] == wanted(at)), "{what}");
            assert_eq!(has, is_cut, "{what}");
        }
    }
    for local in [None, Some(&[8, 8][..])] {
        let (found, has) = launch("clamped", [40, 30], &range(&[48, 48], local, None)).expect("it runs");
        let wanted = |x: i32, y: i32| if x < 40 && y < 30 { 1 + 100 * x + y } else { 0 };
        assert!(has && (0..64 * 64).all(|at| found[at as usize] == wanted(at % 64, at / 64)));
    }
    // Errors are those of the kernel.
    let error = launch("faulty", [40, 16], &range(&[48], None, None)).expect_err("it stores to nowhere");
    assert!(matches!(&error, LaunchError::Fault { kernel, .. } if kernel == "faulty"), "{error:?}");
}

#[test]
fn loops_over_the_grid_run_once_in_dimensions() {
    const GRID: &str = "kernel void grid(global int *out, int w, int n) {
        for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
            int p = i % w, q = i / w, c = q % 4, b = q / 4;
            out[(b * w + p) * 4 + c] += i;
        }
    }
    kernel void fixed(global int *out, int w, int n) {
        uint i = get_global_id(0);
        if (i >= n) return;
        out[(i & 127) * 40 + (i >> 7)] += i;
    }";
    let program = program_of("grid", GRID);
    let check = |name: &str, w: i32, n: i32, items: u64, is_divided: bool| {
        let kernel = program.kernel(name).expect("there is the kernel");
        let mut out = vec![0i32; 128 * 40];
        let (width, count) = (w.to_ne_bytes(), n.to_ne_bytes());
        let args = [pointer(&mut out), LaunchArgument::Bytes(&width), LaunchArgument::Bytes(&count)];
        // SAFETY: the array has an element for each index that the kernel computes.
        unsafe { kernel.launch(&args, &range(&[items], None, None), &Pool::new(2)) }.expect("it runs");
        let mut wanted = vec![0; out.len()];
        for i in 0..n.min(if name == "grid" { n } else { items as i32 }) {
            let (p, q) = (i % w, i / w);
            let at = if name == "grid" { (q / 4 * w + p) * 4 + q % 4 } else { p * 40 + q };
            wanted[at as usize] += i;
        }
        assert_eq!(out, wanted, "{name}: {n} of rows of {w} by {items} work-items");
        let reports = kernel.reports();
        let has = reports.iter().any(|report| report.to_string().contains(&format!("{name}.divided")));
        assert_eq!(has, is_divided, "{name}: {n} of rows of {w} by {items} work-items");
    };
    // Several iterations, none, short rows.
    check("grid", 100, 1200, 1199, false);
    check("grid", 100, -5, 1200, false);
    check("grid", 20, 1200, 1200, false);
    // One iteration of each work-item, also with idle ones, and a part of a row.
    check("grid", 100, 1200, 1200, true);
    check("grid", 100, 1200, 5000, true);
    check("grid", 100, 1150, 1200, true);
    check("grid", 70, 3333, 3400, true);
    check("grid", 100, 1200, 64, true);
    check("fixed", 128, 0, 1280, false);
    check("fixed", 128, 1280, 1280, true);
    check("fixed", 128, 1250, 1280, true);
    check("fixed", 128, 5000, 2560, true);
}

/// Object of the runtime, of 64 KiB.
struct Object(NonNull<u8>);

impl Object {
    fn new() -> Object {
        let layout = memory::layout_of(Object::BYTES, 64).expect("it is small");
        Object(memory::allocate(layout, memory::Contents::Zeros).expect("there is memory"))
    }

    const BYTES: usize = 64 << 10;

    fn values(&mut self) -> &mut [i32] {
        // SAFETY: the object has as many bytes, which nothing else uses meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr().cast(), Object::BYTES / 4) }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let layout = memory::layout_of(Object::BYTES, 64).expect("it is small");
        // SAFETY: it came with this layout.
        unsafe { memory::free(self.0, layout) };
    }
}

#[test]
fn iterations_of_few_work_items_run_as_work_items_where_they_share_nothing() {
    const GRID: &str = "kernel void scaled(global int *out, global int *in, int w, int n) {
        for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = in[i] * 3 + w;
    }
    kernel void turned(global int *out, global int *in, int w, int n) {
        for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i % w * (n / w) + i / w] = in[i];
    }
    kernel void strided(global int *out, global int *in, int w, int n) {
        for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i % 64 * w + i / 64] = in[i];
    }
    kernel void added(global int *out, global int *in, int w, int n) {
        for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i % w] += in[i];
    }";
    let program = program_of("iterations", GRID);
    let [mut out, mut from] = [Object::new(), Object::new()];
    from.values().iter_mut().zip(1..).for_each(|(it, number)| *it = number);
    let input = from.values().to_vec();
    let mut check = |name: &str, [w, n, items]: [usize; 3], apart: bool, is_spread: bool| {
        let kernel = program.kernel(name).expect("there is the kernel");
        out.values().copy_from_slice(&input);
        let mut wanted = input.clone();
        for i in 0..n {
            match name {
                "scaled" => wanted[i] = input[i] * 3 + w as i32,
                "turned" => wanted[i % w * (n / w) + i / w] = input[i],
                "strided" => wanted[i % 64 * w + i / 64] = input[i],
                _ => wanted[i % w] += input[i],
            }
        }
        let [to, from] = [&out, &from].map(|it| LaunchArgument::Pointer(it.0.as_ptr()));
        let [width, count] = [w, n].map(|it| (it as i32).to_ne_bytes());
        let from = if apart { from } else { to };
        let args = [to, from, LaunchArgument::Bytes(&width), LaunchArgument::Bytes(&count)];
        let what = format!("{name}: {n} iterations of {items} work-items");
        // SAFETY: the objects have an element for each index that the kernel computes.
        unsafe { kernel.launch(&args, &range(&[items as u64], None, None), &Pool::new(2)) }.expect("it runs");
        assert!(out.values() == wanted, "{what}");
        let reports = kernel.reports();
        let forms = [format!("{name}.spread"), format!("{name}.divided")];
        let has = reports.iter().any(|it| forms.iter().any(|form| it.to_string().contains(form)));
        assert_eq!(has, is_spread, "{what}");
    };
    // Arrays of one object; then of two.
    check("scaled", [5, 1000, 3], false, false);
    check("scaled", [5, 1000, 3], true, true);
    check("scaled", [5, 7777, 1], true, true);
    // Rows that are not known to lie apart, and those that do.
    check("turned", [100, 5000, 4], true, false);
    check("strided", [100, 6400, 64], true, true);
    check("strided", [101, 6400, 64], true, true);
    // Iterations of a work-item share a cell.
    check("added", [100, 5000, 100], true, false);
}

#[test]
fn groups_of_one_work_item_run_together_unless_they_have_memory_of_their_own() {
    const SINGLE: &str = "kernel void open(global int *out) {
        int held[3] = { 0, 1, 2 };
        held[get_group_id(0) % 3] = get_local_size(0) + get_local_id(0);
        barrier(CLK_GLOBAL_MEM_FENCE);
        out[get_group_id(0)] = held[0] + 10 * held[1] + 100 * held[2];
    }
    kernel __attribute__((reqd_work_group_size(1, 1, 1))) void fixed(global int *out) {
        out[get_group_id(0)] = get_num_groups(0) + get_local_size(0) + 10 * get_local_id(0);
    }
    kernel void own(global int *out) {
        local int sum;
        sum = get_global_id(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += get_local_size(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_group_id(0)] = sum;
    }";
    const COUNT: usize = 1000;
    let program = program_of("single", SINGLE);
    let range = range(&[COUNT as u64], Some(&[1]), None);
    type Wanted = fn(i32) -> i32;
    let cases: [(&str, bool, Wanted); 3] = [
        ("open", true, |at| [211, 210, 110][at as usize % 3]),
        ("fixed", true, |_| COUNT as i32 + 1),
        ("own", false, |at| at + 1),
    ];
    for (name, together, wanted) in cases {
        let kernel = program.kernel(name).expect("there is the kernel");
        let mut out = vec![-1i32; COUNT];
        // SAFETY: the array has an element for each work-item.
        unsafe { kernel.launch(&[pointer(&mut out)], &range, &Pool::new(2)) }.expect("it runs");
        assert!((0..COUNT).all(|at| out[at] == wanted(at as i32)), "{name}: {out:?}");
        assert_eq!(kernel.reports()[0].code.lanes > 1, together, "{name}");
    }
}

const PLACES: &str = "kernel void places(global ulong *out) {
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
           z = get_global_id(2) - get_global_offset(2);
    size_t at = ((z * get_global_size(1) + y) * get_global_size(0) + x) * 12;
    out[at] = get_global_id(0); out[at + 1] = get_global_id(1); out[at + 2] = get_global_id(2);
    out[at + 3] = get_local_id(0); out[at + 4] = get_local_id(1); out[at + 5] = get_local_id(2);
    out[at + 6] = get_group_id(0); out[at + 7] = get_group_id(1); out[at + 8] = get_group_id(2);
    out[at + 9] = get_local_size(0); out[at + 10] = get_num_groups(1); out[at + 11] = get_work_dim();
}";

#[test]
fn work_items_know_their_place() {
    let kernel = program_of("places", PLACES).kernel("places").expect("there is the kernel");
    let pool = Pool::new(2);
    let cases: [(&[u64], &[u64], &[u64]); 10] = [
        (&[5], &[5], &[0]),
        (&[40], &[17], &[3]),
        (&[40, 3], &[20, 2], &[1, 2]),
        (&[6, 6], &[3, 3], &[0, 0]),
        (&[7, 5], &[3, 2], &[0, 9]),
        (&[4, 4, 4], &[2, 2, 2], &[0, 0, 0]),
        (&[5, 3, 4], &[2, 3, 3], &[1 << 33, 0, 7]),
        (&[1], &[1], &[4]),
        (&[300, 7], &[1, 1], &[3, 9]),
        (&[5, 3, 4], &[1, 1, 1], &[1 << 33, 0, 7]),
    ];
    for (global, local, offset) in cases {
        let full = |of: &[u64], rest: u64| [0, 1, 2].map(|along| of.get(along).copied().unwrap_or(rest));
        let (g, l, o) = (full(global, 1), full(local, 1), full(offset, 0));
        let items = (g[0] * g[1] * g[2]) as usize;
        let mut out = vec![u64::MAX; items * 12];
        let args = [pointer(&mut out)];
        // SAFETY: the array has twelve elements for each work-item.
        unsafe { kernel.launch(&args, &range(global, Some(local), Some(offset)), &pool) }.expect("it runs");
        for item in 0..items as u64 {
            let at = [item % g[0], item / g[0] % g[1], item / g[0] / g[1]];
            let group = [0, 1, 2].map(|along| at[along] / l[along]);
            let mut wanted: Vec<u64> = (0..3).map(|along| at[along] + o[along]).collect();
            wanted.extend((0..3).map(|along| at[along] % l[along]));
            wanted.extend(group);
            wanted.extend([l[0].min(g[0] - group[0] * l[0]), g[1].div_ceil(l[1]), global.len() as u64]);
            assert_eq!(out[item as usize * 12..][..12], wanted, "{global:?} in {local:?}, item {item}");
        }
    }
}

#[test]
fn wrong_launches_are_errors() {
    let kernel = program_of("wrong", ADD).kernel("add").expect("there is the kernel");
    let mut floats = [0.0f32; 8];
    let pool = Pool::new(1);
    let range = range(&[8], None, None);
    let [a, b, c] = [0; 3].map(|_| pointer(&mut floats));
    let fails = |args: &[LaunchArgument<'_>]| {
        // SAFETY: nothing is launched.
        unsafe { kernel.launch(args, &range, &pool) }.expect_err("it is refused")
    };
    assert!(matches!(fails(&[a, b]), LaunchError::Count { expected: 4, found: 2, .. }));
    let texts = [
        LaunchArgument::Bytes(&[0; 3]),
        LaunchArgument::Local(4),
        LaunchArgument::Pointer(std::ptr::null_mut()),
    ]
    .map(|last| fails(&[a, b, c, last]).to_string());
    assert_eq!(texts[0], "argument 3 of @add: type i32 takes 4 bytes, not 3");
    assert_eq!(texts[1], "argument 3 of @add: not a pointer to local memory");
    assert_eq!(texts[2], "argument 3 of @add: type i32 is not a pointer");
    for (global, local, text) in [
        (&[][..], &[][..], "a launch has 1 to 3 dimensions, not 0"),
        (&[1][..], &[1, 1][..], "the size of a work-group has 2 numbers for 1 dimensions"),
        (&[1][..], &[0][..], "work-group size 0 along dimension 0: a work-group has 1 to 1048576 work-items"),
        (&[1 << 63][..], &[1][..], "offset plus size along dimension 0 exceeds 2^63"),
    ] {
        let error =
            NdRange::new(global).and_then(|range| range.with_local(local)).expect_err("it is refused");
        assert_eq!(error.to_string(), text);
    }
}

const REDUCE: &str = "kernel void reduce(global const int *a, global int *sums, local int *part) {
    int me = get_local_id(0), size = get_local_size(0);
    part[me] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = size / 2; step > 0; step /= 2) {
        if (me < step) part[me] += part[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = part[0];
}";

#[test]
fn groups_wait_at_barriers_in_loops() {
    let kernel = program_of("reduce", REDUCE).kernel("reduce").expect("there is the kernel");
    let pool = Pool::new(2);
    for size in [1, 2, 8, 16, 64, 256] {
        let mut a: Vec<i32> = (0..size * 20).map(|it| (it * it % 1009) as i32).collect();
        let mut sums = vec![0i32; 20];
        let args = [pointer(&mut a), pointer(&mut sums), LaunchArgument::Local(4 * size)];
        // SAFETY: the arrays have an element for each work-item, and one for each group.
        unsafe { kernel.launch(&args, &range(&[size * 20], Some(&[size]), None), &pool) }.expect("it runs");
        let wanted: Vec<i32> = a.chunks(size as usize).map(|group| group.iter().sum()).collect();
        assert_eq!(sums, wanted, "groups of {size}");
    }
}

const EARLY: &str = "kernel void early(global int *out, local int *part, int n) {
    int me = get_local_id(0), i = get_global_id(0), size = get_local_size(0);
    part[me] = i;
    if (i >= n) { out[i] = -1; return; }
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = part[size - 1 - me];
    for (int round = 0; round < 3; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if ((me & 15) == round * 5) { out[i] = round; return; }
        part[me] += round;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += part[(me + 1) % size];
    }
    out[i] = sum;
}";

/// Reference implementation of `EARLY`: one work-item after the other between barriers.
fn after_early(global: i32, size: i32, n: i32) -> Vec<i32> {
    let mut out = vec![0; global as usize];
    for first in (0..global).step_by(size as usize) {
        let mut part: Vec<i32> = (0..size).map(|me| first + me).collect();
        let mut sums: Vec<i32> = part.iter().rev().copied().collect();
        let mut is_there: Vec<bool> = part.iter().map(|&i| i < n).collect();
        (0..size as usize).for_each(|me| out[first as usize + me] = -1);
        for round in 0..3 {
            for me in 0..size as usize {
                if is_there[me] && me as i32 & 15 == round * 5 {
                    is_there[me] = false;
                    out[first as usize + me] = round;
                }
                part[me] += if is_there[me] { round } else { 0 };
            }
            (0..size as usize).for_each(|me| sums[me] += part[(me + 1) % size as usize]);
        }
        for me in (0..size as usize).filter(|&me| is_there[me]) {
            out[first as usize + me] = sums[me];
        }
    }
    out
}

#[test]
fn work_items_that_exit_early_are_not_waited_for() {
    let kernel = program_of("early", EARLY).kernel("early").expect("there is the kernel");
    for (size, n) in [(1, 3), (8, 60), (32, 0), (32, 70), (48, 100), (64, 129), (128, 200), (128, 256)] {
        let global = size * 4;
        let mut out = vec![7i32; global as usize];
        let n_bytes = i32::to_ne_bytes(n);
        let args =
            [pointer(&mut out), LaunchArgument::Local(4 * size as u64), LaunchArgument::Bytes(&n_bytes)];
        let range = range(&[global as u64], Some(&[size as u64]), None);
        // SAFETY: the array has an element for each work-item.
        unsafe { kernel.launch(&args, &range, &Pool::new(2)) }.expect("it runs");
        assert_eq!(out, after_early(global, size, n), "groups of {size}, {n} of {global} work-items");
    }
}

const APART: &str = "kernel void apart(global int *out, int n) {
    int i = get_global_id(0);
    if ((int)get_local_id(0) < n) {
        out[i] = 1;
        barrier(CLK_GLOBAL_MEM_FENCE);
        out[i] = out[i ^ 1] + 1;
    } else {
        out[i] = 5;
        barrier(CLK_GLOBAL_MEM_FENCE);
        out[i] = out[i ^ 1] + 5;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[i] += 10;
}";

#[test]
fn a_divergent_barrier_is_an_error_of_the_launch() {
    let kernel = program_of("apart", APART).kernel("apart").expect("there is the kernel");
    for (n, wanted) in [(0, Some(20)), (64, Some(12)), (32, None), (3, None), (63, None)] {
        let mut out = vec![0i32; 128];
        let n_bytes = i32::to_ne_bytes(n);
        let args = [pointer(&mut out), LaunchArgument::Bytes(&n_bytes)];
        // SAFETY: the array has an element for each work-item.
        let done = unsafe { kernel.launch(&args, &range(&[128], Some(&[64]), None), &Pool::new(2)) };
        match wanted {
            Some(wanted) => {
                done.expect("it runs");
                assert_eq!(out, [wanted; 128], "{n}");
            }
            None => {
                let failed = done.expect_err("its work-items wait at different barriers");
                assert!(
                    matches!(&failed, LaunchError::DivergentBarrier { kernel, group: [0, 0, 0] } if kernel == "apart"),
                    "{n}: {failed}"
                );
            }
        }
    }
}

const ACROSS: &str = "kernel void across(global int *out, int rounds) {
    local int tile[8][9];
    int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0), h = get_local_size(1);
    int mine[4];
    float kept = x * 0.5f + y;
    for (int i = 0; i < 4; i++) mine[i] = x * 10 + y * 100 + i;
    for (int round = 0; round < rounds; round++) {
        tile[y][x] = mine[round & 3];
        barrier(CLK_LOCAL_MEM_FENCE);
        mine[(round + x) & 3] += tile[h - 1 - y][w - 1 - x];
        if (rounds > 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            kept += round;
        } else {
            barrier(CLK_LOCAL_MEM_FENCE);
            kept -= y;
        }
    }
    int at = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[at] = mine[0] + mine[1] * 3 + mine[2] * 5 + mine[3] * 7 + (int)(kept * 4);
}";

/// What `across` writes for a group.
fn across(rounds: i32, width: usize, height: usize) -> Vec<i32> {
    let place = |item: usize| ((item % width) as i32, (item / width) as i32);
    let items = width * height;
    let mut mine: Vec<[i32; 4]> =
        (0..items).map(place).map(|(x, y)| [0, 1, 2, 3].map(|i| x * 10 + y * 100 + i)).collect();
    let mut kept: Vec<f32> = (0..items).map(place).map(|(x, y)| x as f32 * 0.5 + y as f32).collect();
    for round in 0..rounds {
        let tile: Vec<i32> = mine.iter().map(|mine| mine[round as usize & 3]).collect();
        for item in 0..items {
            let (x, y) = place(item);
            mine[item][(round + x) as usize & 3] += tile[items - 1 - item];
            kept[item] += if rounds > 2 { round as f32 } else { -y as f32 };
        }
    }
    let all = mine.iter().zip(&kept);
    all.map(|(m, kept)| m[0] + m[1] * 3 + m[2] * 5 + m[3] * 7 + (kept * 4.0) as i32).collect()
}

#[test]
fn private_arrays_live_across_barriers() {
    let kernel = program_of("across", ACROSS).kernel("across").expect("there is the kernel");
    let pool = Pool::new(2);
    for (width, height) in [(1, 1), (3, 2), (8, 8), (9, 5), (5, 8)] {
        for rounds in [0, 1, 2, 5] {
            let mut out = vec![-1i32; width * height * 6];
            let args = [pointer(&mut out), LaunchArgument::Bytes(&i32::to_ne_bytes(rounds))];
            let global = [width as u64 * 3, height as u64 * 2];
            let range = range(&global, Some(&[width as u64, height as u64]), None);
            // SAFETY: the array has an element for each work-item.
            unsafe { kernel.launch(&args, &range, &pool) }.expect("it runs");
            let group = across(rounds, width, height);
            for (at, &found) in out.iter().enumerate() {
                let (x, y) = (at % (width * 3), at / (width * 3));
                assert_eq!(
                    found,
                    group[y % height * width + x % width],
                    "{width} by {height}, {rounds} rounds, {at}"
                );
            }
        }
    }
}

/// An object of [`memory::allocate`] with numbers, which is given back at the end.
struct OwnObject {
    start: NonNull<u8>,
    layout: std::alloc::Layout,
}

impl OwnObject {
    fn new(values: &[f32]) -> OwnObject {
        let layout = memory::layout_of(size_of_val(values), 64).expect("a layout");
        let start = memory::allocate(layout, memory::Contents::Unknown).expect("memory");
        // SAFETY: the object is as large as the values.
        unsafe { start.cast::<f32>().copy_from_nonoverlapping(NonNull::from(values).cast(), values.len()) };
        OwnObject { start, layout }
    }

    /// The argument that leads to the element of a number, and maybe says that so many are accessed.
    fn at(&self, number: usize, count: Option<usize>) -> LaunchArgument<'static> {
        let start = self.start.as_ptr().wrapping_add(4 * number);
        count.map_or(LaunchArgument::Pointer(start), |count| LaunchArgument::Memory(start, 4 * count))
    }

    fn values(&self) -> Vec<f32> {
        // SAFETY: it holds numbers, and no launch writes them now.
        unsafe { std::slice::from_raw_parts(self.start.cast::<f32>().as_ptr(), self.layout.size() / 4) }
            .to_vec()
    }
}

impl Drop for OwnObject {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { memory::free(self.start, self.layout) };
    }
}

const SUMS: &str =
    "kernel void sums(global float *sum, global const float *a, global const float *b, int n) {
    int i = get_global_id(0);
    for (int k = n - 1; k >= 0; k--) sum[i] += a[k] * b[k];
}";

/// Offset of an argument in an object.
type Part = (usize, usize);

/// Runs `sums` with so many work-items on parts of objects, whose sizes are given or not; returns all objects.
fn sums_of(
    kernel: &PreparedKernel,
    contents: &[Vec<f32>],
    parts: [Part; 3],
    items: usize,
    is_sized: bool,
) -> Vec<Vec<f32>> {
    let objects: Vec<OwnObject> = contents.iter().map(|values| OwnObject::new(values)).collect();
    let n = STEPS.to_ne_bytes();
    let counts = [items, STEPS as usize, STEPS as usize].map(|count| is_sized.then_some(count));
    let argument = |(object, offset): Part, count| objects[object].at(offset, count);
    let [sum, a, b] = [0, 1, 2].map(|number| argument(parts[number], counts[number]));
    let args = [sum, a, b, LaunchArgument::Bytes(&n)];
    let items = items as u64;
    // SAFETY: each object has 64 elements; no work-item writes what another one reads.
    unsafe { kernel.launch(&args, &range(&[items], Some(&[items]), None), &Pool::new(1)) }.expect("it runs");
    objects.iter().map(OwnObject::values).collect()
}

const STEPS: i32 = 20;

#[test]
fn launches_whose_pointers_lead_to_one_object_have_code_of_their_own() {
    let options = BuildOptions { lanes: Some(16), ..BuildOptions::default() };
    let program = KernelModule::new(module_of("sums", SUMS), &options).expect("the program can be made");
    let kernel = program.kernel("sums").expect("there is the kernel");
    let contents =
        [1, 3, 5].map(|from| (from..from + 64).map(|it| (it % 7) as f32 - 2.0).collect::<Vec<f32>>());
    let codes = |parts: [Part; 3], items: usize, is_sized: bool| {
        let mut wanted = contents.to_vec();
        let [(to, at), a, b] = parts;
        for item in 0..items {
            for k in (0..STEPS as usize).rev() {
                let [x, y] = [a, b].map(|(object, offset)| wanted[object][offset + k]);
                wanted[to][at + item] += x * y;
            }
        }
        assert_eq!(sums_of(&kernel, &contents, parts, items, is_sized), wanted, "{parts:?}");
        kernel.reports().len()
    };
    // Three objects; the factors in one object, which nobody writes.
    assert_eq!(codes([(0, 0), (1, 0), (2, 0)], 16, false), 1);
    assert_eq!(codes([(0, 0), (1, 0), (1, 4)], 16, false), 1);
    // The sums are elsewhere in the object of a factor, which is known if sizes are.
    assert_eq!(codes([(0, 40), (0, 0), (2, 0)], 16, true), 1);
    assert_eq!(codes([(0, 40), (0, 0), (2, 0)], 16, false), 2);
    // The sum is a factor of a later step. Groups of one work-item have code of their own.
    for is_sized in [false, true] {
        assert_eq!(codes([(0, 0), (0, 0), (2, 0)], 1, is_sized), 3);
        assert_eq!(codes([(1, 10), (2, 0), (1, 0)], 1, is_sized), 3);
    }
}

const STRIDES: &str =
    "kernel void steps(global const float *x, int incx, global float *y, int incy, long bytes) {
    int i = get_global_id(0);
    y[i * incy] = x[i * incx] + *(global const float *)((global const char *)x + i * bytes);
}";

#[test]
fn launches_of_dense_arrays_have_code_of_their_own() {
    const ITEMS: usize = 40;
    // With trials, code for other strides may run the first launches.
    let services = BuildServices { trials: Trials::Off, ..BuildServices::default() };
    let module = module_of("strides", STRIDES);
    let program =
        KernelModule::making(module, &BuildOptions::default(), services).expect("the program can be made");
    let kernel = program.kernel("steps").expect("there is the kernel");
    let x: Vec<f32> = (0..200).map(|it| it as f32).collect();
    let codes = |incx: i32, incy: i32, bytes: i64| {
        let mut from = x.clone();
        let mut y = vec![-1.0f32; 200];
        let start = |inc: i32| if inc < 0 { 199 } else { 0 };
        let at = |inc: i32, item: usize| (start(inc) + inc * item as i32) as usize;
        let mut wanted = y.clone();
        for item in 0..ITEMS {
            let other = (start(incx) * 4 + bytes as i32 * item as i32) / 4;
            wanted[at(incy, item)] = x[at(incx, item)] + x[other as usize];
        }
        let [source, target] = [(&mut from, incx), (&mut y, incy)]
            .map(|(values, inc)| LaunchArgument::Pointer(values[start(inc) as usize..].as_mut_ptr().cast()));
        let [incx, incy] = [incx, incy].map(i32::to_ne_bytes);
        let numbers = [&incx[..], &incy, &bytes.to_ne_bytes()].map(|it| it.to_vec());
        let [incx, incy, bytes] = [0, 1, 2].map(|at| LaunchArgument::Bytes(&numbers[at]));
        let args = [source, incx, target, incy, bytes];
        let over = range(&[ITEMS as u64], None, None);
        // SAFETY: the arrays are as long as the strides ask for; no two work-items store to one place.
        unsafe { kernel.launch(&args, &over, &Pool::new(1)) }.expect("it runs");
        assert_eq!(y, wanted, "{numbers:?}");
        kernel.reports().len()
    };
    assert_eq!(codes(1, 1, 4), 1);
    assert_eq!(codes(1, 1, 4), 1);
    // One element for all work-items; the distance of the other one is not known.
    assert_eq!(codes(0, 1, 4), 2);
    assert_eq!(codes(0, 1, 12), 3);
    assert_eq!(codes(3, 2, 8), 4);
    assert_eq!(codes(-2, -3, -8), 4);
    assert_eq!(codes(2, -1, 0), 5);
    assert_eq!(codes(1, 1, 4), 5);
    // Eight combinations of known strides have code; a ninth one runs that for all strides.
    for (number, (incx, bytes)) in (6..).zip([(0, 0), (1, 0), (1, 4), (0, 4)]) {
        assert_eq!(codes(incx, 2, bytes), number);
    }
    assert_eq!(codes(1, 1, 0), 9);
}

#[test]
fn code_for_all_strides_runs_first_launches_of_dense_arrays() {
    let program = program_of("first-strides", STRIDES);
    let kernel = program.kernel("steps").expect("there is the kernel");
    let launch = |inc: i32, bytes: i64| {
        let (mut x, mut y) = (vec![1.0f32; 200], vec![0.0f32; 200]);
        let (inc, bytes) = (inc.to_ne_bytes(), bytes.to_ne_bytes());
        let [step, other] = [&inc[..], &bytes].map(LaunchArgument::Bytes);
        let args = [pointer(&mut x), step, pointer(&mut y), step, other];
        // SAFETY: the arrays are as long as the strides ask for; no two work-items store to one place.
        unsafe { kernel.launch(&args, &range(&[40], None, None), &Pool::new(1)) }.expect("it runs");
        assert!(
            (0..40 * i32::from_ne_bytes(inc) as usize)
                .step_by(i32::from_ne_bytes(inc) as usize)
                .all(|at| y[at] == 2.0)
        );
        kernel.reports().len()
    };
    assert_eq!(launch(3, 8), 1);
    // Small launches are not worth a compilation.
    assert_eq!(launch(1, 4), 1);
}

#[test]
fn numbers_of_elements_are_no_strides() {
    let program = program_of(
        "columns",
        "kernel void strided(global float *y, int n) { y[get_global_id(0) * n] = 1; }
        kernel void guarded(global float *y, int n, int t) {
            int i = get_global_id(0);
            if (i < n - 1 - t) y[n * (i + t + 1) + t] = 1;
        }",
    );
    let strides = |name: &str| {
        let kernel = program.kernel(name).expect("there is the kernel");
        let forms: Vec<_> = kernel.second_forms().iter().map(|form| form.info().dense_strides()).collect();
        (kernel.info().dense_strides(), forms)
    };
    assert_eq!(strides("strided"), (Some("argument 1 = 1".into()), Vec::new()));
    // Its launches are cut at the guard.
    assert_eq!(strides("guarded"), (None, vec![None]));
}

#[test]
fn short_launches_run_code_of_longer_ones() {
    const WIDTH: usize = 300;
    let program = program_of(
        "shrinking",
        "kernel void tripled(global int *out, global const int *in, int width) {
            int x = get_global_id(1), y = get_global_id(0);
            out[y * width + x] = 3 * in[y * width + x];
        }",
    );
    let kernel = program.kernel("tripled").expect("there is the kernel");
    let (width, mut from) = ((WIDTH as i32).to_ne_bytes(), (0..(WIDTH * WIDTH) as i32).collect::<Vec<_>>());
    for [height, row] in [[300, 300], [300, 40], [9, 9], [5, 5], [2, 3], [1, 2]] {
        let mut out = vec![-1; WIDTH * WIDTH];
        let args = [pointer(&mut out), pointer(&mut from), LaunchArgument::Bytes(&width)];
        let over = range(&[height, row], None, None);
        // SAFETY: the arrays have an element for each index.
        unsafe { kernel.launch(&args, &over, &Pool::new(1)) }.expect("it runs");
        let is_inside = |at: usize| at / WIDTH < height as usize && at % WIDTH < row as usize;
        let wanted: Vec<i32> =
            (0..WIDTH * WIDTH).map(|at| if is_inside(at) { 3 * at as i32 } else { -1 }).collect();
        assert_eq!(out, wanted, "{height} rows of {row}");
    }
    let codes: Vec<String> = kernel.reports().iter().map(ToString::to_string).collect();
    assert_eq!(codes.len(), 1, "{codes:?}");
}
