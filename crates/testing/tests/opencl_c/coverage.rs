//! No builtin that clang declares is missing.

#[test]
fn no_builtin_is_missing() {
    let coverage = heddle_builtins::coverage().unwrap_or_else(|log| panic!("{log}"));
    let missing: Vec<&str> = coverage.missing().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let [done, refused, _] = coverage.counts();
    assert!(done > 10_000 && refused > 1_000, "{done} done, {refused} refused");
}
