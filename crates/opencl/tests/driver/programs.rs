//! The programs of `tests/opencl`, each of which says "passed" at its end.

use crate::place::{compile, run};

fn passes(name: &str) {
    let program = compile(name);
    let output = run(&program.display().to_string(), &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.ends_with("passed\n"),
        "{name}: {}\n{said}{messages}",
        output.status
    );
}

#[test]
fn vectors_are_added() {
    passes("vector_add.c");
}

#[test]
fn buffers_are_made_and_moved() {
    passes("buffers.c");
}

#[test]
fn programs_are_built_and_kernels_known() {
    passes("programs.c");
}

#[test]
fn commands_keep_their_order() {
    passes("events.c");
}

#[test]
fn nothing_grows_and_nothing_holds_the_process() {
    passes("growth.c");
}

#[test]
fn sub_groups_are_consecutive_work_items() {
    passes("subgroups.c");
}

#[test]
fn groups_at_the_end_are_smaller() {
    passes("trailing.c");
}

#[test]
fn the_wrapper_for_cpp_works() {
    passes("wrapper.cpp");
}
