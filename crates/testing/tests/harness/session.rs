//! Services of a session besides compiling: interruption, and time per pass.

use heddle_compiler::{Session, VectorizeRequest};
use heddle_ir::Code;

const TEXT: &str = "func @twice(v0: i32) -> i32 {\nblock0:\n  v1 = shl v0, 1\n  ret v1\n}\n";

fn request() -> VectorizeRequest {
    VectorizeRequest::new("twice", "8".parse().expect("it is a brush"))
}

#[test]
fn a_session_that_was_cancelled_makes_nothing() {
    let session = Session::default();
    let source = session.parse_hed(TEXT).expect("it is well-formed");
    session.cancel();
    let failure = session.vectorize(source, &request()).expect_err("it was cancelled");
    assert_eq!(failure.diagnostics.iter().map(|message| message.code).collect::<Vec<_>>(), [Code::Cancelled]);
}

#[test]
fn code_in_this_process_comes_with_the_time_of_each_pass() {
    let session = Session::default();
    let source = session.parse_hed(TEXT).expect("it is well-formed");
    let mut artifact = session.vectorize(source, &request()).expect("it is taken");
    let jit = artifact.jit().expect("it is compiled");
    assert!(jit.address("twice.w8").is_ok_and(|address| address != 0));
    let names: Vec<&str> = artifact.times.iter().map(|time| time.name).collect();
    for name in ["widen", "linearize", "LLVM's passes", "code generation"] {
        assert!(names.contains(&name), "{names:?}");
    }
}
