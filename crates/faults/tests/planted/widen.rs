//! Rules of widening.

use crate::fault;
use heddle_analysis::shape::Activation;
use heddle_analysis::{AccessGroups, ControlTables, InitialShapes, divergence};
use heddle_faults::WIDEN;
use heddle_faults::transform::widen::{self as woven, WidenContext, WidenOptions, replace_launches};
use heddle_faults::transform::{geometry_of, lock_step_functions};
use heddle_faults::with_fault;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::wide::{WideningFaults, widens_with};
use heddle_transform::VersioningPolicy;

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
    let options = WidenOptions { target: options.target, versions };
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

#[test]
fn stores_that_meet_are_kept_in_order() {
    let faults = WideningFaults { widen, ..WideningFaults::NONE };
    // Calls have no adapters here, so some programs fail without the fault.
    let caught = (1..=MOST_PROGRAMS).find(|&seed| {
        let case = generate(seed, &GeneratorProfile::default());
        let widens = || widens_with(&case, &faults);
        with_fault(fault(WIDEN, "Order"), widens).is_err() && widens().is_ok()
    });
    println!("caught by program {caught:?}");
    assert!(caught.is_some());
}
