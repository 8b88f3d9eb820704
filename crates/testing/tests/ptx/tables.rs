//! The tables of `tests/ptx/tables`: what each arithmetic instruction gives, with its modifiers.
//!
//! ```text
//! # a comment
//! add.sat.s32  0x7fffffff 1 => 0x7fffffff
//! setp.lt.f32  1.5 nan => 0
//! ```
//!
//! Numbers are integers, bits in hexadecimal, or decimal fractions of the operand's type; `nan` of a result is any. For an address
//! stands what is in memory there; what is there afterwards is the last result. What takes a carry has it as its last operand, and
//! what gives one as its last result.

use heddle_interp::{Argument, Memory, RunOptions, run};
use heddle_ir::Space;
use heddle_ptx::table::{FORMS, OperandRole, pattern, specs};
use heddle_ptx::{LowerOptions, ModuleFacts, RaiseOptions, Word, lower, parse, raise};
use heddle_testing::not_run::not_run;
use heddle_testing::ptx::{TableLine, bits_of, is_cross_lane, is_nan, mask, tables, type_of, words_of};
use heddle_testing::ptx::{assembler, refused_by};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Where accesses to a space go: the name of an object, and the instruction that makes its address one of no space.
fn object_of(words: &[Word]) -> (&'static str, &'static str) {
    if words.iter().any(|word| matches!(word, Word::Shared | Word::SharedCta)) {
        ("of_shared", ".shared")
    } else if words.contains(&Word::Local) {
        ("of_local", ".local")
    } else {
        ("of_global", ".global")
    }
}

/// Generates a kernel that computes all lines, each result in its own eight bytes; returns it with each line's result
/// types and the size.
fn program(lines: &[TableLine]) -> (String, Vec<Vec<Word>>, usize) {
    let mut text = String::from(
        ".version 8.8\n.target sm_100\n.address_size 64\n.global .align 16 .b8 of_global[16];\n.visible .entry t(.param .u64 out)\n{\n",
    );
    text.push_str(
        ".reg .b64 %out, %generic; .reg .b32 %pr, %carry; .shared .align 16 .b8 of_shared[16]; .local .align 16 .b8 of_local[16];\n\
         ld.param.u64 %out, [out];\n",
    );
    let mut at = 0;
    let mut all = Vec::new();
    for line in lines {
        let words: Vec<Word> = words_of(&line.instruction).into_iter().flatten().collect();
        let specs = specs(line.form);
        let mnemonic = FORMS[usize::from(line.form)].mnemonic;
        text.push_str("{\n");
        let mut inputs = line.inputs.iter();
        let mut operands = Vec::new();
        let mut before = String::new();
        let mut after = String::new();
        let mut results = Vec::new();
        let mut store = |after: &mut String, name: &str, ty: Word| {
            // A byte lies in a wider register.
            let bits = ty.bits().unwrap_or(32).max(16);
            if ty == Word::Pred {
                let _ = writeln!(after, "selp.b32 %pr, 1, 0, {name};\nst.global.b32 [%out+{at}], %pr;");
                results.push(Word::B32);
            } else {
                let _ = writeln!(after, "st.global.b{bits} [%out+{at}], {name};");
                results.push(ty);
            }
            at += 8;
        };
        let mut in_memory = String::new();
        for (index, spec) in specs.iter().enumerate() {
            let ty = type_of(spec.role, &words);
            let bits = ty.bits().unwrap_or(32);
            let name = format!("%x{index}");
            let declared = if ty == Word::Pred { "pred".to_string() } else { format!("b{}", bits.max(16)) };
            if spec.is_dest {
                let _ = writeln!(text, ".reg .{declared} {name};");
                if line.expected.len() > 1 && matches!(spec.role, OperandRole::WithPredicate(_)) {
                    let _ = writeln!(text, ".reg .pred %q;");
                    operands.push(format!("{name}|%q"));
                    store(&mut after, &name, ty);
                    store(&mut after, "%q", Word::Pred);
                } else {
                    operands.push(name.clone());
                    store(&mut after, &name, ty);
                }
                continue;
            }
            let Some(input) = inputs.next() else {
                assert!(spec.optional, "an operand is missing: {}", line.text);
                break;
            };
            let value = bits_of(input, ty) & mask(ty);
            if spec.role == OperandRole::Constant {
                operands.push(value.to_string());
                continue;
            }
            let _ = writeln!(text, ".reg .{declared} {name};");
            if ty == Word::Pred {
                let _ = writeln!(before, "setp.ne.b32 {name}, {value}, 0;");
            } else {
                let _ = writeln!(before, "mov.b{} {name}, {value:#x};", bits.max(16));
            }
            if spec.role != OperandRole::Memory {
                operands.push(name);
                continue;
            }
            let (object, space) = object_of(&words);
            let _ = writeln!(
                before,
                "st{space}.b{bits} [{object}], {name};\ncvta{space}.u64 %generic, {object};"
            );
            let names_space = words.iter().any(|word| space[1..] == *word.text() || *word == Word::SharedCta);
            operands.push(if names_space { format!("[{object}]") } else { "[%generic]".into() });
            let _ = writeln!(in_memory, "ld{space}.b{bits} {name}, [{object}];");
            store(&mut in_memory, &name, ty);
        }
        let carry = if matches!(mnemonic, "addc" | "subc" | "madc") { inputs.next() } else { None };
        if let Some(carry) = carry {
            let (give, first) = if mnemonic == "subc" { ("sub", 0) } else { ("add", u32::MAX) };
            let _ = writeln!(before, "{give}.cc.u32 %carry, {first}, {};", bits_of(carry, Word::U32));
            if words.contains(&Word::Cc) {
                let take = if mnemonic == "subc" { "subc" } else { "addc" };
                after.insert_str(0, &format!("{take}.u32 %carry, 0, 0;\nand.b32 %carry, %carry, 1;\n"));
                store(&mut after, "%carry", Word::B32);
            }
        }
        assert_eq!(results.len(), line.expected.len(), "{}", line.text);
        let _ = writeln!(text, "{before}{} {};\n{after}{in_memory}}}", line.instruction, operands.join(", "));
        all.push(results);
    }
    text.push_str("ret;\n}\n");
    (text, all, at)
}

/// Runs a module and returns the lines with other results.
fn differences(
    module: &heddle_ir::Module,
    lines: &[TableLine],
    types: &[Vec<Word>],
    bytes: usize,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut memory = Memory::new();
    let address = memory.add(Space::Global, Some("out"), 64, vec![0; bytes]);
    let out = Argument::Uniform(heddle_interp::Datum::Bits(address.into()));
    let options = RunOptions { brush: vec![1], ..RunOptions::default() };
    if let Err(fault) = run(module, "t", &[out], &mut memory, &options) {
        return vec![fault.to_string()];
    }
    let object = memory.object("out").expect("the object is there");
    let mut at = 0;
    for (line, types) in lines.iter().zip(types) {
        for (expected, &ty) in line.expected.iter().zip(types) {
            let found = object.read(at, 8).unwrap_or(0) as u64 & mask(ty);
            at += 8;
            let holds = match expected.as_str() {
                "nan" => is_nan(found, ty),
                text => found == bits_of(text, ty) & mask(ty),
            };
            if !holds {
                wrong.push(format!("{}\n  gives {found:#x}", line.text));
            }
        }
    }
    wrong
}

/// Records the modifiers of a line at each position of its form's pattern; `None` where the position is empty.
fn words_met(line: &TableLine, met: &mut BTreeSet<(u16, usize, Option<Word>)>) {
    let words: Vec<Word> = words_of(&line.instruction).into_iter().flatten().collect();
    let mut at = 0;
    for (place, slot) in pattern(line.form).slots.iter().enumerate() {
        let word = words.get(at).copied().filter(|&word| slot.words.has(word));
        at += usize::from(word.is_some());
        met.insert((line.form, place, word));
    }
}

/// True if no instruction of a form may have a modifier, though the form allows it for others.
fn is_out_of_place(mnemonic: &str, words: &[Option<Word>], word: Option<Word>) -> bool {
    let is_packed = words.iter().flatten().any(|word| matches!(word, Word::F16x2 | Word::Bf16x2));
    match word {
        // Comparisons of numbers without a sign.
        Some(Word::Lo | Word::Ls | Word::Hi | Word::Hs) => is_packed,
        // Of conversions to tf32 only.
        Some(Word::Rna) => mnemonic == "cvt",
        _ => false,
    }
}

#[test]
fn each_line_of_the_tables_holds() {
    let mut wrong = Vec::new();
    let mut met = BTreeSet::new();
    let mut words = BTreeSet::new();
    let mut raised = 0;
    let assembler = assembler();
    if assembler.is_none() {
        not_run("NVIDIA's assembler on the tables", "`./x ptxas` brings it, from PyPI");
    }
    for (path, lines) in tables().expect("there are tables") {
        met.extend(lines.iter().map(|line| line.form));
        lines.iter().for_each(|line| words_met(line, &mut words));
        let (program, types, bytes) = program(&lines);
        let parsed = parse(&program).unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
        let lowered = lower(&parsed, "t.ptx", LowerOptions::default())
            .unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
        if let Some(refusal) = lowered.refused.first() {
            panic!("{}: {refusal}", path.display());
        }
        wrong.extend(differences(&lowered.module, &lines, &types, bytes));
        if let Some(assembler) = &assembler {
            let text = program.replace(".target sm_100\n", ".target sm_100a\n");
            let refused = refused_by(assembler, &text, "sm_100a");
            let refused = refused.unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
            // The first GPUs rounded it differently.
            wrong.extend(refused.into_iter().filter(|line| !line.starts_with("mad.f32 ")));
        }
        // The PTX round trip preserves results.
        let options = RaiseOptions { approximate: true, target: "sm_80".into(), ..RaiseOptions::default() };
        match raise(&lowered.module, &ModuleFacts::default(), &options) {
            Ok(text) => {
                let parsed =
                    parse(&text).unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
                let again = lower(&parsed, "t.ptx", LowerOptions::default())
                    .unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
                assert!(again.refused.is_empty(), "{}: {}", path.display(), again.refused[0]);
                wrong.extend(
                    differences(&again.module, &lines, &types, bytes)
                        .into_iter()
                        .map(|one| format!("raised: {one}")),
                );
                raised += 1;
            }
            Err(errors) => println!("{}: {}", path.display(), errors[0]),
        }
    }
    assert!(raised >= 8, "only {raised} tables went out and came back");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Every form that computes something from registers is met, with each of its words; what accesses memory is met.
    let mut missing = Vec::new();
    for (number, form) in (0u16..).zip(FORMS) {
        if !form.is_supported() {
            continue;
        }
        let specs = specs(number);
        let computes = specs.iter().all(|spec| {
            matches!(
                spec.role,
                OperandRole::Value(_)
                    | OperandRole::Predicate
                    | OperandRole::WithPredicate(_)
                    | OperandRole::Constant
            )
        });
        // Addresses, control flow, and cross-lane operations have their own tests: `ptx_lanes.rs`, `ptx_matrices.rs`,
        // files.
        let is_elsewhere = is_cross_lane(form.mnemonic)
            || matches!(form.mnemonic, "mov" | "cvta" | "isspacep" | "brx" | "nanosleep" | "cp");
        let is_memory = matches!(form.mnemonic, "ld" | "ldu" | "st" | "atom" | "red");
        let writes = specs.first().is_some_and(|spec| spec.is_dest);
        if is_memory && !met.contains(&number) {
            missing.push(format!("{} {}", form.mnemonic, form.pattern));
        }
        if is_memory || is_elsewhere || !computes || !writes {
            continue;
        }
        for (place, slot) in pattern(number).slots.iter().enumerate() {
            let all: Vec<Option<Word>> =
                slot.words.iter().map(Some).chain(slot.optional.then_some(None)).collect();
            let types: Vec<Option<Word>> =
                pattern(number).slots.iter().flat_map(|slot| slot.words.iter().map(Some)).collect();
            for word in all {
                if !words.contains(&(number, place, word)) && !is_out_of_place(form.mnemonic, &types, word) {
                    let word = word.map_or("nothing", Word::text);
                    missing.push(format!("{} {}: {word} in place {place}", form.mnemonic, form.pattern));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no line of a table meets:\n{}", missing.join("\n"));
}
