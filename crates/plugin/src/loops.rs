//! Vector code of outlined loops.

use heddle_compiler::ir::Diagnostic;
use heddle_compiler::llvm::{Cpu, LlvmModule, read_ir};
use heddle_compiler::options::VectorizeOptions;
use heddle_compiler::transform::LoopPromises;
use heddle_compiler::{DiagnosticError, LoopLanes, LoopRequest, Session, VectorLoop};

/// Request for an outlined loop: the target of its function and its pragma's parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PluginLoopRequest {
    pub(crate) name: String,
    pub(crate) cpu: String,
    pub(crate) features: String,
    /// Maximum number of iterations that run together; 0 if unspecified.
    pub(crate) width: u32,
    pub(crate) is_parallel: bool,
    /// Interleave count of the pragma; 0 if unspecified.
    pub(crate) interleaved: u32,
}

/// Plugin option for all loops: `W=16` and `interleave=2` as defaults for pragmas without them, and the words of
/// [`VectorizeOptions`].
#[derive(Clone, Default, Debug)]
struct Settings {
    width: Option<u32>,
    interleaved: Option<u32>,
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
                _ if key != "W" && key != "interleave" && tried.set(key, value)? => {
                    settings.words.push((key.to_string(), value.to_string()));
                }
                _ => {
                    let text = format!("unknown word `{word}` in `-heddle-loops`");
                    let help = format!(
                        "the words are `W=16`, `interleave=2`, {}",
                        VectorizeOptions::list_of_options()
                    );
                    return Err(Diagnostic::error(heddle_compiler::ir::Code::PassOption, text).help(help));
                }
            }
        }
        Ok(settings)
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
pub(crate) type LoopResult = Result<(VectorLoop, Vec<String>), String>;

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
        let PluginLoopRequest { name, is_parallel, .. } = request;
        let promises = LoopPromises { is_parallel: *is_parallel };
        let lanes = match (request.lanes(), settings.width) {
            (LoopLanes::Auto, Some(width)) => LoopLanes::Exactly(width),
            (lanes, _) => lanes,
        };
        let own = Some(request.interleaved).filter(|&count| count > 0);
        let interleaved = own.or(settings.interleaved);
        let requested = LoopRequest { func: name.clone(), lanes, interleaved, promises };
        let made = session(request, llvm).vectorize_loop(&source, &requested);
        made.map(|made| {
            let mut words = vec![remark(&made), made.statistics.to_string()];
            words.extend(made.remarks.iter().map(of_line));
            (made, words)
        })
        .map_err(|failure| in_words(&failure))
    };
    requests.iter().map(one).collect()
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
        let reason = |text: &str| Settings::read(text).expect_err(text).text;
        assert_eq!(reason("interleave=0"), "unknown word `interleave=0` in `-heddle-loops`");
        assert_eq!(reason("fast"), "unknown word `fast` in `-heddle-loops`");
        assert!(reason("versions=some").contains("`some`"));
    }
}
