//! Tree of files that every package holds.
//!
//!     bin/heddle                       a program of a few lines over libheddle.so
//!     lib/libheddle.so                 drivers, C interface and command, with LLVM and clang
//!     lib/heddle/cuda/libcuda.so.1     a name for libheddle.so, and CUDA's other libraries, the stand-in for ptxas
//!     lib/heddle/opencl/libOpenCL.so.1 another name for it, where there is no loader
//!     lib/pkgconfig/heddle.pc          relative to its own place
//!     include/                         headers of the C interface
//!
//! Decision: one library with everything instead of one per driver. LLVM and clang are 60 of its 110 MB; a package with four of
//! them would exceed what PyPI takes.

use crate::machine::MachineKind;
use crate::run::{VERSION, XtaskResult, at, copy, fail, printed, program, root, run, target, write};
use std::fs;
use std::path::{Path, PathBuf};

/// Libraries that the built one may need next to the dynamic linker: those that manylinux takes for granted.
const SYSTEM: [&str; 3] = ["libgcc_s.so.1", "libm.so.6", "libc.so.6"];
/// Version of the C library that packages promise.
const GLIBC: (u32, u32) = (2, 36);

/// Checks that a library needs nothing but the C library, of a version that packages promise.
fn check_needs(kind: MachineKind, library: &Path) -> XtaskResult {
    let listed = printed(program("readelf", ["--dynamic", "--version-info", "--wide"]).arg(library))?;
    for line in listed.lines().filter(|line| line.contains("(NEEDED)")) {
        let name = line.split(['[', ']']).nth(1).unwrap_or_default();
        if !SYSTEM.contains(&name) && name != kind.loader && name != "libheddle.so" {
            return fail(format!("{} needs {name}", library.display()));
        }
    }
    for word in listed.split_whitespace().filter_map(|word| word.strip_prefix("GLIBC_2.")) {
        let minor: u32 = word.split('.').next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
        if minor > GLIBC.1 {
            return fail(format!("{} needs glibc 2.{minor}: build on Debian 12", library.display()));
        }
    }
    Ok(())
}

/// Names for libheddle.so below lib/heddle, as file and for the dynamic linker.
const NAMES: [(&str, &str); 4] = [
    ("cuda/libcuda.so.1", "libcuda.so.1"),
    ("cuda/libcuda.so", "libcuda.so.1"),
    ("opencl/libOpenCL.so.1", "libOpenCL.so.1"),
    ("opencl/libOpenCL.so", "libOpenCL.so.1"),
];

/// Packages that are built for the tree.
pub(crate) const PACKAGES: [&str; 11] = [
    "heddle-bundle",
    "heddle-cudart",
    "heddle-cudart12",
    "heddle-cublas",
    "heddle-cublas12",
    "heddle-curand",
    "heddle-cufft",
    "heddle-cufft11",
    "heddle-cusolver",
    "heddle-cusolver11",
    "heddle-cusparse",
];

/// Libraries of CUDA over the driver, as they are built and as programs ask for them.
const CUDA_LIBRARIES: [(&str, &str); 10] = [
    ("libheddle_cudart.so", "libcudart.so.13"),
    ("libheddle_cudart12.so", "libcudart.so.12"),
    ("libheddle_cublas.so", "libcublas.so.13"),
    ("libheddle_cublas12.so", "libcublas.so.12"),
    ("libheddle_curand.so", "libcurand.so.10"),
    ("libheddle_cufft.so", "libcufft.so.12"),
    ("libheddle_cufft11.so", "libcufft.so.11"),
    ("libheddle_cusolver.so", "libcusolver.so.12"),
    ("libheddle_cusolver11.so", "libcusolver.so.11"),
    ("libheddle_cusparse.so", "libcusparse.so.12"),
];

/// Writes the tree below a folder.
pub(crate) fn write_tree(kind: MachineKind, folder: &Path) -> XtaskResult {
    let (lib, cuda) = (folder.join("lib"), folder.join("lib/heddle/cuda"));
    copy(&kind.built().join("libheddle_bundle.so"), &lib.join("libheddle.so"))?;
    for (built, name) in CUDA_LIBRARIES {
        copy(&kind.built().join(built), &cuda.join(name))?;
    }
    copy(&root().join("crates/cuda/ptxas"), &cuda.join("ptxas"))?;
    copy(&root().join("crates/cudart/libcudart_static.a"), &cuda.join("libcudart_static.a"))?;
    for header in ["heddle.h", "heddle/compiler.h", "heddle/program.h"] {
        copy(&root().join("include").join(header), &folder.join("include").join(header))?;
    }
    write(&lib.join("pkgconfig/heddle.pc"), pkg_config("${pcfiledir}/../.."))?;
    let command = folder.join("bin/heddle");
    at(&command, fs::create_dir_all(folder.join("bin")))?;
    let cc = |arguments: &[&str], rpath: &str, output: &Path| {
        let mut cc = program(kind.tool("cc"), ["-O2", "-s", "-Wl,--no-as-needed"]);
        cc.args(arguments).arg("-L").arg(&lib).arg("-lheddle").arg(format!("-Wl,-rpath,{rpath}"));
        run(cc.arg("-o").arg(output))
    };
    let source = root().join("crates/bundle/launcher.c");
    cc(&[&source.to_string_lossy()], "$ORIGIN/../lib", &command)?;
    // A library's symbols are found in those that it needs, too: the small one only lends its name.
    let empty = target().join("empty.c");
    write(&empty, "")?;
    let empty = empty.to_string_lossy().into_owned();
    for (name, soname) in NAMES {
        let path = lib.join("heddle").join(name);
        at(&path, fs::create_dir_all(path.parent().expect("it is in a folder")))?;
        cc(&["-shared", &format!("-Wl,-soname,{soname}"), &empty], "$ORIGIN/../..", &path)?;
    }
    for library in [lib.join("libheddle.so"), cuda.join("libcuda.so.1"), command] {
        check_needs(kind, &library)?;
    }
    for (_, name) in CUDA_LIBRARIES {
        check_needs(kind, &cuda.join(name))?;
    }
    write(&folder.join("share/doc/heddle/copyright"), third_party()?)
}

/// Returns the file for pkg-config.
pub(crate) fn pkg_config(prefix: &str) -> String {
    format!(
        "prefix={prefix}\n\
         Name: heddle\n\
         Description: OpenCL C and functions in C as vector code, in this process\n\
         Version: {VERSION}\n\
         Cflags: -I${{prefix}}/include\n\
         Libs: -L${{prefix}}/lib -Wl,-rpath,${{prefix}}/lib -lheddle\n"
    )
}

/// Debian packages whose archives are linked into the library.
const LINKED: [&str; 5] = ["llvm-22-dev", "libclang-22-dev", "zlib1g-dev", "libzstd-dev", "libstdc++-12-dev"];

/// Returns the licenses of what the library contains.
pub(crate) fn third_party() -> XtaskResult<String> {
    let mut text = read_license("LICENSE-MIT")? + &read_license("LICENSE-APACHE")?;
    for package in LINKED {
        let folder = PathBuf::from("/usr/share/doc").join(package);
        let path = folder.join("copyright");
        let copyright = at(&path, fs::read(&path))?;
        text +=
            &format!("\n==== linked from Debian's {package} ====\n\n{}", String::from_utf8_lossy(&copyright));
    }
    let numbers = root().join("crates/curand/src/joe_kuo.txt");
    let notice = crate::run::read(&numbers)?;
    let notice = notice.lines().map_while(|line| line.strip_prefix("# "));
    text += &format!("\n==== numbers in libcurand ====\n\n{}\n", notice.collect::<Vec<_>>().join("\n"));
    Ok(text)
}

fn read_license(name: &str) -> XtaskResult<String> {
    Ok(format!("==== {name} ====\n\n{}\n", crate::run::read(&root().join(name))?))
}
