//! Rules of kernels that divide their index.

use heddle_faults::DIVIDED;
use heddle_faults::transform::kernels::{DividedIndex, IndexExtent, divided_index};
use heddle_faults::with_fault;
use heddle_ir::Function;
use heddle_testing::caught::all_are_caught;
use heddle_testing::divided::{DividedForms, divides_by, dividing_kernel};

/// Maximum number of kernels until a fault must show.
const MOST_PROGRAMS: u64 = 2000;

#[test]
fn every_rule_is_needed() {
    all_are_caught(DIVIDED.iter().map(|&fault| (fault.name, fault)), &[], MOST_PROGRAMS, |seed, fault| {
        let divide = |func: &Function, parameter: &dyn Fn(u32) -> Option<u64>| {
            let divided = with_fault(fault, || divided_index(func, "k.divided", |_| false));
            let DividedIndex { kernel, bounded, extents, limits, bound } = divided?;
            let values =
                |extents: &[IndexExtent]| extents.iter().map(|it| it.value(parameter)).collect::<Option<_>>();
            let bound = match bound {
                Some(bound) => Some(bound.value(parameter)?),
                None => None,
            };
            let (extents, limits) = (values(&extents)?, values(&limits)?);
            Some(DividedForms { forms: [kernel, bounded], extents, limits, bound })
        };
        divides_by(&dividing_kernel(seed), &divide).is_err()
    });
}
