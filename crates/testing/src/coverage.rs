//! Coverage of a generator run: a count of programs means nothing without it.
//!
//! Sizes and ops are counted over all programs. Run-time features come from a trace of every [`SAMPLE`]th program on
//! its first input.

use crate::execution::{options, prepare};
use crate::generate::{GeneratedProgram, ProgramClass, ProgramInput};
use heddle_analysis::{Cfg, Cycle, CycleForest};
use heddle_interp::{Argument, Datum, FaultKind, LaneSuccessor, RunOptions, Trace, run};
use heddle_ir::ops::Op;
use heddle_ir::{Block, Function, Inst, Space, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt;

/// One program in this many is traced.
pub const SAMPLE: u64 = 8;

/// Feature that generated programs should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// A divergent loop inside a divergent loop: lanes left both of them in different rounds.
    NestedDivergentLoops,
    /// A loop that ran and has several exits.
    MultiExitLoops,
    /// A region that ran without active lanes or, before linearization, would then: lanes took the same edge of a
    /// divergent branch.
    EmptyRegions,
    /// A byte that one instruction wrote and another accessed.
    AliasingStores,
    /// A private array.
    PrivateArrays,
    /// A cycle that ran and has several entries.
    Irreducible,
    /// Horizontals that ran.
    Horizontals,
    /// Barriers that ran.
    Barriers,
    /// A work-group that ends within a brush.
    GroupsEndInBrushes,
}

impl Feature {
    /// All of them, in order.
    pub const ALL: [Feature; 9] = [
        Feature::NestedDivergentLoops,
        Feature::MultiExitLoops,
        Feature::EmptyRegions,
        Feature::AliasingStores,
        Feature::PrivateArrays,
        Feature::Irreducible,
        Feature::Horizontals,
        Feature::Barriers,
        Feature::GroupsEndInBrushes,
    ];

    /// A few words for it.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::NestedDivergentLoops => "nested divergent loops",
            Feature::MultiExitLoops => "multi-exit loops",
            Feature::EmptyRegions => "regions with an empty mask",
            Feature::AliasingStores => "aliasing stores",
            Feature::PrivateArrays => "private arrays",
            Feature::Irreducible => "irreducible cycles",
            Feature::Horizontals => "horizontals",
            Feature::Barriers => "barriers",
            Feature::GroupsEndInBrushes => "groups end in brushes",
        }
    }

    /// Minimum share of programs that must have it, in percent.
    pub const fn least(self) -> u32 {
        match self {
            Feature::Irreducible | Feature::Horizontals | Feature::Barriers => 5,
            Feature::GroupsEndInBrushes => 1,
            _ => 20,
        }
    }
}

/// Minimum median of instruction counts.
pub const LEAST_MEDIAN: u32 = 40;
/// The most programs that may end at the step limit, in percent.
pub const MOST_AT_LIMIT: u32 = 2;

/// Coverage accumulated so far.
#[derive(Clone, Default, Debug)]
pub struct Coverage {
    /// Programs generated.
    pub programs: u64,
    /// Programs traced.
    pub sampled: u64,
    /// Traced programs that ended at the step limit.
    pub at_limit: u64,
    sizes: BTreeMap<u32, u64>,
    written: BTreeMap<Op, u64>,
    executed: BTreeMap<Op, u64>,
    features: [u64; Feature::ALL.len()],
    classes: BTreeMap<ProgramClass, u64>,
}

/// The number of instructions of a program.
pub fn size(case: &GeneratedProgram) -> u32 {
    let insts = |func: &Function| func.blocks().map(|block| func.block_insts(block).count()).sum::<usize>();
    case.module.functions.iter().map(insts).sum::<usize>() as u32
}

/// True if generated programs, which are all before stage Wide, may contain the op.
pub fn is_expected(op: Op) -> bool {
    !matches!(
        op,
        Op::Splat
            | Op::Extract
            | Op::Insert
            | Op::Permute
            | Op::Compress
            | Op::Expand
            | Op::MaskedLoad
            | Op::MaskedStore
            | Op::Gather
            | Op::Scatter
    )
}

impl Coverage {
    /// Takes a program into account.
    pub fn note(&mut self, case: &GeneratedProgram) {
        self.programs += 1;
        *self.sizes.entry(size(case)).or_default() += 1;
        *self.classes.entry(case.traits.class).or_default() += 1;
        let mut ops = [0u64; Op::ALL.len()];
        for func in &case.module.functions {
            for block in func.blocks() {
                for inst in func.block_insts(block) {
                    ops[func.inst(inst).op as usize] += 1;
                }
            }
        }
        for &op in Op::ALL.iter().filter(|&&op| ops[op as usize] > 0) {
            *self.written.entry(op).or_default() += ops[op as usize];
        }
        if case.seed.is_multiple_of(SAMPLE) {
            self.sample(case);
        }
    }

    /// Runs a program and records its coverage.
    fn sample(&mut self, case: &GeneratedProgram) {
        self.sampled += 1;
        let Some(input) = case.inputs.first() else { return };
        let (mut memory, args) = prepare(case, input);
        let options = RunOptions { trace: true, ..options(input) };
        match run(&case.module, &case.entry, &args, &mut memory, &options) {
            Ok(outcome) => {
                let seen = TraceFeatures::new(case, input, &outcome.trace, &args);
                for op in &seen.ops {
                    *self.executed.entry(*op).or_default() += 1;
                }
                let folded_empty = outcome.counters.empty_steps > 0;
                for (count, feature) in self.features.iter_mut().zip(Feature::ALL) {
                    let empty = feature == Feature::EmptyRegions && folded_empty;
                    *count += u64::from(empty || seen.has(feature));
                }
            }
            Err(fault) => {
                self.at_limit += u64::from(matches!(fault.kind, FaultKind::Limit { .. }));
            }
        }
    }

    /// Adds what another run covered.
    pub fn merge(&mut self, other: &Coverage) {
        self.programs += other.programs;
        self.sampled += other.sampled;
        self.at_limit += other.at_limit;
        let add = |into: &mut BTreeMap<Op, u64>, from: &BTreeMap<Op, u64>| {
            from.iter().for_each(|(&op, count)| *into.entry(op).or_default() += count);
        };
        add(&mut self.written, &other.written);
        add(&mut self.executed, &other.executed);
        other.sizes.iter().for_each(|(&size, count)| *self.sizes.entry(size).or_default() += count);
        other.classes.iter().for_each(|(&class, count)| *self.classes.entry(class).or_default() += count);
        self.features.iter_mut().zip(other.features).for_each(|(into, from)| *into += from);
    }

    /// The share of programs with the feature, in percent.
    pub fn share(&self, feature: Feature) -> f64 {
        let count = self.features[feature as usize];
        100.0 * count as f64 / self.sampled.max(1) as f64
    }

    /// The median number of instructions.
    pub fn median(&self) -> u32 {
        let mut left = self.programs / 2;
        for (&size, &count) in &self.sizes {
            if count > left {
                return size;
            }
            left -= count;
        }
        0
    }

    /// The expected ops that no traced program executed, but for those that are never executed.
    pub fn missing(&self) -> Vec<Op> {
        let seen = |op: &Op| match op {
            Op::Unreachable => self.written.contains_key(op),
            op => self.executed.contains_key(op),
        };
        // Kernels launch nothing themselves.
        let is_launched = self.classes.keys().any(|&class| class != ProgramClass::Kernel);
        let is_wanted = |op: Op| is_expected(op) && (op != Op::Launch || is_launched);
        Op::ALL.iter().copied().filter(|&op| is_wanted(op) && !seen(&op)).collect()
    }

    /// Returns the features that too few programs have; empty if coverage suffices.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        for feature in Feature::ALL {
            let share = self.share(feature);
            if share < feature.least().into() {
                lacks.push(format!("{} {share:.1} % < {} %", feature.name(), feature.least()));
            }
        }
        if self.median() < LEAST_MEDIAN {
            lacks.push(format!("median {} < {LEAST_MEDIAN} instructions", self.median()));
        }
        let at_limit = 100.0 * self.at_limit as f64 / self.sampled.max(1) as f64;
        if at_limit > MOST_AT_LIMIT.into() {
            lacks.push(format!("step limit {at_limit:.1} % > {MOST_AT_LIMIT} %"));
        }
        let missing = self.missing();
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|op| op.name()).collect();
            lacks.push(format!("never executed: {}", names.join(" ")));
        }
        lacks
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "coverage of {} programs, {} of them traced", self.programs, self.sampled)?;
        for feature in Feature::ALL {
            let least = format!(">= {} %", feature.least());
            writeln!(f, "  {:<28} {:>6.1} %   {least}", feature.name(), self.share(feature))?;
        }
        let at_limit = 100.0 * self.at_limit as f64 / self.sampled.max(1) as f64;
        writeln!(f, "  {:<28} {at_limit:>6.1} %   <= {MOST_AT_LIMIT} %", "at the step limit")?;
        let largest = self.sizes.keys().next_back().copied().unwrap_or(0);
        writeln!(
            f,
            "  {:<28} {:>6}     >= {LEAST_MEDIAN}, the largest {largest}",
            "median instructions",
            self.median()
        )?;
        let expected = Op::ALL.iter().filter(|&&op| is_expected(op)).count();
        let executed = expected - self.missing().len();
        writeln!(f, "  {:<28} {executed:>6}     of {expected}", "ops")?;
        let classes: Vec<String> = self
            .classes
            .iter()
            .map(|(class, &count)| {
                format!("{} {:.0} %", class.name(), 100.0 * count as f64 / self.programs.max(1) as f64)
            })
            .collect();
        writeln!(f, "  {:<28} {}", "kinds", classes.join(", "))?;
        match &self.lacks()[..] {
            [] => write!(f, "coverage ok"),
            lacks => write!(f, "coverage VOID: {}", lacks.join("; ")),
        }
    }
}

/// Ops, blocks and features of a trace.
struct TraceFeatures {
    ops: FxHashSet<Op>,
    blocks: FxHashSet<(u32, Block)>,
    features: [bool; Feature::ALL.len()],
}

impl TraceFeatures {
    fn new(case: &GeneratedProgram, input: &ProgramInput, trace: &Trace, args: &[Argument]) -> TraceFeatures {
        let mut seen = TraceFeatures {
            ops: FxHashSet::default(),
            blocks: FxHashSet::default(),
            features: Default::default(),
        };
        for step in trace.steps.iter().filter(|step| !step.active.is_empty()) {
            if seen.blocks.insert((step.func, step.block)) {
                let func = &case.module.functions[step.func as usize];
                seen.ops.extend(func.block_insts(step.block).map(|inst| func.inst(inst).op));
            }
        }
        let horizontal = |op: &Op| op.info().effect == heddle_ir::ops::Effect::Horizontal;
        seen.features[Feature::PrivateArrays as usize] = seen.ops.contains(&Op::Alloca);
        seen.features[Feature::Horizontals as usize] = seen.ops.iter().any(horizontal);
        seen.features[Feature::Barriers as usize] = seen.ops.contains(&Op::Barrier);
        seen.features[Feature::GroupsEndInBrushes as usize] = !input.is_whole();
        for (number, func) in case.module.functions.iter().enumerate() {
            seen.loops(number as u32, func, trace);
        }
        seen.features[Feature::EmptyRegions as usize] =
            case.traits.class != ProgramClass::Predicated && has_one_sided_branch(trace);
        seen.features[Feature::AliasingStores as usize] = has_aliasing_stores(case, input, trace, args);
        seen
    }

    fn has(&self, feature: Feature) -> bool {
        self.features[feature as usize]
    }

    fn loops(&mut self, number: u32, func: &Function, trace: &Trace) {
        let cfg = Cfg::new(func);
        let forest = CycleForest::new(&cfg);
        let ran: Vec<Cycle> =
            forest.cycles().filter(|&cycle| self.blocks.contains(&(number, forest.header(cycle)))).collect();
        if ran.is_empty() {
            return;
        }
        self.features[Feature::Irreducible as usize] |= ran.iter().any(|&cycle| !forest.is_reducible(cycle));
        self.features[Feature::MultiExitLoops as usize] |=
            ran.iter().any(|&cycle| forest.exiting_edges(&cfg, cycle).count() > 1);
        let mut divergent: Vec<Cycle> = Vec::new();
        for step in trace.steps.iter().filter(|step| step.func == number && !step.active.is_empty()) {
            let mut around = forest.innermost(step.block);
            while let Some(cycle) = around {
                let mut sides = [false; 2];
                for (lane, next) in step.next.iter().enumerate() {
                    if let (true, &LaneSuccessor::Block(block)) = (step.active.contains(lane), next) {
                        sides[usize::from(forest.contains(cycle, block))] = true;
                    }
                }
                if sides == [true; 2] && !divergent.contains(&cycle) {
                    divergent.push(cycle);
                }
                around = forest.parent(cycle);
            }
        }
        let is_inside = |cycle: Cycle| {
            let mut around = forest.parent(cycle);
            while let Some(outer) = around {
                if divergent.contains(&outer) {
                    return true;
                }
                around = forest.parent(outer);
            }
            false
        };
        self.features[Feature::NestedDivergentLoops as usize] |=
            divergent.iter().any(|&cycle| is_inside(cycle));
    }
}

/// True if some branch diverged in one execution and not in another.
fn has_one_sided_branch(trace: &Trace) -> bool {
    let mut branches: FxHashMap<(u32, Block), [bool; 2]> = FxHashMap::default();
    for step in &trace.steps {
        let mut targets = step.next.iter().enumerate().filter_map(|(lane, next)| match next {
            LaneSuccessor::Block(block) if step.active.contains(lane) => Some(*block),
            _ => None,
        });
        if let Some(first) = targets.next() {
            let parts = targets.any(|target| target != first);
            branches.entry((step.func, step.block)).or_default()[usize::from(parts)] = true;
        }
    }
    branches.values().any(|&seen| seen == [true; 2])
}

/// True if one instruction wrote a byte that another accessed.
fn has_aliasing_stores(
    case: &GeneratedProgram,
    input: &ProgramInput,
    trace: &Trace,
    args: &[Argument],
) -> bool {
    let Some(entry) = case.module.functions.iter().position(|func| func.name == case.entry) else {
        return false;
    };
    let func = &case.module.functions[entry];
    let lanes = input.lanes() as usize;
    let mut values: FxHashMap<(u32, Value), Vec<Datum>> = FxHashMap::default();
    let mut accessed: FxHashMap<(u64, usize), (Inst, bool)> = FxHashMap::default();
    for (&param, arg) in func.params().iter().zip(args) {
        if let Argument::Uniform(datum) = arg {
            values.insert((u32::MAX, param), vec![*datum; lanes]);
        }
    }
    for step in trace.steps.iter().filter(|step| step.func as usize == entry && step.depth == 0) {
        for (value, data) in &step.values {
            values.insert((step.brush, *value), data.clone());
        }
        for inst in func.block_insts(step.block) {
            let data = func.inst(inst);
            let (writes, ty) = match data.op {
                Op::Store => (true, func.value_type(data.args[0])),
                Op::Load => (false, func.value_type(func.results(inst)[0])),
                Op::AtomicRmw | Op::CompareExchange => (true, func.value_type(data.args[1])),
                _ => continue,
            };
            let Some(address) = data.address() else { continue };
            let known = values.get(&(step.brush, address)).or_else(|| values.get(&(u32::MAX, address)));
            let Some(known) = known else { continue };
            for (lane, datum) in known.iter().enumerate() {
                let (true, Datum::Bits(bits)) = (step.active.contains(lane), *datum) else { continue };
                let is_private = bits >> 60 == Space::Private as u128;
                let owner = if is_private { lane + 1 } else { 0 };
                for byte in 0..u64::from(ty.bytes()) {
                    let key = (bits as u64 + byte, owner);
                    let (first, written) = accessed.entry(key).or_insert((inst, writes));
                    if *first != inst && (*written || writes) {
                        return true;
                    }
                    *written |= writes;
                }
            }
        }
    }
    false
}
