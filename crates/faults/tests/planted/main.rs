//! Rules of passes and analyses left out, one at a time: the harness notices each one.

mod accessed;
mod arrays;
mod divergence;
mod bounded_indices;
mod divided;
mod flatten;
mod known_images;
mod known_strides;
mod nests;
mod refill;
mod scalars;
mod strips;
mod versions;
mod widen;

/// Copies of files of the harness that name types of the woven analysis.
mod harness {
    include!(concat!(env!("OUT_DIR"), "/harness.rs"));
}

/// The fault of this name.
fn fault(faults: &[heddle_faults::PlantedFault], name: &str) -> heddle_faults::PlantedFault {
    *faults.iter().find(|fault| fault.name == name).unwrap_or_else(|| panic!("no fault is called {name}"))
}

/// The file test of this name.
fn transform_test(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/transform").join(name)
}
