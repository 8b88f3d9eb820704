//! Choice of a kernel's first code by estimates, before any code ran.
//!
//! For launches in groups of one size there are several codes: one lane, half, twice and four times the lanes of a register, a tile of
//! two dimensions, and code that runs parts one work-item after the other. Where rows are short, compiled code of longer brushes is one of them;
//! its estimate counts the lanes without a work-item. Each is made up to stage Wide and estimated
//! (`heddle_transform::code_estimate`); LLVM compiles the one with the least time, that of its compilation included. The estimates also
//! order the candidates of run-time selection, and are kept on disk.
//!
//! Decision: how long a kernel will run is not known, so some hundred launches like the first one are assumed, in which faster code must gain
//! what its compilation takes longer. Where a kernel runs for longer, run-time selection comes to the fastest code. Code of 64 lanes takes
//! LLVM twice the time that code of 16 lanes takes, and a kernel of some hundred lines 0.1 s. Where code was compiled before the launch, other
//! code must gain its compilation in this launch alone: if there are more, run-time selection compiles it during them. If that code is at
//! least three times slower than the best, ten launches are assumed, and launches that have taken a tenth of the compilation choose again:
//! programs that tune themselves launch each size once. Measured times of long work-items correct their estimates. Computed from the
//! measured times of all codes of 72 kernels without compiled code, with `COMPILATION` for each instruction, choices for 300 launches take
//! 0.93 of those for half a second in the first launch and in the first ten, 0.95 in the first hundred, 0.99 in the first thousand, and 1.02
//! in ten thousand without trials. Estimates take time themselves, so short launches run code that is compiled until they have taken
//! much longer than estimates would.

use crate::code::{BuildError, EstimatedCost, estimate};
use crate::environment;
use crate::program::{BuildOptions, PreparedKernel, STACK};
use crate::range::{GroupForm, TILE_ROWS};
use crate::selection::Trials;
use crate::vector_code::{CodeForm, CodeVariant};
use heddle_ir::types::MAX_DEFAULT_LANES;
use heddle_llvm::catch_fatal_errors;
use heddle_transform::{KnownImages, KnownStrides, LaunchPromises, WorkItemLayout};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Estimated time of another code, relative to the default one, from which on the default one stays: estimates are this inexact.
const CLEARLY_LESS: f64 = 0.95;
/// Bound for code of one lane. Its estimates are the least exact, since LLVM may vectorize it by itself.
const CLEARLY_LESS_SCALAR: f64 = 0.8;
/// Bound for code that runs parts one work-item at a time, whose estimates are as inexact for those parts.
const CLEARLY_LESS_MIXED: f64 = 0.7;
/// Seconds that LLVM takes for an instruction of machine code.
const COMPILATION: f64 = 4.5e-5;
/// Seconds of a tenth of a cycle, which estimates count, at 4 GHz.
const ESTIMATED_TENTH: f64 = 2.5e-11;
/// Launches that a kernel is assumed to have, if none of its codes can run at once.
const ASSUMED_LAUNCHES: f64 = 300.0;
/// Estimated time of compiled code, relative to the best one, from which on more launches than this one are assumed.
const MUCH_SLOWER: f64 = 3.0;
/// Launches that a kernel is assumed to have where compiled code is much slower than other code.
const ASSUMED_SLOW_LAUNCHES: f64 = 10.0;
/// Work-items of a launch that is not known.
const ASSUMED_ITEMS: u64 = 1 << 13;
/// Seconds that a kernel without code is assumed to run for at least: estimates are short where loops have many iterations.
const LEAST_TIME: f64 = 0.1;
/// Time of launches, relative to that of estimates, from which on estimates are made although code is compiled.
const WORTH_ESTIMATES: f64 = 20.0;
/// Time of launches, relative to the compilation of code that can run, from which on a kernel without estimates gets other code.
const WORTH_COMPILATION: f64 = 0.2;
/// Share of a kernel's measured time that counts without estimates, until launches of this form have run: a launch of one work-item has cold caches.
const COLD_SHARE: f64 = 0.25;
/// Nanoseconds for a work-item from which on the measured time corrects estimates: what a launch takes besides its work-items is little.
const LONG_ITEM: f64 = 20_000.0;
/// Instructions of a kernel and what it calls up to which estimates are made; they take as long as the passes for each code.
const MAX_INSTRUCTIONS: usize = 4_000;

/// Codes that a kernel's launches chose among, by variant of the launch and size of its groups.
#[derive(Default)]
pub(crate) struct CodeChoices {
    state: Mutex<ChoiceState>,
    /// Held while estimates are made, so that one thread makes them.
    estimating: Mutex<()>,
}

#[derive(Default)]
struct ChoiceState {
    choices: FxHashMap<LaunchGroups, ChoiceProgress>,
    /// The choices, each once: groups of many sizes share one.
    distinct: Vec<Arc<CodeChoice>>,
    /// Estimates of all variants so far; none before the disk was looked at.
    known: Option<KnownEstimates>,
    /// Seconds that an estimate took on average when estimates were made last.
    seconds: f64,
}

/// Progress of the choice for some launches.
enum ChoiceProgress {
    Made(Arc<CodeChoice>),
    /// Compiled code runs until launches have spent as many seconds as are worth estimates, or the compilation of other code;
    /// `time` is its estimated or measured time for a work-item.
    Deferred {
        code: CodeVariant,
        time: f64,
        spent: f64,
        worth: f64,
    },
}

/// Estimates by key of the variant.
type KnownEstimates = BTreeMap<u64, Option<EstimatedCost>>;

/// Launches that share a choice.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct LaunchGroups {
    base: CodeVariant,
    local: [u32; 3],
    /// True if no group at an end of the range is smaller; code for full groups only runs no other launches.
    is_uniform: bool,
}

/// Code for some launches, with the estimates that it was chosen by.
#[derive(PartialEq)]
pub(crate) struct CodeChoice {
    chosen: CodeVariant,
    estimates: CodeEstimates,
}

impl CodeChoice {
    /// Estimated time of a variant for a work-item, in tenths of a cycle.
    pub(crate) fn time_of(&self, variant: &CodeVariant) -> Option<f64> {
        self.estimates.time_of(variant)
    }
}

/// Estimates of the codes that some launches choose among.
#[derive(PartialEq)]
struct CodeEstimates {
    variants: Vec<(CodeVariant, Option<EstimatedCost>)>,
}

impl CodeEstimates {
    /// Variant that runs and is compiled in the least time, if it is clearly faster than the first one. The first launch has so many
    /// work-items, if it is known, and they take `scale` times what is estimated; compiled variants cost no further compilation.
    fn best(
        &self,
        items: Option<u64>,
        scale: f64,
        is_compiled: impl Fn(&CodeVariant) -> bool,
    ) -> Option<CodeVariant> {
        let (first, estimate) = *self.variants.first()?;
        let of_first = estimate?;
        let bound = |it: &CodeVariant| match it.brush {
            [1, 1, 1] => CLEARLY_LESS_SCALAR,
            _ if it.form == CodeForm::Mixed => CLEARLY_LESS_MIXED,
            _ => CLEARLY_LESS,
        };
        let of_launch = |items: u64| items as f64 * of_first.time * scale * ESTIMATED_TENTH;
        let least_time = |is_meant: &dyn Fn(&CodeVariant) -> bool| {
            let meant = self.variants.iter().filter(|(it, _)| is_meant(it));
            meant.filter_map(|(_, estimate)| Some((*estimate)?.time)).fold(f64::MAX, f64::min)
        };
        let of_compiled = least_time(&is_compiled);
        let can_run = of_compiled < f64::MAX;
        let is_slow = of_compiled > MUCH_SLOWER * least_time(&|_| true);
        let launches = match can_run {
            false => ASSUMED_LAUNCHES,
            true if is_slow => ASSUMED_SLOW_LAUNCHES,
            true => 1.0,
        };
        let least = if can_run { 0.0 } else { LEAST_TIME };
        let items = items.unwrap_or(ASSUMED_ITEMS);
        let run_time = (launches * of_launch(items)).max(least);
        let compilation = |variant: &CodeVariant, estimate: &EstimatedCost| match is_compiled(variant) {
            true => 0.0,
            false => COMPILATION * estimate.instructions / run_time,
        };
        // Relative to the time of the first one, and to its compilation.
        let price = |variant: &CodeVariant, estimate: &EstimatedCost| {
            estimate.time / of_first.time + compilation(variant, estimate) - compilation(&first, &of_first)
        };
        let priced =
            |&(it, estimate): &(CodeVariant, Option<EstimatedCost>)| Some((it, price(&it, &estimate?)));
        let others = self.variants.iter().skip(1).filter_map(priced);
        let clearly_less = others.filter(|(it, price)| *price < bound(it));
        let best = clearly_less.min_by(|one, other| one.1.total_cmp(&other.1));
        Some(best.map_or(first, |(it, _)| it))
    }

    /// Estimated time of a variant for a work-item, in tenths of a cycle.
    fn time_of(&self, variant: &CodeVariant) -> Option<f64> {
        let of = self.variants.iter().find(|(it, _)| it == variant);
        of.and_then(|(_, estimate)| Some((*estimate)?.time))
    }

    /// Seconds that launches by a code may take until the compilation of much faster code is worth its time; none if no code is much faster.
    fn worth_of_faster(&self, chosen: &CodeVariant) -> Option<f64> {
        let time = self.time_of(chosen)?;
        let estimates = self.variants.iter().filter_map(|(_, estimate)| *estimate);
        let best = estimates.min_by(|one, other| one.time.total_cmp(&other.time))?;
        let saved = 1.0 - best.time / time;
        let worth = COMPILATION * best.instructions / (ASSUMED_SLOW_LAUNCHES * saved);
        (time > MUCH_SLOWER * best.time).then_some(worth)
    }
}

/// Text for the disk: key and estimate of each variant.
fn print_estimates(known: &KnownEstimates) -> String {
    let line = |(key, estimate): (&u64, &Option<EstimatedCost>)| match estimate {
        Some(EstimatedCost { time, instructions }) => format!("{key:016x} {time} {instructions}\n"),
        None => format!("{key:016x} none\n"),
    };
    known.iter().map(line).collect()
}

fn parse_estimates(text: &str) -> KnownEstimates {
    let parse = |line: &str| {
        let (key, estimate) = line.split_once(' ')?;
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        let estimate = match estimate.split_once(' ') {
            Some((time, count)) => Some(EstimatedCost { time: number(time)?, instructions: number(count)? }),
            None if estimate == "none" => None,
            None => return None,
        };
        Some((u64::from_str_radix(key, 16).ok()?, estimate))
    };
    text.lines().filter_map(parse).collect()
}

impl fmt::Display for CodeEstimates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (variant, estimate)) in self.variants.iter().enumerate() {
            let separator = if at == 0 { "" } else { "; " };
            match estimate {
                Some(it) => {
                    write!(
                        f,
                        "{separator}{:.1} ({variant}, {:.0} instructions)",
                        it.time / 10.0,
                        it.instructions
                    )?;
                }
                None => write!(f, "{separator}none ({variant})")?,
            }
        }
        Ok(())
    }
}

impl PreparedKernel {
    /// Code for launches of a variant in groups of this size, as estimates choose it at the first one, with the number of its work-items
    /// if it is known.
    pub(crate) fn chosen_variant(
        &self,
        base: CodeVariant,
        local: [u32; 3],
        is_uniform: bool,
        items: Option<u64>,
    ) -> CodeVariant {
        if self.has_one_code() {
            return base;
        }
        let launches = LaunchGroups { base, local, is_uniform };
        if let Some(chosen) = self.known_choice(&launches).or_else(|| self.deferred_choice(&launches, items))
        {
            return chosen;
        }
        let _estimating = self.choices().estimating.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chosen) = self.known_choice(&launches) {
            return chosen;
        }
        // Times decide when a choice is made, so without trials it is made at once: each run has the same code.
        let may_defer = self.trials() == Trials::On;
        if let Some(compiled) =
            items.filter(|_| may_defer).and_then(|items| self.defer_choice(&launches, items))
        {
            return compiled;
        }
        let Some(estimates) = self.estimates_for_choice(&launches, true) else { return base };
        let chosen = self.best_of(&estimates, items).unwrap_or(base);
        // More launches may be worth the compilation of code that this one alone is not.
        let time =
            estimates.time_of(&chosen).unwrap_or(0.0) * self.measured_scale(&estimates) * ESTIMATED_TENTH;
        let worth = estimates.worth_of_faster(&chosen).filter(|_| may_defer && self.is_compiled(&chosen));
        let made = CodeChoice { chosen, estimates };
        let mut state = self.choice_state();
        let known = state.distinct.iter().find(|it| ***it == made).map(Arc::clone);
        let is_new = known.is_none();
        let choice = known.unwrap_or_else(|| Arc::new(made));
        if is_new {
            state.distinct.push(Arc::clone(&choice));
        }
        let progress = match worth.zip(items) {
            Some((worth, items)) => {
                ChoiceProgress::Deferred { code: chosen, time, spent: items as f64 * time, worth }
            }
            None => ChoiceProgress::Made(Arc::clone(&choice)),
        };
        state.choices.insert(launches, progress);
        drop(state);
        if is_new {
            let (name, estimates) = (&self.info().name, &choice.estimates);
            self.watch(&format_args!(
                "kernel {name}: estimated cycles for a work-item: {estimates}; chosen: {chosen}\n"
            ));
        }
        chosen
    }

    /// Code that usual launches would choose, without choosing it for them; none if an estimate is not known and must not be made.
    pub(crate) fn foreseen_variant(&self, may_estimate: bool) -> Option<CodeVariant> {
        let (base, local) = self.usual_launch();
        if self.has_one_code() {
            return Some(base);
        }
        let launches = LaunchGroups { base, local, is_uniform: true };
        if let Some(chosen) = self.known_choice(&launches) {
            return Some(chosen);
        }
        let _estimating = self.choices().estimating.lock().unwrap_or_else(PoisonError::into_inner);
        let estimates = self.estimates_for_choice(&launches, may_estimate)?;
        Some(self.best_of(&estimates, None).unwrap_or(base))
    }

    /// True if there is nothing to choose.
    fn has_one_code(&self) -> bool {
        self.options().lanes.is_some() || self.info().observes_brush
    }

    fn choice_state(&self) -> MutexGuard<'_, ChoiceState> {
        self.choices().state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_choice(&self, launches: &LaunchGroups) -> Option<CodeVariant> {
        match self.choice_state().choices.get(launches)? {
            ChoiceProgress::Made(choice) => Some(choice.chosen),
            ChoiceProgress::Deferred { .. } => None,
        }
    }

    /// Compiled code that runs a launch of so many work-items whose choice is deferred; none if it is time to choose.
    fn deferred_choice(&self, launches: &LaunchGroups, items: Option<u64>) -> Option<CodeVariant> {
        let (code, time) = match self.choice_state().choices.get(launches)? {
            ChoiceProgress::Deferred { code, time, .. } => (*code, *time),
            ChoiceProgress::Made(_) => return None,
        };
        // Estimates are short where loops have many iterations.
        let pace = self.code_if_ready(code).and_then(|code| code.pace()).unwrap_or(0.0) * 1e-9;
        match self.choice_state().choices.get_mut(launches)? {
            ChoiceProgress::Deferred { spent, worth, .. } => {
                *spent += items? as f64 * time.max(pace);
                (spent < worth).then_some(code)
            }
            ChoiceProgress::Made(_) => None,
        }
    }

    /// Defers the choice for some launches, the first of which has so many work-items, and returns the compiled code that runs it; none if there is
    /// none, or if estimates take little of the launch's time. Where a kernel is too large for them, the compilation of
    /// other code takes its place.
    fn defer_choice(&self, launches: &LaunchGroups, items: u64) -> Option<CodeVariant> {
        let LaunchGroups { base, local, is_uniform } = *launches;
        let variants = self.variants_of(base, local, is_uniform);
        let general = self.general_variants_of(launches);
        let compiled = variants.iter().chain(&general).copied().filter(|it| self.is_compiled(it));
        let compiled: Vec<_> = compiled.map(|it| (it, self.code_if_ready(it))).collect();
        let mut state = self.choice_state();
        if state.choices.contains_key(launches) || environment::forced_code().is_some() {
            return None;
        }
        let known = state.known.as_ref()?;
        let missing = variants.iter().filter(|it| !known.contains_key(&it.key())).count();
        let estimates = missing as f64 * state.seconds;
        let seconds = |code: &CodeVariant, estimate: EstimatedCost| {
            estimate.time * idle_factor(code, &base, local) * ESTIMATED_TENTH
        };
        let timed = compiled.into_iter().filter_map(|(code, ready)| match known.get(&code.key())? {
            Some(estimate) if variants.contains(&code) => {
                Some((code, estimate.time * ESTIMATED_TENTH, WORTH_ESTIMATES * estimates))
            }
            // Code for launches like this one can be much faster, but takes a compilation, too.
            Some(estimate) => {
                let compilation = ready.as_ref()?.compile_time.as_secs_f64();
                Some((code, seconds(&code, *estimate), estimates + compilation))
            }
            // The kernel is too large for estimates, and other code takes at least as long to compile.
            None => {
                let ready = ready?;
                let worth = WORTH_COMPILATION * ready.compile_time.as_secs_f64();
                Some((code, COLD_SHARE * ready.pace()? * 1e-9, worth))
            }
        });
        let of_least_time = |one: &(CodeVariant, f64, f64), other: &(_, f64, f64)| one.1.total_cmp(&other.1);
        // Where groups have several sizes, as in programs that tune themselves, one code for all of them comes first.
        let has_other_groups = state.choices.keys().any(|other| other.local != local);
        let one_for_all = || {
            let estimated = general.iter().filter_map(|code| Some((*code, (*known.get(&code.key())?)?)));
            let of = |(code, estimate): (CodeVariant, EstimatedCost)| {
                (code, seconds(&code, estimate), estimates + estimate.instructions * COMPILATION)
            };
            estimated.filter(|(code, _)| code.local.is_none()).map(of).min_by(of_least_time)
        };
        let (code, time, worth) =
            timed.min_by(of_least_time).or_else(|| has_other_groups.then(one_for_all).flatten())?;
        let spent = items as f64 * time;
        (spent < worth).then(|| {
            state.choices.insert(*launches, ChoiceProgress::Deferred { code, time, spent, worth });
            code
        })
    }

    fn best_of(&self, estimates: &CodeEstimates, items: Option<u64>) -> Option<CodeVariant> {
        let forced = environment::forced_code().and_then(|number| estimates.variants.get(number));
        let best = || estimates.best(items, self.measured_scale(estimates), |it| self.is_compiled(it));
        forced.map(|(variant, _)| *variant).or_else(best)
    }

    /// Measured time of compiled code, divided by its estimate, where long work-items show that the estimate is short: loops may have
    /// many iterations. Launches of few work-items fill no lanes, so one lane's share of the time counts.
    fn measured_scale(&self, estimates: &CodeEstimates) -> f64 {
        let of = |(variant, estimate): &(CodeVariant, Option<EstimatedCost>)| {
            let pace = self.code_if_ready(*variant)?.pace().filter(|pace| *pace >= LONG_ITEM)?;
            let lanes = f64::from(variant.brush.iter().product::<u32>());
            Some(pace * 1e-9 / lanes / ((*estimate)?.time * ESTIMATED_TENTH))
        };
        estimates.variants.iter().filter_map(of).fold(1.0, f64::max)
    }

    /// Estimates of the codes for some launches; none if one is not known and must not be made. One thread at a time makes them.
    fn estimates_for_choice(&self, launches: &LaunchGroups, may_estimate: bool) -> Option<CodeEstimates> {
        let LaunchGroups { base, local, is_uniform } = *launches;
        let variants = self.variants_of(base, local, is_uniform);
        let known = self.choice_state().known.take();
        let mut known = known.unwrap_or_else(|| parse_estimates(&self.kept_estimates().unwrap_or_default()));
        let is_missing = |it: &&CodeVariant| !known.contains_key(&it.key());
        let missing: Vec<CodeVariant> = variants.iter().filter(is_missing).copied().collect();
        let is_known = missing.is_empty();
        if may_estimate && !is_known {
            let (count, start) = (missing.len() as f64, Instant::now());
            known.extend(self.estimates_of(missing));
            self.choice_state().seconds = start.elapsed().as_secs_f64() / count;
            self.keep_estimates(&print_estimates(&known));
        }
        let of = |variant: CodeVariant| {
            let estimate = known.get(&variant.key()).copied().flatten();
            let idle = idle_factor(&variant, &base, local);
            (variant, estimate.map(|it| EstimatedCost { time: it.time * idle, ..it }))
        };
        let estimates = CodeEstimates { variants: variants.into_iter().map(of).collect() };
        self.choice_state().known = Some(known);
        (may_estimate || is_known).then_some(estimates)
    }

    /// Choice of a variant, for groups of this size if there is one.
    pub(crate) fn choice_of(&self, chosen: &CodeVariant, local: [u32; 3]) -> Option<Arc<CodeChoice>> {
        let state = self.choice_state();
        let of_groups = state.choices.iter().filter(|(launches, _)| launches.local == local);
        let mut of_groups = of_groups.filter_map(|(_, it)| match it {
            ChoiceProgress::Made(choice) => Some(choice),
            ChoiceProgress::Deferred { .. } => None,
        });
        let of_groups = of_groups.find(|it| it.chosen == *chosen);
        of_groups.or_else(|| state.distinct.iter().find(|it| it.chosen == *chosen)).map(Arc::clone)
    }

    /// Variants with other lanes for launches of a variant, itself first.
    pub(crate) fn variants_of(
        &self,
        base: CodeVariant,
        local: [u32; 3],
        is_uniform: bool,
    ) -> Vec<CodeVariant> {
        let (info, lanes) = (self.info(), self.lanes());
        let of = |lanes| {
            let variant = CodeVariant::of_groups(info, lanes, local, base.axes, is_uniform, base.is_small);
            let variant = CodeVariant { promises: base.promises, ..variant };
            if base.single { variant.of_single_items() } else { variant }
        };
        let mut variants = vec![base, of(lanes), of(2 * lanes)];
        variants.extend((4 * lanes <= MAX_DEFAULT_LANES).then(|| of(4 * lanes)));
        // Neighbours along both dimensions do more alike than those of one row.
        let width = lanes.min(8);
        let height = match self.unseen_form(base.axes) {
            // Columns are loaded whole, and transposed in registers.
            GroupForm::Columns => width,
            _ => (2 * lanes / width).min(TILE_ROWS as u32),
        };
        let [row, rows, _] = base.axes.to_axes(local);
        if self.chooses_groups(&base) && row >= width && rows >= height && height > 1 {
            variants.push(CodeVariant { brush: [width, height, 1], ..of(lanes) });
        }
        // Of the code between barriers, one part may pay as vector code and another one not.
        variants.extend(
            (info.sees_groups && !base.single).then(|| CodeVariant { form: CodeForm::Mixed, ..of(lanes) }),
        );
        variants.extend([of((lanes / 2).max(1)), of(1)]);
        // Code for longer rows takes short ones, too.
        if self.chooses_groups(&base) && base.local.is_none() {
            let wide =
                [lanes, 2 * lanes, 4 * lanes].map(|lanes| CodeVariant { brush: [lanes, 1, 1], ..base });
            variants.extend(wide.into_iter().filter(|it| it.brush[0] > row && self.is_compiled(it)));
        }
        let mut unique = Vec::new();
        for variant in variants {
            if !unique.contains(&variant) {
                unique.push(variant);
            }
        }
        unique
    }

    /// Variants of code for other launches that runs these ones, too: launches that promise less, that may have smaller groups at
    /// their ends, or whose groups have longer rows.
    fn general_variants_of(&self, launches: &LaunchGroups) -> Vec<CodeVariant> {
        let LaunchGroups { base, local, is_uniform } = *launches;
        let lanes = self.lanes();
        let mut general = Vec::new();
        for promises in [base.promises].into_iter().chain(weaker_promises(base.promises)) {
            let base = CodeVariant { promises, ..base };
            general.extend(self.variants_of(base, local, is_uniform));
            if base.single || base.fold == WorkItemLayout::Linear {
                continue;
            }
            general.extend(self.variants_of(CodeVariant { local: None, ..base }, local, false));
            let rows =
                [lanes / 2, lanes, 2 * lanes, 4 * lanes].map(|lanes| lanes.clamp(1, MAX_DEFAULT_LANES));
            general.extend(rows.map(|lanes| CodeVariant { brush: [lanes, 1, 1], local: None, ..base }));
        }
        general
    }

    /// Estimates variants by the passes up to stage Wide.
    fn estimates_of(&self, variants: Vec<CodeVariant>) -> KnownEstimates {
        if variants.is_empty() || self.reached_instructions() > MAX_INSTRUCTIONS {
            return variants.into_iter().map(|it| (it.key(), None)).collect();
        }
        let kernel = self.clone();
        let work = move || -> Result<KnownEstimates, BuildError> {
            let of = |variant: CodeVariant| {
                let lanes = Some(variant.brush.iter().product());
                let options = BuildOptions { lanes, ..*kernel.options() };
                let it = estimate(kernel.program_module(), &kernel.info().name, variant, &options);
                (variant.key(), it.ok().flatten())
            };
            Ok(variants.into_iter().map(of).collect())
        };
        catch_fatal_errors(STACK, work).map_err(BuildError::from).and_then(|it| it).unwrap_or_default()
    }
}

/// Lanes of a variant's brushes for each that has a work-item, where launches have groups of this size: lanes beyond a short row have
/// none.
fn idle_factor(variant: &CodeVariant, base: &CodeVariant, local: [u32; 3]) -> f64 {
    let row = base.axes.to_axes(local)[0].min(MAX_DEFAULT_LANES).next_power_of_two();
    f64::from(variant.brush[0].max(row)) / f64::from(row)
}

/// Returns promises that hold wherever these do, but for these themselves.
fn weaker_promises(promises: LaunchPromises) -> impl Iterator<Item = LaunchPromises> {
    let weaker = move |keep: u32| LaunchPromises {
        distinct_pointers: promises.distinct_pointers && keep & 1 != 0,
        bounded_indices: promises.bounded_indices && keep & 2 != 0,
        strides: if keep & 4 != 0 { promises.strides } else { KnownStrides::default() },
        images: if keep & 8 != 0 { promises.images } else { KnownImages::default() },
    };
    let mut unique = vec![promises];
    (0..16).rev().map(weaker).filter(move |it| {
        let is_new = !unique.contains(it);
        unique.push(*it);
        is_new
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_transform::AxisOrder;

    /// Estimates of codes: lanes, time, instructions.
    fn estimates_of(codes: &[(u32, Option<f64>, f64)]) -> CodeEstimates {
        let of = |&(lanes, time, instructions): &(u32, Option<f64>, f64)| {
            let estimate = time.map(|time| EstimatedCost { time, instructions });
            (CodeVariant::of_rows(lanes, AxisOrder::WORK_ITEMS, true), estimate)
        };
        CodeEstimates { variants: codes.iter().map(of).collect() }
    }

    /// Lanes of the best of some codes for a launch of so many work-items, where code of some lanes is compiled.
    fn best_for(codes: &[(u32, Option<f64>, f64)], items: Option<u64>, compiled: Option<u32>) -> Option<u32> {
        let estimates = estimates_of(codes);
        estimates.best(items, 1.0, |it| compiled == Some(it.brush[0])).map(|it| it.brush[0])
    }

    fn best_of(codes: &[(u32, Option<f64>, f64)]) -> Option<u32> {
        best_for(codes, None, None)
    }

    fn best(times: &[(u32, Option<f64>)]) -> Option<u32> {
        let codes: Vec<_> = times.iter().map(|&(lanes, time)| (lanes, time, 50.0)).collect();
        best_of(&codes)
    }

    #[test]
    fn code_that_takes_longer_to_compile_must_gain_more() {
        let codes = |size| [(16, Some(10.0), size), (32, Some(8.5), 1.5 * size), (64, Some(8.0), 2.5 * size)];
        assert_eq!(best_of(&codes(100.0)), Some(64));
        assert_eq!(best_of(&codes(400.0)), Some(32));
        assert_eq!(best_of(&codes(4_000.0)), Some(16));
        assert_eq!(best_of(&[(16, Some(10.0), 4_000.0), (1, Some(11.0), 500.0)]), Some(1));
    }

    #[test]
    fn large_launches_pay_for_more_compilation() {
        let codes = [(16, Some(10.0), 1_000.0), (32, Some(8.5), 1_500.0), (64, Some(8.0), 2_500.0)];
        assert_eq!(best_for(&codes, Some(1 << 10), None), Some(16));
        assert_eq!(best_for(&codes, Some(1 << 30), None), Some(64));
        assert_eq!(best_for(&codes, Some(1 << 10), Some(32)), Some(32), "it is compiled");
        assert_eq!(best_for(&codes, Some(1 << 22), None), Some(32));
        assert_eq!(best_for(&codes, Some(1 << 22), Some(16)), Some(16), "others are not");
        assert_eq!(
            best_for(&codes, Some(1 << 30), Some(16)),
            Some(16),
            "0.27 s are too short for 0.07 s of compilation"
        );
        assert_eq!(best_for(&codes, Some(1 << 34), Some(16)), Some(64), "4.3 s are not");
    }

    #[test]
    fn the_default_stays_unless_another_code_is_clearly_better() {
        assert_eq!(best(&[(16, Some(10.0)), (32, Some(9.5)), (1, Some(8.5))]), Some(16));
        assert_eq!(best(&[(16, Some(10.0)), (32, Some(8.5)), (64, Some(8.0))]), Some(64));
        assert_eq!(best(&[(16, Some(10.0)), (32, None), (1, Some(2.0))]), Some(1));
        assert_eq!(best(&[(16, None), (32, Some(1.0))]), None);
    }

    /// A hash whose code of one lane is compiled: 64 times slower than code of 16 lanes, which takes 0.4 s to compile.
    const HASH: [(u32, Option<f64>, f64); 2] = [(16, Some(1_000.0), 10_000.0), (1, Some(64_000.0), 4_000.0)];

    #[test]
    fn ten_launches_pay_for_much_faster_code() {
        assert_eq!(best_for(&HASH, Some(1 << 10), Some(1)), Some(1), "1.6 ms ten times");
        assert_eq!(best_for(&HASH, Some(1 << 15), Some(1)), Some(16), "52 ms ten times");
        let twice = [(16, Some(1_000.0), 10_000.0), (1, Some(2_000.0), 4_000.0)];
        assert_eq!(best_for(&twice, Some(1 << 19), Some(1)), Some(1), "26 ms once");
    }

    #[test]
    fn measured_times_correct_estimates() {
        let estimates = estimates_of(&HASH);
        let best = |scale| estimates.best(Some(1 << 10), scale, |it| it.brush[0] == 1).map(|it| it.brush[0]);
        assert_eq!(best(1.0), Some(1));
        assert_eq!(best(1_000.0), Some(16));
    }

    #[test]
    fn launches_spend_a_tenth_of_the_compilation_of_faster_code() {
        let estimates = estimates_of(&HASH);
        let slow = estimates.variants[1].0;
        let worth = estimates.worth_of_faster(&slow).expect("other code is much faster");
        assert!((worth / 0.0457 - 1.0).abs() < 0.01, "{worth}");
        let fast = estimates.variants[0].0;
        assert!(estimates.worth_of_faster(&fast).is_none());
    }

    #[test]
    fn weaker_promises_are_those_with_less() {
        let promises =
            LaunchPromises { distinct_pointers: true, bounded_indices: true, ..Default::default() };
        let weaker: Vec<_> =
            weaker_promises(promises).map(|it| (it.distinct_pointers, it.bounded_indices)).collect();
        assert_eq!(weaker, [(false, true), (true, false), (false, false)]);
        assert_eq!(weaker_promises(LaunchPromises::default()).count(), 0);
    }

    #[test]
    fn estimates_are_kept_as_text() {
        let all = KnownEstimates::from([
            (1, Some(EstimatedCost { time: 10.25, instructions: 7.0 })),
            (u64::MAX, None),
        ]);
        assert_eq!(parse_estimates(&print_estimates(&all)), all);
        assert!(parse_estimates("x\n1 y\n1 2\nzz 1 1\n").is_empty());
    }
}
