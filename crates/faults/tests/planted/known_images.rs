//! Rules of images that launches know.

use heddle_faults::KNOWN_IMAGES;
use heddle_faults::with_fault;
use heddle_testing::assume_images;
use heddle_testing::caught::all_are_caught;
use heddle_testing::known_images::{does_the_same, image_kernel};

assume_images!(heddle_faults::transform::kernels);

#[test]
fn every_rule_is_needed() {
    all_are_caught(KNOWN_IMAGES.iter().map(|&fault| (fault.name, fault)), &[], 2000, |seed, fault| {
        with_fault(fault, || does_the_same(&image_kernel(seed), &assume).is_err())
    });
}
