//! Choices that are made by hand in the place of models: to compare mechanisms, and to test each by itself.

use heddle::{Branches, Roots, Stores, Wanted};
use heddle_ir::Diagnostic;
use heddle_transform::VersioningPolicy;
use heddle_transform::boscc::GuardPolicy;
use heddle_transform::scalar_replacement::Variant;
use std::str::FromStr;

/// How kernels are compiled where models would choose. The text form is that of the pipeline's options:
/// `guards=force,versions=none`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forced {
    guards: GuardPolicy,
    versions: VersioningPolicy,
    branches: Branches,
    fuse: Wanted,
    flatten: Wanted,
    refill: Wanted,
    scalars: Option<Variant>,
    roots: Roots,
    stores: Stores,
}

impl FromStr for Forced {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<Forced, Diagnostic> {
        Ok(text.parse::<heddle::Options>()?.into())
    }
}

impl From<heddle::Options> for Forced {
    fn from(options: heddle::Options) -> Forced {
        let heddle::Options {
            guards, versions, branches, fuse, flatten, refill, scalars, roots, stores, ..
        } = options;
        Forced { guards, versions, branches, fuse, flatten, refill, scalars, roots, stores }
    }
}

/// Nothing is forced.
impl Default for Forced {
    fn default() -> Forced {
        heddle::Options::default().into()
    }
}

impl Forced {
    /// Where regions get versions.
    pub(crate) fn versions(&self) -> VersioningPolicy {
        self.versions
    }

    /// The same with roots and quotients that are exact.
    pub fn with_exact_roots(self) -> Forced {
        Forced { roots: Roots::Exact, ..self }
    }

    /// Whether nothing is said of stores.
    pub(crate) fn leaves_stores_open(&self) -> bool {
        self.stores == Stores::Cached
    }

    /// The same with stores that go past the caches.
    pub(crate) fn with_streamed_stores(self) -> Forced {
        Forced { stores: Stores::Streamed, ..self }
    }

    /// Where lanes take new work-items.
    pub(crate) fn refill(&self) -> Wanted {
        self.refill
    }

    /// Whether nothing is said of guards.
    pub(crate) fn leaves_guards_open(&self) -> bool {
        self.guards == GuardPolicy::Model
    }

    /// The same with guards wherever they can be.
    pub(crate) fn with_guards(self) -> Forced {
        Forced { guards: GuardPolicy::Force, ..self }
    }

    /// Options of the pipeline with what is forced.
    pub(crate) fn over(&self, options: heddle::Options) -> heddle::Options {
        let &Forced { guards, versions, branches, fuse, flatten, refill, scalars, roots, stores } = self;
        heddle::Options {
            guards,
            versions,
            branches,
            fuse,
            flatten,
            refill,
            scalars,
            roots,
            stores,
            ..options
        }
    }
}
