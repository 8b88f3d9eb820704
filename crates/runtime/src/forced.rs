//! Choices that are made by hand in the place of models: to compare mechanisms, and to test each by itself.

use heddle::Branches;
use heddle_ir::Diagnostic;
use heddle_transform::Versions;
use heddle_transform::boscc::Policy;
use heddle_transform::scalar_replacement::Variant;
use std::str::FromStr;

/// How kernels are compiled where models would choose. The text form is that of the pipeline's options:
/// `guards=force,versions=none`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Forced {
    guards: Policy,
    versions: Versions,
    branches: Branches,
    fuse: bool,
    scalars: Option<Variant>,
}

impl FromStr for Forced {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<Forced, Diagnostic> {
        let heddle::Options { guards, versions, branches, fuse, scalars, .. } = text.parse()?;
        Ok(Forced { guards, versions, branches, fuse, scalars })
    }
}

impl Forced {
    /// Where regions get versions.
    pub(crate) fn versions(&self) -> Versions {
        self.versions
    }

    /// Options of the pipeline with what is forced.
    pub(crate) fn over(&self, options: heddle::Options) -> heddle::Options {
        let &Forced { guards, versions, branches, fuse, scalars } = self;
        heddle::Options { guards, versions, branches, fuse, scalars, ..options }
    }
}
