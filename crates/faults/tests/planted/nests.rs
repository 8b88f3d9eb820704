//! Rules of nests whose levels become dimensions of a brush.

use crate::widen::{widen_brushes, widen_tiles};
use crate::{fault, transform_test};
use heddle_faults::NESTS;
use heddle_faults::transform::{NestLevels, NestProjection, canonicalize, spread_nest};
use heddle_faults::with_fault;
use heddle_ir::text::parse_module;
use heddle_ir::{Diagnostic, Function, Module};
use heddle_testing::file_test::{RunPasses, failures_with_passes};

/// Rules with the file whose runs need them, and the passes of that file.
const RULES: &[(&str, &str, RunPasses)] = &[
    ("InnerRemainder", "spread-nest.hed", |module, _| spread_without(module, "InnerRemainder")),
    ("OuterRemainder", "spread-nest.hed", |module, _| spread_without(module, "OuterRemainder")),
    ("LevelLanes", "spread-nest.hed", |module, _| spread_without(module, "LevelLanes")),
    ("LevelDimensions", "spread-nest-outer-first.hed", |module, _| {
        with_fault(fault(NESTS, "LevelDimensions"), || spread_by(module, NestProjection::OuterFirst))
    }),
    ("RowCells", "widen-tensor.hed", |module, _| widen_without(module, "RowCells")),
    ("RowsAfterWrites", "widen-tensor.hed", |module, _| widen_without(module, "RowsAfterWrites")),
    ("RowMask", "widen-tensor.hed", |module, _| widen_without(module, "RowMask")),
    ("RowsThatRun", "widen-rows-masked.hed", |module, _| {
        with_fault(fault(NESTS, "RowsThatRun"), || widen_brushes(module, [16, 2]))
    }),
    ("RowChunks", "widen-columns-pitch.hed", |module, _| widen_without(module, "RowChunks")),
    ("Projection", "widen-columns-pitch.hed", |module, _| widen_without(module, "Projection")),
];

/// Rules that refuse nests, each with a nest that it refuses.
const REFUSALS: &[(&str, &str)] = &[("OuterEffects", OUTER_EFFECT), ("LevelReduction", REDUCTION)];

/// A store in the outer level.
const OUTER_EFFECT: &str = "func @f(v0: ptr uniform, v1: i64 uniform) {
block0:
  br block1
block1:
  v2 = phi i64 [block0: 0], [block3: v3]
  store v2, v0
  br block2
block2:
  v4 = phi i64 [block1: 0], [block2: v5]
  v5 = add nuw v4, 1
  v6 = icmp ult v5, v1
  br v6, block2, block3
block3:
  v3 = add nuw v2, 1
  v7 = icmp ult v3, v1
  br v7, block1, block4
block4:
  ret
}
";

/// A sum of the inner level that is stored in the outer one.
const REDUCTION: &str = "func @f(v0: ptr uniform, v1: i64 uniform) -> i64 {
block0:
  br block1
block1:
  v2 = phi i64 [block0: 0], [block3: v3]
  br block2
block2:
  v4 = phi i64 [block1: 0], [block2: v5]
  v8 = phi i64 [block1: 0], [block2: v9]
  v9 = add v8, v4
  v5 = add nuw v4, 1
  v6 = icmp ult v5, v1
  br v6, block2, block3
block3:
  v10 = phi i64 [block2: v9]
  v3 = add nuw v2, 1
  v7 = icmp ult v3, v1
  br v7, block1, block4
block4:
  v11 = phi i64 [block3: v10]
  ret v11
}
";

fn spread(func: &mut Function, projection: NestProjection) -> Result<(), Diagnostic> {
    canonicalize(func);
    spread_nest(func, NestLevels::Both, projection)
}

fn spread_by(module: &mut Module, projection: NestProjection) -> Result<(), String> {
    let mut functions = module.functions.iter_mut();
    functions.try_for_each(|func| spread(func, projection)).map_err(|diagnostic| diagnostic.to_string())
}

fn spread_without(module: &mut Module, rule: &str) -> Result<(), String> {
    with_fault(fault(NESTS, rule), || spread_by(module, NestProjection::InnerFirst))
}

fn widen_without(module: &mut Module, rule: &str) -> Result<(), String> {
    with_fault(fault(NESTS, rule), || widen_tiles(module))
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, passes) in RULES {
        let failures = failures_with_passes(&transform_test(file), *passes).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule}");
    }
    for (rule, text) in REFUSALS {
        let nest =
            || parse_module(text).unwrap_or_else(|errors| panic!("{rule}: {errors:?}")).functions.remove(0);
        assert!(spread(&mut nest(), NestProjection::InnerFirst).is_err(), "{rule}: the nest is refused");
        assert!(
            with_fault(fault(NESTS, rule), || spread(&mut nest(), NestProjection::InnerFirst)).is_ok(),
            "another rule covers {rule}"
        );
    }
    let tested = RULES.iter().map(|rule| rule.0).chain(REFUSALS.iter().map(|rule| rule.0));
    assert_eq!(tested.count(), NESTS.len());
}

#[test]
fn without_a_fault_the_files_pass() {
    let found = failures_with_passes(&transform_test("spread-nest.hed"), |module, _| {
        spread_by(module, NestProjection::InnerFirst)
    });
    assert_eq!(found.expect("the file is there"), [""; 0]);
    for file in ["widen-tensor.hed", "widen-columns-pitch.hed"] {
        let found = failures_with_passes(&transform_test(file), |module, _| widen_tiles(module));
        assert_eq!(found.expect("the file is there"), [""; 0], "{file}");
    }
}
