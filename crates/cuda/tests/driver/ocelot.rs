//! `ptx_run`, as a simulated GPU calls it.

use crate::place::{passes, python, source};

#[test]
fn texts_of_ptx_run_by_themselves() {
    passes(python(), &[&source("ptx_run.py")], &[]);
}
