//! The files of `tests/ptx`: PTX that is read, printed, lowered and run, and what is wrong with it or refused of it.
//!
//! ```text
//! // exact                           the text after the comments at its head is what is printed of it
//! // shared: 256                     bytes of dynamic shared memory
//! // run: @f(1) lanes=32 -> 2        as in a .hed file
//! // runs after: P                  the runs hold after these passes, too
//! // not raised: TEXT                what is lowered has no way back to PTX, for this reason; else runs hold there, too
//! // refused: TEXT                   a refusal that has the text; all of them are listed, and no others
//! // error: TEXT                     an error that has the text; all of them are listed, and no others
//! ```

use heddle_compiler::Session;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ptx::{LowerOptions, ModuleFacts, RaiseOptions, lower, parse, raise};
use heddle_runs::line::RunLine;
use std::path::Path;

/// Removes a match of each text from a list; returns the missing texts and the remaining entries.
fn compare<'t>(wanted: impl Iterator<Item = &'t str>, mut found: Vec<String>, what: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for text in wanted {
        match found.iter().position(|one| one.contains(text)) {
            Some(index) => drop(found.remove(index)),
            None => wrong.push(format!("no {what} has: {text}")),
        }
    }
    wrong.extend(found.iter().map(|one| format!("not expected: {one}")));
    wrong
}

pub(crate) fn check(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let lines =
        |mark: &'static str| text.lines().filter_map(move |line| line.strip_prefix(mark)).map(str::trim);
    let mut wrong = Vec::new();
    let text_of_process = |diagnostics: Vec<heddle_ir::diagnostic::Diagnostic>| {
        diagnostics.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    let parsed = match parse(&text) {
        Ok(parsed) => parsed,
        Err(errors) => return compare(lines("// error:"), text_of_process(errors), "error"),
    };
    let printed = parsed.to_string();
    match parse(&printed) {
        Ok(again) if again.to_string() == printed => {}
        Ok(_) => wrong.push("what is printed of the print is another text".into()),
        Err(errors) => {
            wrong.push(format!("what is printed is not read: {}", text_of_process(errors).join("\n")))
        }
    }
    if lines("// exact").next().is_some() {
        let body: String = text.split_inclusive('\n').skip_while(|line| line.starts_with("//")).collect();
        for (number, (read, print)) in body.lines().zip(printed.lines()).enumerate() {
            if read != print {
                wrong.push(format!("line {} of the body is printed `{print}`, not `{read}`", number + 1));
                break;
            }
        }
        if wrong.is_empty() && body != printed {
            wrong.push("the print is shorter or longer than the text".into());
        }
    }
    let shared = lines("// shared:").next().map_or(0, |bytes| bytes.parse().expect("a number of bytes"));
    let lowered =
        match lower(&parsed, "k.ptx", LowerOptions { dynamic_shared: shared, ..LowerOptions::default() }) {
            Ok(lowered) => lowered,
            Err(errors) => {
                wrong.extend(compare(lines("// error:"), text_of_process(errors), "error"));
                return wrong;
            }
        };
    wrong.extend(compare(lines("// error:"), Vec::new(), "error"));
    if let Err(violations) = verify_module(&lowered.module, Stage::Source) {
        wrong.push(violations.to_string());
    }
    wrong.extend(compare(lines("// refused:"), text_of_process(lowered.refused), "refusal"));
    let mut modules = vec![("lowered".to_string(), lowered.module.clone())];
    for passes in lines("// runs after:") {
        let names: Vec<&str> = passes.split_whitespace().collect();
        let mut module = lowered.module.clone();
        match Session::default().run_passes(&mut module, &names, true, |_, _| ()) {
            Ok(_) => modules.push((passes.into(), module)),
            Err(error) => wrong.push(format!("{passes}: {error}")),
        }
    }
    let options = RaiseOptions { approximate: true, target: "sm_80".into(), ..RaiseOptions::default() };
    let mut not_raised = Vec::new();
    for (what, module) in modules.clone() {
        match raise(&module, &ModuleFacts::default(), &options) {
            Ok(text) => {
                match parse(&text).and_then(|parsed| lower(&parsed, "raised.ptx", LowerOptions::default())) {
                    Ok(again) => {
                        wrong.extend(
                            text_of_process(again.refused)
                                .into_iter()
                                .map(|one| format!("{what}, raised: {one}")),
                        );
                        modules.push((format!("{what}, raised and lowered"), again.module));
                    }
                    Err(errors) => {
                        wrong.push(format!("{what}, raised: {}", text_of_process(errors).join("\n")))
                    }
                }
            }
            Err(errors) => not_raised = text_of_process(errors),
        }
    }
    wrong.extend(compare(lines("// not raised:"), not_raised, "reason"));
    for line in lines("// run:") {
        for (what, module) in &modules {
            let outcome = RunLine::parse(line).and_then(|run| {
                let ran = run.run(module, &run.options)?;
                run.check(module, &ran)
            });
            match outcome {
                Ok(None) => {}
                Ok(Some(found)) => wrong.push(format!("{line}\n  {what}: gives {found}")),
                Err(error) => wrong.push(format!("{line}\n  {what}: {error}")),
            }
        }
    }
    wrong
}
