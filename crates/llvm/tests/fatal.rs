//! LLVM's fatal errors do not end the process.
#![forbid(unsafe_code)]

use heddle_llvm::{CodegenLevel, catch_fatal_errors, compile_host_object, read_ir};

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
