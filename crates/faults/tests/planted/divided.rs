//! Rules of kernels that divide their index.

use heddle_faults::DIVIDED;
use heddle_faults::transform::kernels::{IndexExtent, LaunchForm, launch_form};
use heddle_faults::with_fault;
use heddle_ir::Function;
use heddle_testing::caught::all_are_caught;
use heddle_testing::divided::{DividedForms, cuts_at_guards, divides_by, dividing_kernel, guarded_kernel};

/// Maximum number of kernels until a fault must show.
const MOST_PROGRAMS: u64 = 2000;

#[test]
fn every_rule_is_needed() {
    all_are_caught(DIVIDED.iter().map(|&fault| (fault.name, fault)), &[], MOST_PROGRAMS, |seed, fault| {
        let divide = |func: &Function, parameter: &dyn Fn(u32) -> Option<u64>| {
            let divided = with_fault(fault, || launch_form(func, |_| false));
            let LaunchForm { kernel, bounded, extents, limits, bounds } = divided?;
            let values =
                |extents: &[IndexExtent]| extents.iter().map(|it| it.value(parameter)).collect::<Option<_>>();
            let mut ends = [None; 3];
            for (end, bound) in ends.iter_mut().zip(&bounds) {
                *end = match bound {
                    Some(bound) => Some(bound.value(parameter)?),
                    None => None,
                };
            }
            let forms = [Some(kernel), bounded].into_iter().flatten().collect();
            Some(DividedForms { forms, extents: values(&extents)?, limits: values(&limits)?, bounds: ends })
        };
        divides_by(&dividing_kernel(seed), &divide).is_err()
            || cuts_at_guards(&guarded_kernel(seed), &divide).is_err()
    });
}
