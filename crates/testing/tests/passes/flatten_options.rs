//! Options and remarks of the pass `flatten`.

use heddle_compiler::Session;
use heddle_ir::parse_module;

const NEST: &str = include_str!("../../../../tests/transform/flatten-fig-5.hed");

fn printed(passes: &str) -> Result<Vec<String>, String> {
    let mut module = parse_module(NEST).map_err(|errors| format!("{:?}", errors.first()))?;
    let names = ["canonicalize", passes];
    let remarks = Session::default().run_passes(&mut module, &names, true, |_, _| {});
    remarks
        .map(|remarks| remarks.into_iter().map(|remark| remark.diagnostic.text).collect())
        .map_err(|error| error.to_string())
}

#[test]
fn a_profile_decides() {
    let remark = |passes: &str| printed(passes).expect("passes run").join("\n");
    // Lanes have much to do in turn, or all the same.
    let uneven = remark("flatten:block2=1x15/64x1");
    assert!(uneven.contains("loop at block1 with the inner loop at block2 flattened"), "{uneven}");
    assert!(uneven.contains("by formula (1), ") && uneven.contains("it pays"), "{uneven}");
    let even = remark("flatten:block2=8x1");
    assert!(even.contains("not flattened") && even.contains("it does not pay"), "{even}");
    assert!(remark("flatten:block2=8x1+force").contains("block2 flattened"));
    assert_eq!(remark("flatten:none"), "");
    assert!(remark("flatten:none+block1").contains("block2 flattened"));
    assert!(remark("flatten:lanes=1").contains("not flattened"));
}

#[test]
fn wrong_options_are_named() {
    for (passes, reason) in [
        ("flatten:sometimes", "unknown word `sometimes`"),
        ("flatten:lanes=0", "1 to 512"),
        ("flatten:block2=x", "write iterations and their frequency"),
        ("flatten:block3", "block3 is not the header of a nest of loops"),
    ] {
        let error = printed(passes).expect_err(passes);
        assert!(error.contains(reason), "{passes}: {error}");
    }
}
