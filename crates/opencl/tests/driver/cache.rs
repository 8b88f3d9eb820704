//! Disk cache: a process that finds an entry compiles nothing; one that finds a corrupt entry recompiles.

use crate::place::{command, compile, scratch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Entries of a cache by name, with modification times. A process that ends during a compilation leaves the file that it has locked.
fn entries(folder: &Path) -> BTreeMap<PathBuf, std::time::SystemTime> {
    let Ok(entries) = std::fs::read_dir(folder.join("objects")) else { return BTreeMap::new() };
    let one = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("the folder can be listed");
        let written = entry.metadata().and_then(|about| about.modified()).expect("it is there");
        (entry.path(), written)
    };
    let is_entry = |path: &PathBuf| path.extension().is_none_or(|extension| extension != "lock");
    entries.map(one).filter(|(path, _)| is_entry(path)).collect()
}

#[test]
fn kernels_of_small_programs_are_compiled_before_their_launch() {
    let program = compile("prepared.c").display().to_string();
    let folder = scratch().join("cache-of-prepared-kernels");
    for threads in ["1", "2"] {
        let entries_after = |mode: &str| {
            let mut command = command(&program, &[mode]);
            command
                .envs([("HEDDLE_CACHE", ""), ("HEDDLE_THREADS", threads), ("HEDDLE_TRIALS", "off")])
                .env("HEDDLE_CACHE_DIR", &folder);
            let output = command.output().expect("it starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            entries(&folder)
        };
        let _ = std::fs::remove_dir_all(&folder);
        let created = entries_after("create");
        assert!(created.len() >= 4, "the module and three codes: {created:?}");
        assert_eq!(entries_after("launch"), created, "{threads} threads: launches compile nothing");
    }
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = command(&program, &["many"]);
    command.envs([("HEDDLE_CACHE", ""), ("HEDDLE_THREADS", "1")]).env("HEDDLE_CACHE_DIR", &folder);
    assert!(command.status().expect("it starts").success());
    assert_eq!(entries(&folder).len(), 1, "the module: kernels of large programs wait for their launch");
}

#[test]
fn reports_do_not_change_what_launches_choose() {
    let program = compile("prepared.c").display().to_string();
    let entries_with = |name: &str, mode: &str, variables: &[(&str, &str)]| {
        let folder = scratch().join(name);
        let mut command = command(&program, &[mode]);
        command
            .envs([("HEDDLE_CACHE", ""), ("HEDDLE_THREADS", "1"), ("HEDDLE_TRIALS", "off")])
            .envs(variables.iter().copied())
            .env("HEDDLE_CACHE_DIR", &folder);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        entries(&folder).into_keys().filter_map(|path| path.file_name().map(ToOwned::to_owned)).collect()
    };
    let names = ["cache-of-no-report", "cache-of-a-report", "cache-of-remarks"];
    names.iter().for_each(|name| _ = std::fs::remove_dir_all(scratch().join(name)));
    let plain: Vec<_> = entries_with(names[0], "large", &[]);
    assert_eq!(plain.len(), 2, "the module and the code of the launch: {plain:?}");
    for (name, variable) in [(names[1], "HEDDLE_REPORT"), (names[2], "HEDDLE_REMARKS")] {
        let found: Vec<_> = entries_with(name, "large", &[(variable, "1")]);
        assert!(plain.iter().all(|it| found.contains(it)), "{variable}: {plain:?} {found:?}");
    }
    // A process that finds the code of the launch, but none of usual launches, makes no other one.
    assert_eq!(entries_with(names[0], "large", &[]), plain);
}

#[test]
fn kernels_are_kept_for_other_processes() {
    // Six programs at once, each of the same two kernels.
    let program = compile("cached.c").display().to_string();
    let folder = scratch().join("cache-of-its-own");
    let _ = std::fs::remove_dir_all(&folder);
    let start = |uses: &str| {
        let mut command = command(&program, &[]);
        // One thread compiles nothing that the end of the process might interrupt.
        command.envs([("HEDDLE_CACHE", uses), ("HEDDLE_THREADS", "1")]).env("HEDDLE_CACHE_DIR", &folder);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let passes = |uses: &str, count: usize| {
        let started: Vec<_> = (0..count).map(|_| start(uses)).collect();
        for child in started {
            let output = child.wait_with_output().expect("it ends");
            let (printed, messages) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success() && printed.ends_with("passed\n"), "{printed}{messages}");
        }
    };
    passes("0", 1);
    assert!(entries(&folder).is_empty(), "nothing is kept with HEDDLE_CACHE=0");
    passes("", 6);
    // The module, and what launches take: one code of the first kernel, one to three of the other, whose groups have several sizes.
    let known = entries(&folder);
    assert!((3..=5).contains(&known.len()), "{known:?}");
    passes("", 1);
    assert_eq!(entries(&folder), known, "what is kept is not made again");
    for path in known.keys() {
        let mut bytes = std::fs::read(path).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).expect("it can be written");
    }
    let bent = entries(&folder);
    passes("", 1);
    let mended = entries(&folder);
    assert!(mended.keys().eq(bent.keys()));
    assert!(bent.iter().all(|(path, written)| mended[path] > *written), "what is bent is made again");
}
