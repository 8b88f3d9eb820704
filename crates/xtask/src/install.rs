//! Heddle where loaders, compilers and linkers look for it: `./x install`, `./x uninstall`.

use crate::builds::{build_installed, link};
use crate::run::{
    XtaskError, XtaskResult, at, ended, fail, pass, printed, program, read, release, root, say, target, write,
};
use crate::tree::pkg_config;
use clap::Args;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Arguments of `./x install` and `./x uninstall`.
#[derive(Args, Debug)]
pub(crate) struct InstallArguments {
    /// Folder below which files are; default: /usr/local (with /etc) as root, ~/.local otherwise
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// Folders of an installation.
struct InstallFolders {
    prefix: PathBuf,
    /// Folder of the loader of OpenCL.
    vendors: PathBuf,
    /// File that lists what is installed.
    list: PathBuf,
}

impl InstallFolders {
    fn below(prefix: PathBuf) -> InstallFolders {
        // The loader looks there by default.
        let is_system = prefix == Path::new("/usr/local");
        let vendors =
            if is_system { "/etc/OpenCL/vendors".into() } else { prefix.join("etc/OpenCL/vendors") };
        InstallFolders { vendors, list: prefix.join("share/heddle/installed.txt"), prefix }
    }

    /// Returns the folders that the arguments name, relative to the caller's.
    fn named(arguments: &InstallArguments, caller: &Path) -> XtaskResult<InstallFolders> {
        let prefix = match &arguments.prefix {
            Some(prefix) => caller.join(prefix),
            None if printed(&mut program("id", ["-u"]))?.trim() == "0" => "/usr/local".into(),
            None => match std::env::var_os("HOME").filter(|home| !home.is_empty()) {
                Some(home) => Path::new(&home).join(".local"),
                None => return fail("HOME is not set; say where with --prefix DIR"),
            },
        };
        Ok(InstallFolders::below(prefix))
    }
}

/// Built files: mode, name below target/release, and name below the prefix.
const BUILT: [(u32, &str, &str); 15] = [
    (0o755, "heddle", "bin/heddle"),
    (0o755, "libheddle_opencl.so", "lib/libheddle_opencl.so"),
    (0o755, "libheddle_capi.so", "lib/libheddle.so"),
    (0o755, "libheddle_plugin.so", "lib/libheddle_plugin.so"),
    (0o755, "libheddle_cuda.so", "lib/heddle/cuda/libcuda.so.1"),
    (0o755, "libheddle_cudart.so", "lib/heddle/cuda/libcudart.so.13"),
    (0o755, "libheddle_cudart12.so", "lib/heddle/cuda/libcudart.so.12"),
    (0o755, "libheddle_cublas.so", "lib/heddle/cuda/libcublas.so.13"),
    (0o755, "libheddle_cublas12.so", "lib/heddle/cuda/libcublas.so.12"),
    (0o755, "libheddle_curand.so", "lib/heddle/cuda/libcurand.so.10"),
    (0o755, "libheddle_cufft.so", "lib/heddle/cuda/libcufft.so.12"),
    (0o755, "libheddle_cufft11.so", "lib/heddle/cuda/libcufft.so.11"),
    (0o755, "libheddle_cusolver.so", "lib/heddle/cuda/libcusolver.so.12"),
    (0o755, "libheddle_cusolver11.so", "lib/heddle/cuda/libcusolver.so.11"),
    (0o755, "libheddle_cusparse.so", "lib/heddle/cuda/libcusparse.so.12"),
];

/// Files of the repository.
const SOURCES: [(u32, &str, &str); 5] = [
    (0o755, "crates/cuda/ptxas", "lib/heddle/cuda/ptxas"),
    (0o644, "crates/cudart/libcudart_static.a", "lib/heddle/cuda/libcudart_static.a"),
    (0o644, "include/heddle.h", "include/heddle.h"),
    (0o644, "include/heddle/compiler.h", "include/heddle/compiler.h"),
    (0o644, "include/heddle/program.h", "include/heddle/program.h"),
];

/// Other names of the CUDA driver.
const CUDA_LINKS: [&str; 2] = ["lib/heddle/cuda/libcuda.so", "lib/heddle/cuda/libgpuocelot.so"];

/// Puts a new file in the place of an old one, which may be in use.
fn put(mode: u32, from: &Path, into: &Path) -> XtaskResult {
    if into.exists() {
        at(into, fs::remove_file(into))?;
    }
    crate::run::copy(from, into)?;
    at(into, fs::set_permissions(into, fs::Permissions::from_mode(mode)))
}

/// Installs what is built.
fn put_all(folders: &InstallFolders) -> XtaskResult {
    let InstallFolders { prefix, vendors, list } = folders;
    let pc = prefix.join("lib/pkgconfig/heddle.pc");
    let mut installed = vec![vendors.join("heddle.icd"), pc.clone()];
    let writable = |folder: &Path| {
        let created = fs::create_dir_all(folder);
        created.map_err(|_| format!("{} cannot be written; try --prefix DIR", prefix.display()))
    };
    for name in ["bin", "lib/pkgconfig", "lib/heddle/cuda", "include/heddle", "share/heddle"] {
        writable(&prefix.join(name))?;
    }
    writable(vendors)?;
    let built = BUILT.map(|(mode, name, into)| (mode, release().join(name), into));
    let sources = SOURCES.map(|(mode, name, into)| (mode, root().join(name), into));
    installed.extend(built.iter().chain(&sources).map(|(_, _, into)| prefix.join(into)));
    installed.extend(CUDA_LINKS.map(|name| prefix.join(name)));
    // The list comes first, so that an installation that was cut off can be taken away.
    write(list, installed.iter().map(|path| format!("{}\n", path.display())).collect::<String>())?;
    for (mode, from, into) in built.iter().chain(&sources) {
        put(*mode, from, &prefix.join(into))?;
    }
    write(&vendors.join("heddle.icd"), format!("{}\n", prefix.join("lib/libheddle_opencl.so").display()))?;
    for name in CUDA_LINKS {
        link("libcuda.so.1", &prefix.join(name))?;
    }
    // Programs find the library where it is, wherever that is.
    write(&pc, pkg_config(&prefix.to_string_lossy()))?;
    say(format!("installed below {}", prefix.display()));
    Ok(())
}

/// `./x install`, called from a folder.
pub(crate) fn install(arguments: &InstallArguments, caller: &Path) -> XtaskResult {
    let folders = InstallFolders::named(arguments, caller)?;
    build_installed()?;
    put_all(&folders)?;
    if folders.vendors == Path::new("/etc/OpenCL/vendors") {
        say("OpenCL programs find Heddle now; clinfo shows it");
    } else {
        say("OpenCL programs find Heddle where this is set:");
        println!("export OCL_ICD_VENDORS={}", folders.vendors.display());
    }
    let cuda = folders.prefix.join("lib/heddle/cuda");
    say(format!(
        "CUDA programs find Heddle in place of NVIDIA's driver where LD_LIBRARY_PATH begins with {}",
        cuda.display()
    ));
    Ok(())
}

/// Removes a folder and the folders above it, as far as they are empty.
fn remove_empty(folder: &Path) {
    for folder in folder.ancestors() {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

fn take_away(folders: &InstallFolders) -> XtaskResult {
    let InstallFolders { prefix, vendors, list } = folders;
    if !list.exists() {
        return fail(format!(
            "nothing of Heddle is installed below {}; say where with --prefix DIR",
            prefix.display()
        ));
    }
    for path in read(list)?.lines().map(Path::new).chain([&**list]) {
        if path.is_symlink() || path.exists() {
            at(path, fs::remove_file(path))?;
        }
    }
    for name in ["share/heddle", "include/heddle", "lib/pkgconfig", "lib/heddle/cuda", "bin"] {
        remove_empty(&prefix.join(name));
    }
    remove_empty(vendors);
    say(format!("taken away from {}", prefix.display()));
    Ok(())
}

/// `./x uninstall`, called from a folder.
pub(crate) fn uninstall(arguments: &InstallArguments, caller: &Path) -> XtaskResult {
    take_away(&InstallFolders::named(arguments, caller)?)
}

/// Checks that the loader, the compiler and the linker find what is installed, and that it goes without a trace.
pub(crate) fn check_install() -> XtaskResult {
    let place = target().join("installed");
    if place.exists() {
        at(&place, fs::remove_dir_all(&place))?;
    }
    let folders = InstallFolders::below(place.clone());
    build_installed()?;
    put_all(&folders)?;
    let mut clinfo = program("timeout", ["60", "clinfo", "-l"]);
    let shown = printed(clinfo.env("OCL_ICD_VENDORS", &folders.vendors))?;
    if !shown.contains("Heddle") {
        return fail(format!("install: the loader does not find what is installed: {shown}"));
    }
    let mut flags = program("pkg-config", ["--cflags", "--libs", "heddle"]);
    let flags = printed(flags.env("PKG_CONFIG_PATH", place.join("lib/pkgconfig")))?;
    let histogram = target().join("installed-histogram");
    let mut cc = program("cc", ["-O1", "examples/c-api/histogram.c"]);
    pass(cc.args(flags.split_whitespace()).arg("-o").arg(&histogram))?;
    let mut runs = program("timeout", ["60"]);
    let output = runs.arg(histogram).output().map_err(|reason| format!("{runs:?}: {reason}"))?;
    if let Err(XtaskError::Program(_)) = ended(output.status) {
        return fail(format!(
            "install: a program with the library does not run: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    take_away(&folders)?;
    let stays = if place.exists() { crate::run::files_below(&place)? } else { Vec::new() };
    if stays.is_empty() { Ok(()) } else { fail(format!("uninstall: files stay in {}", place.display())) }
}
