//! Remark for vector code that is slower than scalar code by the cost model.

use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_transform::{TargetInfo, compare_with_scalars};

/// Minimum gain of scalar code for the remark, in percent.
const MIN_GAIN: u64 = 10;

/// Returns a remark if, by the throughput model, the hottest loop takes fewer cycles per iteration as scalar code than as wide
/// code.
pub(crate) fn scalar_wins(
    module: &Module,
    wide: &str,
    source: &str,
    lanes: u32,
    target: &TargetInfo,
) -> Option<Diagnostic> {
    let compared = compare_with_scalars(module, module.function(wide)?, lanes, target)?;
    let wins = u64::from(compared.scalars) * (100 + MIN_GAIN) < u64::from(compared.vectors) * 100;
    let cycles = |tenths: u32| format!("{}.{}", tenths / 10, tenths % 10);
    let text = format!(
        "scalar code is likely faster: an iteration of {lanes} lanes takes {} cycles as vector code, and {} as scalar code, on {}",
        cycles(compared.vectors),
        cycles(compared.scalars),
        target.name
    );
    let diagnostic =
        Diagnostic::remark(Code::ScalarWins, text).at(DiagnosticLocation::of_func(source).at(compared.loc));
    wins.then(|| diagnostic.in_module(module))
}
