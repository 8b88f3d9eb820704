//! The pass `ssrqp`: parses its options and turns its results into remarks.

use crate::options::{BrushExtents, invalid_option, parse_races, parse_target, parse_variant};
use heddle_ir::diagnostic::DiagnosticLocation;
use heddle_ir::{Code, Diagnostic, Module};
use heddle_transform::fuse::MachineModel;
use heddle_transform::scalar_replacement::{ReplacementOptions, ReplacementStatistics};
use heddle_transform::widen::{Remark, RemarkKind};
use heddle_transform::{TargetInfo, replace_scalars};

/// Parses options separated by `+`: a variant, lanes and a machine for `cost`, `races=excluded`.
pub(crate) fn parse_replacement_options(words: &str) -> Result<ReplacementOptions, Diagnostic> {
    let mut options = ReplacementOptions::default();
    let (mut lanes, mut target) = (8, Some(TargetInfo::default()));
    for word in words.split('+').filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some(("races", races)) => options.races = parse_races(races)?,
            Some(("target", "warps")) => target = None,
            Some(("target", name)) => target = Some(parse_target(name)?),
            None if word.starts_with(|first: char| first.is_ascii_digit()) => {
                lanes = word.parse::<BrushExtents>()?.lanes();
            }
            None => options.variant = parse_variant(word)?,
            Some(_) => {
                let help = "write a variant, lanes, `target=avx512`, `target=warps` or `races=excluded`";
                return Err(invalid_option(word, help));
            }
        }
    }
    options.machine = target.map_or(MachineModel::Warps, |target| MachineModel::Vectors(target, lanes));
    Ok(options)
}

/// Runs scalar replacement on all functions; returns a remark for each function it changed.
pub(crate) fn replace_scalars_in_module(module: &mut Module, options: &ReplacementOptions) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for func in &mut module.functions {
        let replaced = replace_scalars(func, options);
        if replaced != ReplacementStatistics::default() {
            let diagnostic = Diagnostic::remark(Code::Scalars, replaced.to_string())
                .at(DiagnosticLocation::of_func(&func.name));
            remarks.push(Remark { kind: RemarkKind::ScalarReplacement, accesses: 0, diagnostic });
        }
    }
    remarks
}
