//! LLVM's fatal errors do not end the process.
#![forbid(unsafe_code)]

use heddle_llvm::{CodegenLevel, catch_fatal_errors, compile_host_object, read_ir};
use std::process::Command;

/// Call of an intrinsic that the host cannot select.
const UNKNOWN: &str = "declare i32 @llvm.amdgcn.workitem.id.x()
define i32 @f() {
  %x = call i32 @llvm.amdgcn.workitem.id.x()
  ret i32 %x
}
";

fn compile(text: &'static str) -> Result<usize, String> {
    let work = move || {
        let module = read_ir("text.ll", text.as_bytes()).expect("it is read");
        compile_host_object(&module, CodegenLevel::Default).expect("it compiles").len()
    };
    catch_fatal_errors(16 << 20, work).map_err(|message| message.to_string())
}

#[test]
fn the_process_goes_on_where_llvm_gives_up() {
    let reason = compile(UNKNOWN).expect_err("there is no such instruction");
    assert!(reason.contains("Cannot select"), "{reason}");
    assert!(compile("define i32 @f() { ret i32 1 }").expect("it compiles") > 0);
}

/// Variable that has this program panic on a compiler thread.
const PANICS: &str = "HEDDLE_TEST_PANICS";

#[test]
fn a_panic_ends_the_process_only_where_tests_ask_for_it() {
    if std::env::var_os(PANICS).is_some() {
        let reason =
            catch_fatal_errors(16 << 20, || panic!("on purpose")).expect_err("it panics").to_string();
        assert!(reason.contains("came to an end"), "{reason}");
        return;
    }
    let ends_well = |abort: &str| {
        let mut own = Command::new(std::env::current_exe().expect("the program has a path"));
        own.args(["--exact", "a_panic_ends_the_process_only_where_tests_ask_for_it"]);
        own.env(PANICS, "1").env("HEDDLE_ABORT", abort).output().expect("it starts").status.success()
    };
    assert!(ends_well("0") && !ends_well("1"));
}
