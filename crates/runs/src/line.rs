//! A run in one line, as file tests write it and `heddle exec` assembles it:
//!
//! ```text
//! @steps(&a, 1, true) lanes=4 with a: i32 [9, 1, 6, 2] -> a: [13, 11, 2, 11]
//! @twice([1, 2]) lanes=2 -> [2, 4]
//! @k(&a) lanes=4 local=8 groups=2 with a: i32 zero 16 -> fault: barrier
//! ```
//!
//! After the call come options (`lanes=4`, `brush=4x2`, `semantics=oblivious`, `scheduler=random:7`, `limit=1000`
//! steps, `limit-work=N`, `limit-memory=N`, `limit-calls=N`, `only=2`, `local=8x2`, `groups=4`, `offset=16`, `fused`),
//! after `with` the objects of the memory, after
//! `->` what comes out: the results, `; NAME: [values]` for objects (`_` for any value), or `fault: TEXT`.

use crate::spec::{
    ObjectSpec, SpecError, object_values, parse_arguments, parse_datum, parse_object, show_data, show_result,
    split_list,
};
use crate::wide_call::{lanes_of_outcome, wide_arguments, wide_form, wide_form_of, wide_options};
use heddle_interp::{
    Datum, ExecutionFault, LaunchGeometry, LimitKind, Memory, PassiveSemantics, RunOptions, RunOutcome,
    Scheduler, run,
};
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use heddle_ir::{Function, Module, Type};
use thiserror::Error;

/// Why a line is no run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LineError {
    /// The call cannot be read.
    #[error("a run starts with a call: `@name(1, &a)`, not `{0}`")]
    Call(String),
    /// There is no such function.
    #[error("no function @{0}")]
    Function(String),
    /// There is no such option, or its value is wrong.
    #[error("unknown option `{0}` of a run: {1}")]
    Option(String, &'static str),
    /// Wide code is to be launched work-item by work-item.
    #[error("@{func} is wide code, whose run is a whole brush: launch `{source_name}` with {lanes} lanes")]
    Wide {
        /// The function.
        func: String,
        /// Name of the scalar function.
        source_name: String,
        /// Its lanes.
        lanes: String,
    },
    /// A value or an object cannot be read.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The expectation cannot be parsed.
    #[error("`{0}` is not an expectation: write `[1, 2]`, `a: [1, 2]` or `fault: text`")]
    Expectation(String),
}

/// Expected result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// Nothing but that it runs.
    Runs,
    /// A fault whose text holds this.
    Fault(String),
    /// These results, and these values in objects; none is any value.
    Values {
        /// The text of each result.
        results: Vec<String>,
        /// The values of objects.
        objects: Vec<(String, String)>,
    },
}

/// A run.
#[derive(Clone, Debug)]
pub struct RunLine {
    /// The function.
    pub func: String,
    /// Its arguments, as they are written.
    pub args: Vec<String>,
    /// The objects of the memory, as they are written.
    pub objects: Vec<String>,
    /// Run options.
    pub options: RunOptions,
    /// True if the line names a scheduler.
    pub names_scheduler: bool,
    /// True if the line names the semantics.
    pub names_semantics: bool,
    /// Expected result.
    pub expected: Expectation,
}

/// Result of a run.
#[derive(Debug)]
pub struct RunLineOutcome {
    /// Results and counters, or the fault.
    pub outcome: Result<RunOutcome, ExecutionFault>,
    /// The memory afterwards.
    pub memory: Memory,
    /// Its objects.
    pub objects: Vec<ObjectSpec>,
}

/// Lanes along the dimensions of a brush: `8`, `4x2`, `4x2x2x2`.
pub fn parse_extents(text: &str) -> Option<Vec<u32>> {
    numbers(text).filter(|dims| dims.len() <= MAX_DIMENSIONS)
}

/// Parses the lanes of a brush; the error is the reason of a refusal.
pub fn parse_brush(text: &str) -> Result<Vec<u32>, String> {
    let dims = parse_extents(text).ok_or("write `8` or `4x2`")?;
    match dims.iter().fold(1u32, |lanes, &dim| lanes.saturating_mul(dim)) {
        1..=MAX_LANES => Ok(dims),
        _ => Err(format!("a brush has 1 to {MAX_LANES} lanes")),
    }
}

/// Sizes along the dimensions of a launch: `8`, `4x2`, `4x2x2`.
pub fn parse_dims(text: &str) -> Option<Vec<u32>> {
    numbers(text).filter(|dims| dims.len() <= 3)
}

fn numbers(text: &str) -> Option<Vec<u32>> {
    text.split('x').map(|dim| dim.parse().ok()).collect()
}

fn three<T: Copy>(dims: &[T], fill: T) -> [T; 3] {
    let mut all = [fill; 3];
    all[..dims.len()].copy_from_slice(dims);
    all
}

/// A scheduler by its word: `greedy`, `random:SEED`, `ipdom`.
pub fn parse_scheduler(word: &str) -> Option<Scheduler> {
    match word {
        "greedy" => Some(Scheduler::Greedy),
        "ipdom" => Some(Scheduler::Ipdom),
        _ => word.strip_prefix("random:")?.parse().ok().map(Scheduler::Random),
    }
}

/// Semantics by their word: `freezing`, `oblivious`.
pub fn parse_semantics(word: &str) -> Option<PassiveSemantics> {
    match word {
        "freezing" => Some(PassiveSemantics::Freezing),
        "oblivious" => Some(PassiveSemantics::Oblivious),
        _ => None,
    }
}

/// The launch as the text of sizes has it: work-group, groups, offset.
pub fn parse_geometry(local: &str, groups: &str, offset: &str) -> Option<LaunchGeometry> {
    let (local, groups) = (parse_dims(local)?, parse_dims(groups)?);
    let offset: Option<Vec<u64>> = offset.split('x').map(|dim| dim.parse().ok()).collect();
    let offset = offset.filter(|dims| dims.len() <= 3)?;
    Some(LaunchGeometry {
        dims: local.len().max(groups.len()) as u32,
        local: three(&local, 1),
        groups: three(&groups, 1),
        offset: three(&offset, 0),
    })
}

impl RunLine {
    /// Reads a line.
    pub fn parse(line: &str) -> Result<RunLine, LineError> {
        let (what, expected) = match line.split_once("->") {
            Some((what, expected)) => (what.trim(), parse_expectation(expected.trim())?),
            None => (line.trim(), Expectation::Runs),
        };
        let (call, objects) = match what.split_once(" with ") {
            Some((call, objects)) => (call.trim(), split_list(objects, ';')),
            None => (what, Vec::new()),
        };
        let not_a_call = || LineError::Call(call.into());
        let rest = call.strip_prefix('@').ok_or_else(not_a_call)?;
        let (func, rest) = rest.split_once('(').ok_or_else(not_a_call)?;
        let end = closing(rest).ok_or_else(not_a_call)?;
        let args = split_list(&rest[..end], ',').into_iter().map(String::from).collect();
        let mut run = RunLine {
            func: func.into(),
            args,
            objects: objects.into_iter().map(String::from).collect(),
            options: RunOptions { detect_races: true, ..RunOptions::default() },
            names_scheduler: false,
            names_semantics: false,
            expected,
        };
        run.parse_options(&rest[end + 1..])?;
        Ok(run)
    }

    fn parse_options(&mut self, text: &str) -> Result<(), LineError> {
        let (mut local, mut groups, mut offset) = (None, None, None);
        for word in text.split_whitespace() {
            let wrong = |reason| LineError::Option(word.into(), reason);
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            match key {
                "lanes" | "brush" => {
                    self.options.brush = parse_extents(value).ok_or_else(|| wrong("write `8` or `4x2`"))?;
                }
                "semantics" => {
                    self.options.semantics =
                        parse_semantics(value).ok_or_else(|| wrong("write `freezing` or `oblivious`"))?;
                    self.names_semantics = true;
                }
                "scheduler" => {
                    self.options.scheduler = parse_scheduler(value)
                        .ok_or_else(|| wrong("write `greedy`, `random:SEED` or `ipdom`"))?;
                    self.names_scheduler = true;
                }
                "only" => self.options.only_lane = Some(value.parse().map_err(|_| wrong("write a lane"))?),
                "fused" => self.options.fused = true,
                "local" => local = Some(value),
                "groups" => groups = Some(value),
                "offset" => offset = Some(value),
                _ => {
                    let limit = LimitKind::ALL.iter().find(|limit| limit.option() == key);
                    let limit = *limit.ok_or_else(|| wrong("no such option"))?;
                    *self.options.limits.get_mut(limit) =
                        value.parse().map_err(|_| wrong("write a number"))?;
                }
            }
        }
        if let Some(local) = local {
            let geometry = parse_geometry(local, groups.unwrap_or("1"), offset.unwrap_or("0"));
            let wrong = || LineError::Option(format!("local={local}"), "write sizes as `8` or `4x2`");
            self.options.geometry = Some(geometry.ok_or_else(wrong)?);
        }
        Ok(())
    }

    /// Runs it with these options. Where the module has the function's wide form instead, that is run.
    pub fn run(&self, module: &Module, options: &RunOptions) -> Result<RunLineOutcome, LineError> {
        let mut memory = Memory::new();
        let limit = options.limits.memory;
        let objects: Vec<ObjectSpec> = self
            .objects
            .iter()
            .map(|text| parse_object(text, &mut memory, limit))
            .collect::<Result<_, _>>()?;
        let func = self.entry(module, options)?;
        if let Some((source_name, lanes)) = wide_form_of(&self.func).filter(|_| options.geometry.is_some()) {
            let (source_name, lanes) = (source_name.into(), lanes.into());
            return Err(LineError::Wide { func: self.func.clone(), source_name, lanes });
        }
        let args = parse_arguments(&self.func, &func.signature, &self.args, &memory)?;
        let outcome = match wide_form(module, &self.func, &options.brush) {
            None => run(module, &self.func, &args, &mut memory, options),
            Some(wide) => {
                let args = wide_arguments(args, wide, &options.brush);
                run(module, &wide.name, &args, &mut memory, &wide_options(options))
                    .map(|outcome| lanes_of_outcome(outcome, &options.brush))
            }
        };
        Ok(RunLineOutcome { outcome, memory, objects })
    }

    /// The function that is run.
    fn entry<'m>(&self, module: &'m Module, options: &RunOptions) -> Result<&'m Function, LineError> {
        let found = module.function(&self.func).or_else(|| wide_form(module, &self.func, &options.brush));
        found.ok_or_else(|| LineError::Function(self.func.clone()))
    }

    /// Returns the first difference from the expectation, if any.
    pub fn check(&self, module: &Module, ran: &RunLineOutcome) -> Result<Option<String>, LineError> {
        let outcome = match (&ran.outcome, &self.expected) {
            (Err(fault), Expectation::Fault(text)) => {
                let shown = fault.to_string();
                let differs = (!shown.contains(text)).then(|| format!("fault: {shown}"));
                return Ok(differs);
            }
            (Err(fault), _) => return Ok(Some(format!("fault: {fault}"))),
            (Ok(_), Expectation::Fault(_)) => return Ok(Some(self.show(module, ran))),
            (Ok(outcome), _) => outcome,
        };
        let Expectation::Values { results, objects } = &self.expected else { return Ok(None) };
        let func = self.entry(module, &self.options)?;
        let mut agrees = results.len() == outcome.results.len() || results.is_empty();
        for ((text, data), result) in results.iter().zip(&outcome.results).zip(&func.signature.results) {
            agrees &= agree(text, data, result.ty, &ran.memory)?;
        }
        for (name, text) in objects {
            let Some(spec) = ran.objects.iter().find(|spec| spec.name == *name) else {
                return Err(LineError::Expectation(format!("{name}: {text}")));
            };
            agrees &= agree(text, &object_values(spec, &ran.memory), spec.element.into(), &ran.memory)?;
        }
        Ok((!agrees).then(|| self.show(module, ran)))
    }

    /// Formats the result as an expectation.
    pub fn show(&self, module: &Module, ran: &RunLineOutcome) -> String {
        let outcome = match &ran.outcome {
            Ok(outcome) => outcome,
            Err(fault) => return format!("fault: {fault}"),
        };
        let mut parts = Vec::new();
        if let Ok(func) = self.entry(module, &self.options)
            && !outcome.results.is_empty()
        {
            let lanes = self.options.width() as usize;
            let pairs = outcome.results.iter().zip(&func.signature.results);
            let shown: Vec<String> =
                pairs.map(|(data, result)| show_result(data, result.ty, lanes)).collect();
            parts.push(shown.join(", "));
        }
        for spec in &ran.objects {
            let values = object_values(spec, &ran.memory);
            parts.push(format!("{}: {}", spec.name, show_data(&values, spec.element)));
        }
        parts.join("; ")
    }
}

/// Where the bracket closes that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' | ']' | '>' => depth -= 1,
            _ => {}
        }
        None
    })
}

fn parse_expectation(text: &str) -> Result<Expectation, LineError> {
    if let Some(fault) = text.strip_prefix("fault:") {
        return Ok(Expectation::Fault(fault.trim().into()));
    }
    let (mut results, mut objects) = (Vec::new(), Vec::new());
    for part in split_list(text, ';') {
        match part.split_once(':') {
            Some((name, values)) => objects.push((name.trim().to_string(), values.trim().to_string())),
            None if results.is_empty() && objects.is_empty() => {
                results = split_list(part, ',').into_iter().map(String::from).collect();
            }
            None => return Err(LineError::Expectation(part.into())),
        }
    }
    Ok(Expectation::Values { results, objects })
}

/// True if values match a text: a list, or one value for all of them.
fn agree(text: &str, data: &[Datum], ty: Type, memory: &Memory) -> Result<bool, LineError> {
    let scalar = ty.scalar();
    let trimmed = text.trim_start_matches('[').trim_end_matches(']').replace(['<', '>'], "");
    let items = split_list(&trimmed, ',');
    let is_list = text.starts_with('[') || ty.is_vector();
    if is_list && items.len() != data.len() {
        return Ok(false);
    }
    let mut agrees = !items.is_empty() || data.is_empty();
    for (index, &datum) in data.iter().enumerate() {
        let Some(&item) = items.get(if is_list { index } else { 0 }) else { continue };
        if item == "_" {
            continue;
        }
        let expected = parse_datum(item, scalar, memory)?;
        let is_nan = |datum: Datum| crate::spec::show_datum(datum, scalar) == "nan";
        agrees &= expected == datum || is_nan(expected) && is_nan(datum);
    }
    Ok(agrees)
}
