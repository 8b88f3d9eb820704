//! Options of the compiler. Command lines, environment variables and pass lists fill these types; each parses its own text
//! form.

use crate::option_words::{OptionWord, list_of_forms, set_option, store, word};
use heddle_ir::module::DeclaredShape;
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use heddle_ir::{Block, Code, Diagnostic};
use heddle_math::Accuracy;
use heddle_transform::boscc::GuardPolicy;
use heddle_transform::fuse::MachineModel;
use heddle_transform::scalar_replacement::ReplacementVariant;
use heddle_transform::{RaceSemantics, TargetInfo, VersioningPolicy, WorkItemLayout};
use smallvec::SmallVec;
use std::fmt;
use std::str::FromStr;

/// Lanes of a brush along one to four dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrushExtents {
    extents: SmallVec<[u32; 3]>,
}

/// Returns the error for an option that does not parse, with the accepted forms as help.
pub(crate) fn invalid_option(text: impl fmt::Display, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::PassOption, format!("unknown word `{text}`")).help(help)
}

impl BrushExtents {
    /// Creates a brush with the given lanes along each dimension.
    pub fn new(extents: &[u32]) -> Result<BrushExtents, Diagnostic> {
        let brush = BrushExtents { extents: extents.into() };
        let is_brush =
            (1..=MAX_DIMENSIONS).contains(&extents.len()) && (1..=MAX_LANES).contains(&brush.lanes());
        if is_brush { Ok(brush) } else { Err(BrushExtents::refusal(&brush.to_string())) }
    }

    fn refusal(text: &str) -> Diagnostic {
        Diagnostic::error(Code::PassOption, format!("`{text}` is not a brush")).help(format!(
            "write the number of lanes, as in `8` or, for two dimensions, `8x2`; at most {MAX_LANES} lanes"
        ))
    }

    /// Returns the lanes along each dimension.
    pub fn extents(&self) -> &[u32] {
        &self.extents
    }

    /// Returns the number of lanes.
    pub fn lanes(&self) -> u32 {
        self.extents.iter().fold(1, |lanes: u32, &extent| lanes.saturating_mul(extent))
    }

    /// Returns the extents of `count` brushes side by side along the last dimension.
    pub fn times(&self, count: u32) -> Result<BrushExtents, Diagnostic> {
        let mut extents = self.extents.clone();
        if let Some(last) = extents.last_mut() {
            *last = last.saturating_mul(count);
        }
        BrushExtents::new(&extents)
    }
}

impl fmt::Display for BrushExtents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.extents.iter().map(u32::to_string).collect();
        f.write_str(&extents.join("x"))
    }
}

impl FromStr for BrushExtents {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<BrushExtents, Diagnostic> {
        let extents: Option<Vec<u32>> = text.split('x').map(|extent| extent.parse().ok()).collect();
        extents
            .and_then(|extents| BrushExtents::new(&extents).ok())
            .ok_or_else(|| BrushExtents::refusal(text))
    }
}

/// Number of brushes side by side in one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrushCount {
    /// Fixed number.
    Count(u32),
    /// Number that the cost model chooses.
    Auto,
}

impl FromStr for BrushCount {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<BrushCount, Diagnostic> {
        match (text, text.parse()) {
            ("auto", _) => Ok(BrushCount::Auto),
            (_, Ok(count)) if count > 0 => Ok(BrushCount::Count(count)),
            _ => Err(invalid_option(
                text,
                "write the number of brushes next to each other, as in `2`, or `auto`",
            )),
        }
    }
}

impl fmt::Display for BrushCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BrushCount::Count(count) => count.fmt(f),
            BrushCount::Auto => f.write_str("auto"),
        }
    }
}

/// Machine of a pass's cost model, while its options are parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineChoice {
    pub(crate) lanes: u32,
    /// Target with vectors; none is a machine with warps.
    target: Option<TargetInfo>,
}

impl Default for MachineChoice {
    fn default() -> MachineChoice {
        MachineChoice { lanes: 8, target: Some(TargetInfo::default()) }
    }
}

impl MachineChoice {
    /// Sets the target from its name, or `warps`.
    pub(crate) fn set_target(&mut self, name: &str) -> Result<(), Diagnostic> {
        self.target = if name == "warps" { None } else { Some(parse_target(name)?) };
        Ok(())
    }

    pub(crate) fn model(self) -> MachineModel {
        self.target.map_or(MachineModel::Warps, |target| MachineModel::Vectors(target, self.lanes))
    }
}

/// Conditions under which an optional pass is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PassPolicy {
    /// Never.
    Never,
    /// Where its cost model expects a gain.
    IfProfitable,
    /// Wherever it is legal.
    Always,
}

impl FromStr for PassPolicy {
    type Err = Diagnostic;
    fn from_str(word: &str) -> Result<PassPolicy, Diagnostic> {
        match word {
            "no" => Ok(PassPolicy::Never),
            "yes" => Ok(PassPolicy::IfProfitable),
            "force" => Ok(PassPolicy::Always),
            _ => Err(invalid_option(word, "write `yes`, `no` or `force`")),
        }
    }
}

/// Options of the vectorizer. The text form is a comma-separated list: `math=fast,brushes=auto`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VectorizeOptions {
    /// Machine whose cost table the passes use.
    pub target: TargetInfo,
    /// Implementation of mathematical functions; none leaves their calls alone.
    pub math: Option<Accuracy>,
    /// Default shape for parameters of entry functions without a declared shape.
    pub params: Option<DeclaredShape>,
    /// Number of brushes side by side.
    pub brushes: BrushCount,
    /// Policy for run-time versions of accesses.
    pub versions: VersioningPolicy,
    /// Work-item layout of kernels; none leaves kernels to the surrounding code to launch.
    pub kernels: Option<WorkItemLayout>,
    /// Variant of scalar replacement, if any.
    pub scalars: Option<ReplacementVariant>,
    /// Policy of branch fusion.
    pub fuse: PassPolicy,
    /// Policy of loop flattening.
    pub flatten: PassPolicy,
    /// Policy of strip-mining loops over rows.
    pub strips: PassPolicy,
    /// Policy of lane refill for kernels. The pipeline applies it only if forced; the runtime finds out by trial where it pays.
    pub refill: PassPolicy,
    /// Assumption about data races between lanes.
    pub races: RaceSemantics,
    /// Policy of guard insertion.
    pub guards: GuardPolicy,
    /// Branches to if-convert.
    pub branches: IfConversion,
    /// Precision of quotients by square roots.
    pub roots: RootPrecision,
    /// Caching of vector stores.
    pub stores: StorePolicy,
}

/// Caching of whole-vector stores to global memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum StorePolicy {
    /// Ordinary stores.
    #[default]
    Cached,
    /// Non-temporal stores. Other readers need a fence after the code.
    Streamed,
}

/// Precision of quotients by square roots whose source allows an error of some ulps.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum RootPrecision {
    /// A refined hardware estimate, where the machine has a sufficient one.
    #[default]
    Estimated,
    /// Correctly rounded, as elsewhere.
    Exact,
}

/// Branches that linearization if-converts.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum IfConversion {
    /// Divergent branches.
    #[default]
    DivergentOnly,
    /// All branches that can be if-converted.
    AllPossible,
}

impl Default for VectorizeOptions {
    fn default() -> VectorizeOptions {
        let versions = VersioningPolicy::default();
        VectorizeOptions {
            target: TargetInfo::default(),
            math: None,
            params: None,
            brushes: BrushCount::Count(1),
            versions,
            kernels: None,
            scalars: Some(ReplacementVariant::Cost),
            fuse: PassPolicy::IfProfitable,
            flatten: PassPolicy::IfProfitable,
            strips: PassPolicy::IfProfitable,
            refill: PassPolicy::IfProfitable,
            races: RaceSemantics::default(),
            guards: GuardPolicy::default(),
            branches: IfConversion::default(),
            roots: RootPrecision::default(),
            stores: StorePolicy::default(),
        }
    }
}

impl VectorizeOptions {
    /// All options of the text form.
    pub const OPTIONS: &'static [OptionWord<VectorizeOptions>] = &[
        word(
            "params=SHAPE",
            "shape of parameters without a declared one: `uniform`, `varying`",
            |it, text| parse_default_shape(text).map(|shape| it.params = Some(shape)),
        ),
        word("math=ACCURACY", "mathematical functions: `exact`, `fast`, `libm`", |it, text| {
            parse_accuracy(text).map(|accuracy| it.math = Some(accuracy))
        }),
        word("target=NAME", "machine: `avx512`, `avx2`, …", |it, text| {
            store(&mut it.target, parse_target(text))
        }),
        word("versions=POLICY", "run-time versions of accesses: `force`, `none`", |it, text| {
            store(&mut it.versions, parse_versions(text))
        }),
        word("kernels=LAYOUT", "work-items of kernels: `rows`, `linear`", |it, text| {
            parse_work_item_layout(text).map(|layout| it.kernels = Some(layout))
        }),
        word("ssrqp=VARIANT", "scalar replacement: `cost`, another variant, `no`", |it, text| {
            let variant = if text == "no" { None } else { Some(parse_variant(text)?) };
            store(&mut it.scalars, Ok(variant))
        }),
        word("fuse=POLICY", "branch fusion: `yes`, `no`, `force`", |it, text| {
            store(&mut it.fuse, text.parse())
        }),
        word("flatten=POLICY", "loop flattening: `yes`, `no`, `force`", |it, text| {
            store(&mut it.flatten, text.parse())
        }),
        word("strips=POLICY", "strip-mining of loops over rows: `yes`, `no`, `force`", |it, text| {
            store(&mut it.strips, text.parse())
        }),
        word("refill=POLICY", "lane refill: `yes`, `no`, `force`", |it, text| {
            store(&mut it.refill, text.parse())
        }),
        word("races=SEMANTICS", "races of lanes: `ordered`, `excluded`", |it, text| {
            store(&mut it.races, parse_races(text))
        }),
        word("guards=POLICY", "guards: `force`, `needed`", |it, text| {
            store(&mut it.guards, parse_policy(text))
        }),
        word("branches=POLICY", "uniform branches: `keep`, `fold`", |it, text| {
            store(&mut it.branches, parse_branches(text))
        }),
        word("roots=PRECISION", "quotients by square roots: `estimated`, `exact`", |it, text| {
            store(&mut it.roots, parse_roots(text))
        }),
        word("stores=POLICY", "whole vectors: `cached`, `streamed`", |it, text| {
            store(&mut it.stores, parse_stores(text))
        }),
        word("brushes=COUNT", "brushes side by side: `2`, `auto`", |it, text| {
            store(&mut it.brushes, text.parse())
        }),
    ];

    /// Returns the list of all options, for help texts.
    pub fn list_of_options() -> String {
        list_of_forms(VectorizeOptions::OPTIONS)
    }

    /// Sets the option `key`; returns false if there is none.
    pub fn set(&mut self, key: &str, value: &str) -> Result<bool, Diagnostic> {
        set_option(VectorizeOptions::OPTIONS, self, &format!("{key}={value}"))
    }
}

impl FromStr for VectorizeOptions {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<VectorizeOptions, Diagnostic> {
        let mut options = VectorizeOptions::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if !options.set(key, value)? {
                let help = format!("the options are {}", VectorizeOptions::list_of_options());
                return Err(invalid_option(word, help));
            }
        }
        Ok(options)
    }
}

/// Parses `exact`, `fast` or `libm`.
pub fn parse_accuracy(word: &str) -> Result<Accuracy, Diagnostic> {
    Accuracy::named(word).ok_or_else(|| invalid_option(word, "write `exact`, `fast` or `libm`"))
}

/// Parses the name of a machine's cost table.
pub fn parse_target(name: &str) -> Result<TargetInfo, Diagnostic> {
    TargetInfo::named(name).ok_or_else(|| {
        let known: Vec<&str> = TargetInfo::ALL.iter().map(|target| target.name).collect();
        Diagnostic::error(Code::PassOption, format!("unknown target `{name}`"))
            .help(format!("the targets are {}", known.join(", ")))
    })
}

/// Parses the name of a variant of scalar replacement.
pub(crate) fn parse_variant(word: &str) -> Result<ReplacementVariant, Diagnostic> {
    ReplacementVariant::ALL.into_iter().find(|variant| variant.name() == word).ok_or_else(|| {
        let names = ReplacementVariant::ALL.map(|variant| format!("`{}`", variant.name()));
        invalid_option(word, format!("write {}", names.join(", ")))
    })
}

/// Parses `force` or `none`.
pub fn parse_versions(word: &str) -> Result<VersioningPolicy, Diagnostic> {
    match word {
        "force" => Ok(VersioningPolicy::Force),
        "none" => Ok(VersioningPolicy::None),
        _ => Err(invalid_option(word, "write `versions=force` or `versions=none`")),
    }
}

/// Parses `force` or `needed`.
fn parse_policy(word: &str) -> Result<GuardPolicy, Diagnostic> {
    match word {
        "force" => Ok(GuardPolicy::Force),
        "needed" => Ok(GuardPolicy::Needed),
        _ => Err(invalid_option(word, "write `guards=force` or `guards=needed`")),
    }
}

/// Parses `keep` or `fold`.
pub(crate) fn parse_branches(word: &str) -> Result<IfConversion, Diagnostic> {
    match word {
        "keep" => Ok(IfConversion::DivergentOnly),
        "fold" => Ok(IfConversion::AllPossible),
        _ => Err(invalid_option(word, "write `branches=keep` or `branches=fold`")),
    }
}

/// Parses `cached` or `streamed`.
fn parse_stores(word: &str) -> Result<StorePolicy, Diagnostic> {
    match word {
        "cached" => Ok(StorePolicy::Cached),
        "streamed" => Ok(StorePolicy::Streamed),
        _ => Err(invalid_option(word, "write `stores=cached` or `stores=streamed`")),
    }
}

/// Parses `estimated` or `exact`.
fn parse_roots(word: &str) -> Result<RootPrecision, Diagnostic> {
    match word {
        "estimated" => Ok(RootPrecision::Estimated),
        "exact" => Ok(RootPrecision::Exact),
        _ => Err(invalid_option(word, "write `roots=estimated` or `roots=exact`")),
    }
}

/// Parses `ordered` or `excluded`.
pub(crate) fn parse_races(word: &str) -> Result<RaceSemantics, Diagnostic> {
    match word {
        "ordered" => Ok(RaceSemantics::Ordered),
        "excluded" => Ok(RaceSemantics::Excluded),
        _ => Err(invalid_option(word, "write `races=ordered` or `races=excluded`")),
    }
}

/// Parses `rows` or `linear`.
pub(crate) fn parse_work_item_layout(word: &str) -> Result<WorkItemLayout, Diagnostic> {
    match word {
        "rows" => Ok(WorkItemLayout::Rows),
        "linear" => Ok(WorkItemLayout::Linear),
        _ => Err(invalid_option(word, "write `rows` or `linear`")),
    }
}

/// Parses `uniform` or `varying`.
pub(crate) fn parse_default_shape(word: &str) -> Result<DeclaredShape, Diagnostic> {
    match word {
        "uniform" => Ok(DeclaredShape::Uniform),
        "varying" => Ok(DeclaredShape::Varying),
        _ => Err(invalid_option(word, "write `params=uniform` or `params=varying`")),
    }
}

/// Shape of a parameter. The text form is `varying` for the next parameter in order, or `cx=varying` by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamShape {
    /// Name of the parameter in the source; none is the next in order.
    pub name: Option<String>,
    /// Declared shape.
    pub shape: DeclaredShape,
}

impl From<DeclaredShape> for ParamShape {
    fn from(shape: DeclaredShape) -> ParamShape {
        ParamShape { name: None, shape }
    }
}

impl FromStr for ParamShape {
    type Err = Diagnostic;
    fn from_str(text: &str) -> Result<ParamShape, Diagnostic> {
        let (name, shape) = match text.split_once('=') {
            Some((name, shape)) => (Some(name.to_string()), shape),
            None => (None, text),
        };
        Ok(ParamShape { name, shape: parse_shape(shape)? })
    }
}

/// Parses a shape: `uniform`, `varying`, or `linear:4` with the step from lane to lane (of pointers, in bytes).
pub fn parse_shape(word: &str) -> Result<DeclaredShape, Diagnostic> {
    let stride = |text: &str| text.parse::<i64>().ok();
    match word.split_once(':') {
        None if word == "uniform" => Ok(DeclaredShape::Uniform),
        None if word == "varying" => Ok(DeclaredShape::Varying),
        Some(("linear", text)) if ["ref", "val", "uval"].iter().any(|kind| text.starts_with(kind)) => {
            let text = "the vector ABI has no `linear` references here";
            Err(Diagnostic::error(Code::ParameterShapes, text)
                .help("pass the value (`linear:1`) or the pointer (`linear:4`)"))
        }
        Some(("linear", text)) if stride(text).is_some() => {
            Ok(DeclaredShape::Linear(stride(text).into_iter().collect()))
        }
        _ => Err(invalid_option(word, "write `uniform`, `varying` or `linear:4`")),
    }
}

/// Parses the name of a block.
pub(crate) fn parse_block(name: &str) -> Result<Block, Diagnostic> {
    let number = name.strip_prefix("block").and_then(|number| number.parse().ok());
    number.map(Block::from_u32).ok_or_else(|| invalid_option(name, "write a block, as in `block3`"))
}
