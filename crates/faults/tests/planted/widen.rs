//! Rules of widening.

use crate::{fault, transform_test};
use heddle_analysis::shape::Activation;
use heddle_analysis::{AccessGroups, ControlTables, InitialShapes, divergence};
use heddle_compiler::Session;
use heddle_faults::WIDEN;
use heddle_faults::transform::widen::{self as woven, WidenContext, WidenOptions, replace_launches};
use heddle_faults::transform::{geometry_of, lock_step_functions};
use heddle_faults::with_fault;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_testing::caught::all_are_caught;
use heddle_testing::file_test::{RunPasses, failures_with_passes};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::tile_cases::tile_case;
use heddle_testing::wide::{WideningFaults, widens_with};
use heddle_transform::{RaceSemantics, TargetInfo, VersioningPolicy};

/// Maximum number of programs until the fault must show.
const MOST_PROGRAMS: u64 = 20_000;

/// Widens the functions of a module by the woven pass.
fn widen(
    module: &mut Module,
    brush: &[u32],
    options: &heddle_transform::WidenOptions,
) -> Result<(), Diagnostic> {
    let versions = match options.versions {
        VersioningPolicy::Model => woven::VersioningPolicy::Model,
        VersioningPolicy::Force => woven::VersioningPolicy::Force,
        VersioningPolicy::None => woven::VersioningPolicy::None,
    };
    let races = match options.races {
        RaceSemantics::Ordered => heddle_faults::transform::RaceSemantics::Ordered,
        RaceSemantics::Excluded => heddle_faults::transform::RaceSemantics::Excluded,
    };
    let options = WidenOptions { target: options.target, versions, races };
    let functions =
        lock_step_functions(module, brush).map_err(|reason| Diagnostic::error(Code::NoVectorForm, reason))?;
    let defined = module.functions.iter().map(|func| &*func.name).collect();
    let mut context = WidenContext {
        defined,
        is_region: false,
        vector_variants: Default::default(),
        keep_lane_loops: None,
    };
    let mut wide = Vec::new();
    for made in &functions {
        let Some(func) = module.function(&made.name) else { continue };
        let control = ControlTables::new(func);
        let geometry = geometry_of(func, &made.brush, made.is_region);
        let initial = InitialShapes::declared(func, geometry).with_entry(Activation::Full);
        let facts = divergence(func, &control, &initial);
        let accesses = AccessGroups::new(func, &control, &facts, &initial.geometry);
        context.is_region = made.is_region;
        wide.push(woven::widen(func, &facts, &accesses, &made.brush, &context, &options)?.func);
    }
    drop(context);
    for (made, new) in functions.iter().zip(wide) {
        if let Some(func) = module.function_mut(&made.name) {
            *func = new;
        }
    }
    module.functions.iter_mut().try_for_each(replace_launches)
}

/// Rules that generated programs rarely need: each with the file whose runs do.
const RARE: &[(&str, &str, RunPasses)] = &[
    ("CellOrder", "widen-cells.hed", |module, _| without(module, "CellOrder")),
    ("CellOffset", "widen-cells.hed", |module, _| without(module, "CellOffset")),
    ("CellMask", "widen-cells.hed", |module, _| without(module, "CellMask")),
    ("CellRows", "widen-cells-rows.hed", |module, _| without(module, "CellRows")),
    ("CellReaders", "widen-cells-rows.hed", |module, _| without(module, "CellReaders")),
    ("ColumnOrder", "widen-columns-pitch.hed", |module, _| without(module, "ColumnOrder")),
    ("CellPadding", "widen-tiles.hed", |module, _| {
        with_fault(fault(WIDEN, "CellPadding"), || widen_brushes(module, [2, 2]))
    }),
    ("FillMask", "widen-filled-again.hed", |module, _| {
        with_fault(fault(WIDEN, "FillMask"), || widen_brushes(module, [4, 1]))
    }),
    ("BlendLoop", "widen-blended-refused.hed", |module, _| blended_without(module, "BlendLoop")),
    ("BlendMask", "widen-blended-refused.hed", |module, _| blended_without(module, "BlendMask")),
    ("UpdateOrder", "widen-updates.hed", |module, _| blended_without(module, "UpdateOrder")),
    ("UpdateMask", "widen-updates.hed", |module, _| blended_without(module, "UpdateMask")),
    ("UpdateRaces", "widen-updates-ordered.hed", |module, _| {
        with_fault(fault(WIDEN, "UpdateRaces"), || widen_brushes(module, [4, 1]))
    }),
    ("BlendLoad", "widen-blended-refused.hed", |module, _| blended_without(module, "BlendLoad")),
];

/// Beginnings of the names of rules that arrays in tiles need.
const TILES: [&str; 2] = ["Line", "Store"];

/// Widens a module's functions for brushes of 4 x 4 without a rule.
fn without(module: &mut Module, rule: &str) -> Result<(), String> {
    with_fault(fault(WIDEN, rule), || widen_tiles(module))
}

pub(crate) fn widen_tiles(module: &mut Module) -> Result<(), String> {
    widen_brushes(module, [4, 4])
}

/// Widens a module's functions for a machine whose masked stores are slow, without a rule. Lanes do not race.
fn blended_without(module: &mut Module, rule: &str) -> Result<(), String> {
    let options = heddle_transform::WidenOptions {
        target: TargetInfo::ZEN3,
        races: RaceSemantics::Excluded,
        ..Default::default()
    };
    with_fault(fault(WIDEN, rule), || widen_by(module, [4, 1], &options))
}

pub(crate) fn widen_brushes(module: &mut Module, brush: [u32; 2]) -> Result<(), String> {
    let options = heddle_transform::WidenOptions { target: TargetInfo::AVX512, ..Default::default() };
    widen_by(module, brush, &options)
}

fn widen_by(
    module: &mut Module,
    brush: [u32; 2],
    options: &heddle_transform::WidenOptions,
) -> Result<(), String> {
    let linear = Session::default().run_passes(module, &["canonicalize", "linearize"], true, |_, _| ());
    linear.map_err(|diagnostic| diagnostic.to_string())?;
    widen(module, &brush, options).map_err(|diagnostic| diagnostic.to_string())
}

#[test]
fn every_rule_is_needed() {
    for (rule, file, fault) in RARE {
        let failures = failures_with_passes(&transform_test(file), *fault).expect("the file is there");
        assert!(!failures.is_empty(), "{file} does not catch {rule}");
    }
    for file in ["widen-cells.hed", "widen-cells-rows.hed", "widen-columns-pitch.hed"] {
        let right = failures_with_passes(&transform_test(file), |module, _| widen_tiles(module));
        assert_eq!(right.expect("the file is there"), [""; 0], "{file} without a fault");
    }
    let faults = WideningFaults { widen, ..WideningFaults::NONE };
    let of_tiles = |name: &str| TILES.iter().any(|rule| name.starts_with(rule));
    let tiles = WIDEN.iter().filter(|fault| of_tiles(fault.name));
    all_are_caught(
        tiles.map(|&fault| (fault.name, fault)),
        &[("LineOperations", 445)],
        4000,
        |seed, fault| with_fault(fault, || widens_with(&tile_case(seed), &faults)).is_err(),
    );
    let is_rare = |name: &str| RARE.iter().any(|(rare, ..)| *rare == name);
    let frequent = WIDEN.iter().filter(|fault| !is_rare(fault.name) && !of_tiles(fault.name));
    // Calls have no adapters here, so some programs fail without the fault.
    all_are_caught(frequent.map(|&fault| (fault.name, fault)), &[], MOST_PROGRAMS, |seed, fault| {
        let case = generate(seed, &GeneratorProfile::default());
        let widens = || widens_with(&case, &faults);
        with_fault(fault, widens).is_err() && widens().is_ok()
    });
}
