//! The programs that figures are about.

use heddle_ir::function::{MetadataKind, OriginData, SourceLoc};
use heddle_ir::inst::Detail;
use heddle_ir::module::{File, MetadataNode};
use heddle_ir::ops::Op;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Inst, Module, Value, ValueDef, parse_module};
use heddle_testing::file_test::find_files;
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, generate};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A program, at stage Source or Linear.
pub(crate) struct Program {
    pub module: Module,
    pub stage: Stage,
    /// Generated program that it comes from, if any.
    pub case: Option<GeneratedProgram>,
}

impl Program {
    /// Default brush of the program.
    pub(crate) fn brush(&self) -> Vec<u32> {
        let input = self.case.as_ref().and_then(|case| case.inputs.first());
        input.map_or(vec![4], |input| input.brush.clone())
    }
}

/// Generated programs: profiles, first seeds, and counts.
fn profiles() -> [(GeneratorProfile, u64, u64); 3] {
    let default = GeneratorProfile::default;
    let only = |class: ProgramClass| [(class, 1), (class, 0), (class, 0), (class, 0), (class, 0)];
    let busy = GeneratorProfile { horizontals: 100, atomics: 100, ..GeneratorProfile::source() };
    let kernels =
        GeneratorProfile { classes: only(ProgramClass::Kernel), calls: 70, privates: 80, ..default() };
    [(default(), 0, 200), (busy, 1000, 50), (kernels, 2000, 50)]
}

/// Generated programs.
pub(crate) fn generated() -> Vec<Program> {
    let seeds = profiles().into_iter().flat_map(|(profile, first, count)| {
        (first..first + count).map(move |seed| generate(seed, &profile)).collect::<Vec<_>>()
    });
    seeds
        .map(|case| {
            let stage = heddle_testing::properties::stage(&case);
            let mut module = case.module.clone();
            dress(&mut module);
            Program { module, stage, case: Some(case) }
        })
        .collect()
}

/// Functions by lot about one thing.
pub(crate) fn family(write: fn(u64) -> String, count: u64) -> Vec<Program> {
    let modules = (0..count).map(|seed| {
        let text = write(seed);
        let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        verify_module(&module, Stage::Source).unwrap_or_else(|violations| panic!("{violations}\n{text}"));
        module
    });
    modules
        .map(|mut module| {
            dress(&mut module);
            Program { module, stage: Stage::Source, case: None }
        })
        .collect()
}

/// The texts that figures are about: those of `tests/figures/texts.txt`, so that a new text changes no figure before
/// `HEDDLE_BLESS=1` adds it.
pub(crate) fn texts() -> Vec<Program> {
    let all: BTreeMap<String, PathBuf> = all_texts().collect();
    let list = crate::golden_path("texts");
    if crate::is_blessing() {
        std::fs::write(&list, list_of(&all)).expect("the list can be written");
    }
    let text = std::fs::read_to_string(&list).unwrap_or_default();
    let listed = text
        .lines()
        .filter_map(|line| line.split_once(": "))
        .flat_map(|(folder, names)| names.split(' ').map(move |name| format!("{folder}/{name}")));
    let missing = |name: &String| !all.contains_key(name);
    let (gone, listed): (Vec<String>, Vec<String>) = listed.partition(missing);
    assert!(
        gone.is_empty(),
        "texts of tests/figures/texts.txt are gone (HEDDLE_BLESS=1 updates it): {gone:?}"
    );
    assert!(listed.len() > 100, "only {} texts are listed", listed.len());
    listed.iter().filter_map(|name| program_of(&all[name])).collect()
}

/// The texts with the line `; figures: each`, by file name.
pub(crate) fn texts_with_figures() -> Vec<(String, Program)> {
    let asks = |path: &Path| {
        std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line == "; figures: each"))
    };
    let named = |path: PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        program_of(&path).map(|program| (name, program))
    };
    all_texts().map(|(_, path)| path).filter(|path| asks(path)).filter_map(named).collect()
}

/// List of texts: a folder and the names of its files a line, in lines of bounded length.
fn list_of(all: &BTreeMap<String, PathBuf>) -> String {
    let mut text = String::new();
    let mut line = String::new();
    let usable = all.iter().filter(|(_, path)| program_of(path).is_some());
    for (folder, name) in usable.filter_map(|(name, _)| name.rsplit_once('/')) {
        let is_same = line.starts_with(&format!("{folder}: "));
        if !is_same || line.len() + name.len() > 150 {
            text.push_str(&line);
            text.push_str(if line.is_empty() { "" } else { "\n" });
            line = format!("{folder}:");
        }
        line.push(' ');
        line.push_str(name);
    }
    text + &line + "\n"
}

/// All texts below `tests/`, and the mathematical functions, by folder and name without extension.
fn all_texts() -> impl Iterator<Item = (String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders =
        [("tests", "../../tests"), ("math", "../math/hed")].map(|(name, folder)| (name, root.join(folder)));
    folders.into_iter().flat_map(|(name, folder)| {
        let files = find_files(&folder).expect("the repository has texts");
        files.into_iter().map(move |path| {
            let inner = path.strip_prefix(&folder).unwrap_or(&path).with_extension("");
            (format!("{name}/{}", inner.display()), path)
        })
    })
}

/// Program of a text, if it is something for lanes.
fn program_of(path: &Path) -> Option<Program> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut module = parse_module(&text).ok()?;
    let is_at = |stage: &Stage| verify_module(&module, *stage).is_ok();
    // Wide programs have no lanes; of the rest, programs with predicates are already linear.
    let is_linear =
        module.functions.iter().any(|func| func.blocks().any(|block| func.predicate(block).is_some()));
    let stage = if is_linear { Stage::Linear } else { Stage::Source };
    if !is_at(&stage) || module.functions.is_empty() || has_vectors(&module) {
        return None;
    }
    dress(&mut module);
    Some(Program { module, stage, case: None })
}

fn has_vectors(module: &Module) -> bool {
    module.functions.iter().any(|func| {
        let results = func.blocks().flat_map(|block| func.block_insts(block));
        results.flat_map(|inst| func.results(inst)).any(|&value| func.value_type(value).is_vector())
    })
}

/// Gives instructions places in a source, which passes keep or drop, and branches numbers of how often they are taken.
fn dress(module: &mut Module) {
    if module.files.is_empty() {
        module.files.push("source.c".into());
    }
    for func in &mut module.functions {
        let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
        for (number, inst) in (0..).zip(insts) {
            if func.loc(inst).is_none() {
                place(func, inst, number);
            }
            hint(func, inst);
            let def_block = func.layout.block_of(inst).map_or(0, |block| block.as_u32());
            let data = func.inst_mut(inst);
            if let (Op::Br, Detail::Branch(targets, weights @ None)) = (data.op, &mut data.detail)
                && targets.len() == 2
            {
                *weights = [None, Some([1, 99]), Some([99, 1]), Some([1, 1000]), Some([3, 2])]
                    [def_block as usize % 5]
                    .map(Box::new);
            }
        }
    }
}

fn place(func: &mut Function, inst: Inst, number: u32) {
    let loc = SourceLoc { file: File::from_u32(0), line: 1 + number / 2, column: 0 };
    let tags = [(MetadataKind::Tbaa, number % 3), (MetadataKind::Fpmath, number % 2)]
        .map(|(tag, number)| (tag, MetadataNode::from_u32(number)))
        .into_iter()
        .collect();
    let origin = func.make_origin(OriginData { loc: Some(loc), tags });
    func.inst_mut(inst).origin = origin;
}

/// Says of an access which object it is in, if that can be seen.
fn hint(func: &mut Function, inst: Inst) {
    let object = |func: &Function, mut address: Value| {
        loop {
            match func.def_inst(address).map(|inst| func.inst(inst)) {
                Some(data) if data.op == Op::PtrAdd => address = data.args[0],
                Some(data) => return (data.op == Op::Alloca).then_some(address),
                None => return matches!(func.value_def(address), ValueDef::Param(_)).then_some(address),
            }
        }
    };
    let args = func.inst(inst).args.clone();
    let base = func.inst(inst).address().and_then(|address| object(func, address));
    let read = args.get(1).and_then(|&address| object(func, address));
    match &mut func.inst_mut(inst).detail {
        Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
            access.base = access.base.or(base);
        }
        Detail::Transfer(both) => {
            both.0.base = both.0.base.or(base);
            both.1.base = both.1.base.or(read);
        }
        _ => {}
    }
}
