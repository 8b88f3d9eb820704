//! Options and remarks of the pass `flatten`.

use heddle::Session;
use heddle_ir::parse_module;

const NEST: &str = include_str!("../../../../tests/transform/flatten-fig-5.hed");

fn said(passes: &str) -> Result<Vec<String>, String> {
    let mut module = parse_module(NEST).map_err(|errors| format!("{:?}", errors.first()))?;
    let names = ["canonicalize", passes];
    let remarks = Session::default().run_passes(&mut module, &names, true, |_, _| {});
    remarks
        .map(|remarks| remarks.into_iter().map(|remark| remark.diagnostic.text).collect())
        .map_err(|error| error.to_string())
}

#[test]
fn a_profile_decides() {
    let remark = |passes: &str| said(passes).expect("passes run").join("\n");
    // Lanes have much to do in turn, or all the same.
    let uneven = remark("flatten:block2=1x15/64x1");
    assert!(uneven.contains("the loop at block1 with the one inside at block2 is flattened"), "{uneven}");
    assert!(uneven.contains("by formula (1), ") && uneven.contains("it pays"), "{uneven}");
    let even = remark("flatten:block2=8x1");
    assert!(even.contains("is left as it is") && even.contains("it does not pay"), "{even}");
    assert!(remark("flatten:block2=8x1+force").contains("is flattened"));
    assert_eq!(remark("flatten:none"), "");
    assert!(remark("flatten:none+block1").contains("is flattened"));
    assert!(remark("flatten:lanes=1").contains("is left as it is"));
}

#[test]
fn wrong_options_are_named() {
    for (passes, reason) in [
        ("flatten:sometimes", "`sometimes` means nothing here"),
        ("flatten:lanes=0", "1 to 512"),
        ("flatten:block2=x", "write iterations and how often"),
        ("flatten:block3", "block3 is not the header of a loop with a loop inside"),
    ] {
        let error = said(passes).expect_err(passes);
        assert!(error.contains(reason), "{passes}: {error}");
    }
}
