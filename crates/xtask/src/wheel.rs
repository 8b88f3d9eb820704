//! The wheel for PyPI: the tree of all packages below `heddle/`, the Python package, and a file for PyOpenCL's loader.
//!
//! Decision: `pyopencl/.libs/heddle.icd` belongs to this wheel. The loader in PyOpenCL's wheel looks for drivers in its own folder;
//! the file names the driver relative to it (`$ORIGIN`), so it holds in every environment, and pip removes it with the wheel.

use crate::machine::MachineKind;
use crate::run::{
    VERSION, XtaskResult, at, copy, fail, files_below, fresh, packages, printed, program, read, root, target,
    write,
};
use crate::tree::{third_party, write_tree};
use crate::zip::ZipArchive;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Name on PyPI, where `heddle` is an empty package of others. The package that programs import is `heddle`.
const DISTRIBUTION: &str = "heddle-simd";

/// Returns the head of the names of the wheel and of the folder of its metadata.
fn stem() -> String {
    format!("{}-{VERSION}", DISTRIBUTION.replace('-', "_"))
}

/// Returns the file name of the wheel.
fn wheel_name(kind: MachineKind) -> String {
    format!("{}-{}.whl", stem(), tag(kind))
}

/// Returns the path of the wheel of this version.
pub(crate) fn wheel_path(kind: MachineKind) -> PathBuf {
    packages().join(wheel_name(kind))
}

/// Returns the platform of the wheel: libraries of Debian 12.
fn tag(kind: MachineKind) -> String {
    format!("py3-none-manylinux_2_36_{}", kind.name)
}

/// Limit of PyPI for a file.
const MOST_BYTES: u64 = 100_000_000;

/// Builds the libraries and writes the wheel; returns its path.
pub(crate) fn make(kind: MachineKind) -> XtaskResult<PathBuf> {
    kind.build()?;
    let folder = target().join("wheel");
    fresh(&folder)?;
    write_tree(kind, &folder.join("heddle"))?;
    fs::remove_dir_all(folder.join("heddle/share")).map_err(|reason| reason.to_string())?;
    let python = root().join("python/heddle");
    for path in files_below(&python)? {
        let name = path.strip_prefix(&python).expect("it is below the folder");
        if name.extension().is_some_and(|it| it == "py") || name == Path::new("py.typed") {
            copy(&path, &folder.join("heddle").join(name))?;
        }
    }
    write(&folder.join("pyopencl/.libs/heddle.icd"), "$ORIGIN/../../heddle/lib/libheddle.so\n")?;
    write_info(kind, &folder)?;
    let wheel = wheel_path(kind);
    pack(&folder, &wheel)?;
    let bytes = at(&wheel, fs::metadata(&wheel))?.len();
    println!("{}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    if bytes < MOST_BYTES { Ok(wheel) } else { fail(format!("the wheel has more than {MOST_BYTES} bytes")) }
}

fn write_info(kind: MachineKind, folder: &Path) -> XtaskResult {
    let info = folder.join(format!("{}.dist-info", stem()));
    let readme = read(&root().join("python/README.md"))?;
    let metadata = format!(
        "Metadata-Version: 2.4\n\
         Name: {DISTRIBUTION}\n\
         Version: {VERSION}\n\
         Summary: OpenCL, CUDA and NumPy kernels as vector code on the CPU\n\
         License-Expression: (MIT OR Apache-2.0) AND Apache-2.0 WITH LLVM-exception AND Zlib AND BSD-3-Clause AND GPL-3.0-only WITH GCC-exception-3.1\n\
         License-File: LICENSES\n\
         Requires-Python: >=3.9\n\
         Requires-Dist: numpy>=1.23\n\
         Keywords: opencl,cuda,simd,compiler,numpy,vectorization\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Python :: 3\n\
         Classifier: Programming Language :: Rust\n\
         Classifier: Topic :: Software Development :: Compilers\n\
         Classifier: Typing :: Typed\n\
         Description-Content-Type: text/markdown\n\n{readme}"
    );
    write(&info.join("METADATA"), metadata)?;
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: heddle xtask {VERSION}\nRoot-Is-Purelib: false\nTag: {}\n",
        tag(kind)
    );
    write(&info.join("WHEEL"), wheel)?;
    write(&info.join("entry_points.txt"), "[console_scripts]\nheddle = heddle.__main__:main\n")?;
    write(&info.join("licenses/LICENSES"), third_party()?)?;
    write_record(folder, &info.join("RECORD"))
}

/// Writes the list of files with their checksums.
fn write_record(folder: &Path, record: &Path) -> XtaskResult {
    let names: Vec<String> = files_below(folder)?.iter().map(|path| name_in(folder, path)).collect();
    let sums = printed(program("sha256sum", &names).current_dir(folder))?;
    let mut text = String::new();
    for (name, line) in names.iter().zip(sums.lines()) {
        let sum = base64_url(&hex_bytes(line.split(' ').next().unwrap_or_default()));
        let path = folder.join(name);
        text += &format!("{name},sha256={sum},{}\n", at(&path, fs::metadata(&path))?.len());
    }
    text += &format!("{},,\n", name_in(folder, record));
    write(record, text)
}

/// Bytes of a number in hexadecimal digits.
fn hex_bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

fn name_in(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).expect("it is below the folder").to_string_lossy().into_owned()
}

/// Base64 for URLs, without padding.
fn base64_url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            text.push(char::from(LETTERS[(word >> (18 - 6 * index) & 63) as usize]));
        }
    }
    text
}

/// Packs a folder: the same files give the same bytes.
fn pack(folder: &Path, wheel: &Path) -> XtaskResult {
    let mut files = files_below(folder)?;
    // Installers read the end of a wheel first.
    files.sort_by_key(|path| name_in(folder, path).contains(".dist-info/"));
    let mut zip = ZipArchive::default();
    for path in files {
        let mode = at(&path, fs::metadata(&path))?.permissions().mode();
        let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
        at(&path, zip.add(&name_in(folder, &path), &at(&path, fs::read(&path))?, mode))?;
    }
    write(wheel, zip.finish())
}

#[cfg(test)]
mod tests {
    use super::{base64_url, hex_bytes, wheel_name};
    use crate::machine::MachineKind;
    use crate::run::{files_below, root};

    #[test]
    fn documents_install_this_wheel() {
        let mut files = vec![root().join("README.md"), root().join("python/README.md")];
        for folder in ["docs", "examples"] {
            files.extend(files_below(&root().join(folder)).expect("the folder is there"));
        }
        let wheel = wheel_name(MachineKind::parse("x86_64").expect("it is a kind"));
        let mut count = 0;
        for path in files {
            // Examples have files that are no text.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let is_name = |letter: char| letter.is_alphanumeric() || "_-.".contains(letter);
            for word in text.split(|letter| !is_name(letter)).filter(|word| word.ends_with("_x86_64.whl")) {
                // The list of packages names no version.
                let named = word.replace("VERSION", crate::run::VERSION);
                assert_eq!(named, wheel, "{} installs another file", path.display());
                count += 1;
            }
        }
        assert!(count >= 6, "only {count} documents install the wheel");
    }

    #[test]
    fn base64_has_no_padding() {
        let words = [&b""[..], b"f", b"fo", b"foo", b"\xff\xfe"];
        assert_eq!(words.map(base64_url), ["", "Zg", "Zm8", "Zm9v", "__4"]);
        assert_eq!(hex_bytes("00ff7f"), [0, 255, 127]);
    }
}
