//! The kernels of `tests/nvptx` as the divergence analysis sees them and as LLVM's uniformity analysis does: no run
//! contradicts ours, and whatever LLVM proves we prove. The table in docs/analysis.md is made here.

use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, Divergence, InitialShapes, ResultSummaries, divergence};
use heddle_interp::{RunOptions, Scheduler};
use heddle_ir::{Block, Function, Module, Op};
use heddle_llvm::{LlvmModule, compile, import};
use heddle_runs::line::RunLine;
use heddle_testing::shapes_oracle::{CheckCounts, Claims, check_trace};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Operations that come out of the import one by one.
const COMPARED: &[(&str, Op)] = &[
    ("phi", Op::Phi),
    ("load", Op::Load),
    ("getelementptr", Op::PtrAdd),
    ("icmp", Op::Icmp),
    ("select", Op::Select),
    ("atomicrmw", Op::AtomicRmw),
    ("sdiv", Op::Sdiv),
    ("srem", Op::Srem),
    ("sub", Op::Sub),
    ("xor", Op::Xor),
    ("call", Op::Call),
];

fn kernels() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/nvptx");
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("the folder can be listed").path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == "c"));
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).expect("files have plain names")
}

fn compiled(path: &Path) -> (LlvmModule, Module) {
    let llvm =
        compile(path, 1, &["--target=nvptx64-nvidia-cuda", "-fno-openmp-simd"]).expect("clang compiles it");
    let imported = import(&llvm);
    assert!(imported.refused.is_empty(), "{}: {:?}", path.display(), imported.refused);
    (llvm, imported.module)
}

/// Uniform values and branch of a block.
#[derive(Clone, Debug, Default)]
struct Uniform {
    /// Each instruction, by its name, in order.
    insts: Vec<(String, bool)>,
    /// Its terminator, if that chooses.
    branch: Option<bool>,
}

impl Uniform {
    fn of<'a>(&'a self, op: &'a str) -> impl Iterator<Item = bool> + Clone + 'a {
        self.insts.iter().filter(move |(name, _)| name == op).map(|&(_, is_uniform)| is_uniform)
    }
}

/// Returns LLVM's uniformity facts of each function, block by block.
fn theirs(llvm: &LlvmModule) -> Vec<(String, Vec<Uniform>)> {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").map(|prefix| format!("{prefix}/bin/opt"));
    let mut opt = Command::new(prefix.as_deref().unwrap_or("opt-22"))
        .args(["-passes=print<uniformity>", "-disable-output", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("opt-22 comes with LLVM");
    opt.stdin.take().expect("it is piped").write_all(&llvm.bitcode()).expect("opt reads");
    let output = opt.wait_with_output().expect("opt ends");
    assert!(output.status.success());
    parse(&String::from_utf8(output.stderr).expect("it prints text"))
}

fn parse(text: &str) -> Vec<(String, Vec<Uniform>)> {
    let mut functions: Vec<(String, Vec<Uniform>)> = Vec::new();
    let mut is_terminator = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("UniformityInfo for function '") {
            functions.push((name.trim_end_matches("':").into(), Vec::new()));
        }
        let Some((_, blocks)) = functions.last_mut() else { continue };
        if line.starts_with("BLOCK ") {
            blocks.push(Uniform::default());
        }
        is_terminator = line == "TERMINATORS" || is_terminator && line != "DEFINITIONS";
        let Some(block) = blocks.last_mut().filter(|_| line.starts_with("  ")) else { continue };
        let (inst, is_uniform) = match line.trim().strip_prefix("DIVERGENT:") {
            Some(inst) => (inst.trim(), false),
            None => (line.trim(), true),
        };
        let defined = inst.split_once(" = ").map_or(inst, |(_, inst)| inst);
        let op = defined.split_whitespace().find(|&word| word != "tail").unwrap_or("");
        if is_terminator {
            if inst.starts_with("br i1") || inst.starts_with("switch") {
                block.branch = Some(is_uniform);
            }
        } else if inst.contains(" = ") {
            block.insts.push((op.into(), is_uniform));
        }
    }
    functions
}

/// Threads of a block along one dimension, any number of them.
fn unknown_block() -> Geometry {
    Geometry { dimensions: 1, ..Geometry::unknown() }
}

/// Returns our uniformity facts.
fn ours(func: &Function, callees: &Arc<ResultSummaries>) -> Vec<Uniform> {
    let control = ControlTables::new(func);
    let initial = InitialShapes::declared(func, unknown_block());
    let facts = divergence(func, &control, &initial.with_summaries(callees));
    func.blocks().map(|block| ours_of(func, &facts, block)).collect()
}

fn ours_of(func: &Function, facts: &Divergence, block: Block) -> Uniform {
    let insts = func.block_insts(block).filter_map(|inst| {
        let value = func.result(inst)?;
        let op = COMPARED.iter().find(|(_, op)| *op == func.inst(inst).op)?.0;
        Some((op.to_string(), facts.shape(value).is_uniform()))
    });
    let branches = func.successors(block).len() > 1;
    Uniform { insts: insts.collect(), branch: branches.then(|| !facts.is_divergent_branch(block)) }
}

/// Uniform values of a kernel: proved by us, proved by LLVM, total.
#[derive(Clone, Copy, Default, Debug)]
struct Score {
    values: [usize; 3],
    branches: [usize; 3],
}

/// Compares the two, and lists the facts that only LLVM proves.
fn compare(path: &Path) -> (Score, Vec<String>) {
    let (llvm, module) = compiled(path);
    let callees = ResultSummaries::infer(&module, &unknown_block());
    let mut score = Score::default();
    let mut lost = Vec::new();
    for (name, theirs) in theirs(&llvm) {
        let func = module.function(&name).expect("each function is imported");
        let ours = ours(func, &callees);
        assert_eq!(ours.len(), theirs.len(), "@{name}: blocks come one by one");
        for (number, (our, their)) in ours.iter().zip(&theirs).enumerate() {
            let mut note = |counts: &mut [usize; 3], what: &str, our: bool, their: bool| {
                counts[0] += usize::from(our);
                counts[1] += usize::from(their);
                counts[2] += 1;
                if their && !our {
                    lost.push(format!("@{name}, block {number}: {what}"));
                }
            };
            assert_eq!(our.branch.is_some(), their.branch.is_some(), "@{name}, block {number}");
            if let (Some(our), Some(their)) = (our.branch, their.branch) {
                note(&mut score.branches, "the branch", our, their);
            }
            for (op, _) in COMPARED {
                // Addresses of several steps, and what is computed of constants, come otherwise.
                if our.of(op).count() == their.of(op).count() {
                    our.of(op).zip(their.of(op)).for_each(|(our, their)| {
                        note(&mut score.values, op, our, their);
                    });
                }
            }
        }
    }
    (score, lost)
}

#[test]
fn whatever_llvm_proves_is_proved() {
    let mut table = String::from(
        "| kernel | branches: ours | LLVM | of | values: ours | LLVM | of |\n|---|---|---|---|---|---|---|\n",
    );
    let mut sum = Score::default();
    let mut lost = Vec::new();
    let mut line = |name: &str, Score { values, branches }: Score| {
        let [a, b, c] = branches;
        let [d, e, f] = values;
        let _ = writeln!(table, "| {name} | {a} | {b} | {c} | {d} | {e} | {f} |");
    };
    for path in kernels() {
        let (score, only_theirs) = compare(&path);
        line(&format!("`{}`", name(&path)), score);
        for at in 0..3 {
            sum.values[at] += score.values[at];
            sum.branches[at] += score.branches[at];
        }
        lost.extend(only_theirs.into_iter().map(|what| format!("{}, {what}", path.display())));
    }
    line("all", sum);
    assert!(lost.is_empty(), "LLVM proves what we do not:\n{}", lost.join("\n"));
    assert!(sum.branches[0] > sum.branches[1] && sum.values[0] > sum.values[1], "{sum:?}");
    assert!(sum.values[2] > 150 && sum.branches[2] > 30, "{sum:?}");

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/analysis.md");
    let text = std::fs::read_to_string(path).expect("docs/analysis.md is there");
    let (head, rest) = text.split_once("<!-- kernels -->\n").expect("the table has a start");
    let (old, tail) = rest.split_once("<!-- end -->\n").expect("the table has an end");
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        let text = format!("{head}<!-- kernels -->\n{table}<!-- end -->\n{tail}");
        std::fs::write(path, text).expect("docs/analysis.md can be written");
    } else {
        assert_eq!(old, table, "docs/analysis.md is out of date; HEDDLE_BLESS=1 rewrites the table");
    }
}

#[test]
fn no_run_contradicts_ours() {
    let mut checked = CheckCounts::default();
    for path in kernels() {
        let (_, module) = compiled(&path);
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        let line = text.lines().find_map(|line| line.strip_prefix("// run: ")).expect("it says how to run");
        let run = RunLine::parse(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let brush = run.options.brush.clone();
        for geometry in [Geometry::brush(&brush), unknown_block()] {
            let callees = ResultSummaries::infer(&module, &geometry);
            let claims: Vec<Option<Claims<'_>>> = module
                .functions
                .iter()
                .map(|func| {
                    Claims::new(
                        func,
                        InitialShapes::declared(func, geometry.clone()).with_summaries(&callees),
                        &brush,
                    )
                })
                .collect();
            for scheduler in [Scheduler::Greedy, Scheduler::Random(1), Scheduler::Random(2)] {
                let options = RunOptions { trace: true, scheduler, ..run.options.clone() };
                let ran = run.run(&module, &options).unwrap_or_else(|error| panic!("{error}"));
                let outcome = ran.outcome.unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
                let found = check_trace(&module, &claims, &outcome.trace)
                    .unwrap_or_else(|reason| panic!("{}: {reason}", path.display()));
                checked.add(&found);
            }
        }
    }
    println!("{checked:?}");
    assert!(checked.proved > 1000 && checked.proved_branches > 100, "{checked:?}");
}

#[test]
fn a_lost_proof_is_noticed() {
    let text = "UniformityInfo for function 'f':\nBLOCK entry\nDEFINITIONS\n               %x = load i32, ptr %p\n  DIVERGENT:   %y = tail call i32 @g()\nTERMINATORS\n  DIVERGENT:   br i1 %c, label %a, label %b\nEND BLOCK\n";
    let functions = parse(text);
    let [(name, blocks)] = &functions[..] else { panic!("{functions:?}") };
    assert_eq!((name.as_str(), blocks.len(), blocks[0].branch), ("f", 1, Some(false)));
    assert_eq!(blocks[0].of("load").collect::<Vec<_>>(), [true]);
    assert_eq!(blocks[0].of("call").collect::<Vec<_>>(), [false]);
}
