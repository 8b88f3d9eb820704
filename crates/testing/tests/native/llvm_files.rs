//! The files of `tests/llvm`: LLVM IR that is imported and run, and what is refused of it.
//!
//! ```text
//! ; run: @f(1) lanes=1 -> 2         as in a .hed file; again with restored indices
//! ; refused: TEXT                    a refusal that starts with the text; all of them are listed, and no others
//! ```

use heddle_ir::Code;
use heddle_ir::verify::{Stage, verify_module};
use heddle_llvm::{compile, import, read_ir, restore_indices};
use heddle_runs::line::RunLine;
use std::path::{Path, PathBuf};

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

fn check(path: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let llvm = match compile(path, 1, &[]) {
        Ok(llvm) => llvm,
        Err(error) => return vec![error.to_string()],
    };
    let imported = import(&llvm);
    restore_indices(&llvm);
    let restored = import(&llvm);
    if let Err(violations) = verify_module(&imported.module, Stage::Source) {
        wrong.push(violations.to_string());
    }
    let lines =
        |mark: &'static str| text.lines().filter_map(move |line| line.strip_prefix(mark)).map(str::trim);
    let mut refused: Vec<String> = imported.refused.iter().map(ToString::to_string).collect();
    for expected in lines("; refused:") {
        match refused.iter().position(|refusal| refusal.starts_with(expected)) {
            Some(index) => drop(refused.remove(index)),
            None => wrong.push(format!("no refusal starts with: {expected}")),
        }
    }
    wrong.extend(refused.iter().map(|refusal| format!("not expected: {refusal}")));
    let mut runs = 0;
    for line in lines("; run:") {
        runs += 1;
        for (module, when) in [(&imported.module, ""), (&restored.module, ", with restored indices")] {
            let outcome = RunLine::parse(line).and_then(|run| {
                let ran = run.run(module, &run.options)?;
                run.check(module, &ran)
            });
            match outcome {
                Ok(None) => {}
                Ok(Some(found)) => wrong.push(format!("{line}\n  gives {found}{when}")),
                Err(error) => wrong.push(format!("{line}\n  {error}{when}")),
            }
        }
    }
    if runs == 0 {
        wrong.push("the file runs nothing".into());
    }
    wrong
}

#[test]
fn each_file_is_imported_and_does_what_it_says() {
    let mut wrong = Vec::new();
    for path in files("llvm", "ll").into_iter().chain(files("llvm", "cl")) {
        wrong.extend(check(&path).into_iter().map(|line| format!("{}: {line}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn broken_files_are_named_errors() {
    let path = &files("llvm", "ll")[0];
    let bitcode = compile(path, 1, &[]).expect("it is read").bitcode();
    assert!(read_ir("whole.bc", &bitcode).is_ok());
    let mut broken = 0;
    for end in (0..bitcode.len()).step_by(7) {
        match read_ir("cut.bc", &bitcode[..end]) {
            // An empty file is an empty module.
            Ok(module) => drop(import(&module)),
            Err(message) => {
                broken += 1;
                assert_eq!(message.code, Code::Unreadable, "{message}");
            }
        }
    }
    assert!(broken > 100, "{broken} of the cut files are broken");
    for text in ["define", "not LLVM", "define i32 @f() { ret i64 0 }", "BC\u{c0}"] {
        let error = read_ir("text.ll", text.as_bytes()).expect_err(text).to_string();
        assert!(error.starts_with("text.ll: not LLVM IR of LLVM 22.1."), "{error}");
    }
    let invalid = "define void @f() {\n %x = call i32 @llvm.ctpop.i32(i32 0)\n ret void }\ndeclare i64 @llvm.ctpop.i32(i32)";
    assert!(read_ir("text.ll", invalid.as_bytes()).is_err());
}

#[test]
fn a_wrong_expectation_is_noticed() {
    let folder = std::env::temp_dir().join(format!("heddle-llvm-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("wrong.ll");
    let text = "; run: @f() lanes=1 -> 8\n; refused: @g\ndefine i32 @f() {\n ret i32 7\n}\ndefine void @h(i256 %x) {\n ret void\n}\n";
    std::fs::write(&path, text).expect("a file");
    let wrong = check(&path);
    std::fs::remove_dir_all(&folder).expect("it goes");
    assert_eq!(wrong.len(), 4, "{wrong:?}");
}
