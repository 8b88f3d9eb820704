//! Bad input gets diagnostics: no panic, no hang, and memory in proportion to the text's size.
//!
//! The cases are large where something could nest, repeat or grow, so quadratic behaviour would take hours.

use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Diagnostic, Module, parse_bytes};
use std::fmt::Write as _;

const MANY: usize = 1_000_000;

/// Parses the text. Diagnostics must be short. A short valid text must round-trip and is verified at every stage.
fn read(text: &[u8]) -> Result<Module, Vec<Diagnostic>> {
    match parse_bytes(text) {
        Ok(module) => {
            let stages = if text.len() < MANY / 10 { Stage::ALL } else { &[Stage::Canonical] };
            for &stage in stages {
                let _ = verify_module(&module, stage);
            }
            Ok(module)
        }
        Err(diagnostics) => {
            assert!((1..=20).contains(&diagnostics.len()), "{} diagnostics", diagnostics.len());
            for diagnostic in &diagnostics {
                let shown = diagnostic.to_string();
                assert!(shown.len() < 4000, "{} bytes of diagnostic: {:.300}", shown.len(), shown);
                assert!(
                    diagnostic.place.line >= 1 && diagnostic.place.column >= 1 && !diagnostic.text.is_empty()
                );
            }
            Err(diagnostics)
        }
    }
}

/// The first diagnostic of an invalid text.
fn complaint(text: impl AsRef<[u8]>) -> String {
    match read(text.as_ref()) {
        Ok(module) => match verify_module(&module, Stage::Source) {
            Err(violations) => violations.to_string(),
            Ok(()) => panic!("this is accepted: {:.300}", String::from_utf8_lossy(text.as_ref())),
        },
        Err(diagnostics) => diagnostics[0].text.clone(),
    }
}

#[track_caller]
fn complains(text: impl AsRef<[u8]>, of: &str) {
    let complaint = complaint(text);
    assert!(complaint.contains(of), "{complaint:.300}");
}

/// A function with these lines.
fn func(lines: &str) -> String {
    format!("func @f(v0: i32, v1: ptr(global), v2: f16) {{\nblock0:\n{lines}\n  ret\n}}\n")
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        writeln!(text, "{}", line(number)).expect("a string takes all text");
        text
    })
}

#[test]
fn what_is_no_text() {
    complains(b"\xff", "byte 0xff at offset 0 is not UTF-8");
    complains(b"func @f() {\nblock0:\n  ret ; \xc3\n}\n", "not UTF-8");
    complains(vec![0x80; MANY], "not UTF-8");
    complains(b"\0", "expected");
    complains("\u{feff}func @f() {\nblock0:\n  ret\n}\n", "expected");
    complains("func @f()\u{a0}{\nblock0:\n  ret\n}\n", "expected");
}

#[test]
fn what_is_nothing_or_little() {
    for text in ["", "\n", ";", "; nothing\n", "\r\n\r\n", "   \t"] {
        let module = read(text.as_bytes()).unwrap_or_else(|errors| panic!("{text:?}: {}", errors[0]));
        assert!(module.functions.is_empty());
    }
    complains("func", "expected");
    complains("func @f", "expected");
    complains("func @f()", "expected");
    complains("func @f() {", "the end of the text");
    complains("func @f() {\n", "the end of the text");
    complains("func @f() {\n}\n", "block");
    complains("func @f() {\nblock0:\n}\n", "terminator");
    complains("func @f() {\nblock0:\n  ret", "the end of the text");
    complains("global", "expected");
    complains("declare", "expected");
    complains("file0", "expected");
}

#[test]
fn what_is_mistyped() {
    complains(func("  v3 = addd v0, v0"), "did you mean `add`");
    complains(func("  v3 = frobnicate v0"), "unknown op");
    complains(func("  v3 = add v0"), "operand");
    complains(func("  v3 = add v0, v0, v0"), "operand");
    complains(func("  v3 = add v0, v1"), "ptr");
    complains(func("  v3 = add v0, v9"), "no value v9");
    complains(func("  br block7"), "no block7");
    complains(func("  call @g()"), "no function @g");
    complains(func("  v3 = load i32, @g"), "no global @g");
    complains(func("  v3 = add v0, 1.5"), "is not a value of type");
    complains(func("  v3 = phi i32 [block0: v0]"), "phi");
    complains(func("  v3 = load i33, v1"), "expected a type");
    complains(func("  v0 = add v0, v0"), "is already defined");
    complains(func("block0:"), "is already defined");
    complains(format!("{}{}", func(""), func("")), "is already defined");
    complains("global @g: ptr(global) = [zero 4]\nglobal @g: ptr(global) = [zero 4]\n", "is already defined");
}

#[test]
fn brackets_without_end() {
    for open in
        ["(", "[", "{", "<", ")", "]", "}", ">", "\"", "@\"", "@", "-", "+", ":", ",", "=", "!", "\\", "$"]
    {
        let many = open.repeat(MANY);
        complains(&many, "expected");
        complains(format!("func @f({many}"), "");
        complains(func(&format!("  v3 = add {many}")), "");
        complains(func(&format!("  v3 = phi i32 {many}")), "");
        complains(func(&format!("  v3 = fadd v2, {many}")), "");
    }
    for open in [
        "func @f(",
        "func @f() {\n",
        "block0:\n",
        "global @g: ",
        "declare ",
        "[block0: ",
        "v1 = ",
        "i32 ",
        "splat ",
    ] {
        let many = open.repeat(MANY / 10);
        complains(&many, "expected");
        complains(func(&many), "");
    }
}

#[test]
fn long_words_lines_and_comments() {
    let long = "a".repeat(MANY);
    let spaces = " ".repeat(MANY);
    complains(&long, "expected");
    complains(format!("func @{long}("), "expected");
    complains(func(&format!("  v3 = {long} v0")), "unknown op");
    complains(func(&format!("  v3 = add v0, {spaces}v9")), "no value v9");
    complains(func(&format!("  v3 = load i32, v1 {long}")), "expected");
    complains(func(&format!("  v3 = icmp {long} v0, v0")), "expected");
    complains(format!("{};{long}\nx", "; comment\n".repeat(MANY)), "expected");
    complains(format!("func @\"{}\"() {{", "\\u{41}".repeat(MANY / 6)), "expected");
    complains(format!("func @\"{}", "\\\"".repeat(MANY)), "expected");
    complains(format!("func @\"{}\"() {{", "\\".repeat(MANY + 1)), "");
    complains(func(&"\r".repeat(MANY)).replace("ret", "retu"), "unknown op");
    // Length alone is no error.
    let module =
        read(format!("; {long}\nfunc @{long}() {{\nblock0:{spaces}\n  ret\n}}\n").as_bytes()).unwrap();
    assert_eq!(module.functions[0].name.len(), MANY);
}

#[test]
fn huge_numbers() {
    let nines = "9".repeat(MANY);
    for number in
        [&nines, "99999999999999999999999999999999999999999", "-1", "0x10000000000000000", "1.5", "4x4"]
    {
        complains(func(&format!("  v3 = add v0, {number}{nines}")), "");
        complains(func(&format!("  v3 = alloca {number}{nines} align 4")), "");
        complains(func(&format!("  v3 = load i32, v1 align {number}{nines}")), "");
        complains(func(&format!("  v3 = load i32, v1 dereferenceable {number}{nines}")), "");
        complains(func(&format!("  v3 = global_id i32, {number}{nines}")), "");
        complains(func(&format!("  v3 = splat <{number}{nines} x i32>, v0")), "");
        complains(func(&format!("  v3 = fclass v2, {number}{nines}")), "");
        complains(func(&format!("  br block0 weights({number}{nines}, 1)")), "");
        complains(func(&format!("  fence acquire group at file0:{number}{nines}")), "");
        complains(func(&format!("  launch {number}{nines} @f(v0)")), "");
        complains(format!("global @g: ptr(global) align 4 = [zero {number}{nines}]\n"), "");
        complains(format!("global @g: ptr(global) align {number}{nines} = [zero 4]\n"), "");
    }
    complains(func(&format!("  launch {} @f(v0)", ["4"; MANY].join("x"))), "brush");
    complains(func("  launch 4294967295x4294967295x4294967295 @f(v0)"), "");
    complains(func("  v3 = alloca 18446744073709551615 align 4"), "");
    complains(func("  v3 = alloca 4 align 3"), "power");
    complains(
        "global @g: ptr(global) align 4 = [zero 18446744073709551615, zero 18446744073709551615]\n",
        "",
    );
}

#[test]
fn long_decimals() {
    let zeros = "0".repeat(MANY);
    for scalar in ["f16", "bf16", "f32", "f64"] {
        let with = |number: &str| {
            format!("func @f(v0: {scalar}) {{\nblock0:\n  v1 = fadd v0, {number}\n  ret\n}}\n").into_bytes()
        };
        // The midpoint of two half floats, except for its last digit.
        for number in [format!("1.00048828125{zeros}1"), format!("0.{zeros}1"), "1.0e-1000000".into()] {
            let _ = read(&with(&number))
                .map_err(|errors| panic!("{scalar} {number:.20}: {:.300}", errors[0].text));
        }
        complains(with(&format!("1{zeros}.0")), "does not fit");
        complains(with("1e999999999999999999999999"), "does not fit");
        complains(with(&format!("0x{}", "f".repeat(MANY))), "does not fit");
        complains(with(&format!("1.{zeros}.0")), "is not a number");
        complains(with(&format!("1e{}", "-".repeat(MANY))), "");
    }
}

#[test]
fn numbers_of_values_and_blocks() {
    for number in ["4294967293", "4294967294", "4294967295", "4294967296", "99999999999999999999"] {
        complains(func(&format!("  v{number} = add v0, v0")), "too large");
        complains(func(&format!("block{number}:")), "too large");
        complains(format!("func @f(v{number}: i32) {{\nblock0:\n  ret\n}}\n"), "too large");
        complains(format!("file{number} = \"a.c\"\n"), "");
        complains(format!("fact{number} = {{}}\n"), "");
        complains(func(&format!("  v3 = add v0, v0 !{{tbaa fact{number}}}")), "");
        complains(func(&format!("  v3 = add v{number}, v0")), "");
        complains(func(&format!("  br block{number}")), "");
        complains(func(&format!("  v3 = add v0, v0 at file{number}:1")), "");
    }
    complains(func("  v03 = add v0, v0"), "unknown op `v03`");
    // All functions share one budget for large numbers.
    let text =
        lines(200, |number| format!("func @f{number}() {{\nblock0:\n  v1000000 = lane i32\n  ret\n}}"));
    complains(text, "too large");
}

#[test]
fn many_of_everything_that_is_right() {
    let chain = format!(
        "{}{}",
        func("").trim_end_matches("  ret\n}\n"),
        lines(MANY, |number| {
            format!("  v{} = add v{}, 1", number + 3, if number == 0 { 0 } else { number + 2 })
        })
    );
    let module = read(format!("{chain}  ret\n}}\n").as_bytes()).unwrap();
    assert_eq!(module.functions[0].inst_count(), MANY + 1);
    let blocks = format!(
        "func @f() {{\n{}block{MANY}:\n  ret\n}}\n",
        lines(MANY, |number| format!("block{number}:\n  br block{}", number + 1))
    );
    assert_eq!(read(blocks.as_bytes()).unwrap().functions[0].block_count(), MANY + 1);
    let functions = lines(MANY / 10, |number| format!("func @f{number}() {{\nblock0:\n  ret\n}}"));
    assert_eq!(read(functions.as_bytes()).unwrap().functions.len(), MANY / 10);
    let globals = lines(MANY / 10, |number| format!("global @g{number}: ptr(global) = [zero 4]"));
    assert_eq!(read(globals.as_bytes()).unwrap().globals.len(), MANY / 10);
    let cases: Vec<String> = (0..MANY).map(|number| format!("{number}: block1")).collect();
    let switch = format!(
        "func @f(v0: i32) {{\nblock0:\n  switch v0, block1 [{}]\nblock1:\n  ret\n}}\n",
        cases.join(", ")
    );
    assert!(read(switch.as_bytes()).is_ok());
}

#[test]
fn a_phi_of_many_operands() {
    let cases: Vec<String> = (1..MANY / 4).map(|number| format!("{number}: block{number}")).collect();
    let incoming: Vec<String> = (1..MANY / 4).map(|number| format!("[block{number}: {number}]")).collect();
    let with = |incoming: &[String]| {
        format!(
            "func @f(v0: i32) {{\nblock0:\n  switch v0, block{last} [{}]\n{}block{last}:\n  v1 = phi i32 {}\n  ret\n}}\n",
            cases.join(", "),
            lines(MANY / 4 - 1, |number| format!("block{}:\n  br block{}", number + 1, MANY / 4)),
            incoming.join(", "),
            last = MANY / 4,
        )
    };
    let mut all = incoming.clone();
    all.push("[block0: 0]".into());
    read(with(&all).as_bytes()).map(|module| verify_module(&module, Stage::Source).unwrap()).unwrap();
    complains(with(&incoming), "block0");
    all.extend(incoming.iter().cloned());
    complains(with(&all), "");
    let one = vec!["[block0: 0]".to_string(); MANY];
    complains(with(&one), "");
}

#[test]
fn many_definitions_of_one_name() {
    let head = "func @f(v0: i32) {\nblock0:\n";
    let distinct = lines(MANY / 2, |number| format!("  v{} = add v0, v0", number + 1));
    let again = lines(MANY / 2, |_| format!("  v{} = add v0, v0", MANY / 2));
    complains(format!("{head}{}  ret\n}}\n", again), "is already defined");
    complains(format!("{head}{distinct}{again}  ret\n}}\n"), "is already defined");
    let distinct = lines(MANY / 2, |number| format!("block{number}:\n  ret"));
    let again = lines(MANY / 2, |_| format!("block{}:\n  ret", MANY / 2 - 1));
    complains(format!("func @f() {{\n{distinct}{again}}}\n"), "is already defined");
    let distinct = lines(MANY / 4, |number| format!("declare @f{number}()"));
    let again = lines(MANY / 4, |_| format!("declare @f{}()", MANY / 4 - 1));
    complains(format!("{distinct}{again}"), "is already defined");
    let again = lines(MANY, |_| "file0 = \"a.c\"".into());
    complains(again, "");
}

#[test]
fn many_names_of_nothing() {
    let head = "func @f(v0: i32) {\nblock0:\n";
    let values = lines(MANY, |number| format!("  v{} = add v0, v{}", number + 1, number + 2 * MANY));
    complains(format!("{head}{values}  ret\n}}\n"), "no value v");
    let blocks = lines(MANY, |number| format!("block{}:\n  br block{}", number + 1, number + 2 * MANY));
    complains(format!("{head}  ret\n{blocks}}}\n"), "no block");
    let calls = lines(MANY, |number| format!("  call @g{number}(v0)"));
    complains(format!("{head}{calls}  ret\n}}\n"), "no function");
    let ops = lines(MANY, |number| format!("  v{} = addd v0, v0", number + 1));
    complains(format!("{head}{ops}  ret\n}}\n"), "unknown op");
    let locations = lines(MANY, |number| format!("  v{} = add v0, v0 at file{number}:1", number + 1));
    complains(format!("{head}{locations}  ret\n}}\n"), "no file");
    let inits = vec!["@nothing"; MANY].join(", ");
    complains(format!("global @g: ptr(global) align 8 = [{inits}]\n"), "");
}

#[test]
fn types_that_follow_from_afar() {
    // Each value's type follows from the next one's, in a chain that must not be followed recursively.
    let chain = lines(MANY, |number| format!("  v{} = add v{}, v{}", number + 1, number + 2, number + 2));
    complains(format!("func @f(v0: i32) {{\nblock0:\n{chain}  ret\n}}\n"), "no value v");
    complains(
        format!("func @f(v0: i32) {{\nblock0:\n{chain}  v{} = add v1, v1\n  ret\n}}\n", MANY + 1),
        "depends on itself",
    );
    let right = format!("func @f(v0: i32) {{\nblock0:\n{chain}  v{} = add v0, v0\n  ret\n}}\n", MANY + 1);
    assert!(read(right.as_bytes()).is_ok());
    complains(right, "dominate");
}

#[test]
fn many_violations() {
    let unended = lines(MANY, |number| format!("block{number}:"));
    complains(format!("func @f() {{\n{unended}}}\n"), "terminator");
    let ended = lines(MANY, |_| "  ret".into());
    complains(format!("func @f() {{\nblock0:\n{ended}}}\n"), "");
    let cases = vec!["7: block1"; MANY].join(", ");
    complains(
        format!("func @f(v0: i32) {{\nblock0:\n  switch v0, block1 [{cases}]\nblock1:\n  ret\n}}\n"),
        "",
    );
    let tags = vec!["tbaa fact1"; MANY].join(", ");
    let _ = read(func(&format!("  v3 = load i32, v1 !{{{tags}}}")).as_bytes());
    let late = lines(MANY, |number| format!("  v{} = phi i32 [block{number}: v0]", number + 3));
    complains(func(&late), "");
}

#[test]
fn a_piece_of_a_text() {
    for text in samples() {
        for end in 0..text.len() {
            let _ = read(&text.as_bytes()[..end]);
            let _ = read(&text.as_bytes()[end..]);
        }
    }
}

#[test]
fn a_text_with_a_byte_changed() {
    for text in samples() {
        let mut bytes = text.into_bytes();
        for at in 0..bytes.len() {
            let was = bytes[at];
            for byte in *b"\0 \n0v@,:([{\"-\xff" {
                bytes[at] = byte;
                if let Ok(module) = read(&bytes) {
                    let printed = module.to_string();
                    let again = parse_bytes(printed.as_bytes()).map(|module| module.to_string());
                    assert_eq!(again.as_ref(), Ok(&printed));
                }
            }
            bytes[at] = was;
        }
    }
}

#[test]
fn a_text_with_a_line_lost_doubled_or_moved() {
    for text in samples() {
        let all: Vec<&str> = text.lines().collect();
        for at in 0..all.len() {
            let without: Vec<&str> = [&all[..at], &all[at + 1..]].concat();
            let _ = read(without.join("\n").as_bytes());
            let _ = read([&all[..at], &all[at..at + 1], &all[at..]].concat().join("\n").as_bytes());
            let mut moved = all.clone();
            moved.swap(at, (at * 7 + 3) % all.len());
            let _ = read(moved.join("\n").as_bytes());
        }
    }
}

/// Texts that together use most of the format.
fn samples() -> Vec<String> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ir");
    let file = |name: &str| std::fs::read_to_string(format!("{directory}/{name}.hed")).unwrap();
    let bare = |text: String| -> String {
        text.lines().filter(|line| !line.starts_with(';')).map(|line| format!("{line}\n")).collect()
    };
    vec![bare(file("steps-source")), bare(file("steps-linear")), bare(file("steps-wide"))]
}
