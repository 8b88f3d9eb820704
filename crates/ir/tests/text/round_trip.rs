//! Round trips of texts and functions.

use crate::{corpus, parse};
use heddle_ir::function::{MetadataKind, OriginData};
use heddle_ir::inst::InstData;
use heddle_ir::module::{FunctionKind, MetadataNode, Signature};
use heddle_ir::text::{AnnotatedLine, print_function_with, print_inst, print_operand};
use heddle_ir::words::{
    AtomicOrdering, Flag, Flags, FloatPredicate, IntPredicate, Reduction, Rmw, SyncScope,
};
use heddle_ir::{
    Block, Builder, Constant, Function, InsertPoint, Module, Op, Scalar, Space, Type, Value, parse_module,
};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// The text without comments and surrounding blanks.
fn bare(source: &str) -> String {
    let lines = source.lines().map(|line| line.split(';').next().unwrap_or_default().trim_end());
    let lines: Vec<&str> = lines.collect();
    let text = lines.join("\n");
    text.trim_start().to_string() + "\n"
}

/// Canonical description of a function, independent of the numbers of constants, callees, origins and instructions.
fn meaning(func: &Function) -> String {
    let mut out = String::new();
    let mut constants: HashMap<Constant, u32> = HashMap::new();
    let mut number = |value: Value| match func.constant(value) {
        Some(constant) => {
            let next = constants.len() as u32;
            Value::from_u32((1 << 30) + *constants.entry(constant.clone()).or_insert(next))
        }
        None => value,
    };
    writeln!(out, "{:?} {:?} {:?} {:?}", func.name, func.kind, func.signature, func.params()).unwrap();
    for block in func.blocks() {
        writeln!(out, "{block} {:?}", func.predicate(block).map(&mut number)).unwrap();
        for inst in func.block_insts(block) {
            let mut data: InstData = func.inst(inst).clone();
            data.map_values(&mut number);
            let results: Vec<_> =
                func.results(inst).iter().map(|&result| (result, func.value_type(result))).collect();
            let (op, args, detail, flags) = (data.op, &data.args, &data.detail, data.flags);
            let origin = func.origin(data.origin);
            writeln!(out, "{results:?} = {op} {args:?} {detail:?} {flags:?} {origin:?}").unwrap();
            writeln!(out, "  {:?}", func.callee_of(&data)).unwrap();
        }
    }
    let mut constants: Vec<_> = constants.into_iter().collect();
    constants.sort_by_key(|&(_, number)| number);
    writeln!(out, "{constants:?}").unwrap();
    out
}

fn module_meaning(module: &Module) -> String {
    let functions: Vec<String> = module.functions.iter().map(meaning).collect();
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{}",
        module.files,
        module.facts,
        module.globals,
        module.declarations,
        functions.concat()
    )
}

#[test]
fn the_corpus_comes_back_byte_by_byte() {
    for (name, source) in corpus() {
        let module = parse(&source);
        let printed = module.to_string();
        for (printed, written) in printed.lines().zip(bare(&source).lines()) {
            assert_eq!(printed, written, "{name}");
        }
        assert_eq!(printed.lines().count(), bare(&source).lines().count(), "{name}");
        let again = parse(&printed);
        assert_eq!(again.to_string(), printed, "{name}");
        assert_eq!(module_meaning(&again), module_meaning(&module), "{name}");
    }
}

#[test]
fn the_corpus_has_every_op_type_and_word() {
    let mut ops = BTreeSet::new();
    let mut text = String::new();
    for (_, source) in corpus() {
        let module = parse(&source);
        for func in &module.functions {
            let insts = func.blocks().flat_map(|block| func.block_insts(block));
            ops.extend(insts.map(|inst| func.inst(inst).op));
        }
        text += &module.to_string();
    }
    for op in Op::ALL {
        assert!(ops.contains(op), "no text has {op}");
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = text.split(|c| !is_word(c)).collect();
    let mut expected: Vec<&str> = Vec::new();
    expected.extend(Flag::ALL.iter().map(|word| word.name()));
    expected.extend(IntPredicate::ALL.iter().map(|word| word.name()));
    expected.extend(FloatPredicate::ALL.iter().map(|word| word.name()));
    expected.extend(Reduction::ALL.iter().map(|word| word.name()));
    expected.extend(Rmw::ALL.iter().map(|word| word.name()));
    expected.extend(AtomicOrdering::ALL.iter().map(|word| word.name()));
    expected.extend(SyncScope::ALL.iter().map(|word| word.name()));
    expected.extend(MetadataKind::ALL.iter().map(|word| word.name()));
    for word in expected {
        assert!(words.contains(word), "no text has `{word}`");
    }
    for scalar in Scalar::ALL {
        assert!(text.contains(&scalar.to_string()), "no text has {scalar}");
    }
}

#[test]
fn every_flag_is_printed_with_every_op_that_may_carry_it() {
    for (_, source) in corpus() {
        for mut func in parse(&source).functions {
            let insts: Vec<_> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
            for flags in [Flags::of(Flag::ALL), Flags::of(&[Flag::Total]), Flags::FAST] {
                for &inst in &insts {
                    let may = func.inst(inst).op.info().flags.with(Flag::Total);
                    func.inst_mut(inst).flags = flags.intersection(may);
                }
                let module = Module { functions: vec![func.clone()], ..parse(&items_of(&source)) };
                let again = parse(&module.to_string());
                assert_eq!(meaning(&again.functions[0]), meaning(&func));
            }
        }
    }
}

/// The items of a text before its functions.
fn items_of(source: &str) -> String {
    let is_item =
        |line: &&str| ["file", "fact", "global", "declare"].iter().any(|item| line.starts_with(item));
    source.lines().filter(is_item).map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_need_not_be_written_may_be() {
    let same = |written: &str, printed: &str| {
        let frame = |line: &str| {
            format!(
                "fact0 = {{}}\nfact1 = {{}}\n\n\
                 global @g: ptr(global) align 4 = [i32 1]\n\n\
                 func @f(v0: i32, v1: ptr(global), v2: <4 x i32>, v3: f32, v4: i8, v5: i1) {{\n\
                 block0:\n  {line}\n  unreachable\n}}\n"
            )
        };
        assert_eq!(parse(&frame(written)).to_string(), frame(printed));
    };
    same("v10 = add i32 v0, 1", "v10 = add v0, 1");
    same("v10 = add v0, i32 1", "v10 = add v0, 1");
    same("v10 = add i32 1, i32 2", "v10 = add i32 1, 2");
    same("v10 = add 1, i32 2", "v10 = add i32 1, 2");
    same("v10 = add v0, 0xffffffff", "v10 = add v0, -1");
    same("v10 = add v0, 4294967295", "v10 = add v0, -1");
    same("v10 = add v2, <4 x i32> <5, 5, 5, 5>", "v10 = add v2, splat 5");
    same("v10 = icmp eq v5, 1", "v10 = icmp eq v5, true");
    same("v10 = xor v5, -1", "v10 = xor v5, true");
    same("v10 = fadd v3, 0x3f800000", "v10 = fadd v3, 1.0");
    same("v10 = fadd v3, 1e0", "v10 = fadd v3, 1.0");
    same("v10 = fadd v3, 0x7fc00000", "v10 = fadd v3, nan");
    same("v10 = fadd v3, 0.100000001490116119384765625", "v10 = fadd v3, 0.1");
    same("v10 = icmp eq ptr(global) @g, null", "v10 = icmp eq @g, null");
    same("v10 = icmp eq v1, 0x0", "v10 = icmp eq v1, null");
    same("v10 = splat <4 x i1>, i1 true", "v10 = splat mask<4>, i1 true");
    same("v10 = load i32, v1 align 4", "v10 = load i32, v1");
    same("v10 = load i32, v1 dereferenceable 8 align 2", "v10 = load i32, v1 align 2 dereferenceable 8");
    same("memcpy v1, v1, i64 8 align 1, align 1", "memcpy v1, v1, i64 8");
    same("v10 = fadd nnan ninf nsz arcp contract afn reassoc v3, v3", "v10 = fadd fast v3, v3");
    same("v10 = fadd fast nnan v3, v3", "v10 = fadd fast v3, v3");
    same("v10 = add nsw nuw v0, v0", "v10 = add nuw nsw v0, v0");
    same("v10 = add v0, v0 !{loop fact1, tbaa fact0}", "v10 = add v0, v0 !{tbaa fact0, loop fact1}");
    same("v10 = add\tv0 ,v0\t; a comment", "v10 = add v0, v0");
    same("v10 = phi i32 [block0: 1],\n\n [block0:\t2]", "v10 = phi i32 [block0: 1], [block0: 2]");
    same(
        "v10 = ballot i8, mask<8> <true,false,\n1,0,\n-1,0,false,true>",
        "v10 = ballot i8, mask<8> <true, false, true, false, true, false, false, true>",
    );
    same("switch v0, block0 [\n 1: block0,\n 2: block0]", "switch v0, block0 [1: block0, 2: block0]");
}

#[test]
fn the_example_of_the_grammar_comes_back() {
    let grammar = include_str!("../../../../docs/text.md");
    let example: String = grammar
        .lines()
        .skip_while(|line| !line.starts_with("    "))
        .take_while(|line| !line.is_empty())
        .map(|line| format!("{}\n", line.trim_start_matches("    ")))
        .collect();
    assert_eq!(parse(&example).to_string(), bare(&example).replace("\n\n", "\n"));
}

#[test]
fn lines_end_as_they_may() {
    let unix = "func @f(v0: i32) {\nblock0:\n  v1 = add v0, v0\n  ret\n}\n";
    for text in [
        unix.replace('\n', "\r\n"),
        unix.replace('\n', " ; comment\n"),
        unix.replace('\n', "\n\n\n; comment\n\n"),
        unix.trim_end().to_string(),
        unix.replace("block0:\n ", "block0:"),
        unix.replace("ret\n}", "ret }"),
        format!("\n\n{unix}\n\n; comment"),
    ] {
        assert_eq!(parse(&text).to_string(), unix, "{text:?}");
    }
    assert_eq!(parse("").to_string(), "");
    assert_eq!(parse("; nothing").to_string(), "");
}

#[test]
fn values_may_be_used_above_their_definitions() {
    let text = "func @f(v0: i1) -> i32 {\nblock3:\n  br block1\nblock2:\n  v9 = add v5, 1\n  v4 = icmp eq v9, 2\n  \
                ret v9\nblock1:\n  v5 = mul v100, v100\n  v100 = trunc i32, v7\n  v7 = shl i64 1, 2\n  br block2\n}\n";
    assert_eq!(parse(text).to_string(), text);
}

#[test]
fn types_that_follow_from_themselves_are_written() {
    let text = "func @f(v0: i1) {\nblock0:\n  ret\nblock1:\n  v1 = add i32 v1, 1\n  v2 = add i64 v4, 1\n  \
                v3 = sub v2, 1\n  v4 = mul v3, v2\n  v5 = add v3, 1\n  br block1\n}\n";
    assert_eq!(parse(text).to_string(), text);
}

#[test]
fn numbers_keep_their_gaps() {
    let text = "func @f(v7: i32) -> i32 {\nblock9:\n  v3000 = add v7, 1\n  br block2\nblock2:\n  v4 = add v3000, 1\n  ret v4\n}\n";
    let module = parse(text);
    assert_eq!(module.to_string(), text);
    let func = &module.functions[0];
    assert_eq!(func.params(), [Value::from_u32(7)]);
    assert_eq!(func.block_count(), 10);
    assert_eq!(func.entry(), Block::from_u32(9));
    // The constant's number is above all that occur in the text.
    assert_eq!(func.value_count(), 3002);
    assert!(func.constant(Value::from_u32(3001)).is_some());
}

#[test]
fn a_built_function_comes_back() {
    let mut signature = Signature::new(&[Type::I32, Type::ptr(Space::Global)], &[Type::I32]);
    signature.params[0].align = 4;
    let mut func = Function::new("built by hand", signature);
    func.kind = FunctionKind::Kernel(None);
    let entry = func.append_block();
    let [a, p] = [func.params()[0], func.params()[1]];
    let mut build = Builder::new(&mut func, InsertPoint::End(entry));
    let one = build.int(Scalar::I32, 1);
    let sum = build.op(Op::Add, &[one, a]);
    let gone = build.op(Op::Mul, &[sum, sum]);
    let poison = build.func.make_poison(Type::I32);
    let both = build.op(Op::Add, &[one, poison]);
    let loaded = build.load(Type::I32, p, 4);
    let product = build.op(Op::Mul, &[both, loaded]);
    build.ret(&[product]);
    let gone = func.def_inst(gone).unwrap();
    func.remove_inst(gone);
    let tags =
        [(MetadataKind::Tbaa, MetadataNode::from_u32(0)), (MetadataKind::Fpmath, MetadataNode::from_u32(1))]
            .into_iter()
            .collect();
    let origin = func.make_origin(OriginData { loc: None, tags });
    let both = func.def_inst(both).unwrap();
    func.inst_mut(both).origin = origin;

    let text = func.to_string();
    assert_eq!(
        text,
        "kernel @\"built by hand\"(v0: i32 align 4, v1: ptr(global)) -> i32 {\n\
         block0:\n  v3 = add 1, v0\n  v6 = add i32 1, poison !{tbaa fact0, fpmath fact1}\n  v7 = load i32, v1\n  \
         v8 = mul v6, v7\n  ret v8\n}\n"
    );
    let module = parse(&format!("fact0 = {{}}\nfact1 = {{fact0}}\n{text}"));
    assert_eq!(meaning(&module.functions[0]), meaning(&func));
    assert_eq!(print_inst(&func, both), "v6 = add i32 1, poison !{tbaa fact0, fpmath fact1}");
    assert_eq!(print_operand(&func, one), "i32 1");
    assert_eq!(print_operand(&func, product), "v8");
}

#[test]
fn what_is_broken_prints_nevertheless() {
    let mut func = Function::new("broken", Signature::new(&[Type::I32], &[]));
    let block = func.append_block();
    let nowhere = Value::from_u32(99);
    for &op in Op::ALL {
        let inst = func.make_inst(InstData::plain(op, [nowhere, nowhere, func.params()[0]]), &[]);
        func.layout.append_inst(inst, block);
    }
    let shown = func.to_string();
    assert!(shown.contains("  add v99, v99, v0\n"), "{shown}");
    assert!(parse_module(&shown).is_err());
}

#[test]
fn comments_stand_next_to_their_lines() {
    let text = "func @f(v0: i32) {\nblock0:\n  v1 = add v0, 1\n  ret\n}\n";
    let module = parse(text);
    let annotated = print_function_with(&module.functions[0], &mut |place, out| match place {
        AnnotatedLine::Head => out.push_str("a head"),
        AnnotatedLine::Block(block) => write!(out, "{block} it is\nand more").unwrap(),
        AnnotatedLine::Inst(inst) if module.functions[0].inst(inst).op == Op::Add => out.push_str("a sum"),
        AnnotatedLine::Inst(_) => {}
    });
    let gap = |width: usize| " ".repeat(40 - width);
    assert_eq!(
        annotated,
        format!(
            "func @f(v0: i32) {{{}; a head\nblock0:{}; block0 it is\n{}; and more\n  v1 = add v0, 1{}; a sum\n  ret\n}}\n",
            gap(18),
            gap(7),
            gap(0),
            gap(16)
        )
    );
    assert_eq!(parse(&annotated).to_string(), text);
}
