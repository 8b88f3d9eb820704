//! Order of candidates: time of a code relative to the first one, as the cost model predicts it.

use crate::vector_code::{CodeForm, CodeVariant};
use heddle_compiler::KernelReport;
use heddle_ir::Module;
use heddle_transform::{LoopEstimate, TargetInfo, estimate_hottest_loop};

/// Properties of a kernel's first code that predict the time of others.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CodeTraits {
    /// Times of the hottest loop in tenths of a cycle: latency, busy, shared, serialized; zeros if no loop computes with vectors.
    pub(crate) hottest: [u32; 4],
    /// Number of loop-carried vector registers.
    pub(crate) registers: u32,
    /// Accesses that are gathers, scatters or lane by lane, and contiguous ones.
    pub(crate) scattered: u32,
    pub(crate) contiguous: u32,
    /// True if branches of the source were linearized.
    pub(crate) has_converted_branches: bool,
}

/// Number of words that traits are kept in.
pub(crate) const TRAIT_WORDS: usize = 8;

impl CodeTraits {
    /// Traits of the wide code of a kernel.
    pub(crate) fn new(module: &Module, report: &KernelReport, target: &TargetInfo) -> CodeTraits {
        let hottest = estimate_hottest_loop(module, target);
        let times = |it: LoopEstimate| [it.latency, it.busy, it.shared, it.serialized];
        let code = &report.code;
        CodeTraits {
            hottest: hottest.map(times).unwrap_or_default(),
            registers: hottest.map_or(0, |it| it.registers),
            scattered: (code.accesses.scattered + code.lane_by_lane.len()) as u32,
            contiguous: code.accesses.contiguous as u32,
            has_converted_branches: report.has_converted_branches(),
        }
    }

    pub(crate) fn to_words(self) -> [u64; TRAIT_WORDS] {
        let [latency, busy, shared, serialized] = self.hottest;
        let rest = [self.registers, self.scattered, self.contiguous, self.has_converted_branches.into()];
        let [registers, scattered, contiguous, folds] = rest;
        [latency, busy, shared, serialized, registers, scattered, contiguous, folds].map(u64::from)
    }

    pub(crate) fn of_words(words: [u64; TRAIT_WORDS]) -> CodeTraits {
        let words = words.map(|word| u32::try_from(word).unwrap_or(u32::MAX));
        let [latency, busy, shared, serialized, registers, scattered, contiguous, folds] = words;
        let hottest = [latency, busy, shared, serialized];
        CodeTraits { hottest, registers, scattered, contiguous, has_converted_branches: folds != 0 }
    }

    /// Predicted time of a code for `lanes` lanes, divided by that of the first code, which has `first` lanes.
    fn ratio_of_lanes(&self, lanes: u32, first: u32) -> f64 {
        /// Registers that hold loop-carried values without spills.
        const REGISTERS: f64 = 24.0;
        let count = f64::from(lanes) / f64::from(first.max(1));
        let [latency, busy, shared, serialized] = self.hottest.map(f64::from);
        // Time for the work-items of the first code's brush.
        let time = |busy: f64| latency.max(busy) + latency.min(busy) / 4.0;
        let of_first = time(busy + shared).max(1.0);
        if self.hottest == [0; 4] {
            let is_scattered = self.scattered > self.contiguous;
            return match lanes {
                1 if is_scattered => 0.95,
                1 => 3.0,
                _ if count < 1.0 => 1.15,
                _ => 0.98 + count / 20.0,
            };
        }
        if lanes == 1 {
            // Lanes that leave a divergent loop early save the rest of its iterations.
            let saved = if self.has_converted_branches { 0.6 } else { 1.0 };
            return (serialized + f64::from(first) * shared) * saved / of_first;
        }
        let spills = if f64::from(self.registers) * count > REGISTERS { 1.3 } else { 1.0 };
        time(busy * count + shared) / count / of_first * spills
    }

    /// Predicted time of a variant, divided by that of the first code.
    pub(crate) fn promise(&self, variant: &CodeVariant, first: &CodeVariant) -> f64 {
        let lanes = |it: &CodeVariant| it.brush.iter().product::<u32>();
        let ratio = self.ratio_of_lanes(lanes(variant), lanes(first));
        let is_tile = variant.brush[1] > first.brush[1];
        let tile = if is_tile && variant.form == CodeForm::Usual { 0.97 } else { 1.0 };
        ratio * tile * self.ratio_of_form(variant.form)
    }

    /// Predicted time of a form of code, divided by that of usual code with the same lanes.
    pub(crate) fn ratio_of_form(&self, form: CodeForm) -> f64 {
        match form {
            CodeForm::Usual => 1.0,
            CodeForm::Mixed if self.scattered > 0 => 0.9,
            CodeForm::Mixed => 1.2,
            CodeForm::Guarded => 0.95,
            CodeForm::Streaming => 0.9,
            CodeForm::LaneRefill if self.has_converted_branches => 0.92,
            CodeForm::LaneRefill => 1.3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_transform::AxisOrder;

    #[test]
    fn traits_are_kept_as_words() {
        let traits = CodeTraits {
            hottest: [1, 2, 3, 4],
            registers: 5,
            scattered: 6,
            contiguous: 7,
            has_converted_branches: true,
        };
        assert_eq!(CodeTraits::of_words(traits.to_words()), traits);
    }

    #[test]
    fn waiting_loops_gain_by_more_lanes_and_scattered_ones_by_one() {
        let waits = CodeTraits { hottest: [200, 40, 4, 500], registers: 2, ..CodeTraits::default() };
        assert!(waits.ratio_of_lanes(32, 16) < 0.7 && waits.ratio_of_lanes(1, 16) > 2.0);
        let scattered =
            CodeTraits { hottest: [200, 900, 4, 300], has_converted_branches: true, ..CodeTraits::default() };
        assert!(scattered.ratio_of_lanes(1, 16) < 0.5);
        let [plain, first] = [32, 16].map(|lanes| CodeVariant::of_rows(lanes, AxisOrder::WORK_ITEMS, true));
        assert!(
            CodeTraits::default().promise(&first, &first) > 1.0
                && CodeTraits::default().promise(&plain, &first) > 1.0
        );
    }
}
