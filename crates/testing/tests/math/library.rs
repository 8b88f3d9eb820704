//! The sources of the functions, `crates/math/c`, as a library over arrays (`array.c`), built by clang.

use heddle_compiler::math::{FUNCTIONS, MathFunction};
use heddle_ir::Type;
use heddle_testing::native::c::loops::plugin;
use heddle_testing::not_run::not_run;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The library, and a program that runs its functions.
pub(crate) struct Library {
    folder: PathBuf,
    /// Remarks of clang for each function.
    pub(crate) printed: BTreeMap<&'static str, String>,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/math")
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn real(own: &MathFunction) -> &'static str {
    if own.ty == Type::F32 { "float" } else { "double" }
}

impl Library {
    /// The library as built by clang, and by clang with the plugin and every `for` marked; `None` where that is
    /// impossible.
    pub(crate) fn both() -> Option<[Library; 2]> {
        let test = "mathematical functions as marked loops";
        // Others would call the C library's `fma` for each number.
        if cfg!(target_arch = "x86_64") && !std::is_x86_feature_detected!("fma") {
            not_run(test, "this machine has no fma");
            return None;
        }
        let plugin = match plugin() {
            Ok(plugin) => plugin,
            Err(reason) => {
                not_run(test, &reason);
                return None;
            }
        };
        let mark = crates().join("plugin/libraries/mark.h");
        let marked = [
            "-include".into(),
            mark.display().to_string(),
            format!("-fpass-plugin={}", plugin.display()),
            "-Rpass=heddle".into(),
            "-Rpass-missed=heddle".into(),
        ];
        Some([Library::build("scalar", &[]), Library::build("vector", &marked)])
    }

    fn build(name: &str, options: &[String]) -> Library {
        let folder = std::env::temp_dir().join(format!("heddle-math-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut library = Library { folder, printed: BTreeMap::new() };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let folder = &library.folder;
        let compile_all =
            |part: &'static [MathFunction]| part.iter().map(|own| (own.name, compile(own, folder, options)));
        std::thread::scope(|scope| {
            let parts = FUNCTIONS.chunks(FUNCTIONS.len().div_ceil(threads));
            let workers: Vec<_> =
                parts.map(|part| scope.spawn(move || compile_all(part).collect::<Vec<_>>())).collect();
            workers
                .into_iter()
                .for_each(|worker| library.printed.extend(worker.join().expect("clang works")));
        });
        let entry = |own: &MathFunction| format!("ENTRY({}, {})", own.name, real(own));
        let entries: String = FUNCTIONS.iter().map(entry).collect();
        done(
            Command::new("clang-22")
                .current_dir(&library.folder)
                .args(["-w", "-O1", "-fno-builtin", &format!("-DENTRIES={entries}")])
                .arg(here().join("program.c"))
                .args(FUNCTIONS.iter().map(|own| format!("{}.o", own.name)))
                .args(["-o", "program"]),
        );
        library
    }

    /// True if the loop over an array is vectorized.
    pub(crate) fn is_vectorized(&self, own: &MathFunction) -> bool {
        let mut lines = self.printed[own.name].lines();
        lines.any(|line| line.contains("array.c:") && line.contains("remark: loop vectorized"))
    }

    /// The bits of the results of a function for the bits of each parameter.
    pub(crate) fn call(&self, own: &MathFunction, columns: &[Vec<u64>]) -> Vec<u64> {
        let bytes = if own.ty == Type::F32 { 4 } else { 8 };
        let (x, y) = (&columns[0], columns.last().expect("it has parameters"));
        let numbers: Vec<u8> =
            x.iter().chain(y).flat_map(|bits| bits.to_le_bytes()[..bytes].to_vec()).collect();
        let path = self.folder.join("numbers");
        fs::write(&path, numbers).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut command = Command::new(self.folder.join("program"));
        let output = done(command.args([own.name, &x.len().to_string()]).stdin(file));
        let bits = |part: &[u8]| {
            let mut whole = [0; 8];
            whole[..bytes].copy_from_slice(part);
            u64::from_le_bytes(whole)
        };
        output.stdout.chunks(bytes).map(bits).collect()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

fn compile(own: &MathFunction, folder: &Path, options: &[String]) -> String {
    let arguments = if own.params == 2 { "x, y" } else { "x" };
    let output = done(
        Command::new("clang-22")
            .current_dir(folder)
            .args(["-w", "-O2", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-builtin"])
            .args(options)
            .arg(format!("-I{}", crates().join("math/c").display()))
            .arg(format!("-DFILE=\"{}.c\"", own.name))
            .arg(format!("-DREAL={}", real(own)))
            .arg(format!("-DARRAY=array_{}", own.name))
            .arg(format!("-DCALL(x, y)={}({arguments})", own.name))
            .arg("-c")
            .arg(here().join("array.c"))
            .args(["-o", &format!("{}.o", own.name)]),
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}
