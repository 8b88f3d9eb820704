//! From OpenCL C to bitcode: build options, clang, linking.

use crate::cl::*;
use crate::core::error::{Answer, Error, ensure};
use heddle_builtins::LIBRARIES;
use heddle_llvm::{LlvmModule, OpenClOptions, compile_opencl_with, join, read_ir};
use heddle_runtime::exit::busy;

/// What compiling gives: bitcode, or nothing, and what is worth saying either way.
#[derive(Debug)]
pub struct Compiled {
    /// The module, if there is one.
    pub module: Option<LlvmModule>,
    /// The build log.
    pub log: String,
}

/// The words of build options: spaces part them, quotes keep them together.
pub fn words(options: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_word) = (Vec::new(), String::new(), None, false);
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => {
                is_word = true;
                match characters.next() {
                    // Only quotes, spaces and the backslash itself need it; a path of another system keeps its own.
                    Some(next @ ('"' | '\'' | '\\' | ' ')) => word.push(next),
                    Some(next) => word.extend(['\\', next]),
                    None => word.push('\\'),
                }
            }
            (mark, Some(open)) if mark == open => quote = None,
            (_, Some(_)) => word.push(character),
            ('"' | '\'', None) => {
                quote = Some(character);
                is_word = true;
            }
            (space, None) if space.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, None) => {
                word.push(character);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

const MATH: [&str; 6] = [
    "-cl-denorms-are-zero",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-no-subgroup-ifp",
];
const COMPILER: [&str; 11] = [
    "-cl-single-precision-constant",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-opt-disable",
    "-cl-strict-aliasing",
    "-cl-mad-enable",
    "-cl-uniform-work-group-size",
    "-cl-kernel-arg-info",
    "-w",
    "-g",
    "-Werror",
    "-Wall",
];

fn is_compiler_option(words: &[String]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let known = match &**word {
            "-D" | "-I" | "-U" => words.next().is_some(),
            word if COMPILER.contains(&word) || MATH.contains(&word) => true,
            word if ["-D", "-I", "-U", "-W", "-O"].iter().any(|short| word.starts_with(short)) => true,
            word => {
                matches!(word.strip_prefix("-cl-std="), Some("CL1.0" | "CL1.1" | "CL1.2" | "CL2.0" | "CL3.0"))
            }
        };
        if !known {
            return false;
        }
    }
    true
}

/// Compiles a source; `code` is the error of options that are none.
pub fn compile(source: &str, options: &str, headers: Vec<(String, String)>, code: i32) -> Answer<Compiled> {
    let mut words = words(options);
    ensure(is_compiler_option(&words), code)?;
    if !words.iter().any(|word| word == "-cl-kernel-arg-info") {
        words.push("-cl-kernel-arg-info".into());
    }
    let options = OpenClOptions { words, headers, libraries: LIBRARIES, lines: true };
    let _busy = busy();
    Ok(match compile_opencl_with(source, "program.cl", &options) {
        Ok((module, log)) => Compiled { module: Some(module), log },
        Err(log) => Compiled { module: None, log },
    })
}

/// Whether groups of programs that are built so may have different sizes.
pub fn allows_rest(options: &str) -> bool {
    let words = words(options);
    let new = words.iter().any(|word| word == "-cl-std=CL2.0" || word == "-cl-std=CL3.0");
    new && !words.iter().any(|word| word == "-cl-uniform-work-group-size")
}

/// What a program is linked to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linked {
    /// Kernels that can be launched.
    Executable,
    /// A library for other programs.
    Library,
}

/// What link options ask for.
pub fn link_options(options: &str) -> Answer<Linked> {
    let words = words(options);
    let creates = words.iter().any(|word| word == "-create-library");
    for word in &words {
        let known = match &**word {
            "-create-library" => true,
            "-enable-link-options" => creates,
            word => MATH.contains(&word),
        };
        ensure(known, CL_INVALID_LINKER_OPTIONS)?;
    }
    Ok(if creates { Linked::Library } else { Linked::Executable })
}

/// Links compiled programs.
pub fn link(programs: &[&[u8]]) -> Answer<Compiled> {
    let [first, others @ ..] = programs else { return Err(Error(CL_INVALID_VALUE)) };
    let _busy = busy();
    let joined =
        read_ir("program", first).map_err(|reason| reason.to_string()).and_then(|first| join(first, others));
    Ok(match joined {
        Ok(module) => Compiled { module: Some(module), log: String::new() },
        Err(log) => Compiled { module: None, log: format!("error: {log}\n") },
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn options_are_parted_as_a_shell_does() {
        let parted = words(r#" -D A=1  -DB="two words" -I '/some where' -DC=\"x\" "#);
        assert_eq!(parted, ["-D", "A=1", "-DB=two words", "-I", "/some where", "-DC=\"x\""]);
        assert!(words("  ").is_empty());
        assert_eq!(words("''"), [""]);
    }
}
