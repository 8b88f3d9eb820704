//! Planted faults: selects at run time which fault of the woven passes is active.
//!
//! The build script copies the sources of `analysis` and `transform` and replaces the lines that `planted/*.txt` names, each fault
//! behind the condition [`is_planted`]. One build serves all faults, and the product has no trace of them.
#![forbid(unsafe_code)]

use std::cell::Cell;

include!(concat!(env!("OUT_DIR"), "/woven.rs"));

/// A fault of the woven passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlantedFault {
    /// Name in its file.
    pub name: &'static str,
    /// Rule of the pass that the fault breaks.
    pub rule: &'static str,
    /// Number that the woven condition compares.
    pub number: u32,
}

thread_local! {
    static ACTIVE: Cell<u32> = const { Cell::new(0) };
}

/// True if the fault with this number is active in this thread. Number 0 is none.
pub fn is_planted(number: u32) -> bool {
    ACTIVE.get() == number
}

/// Calls a function with a fault active in this thread.
pub fn with_fault<T>(fault: PlantedFault, run: impl FnOnce() -> T) -> T {
    struct Restore(u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            ACTIVE.set(self.0);
        }
    }
    let _restore = Restore(ACTIVE.replace(fault.number));
    run()
}
