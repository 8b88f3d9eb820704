//! Kernels whose launches know images.

use heddle_testing::assume_images;
use heddle_testing::known_images::{does_the_same, image_kernel};

assume_images!(heddle_transform::kernels);

#[test]
fn launches_with_known_images_do_the_same() {
    for seed in 1..2000 {
        if let Err(reason) = does_the_same(&image_kernel(seed), &assume) {
            panic!("seed {seed}: {reason}");
        }
    }
}
