//! Lists every entry of cuSOLVER: done, or refused with `CUSOLVER_STATUS_NOT_SUPPORTED`.
#![forbid(unsafe_code)]

use heddle_cusolver::ENTRIES;
use heddle_cusolver::api::refused::REFUSED;
use std::io::{Write as _, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    for name in ENTRIES.lines() {
        let verdict = if REFUSED.contains(&name) { "refused: CUSOLVER_STATUS_NOT_SUPPORTED" } else { "done" };
        writeln!(out, "{name:60} {verdict}")?;
    }
    let (all, refused) = (ENTRIES.lines().count(), REFUSED.len());
    writeln!(out, "{} done, {refused} refused, 0 missing of {all} entries", all - refused)
}
