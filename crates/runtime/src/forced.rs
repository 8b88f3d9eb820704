//! Choices that are made by hand in the place of models: to compare mechanisms, and to test each by itself.

use heddle_compiler::{IfConversion, PassPolicy, RootPrecision, StorePolicy};
use heddle_ir::Diagnostic;
use heddle_transform::VersioningPolicy;
use heddle_transform::boscc::GuardPolicy;
use heddle_transform::scalar_replacement::ReplacementVariant;
use std::str::FromStr;

/// Choices that are forced instead of left to models. The text form is that of the pipeline's options:
/// `guards=force,versions=none`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForcedOptions {
    guards: GuardPolicy,
    versions: VersioningPolicy,
    branches: IfConversion,
    fuse: PassPolicy,
    flatten: PassPolicy,
    strips: PassPolicy,
    refill: PassPolicy,
    scalars: Option<ReplacementVariant>,
    roots: RootPrecision,
    stores: StorePolicy,
}

impl FromStr for ForcedOptions {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<ForcedOptions, Diagnostic> {
        Ok(text.parse::<heddle_compiler::VectorizeOptions>()?.into())
    }
}

impl From<heddle_compiler::VectorizeOptions> for ForcedOptions {
    fn from(options: heddle_compiler::VectorizeOptions) -> ForcedOptions {
        let heddle_compiler::VectorizeOptions {
            guards,
            versions,
            branches,
            fuse,
            flatten,
            strips,
            refill,
            scalars,
            roots,
            stores,
            ..
        } = options;
        ForcedOptions { guards, versions, branches, fuse, flatten, strips, refill, scalars, roots, stores }
    }
}

/// Nothing is forced.
impl Default for ForcedOptions {
    fn default() -> ForcedOptions {
        heddle_compiler::VectorizeOptions::default().into()
    }
}

impl ForcedOptions {
    /// Where regions get versions.
    pub(crate) fn versions(&self) -> VersioningPolicy {
        self.versions
    }

    /// Returns the options with exact roots and quotients.
    pub fn with_exact_roots(self) -> ForcedOptions {
        ForcedOptions { roots: RootPrecision::Exact, ..self }
    }

    /// True if the kind of stores is not forced.
    pub(crate) fn leaves_stores_open(&self) -> bool {
        self.stores == StorePolicy::Cached
    }

    /// Returns the options with stores that bypass the caches.
    pub(crate) fn with_streamed_stores(self) -> ForcedOptions {
        ForcedOptions { stores: StorePolicy::Streamed, ..self }
    }

    /// Where lanes take new work-items.
    pub(crate) fn refill(&self) -> PassPolicy {
        self.refill
    }

    /// True if guards are not forced.
    pub(crate) fn leaves_guards_open(&self) -> bool {
        self.guards == GuardPolicy::Model
    }

    /// Returns the options with guards wherever they are possible.
    pub(crate) fn with_guards(self) -> ForcedOptions {
        ForcedOptions { guards: GuardPolicy::Force, ..self }
    }

    /// Options of the pipeline with what is forced.
    pub(crate) fn over(
        &self,
        options: heddle_compiler::VectorizeOptions,
    ) -> heddle_compiler::VectorizeOptions {
        let &ForcedOptions {
            guards,
            versions,
            branches,
            fuse,
            flatten,
            strips,
            refill,
            scalars,
            roots,
            stores,
        } = self;
        heddle_compiler::VectorizeOptions {
            guards,
            versions,
            branches,
            fuse,
            flatten,
            strips,
            refill,
            scalars,
            roots,
            stores,
            ..options
        }
    }
}
