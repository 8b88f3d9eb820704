//! State that passes share while they run on a module: settings, cached analyses, remarks and times.

use crate::divergence::{divergent_branches, if_convertible_branches};
use crate::options::BrushExtents;
use crate::passes::PassInfo;
use crate::profile::Profile;
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Diagnostic, Function, Module};
use heddle_transform::Remark;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Results of analyses by function. A pass that preserves a result stores it again; results it does not store are
/// recomputed for the next pass.
#[derive(Default, Debug)]
pub struct AnalysisCache {
    /// True to treat uniform branches that can be if-converted as divergent.
    pub converts_uniform_branches: bool,
    cached: FxHashMap<String, EntitySet<Block>>,
    preserved: FxHashMap<String, EntitySet<Block>>,
}

impl AnalysisCache {
    /// Returns the blocks with divergent branches. Requires that no loop is divergent.
    pub fn divergent_branches(&mut self, func: &Function) -> Result<EntitySet<Block>, Diagnostic> {
        match self.cached.remove(&func.name) {
            Some(known) => Ok(known),
            None => {
                let mut branches = divergent_branches(func)?;
                if self.converts_uniform_branches {
                    if_convertible_branches(func).iter().for_each(|block| _ = branches.insert(block));
                }
                Ok(branches)
            }
        }
    }

    /// Marks the divergent branches of a function as preserved.
    pub fn preserve_divergent_branches(&mut self, func: &Function, branches: EntitySet<Block>) {
        self.preserved.insert(func.name.clone(), branches);
    }

    fn begin_pass(&mut self) {
        self.cached = std::mem::take(&mut self.preserved);
    }
}

/// Wall-clock time of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassTime {
    /// Name of the pass.
    pub name: &'static str,
    /// Wall-clock time.
    pub time: Duration,
}

/// Callback that receives the module after each pass.
type PassObserver<'a> = Box<dyn FnMut(&PassInfo, &Module) + 'a>;

/// State that passes share.
#[derive(Default)]
pub struct PassContext<'a> {
    /// True to verify the required and ensured stage around each pass.
    pub verify: bool,
    /// Cached analyses.
    pub analyses: AnalysisCache,
    /// Remarks of the passes: decisions and their reasons.
    pub remarks: Vec<Remark>,
    /// Times of the passes, in the order they ran.
    pub times: Vec<PassTime>,
    /// Profile of an earlier run.
    pub(crate) profile: Option<Arc<Profile>>,
    /// Functions in which a pass changed the order of lanes, so edge profiles no longer hold.
    pub(crate) reordered_functions: BTreeSet<String>,
    /// Number of brushes side by side, once it is decided.
    pub(crate) side_by_side: Option<u32>,
    observer: Option<PassObserver<'a>>,
    cancelled: Option<&'a AtomicBool>,
}

impl fmt::Debug for PassContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("verify", &self.verify)
            .field("facts", &self.analyses)
            .finish_non_exhaustive()
    }
}

impl<'a> PassContext<'a> {
    /// Creates a context without verification and without an observer.
    pub fn new() -> PassContext<'a> {
        PassContext::default()
    }

    /// Creates a context that verifies around each pass if `verify` is set.
    pub fn verifying(verify: bool) -> PassContext<'a> {
        PassContext { verify, ..PassContext::default() }
    }

    /// Sets the profile and annotates the module's branches with its weights.
    pub fn profiled(
        mut self,
        profile: Arc<Profile>,
        module: &mut Module,
    ) -> Result<PassContext<'a>, Diagnostic> {
        profile.annotate(module)?;
        self.profile = Some(profile);
        Ok(self)
    }

    /// Sets a callback that receives the module after each pass.
    #[must_use]
    pub fn watched(mut self, watch: impl FnMut(&PassInfo, &Module) + 'a) -> PassContext<'a> {
        self.observer = Some(Box::new(watch));
        self
    }

    /// Sets a flag that cancels the run before the next pass.
    #[must_use]
    pub fn cancelled_by(mut self, flag: &'a AtomicBool) -> PassContext<'a> {
        self.cancelled = Some(flag);
        self
    }

    /// Returns the extents of all brushes side by side.
    pub(crate) fn all_lanes(&self, brush: &BrushExtents) -> Result<BrushExtents, Diagnostic> {
        brush.times(self.side_by_side.unwrap_or(1))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn begin_pass(&mut self) {
        self.analyses.begin_pass();
    }

    pub(crate) fn end_pass(&mut self, pass: &PassInfo, module: &Module, time: Duration) {
        self.times.push(PassTime { name: pass.name, time });
        if let Some(observer) = &mut self.observer {
            observer(pass, module);
        }
    }
}
