//! Indices of 32 bits: what becomes of the loops and extensions of `tests/llvm`, whose runs its test checks.

use heddle_llvm::{import, read_ir, restore_indices};

const LOOPS: &str = include_str!("../../../tests/llvm/reduced-loops.ll");
const EXTENSIONS: &str = include_str!("../../../tests/llvm/extensions.ll");

/// Returns a function of a text, from its name to its end.
fn function<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!("@{name}(")).unwrap_or_else(|| panic!("no @{name} in\n{text}"));
    text[start..].split("\n}").next().unwrap_or_default()
}

/// Returns the text of the loops with restored indices.
fn restored() -> String {
    let module = read_ir("loops.ll", LOOPS.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    restore_indices(&module);
    module.verify().unwrap_or_else(|error| panic!("{error}"));
    module.text()
}

#[test]
fn counters_go_up_and_have_32_bits() {
    let text = restored();
    let with_flags = [
        ("countdown", "add nsw i32", "icmp sge i32"),
        ("unsigned", "add nuw i32", "icmp uge i32"),
        ("strided", "add nuw nsw i32", "icmp slt i32"),
        ("by_twos", "add nuw nsw i32", "icmp sle i32"),
        ("from_one", "add nuw nsw i32", "icmp sge i32"),
        ("masked", "add nuw nsw i32", "icmp sle i32"),
        ("tiled", "add nsw i32", "icmp slt i32"),
    ];
    for (name, step, test) in with_flags {
        let func = function(&text, name).split("\nend:").next().unwrap_or_default();
        assert!(func.contains(step) && func.contains(test), "{func}");
        assert!(!func.contains("phi i64") && !func.contains("phi ptr"), "{func}");
    }
    for (name, step) in [("inserted", "phi i32 [ 1, "), ("down_to", "icmp sle i32")] {
        let func = function(&text, name).split("\nplaced:").next().unwrap_or_default();
        assert!(func.contains("add nsw i32") && func.contains(step), "{func}");
        assert!(!func.contains("phi i64") && !func.contains("phi ptr"), "{func}");
    }
    for name in ["truncated", "flags"] {
        let func = function(&text, name);
        assert!(func.contains("phi i32") && !func.contains("phi i64"), "{func}");
    }
}

#[test]
fn pointers_step_along_with_an_index() {
    let text = restored();
    for name in ["descending", "ascending"] {
        let func = function(&text, name);
        assert!(func.contains("phi i64") && !func.contains("phi ptr"), "{func}");
    }
}

#[test]
fn counters_that_may_need_more_bits_keep_them() {
    let text = restored();
    for name in ["top", "wide_end", "unguarded", "other_guard", "untruncated", "masked_sign", "far_down"] {
        let func = function(&text, name);
        assert!(func.contains("phi i64") && !func.contains("phi i32"), "{func}");
    }
}

#[test]
fn counters_next_to_other_values_stay() {
    let text = restored();
    for name in ["tiled_sum", "tiled_top"] {
        let func = function(&text, name);
        assert!(func.contains("phi i64") && func.contains("icmp slt i64"), "{func}");
    }
}

#[test]
fn shifts_to_the_right_of_an_empty_half_are_extensions() {
    let module = read_ir("extensions.ll", EXTENSIONS.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let text = import(&module).module.to_string();
    for name in ["signed", "scaled", "next", "unsigned", "doubled", "shifted", "tripled"] {
        let func = function(&text, name);
        let extend = if name == "unsigned" { "zext" } else { "sext" };
        assert!(func.contains(extend) && func.contains("trunc") && !func.contains("shr"), "{func}");
    }
    for name in ["other_amount", "more_bits", "lower_bits", "below", "narrow", "odd_factor"] {
        let func = function(&text, name);
        assert!(func.contains("ashr") && !func.contains("ext i64"), "{func}");
    }
    assert_eq!(compared_ops(function(&text, "compared")), ["trunc", "trunc", "trunc", "trunc"]);
    assert_eq!(compared_ops(function(&text, "compared_unsigned")), ["zext", "sext"]);
    let compared = compared_ops(function(&text, "compared_lower"));
    assert_eq!(
        compared.into_iter().filter(|op| !op.is_empty()).collect::<Vec<_>>(),
        ["trunc", "and", "trunc"]
    );
}

/// Returns the operations that define the operands of a function's comparisons.
fn compared_ops(func: &str) -> Vec<&str> {
    let definition = |value: &str| {
        let start = format!("{} = ", value.trim_end_matches(','));
        let line = func.lines().find_map(|line| line.trim().strip_prefix(&*start));
        line.and_then(|line| line.split(' ').next()).unwrap_or_default()
    };
    let compares = func.lines().filter_map(|line| line.split_once(" = icmp "));
    compares.flat_map(|(_, rest)| rest.split(' ').skip(1).map(definition)).collect()
}
