//! Python packages that reach the driver, from pinned wheels in a virtual environment of their own.

use crate::place::{passes, python, source};

fn script_passes(name: &str, environment: &[(&str, &str)]) {
    passes(python(), &[&source(name)], environment);
}

#[test]
fn tinygrad_computes_and_trains() {
    script_passes("tinygrad_operations.py", &[("DEV", "CUDA:PTX")]);
}

#[test]
fn numba_runs_kernels() {
    script_passes("numba_kernels.py", &[]);
}

#[test]
fn cuda_python_compiles_links_and_captures() {
    script_passes("cuda_python.py", &[]);
}
