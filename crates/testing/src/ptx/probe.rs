//! Probes: one instruction in a kernel that each thread runs on its own operands, which come from memory. So neither
//! compiler of PTX knows them.

use super::generate::{is_cross_lane, words_of_form};
use super::table_line::{TableLine, bits_of, mask, type_of, words_of};
use crate::generate::Random;
use crate::launches::{TestLaunch, TestLaunchArgument, TestLaunchObject};
use heddle_ptx::Word;
use heddle_ptx::table::{FORMS, OperandRole, specs};
use std::fmt::Write as _;

/// Threads of a block.
const BLOCK: usize = 64;

/// Operand of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbeOperand {
    /// A destination, with a predicate after it or without.
    Result(Word, bool),
    Input(Word),
    Constant(u64),
    /// An address of the thread's own memory, which holds an input before and a result afterwards.
    Memory(Word),
}

/// Result of a probe: its type, and the bits by which a NaN of it is recognized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProbeResult {
    /// Type.
    pub(crate) ty: Word,
    /// True where the hardware may approximate.
    pub(crate) is_approximate: bool,
}

/// An instruction, and the operands of each thread.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Probe {
    /// Number of the form.
    pub(crate) form: u16,
    /// Instruction with its modifiers.
    pub(crate) instruction: String,
    words: Vec<Word>,
    operands: Vec<ProbeOperand>,
    has_carry: bool,
    /// Inputs of each row.
    pub(crate) rows: Vec<Vec<u64>>,
}

/// Name and instructions of the space that a memory operand is in.
fn space_of(words: &[Word]) -> &'static str {
    if words.iter().any(|word| matches!(word, Word::Shared | Word::SharedCta)) {
        "shared"
    } else if words.contains(&Word::Local) {
        "local"
    } else {
        "global"
    }
}

/// Bits of a register that holds a type.
fn register_bits(ty: Word) -> u32 {
    ty.bits().unwrap_or(32).max(16)
}

impl Probe {
    /// The operands of an instruction, of which the last `omitted` optional ones are left out; `None` where one of them is no
    /// value.
    fn new(
        form: u16,
        instruction: &str,
        inputs: usize,
        with_predicate: bool,
        constants: &[u64],
    ) -> Option<Probe> {
        let words: Vec<Word> = words_of(instruction).into_iter().flatten().collect();
        let mut constants = constants.iter().copied();
        let mut operands = Vec::new();
        let mut met = 0;
        for spec in specs(form) {
            let is_move = instruction.starts_with("mov.");
            let ty = if is_move { words[0] } else { type_of(spec.role, &words) };
            if spec.is_dest {
                let with = with_predicate && matches!(spec.role, OperandRole::WithPredicate(_));
                operands.push(ProbeOperand::Result(ty, with));
                continue;
            }
            if met == inputs {
                break;
            }
            met += 1;
            operands.push(match spec.role {
                OperandRole::Value(_) | OperandRole::Predicate | OperandRole::Vector => {
                    ProbeOperand::Input(ty)
                }
                OperandRole::Memory => ProbeOperand::Memory(ty),
                OperandRole::Constant => ProbeOperand::Constant(constants.next()?),
                _ => return None,
            });
        }
        let mnemonic = FORMS[usize::from(form)].mnemonic;
        let has_carry = matches!(mnemonic, "addc" | "subc" | "madc");
        Some(Probe { form, instruction: instruction.into(), words, operands, has_carry, rows: Vec::new() })
    }

    /// Types of the inputs.
    fn inputs(&self) -> Vec<Word> {
        let of = |operand: &ProbeOperand| match *operand {
            ProbeOperand::Input(ty) | ProbeOperand::Memory(ty) => Some(ty),
            _ => None,
        };
        self.operands.iter().filter_map(of).chain(self.has_carry.then_some(Word::U32)).collect()
    }

    /// The results, in order.
    pub(crate) fn results(&self) -> Vec<ProbeResult> {
        let is_approximate = self.words.iter().any(|word| matches!(word, Word::Approx | Word::Full));
        // Numbers that lie in a register of no type.
        let packed = self.words.iter().copied().find(|word| word.is_type());
        let packed = packed.filter(|ty| {
            self.instruction.starts_with("cvt.") && matches!(ty, Word::F16x2 | Word::Bf16x2 | Word::Tf32)
        });
        let of = |ty: Word| ProbeResult {
            ty: if ty == Word::B32 { packed.unwrap_or(ty) } else { ty },
            is_approximate,
        };
        let flag = ProbeResult { ty: Word::Pred, is_approximate: false };
        let mut all = Vec::new();
        for operand in &self.operands {
            if let ProbeOperand::Result(ty, with) = *operand {
                all.push(of(ty));
                all.extend(with.then_some(flag));
            }
        }
        let gives_carry = self.has_carry && self.words.contains(&Word::Cc);
        all.extend(self.operands.iter().filter_map(|operand| match *operand {
            ProbeOperand::Memory(ty) => Some(of(ty)),
            _ => None,
        }));
        all.extend(gives_carry.then_some(flag));
        all
    }

    /// The text of the kernel.
    pub(crate) fn text(&self, name: &str) -> String {
        let (inputs, results) = (self.inputs().len(), self.results().len());
        let mut text = format!(
            ".visible .entry {name}(.param .u64 input, .param .u64 out, .param .u64 own)\n{{\n\
             .reg .b64 %in, %out, %own, %at, %generic;\n.reg .b32 %t, %thread, %carry;\n\
             ld.param.u64 %in, [input];\nld.param.u64 %out, [out];\nld.param.u64 %own, [own];\n\
             cvta.to.global.u64 %in, %in;\ncvta.to.global.u64 %out, %out;\ncvta.to.global.u64 %own, %own;\n\
             mov.u32 %t, %ctaid.x;\nmov.u32 %thread, %tid.x;\nmad.lo.u32 %thread, %t, {BLOCK}, %thread;\n\
             mul.wide.u32 %at, %thread, {};\nadd.s64 %in, %in, %at;\nmul.wide.u32 %at, %thread, {};\nadd.s64 %out, %out, %at;\n\
             mul.wide.u32 %at, %thread, 16;\nadd.s64 %own, %own, %at;\n",
            8 * inputs,
            8 * results
        );
        let (mut before, mut after, mut in_memory) = (String::new(), String::new(), String::new());
        let mut stored = 0;
        let mut store = |text: &mut String, name: &str, ty: Word| {
            let at = 8 * stored;
            stored += 1;
            let _ = match ty {
                Word::Pred => writeln!(text, "selp.b32 %t, 1, 0, {name};\nst.global.b32 [%out+{at}], %t;"),
                _ => writeln!(text, "st.global.b{} [%out+{at}], {name};", register_bits(ty)),
            };
        };
        let mut loaded = 0;
        let mut written = Vec::new();
        for (index, operand) in self.operands.iter().enumerate() {
            let register = format!("%x{index}");
            let mut declare = |ty: Word| {
                let _ = match ty {
                    Word::Pred => writeln!(text, ".reg .pred {register};"),
                    _ => writeln!(text, ".reg .b{} {register};", register_bits(ty)),
                };
            };
            let mut load = |before: &mut String, ty: Word| {
                let at = 8 * loaded;
                loaded += 1;
                let _ = match ty {
                    Word::Pred => {
                        writeln!(before, "ld.global.b32 %t, [%in+{at}];\nsetp.ne.b32 {register}, %t, 0;")
                    }
                    _ => writeln!(before, "ld.global.b{} {register}, [%in+{at}];", register_bits(ty)),
                };
            };
            written.push(match *operand {
                ProbeOperand::Result(ty, with) => {
                    declare(ty);
                    store(&mut after, &register, ty);
                    if with {
                        text.push_str(".reg .pred %q;\n");
                        store(&mut after, "%q", Word::Pred);
                    }
                    if with { format!("{register}|%q") } else { register.clone() }
                }
                ProbeOperand::Constant(value) => value.to_string(),
                ProbeOperand::Input(ty) => {
                    declare(ty);
                    load(&mut before, ty);
                    register.clone()
                }
                ProbeOperand::Memory(ty) => {
                    declare(ty);
                    load(&mut before, ty);
                    let space = space_of(&self.words);
                    let bits = ty.bits().unwrap_or(32);
                    match space {
                        "shared" => {
                            let _ = writeln!(text, ".shared .align 16 .b8 of_shared[{}];", 16 * BLOCK);
                            before.push_str("mov.u64 %own, of_shared;\nmov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 16;\nadd.s64 %own, %own, %at;\n");
                        }
                        "local" => {
                            text.push_str(".local .align 16 .b8 of_local[16];\n");
                            before.push_str("mov.u64 %own, of_local;\n");
                        }
                        _ => {}
                    }
                    let _ = writeln!(before, "st.{space}.b{bits} [%own], {register};\ncvta.{space}.u64 %generic, %own;");
                    let _ = writeln!(in_memory, "ld.{space}.b{bits} {register}, [%own];");
                    store(&mut in_memory, &register, ty);
                    let names_space = self.words.iter().any(|word| word.text() == space || *word == Word::SharedCta);
                    if names_space { "[%own]".into() } else { "[%generic]".into() }
                }
            });
        }
        if self.has_carry {
            let (give, first) = match self.instruction.starts_with("subc") {
                true => ("sub", 0),
                false => ("add", u32::MAX),
            };
            let _ = writeln!(
                before,
                "ld.global.b32 %t, [%in+{}];\n{give}.cc.u32 %carry, {first}, %t;",
                8 * loaded
            );
            if self.words.contains(&Word::Cc) {
                let take = if give == "sub" { "subc" } else { "addc" };
                after.insert_str(0, &format!("{take}.u32 %carry, 0, 0;\nand.b32 %carry, %carry, 1;\n"));
                store(&mut after, "%carry", Word::B32);
            }
        }
        let _ = writeln!(
            text,
            "{before}{} {};\n{after}{in_memory}ret;\n}}",
            self.instruction,
            written.join(", ")
        );
        text
    }

    /// The launch; rows are repeated so that all blocks are full.
    pub(crate) fn launch(&self, name: &str) -> TestLaunch {
        let blocks = self.rows.len().div_ceil(BLOCK).max(1);
        let threads = blocks * BLOCK;
        let rows = self.rows.iter().cycle().take(threads);
        let input: Vec<u8> = rows.flatten().flat_map(|word| word.to_le_bytes()).collect();
        let own = vec![0; 16 * threads];
        TestLaunch {
            kernel: name.into(),
            args: (0..3).map(|index| TestLaunchArgument::Object(index, 0)).collect(),
            objects: vec![
                TestLaunchObject::new("input", input),
                TestLaunchObject::new("out", vec![0; 8 * threads * self.results().len()]),
                TestLaunchObject::new("own", own),
            ],
            local: [BLOCK as u32, 1, 1],
            groups: [blocks as u32, 1, 1],
            steps: 1_000_000,
        }
    }
}

/// Probes of the lines of a table, with the expected results of each row.
pub(crate) fn of_table(lines: &[TableLine]) -> Vec<(Probe, Vec<Vec<u64>>)> {
    let mut all: Vec<(Probe, Vec<Vec<u64>>)> = Vec::new();
    let mut by_key = rustc_hash::FxHashMap::default();
    for line in lines {
        let words: Vec<Word> = words_of(&line.instruction).into_iter().flatten().collect();
        let has_carry = matches!(FORMS[usize::from(line.form)].mnemonic, "addc" | "subc" | "madc");
        let sources = specs(line.form).iter().filter(|spec| !spec.is_dest);
        let typed: Vec<(OperandRole, u64)> = sources
            .zip(&line.inputs)
            .map(|(spec, text)| {
                let ty = type_of(spec.role, &words);
                (spec.role, bits_of(text, ty) & mask(ty))
            })
            .collect();
        let constants: Vec<u64> = typed
            .iter()
            .filter(|(role, _)| *role == OperandRole::Constant)
            .map(|&(_, value)| value)
            .collect();
        let mut row: Vec<u64> = typed
            .iter()
            .filter(|(role, _)| *role != OperandRole::Constant)
            .map(|&(_, value)| value)
            .collect();
        if has_carry {
            row.extend(line.inputs.last().map(|text| bits_of(text, Word::U32)));
        }
        let dests = specs(line.form).iter().filter(|spec| spec.is_dest).count();
        let memory = specs(line.form).iter().filter(|spec| spec.role == OperandRole::Memory).count();
        let carry = usize::from(has_carry && words.contains(&Word::Cc));
        let with = line.expected.len() > dests + memory + carry;
        let key = (line.instruction.clone(), constants.clone(), typed.len(), with);
        let at = *by_key.entry(key).or_insert(all.len());
        if at == all.len() {
            let Some(probe) = Probe::new(line.form, &line.instruction, typed.len(), with, &constants) else {
                continue;
            };
            all.push((probe, Vec::new()));
        }
        let (probe, expected) = &mut all[at];
        let results = probe.results();
        let bits =
            results.iter().zip(&line.expected).map(|(result, text)| match (text.as_str(), result.ty) {
                ("nan", Word::F16) => 0x7e00,
                ("nan", Word::Bf16) => 0x7fc0,
                (text, ty) => bits_of(text, ty) & if ty == Word::Pred { 1 } else { mask(ty) },
            });
        expected.push(bits.collect());
        probe.rows.push(row);
    }
    all
}

/// A number of a type: often a special one.
fn number(random: &mut Random, ty: Word) -> u64 {
    let bits = random.bits();
    let pair = |random: &mut Random, half: Word, width: u32| {
        number(random, half) & (u64::MAX >> (64 - width)) | number(random, half) << width
    };
    let some = random.below(10) < 5;
    let number = match ty {
        Word::Pred => bits & 1,
        Word::F16 if some => random.pick(&[
            0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 1, 0x8001, 0x3ff, 0x400, 0x7bff, 0x3c01,
            0x3800,
        ]),
        Word::Bf16 if some => random.pick(&[
            0, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 1, 0x8001, 0x7f, 0x80, 0x7f7f, 0x3f81, 0x3f00,
        ]),
        Word::F16 | Word::Bf16 => bits & 0xffff,
        Word::F16x2 => pair(random, Word::F16, 16),
        Word::Bf16x2 => pair(random, Word::Bf16, 16),
        Word::F32x2 => pair(random, Word::F32, 32),
        Word::F32 | Word::Tf32 => match random.below(10) {
            0..3 => random.pick(&[
                0,
                0x8000_0000,
                0x3f80_0000,
                0xbf80_0000,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                1,
                0x8000_0001,
                0x007f_ffff,
                0x0080_0000,
                0x7f7f_ffff,
                0x4f00_0000,
                0x4eff_ffff,
                0xcf00_0000,
                0x5f00_0000,
                0x3f00_0000,
                0x3f80_0001,
                0x4b00_0001,
            ]),
            3..6 => u64::from(((bits as i32 % 4000) as f32 * 0.125).to_bits()),
            6..8 => {
                u64::from((bits as u32 & 0x807f_ffff) | (0x3f00_0000 + (((bits >> 40) as u32 % 8) << 22)))
            }
            _ => bits & 0xffff_ffff,
        },
        Word::F64 => match random.below(10) {
            0..3 => random.pick(&[
                0,
                1 << 63,
                0x3ff0_0000_0000_0000,
                0xbff0_0000_0000_0000,
                0x7ff0_0000_0000_0000,
                0xfff0_0000_0000_0000,
                0x7ff8_0000_0000_0000,
                1,
                0x000f_ffff_ffff_ffff,
                0x0010_0000_0000_0000,
                0x7fef_ffff_ffff_ffff,
                0x43e0_0000_0000_0000,
                0x41e0_0000_0000_0000,
                0x3fe0_0000_0000_0000,
                0x3ff0_0000_0000_0001,
            ]),
            3..6 => ((bits as i32 % 4000) as f64 * 0.125).to_bits(),
            6..8 => (bits & 0x800f_ffff_ffff_ffff) | 0x3fe0_0000_0000_0000,
            _ => bits,
        },
        _ => {
            let width = ty.bits().unwrap_or(32).min(64);
            let top = 1u64 << (width - 1);
            match random.below(10) {
                0..3 => bits % 72,
                3..6 => random.pick(&[0, 1, u64::MAX, top, top - 1, top + 1, 0xff, 0x80, 0x8000, 32, 64]),
                6 => bits >> (bits % 64),
                _ => bits,
            }
        }
    };
    number & if ty == Word::Pred { 1 } else { mask(ty) }
}

/// True for an instruction whose results are more than those of its registers.
fn is_elsewhere(mnemonic: &str) -> bool {
    let is_other = matches!(
        mnemonic,
        "cvta"
            | "ldu"
            | "tex"
            | "tld4"
            | "suld"
            | "sust"
            | "isspacep"
            | "brx"
            | "nanosleep"
            | "cp"
            | "txq"
            | "suq"
            | "prefetch"
            | "prefetchu"
            | "applypriority"
            | "discard"
            | "createpolicy"
    );
    is_other || is_cross_lane(mnemonic)
}

/// Probes of all forms that compute something from registers and the thread's own memory: up to `each` choices of the modifiers
/// of a form, with `rows` rows of operands.
pub(crate) fn of_forms(seed: u64, each: usize, rows: usize) -> Vec<Probe> {
    let mut all: Vec<Probe> = Vec::new();
    for (number_of_form, form) in (0u16..).zip(FORMS) {
        if !form.is_supported() || is_elsewhere(form.mnemonic) {
            continue;
        }
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9) ^ u64::from(number_of_form));
        let first = all.len();
        for _ in 0..each * 8 {
            if all.len() - first == each {
                break;
            }
            let Some(words) = words_of_form(number_of_form, &mut random) else { continue };
            let dotted: String = words.iter().map(|word| format!(".{word}")).collect();
            let instruction = format!("{}{dotted}", form.mnemonic);
            let sources = specs(number_of_form).iter().filter(|spec| !spec.is_dest);
            let (least, most) = (sources.clone().filter(|spec| !spec.optional).count(), sources.count());
            // A cache policy is no number.
            let most = if matches!(form.mnemonic, "atom" | "red" | "ld" | "st") { least } else { most };
            // Vectors, and memory that a thread does not write.
            if words.iter().any(|word| {
                matches!(word, Word::V2 | Word::V4 | Word::V8 | Word::B128 | Word::Nc | Word::Const)
            }) {
                continue;
            }
            let count = random.between(least as u32, most as u32) as usize;
            let constants = [random.bits() & 0xff];
            let is_half = words.iter().any(|word| matches!(word, Word::F16 | Word::Bf16));
            let is_packed = form.pattern.contains("16x2") && form.mnemonic == "setp";
            let with = !is_half && random.chance(40) || is_packed || form.mnemonic == "lop3";
            let Some(mut probe) = Probe::new(number_of_form, &instruction, count, with, &constants) else {
                continue;
            };
            if probe.results().is_empty() || all[first..].iter().any(|one| one.instruction == instruction) {
                continue;
            }
            let types = probe.inputs();
            let modulus = |index: usize| probe.has_carry && index + 1 == types.len();
            let row = |random: &mut Random| {
                let number = |(index, &ty): (usize, &Word)| match modulus(index) {
                    true => random.bits() & 1,
                    false => number(random, ty),
                };
                types.iter().enumerate().map(number).collect::<Vec<u64>>()
            };
            let found: Vec<Vec<u64>> = (0..rows).map(|_| row(&mut random)).collect();
            probe.rows = found;
            all.push(probe);
        }
    }
    all
}
