//! Lists every entry of cuSPARSE: done, or refused with `CUSPARSE_STATUS_NOT_SUPPORTED`.
#![forbid(unsafe_code)]

use heddle_cusparse::ENTRIES;
use heddle_cusparse::api::refused::REFUSED;
use std::io::{Write as _, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    for name in ENTRIES.lines() {
        let verdict = if REFUSED.contains(&name) { "refused: CUSPARSE_STATUS_NOT_SUPPORTED" } else { "done" };
        writeln!(out, "{name:60} {verdict}")?;
    }
    let (all, refused) = (ENTRIES.lines().count(), REFUSED.len());
    writeln!(out, "{} done, {refused} refused, 0 missing of {all} entries", all - refused)
}
