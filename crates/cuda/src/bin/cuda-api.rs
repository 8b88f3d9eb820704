//! Lists every entry of CUDA's driver interface: done, or refused with `CUDA_ERROR_NOT_SUPPORTED`.
#![forbid(unsafe_code)]

use heddle_cuda::api::lookup::ENTRIES;
use heddle_cuda::api::refused::REFUSED;
use std::io::{Write as _, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    let entries: Vec<&str> = ENTRIES.lines().filter_map(|line| line.split(' ').next()).collect();
    for &name in &entries {
        let verdict = if REFUSED.contains(&name) { "refused: CUDA_ERROR_NOT_SUPPORTED" } else { "done" };
        writeln!(out, "{name:50} {verdict}")?;
    }
    let (all, refused) = (entries.len(), REFUSED.len());
    writeln!(out, "{} done, {refused} refused, 0 missing of {all} entries", all - refused)
}
