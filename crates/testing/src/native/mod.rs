//! Tests of native code: many functions are compiled for several instruction sets, run in separate processes, and
//! compared with a reference.
//!
//! Topics of the fuzzer: [`hed`] takes generated programs, with the interpreter as the reference; [`c`] takes generated
//! C, with clang's scalar code; [`c::loops`] takes generated loops for the plugin. The unit of counting is a pair: a
//! program with a number of lanes on an instruction set.

mod target;
mod workshop;
mod tally;
mod compile;
pub mod hed;
pub mod c;
mod locks;
mod drive;

pub use compile::CodeQuality;
pub use drive::{NATIVE_TOPICS, NativePlan, NativeReport, NativeTopic, drive, native_topic};
pub use locks::check_locks;
pub use tally::{NativeFind, NativeTally, Phase, TestedPair};
pub use target::InstructionSet;
