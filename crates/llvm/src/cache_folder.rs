//! Cache folder, with `heddle.h` for compilers and compiled objects.

use rustc_hash::FxHasher;
use std::fs::File;
use std::hash::Hasher as _;
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const HEADER: &str = include_str!("../../../include/heddle.h");

/// Returns `HEDDLE_CACHE_DIR`, or else `heddle` in the user's cache folder.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    folder_of("HEDDLE_CACHE_DIR")
        .or_else(|| folder_of("XDG_CACHE_HOME").map(|it| it.join("heddle")))
        .or_else(|| folder_of("HOME").map(|it| it.join(".cache/heddle")))
}

/// Returns the folder that an environment variable names.
pub(crate) fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns a stable hash of the bytes.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// Writes a file atomically, creating its parent folders.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let (mut file, temporary) = create_temporary(folder)?;
    file.write_all(bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .inspect_err(|_| _ = std::fs::remove_file(&temporary))
}

/// Creates a file of an unused name: processes of other machines that share the folder may have the same number.
fn create_temporary(folder: &Path) -> Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".{}-{count}", std::process::id()));
        match File::options().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(reason) if reason.kind() == ErrorKind::AlreadyExists => {}
            Err(reason) => return Err(reason),
        }
    }
}

/// Returns the folder with `heddle.h`.
pub fn include_folder() -> Result<PathBuf> {
    kept_file("include", "heddle.h", HEADER)
}

/// Returns a folder of the cache with a file of these contents; writes the file if it is absent or outdated.
pub fn kept_file(kind: &str, name: &str, contents: &str) -> Result<PathBuf> {
    let Some(root) = cache_folder() else {
        let reason = format!("no folder for {name}: set HEDDLE_CACHE_DIR or HOME");
        return Err(Error::new(ErrorKind::NotFound, reason));
    };
    let folder = root.join(format!("{kind}-{:016x}", hash_of(contents.as_bytes())));
    let path = folder.join(name);
    if !std::fs::read(&path).is_ok_and(|known| known == contents.as_bytes()) {
        write_whole(&path, contents.as_bytes())
            .map_err(|reason| Error::new(reason.kind(), format!("{}: {reason}", path.display())))?;
    }
    std::path::absolute(folder)
}
