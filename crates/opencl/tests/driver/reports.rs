//! Diagnostics for kernels: warnings in the build log, `HEDDLE_REPORT`, `HEDDLE_VERIFY`.

use crate::place::{command, compile, scratch};

/// Returns a program's stdout and stderr under these environment variables.
fn printed(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let mut command = command(&compile(name).display().to_string(), arguments);
    let output = command.envs(variables.iter().copied()).output().expect("it starts");
    let texts = (&output.stdout, &output.stderr);
    let (printed, messages) = (String::from_utf8_lossy(texts.0), String::from_utf8_lossy(texts.1));
    assert!(output.status.success() && printed.ends_with("passed\n"), "{printed}{messages}");
    (printed.into_owned(), messages.into_owned())
}

#[test]
fn the_build_log_has_remarks_on_request() {
    let folder = scratch().join("cache-of-reports").display().to_string();
    let _ = std::fs::remove_dir_all(&folder);
    let cache = ("HEDDLE_CACHE_DIR", &*folder);
    // A build that succeeds says nothing, neither of new code nor of kept code.
    assert_eq!(printed("costly.c", &[""], &[cache]), ("\npassed\n".into(), String::new()));
    assert_eq!(printed("costly.c", &[""], &[cache]), ("\npassed\n".into(), String::new()));
    let remarks = "-Rpass-missed=heddle";
    let (log, messages) = printed("costly.c", &[remarks], &[cache]);
    assert!(
        log.contains("program.cl:3: warning: gather or scatter: work-items of a vector access memory"),
        "{log}"
    );
    assert!(log.contains("program.cl:5: warning: one work-item at a time"), "{log}");
    assert_eq!(messages, "");
    // Cached programs warn as well; options that disable warnings apply.
    assert_eq!(printed("costly.c", &[remarks], &[cache]).0, log);
    assert_eq!(printed("costly.c", &[""], &[cache, ("HEDDLE_REMARKS", "1")]).0, log);
    assert_eq!(printed("costly.c", &[&format!("-w {remarks}")], &[cache]).0, "\npassed\n");
    let (_, report) = printed("costly.c", &["-w"], &[cache, ("HEDDLE_REPORT", "1")]);
    let lines: Vec<&str> = report.lines().collect();
    assert!(lines[0].starts_with("kernel gathers: ") && lines[0].contains(" lanes, "), "{report}");
    assert!(lines.contains(&"  barriers: 1, states: 2"), "{report}");
    let second = lines.iter().position(|line| line.starts_with("kernel plain: ")).expect("both are reported");
    assert!(lines[second..].iter().any(|line| line.starts_with("  loads and stores: ")), "{report}");
    assert!(!lines[second..].iter().any(|line| line.starts_with("  one lane at a time: ")), "{report}");
}

/// A program that looks for the best size of groups launches each once: the second size gets code that runs all others.
#[test]
fn groups_of_many_sizes_share_code() {
    let (_, report) = printed("group_sizes.c", &[], &[("HEDDLE_REPORT", "1"), ("HEDDLE_CACHE", "0")]);
    let is_code = |line: &&str| line.starts_with("kernel sums: ") && !line.contains("estimated");
    let codes: Vec<&str> = report.lines().filter(|line| line.contains(" lanes, ")).filter(is_code).collect();
    assert!((1..=3).contains(&codes.len()), "{report}");
}

#[test]
fn launches_are_verified() {
    let (_, message) = printed("verified.c", &[], &[("HEDDLE_VERIFY", "1")]);
    let lines: Vec<&str> = message.lines().collect();
    let expected = [
        "heddle: kernel sum: 240 work-items agree with the interpreter",
        "heddle: kernel thing: 24 work-items agree with the interpreter",
        "heddle: kernel thing: not verified: work-groups of different sizes",
        "heddle: kernel far: not verified: the interpreter stops: program.cl:20: in @far",
        "heddle: kernel races: differs from the interpreter: argument 1 (`to`), byte ",
    ];
    assert_eq!(lines.len(), expected.len(), "{message}");
    assert!(lines.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{message}");
    assert!(lines[4].contains("data race: ") && lines[4].contains("argument 0 (`at`)"), "{message}");
    // Without the variable there is no report.
    assert_eq!(printed("verified.c", &[], &[]).1, "");
}
