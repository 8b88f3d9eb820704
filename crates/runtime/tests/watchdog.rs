//! `HEDDLE_WATCHDOG` ends launches that do not end; it is set for the whole process.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use heddle_ir::parse_bytes;
use heddle_runtime::{BuildOptions, KernelModule, LaunchArgument, LaunchError, NdRange, Pool};

const ENDLESS: &str = "kernel @endless(v0: ptr(global)) {
block0:
  br block1
block1:
  v1 = load volatile i32, v0
  v2 = icmp eq v1, 0
  br v2, block1, block2
block2:
  ret
}
";

#[test]
fn a_launch_without_end_is_ended() {
    // SAFETY: the test is alone in its process, and no thread has begun.
    unsafe { std::env::set_var("HEDDLE_WATCHDOG", "0.3") };
    let module = parse_bytes(ENDLESS.as_bytes()).unwrap_or_else(|message| panic!("{}", message[0]));
    let program = KernelModule::new(module, &BuildOptions::default()).expect("the program can be made");
    let kernel = program.kernel("endless").expect("there is the kernel");
    let range = NdRange::new(&[1000]).expect("a range");
    for threads in [1, 2] {
        let mut flag = [0i32];
        let args = [LaunchArgument::Pointer(flag.as_mut_ptr().cast())];
        let pool = Pool::new(threads);
        // SAFETY: the kernel reads one number.
        let error = unsafe { kernel.launch(&args, &range, &pool) }.expect_err("it does not end");
        let LaunchError::Timeout { kernel: name, seconds } = &error else { panic!("{error}") };
        assert_eq!((&**name, *seconds), ("endless", 0.3));
        flag = [1];
        let args = [LaunchArgument::Pointer(flag.as_mut_ptr().cast())];
        // SAFETY: as above.
        unsafe { kernel.launch(&args, &range, &pool) }.expect("it ends");
    }
}
