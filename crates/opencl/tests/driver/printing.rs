//! Output of `printf` in kernels.

use crate::place::{compile, run, source};

#[test]
fn kernels_print() {
    let output = run(&compile("printing.c").display().to_string(), &[]);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
    let printed = String::from_utf8_lossy(&output.stdout);
    // Work-items print in any order, but each call all at once.
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let (ordered, many) = printed.split_once("many\n").expect("it prints");
    let expected = std::fs::read_to_string(source("printing.txt")).expect("it is there");
    assert_eq!(sorted(ordered), sorted(&expected));
    let mut lines: Vec<&str> = many.lines().collect();
    assert_eq!(lines.pop(), Some("passed"));
    lines.sort_unstable();
    let mut wanted: Vec<String> = (0..5000).map(|item| format!("work-item {item:05} is here")).collect();
    wanted.sort_unstable();
    assert!(lines == wanted, "{} lines, as {:?}", lines.len(), lines.first());
}
