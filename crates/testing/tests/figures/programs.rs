//! The programs that figures are about.

use heddle_ir::function::{MetadataKind, OriginData, SourceLoc};
use heddle_ir::inst::Detail;
use heddle_ir::module::{File, MetadataNode};
use heddle_ir::ops::Op;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ir::{Function, Inst, Module, Value, ValueDef, parse_module};
use heddle_testing::file_test::find_files;
use heddle_testing::generate::{GeneratedProgram, GeneratorProfile, ProgramClass, generate};
use std::path::Path;

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

/// The texts below `tests/`, and the mathematical functions, as far as they are something for lanes.
pub(crate) fn texts() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["../../tests", "../math/hed"].map(|folder| find_files(&root.join(folder)));
    let files = files.into_iter().flat_map(|files| files.expect("the repository has texts"));
    files
        .filter_map(|path| {
            let text = std::fs::read_to_string(path).ok()?;
            let mut module = parse_module(&text).ok()?;
            let is_at = |stage: &Stage| verify_module(&module, *stage).is_ok();
            // Wide programs have no lanes; of the rest, programs with predicates are already linear.
            let folded = module
                .functions
                .iter()
                .any(|func| func.blocks().any(|block| func.predicate(block).is_some()));
            let stage = if folded { Stage::Linear } else { Stage::Source };
            if !is_at(&stage) || module.functions.is_empty() || has_vectors(&module) {
                return None;
            }
            dress(&mut module);
            Some(Program { module, stage, case: None })
        })
        .collect()
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
            let home = func.layout.block_of(inst).map_or(0, |block| block.as_u32());
            let data = func.inst_mut(inst);
            if let (Op::Br, Detail::Branch(targets, weights @ None)) = (data.op, &mut data.detail)
                && targets.len() == 2
            {
                *weights = [None, Some([1, 99]), Some([99, 1]), Some([1, 1000]), Some([3, 2])]
                    [home as usize % 5]
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
