//! PTX round trips of one module.

use crate::compile::tools;
use heddle_compiler::Session;
use heddle_interp::Scheduler;
use heddle_ir::Module;
use heddle_ptx::{LowerOptions, LoweredModule, lower, parse};
use heddle_runs::line::RunLine;
use heddle_testing::kernels::Machine;
use heddle_testing::launches::{
    TestLaunch, TestLaunchObject, as_vectors, difference, exact, on_oracle, vectors,
};
use heddle_testing::not_run::not_run;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Passes that change what a GPU does.
const PASSES: &[&str] = &[
    "simplify",
    "canonicalize",
    "ssrqp=ssrqp",
    "fuse:8+races=excluded",
    "flatten:races=excluded",
    "simplify",
];

/// Progress so far.
pub(crate) struct Round {
    assembler: Option<PathBuf>,
    launches: usize,
    native: usize,
    assembled: usize,
}

impl Display for Round {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Round { launches, native, assembled, .. } = self;
        write!(f, "{launches} launches, {native} of them native, {assembled} texts assembled")
    }
}

fn read(text: &str, dynamic_shared: u64) -> Result<LoweredModule, String> {
    let parsed = parse(text).map_err(|errors| errors[0].to_string())?;
    let printed = parsed.to_string();
    match parse(&printed) {
        Ok(again) if again.to_string() == printed => {}
        Ok(_) => return Err("what is printed of the print is another text".into()),
        Err(errors) => return Err(format!("what is printed is not read: {}", errors[0])),
    }
    let lowered = lower(&parsed, "k.ptx", LowerOptions { dynamic_shared, ..LowerOptions::default() })
        .map_err(|errors| errors[0].to_string())?;
    match lowered.refused.first() {
        Some(refused) => Err(refused.to_string()),
        None => Ok(lowered),
    }
}

impl Round {
    /// Asks the assembler, if it is there.
    pub(crate) fn new() -> Round {
        let path = tools().join("ptxas");
        let assembler = path.exists().then_some(path);
        if assembler.is_none() {
            not_run("NVIDIA's assembler on kernels", "`./x ptxas` brings it, from PyPI");
        }
        Round { assembler, launches: 0, native: 0, assembled: 0 }
    }

    /// Returns the errors of a module. `given` has earlier results of launches, by their lines.
    pub(crate) fn check(
        &mut self,
        what: &str,
        text: &str,
        launches: &[String],
        given: &mut BTreeMap<String, Vec<TestLaunchObject>>,
    ) -> Vec<String> {
        let lowered = match read(text, 1024) {
            Ok(lowered) => lowered,
            Err(error) => return vec![format!("{what}: {error}")],
        };
        let mut wrong = Vec::new();
        let mut all = vec![("raised", self.raised(&lowered.module))];
        let mut changed = lowered.module.clone();
        match Session::default().run_passes(&mut changed, PASSES, true, |_, _| ()) {
            Ok(_) => all.push(("after passes, raised", self.raised(&changed))),
            Err(error) => wrong.push(format!("{what}: {error}")),
        }
        let mut modules: Vec<(&str, Module)> = Vec::new();
        for (how, module) in all {
            match module {
                Ok(module) => modules.push((how, module)),
                Err(error) => wrong.push(format!("{what}, {how}: {error}")),
            }
        }
        let is_native = what.ends_with("O3");
        for line in launches {
            let mut message =
                |how: &str, text: String| wrong.push(format!("{what}, {how}: {line}\n  {text}"));
            let launch = RunLine::parse(line).map_err(|error| error.to_string());
            let launch = match launch.and_then(|line| TestLaunch::of_line(&line, &lowered.module)) {
                Ok(launch) => launch,
                Err(error) => {
                    message("launch", error);
                    continue;
                }
            };
            self.launches += 1;
            let expected = match on_oracle(&lowered.module, &launch, Scheduler::Greedy) {
                Ok((found, _)) => found,
                Err(fault) => {
                    message("oracle", fault);
                    continue;
                }
            };
            if let Some(text) = difference(given.entry(line.clone()).or_insert(expected.clone()), &expected) {
                message("against another compiler's", text);
            }
            let machine = if is_native { Machine::Native } else { Machine::Oracle };
            self.native += usize::from(is_native);
            // The oracle's own mathematical functions are none of native code's: those of both are text.
            let exact = exact(&lowered.module).unwrap_or_default();
            let whole = exact.as_ref().unwrap_or(&lowered.module);
            let expected_of_code = match on_oracle(whole, &launch, Scheduler::Greedy) {
                Ok((found, _)) => found,
                Err(fault) => {
                    message("oracle, with functions", fault);
                    continue;
                }
            };
            let vectors = vectors(whole, &launch.kernel);
            match vectors.and_then(|code| as_vectors(&code, &launch, machine)) {
                Ok(found) => {
                    if let Some(text) = difference(&expected_of_code, &found) {
                        message("vector code", text);
                    }
                }
                Err(error) => message("vector code", error),
            }
            for (how, module) in &modules {
                match on_oracle(module, &launch, Scheduler::Greedy) {
                    Ok((found, _)) => {
                        if let Some(text) = difference(&expected, &found) {
                            message(how, text);
                        }
                    }
                    Err(fault) => message(how, fault),
                }
            }
        }
        wrong
    }

    /// Out as PTX, past the assembler, and in again.
    fn raised(&mut self, module: &Module) -> Result<Module, String> {
        let text = Session::default().ptx(module, true).map_err(|error| error.to_string())?;
        // Warp votes and reductions need newer GPUs than the default.
        let text = text.replace(".target sm_75", ".target sm_80");
        if let Some(assembler) = &self.assembler {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
            let file = folder.join(format!("out-{}.ptx", std::process::id()));
            std::fs::write(&file, &text).map_err(|error| error.to_string())?;
            let done = Command::new(assembler)
                .args(["-arch=sm_80", "-O0", "-o", "/dev/null"])
                .arg(&file)
                .output()
                .map_err(|error| error.to_string())?;
            if !done.status.success() {
                let text_of_process =
                    String::from_utf8_lossy(&done.stderr).lines().take(3).collect::<Vec<_>>().join("\n");
                return Err(text_of_process);
            }
            self.assembled += 1;
            let _ = std::fs::remove_file(&file);
        }
        Ok(read(&text, 0)?.module)
    }
}
