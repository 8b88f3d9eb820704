//! Import coverage of LLVM: every opcode and intrinsic, done, refused or missing.

use crate::import::instruction_table;
use crate::import::intrinsic::{IntrinsicLowering, intrinsic_lowering};
use crate::view::intrinsic_names;
use std::fmt;

/// Import status of an LLVM opcode or intrinsic, or of a builtin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportSupport {
    /// Supported.
    Done,
    /// Refused, for this reason.
    Refused(String),
    /// Unknown to the importer.
    Missing,
}

/// Import status of every opcode and intrinsic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LlvmCoverage {
    /// Opcodes, in LLVM's order.
    pub instructions: Vec<(String, ImportSupport)>,
    /// Intrinsics, in LLVM's order.
    pub intrinsics: Vec<(String, ImportSupport)>,
}

/// Lists the opcodes and intrinsics of LLVM with their import status.
pub fn coverage() -> LlvmCoverage {
    let intrinsics = intrinsic_names().into_iter().map(|name| {
        let verdict = match intrinsic_lowering(&name) {
            None => ImportSupport::Missing,
            Some(IntrinsicLowering::Refused(reason)) => ImportSupport::Refused(reason.into()),
            Some(_) => ImportSupport::Done,
        };
        (name, verdict)
    });
    LlvmCoverage { instructions: instruction_table(), intrinsics: intrinsics.collect() }
}

impl LlvmCoverage {
    /// Returns the names that the importer does not know.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let all = self.instructions.iter().chain(&self.intrinsics);
        all.filter(|(_, verdict)| *verdict == ImportSupport::Missing).map(|(name, _)| &**name)
    }
}

impl fmt::Display for LlvmCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |list: &[(String, ImportSupport)]| {
            let of = |predicate: fn(&ImportSupport) -> bool| {
                list.iter().filter(|(_, verdict)| predicate(verdict)).count()
            };
            (
                of(|verdict| *verdict == ImportSupport::Done),
                of(|verdict| matches!(verdict, ImportSupport::Refused(_))),
                of(|verdict| *verdict == ImportSupport::Missing),
            )
        };
        for (what, list) in [("instructions", &self.instructions), ("intrinsics", &self.intrinsics)] {
            for (name, verdict) in list {
                match verdict {
                    ImportSupport::Done => writeln!(f, "{name}: done")?,
                    ImportSupport::Refused(reason) => writeln!(f, "{name}: refused, {reason}")?,
                    ImportSupport::Missing => writeln!(f, "{name}: missing")?,
                }
            }
            let (done, refused, missing) = count(list);
            writeln!(f, "{what}: {done} done, {refused} refused, {missing} missing")?;
        }
        Ok(())
    }
}
