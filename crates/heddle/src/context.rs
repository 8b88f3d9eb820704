//! What passes share while a module goes through them: settings, facts about functions, what they tell, and how long each
//! took.

use crate::passes::PassInfo;
use crate::profile::Profile;
use crate::verdicts::{divergent_branches, foldable_branches};
use heddle_ir::entity::EntitySet;
use heddle_ir::{Block, Diagnostic, Function, Module};
use heddle_transform::Remark;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Facts about functions, by name. A pass that leaves a function as they describe it keeps them for the next pass; of
/// what it does not keep, they are found anew.
#[derive(Default, Debug)]
pub struct AnalysisCache {
    /// Whether branches that may be folded count as divergent.
    pub folds_all: bool,
    known: FxHashMap<String, EntitySet<Block>>,
    kept: FxHashMap<String, EntitySet<Block>>,
}

impl AnalysisCache {
    /// The blocks whose branches may diverge. No loop may.
    pub fn divergent_branches(&mut self, func: &Function) -> Result<EntitySet<Block>, Diagnostic> {
        match self.known.remove(&func.name) {
            Some(known) => Ok(known),
            None => {
                let mut branches = divergent_branches(func)?;
                if self.folds_all {
                    foldable_branches(func).iter().for_each(|block| _ = branches.insert(block));
                }
                Ok(branches)
            }
        }
    }

    /// The function is left as these facts describe it.
    pub fn keep_divergent_branches(&mut self, func: &Function, branches: EntitySet<Block>) {
        self.kept.insert(func.name.clone(), branches);
    }

    fn next_pass(&mut self) {
        self.known = std::mem::take(&mut self.kept);
    }
}

/// How long a pass took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassTime {
    /// Its name.
    pub name: &'static str,
    /// On the clock.
    pub time: Duration,
}

/// Sees the module behind a pass.
type PassObserver<'a> = Box<dyn FnMut(&PassInfo, &Module) + 'a>;

/// What passes share.
#[derive(Default)]
pub struct PassContext<'a> {
    /// Whether what passes need and ensure is checked before and behind each of them.
    pub verify: bool,
    /// What is known of functions.
    pub facts: AnalysisCache,
    /// What passes have chosen, and why.
    pub remarks: Vec<Remark>,
    /// How long passes took, in their order.
    pub times: Vec<PassTime>,
    /// What a run has told.
    pub(crate) profile: Option<Arc<Profile>>,
    /// Functions whose branches lanes come to in another order than in the run.
    pub(crate) rearranged: BTreeSet<String>,
    /// How many brushes run side by side, once that is decided.
    pub(crate) side_by_side: Option<u32>,
    watch: Option<PassObserver<'a>>,
    cancelled: Option<&'a AtomicBool>,
}

impl fmt::Debug for PassContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("verify", &self.verify)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl<'a> PassContext<'a> {
    /// Nothing is checked, and nothing watches.
    pub fn new() -> PassContext<'a> {
        PassContext::default()
    }

    /// Everything is checked.
    pub fn verifying(verify: bool) -> PassContext<'a> {
        PassContext { verify, ..PassContext::default() }
    }

    /// With what a run has told of the module, whose branches get the weights that were seen.
    pub fn profiled(
        mut self,
        profile: Arc<Profile>,
        module: &mut Module,
    ) -> Result<PassContext<'a>, Diagnostic> {
        profile.annotate(module)?;
        self.profile = Some(profile);
        Ok(self)
    }

    /// With a function that sees the module behind each pass.
    #[must_use]
    pub fn watched(mut self, watch: impl FnMut(&PassInfo, &Module) + 'a) -> PassContext<'a> {
        self.watch = Some(Box::new(watch));
        self
    }

    /// With a flag that ends the run between two passes.
    #[must_use]
    pub fn cancelled_by(mut self, flag: &'a AtomicBool) -> PassContext<'a> {
        self.cancelled = Some(flag);
        self
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn begin(&mut self) {
        self.facts.next_pass();
    }

    pub(crate) fn end(&mut self, pass: &PassInfo, module: &Module, time: Duration) {
        self.times.push(PassTime { name: pass.name, time });
        if let Some(watch) = &mut self.watch {
            watch(pass, module);
        }
    }
}
