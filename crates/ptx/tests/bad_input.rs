//! Any input gives a module or a diagnostic, never a panic, in time linear in its length.
#![forbid(unsafe_code)]

use heddle_ptx::{LowerOptions, lower, parse};
use std::path::{Path, PathBuf};

/// Parses, prints and lowers. Returns true if the text is accepted.
fn feed(text: &str) -> bool {
    let Ok(module) = parse(text) else { return false };
    let printed = module.to_string();
    let again = parse(&printed).unwrap_or_else(|errors| panic!("{printed}\n{}", errors[0]));
    assert_eq!(again.to_string(), printed);
    lower(&module, "k.ptx", LowerOptions::default()).is_ok_and(|lowered| lowered.refused.is_empty())
}

fn files() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn files_that_are_cut_or_bent() {
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below.max(1)
    };
    let signs = b"{}()[];,.@!|%<>=+-:\"/*0x9rafd\n \xc3\xa9";
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let bytes = text.as_bytes();
        for _ in 0..60 {
            let end = next(bytes.len());
            feed(&String::from_utf8_lossy(&bytes[..end]));
            let mut bent = bytes.to_vec();
            for _ in 0..1 + next(3) {
                let at = next(bent.len());
                match next(3) {
                    0 => bent[at] = signs[next(signs.len())],
                    1 => {
                        bent.remove(at);
                    }
                    _ => {
                        // A word from another position.
                        let from = next(bytes.len());
                        let part: Vec<u8> = bytes[from..].iter().take(next(12)).copied().collect();
                        bent.splice(at..at, part);
                    }
                }
            }
            feed(&String::from_utf8_lossy(&bent));
        }
    }
}

const HEAD: &str = ".version 8.8\n.target sm_75\n.address_size 64\n";

fn kernel(body: &str) -> String {
    format!("{HEAD}.entry k(.param .u64 p)\n{{\n{body}ret;\n}}\n")
}

#[test]
fn very_many_of_everything() {
    const MANY: usize = 1_000_000;
    let many = |text: &str| text.repeat(MANY);
    assert!(feed(&kernel(&format!(
        ".reg .b32 %r<2>;\nmov.b32 %r0, 1;\n{}",
        many("add.u32 %r0, %r0, %r0;\n")
    ))));
    assert!(feed(&kernel(".reg .b32 %r<18446744073709551615>;\nmov.b32 %r18446744073709551614, 1;\n")));
    let labels: String = (0..MANY).map(|n| format!("L{n}:\n")).collect();
    assert!(feed(&kernel(&labels)));
    let jumps: String =
        (0..MANY / 10).map(|n| format!("L{n}: @%p bra L{};\n", (n * 7919) % (MANY / 10))).collect();
    assert!(feed(&kernel(&format!(".reg .pred %p;\nsetp.ne.u32 %p, 1, 0;\n{jumps}"))));
    assert!(!feed(&kernel(&many("{"))));
    assert!(!feed(&kernel(&format!("add {};", many("[")))));
    assert!(!feed(&kernel(&format!("add {};", many("{")))));
    assert!(!feed(&many("(")));
    assert!(!feed(&format!("{HEAD}.global .u32 x = {};", many("{"))));
    assert!(feed(&format!("{HEAD}.global .u32 x[] = {{{}0}};\n", many("1, "))));
    assert!(!feed(&kernel(&many("frobnicate;\n"))));
    assert!(!feed(&format!("{HEAD}.entry k(.param .b8 p[1099511627776])\n{{ ret; }}")));
    assert!(feed(&many("// a comment\n")));
    assert!(feed(&format!("/* {}", many("* "))));
    assert!(!feed(&kernel(&format!("mov.u32 {}, 1;", many("%r")))));
}

#[test]
fn errors_have_their_location() {
    let text_of_process = |body: &str| -> String {
        let text = kernel(body);
        let errors = match parse(&text) {
            Err(errors) => errors,
            Ok(module) => heddle_ptx::check(&module).expect_err(body),
        };
        errors[0].to_string()
    };
    for (body, expected) in [
        ("frob.u32 a;\n", "unknown instruction `frob`"),
        ("add.q32 a, b, c;\n", "unknown form of `add`"),
        (".reg .b32 %r;\nadd.u32 %r, %r;\n", "at least 3 expected"),
        (".reg .b32 %r;\nadd.u32 %r, %r, %s;\n", "undeclared name `%s`"),
        (".reg .f32 %f;\n.reg .b32 %r;\nadd.f32 %f, %f, %q;\n", "undeclared name `%q`"),
        (
            ".reg .f32 %f;\n.reg .u32 %r;\nadd.u32 %r, %r, %f;\n",
            "a register of type .f32 for an instruction of type .u32",
        ),
        (".reg .b64 %r;\nadd.u32 %r, %r, %r;\n", "a register of type .b64"),
        ("bra L;\n", "undeclared name `L`"),
        ("L: L: ", "label `L` is already defined"),
        ("@%p bra L; L:\n", "`%p` is not a predicate register"),
        (".reg .b32 %r;\nmov.u32 %r, 0xfffffffffffffffff;\n", "is not a number of at most 64 bits"),
        (".reg .b32 %r;\nld.global.u32 %r, %r;\n", "not an address in brackets"),
        (".reg .b32 %r<2>;\nld.global.v2.u32 %r0, [%r1];\n", "not a vector of 2 registers"),
        (".shared .align 3 .b8 s[4];\n", "an alignment is a power of two"),
        ("mov.u32 %r1 1;\n", "unexpected"),
    ] {
        let text = text_of_process(body);
        assert!(text.contains(expected), "{body}: {text}");
        assert!(text.contains(":") && text.contains('^'), "{text}");
    }
}
