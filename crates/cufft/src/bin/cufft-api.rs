//! Lists every entry of cuFFT: done, or refused with `CUFFT_NOT_SUPPORTED`.
#![forbid(unsafe_code)]

use heddle_cufft::ENTRIES;
use heddle_cufft::refused::REFUSED;
use std::io::{Write as _, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    for name in ENTRIES.lines() {
        let verdict = if REFUSED.contains(&name) { "refused: CUFFT_NOT_SUPPORTED" } else { "done" };
        writeln!(out, "{name:50} {verdict}")?;
    }
    let (all, refused) = (ENTRIES.lines().count(), REFUSED.len());
    writeln!(out, "{} done, {refused} refused, 0 missing of {all} entries", all - refused)
}
