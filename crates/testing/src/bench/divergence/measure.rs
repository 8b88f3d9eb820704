//! Interprets one run of a kernel: its output and its profile.

use heddle_interp::{
    Argument, CycleCosts, Datum, FunctionProfile, Memory, RunLimits, RunOptions, Scheduler, run as run_oracle,
};
use heddle_ir::{Module, Space};

/// The numbers in each object of a kernel, but for those that read more.
pub(super) const NUMBERS: usize = 4096;

/// Result and cost of a run.
pub(super) struct RunMeasurement {
    /// Contents of the output and of the input after the run.
    pub(super) written: [Vec<u8>; 2],
    pub(super) instructions: u64,
    pub(super) cycles: u64,
    pub(super) profile: FunctionProfile,
}

/// Runs a module's kernel with `lanes` lanes under a reconvergence stack. The output initially holds a copy of the
/// input.
pub(super) fn measure(module: &Module, lanes: u32, read: &[u8]) -> Result<RunMeasurement, String> {
    let options = RunOptions { scheduler: Scheduler::Ipdom, profile: true, ..RunOptions::lanes(lanes) };
    let limits = RunLimits { work: u64::MAX / 2, steps: u64::MAX / 2, ..options.limits };
    let options = RunOptions { limits, ..options };
    let mut memory = Memory::new();
    let from = memory.add(Space::Global, Some("read"), 16, read.to_vec());
    let mut start = read.to_vec();
    start.resize(4 * NUMBERS, 0);
    let to = memory.add(Space::Global, Some("written"), 16, start);
    let args = [from, to].map(|address| Argument::Uniform(Datum::Bits(address.into())));
    let mut outcome =
        run_oracle(module, "f", &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
    let profile = outcome.profile.take().unwrap_or_default().functions.into_iter().next().unwrap_or_default();
    let (instructions, cycles) = profile.total(&module.functions[0], &CycleCosts::default());
    let bytes = |name| memory.object(name).map(|object| object.bytes.to_vec()).unwrap_or_default();
    Ok(RunMeasurement { written: [bytes("written"), bytes("read")], instructions, cycles, profile })
}
