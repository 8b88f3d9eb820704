//! Large texts, valid and invalid: parsing takes neither long nor much stack.

use crate::parse;
use heddle_ir::parse_module;
use std::fmt::Write as _;

const MANY: usize = 200_000;

/// The text of a function with these lines in its one block.
fn function(lines: impl Fn(&mut String)) -> String {
    let mut text = "func @f(v0: i32, v1: ptr) {\nblock0:\n".to_string();
    lines(&mut text);
    text + "  ret\n}\n"
}

fn comes_back(text: &str) {
    assert!(parse(text).to_string() == text, "a large text does not come back");
}

fn is_refused(text: &str) {
    let errors = parse_module(text).unwrap_err();
    assert!((1..=20).contains(&errors.len()));
    assert!(errors.iter().all(|error| error.to_string().len() < 2000));
}

#[test]
fn a_chain_of_types_as_long_as_the_function() {
    comes_back(&function(|text| {
        for index in 2..MANY {
            writeln!(text, "  v{index} = add v{}, 1", index + 1).unwrap();
        }
        writeln!(text, "  v{MANY} = add v0, 1").unwrap();
    }));
    comes_back(&function(|text| {
        writeln!(text, "  v2 = add v0, 1").unwrap();
        for index in 3..MANY {
            writeln!(text, "  v{index} = add v{}, v2", index - 1).unwrap();
        }
    }));
}

#[test]
fn many_blocks_and_edges() {
    let mut text = "func @f() {\n".to_string();
    for index in 0..MANY {
        writeln!(text, "block{index}:\n  br block{}", (index + 1) % MANY).unwrap();
    }
    comes_back(&(text + "}\n"));
    comes_back(&function(|text| {
        text.push_str("  v2 = phi i32 ");
        text.push_str(&vec!["[block0: 1]"; MANY].join(", "));
        text.push_str("\n  switch v0, block0 [");
        let cases: Vec<String> = (0..MANY).map(|case| format!("{case}: block0")).collect();
        text.push_str(&cases.join(", "));
        text.push_str("]\n");
    }));
}

#[test]
fn many_items() {
    let mut text = String::new();
    for index in 0..MANY / 3 {
        writeln!(text, "declare @f{index}(i32)").unwrap();
    }
    text.push('\n');
    text += &function(|text| {
        for index in 0..MANY / 3 {
            writeln!(text, "  call @f{index}({index})").unwrap();
        }
    });
    comes_back(&text);
    let mut text = String::new();
    for index in 0..MANY / 3 {
        writeln!(text, "{}func @f{index}() {{\n}}", if index == 0 { "" } else { "\n" }).unwrap();
    }
    comes_back(&text);
    let params: Vec<String> = (0..MANY).map(|index| format!("v{index}: i32")).collect();
    comes_back(&format!("func @f({}) {{\n}}\n", params.join(", ")));
    let values: Vec<String> = (0..MANY).map(|value| value.to_string()).collect();
    comes_back(&format!("global @g: ptr align 4 = [i32 {}]\n", values.join(", ")));
}

#[test]
fn anything_repeated() {
    for one in [
        "(", "[", "{", "<", "<4 x ", "@", "\"", "\\", "-", "!{", "}", "block0:", "v1 = ", "func @f(", "9",
        ",",
    ] {
        is_refused(&one.repeat(MANY));
        is_refused(&function(|text| {
            text.push_str("  v2 = add v0, ");
            text.push_str(&one.repeat(MANY));
            text.push('\n');
        }));
        is_refused(&format!("global @g: ptr align 4 = [{}", one.repeat(MANY)));
        is_refused(&format!("func @f(v0: {}", one.repeat(MANY)));
    }
}

#[test]
fn any_mistake_repeated() {
    for line in [
        "v2 = add v0, v0",
        "v2 = add v2, 1\n  v2 = add v2, 1",
        "v2 = add 1, 1",
        "v3 = add v9, v0",
        "br block7",
        "block0:",
        "v2 = frobnicate v0",
        "call @nobody()",
        "v2 = load i32, v1 at file7:1:1",
        "v999999999 = add v0, v0",
        "block999999999:",
        "}",
    ] {
        is_refused(&function(|text| {
            for _ in 0..MANY {
                writeln!(text, "  {line}").unwrap();
            }
        }));
    }
    is_refused(&"global @a: ptr align 1 = []\n".repeat(MANY));
    is_refused(&"func @a() {\n}\n".repeat(MANY));
    is_refused(&"file7 = \"\"\n".repeat(MANY));
    is_refused(&"declare @a(i33)\n".repeat(MANY));
}

#[test]
fn numbers_cost_no_more_memory_than_the_text_is_long() {
    is_refused("func @f(v1100000: i32) {\n}\n");
    comes_back("func @f(v1000000: i32) {\n}\n");
    // The budget is for the text, not for each of its functions.
    is_refused(&"func @f(v1000000: i32) {\n}\n".repeat(3));
    let names = (0..MANY / 10).map(|index| format!("func @f{index}(v1000: i32) {{\n}}\n\n"));
    is_refused(&names.collect::<String>());
}

#[test]
fn long_names_and_literals() {
    let name = "n".repeat(MANY);
    comes_back(&format!("declare @{name}()\n"));
    comes_back(&format!("declare @\"{name} {name}\"()\n"));
    let digits = "1".repeat(MANY);
    is_refused(&function(|text| writeln!(text, "  v2 = add v0, {digits}").unwrap()));
    let text = function(|text| writeln!(text, "  v2 = fadd f16 0.{digits}, 1.0{digits}").unwrap());
    assert!(parse(&text).to_string().contains("v2 = fadd f16 0.1111, 1.011\n"));
}
