//! Kernels of several dimensions in every order of axes and tile, and in choices that the rules forbid for them.

use heddle_testing::dimension_cases::{DimensionCase, dimension_case};
use heddle_testing::dimension_runs::product::RULES;
use heddle_testing::dimension_runs::{
    DimensionChoice, DimensionCounts, choices, holds_in_all_choices, holds_in_choice,
};

#[test]
fn every_choice_does_what_work_items_do_one_by_one() {
    let mut counts = DimensionCounts::default();
    for seed in 0..24 {
        let case = dimension_case(seed);
        if let Err(reason) = holds_in_all_choices(&case, RULES, seed % 12 == 5, &mut counts) {
            panic!("seed {seed}: {reason}\n{}", case.text);
        }
    }
    assert!(
        counts.dimensions.iter().all(|&it| it > 50) && counts.merged > 20 && counts.uneven > 5,
        "{counts}"
    );
}

/// Makes a choice that a rule forbids for a kernel; none for other kernels.
type ForbiddenChoice = fn(&DimensionCase, DimensionChoice) -> Option<DimensionChoice>;

/// Rules of what code a launch may have: each with a choice that it forbids, and true if only native code shows that.
const FORBIDDEN: &[(&str, bool, ForbiddenChoice)] = &[
    ("groups with local memory are not merged", false, |case, choice| {
        let merged = Some([4, 2, 1]);
        let is_one = case.local == [1; 3] && case.has_local && case.observed.is_none();
        is_one.then_some(DimensionChoice { brush: [4, 2, 1], merged, fixed: None, ..choice })
    }),
    ("groups of kernels that observe their brush are not merged", false, |case, choice| {
        let is_one = case.local == [1; 3] && case.observed.is_some() && !case.has_local;
        let brush = [case.observed?, 1, 1];
        is_one.then_some(DimensionChoice {
            brush,
            is_linear: false,
            merged: Some([8, 1, 1]),
            fixed: None,
            ..choice
        })
    }),
    ("groups of several work-items are not merged", false, |case, choice| {
        let is_one = case.local != [1; 3] && !case.has_local && case.observed.is_none();
        is_one.then_some(DimensionChoice { merged: Some([4, 2, 1]), fixed: None, ..choice })
    }),
    ("lanes of kernels that observe their brush are along dimension 0", false, |case, choice| {
        let axes = [1, 0, 2];
        case.observed.map(|lanes| DimensionChoice { axes, brush: [lanes, 1, 1], is_linear: false, ..choice })
    }),
    ("brushes that a kernel observes go on in the next row", false, |case, choice| {
        let lanes = case.observed.filter(|lanes| !case.local[0].is_multiple_of(*lanes))?;
        Some(DimensionChoice { brush: [lanes, 1, 1], is_linear: false, ..choice })
    }),
    ("sizes of groups are constants only where no group is smaller", false, |case, choice| {
        (!case.is_uniform()).then_some(DimensionChoice { fixed: Some(case.local), merged: None, ..choice })
    }),
    ("pointers are promised to lead to different objects only where they do", true, |case, choice| {
        case.is_aliased.then_some(DimensionChoice { distinct: true, ..choice })
    }),
];

#[test]
fn choices_that_a_rule_forbids_are_noticed() {
    const MOST_KERNELS: u64 = 3000;
    for (rule, is_native, forbidden) in FORBIDDEN {
        let is_noticed = |seed: &u64| {
            let case = dimension_case(*seed);
            let Some(choice) = choices(&case, RULES).into_iter().next() else { return false };
            let Some(choice) = forbidden(&case, choice) else { return false };
            let held = holds_in_choice(&case, &choice, RULES, *is_native);
            held.is_err_and(|reason| !reason.starts_with("source"))
        };
        let found = (0..MOST_KERNELS).find(is_noticed);
        println!("{rule}: kernel {found:?}");
        assert!(found.is_some(), "no kernel needs this: {rule}");
    }
}
