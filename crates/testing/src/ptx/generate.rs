//! Generates programs: random statements, with instructions from the table of forms.
//!
//! A thread stores only to its own memory; shared counters are only added to. So no lane races, and all orders of warps
//! give the same results. Cross-lane operations occur only where all lanes are together.

use super::determined::is_determined;
use super::program::{COUNTERS, OWN, POOLS, PtxNode, PtxProgram, SHARED_INPUT, WINDOW};
use crate::generate::Random;
use heddle_ptx::Word;
use heddle_ptx::table::{FORMS, InstructionForm, OperandRole, OperandType, pattern, specs};
use std::fmt::Write as _;

/// The program of a seed.
pub fn generate(seed: u64) -> PtxProgram {
    let mut maker = PtxGenerator::new(Random::new(seed ^ 0x7074_7800), None);
    let (shape, callee) = (maker.shape, maker.callee());
    let returned = [maker.register("b32"), maker.register("b64")];
    maker.in_callee = false;
    let count = maker.random.between(8, 30);
    let body = maker.nodes(count, 2, true);
    PtxProgram { seed, shape, body, callee, returned }
}

/// Returns the program of a seed for a GPU, of instructions whose results are determined there. A short one has up to three statements
/// in one warp.
pub fn generate_for_gpu(seed: u64, is_short: bool) -> PtxProgram {
    let short = is_short.then_some(([32, 1, 1], 1));
    let mut maker = PtxGenerator::new(Random::new(seed ^ 0x6770_7500), short);
    maker.is_for_gpu = true;
    let callee = if is_short { Vec::new() } else { maker.callee() };
    let returned = [maker.register("b32"), maker.register("b64")];
    maker.in_callee = false;
    let count = if is_short { maker.random.between(1, 3) } else { maker.random.between(8, 30) };
    let body = maker.nodes(count, if is_short { 0 } else { 2 }, true);
    PtxProgram { seed, shape: maker.shape, body, callee, returned }
}

/// A program of products of matrices only, of a form: of exact sums where numbers are small.
pub(crate) fn generate_products(form: u16, seed: u64) -> Option<PtxProgram> {
    let random = Random::new(seed ^ 0x6d6d_6100 ^ u64::from(form) << 32);
    let mut maker = PtxGenerator::new(random, Some(([32, 1, 1], 1)));
    maker.in_callee = false;
    let returned = [maker.register("b32"), maker.register("b64")];
    let words = (0..32).find_map(|_| maker.words(form))?;
    let body = vec![PtxNode::Lines(maker.instruction(form, &words)?)];
    Some(PtxProgram { seed, shape: maker.shape, body, callee: Vec::new(), returned })
}

/// Chooses modifiers of a form for one thread; `None` where the choice is not sensible.
pub(super) fn words_of_form(form: u16, random: &mut Random) -> Option<Vec<Word>> {
    let mut maker = PtxGenerator::new(random.clone(), Some(([32, 1, 1], 1)));
    maker.in_callee = false;
    let words = maker.words(form);
    *random = maker.random;
    words
}

impl PtxGenerator {
    fn new(mut random: Random, shape: Option<([u32; 3], u32)>) -> PtxGenerator {
        let shape = shape.unwrap_or_else(|| {
            let local = random.weighted(&[
                ([32, 1, 1], 4),
                ([64, 1, 1], 2),
                ([16, 2, 1], 1),
                ([40, 1, 1], 1),
                ([8, 2, 4], 1),
            ]);
            (local, random.between(1, 2))
        });
        let threads: u32 = shape.0.iter().product();
        PtxGenerator {
            random,
            shape,
            threads,
            is_whole: threads.is_multiple_of(32),
            in_callee: true,
            has_callee: false,
            is_for_gpu: false,
        }
    }

    /// The body of the function that is called, of half of all programs.
    fn callee(&mut self) -> Vec<PtxNode> {
        let mut callee = Vec::new();
        if self.random.chance(50) {
            callee = self.nodes(6, 1, false);
            self.has_callee = true;
        }
        callee
    }
}

pub(super) struct PtxGenerator {
    pub(super) random: Random,
    /// The threads of a group, and the groups.
    shape: ([u32; 3], u32),
    pub(super) threads: u32,
    /// True if all warps are full.
    pub(super) is_whole: bool,
    pub(super) in_callee: bool,
    has_callee: bool,
    /// True if a GPU is to give the same results.
    pub(super) is_for_gpu: bool,
}

/// True for operations on barrier objects in memory.
pub(super) fn is_of_barrier_objects(form: &InstructionForm) -> bool {
    form.mnemonic == "mbarrier" || form.pattern.starts_with("async mbarrier")
}

/// True for cross-lane operations and barriers.
pub fn is_cross_lane(mnemonic: &str) -> bool {
    matches!(
        mnemonic,
        "bar"
            | "barrier"
            | "mbarrier"
            | "vote"
            | "shfl"
            | "match"
            | "redux"
            | "elect"
            | "activemask"
            | "mma"
            | "wmma"
            | "ldmatrix"
            | "stmatrix"
            | "movmatrix"
    )
}

impl PtxGenerator {
    fn nodes(&mut self, count: u32, depth: u32, together: bool) -> Vec<PtxNode> {
        (0..count).map(|_| self.node(depth, together)).collect()
    }

    fn node(&mut self, depth: u32, together: bool) -> PtxNode {
        let kind = if depth > 0 { self.random.below(100) } else { 99 };
        match kind {
            0..12 => {
                let predicate = self.register("pred");
                let counts = [self.random.between(1, 4), self.random.between(0, 3)];
                let [then, otherwise] = counts.map(|count| self.nodes(count, depth - 1, false));
                PtxNode::If(predicate, then, otherwise)
            }
            12..20 => {
                let rounds = self.random.between(2, 6);
                let exit = self.random.chance(50).then(|| self.register("pred"));
                // Where lanes leave a loop at the same time, they are together in it.
                let together = together && exit.is_none();
                let count = self.random.between(1, 4);
                PtxNode::Loop(rounds, exit, self.nodes(count, depth - 1, together))
            }
            20..23 => {
                let register = self.register("b32");
                let arms = self.random.between(2, 4);
                let arms = (0..arms).map(|_| self.nodes(2, depth - 1, false)).collect();
                PtxNode::Switch(register, arms)
            }
            _ => PtxNode::Lines(self.lines(together)),
        }
    }

    /// Generates a random instruction form with the lines around it.
    fn lines(&mut self, together: bool) -> String {
        loop {
            let number = self.random.below(FORMS.len()) as u16;
            let form = &FORMS[usize::from(number)];
            if !form.is_supported() || (is_cross_lane(form.mnemonic) && !together) {
                continue;
            }
            if let Some(words) = self.words(number)
                && let Some(text) = self.instruction(number, &words)
            {
                return text;
            }
        }
    }

    /// Chooses modifiers that fit a form.
    fn words(&mut self, form: u16) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        for slot in &pattern(form).slots {
            if slot.optional && self.random.chance(65) {
                continue;
            }
            let all: Vec<Word> = slot.words.iter().collect();
            words.push(self.random.pick(&all));
        }
        let mnemonic = FORMS[usize::from(form)].mnemonic;
        let is_possible = !self.is_for_gpu || is_determined(mnemonic, &words);
        (is_possible && self.is_sensible(mnemonic, &words)).then_some(words)
    }

    // Operands.

    fn pool(&mut self, ty: Word) -> &'static str {
        let bits = ty.bits().unwrap_or(32);
        let float = ty == Word::F32 || ty == Word::F64;
        // NVIDIA's assembler takes registers of floats as bits of some instructions only.
        let is_any = !self.is_for_gpu;
        match bits {
            1 => "pred",
            8 | 16 => "b16",
            32 if float && self.random.chance(70) || ty == Word::B32 && is_any && self.random.chance(20) => {
                "f32"
            }
            32 => "b32",
            64 if float && self.random.chance(70) || ty == Word::B64 && is_any && self.random.chance(20) => {
                "f64"
            }
            128 => "b128",
            _ => "b64",
        }
    }

    pub(super) fn register(&mut self, pool: &str) -> String {
        let (letter, _, count) = POOLS.iter().find(|(_, ty, _)| *ty == pool).copied().unwrap_or(POOLS[2]);
        format!("{letter}{}", self.random.below(count as usize))
    }

    pub(super) fn of_type(&mut self, ty: Word) -> String {
        let pool = self.pool(ty);
        self.register(pool)
    }

    /// A source: a register, or a constant.
    pub(super) fn source(&mut self, ty: Word) -> String {
        if !self.random.chance(15) || ty == Word::Pred || ty.bits() == Some(128) {
            return self.of_type(ty);
        }
        let bits = self.random.bits();
        match ty {
            Word::F32 => {
                let some = [
                    0u32,
                    0x8000_0000,
                    0x3f80_0000,
                    0xbf00_0000,
                    0x7f80_0000,
                    0x7fc0_0000,
                    1,
                    0x4b00_0001,
                    bits as u32,
                ];
                format!("0f{:08X}", self.random.pick(&some))
            }
            Word::F64 => {
                let some = [
                    0u64,
                    1 << 63,
                    0x3ff0_0000_0000_0000,
                    0xbfe0_0000_0000_0000,
                    0x7ff0_0000_0000_0000,
                    1,
                    bits,
                ];
                format!("0d{:016X}", self.random.pick(&some))
            }
            Word::F16 | Word::Bf16 | Word::F16x2 | Word::Bf16x2 | Word::F32x2 => self.of_type(ty),
            _ => {
                let bits = match self.random.below(3) {
                    0 => bits % 9,
                    1 => bits % 70,
                    _ => bits,
                };
                let width = ty.bits().unwrap_or(32).min(64);
                let bits = bits & (u64::MAX >> (64 - width));
                // A number as signed where it is one.
                if width == 32 && ty.is_signed() {
                    format!("{}", bits as u32 as i32)
                } else {
                    format!("{bits}")
                }
            }
        }
    }

    /// Sets up an address register for an access of this size; returns it with the setup lines.
    fn address(&mut self, space: Option<Word>, bytes: u32, is_store: bool) -> (String, String) {
        let mut text = String::new();
        let number = self.random.between(4, 7);
        let address = format!("%a{number}");
        let index = self.register("b32");
        let room = |size: u32| (size - bytes) & !(bytes - 1);
        let mut within = |base: &str, size: u32| {
            let _ = write!(
                text,
                "and.b32 %t3, {index}, {};\ncvt.u64.u32 {address}, %t3;\nadd.s64 {address}, {address}, {base};\n",
                room(size.next_power_of_two())
            );
        };
        match space {
            Some(Word::Shared | Word::SharedCta) => {
                within("0", WINDOW);
                let _ = write!(
                    text,
                    "mul.wide.u32 %a3, %thread, {WINDOW};\nadd.s64 {address}, {address}, %a3;\nmov.u64 %a3, window;\nadd.s64 {address}, {address}, %a3;\n"
                );
            }
            Some(Word::Local) => {
                text.push_str("mov.u64 %a3, mine;\n");
                let _ = write!(
                    text,
                    "and.b32 %t3, {index}, {};\ncvt.u64.u32 {address}, %t3;\nadd.s64 {address}, {address}, %a3;\n",
                    room(64)
                );
            }
            Some(Word::Const) => {
                let _ = write!(
                    text,
                    "mov.u64 %a3, fixed;\nand.b32 %t3, {index}, {};\ncvt.u64.u32 {address}, %t3;\nadd.s64 {address}, {address}, %a3;\n",
                    room(64)
                );
            }
            _ if is_store || self.random.chance(30) => within("%own", OWN),
            _ => within("%in", if self.in_callee { 32 } else { SHARED_INPUT }),
        }
        (text, address)
    }

    /// The guard of an instruction, sometimes.
    fn guard(&mut self) -> String {
        if !self.random.chance(12) {
            return String::new();
        }
        let not = if self.random.chance(40) { "!" } else { "" };
        format!("@{not}{} ", self.register("pred"))
    }

    fn instruction(&mut self, form: u16, words: &[Word]) -> Option<String> {
        let name = FORMS[usize::from(form)].mnemonic;
        let dotted: String = words.iter().map(|word| format!(".{word}")).collect();
        let types: Vec<Word> = words.iter().copied().filter(|word| word.is_type()).collect();
        let last = types.last().copied().unwrap_or(Word::B32);
        let space = words.iter().copied().find(|word| {
            matches!(word, Word::Global | Word::Shared | Word::SharedCta | Word::Local | Word::Const)
        });
        let lanes = words.iter().fold(1, |lanes, word| match word {
            Word::V2 => 2,
            Word::V4 => 4,
            Word::V8 => 8,
            _ => lanes,
        });
        let bytes = last.bits().unwrap_or(32) / 8 * lanes;
        // NVIDIA's assembler drops guards of `testp`, and those of a part of a `set` with floats.
        let is_unguarded = match name {
            "call" | "testp" => true,
            "set" => types.iter().any(|&ty| has_floats(ty)),
            _ => false,
        };
        let guard = if self.is_for_gpu && is_unguarded { String::new() } else { self.guard() };
        Some(match name {
            "bra" | "brx" | "ret" | "exit" => return self.control(name, &dotted),
            // Files have them.
            _ if is_of_barrier_objects(&FORMS[usize::from(form)]) => return None,
            "call" => {
                if !self.has_callee || self.in_callee {
                    return None;
                }
                let (x, y, one, two) =
                    (self.register("b32"), self.register("b64"), self.register("b32"), self.register("b64"));
                format!(
                    "{{\n.param .b32 p0;\n.param .b64 p1;\n.param .b64 p2;\n.param .align 8 .b8 both[16];\nst.param.b32 [p0], {x};\nst.param.b64 [p1], {y};\nst.param.b64 [p2], %own;\n{guard}call{dotted} (both), callee, (p0, p1, p2);\n{guard}ld.param.b32 {one}, [both];\n{guard}ld.param.b64 {two}, [both+8];\n}}\n"
                )
            }
            "trap" | "brkpt" => format!("setp.ne.u32 %c1, %thread, %thread;\n@%c1 {name};\n"),
            "nanosleep" => format!("{guard}nanosleep{dotted} 20;\n"),
            "pmevent" => format!("{guard}pmevent 1;\n"),
            "setmaxnreg" => "setmaxnreg.inc.sync.aligned.u32 96;\n".into(),
            "griddepcontrol" => {
                format!("griddepcontrol.{};\n", self.random.pick(&["wait", "launch_dependents"]))
            }
            "membar" | "fence" => format!("{guard}{name}{dotted};\n"),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                let (text, address) = match space {
                    _ if name == "prefetchu" => self.address(None, 4, false),
                    space => self.address(space, 4, false),
                };
                let more = if matches!(name, "applypriority" | "discard") { ", 128" } else { "" };
                // Discarded memory has unspecified contents.
                if name == "discard" {
                    return Some(format!(
                        "setp.ne.u32 %c1, %thread, %thread;\n{text}@%c1 discard{dotted} [{address}]{more};\n"
                    ));
                }
                format!("{text}{guard}{name}{dotted} [{address}]{more};\n")
            }
            // Policies have different bits on each device, so nothing reads this one.
            "createpolicy" => format!(
                "{{\n.reg .b64 policy;\n{guard}createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n}}\n"
            ),
            "ld" | "ldu" | "st" => {
                let is_store = name == "st";
                let own = words.contains(&Word::Nc);
                let (mut text, address) = self.address(space, bytes, is_store);
                if own && text.contains("%own") {
                    return None;
                }
                let registers: Vec<String> = (0..lanes)
                    .map(|_| match is_store {
                        true => self.source(last),
                        false => self.of_type(last),
                    })
                    .collect();
                let list =
                    if lanes > 1 { format!("{{{}}}", registers.join(", ")) } else { registers[0].clone() };
                if space.is_none() && text.contains("%in") && self.in_callee {
                    return None;
                }
                let _ = match is_store {
                    true => writeln!(text, "{guard}{name}{dotted} [{address}], {list};"),
                    false => writeln!(text, "{guard}{name}{dotted} {list}, [{address}];"),
                };
                text
            }
            "atom" => {
                let (text, address) = match space {
                    Some(Word::Global) | None => self.address(Some(Word::Global), bytes, true),
                    _ if self.in_callee => return None,
                    space => self.address(space, bytes, true),
                };
                let (to, from) = (self.of_type(last), self.of_type(last));
                let swap = if words.contains(&Word::Cas) {
                    format!(", {}", self.of_type(last))
                } else {
                    String::new()
                };
                let mut text = format!("{text}{guard}{name}{dotted} {to}, [{address}], {from}{swap};\n");
                one_nan(&mut text, &to, last);
                self.one_nan_in_memory(&mut text, &address, space, last);
                text
            }
            "red" => {
                let is_float = has_floats(last);
                let is_wild = words.iter().any(|word| matches!(word, Word::Inc | Word::Dec)) || is_float;
                let from = self.of_type(last);
                if is_wild || self.in_callee || space.is_some_and(|space| space != Word::Global) {
                    if self.in_callee && space.is_some_and(|space| space != Word::Global) {
                        return None;
                    }
                    let (text, address) = self.address(space, bytes, true);
                    let mut text = format!("{text}{guard}{name}{dotted} [{address}], {from};\n");
                    self.one_nan_in_memory(&mut text, &address, space, last);
                    return Some(text);
                }
                // Each counter has one kind of atomic, so that the order does not matter.
                let slot = match words.iter().find(|word| {
                    matches!(word, Word::And | Word::Or | Word::Xor | Word::Add | Word::Min | Word::Max)
                }) {
                    Some(Word::And) => 0,
                    Some(Word::Or) => 1,
                    Some(Word::Xor) => 2,
                    Some(Word::Add) => 3,
                    Some(Word::Min) => 4 + u32::from(last.is_signed()),
                    _ => 6 + u32::from(last.is_signed()),
                };
                if bytes != 4 {
                    return None;
                }
                let at = slot * 4;
                debug_assert!(at < COUNTERS);
                format!("{guard}{name}{dotted} [%counters+{at}], {from};\n")
            }
            "cp" => {
                if !words.contains(&Word::Ca) && !words.contains(&Word::Cg) {
                    let count = if words.contains(&Word::WaitGroup) { " 0" } else { "" };
                    return Some(format!("cp{dotted}{count};\n"));
                }
                let size = if words.contains(&Word::Cg) { 16 } else { self.random.pick(&[4, 8, 16]) };
                let (first, to) = self.address(Some(Word::Shared), 16, true);
                let (second, from) = self.address(Some(Word::Global), 16, false);
                let more = self.random.pick(&["", ", 4", ", 0"]);
                format!(
                    "{first}mov.u64 %a2, {to};\n{second}{guard}cp{dotted} [%a2], [{from}], {size}{more};\ncp.async.wait_all;\n"
                )
            }
            "cvta" if words.iter().any(|word| matches!(word, Word::Param | Word::ParamEntry)) => {
                if self.in_callee {
                    return None;
                }
                if words.contains(&Word::To) {
                    let same = self.register("pred");
                    return Some(format!(
                        "cvta.param.u64 %a2, input;\ncvta{dotted} %a2, %a2;\nld.param.u64 %a2, [%a2];\nld.param.u64 %a3, [input];\nsetp.eq.u64 {same}, %a2, %a3;\n"
                    ));
                }
                format!(
                    "mov.b64 %a2, output;\ncvta{dotted} %a2, %a2;\nisspacep{} %c1, %a2;\nselp.b64 {}, 1, 2, %c1;\n",
                    dotted.replace(".u64", ""),
                    self.register("b64")
                )
            }
            "cvta" => {
                let (text, address) = self.address(space, 4, false);
                let to = self.register("b64");
                // Addresses are of this run only, so what is kept is whether they come back.
                if words.contains(&Word::To) {
                    let space = words.iter().find(|word| !matches!(word, Word::To | Word::U64))?;
                    let same = self.register("pred");
                    return Some(format!(
                        "{text}cvta.{space}.u64 %a2, {address};\ncvta{dotted} %a2, %a2;\nsetp.eq.u64 {same}, %a2, {address};\n"
                    ));
                }
                format!(
                    "{text}cvta{dotted} %a2, {address};\nisspacep{} %c1, %a2;\nselp.b64 {to}, 1, 2, %c1;\n",
                    dotted.replace(".u64", "")
                )
            }
            "isspacep" => {
                let from = self.random.pick(&[Word::Global, Word::Local, Word::Shared]);
                if self.in_callee && from == Word::Shared {
                    return None;
                }
                let (text, address) = self.address(Some(from), 4, false);
                let to = self.register("pred");
                format!("{text}cvta.{from}.u64 %a2, {address};\n{guard}isspacep{dotted} {to}, %a2;\n")
            }
            "mov" => {
                let to = self.of_type(last);
                let bits = last.bits().unwrap_or(32);
                if last.is_untyped() && self.random.chance(40) && bits >= 32 {
                    let [low, high] = [0, 1].map(|_| match bits {
                        32 => self.register("b16"),
                        64 => self.register("b32"),
                        _ => self.register("b64"),
                    });
                    return Some(match self.random.chance(50) {
                        true => format!("{guard}mov{dotted} {to}, {{{low}, {high}}};\n"),
                        false => {
                            format!("{guard}mov{dotted} {{{low}, {high}}}, {};\n", self.of_type(last))
                        }
                    });
                }
                let special = [
                    "%laneid",
                    "%tid.x",
                    "%tid.y",
                    "%ntid.x",
                    "%ctaid.x",
                    "%nctaid.x",
                    "%lanemask_lt",
                    "%lanemask_eq",
                    "%lanemask_ge",
                    "%lanemask_gt",
                    "%lanemask_le",
                    "WARP_SZ",
                    // Hardware counts slots of a processor.
                    "%warpid",
                ];
                let from = match last {
                    Word::U32 | Word::B32 | Word::S32 if self.random.chance(40) => {
                        let count = special.len() - usize::from(self.is_for_gpu);
                        self.random.pick(&special[..count]).into()
                    }
                    _ => self.source(last),
                };
                format!("{guard}mov{dotted} {to}, {from};\n")
            }
            "bar" | "barrier" => self.barrier(name, words, &dotted),
            "movmatrix" => format!("movmatrix{dotted} {}, {};\n", self.register("b32"), self.register("b32")),
            "activemask" => format!("activemask.b32 {};\n", self.register("b32")),
            "vote" | "shfl" | "match" | "redux" | "elect" => {
                self.cross_lane_operation(name, words, &dotted, last)
            }
            "mma" => self.product(words, &dotted)?,
            "ldmatrix" | "stmatrix" => self.matrices(name, words, &dotted),
            "wmma" => self.whole_matrices(words, &dotted)?,
            _ => return self.computed(form, name, &dotted, &types, &guard),
        })
    }

    /// As `one_nan`, for a number in memory.
    fn one_nan_in_memory(&mut self, text: &mut String, address: &str, space: Option<Word>, ty: Word) {
        if !has_floats(ty) {
            return;
        }
        let space = space.map_or(String::new(), |space| format!(".{space}"));
        let bits = ty.bits().unwrap_or(32);
        let register = match bits {
            16 => "%h0",
            32 => "%t6",
            _ => "%a2",
        };
        let _ = writeln!(text, "ld{space}.b{bits} {register}, [{address}];");
        one_nan(text, register, ty);
        let _ = writeln!(text, "st{space}.b{bits} [{address}], {register};");
    }

    fn control(&mut self, name: &str, dotted: &str) -> Option<String> {
        let number = self.random.below(1 << 30);
        Some(match (name, dotted) {
            ("bra", ".uni") => format!("bra.uni $U{number};\n$U{number}:\n"),
            // Those of the tree.
            ("bra", _) => {
                let predicate = self.register("pred");
                format!("@{predicate} bra $U{number};\n{}$U{number}:\n", self.simple())
            }
            ("brx", _) => format!(
                "and.b32 %t0, {}, 1;\n$V{number}: .branchtargets $W{number}, $X{number};\nbrx{dotted} {}, $V{number};\n$W{number}:\n{}$X{number}:\n",
                self.register("b32"),
                if dotted.ends_with("uni") { "0" } else { "%t0" },
                self.simple()
            ),
            // A thread that never comes there.
            _ => {
                if name == "exit" && self.in_callee {
                    return None;
                }
                if self.in_callee && name == "ret" {
                    return None;
                }
                format!("setp.ne.u32 %c1, %thread, %thread;\n@%c1 {name}{dotted};\n")
            }
        })
    }

    fn simple(&mut self) -> String {
        let (to, a, b) = (self.register("b32"), self.register("b32"), self.register("b32"));
        format!("add.u32 {to}, {a}, {b};\n")
    }

    /// An instruction that computes something from registers.
    fn computed(
        &mut self,
        form: u16,
        name: &str,
        dotted: &str,
        types: &[Word],
        guard: &str,
    ) -> Option<String> {
        let last = types.last().copied().unwrap_or(Word::B32);
        let mut operands = Vec::new();
        for spec in specs(form) {
            let of = |of: OperandType| match of {
                OperandType::Last => last,
                OperandType::First => types.first().copied().unwrap_or(last),
                OperandType::Second => types.get(1).copied().unwrap_or(last),
                OperandType::Wide => match last.bits() {
                    Some(16) => Word::U32,
                    _ => Word::U64,
                },
                OperandType::Fixed(ty) => ty,
                OperandType::Any => Word::U32,
            };
            if spec.optional && (self.is_for_gpu || self.random.chance(50)) {
                break;
            }
            operands.push(match spec.role {
                OperandRole::Value(ty) if spec.is_dest => self.of_type(of(ty)),
                OperandRole::Value(ty)
                    if self.is_for_gpu
                        && (name.starts_with('v')
                            || matches!(name, "bfe" | "bfi" | "min" | "max" | "add" | "cvt")) =>
                {
                    self.of_type(of(ty))
                }
                OperandRole::Value(ty) => self.source(of(ty)),
                OperandRole::WithPredicate(ty) => {
                    let to = self.of_type(of(ty));
                    let second = self.register("pred");
                    let is_packed = matches!(last, Word::F16x2 | Word::Bf16x2) && name == "setp";
                    // NVIDIA's assembler wants the second one there, and none of halves.
                    let needs = is_packed || self.is_for_gpu && name == "lop3";
                    let may = !(self.is_for_gpu && matches!(last, Word::F16 | Word::Bf16));
                    if second != to && (needs || may && self.random.chance(40)) {
                        format!("{to}|{second}")
                    } else {
                        to
                    }
                }
                OperandRole::Predicate if spec.is_dest => self.register("pred"),
                OperandRole::Predicate => {
                    let not = if self.random.chance(30) { "!" } else { "" };
                    format!("{not}{}", self.register("pred"))
                }
                OperandRole::Constant => self.random.below(256).to_string(),
                _ => return None,
            });
        }
        let to = operands.first().map_or("", |to| to.split('|').next().unwrap_or(to)).to_string();
        let mut text = format!("{guard}{name}{dotted} {};\n", operands.join(", "));
        let gives = match name {
            "add" | "sub" | "fma" | "mad" | "set" | "cvt" => types.first().copied().unwrap_or(last),
            "setp" | "testp" | "slct" => Word::Pred,
            _ => last,
        };
        one_nan(&mut text, &to, gives);
        Some(text)
    }
}

/// True for numbers with NaNs, and for pairs of them.
fn has_floats(ty: Word) -> bool {
    ty.is_float() || matches!(ty, Word::F16x2 | Word::Bf16x2)
}

/// Canonicalizes NaNs: their payload after an operation is unspecified.
pub(super) fn one_nan(text: &mut String, register: &str, ty: Word) {
    let _ = match ty {
        Word::F16 | Word::Bf16 => {
            let nan = if ty == Word::F16 { "0x7e00" } else { "0x7fc0" };
            write!(text, "setp.nan.{ty} %c1, {register}, {register};\n@%c1 mov.b16 {register}, {nan};\n")
        }
        Word::F16x2 | Word::Bf16x2 => {
            let (low, high) =
                if ty == Word::F16x2 { ("0x7e00", "0x7e000000") } else { ("0x7fc0", "0x7fc00000") };
            write!(
                text,
                "mov.b32 %t7, {register};\nsetp.nan.{ty} %c1|%c2, %t7, %t7;\n@%c1 and.b32 %t7, %t7, 0xffff0000;\n@%c1 or.b32 %t7, %t7, {low};\n@%c2 and.b32 %t7, %t7, 0xffff;\n@%c2 or.b32 %t7, %t7, {high};\nmov.b32 {register}, %t7;\n"
            )
        }
        Word::F32 | Word::Tf32 => {
            write!(
                text,
                "mov.b32 %t7, {register};\nsetp.nan.f32 %c1, %t7, %t7;\n@%c1 mov.b32 {register}, 0x7fc00000;\n"
            )
        }
        Word::F64 => write!(
            text,
            "mov.b64 %a3, {register};\nsetp.nan.f64 %c1, %a3, %a3;\n@%c1 mov.b64 {register}, 0x7ff8000000000000;\n"
        ),
        Word::F32x2 => write!(
            text,
            "mov.b64 {{%t6, %t7}}, {register};\nsetp.nan.f32 %c1, %t6, %t6;\n@%c1 mov.b32 %t6, 0x7fc00000;\nsetp.nan.f32 %c1, %t7, %t7;\n@%c1 mov.b32 %t7, 0x7fc00000;\nmov.b64 {register}, {{%t6, %t7}};\n"
        ),
        _ => Ok(()),
    };
}
