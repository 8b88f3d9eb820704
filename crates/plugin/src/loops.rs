//! Vector code of outlined loops.

use heddle_compiler::ir::Diagnostic;
use heddle_compiler::llvm::{Cpu, LlvmModule, read_ir};
use heddle_compiler::options::VectorizeOptions;
use heddle_compiler::transform::{LoopPromises, NestProjection};
use heddle_compiler::{
    DiagnosticError, LoopCode, LoopLanes, LoopRequest, NestBrush, NestExtents, NestRequest, NestTrips,
    Session, SourceModule, VectorLoop, VectorNest,
};

/// Request for an outlined loop: the target of its function and its pragma's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PluginLoopRequest {
    pub(crate) name: String,
    pub(crate) cpu: String,
    pub(crate) features: String,
    /// Maximum number of iterations that run together; 0 if unspecified.
    pub(crate) width: u32,
    pub(crate) is_parallel: bool,
    /// Parameter with the number of the first iteration, if calls may begin at others than the first.
    pub(crate) first: Option<usize>,
    /// Interleave count of the pragma; 0 if unspecified.
    pub(crate) interleaved: u32,
    /// True for a nest, both of whose levels become dimensions of a brush.
    pub(crate) is_nest: bool,
    /// Width of the nest's inner level, as its pragma says; 0 if unspecified.
    pub(crate) inner_width: u32,
    /// Trip counts of the nest's levels; 0 if they are not constant.
    pub(crate) outer_trips: u32,
    pub(crate) inner_trips: u32,
}

/// Option for the brush of nests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NestOption {
    /// Brushes of two dimensions only where pragmas give a width for both levels.
    None,
    /// Chosen by the cost model.
    Auto,
    /// Extents that all nests get.
    Fixed(NestExtents),
}

impl NestOption {
    fn read(text: &str) -> Option<NestOption> {
        match text {
            "none" => Some(NestOption::None),
            "auto" => Some(NestOption::Auto),
            _ => {
                let (height, width) = text.split_once('x')?;
                let [height, width] =
                    [height, width].map(|extent| extent.parse().ok().filter(|&extent: &u32| extent > 1));
                Some(NestOption::Fixed(NestExtents { height: height?, width: width? }))
            }
        }
    }
}

/// Reads the thesis' projection vector, whose dimension 0 is the outer level: lanes of its first dimension are next to each other.
fn read_projection(text: &str) -> Option<NestProjection> {
    match text {
        "10" => Some(NestProjection::InnerFirst),
        "01" => Some(NestProjection::OuterFirst),
        _ => None,
    }
}

/// Vector code of a loop or a nest.
#[derive(Debug)]
pub(crate) enum VectorizedLoop {
    Loop(VectorLoop),
    Nest(VectorNest),
}

impl VectorizedLoop {
    /// Code of a form: 0 is the vector code; 1 that with lane refill, or that of single rows of a nest; 2 that of one vector of a loop
    /// whose vectors are interleaved.
    pub(crate) fn form(&self, form: u32) -> Option<&LoopCode> {
        match (self, form) {
            (VectorizedLoop::Loop(made), 0) => Some(&made.vector),
            (VectorizedLoop::Loop(made), 1) => made.refilled.as_ref(),
            (VectorizedLoop::Loop(made), _) => made.rest.as_ref(),
            (VectorizedLoop::Nest(made), 0) => Some(&made.tensor),
            (VectorizedLoop::Nest(made), 1) => Some(&made.rows),
            (VectorizedLoop::Nest(_), _) => None,
        }
    }

    /// The loop; none for a nest.
    pub(crate) fn as_loop(&self) -> Option<&VectorLoop> {
        match self {
            VectorizedLoop::Loop(made) => Some(made),
            VectorizedLoop::Nest(_) => None,
        }
    }
}

/// Plugin option for all loops: `W=16`, `interleave=2` and `brush=4x16` as defaults for pragmas without them, and the words of
/// [`VectorizeOptions`].
#[derive(Clone, Default, Debug)]
struct Settings {
    width: Option<u32>,
    interleaved: Option<u32>,
    nests: Option<NestOption>,
    projection: Option<NestProjection>,
    words: Vec<(String, String)>,
}

impl Settings {
    fn read(text: &str) -> Result<Settings, Diagnostic> {
        let mut settings = Settings::default();
        let mut tried = VectorizeOptions::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = value.parse().ok().filter(|&number: &u32| number > 0);
            match key {
                "W" if number.is_some() => settings.width = number,
                "interleave" if number.is_some() => settings.interleaved = number,
                "brush" if let Some(nests) = NestOption::read(value) => settings.nests = Some(nests),
                "projection" if let Some(projection) = read_projection(value) => {
                    settings.projection = Some(projection);
                }
                _ if !["W", "interleave", "brush", "projection"].contains(&key)
                    && tried.set(key, value)? =>
                {
                    settings.words.push((key.to_string(), value.to_string()));
                }
                _ => {
                    let text = format!("unknown word `{word}` in `-heddle-loops`");
                    let help = format!(
                        "the words are `W=16`, `interleave=2`, `brush=4x16`, `brush=none`, `projection=01`, {}",
                        VectorizeOptions::list_of_options()
                    );
                    return Err(Diagnostic::error(heddle_compiler::ir::Code::PassOption, text).help(help));
                }
            }
        }
        Ok(settings)
    }

    /// Brushes of nests. Who fixes the lanes of loops has them on one level.
    fn nests(&self) -> NestOption {
        let is_fixed = self.width.is_some() || self.interleaved.is_some();
        self.nests.unwrap_or(if is_fixed { NestOption::None } else { NestOption::Auto })
    }

    fn apply(&self, options: &mut VectorizeOptions) {
        for (key, value) in &self.words {
            // Each was understood before.
            _ = options.set(key, value);
        }
    }
}

impl PluginLoopRequest {
    /// A number at a loop without dependences is wanted (`simdlen`), any other is a bound (`safelen`).
    fn lanes(&self) -> LoopLanes {
        match (self.width, self.is_parallel) {
            (0, _) => LoopLanes::Auto,
            (width, true) => LoopLanes::Exactly(width),
            (width, false) => LoopLanes::AtMost(width),
        }
    }
}

/// Result for a loop: its code and remarks (the loop's first, then its contents'), or the refusal.
pub(crate) type LoopResult = Result<(VectorizedLoop, Vec<String>), String>;

/// True if options ask for brushes of two dimensions where pragmas do not say so.
pub(crate) fn wants_tensors(options: &str) -> bool {
    Settings::read(options).is_ok_and(|settings| settings.nests() != NestOption::None)
}

/// Vectorizes each requested loop, or returns the reason of its refusal.
pub(crate) fn vectorize_loops(
    bitcode: &[u8],
    requests: &[PluginLoopRequest],
    options: &str,
) -> Vec<LoopResult> {
    let settings = match Settings::read(options) {
        Ok(settings) => settings,
        Err(diagnostic) => {
            let reason = in_words(&diagnostic.into());
            return requests.iter().map(|_| Err(reason.clone())).collect();
        }
    };
    let session = |request: &PluginLoopRequest, llvm: &LlvmModule| {
        let name = if request.cpu.is_empty() { "x86-64".into() } else { request.cpu.clone() };
        let mut session =
            Session::new(Cpu { name, features: request.features.clone(), triple: Some(llvm.triple()) });
        settings.apply(&mut session.options);
        session
    };
    let read = read_ir("the module", bitcode).map_err(|reason| reason.to_string());
    let imported = read.and_then(|llvm| {
        let any = Session::default().import(llvm, "the module");
        any.map_err(|failure| in_words(&failure))
    });
    let source = match imported {
        Ok(source) => source,
        Err(reason) => return requests.iter().map(|_| Err(reason.clone())).collect(),
    };
    let one = |request: &PluginLoopRequest| {
        let Some(llvm) = source.llvm.as_ref().filter(|_| !request.name.is_empty()) else {
            return Err("internal error: the loop is not requested".to_string());
        };
        if request.is_nest {
            let made = vectorize_nest(&session(request, llvm), &source, request, &settings);
            return made.map_err(|failure| in_words(&failure));
        }
        let PluginLoopRequest { name, is_parallel, .. } = request;
        let promises = LoopPromises { is_parallel: *is_parallel };
        let lanes = match (request.lanes(), settings.width) {
            (LoopLanes::Auto, Some(width)) => LoopLanes::Exactly(width),
            (lanes, _) => lanes,
        };
        let own = Some(request.interleaved).filter(|&count| count > 0);
        let interleaved = own.or(settings.interleaved);
        let requested =
            LoopRequest { func: name.clone(), lanes, interleaved, promises, first: request.first };
        let made = session(request, llvm).vectorize_loop(&source, &requested);
        made.map(|made| {
            let mut words = vec![remark(&made), made.statistics.to_string()];
            words.extend(made.remarks.iter().map(of_line));
            (VectorizedLoop::Loop(made), words)
        })
        .map_err(|failure| in_words(&failure))
    };
    // A refused nest is tried again as a loop, and all others with it: they wait for nests to be decided.
    let nests: Vec<Option<LoopResult>> =
        requests.iter().map(|request| request.is_nest.then(|| one(request))).collect();
    let is_refused = nests.iter().flatten().any(Result::is_err);
    let result = |(request, nest): (&PluginLoopRequest, Option<LoopResult>)| match nest {
        Some(made) => made,
        None if is_refused => Err("a nest of the module was refused".to_string()),
        None => one(request),
    };
    requests.iter().zip(nests).map(result).collect()
}

fn vectorize_nest(
    session: &Session,
    source: &SourceModule,
    request: &PluginLoopRequest,
    settings: &Settings,
) -> Result<(VectorizedLoop, Vec<String>), DiagnosticError> {
    let extents = match (request.width, request.inner_width, settings.nests()) {
        (height @ 2.., width @ 2.., _) => Some(NestExtents { height, width }),
        (.., NestOption::Fixed(extents)) => Some(extents),
        _ => None,
    };
    let constant = |trips: u32| Some(trips).filter(|&trips| trips > 0);
    let trips = NestTrips { outer: constant(request.outer_trips), inner: constant(request.inner_trips) };
    let nest = NestRequest {
        func: request.name.clone(),
        extents,
        projection: settings.projection,
        trips,
        first: request.first,
    };
    let made = session.vectorize_nest(source, &nest)?;
    let NestBrush { extents: NestExtents { height, width }, projection } = made.brush;
    let order = match projection {
        NestProjection::InnerFirst => "",
        NestProjection::OuterFirst => ", lanes along the outer loop next to each other",
    };
    let mut words = vec![format!("nest vectorized: {height}x{width} iterations at a time{order}")];
    words.extend(made.remarks.iter().map(of_line));
    Ok((VectorizedLoop::Nest(made), words))
}

fn remark(made: &VectorLoop) -> String {
    let mut text = format!("loop vectorized: {} iterations at a time", made.lanes);
    if made.interleaved > 1 {
        text += &format!(", in {} interleaved vectors", made.interleaved);
    }
    text
}

/// Formats a diagnostic with its location.
fn of_line(diagnostic: &Diagnostic) -> String {
    match diagnostic.place.line {
        0 => diagnostic.text.clone(),
        line => format!("{} (line {line})", diagnostic.text),
    }
}

/// Formats a failure without the names of outlined functions.
fn in_words(failure: &DiagnosticError) -> String {
    let one = |diagnostic: &Diagnostic| {
        let mut text = of_line(diagnostic);
        if !diagnostic.help.is_empty() {
            text += &format!("; help: {}", diagnostic.help);
        }
        text
    };
    failure.diagnostics.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_of_loops_or_of_the_compiler() {
        let read = Settings::read("W=8,interleave=4,versions=none,guards=force").expect("it is understood");
        let words: Vec<&str> = read.words.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!((read.width, read.interleaved, words), (Some(8), Some(4), vec!["versions", "guards"]));
        assert_eq!(read.nests(), NestOption::None);
        let nests = |text: &str| Settings::read(text).expect(text).nests();
        let fixed = NestOption::Fixed(NestExtents { height: 4, width: 16 });
        assert_eq!(
            ["", "W=8,brush=auto", "brush=4x16"].map(nests),
            [NestOption::Auto, NestOption::Auto, fixed]
        );
        let reason = |text: &str| Settings::read(text).expect_err(text).text;
        assert_eq!(reason("interleave=0"), "unknown word `interleave=0` in `-heddle-loops`");
        assert_eq!(reason("brush=4"), "unknown word `brush=4` in `-heddle-loops`");
        assert_eq!(reason("projection=0"), "unknown word `projection=0` in `-heddle-loops`");
        assert_eq!(reason("fast"), "unknown word `fast` in `-heddle-loops`");
        assert!(reason("versions=some").contains("`some`"));
    }
}
