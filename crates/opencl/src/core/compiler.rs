//! From OpenCL C or SPIR-V to bitcode: build options, clang, linking.

use crate::cl::*;
use crate::core::binary::Binary;
use crate::core::error::{ClError, ClResult, ensure};
use heddle_builtins::{LIBRARIES, split_build_options as words};
use heddle_llvm::{
    CacheSearch, EXACT_MATH_OPTION, EntryLock, FAST_MATH_OPTION, LinkInput, LlvmModule, ObjectCache,
    OpenClOptions, REMARKS_OPTION, compile_opencl_with, compile_spirv, link_programs, read_ir,
};
use heddle_runtime::environment::is_on;
use heddle_runtime::exit::busy;
use heddle_spirv::SpirvOptions;

/// Result of a compilation: bitcode on success, and the build log.
#[derive(Debug)]
pub struct CompiledProgram {
    /// The module and its bitcode on success. The bitcode is kept since a round trip through LLVM changes its bytes.
    pub module: Option<(LlvmModule, Vec<u8>)>,
    /// The build log.
    pub log: String,
}

const MATH: [&str; 6] = [
    "-cl-denorms-are-zero",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    "-cl-no-subgroup-ifp",
];
/// Build option that keeps argument information.
const ARGUMENTS: &str = "-cl-kernel-arg-info";
const COMPILER: [&str; 11] = [
    "-cl-single-precision-constant",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-opt-disable",
    "-cl-strict-aliasing",
    "-cl-mad-enable",
    "-cl-uniform-work-group-size",
    ARGUMENTS,
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
            EXACT_MATH_OPTION | FAST_MATH_OPTION | REMARKS_OPTION => true,
            word if ["-D", "-I", "-U", "-W", "-O"].iter().any(|short| word.starts_with(short)) => true,
            word => {
                matches!(
                    word.strip_prefix("-cl-std="),
                    Some("CL1.0" | "CL1.1" | "CL1.2" | "CL2.0" | "CL3.0" | "CL3.1")
                )
            }
        };
        if !known {
            return false;
        }
    }
    true
}

/// Compiles a source; `code` is the error for invalid options. An object is linked with others later.
pub fn compile(
    source: &str,
    options: &str,
    headers: Vec<(String, String)>,
    is_object: bool,
    code: i32,
) -> ClResult<CompiledProgram> {
    let mut words = words(options);
    ensure(is_compiler_option(&words), code)?;
    // A later build from the program's binary may query argument information.
    if !words.iter().any(|word| word == ARGUMENTS) {
        words.push(ARGUMENTS.into());
    }
    let _busy = busy();
    let kept = kept(source, &words, &headers, is_object);
    // The lock is held until the program is kept.
    let _lock = match find_kept(kept.as_ref()) {
        Ok(known) => return Ok(known),
        Err(lock) => lock,
    };
    let options = OpenClOptions { words, headers, libraries: LIBRARIES, lines: true, is_object };
    Ok(match compile_opencl_with(source, "program.cl", &options) {
        Ok((module, log)) => {
            let bitcode = module.bitcode();
            if let Some((cache, key)) = kept {
                keep(&cache, &key, &log, &bitcode);
            }
            CompiledProgram { module: Some((module, bitcode)), log }
        }
        Err(log) => CompiledProgram { module: None, log },
    })
}

/// Returns a program that the cache has, or else the lock of its entry, if there is a cache.
fn find_kept(kept: Option<&(ObjectCache, Vec<u8>)>) -> Result<CompiledProgram, Option<EntryLock>> {
    let Some((cache, key)) = kept else { return Err(None) };
    match cache.find_or_lock(key) {
        CacheSearch::Found(bytes) => parse_kept(&bytes).ok_or(None),
        CacheSearch::Missing(lock) => Err(Some(lock)),
    }
}

/// Compiles a SPIR-V module with values of specialization constants; `code` is the error for invalid options.
pub fn compile_il(
    il: &[u8],
    constants: &SpirvOptions,
    options: &str,
    is_object: bool,
    code: i32,
) -> ClResult<CompiledProgram> {
    let words = words(options);
    ensure(is_compiler_option(&words), code)?;
    let _busy = busy();
    let kept = ObjectCache::of_user().map(|cache| {
        let kind = if is_object { "spirv object" } else { "spirv" };
        let (version, compiler) = (heddle_llvm::version(), heddle_runtime::COMPILER);
        let mut key = format!("{kind} {compiler} {version:?} {words:?} {constants:?}\n").into_bytes();
        key.extend_from_slice(il);
        (cache, key)
    });
    // The lock is held until the program is kept.
    let _lock = match find_kept(kept.as_ref()) {
        Ok(known) => return Ok(known),
        Err(lock) => lock,
    };
    let options = OpenClOptions { words, libraries: LIBRARIES, is_object, ..OpenClOptions::default() };
    Ok(match compile_spirv(il, "program.spv", constants, &options) {
        Ok(module) => {
            let bitcode = module.bitcode();
            if let Some((cache, key)) = kept {
                keep(&cache, &key, "", &bitcode);
            }
            CompiledProgram { module: Some((module, bitcode)), log: String::new() }
        }
        Err(reason) => CompiledProgram { module: None, log: format!("error: {reason}\n") },
    })
}

/// Keeps the log and the bitcode of a program in the disk cache.
fn keep(cache: &ObjectCache, key: &[u8], log: &str, bitcode: &[u8]) {
    let mut bytes = (log.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(log.as_bytes());
    bytes.extend_from_slice(bitcode);
    cache.keep(key, &bytes);
}

/// Words that make a program depend on more than its source: files and the time.
const OUTSIDE: [&str; 6] = ["include", "import", "embed", "__DATE", "__TIME", "??"];

/// Returns the disk cache and key of a program; none if it depends on more than its source.
fn kept(
    source: &str,
    words: &[String],
    headers: &[(String, String)],
    is_object: bool,
) -> Option<(ObjectCache, Vec<u8>)> {
    let depends = |text: &str| {
        let text = text.replace("\\\r\n", "").replace("\\\n", "");
        OUTSIDE.iter().any(|word| text.contains(word))
    };
    if depends(source) || words.iter().any(|word| depends(word)) || !headers.is_empty() {
        return None;
    }
    let version = heddle_llvm::version();
    let kind = if is_object { "opencl object" } else { "opencl" };
    let key = format!("{kind} {} {version:?} {words:?}\n{source}", heddle_runtime::COMPILER);
    Some((ObjectCache::of_user()?, key.into_bytes()))
}

/// Parses a program of the disk cache.
fn parse_kept(bytes: &[u8]) -> Option<CompiledProgram> {
    let (size, rest) = bytes.split_first_chunk()?;
    let (log, bitcode) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
    let module = read_ir("program", bitcode).ok()?;
    Some(CompiledProgram {
        module: Some((module, bitcode.to_vec())),
        log: String::from_utf8(log.to_vec()).ok()?,
    })
}

/// True if the build log is to hold remarks on what costs much: by a build option or `HEDDLE_REMARKS=1`.
pub fn wants_remarks(options: &str) -> bool {
    let words = words(options);
    let is_requested = words.iter().any(|word| word == REMARKS_OPTION) || is_on("HEDDLE_REMARKS");
    is_requested && !words.iter().any(|word| word == "-w")
}

/// True if the options keep argument information.
pub fn keeps_arguments(options: &str) -> bool {
    words(options).iter().any(|word| word == ARGUMENTS)
}

/// True if the options allow non-uniform work-groups.
pub fn allows_rest(options: &str) -> bool {
    let words = words(options);
    let is_new =
        words.iter().any(|word| matches!(&**word, "-cl-std=CL2.0" | "-cl-std=CL3.0" | "-cl-std=CL3.1"));
    is_new && !is_uniform(&words)
}

/// True if the options allow non-uniform work-groups of a program in SPIR-V.
pub fn allows_il_rest(options: &str) -> bool {
    !is_uniform(&words(options))
}

fn is_uniform(words: &[String]) -> bool {
    words.iter().any(|word| word == "-cl-uniform-work-group-size")
}

/// Output kind of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkOutput {
    /// Executable with launchable kernels.
    Executable,
    /// An executable that was linked before.
    Again,
    /// A library for other programs.
    Library,
}

/// Parses link options.
pub fn link_options(options: &str) -> ClResult<LinkOutput> {
    let words = words(options);
    let creates = words.iter().any(|word| word == "-create-library");
    for word in &words {
        let known = match &**word {
            "-create-library" => true,
            "-enable-link-options" => creates,
            // As the specification spells it among options of the linker.
            "-cl-no-signed-zeroes" => true,
            word => MATH.contains(&word),
        };
        ensure(known, CL_INVALID_LINKER_OPTIONS)?;
    }
    Ok(if creates { LinkOutput::Library } else { LinkOutput::Executable })
}

/// Links compiled programs.
pub fn link(programs: &[&Binary], linked: LinkOutput) -> ClResult<CompiledProgram> {
    let [first, others @ ..] = programs else { return Err(ClError(CL_INVALID_VALUE)) };
    let _busy = busy();
    let is_same = match linked {
        // The cache finds the kernels of an executable by its bitcode.
        LinkOutput::Again => true,
        LinkOutput::Library => others.is_empty() && first.kind == CL_PROGRAM_BINARY_TYPE_LIBRARY,
        LinkOutput::Executable => false,
    };
    if is_same {
        let read = read_ir("program", &first.bitcode).map_err(|reason| reason.to_string());
        return Ok(linked_program(read.map(|module| (module, first.bitcode.clone()))));
    }
    let is_library = linked == LinkOutput::Library;
    let input = |program: &&Binary| LinkInput {
        bitcode: program.bitcode.clone(),
        words: (program.kind == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT).then(|| words(&program.options)),
    };
    let inputs: Vec<LinkInput> = programs.iter().map(input).collect();
    let kept = ObjectCache::of_user().map(|cache| {
        let (version, compiler) = (heddle_llvm::version(), heddle_runtime::COMPILER);
        let mut key = format!("link {compiler} {version:?} {is_library}\n").into_bytes();
        for LinkInput { bitcode, words } in &inputs {
            key.extend_from_slice(format!("{} {words:?}\n", bitcode.len()).as_bytes());
            key.extend_from_slice(bitcode);
        }
        (cache, key)
    });
    // The lock is held until the program is kept.
    let _lock = match find_kept(kept.as_ref()) {
        Ok(known) => return Ok(known),
        Err(lock) => lock,
    };
    let made = link_programs(inputs, LIBRARIES, is_library).map(|module| {
        let bitcode = module.bitcode();
        if let Some((cache, key)) = kept {
            keep(&cache, &key, "", &bitcode);
        }
        (module, bitcode)
    });
    Ok(linked_program(made))
}

fn linked_program(linked: Result<(LlvmModule, Vec<u8>), String>) -> CompiledProgram {
    match linked {
        Ok(module) => CompiledProgram { module: Some(module), log: String::new() },
        Err(log) => CompiledProgram { module: None, log: format!("error: {log}\n") },
    }
}
