//! Operations on each lane by itself: sound everywhere, and the table of where they are not the best.

use crate::checker::{Setup, Tally, check, the_rule};
use crate::operations::{Case, binary, ternary, unary};
use std::fmt::Write as _;

/// True if `HEDDLE_EXHAUSTIVE=1` requests the documented widths, which take minutes.
fn is_patient() -> bool {
    std::env::var_os("HEDDLE_EXHAUSTIVE").is_some()
}

fn tally(case: &Case, setup: &Setup) -> Tally {
    check(case, setup, &the_rule).unwrap_or_else(|reason| panic!("{reason}"))
}

/// The lines of the table: one for each operation.
fn table(cases: &[Case], extents: &[u32]) -> String {
    let setup = Setup::new(extents);
    let mut table = String::new();
    for case in cases {
        let Tally { all, loose, by_constant, loose_by_constant, example } = tally(case, &setup);
        let constant = match by_constant {
            0 => String::new(),
            _ => format!("{loose_by_constant} of {by_constant}"),
        };
        let example = example.map_or(String::new(), |(_, example)| example);
        let _ = writeln!(table, "| `{}` | {loose} of {all} | {constant} | {example} |", case.name());
    }
    table
}

fn all(width: u32) -> Vec<Case> {
    [unary(width), binary(width), ternary(width - 1)].concat()
}

#[test]
fn sound_and_as_good_as_the_table_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/analysis-shapes.md");
    let text = std::fs::read_to_string(path).expect("docs/analysis-shapes.md is there");
    let (head, rest) = text.split_once("<!-- table -->\n").expect("the table has a start");
    let (old, tail) = rest.split_once("<!-- end -->\n").expect("the table has an end");
    let new = format!(
        "| operation | not the best | of these by a constant | example |\n|---|---|---|---|\n{}",
        table(&all(3), &[4])
    );
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        let text = format!("{head}<!-- table -->\n{new}<!-- end -->\n{tail}");
        std::fs::write(path, text).expect("docs/analysis-shapes.md can be written");
    } else {
        for (new, old) in new.lines().zip(old.lines()) {
            assert_eq!(new, old, "docs/analysis-shapes.md is out of date; HEDDLE_BLESS=1 rewrites the table");
        }
        assert_eq!(new.lines().count(), old.lines().count());
    }
}

#[test]
fn sound_for_two_lanes() {
    all(3).iter().for_each(|case| {
        tally(case, &Setup::new(&[2]));
    });
}

#[test]
fn sound_for_lanes_that_are_not_known() {
    for case in all(3) {
        tally(&case, &Setup::unknown(&[4]));
    }
}

#[test]
fn sound_for_brushes_of_two_dimensions() {
    for case in [unary(3), binary(2), ternary(1)].concat() {
        tally(&case, &Setup { judges: false, ..Setup::new(&[2, 2]) });
    }
    for case in binary(2) {
        tally(&case, &Setup::unknown(&[2, 2]));
    }
}

#[test]
fn sound_with_promises_and_lanes_that_are_not_active() {
    for case in binary(2) {
        tally(&case, &Setup::straight(&[4]));
    }
    for case in unary(3) {
        tally(&case, &Setup::straight(&[4]));
    }
}

#[test]
fn operations_on_one_operand_at_four_bits() {
    for extents in [2, 4] {
        for case in unary(4) {
            tally(&case, &Setup::new(&[extents]));
        }
    }
}

#[test]
fn wider_numbers_if_there_is_time() {
    if !is_patient() {
        return;
    }
    for case in [unary(4), binary(4)].concat() {
        tally(&case, &Setup { judges: false, ..Setup::new(&[2]) });
        let Tally { all, loose, by_constant, loose_by_constant, .. } = tally(&case, &Setup::new(&[4]));
        println!("{}: {loose} of {all}, {loose_by_constant} of {by_constant}", case.name());
    }
    for case in [unary(3), binary(3)].concat() {
        tally(&case, &Setup::straight(&[2]));
        tally(&case, &Setup::straight(&[4]));
    }
    for extents in [2, 4] {
        for case in unary(5) {
            tally(&case, &Setup::new(&[extents]));
        }
    }
}
