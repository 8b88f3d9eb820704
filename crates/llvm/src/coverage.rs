//! What of LLVM is taken: every opcode and every intrinsic, done, refused or missing.

use crate::import::instruction_table;
use crate::import::intrinsic::{How, how};
use crate::view::intrinsic_names;
use std::fmt;

/// What becomes of a part of LLVM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is taken.
    Done,
    /// It is refused, for this reason.
    Refused(String),
    /// It was not thought of.
    Missing,
}

/// The verdicts on every opcode and intrinsic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// Opcodes, in LLVM's order.
    pub instructions: Vec<(String, Verdict)>,
    /// Intrinsics, in LLVM's order.
    pub intrinsics: Vec<(String, Verdict)>,
}

/// Asks LLVM for all that there is, and the importer what becomes of it.
pub fn coverage() -> Coverage {
    let intrinsics = intrinsic_names().into_iter().map(|name| {
        let verdict = match how(&name) {
            None => Verdict::Missing,
            Some(How::Refused(reason)) => Verdict::Refused(reason.into()),
            Some(_) => Verdict::Done,
        };
        (name, verdict)
    });
    Coverage { instructions: instruction_table(), intrinsics: intrinsics.collect() }
}

impl Coverage {
    /// What is missing.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let all = self.instructions.iter().chain(&self.intrinsics);
        all.filter(|(_, verdict)| *verdict == Verdict::Missing).map(|(name, _)| &**name)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |list: &[(String, Verdict)]| {
            let of =
                |wanted: fn(&Verdict) -> bool| list.iter().filter(|(_, verdict)| wanted(verdict)).count();
            (
                of(|verdict| *verdict == Verdict::Done),
                of(|verdict| matches!(verdict, Verdict::Refused(_))),
                of(|verdict| *verdict == Verdict::Missing),
            )
        };
        for (what, list) in [("instructions", &self.instructions), ("intrinsics", &self.intrinsics)] {
            for (name, verdict) in list {
                match verdict {
                    Verdict::Done => writeln!(f, "{name}: done")?,
                    Verdict::Refused(reason) => writeln!(f, "{name}: refused, {reason}")?,
                    Verdict::Missing => writeln!(f, "{name}: missing")?,
                }
            }
            let (done, refused, missing) = count(list);
            writeln!(f, "{what}: {done} done, {refused} refused, {missing} missing")?;
        }
        Ok(())
    }
}
