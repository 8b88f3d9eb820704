//! Checks that a PTX program computes the same results through every round trip.

use super::generate::{generate, is_of_barrier_objects};
use super::program::{COUNTERS, DUMP, OWN, PtxProgram, SHARED_INPUT};
use crate::generate::Random;
use crate::kernels::Machine;
use crate::launches::{
    TestLaunch, TestLaunchArgument, TestLaunchObject, as_vectors, difference, exact, on_oracle, vectors,
};
use heddle_compiler::Session;
use heddle_interp::Scheduler;
use heddle_ir::Module;
use heddle_ir::verify::{Stage, verify_module};
use heddle_ptx::module::{PtxItem, PtxStatement};
use heddle_ptx::table::FORMS;
use heddle_ptx::{LowerOptions, ModuleFacts, RaiseOptions, lower, parse, raise};
use std::fmt::{Display, Formatter};

/// Counts of tested programs.
#[derive(Clone, Debug)]
pub struct PtxCounts {
    /// Number of programs.
    pub programs: u64,
    /// Programs that also ran natively.
    pub native: u64,
    /// Programs that also ran after passes for GPUs.
    pub changed: u64,
    /// Number of instructions by form.
    forms: Vec<u64>,
    /// The instructions of the IR.
    pub instructions: u64,
}

impl Default for PtxCounts {
    fn default() -> PtxCounts {
        PtxCounts { programs: 0, native: 0, changed: 0, forms: vec![0; FORMS.len()], instructions: 0 }
    }
}

impl PtxCounts {
    /// Adds others.
    pub fn merge(&mut self, other: &PtxCounts) {
        self.programs += other.programs;
        self.native += other.native;
        self.changed += other.changed;
        self.instructions += other.instructions;
        self.forms.iter_mut().zip(&other.forms).for_each(|(count, more)| *count += more);
    }

    /// PtxCounts the instructions of a program that is not run.
    pub fn look_at(&mut self, program: &PtxProgram) {
        let text = program.text();
        let Ok(parsed) = parse(&text) else { return };
        let bodies = parsed.items.iter().filter_map(|item| match item {
            PtxItem::Function(function) => function.body.as_deref(),
            _ => None,
        });
        for statement in bodies.flatten() {
            if let PtxStatement::Instruction(instruction) = statement {
                self.forms[usize::from(instruction.form)] += 1;
            }
        }
    }

    /// Returns the supported forms that no program had.
    pub fn missing(&self) -> Vec<String> {
        let forms = FORMS.iter().zip(&self.forms);
        let missing = forms.filter(|(form, count)| {
            // Textures and surfaces are objects of the driver: `tests/cuda/textures.cu` has them.
            let is_of_driver = matches!(form.mnemonic, "tex" | "tld4" | "txq" | "suq" | "suld" | "sust");
            let is_elsewhere = is_of_driver || is_of_barrier_objects(form);
            **count == 0 && form.is_supported() && !is_elsewhere
        });
        missing.map(|(form, _)| format!("{} {}", form.mnemonic, form.pattern)).collect()
    }
}

impl Display for PtxCounts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let done = FORMS.iter().filter(|form| form.is_supported()).count();
        let met = done - self.missing().len();
        write!(
            f,
            "{} programs, {} natively too, {} after passes too, {} instructions of the IR each, {met} of {done} forms met",
            self.programs,
            self.native,
            self.changed,
            self.instructions / self.programs.max(1)
        )
    }
}

/// Creates the launch of a program.
pub(crate) fn launch(program: &PtxProgram) -> TestLaunch {
    let mut random = Random::new(program.seed ^ 0x696e);
    let mut input = Vec::new();
    while input.len() < SHARED_INPUT as usize {
        let bits = random.bits();
        let small = (bits % 64) as i64 - 16;
        let word = match random.below(8) {
            0 => bits,
            1 => small as u64,
            2 => (u64::from(small as u32) << 32) | (bits % 1000),
            3 => (small as f64 * 0.375).to_bits(),
            4 => u64::from((small as f32 * 1.25).to_bits()) << 32 | u64::from((small as f32 / 3.0).to_bits()),
            5 => {
                let some: [u32; 8] =
                    [0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 1, 0x0080_0000, 0x3f80_0000];
                u64::from(random.pick(&some)) << 32 | u64::from(random.pick(&some))
            }
            // Halves.
            6 => (bits & 0x83ff_83ff_83ff_83ff) | 0x3c00_4000_3800_4400,
            _ => u64::from(bits as u32 >> 20) << 32 | u64::from(small as u32),
        };
        input.extend(word.to_le_bytes());
    }
    let (local, groups) = program.shape;
    let threads: u32 = local.iter().product();
    let own = vec![0; (threads * groups * (OWN + DUMP)) as usize];
    TestLaunch {
        kernel: "k".into(),
        args: (0..3).map(|index| TestLaunchArgument::Object(index, 0)).collect(),
        objects: vec![
            TestLaunchObject::new("input", input),
            TestLaunchObject::new("own", own),
            TestLaunchObject::new("counters", vec![0; COUNTERS as usize]),
        ],
        local,
        groups: [groups, 1, 1],
        steps: 4_000_000,
    }
}

fn read(text: &str, file: &str) -> Result<Module, String> {
    let parsed = parse(text).map_err(|errors| errors[0].to_string())?;
    let printed = parsed.to_string();
    let again = parse(&printed).map_err(|errors| format!("what is printed is not read: {}", errors[0]))?;
    if again.to_string() != printed {
        return Err("what is printed of the print is another text".into());
    }
    let lowered = lower(&parsed, file, LowerOptions::default()).map_err(|errors| errors[0].to_string())?;
    if let Some(refused) = lowered.refused.first() {
        return Err(refused.to_string());
    }
    verify_module(&lowered.module, Stage::Source).map_err(|violations| violations.to_string())?;
    Ok(lowered.module)
}

fn raised(module: &Module) -> Result<Module, String> {
    let options = RaiseOptions { approximate: true, target: "sm_80".into(), ..RaiseOptions::default() };
    let text = raise(module, &ModuleFacts::default(), &options).map_err(|errors| errors[0].to_string())?;
    read(&text, "raised.ptx").map_err(|error| format!("{error}\n{text}"))
}

/// Checks a program, and counts what it met.
pub fn check(program: &PtxProgram, counts: &mut PtxCounts) -> Result<(), String> {
    counts.look_at(program);
    counts.programs += 1;
    counts.native += u64::from(is_native(program));
    counts.changed += u64::from(is_changed(program));
    check_with(program, |module| {
        counts.instructions += module.functions.iter().map(|func| func.inst_count() as u64).sum::<u64>();
    })
}

fn is_native(program: &PtxProgram) -> bool {
    program.seed.is_multiple_of(8)
}

fn is_changed(program: &PtxProgram) -> bool {
    program.seed % 3 == 1
}

/// Checks a program, with a change applied to the lowered module before vectorization and emission.
pub fn check_with(program: &PtxProgram, mut change: impl FnMut(&mut Module)) -> Result<(), String> {
    let mut module = read(&program.text(), "program.ptx")?;
    let launch = launch(program);
    let run = |module: &Module, what: &str| {
        on_oracle(module, &launch, Scheduler::Greedy).map_err(|fault| format!("{what}: {fault}"))
    };
    // The oracle's own functions are none of native code's: theirs are in the module for both.
    let expected = run(&module, "source")?.0;
    change(&mut module);
    let raised_expected = expected;
    let compare = |what: &str, expected: &[TestLaunchObject], found: &[TestLaunchObject]| match difference(
        expected, found,
    ) {
        Some(text) => Err(format!("{what}: {text}")),
        None => Ok(()),
    };
    let again = raised(&module).map_err(|error| format!("raised: {error}"))?;
    compare("raised", &raised_expected, &run(&again, "raised")?.0)?;
    if is_changed(program) {
        let mut changed = module.clone();
        let passes = ["simplify", "canonicalize", "ssrqp=ssrqp", "fuse:8+races=excluded", "simplify"];
        Session::default()
            .run_passes(&mut changed, &passes, true, |_, _| ())
            .map_err(|error| error.to_string())?;
        let again = raised(&changed).map_err(|error| format!("after passes, raised: {error}"))?;
        compare("after passes, raised", &raised_expected, &run(&again, "after passes, raised")?.0)?;
    }
    let whole = exact(&module)?;
    let expected = match &whole {
        Some(whole) => run(whole, "with functions")?.0,
        None => raised_expected,
    };
    let code = vectors(whole.as_ref().unwrap_or(&module), &launch.kernel)
        .map_err(|error| format!("vector code: {error}"))?;
    let machine = if is_native(program) { Machine::Native } else { Machine::Oracle };
    let found = as_vectors(&code, &launch, machine).map_err(|error| format!("vector code: {error}"))?;
    compare("vector code", &expected, &found)
}

/// Returns the smallest program found that fails in the same way, and its error.
pub fn shrunk(seed: u64) -> Option<(PtxProgram, String)> {
    let wrong =
        |program: &PtxProgram| crate::fuzz::quietly(|| check_with(program, |_| ())).unwrap_or_else(Err).err();
    let kind = |reason: &str| reason.split(':').next().unwrap_or_default().to_string();
    let mut program = generate(seed);
    let mut reason = wrong(&program)?;
    let mut tries = 600;
    'again: loop {
        for smaller in program.smaller() {
            tries -= 1;
            if tries == 0 {
                break 'again;
            }
            if let Some(found) = wrong(&smaller).filter(|found| kind(found) == kind(&reason)) {
                (program, reason) = (smaller, found);
                continue 'again;
            }
        }
        break;
    }
    Some((program, reason))
}
