//! Faults of kernels end launches: the error names kernel, group and reason, other groups stop, and later launches work.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use heddle_llvm::{compile, import};
use heddle_runtime::faults::KernelFault;
use heddle_runtime::{
    BuildOptions, KernelModule, LaunchArgument, LaunchError, NdRange, Pool, PreparedKernel,
};
use std::sync::atomic::{AtomicU32, Ordering};

const SOURCE: &str = "
kernel void store(global int *out, ulong bad, uint group) {
    global int *to = get_group_id(0) == group ? (global int *)bad : out;
    to[get_global_id(0)] = get_global_id(0) + 1;
}
kernel void traps(global int *out, ulong bad, uint group) {
    if (get_global_id(0) == bad) __builtin_trap();
    out[get_global_id(0)] = 7;
}
// Each group waits for the one before, of which one fails.
kernel void chained(global int *out, ulong bad, uint group) {
    volatile global int *flags = out;
    size_t id = get_group_id(0);
    if (id == group) *(global int *)bad = 1;
    while (id > 0 && flags[id - 1] == 0) {}
    flags[id] = 1;
}
kernel void endless(global int *out, ulong bad, uint group) {
    volatile global int *flag = out;
    while (*flag == 0) {}
}
kernel void deep(global int *out, ulong bad, uint group) {
    volatile int held[1 << 20];
    for (int i = (1 << 20) - 1; i >= 0; i -= 64) held[i] = i;
    out[get_global_id(0)] = held[0] + held[group];
}
";

fn program() -> KernelModule {
    // Tests run at once.
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("heddle-faults-{}-{number}.cl", std::process::id()));
    std::fs::write(&path, SOURCE).expect("the source can be written");
    let llvm = compile(&path, 2, &[]);
    let _ = std::fs::remove_file(&path);
    let imported = import(&llvm.expect("clang takes the source"));
    assert!(imported.refused.is_empty(), "{:?}", imported.refused);
    KernelModule::new(imported.module, &BuildOptions::default()).expect("the program can be made")
}

fn launch(
    kernel: &PreparedKernel,
    out: &mut [i32],
    bad: u64,
    group: u32,
    pool: &Pool,
) -> Result<(), LaunchError> {
    let range = NdRange::new(&[out.len() as u64]).and_then(|range| range.with_local(&[8])).expect("a range");
    let args = [
        LaunchArgument::Pointer(out.as_mut_ptr().cast()),
        LaunchArgument::Bytes(&bad.to_ne_bytes()),
        LaunchArgument::Bytes(&group.to_ne_bytes()),
    ];
    // SAFETY: the array has an element for each work-item; faults are what is tested.
    unsafe { kernel.launch(&args, &range, pool) }
}

#[test]
fn accesses_without_memory_and_traps_end_the_launch() {
    let program = program();
    let (store, traps) =
        (program.kernel("store").expect("a kernel"), program.kernel("traps").expect("a kernel"));
    for threads in [1, 3] {
        let pool = Pool::new(threads);
        for round in 0..3 {
            for bad in [0, 16, 0x7fff_0000_0000_0000, 0xf000_0000_0000_0010] {
                let mut out = vec![0; 8 * 64];
                let error = launch(&store, &mut out, bad, 5, &pool).expect_err("it faults");
                let LaunchError::Fault { kernel, group, fault } = &error else { panic!("{error}") };
                assert_eq!((&**kernel, group), ("store", &[5, 0, 0]), "{error}");
                assert!(matches!(fault, KernelFault::Access(_)), "{error}");
                if round == 0 && bad < 100 {
                    assert!(error.to_string().starts_with("illegal access to address"), "{error}");
                }
                let mut out = vec![0; 8 * 64];
                launch(&store, &mut out, 0, 1 << 20, &pool).expect("it works behind a fault");
                assert!(out.iter().enumerate().all(|(at, &found)| found == at as i32 + 1));
            }
            let mut out = vec![0; 8 * 64];
            let error = launch(&traps, &mut out, 100, 0, &pool).expect_err("it traps");
            assert!(matches!(error, LaunchError::Fault { fault: KernelFault::Trap, .. }), "{error}");
            launch(&traps, &mut out, 1 << 30, 0, &pool).expect("it works behind a trap");
        }
    }
}

#[test]
fn groups_that_wait_for_a_failed_one_are_interrupted() {
    let program = program();
    let chained = program.kernel("chained").expect("a kernel");
    for threads in [1, 2, 4] {
        let pool = Pool::new(threads);
        for round in 0..20 {
            let mut out = vec![0; 8 * 64];
            launch(&chained, &mut out, 0, 1 << 20, &pool).expect("each group is waited for");
            let mut out = vec![0; 8 * 64];
            let failing = 3 * round % 64;
            let error = launch(&chained, &mut out, 0, failing, &pool).expect_err("a group fails");
            let LaunchError::Fault { group, .. } = &error else { panic!("{error}") };
            assert_eq!(group[0], u64::from(failing), "{error}");
        }
    }
}

#[test]
fn a_stack_that_is_too_small_ends_the_launch() {
    let program = program();
    let deep = program.kernel("deep").expect("a kernel");
    // The private memory of the lanes of a brush does not fit on the stack of this thread.
    let outcome = std::thread::Builder::new().stack_size(256 << 10).spawn(move || {
        let mut out = vec![0; 8];
        launch(&deep, &mut out, 0, 0, &Pool::new(1)).map_err(|error| error.to_string())
    });
    let outcome = outcome.expect("it starts").join().expect("it ends");
    let error = outcome.expect_err("it does not fit");
    assert!(error.starts_with("illegal access to address"), "{error}");
}
