//! Metadata that code generators use is imported, and emitted where it still holds.

use heddle_ir::function::MetadataKind;
use heddle_ir::text::parse_module;
use heddle_ir::{Code, Module, Op};
use heddle_llvm::{EmitOptions, emit, import, read_ir};

const FACTS: &str = include_str!("facts/all.ll");

/// Returns the text of the imported module and of its emission.
fn there_and_back(text: &str) -> (String, String) {
    let imported = import(&read_ir("facts.ll", text.as_bytes()).unwrap_or_else(|error| panic!("{error}")));
    assert!(imported.refused.is_empty(), "{:?}", imported.refused);
    let emitted = emit(&imported.module, EmitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    (imported.module.to_string(), emitted.text())
}

/// Returns the operands of metadata `!NAME` on the only line with `word`, with nested nodes expanded and self
/// references as `self`.
fn text_of_process(text: &str, word: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().filter(|line| line.contains(word));
    let line = lines.next().unwrap_or_else(|| panic!("no {word} in\n{text}"));
    assert!(lines.next().is_none(), "several lines with {word} in\n{text}");
    let (_, behind) = line.split_once(&format!("!{name} !"))?;
    let number: String = behind.chars().take_while(char::is_ascii_digit).collect();
    Some(node(text, &number, &mut Vec::new()))
}

fn node<'t>(text: &'t str, number: &str, within: &mut Vec<&'t str>) -> String {
    let start = format!("!{number} = ");
    let line = text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {start}"));
    let name = &line[1..start.len() - 3];
    if within.contains(&name) {
        return "self".into();
    }
    within.push(name);
    let body = &line[start.len()..];
    let mut out = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('!') {
        out.push_str(&rest[..at]);
        let digits: String = rest[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        if digits.is_empty() {
            out.push('!');
        } else {
            out.push_str(&node(text, &digits, within));
        }
        rest = &rest[at + 1 + digits.len()..];
    }
    out.push_str(rest);
    within.pop();
    out
}

#[test]
fn what_is_taken_goes_out_again() {
    let (ours, emitted) = there_and_back(FACTS);
    for (word, name) in [
        ("load i32", "tbaa"),
        ("store float", "tbaa"),
        ("load ptr", "tbaa"),
        ("atomicrmw", "tbaa"),
        ("cmpxchg", "tbaa"),
        ("fdiv", "fpmath"),
    ] {
        let before = text_of_process(FACTS, word, name);
        assert!(before.is_some(), "{word} has no {name}");
        assert_eq!(text_of_process(&emitted, word, name), before, "{word}\n{ours}\n{emitted}");
    }
    // Importing again gives the same text: metadata is numbered in order of first use.
    assert_eq!(there_and_back(FACTS), (ours, emitted));
}

#[test]
fn hints_about_loops_go_out_with_the_branch_that_closes_them() {
    let (ours, emitted) = there_and_back(FACTS);
    let hints: Vec<String> = emitted
        .lines()
        .filter(|line| line.contains("!llvm.loop"))
        .map(|line| text_of_process(&emitted, line, "llvm.loop").expect("it has one"))
        .collect();
    // The vectorization hint is dropped; two loops have distinct nodes.
    let unrolled = "distinct !{self, !{!\"llvm.loop.unroll.disable\"}}";
    assert_eq!(hints, [unrolled, unrolled], "{ours}\n{emitted}");
    let names: Vec<&str> = emitted.lines().filter_map(|line| line.split("!llvm.loop ").nth(1)).collect();
    assert_ne!(names[0], names[1]);
}

#[test]
fn facts_of_one_lane_are_imported_and_not_widened() {
    let (ours, emitted) = there_and_back(FACTS);
    for word in
        ["alias_scope", "noalias", "access_group", "iterations", "parallel_accesses", "vectorize.enable"]
    {
        assert!(ours.contains(word), "{word}\n{ours}");
    }
    for word in ["alias.scope", "!noalias", "access.group", "vectorize", "parallel", "domain"] {
        assert!(FACTS.contains(word), "{word}");
        assert!(!emitted.contains(word), "{word}\n{ours}\n{emitted}");
    }
    let func = parse_module(&ours).expect("it is read").functions.remove(0);
    for block in func.blocks() {
        for inst in func.block_insts(block) {
            let origin = func.origin(func.inst(inst).origin);
            assert!(origin.without_per_lane_metadata().tags.iter().all(|(tag, _)| !tag.is_per_lane()));
        }
    }
}

/// Returns the metadata of the first instruction of this op in each function, as text.
fn tags_of(module: &Module, op: Op) -> Vec<String> {
    let tags = module.functions.iter().filter_map(|func| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        let inst = insts.find(|&inst| func.inst(inst).op == op)?;
        let tags = func.origin(func.inst(inst).origin).tags.iter();
        Some(tags.map(|(tag, fact)| format!("{tag} {fact}")).collect::<Vec<_>>().join(", "))
    });
    tags.collect()
}

#[test]
fn groups_of_a_loop_are_those_of_its_accesses() {
    let text = include_str!("facts/scopes.ll");
    let module = import(&read_ir("scopes.ll", text.as_bytes()).expect("it is read")).module;
    let printed = module.to_string();
    // Two distinct groups with equal contents are two nodes; the loop names one of them.
    let [load] = &tags_of(&module, Op::Load)[..] else { panic!("{printed}") };
    assert_eq!(load, "range fact0, alias_scope fact3, noalias fact4, access_group fact5, access_group fact6");
    let [store] = &tags_of(&module, Op::Store)[..] else { panic!("{printed}") };
    assert_eq!(store, "access_group fact5");
    assert!(printed.contains("fact7 = {\"llvm.loop.parallel_accesses\", fact5}\n"), "{printed}");
    assert!(printed.contains("!{iterations fact8}"), "{printed}");
    let emitted = emit(&module, EmitOptions::default()).expect("it is emitted").text();
    assert!(emitted.contains("!range"), "{emitted}");
    // A merged access keeps the groups of both, and an alias scope only if both have it.
    let func = &module.functions[0];
    let origins = |op| {
        let mut insts = func.blocks().flat_map(|block| func.block_insts(block));
        let inst = insts.find(|&inst| func.inst(inst).op == op).expect("there is one");
        func.origin(func.inst(inst).origin)
    };
    let merged = origins(Op::Load).merged(origins(Op::Store));
    assert_eq!(merged.tags.len(), 1, "{merged:?}");
    assert_eq!(merged.tags[0].0, MetadataKind::AccessGroup);
}

#[test]
fn metadata_within_itself_or_very_deep_is_left_out() {
    let deep: String = (10..300).map(|number| format!("!{number} = !{{!{}}}\n", number + 1)).collect();
    let text = format!(
        "define float @f(float %a, float %b) {{\n  %c = fdiv float %a, %b, !own !0\n  %d = fdiv float %a, %c, !own !10\n  ret float %d\n}}\n\
         !0 = distinct !{{!0, float 2.5}}\n{deep}!300 = !{{float 2.5}}\n"
    );
    // LLVM requires one number in `!fpmath`, so other nodes are attached elsewhere.
    let (ours, _) = there_and_back(&text);
    assert!(!ours.contains("fact0"), "{ours}");
    let text = text.replace("fdiv float", "load i32, ptr null ;");
    assert!(read_ir("odd.ll", text.as_bytes()).is_err());
}

#[test]
fn wrong_facts_are_errors() {
    let text = "fact0 = {\"any\"}\n\nfunc @f(v0: ptr(global)) -> f32 {\nblock0:\n  v1 = load f32, v0 !{tbaa fact0}\n  ret v1\n}\n";
    let module = parse_module(text).expect("it is read");
    let error = emit(&module, EmitOptions::default()).expect_err("LLVM refuses it");
    assert!(error.code == Code::NotEmitted, "{error}");
    assert!(error.to_string().contains("fact"), "{error}");
    let text = text.replace("tbaa fact0", "fpmath fact0");
    assert!(
        emit(&parse_module(&text).expect("it is read"), EmitOptions::default()).is_ok(),
        "not a fact of loads"
    );
}

#[test]
fn facts_a_million_deep_stay_behind() {
    let mut text = String::from("fact0 = {\"root\"}\n");
    for number in 1..1_000_000 {
        text += &format!("fact{number} = {{fact{}}}\n", number - 1);
    }
    text += "\nfunc @f(v0: f32) -> f32 {\nblock0:\n  v1 = fdiv v0, v0 !{fpmath fact999999}\n  ret v1\n}\n";
    let emitted = emit(&parse_module(&text).expect("it is read"), EmitOptions::default());
    assert!(!emitted.unwrap_or_else(|error| panic!("{error}")).text().contains("fpmath"));
}
