//! Lists every entry of the OpenCL interface: done, or refused with the specification's error code.
#![forbid(unsafe_code)]

use heddle_opencl::api::dispatch::{ENTRIES, EXTENSION_ENTRIES, EntrySupport};
use std::io::{Write as _, stdout};

fn main() -> std::io::Result<()> {
    let mut out = stdout().lock();
    let mut done = 0;
    for entry in ENTRIES.iter().chain(EXTENSION_ENTRIES) {
        let verdict = match entry.verdict() {
            EntrySupport::Done => {
                done += 1;
                "done"
            }
            EntrySupport::Refused => "refused: an option of the specification that the device does not have",
        };
        writeln!(out, "{:42} {verdict}", entry.name)?;
    }
    let count = ENTRIES.len() + EXTENSION_ENTRIES.len();
    writeln!(out, "{done} done, {} refused, 0 missing of {count} entries", count - done)
}
