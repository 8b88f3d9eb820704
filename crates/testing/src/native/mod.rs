//! Native code, many functions at a time: programs in, vector code compiled for several instruction sets, run in
//! processes of their own, compared with what says how it is.
//!
//! Topics of the fuzzer: [`hed`] takes generated programs, and the oracle says what is right; [`c`] takes generated
//! C, and clang's scalar code says it; [`c::loops`] takes generated loops, of which the plugin makes vector code. What is counted are pairs: programs, each in so many lanes on an instruction set.

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
