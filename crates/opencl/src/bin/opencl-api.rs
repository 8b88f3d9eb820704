//! Lists every entry of the OpenCL interface: done, or refused with the specification's error code.
#![forbid(unsafe_code)]

use heddle_opencl::api::dispatch::{ENTRIES, EntrySupport};
use std::io::{Write as _, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    let mut done = 0;
    for entry in &ENTRIES {
        let verdict = match entry.verdict() {
            EntrySupport::Done => {
                done += 1;
                "done"
            }
            EntrySupport::Refused => "refused: an option of the specification that the device does not have",
        };
        writeln!(out, "{:42} {verdict}", entry.name)?;
    }
    writeln!(out, "{done} done, {} refused, 0 missing of {} entries", ENTRIES.len() - done, ENTRIES.len())
}
