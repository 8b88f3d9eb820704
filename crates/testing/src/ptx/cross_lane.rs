//! Instructions that all lanes of a warp, or all threads of a group, do together.

use super::generate::{PtxGenerator, one_nan};
use super::program::{POOLS, WINDOW};
use heddle_ptx::Word;
use std::fmt::Write as _;

impl PtxGenerator {
    /// A wait, with what a neighbour has written.
    pub(super) fn barrier(&mut self, name: &str, words: &[Word], dotted: &str) -> String {
        // Also inside a loop that all threads execute together.
        let size = if self.is_whole && self.random.chance(30) {
            format!(", {}", self.threads)
        } else {
            String::new()
        };
        let to = match words.contains(&Word::Popc) {
            true => self.register("b32"),
            false => self.register("pred"),
        };
        if words.contains(&Word::Warp) {
            return "bar.warp.sync 0xffffffff;\n".into();
        }
        let before = self.neighbour();
        if let Some(parts) = self.barrier_of_parts(name, words) {
            return format!("{before}{parts}");
        }
        if words.contains(&Word::Red) {
            let condition = self.register("pred");
            format!("{before}{name}{dotted} {to}, 0{size}, {condition};\n")
        } else {
            format!("{before}{name}{dotted} 0{size};\n")
        }
    }

    /// Waits at two instructions of one barrier, or at barriers for some of the warps, or arrives without waiting. A function has no
    /// barriers for parts of the threads.
    fn barrier_of_parts(&mut self, name: &str, words: &[Word]) -> Option<String> {
        let is_arrival = words.contains(&Word::Arrive);
        if words.contains(&Word::Red) || !is_arrival && (self.in_callee || !self.random.chance(25)) {
            return None;
        }
        let warps = self.threads.div_ceil(32) as usize;
        if self.in_callee || warps < 2 {
            return Some(format!("{name}.sync 0;\n"));
        }
        let first = 32 * self.random.between(1, warps as u32 - 1);
        let (all, number) = (32 * warps as u32, self.random.between(2, 15));
        let choose = format!("setp.lt.u32 %c2, %thread, {first};\n");
        Some(match (is_arrival, self.random.below(3)) {
            (true, _) => {
                format!("{choose}@%c2 {name}.arrive {number}, {all};\n@!%c2 {name}.sync {number}, {all};\n")
            }
            (_, 0) => format!("{choose}@%c2 {name}.sync 0;\n@!%c2 {name}.sync 0;\n"),
            (_, 1) => format!("{choose}@%c2 {name}.sync {number}, {first};\n"),
            _ => format!(
                "{choose}selp.b32 %t3, {first}, {}, %c2;\nselp.b32 %t4, 1, {number}, %c2;\n{name}.sync %t4, %t3;\n",
                all - first
            ),
        })
    }

    /// Moves matrices between registers and the warp's part of the window.
    pub(super) fn matrices(&mut self, name: &str, words: &[Word], dotted: &str) -> String {
        let count = if words.contains(&Word::X4) {
            4
        } else if words.contains(&Word::X2) {
            2
        } else {
            1
        };
        let list: Vec<String> = (0..count).map(|at| format!("%m{at}")).collect();
        let list = format!("{{{}}}", list.join(", "));
        // The warp's rows lie in its own part of the window.
        let mut text = String::from("and.b32 %t3, %lane, 31;\nsub.u32 %t4, %thread, %lane;\n");
        let _ = write!(
            text,
            "mul.lo.u32 %t3, %t3, 16;\nmad.lo.u32 %t3, %t4, {WINDOW}, %t3;\nmov.u64 %a2, window;\ncvt.u64.u32 %a3, %t3;\nadd.s64 %a2, %a2, %a3;\n"
        );
        if !words.contains(&Word::Shared) && !words.contains(&Word::SharedCta) {
            text.push_str("cvta.shared.u64 %a2, %a2;\n");
        }
        text.push_str("bar.sync 0;\n");
        if name == "ldmatrix" {
            let _ = writeln!(text, "ldmatrix{dotted} {list}, [%a2];");
            for at in 0..count {
                let _ = writeln!(text, "mov.b32 {}, %m{at};", self.register("b32"));
            }
        } else {
            for at in 0..count {
                let _ = writeln!(text, "mov.b32 %m{at}, {};", self.register("b32"));
            }
            let _ = writeln!(text, "stmatrix{dotted} [%a2], {list};");
        }
        text.push_str("bar.sync 0;\n");
        text
    }

    /// Reads another thread's value after a barrier. All threads pass a second barrier before it is overwritten.
    fn neighbour(&mut self) -> String {
        if !self.random.chance(60) {
            return String::new();
        }
        let by = self.random.below(self.threads as usize);
        let (from, to) = (self.register("b32"), self.register("b32"));
        let threads = self.threads;
        format!(
            "mul.wide.u32 %a3, %thread, {WINDOW};\nmov.u64 %a2, window;\nadd.s64 %a3, %a3, %a2;\nst.shared.b32 [%a3+60], {from};\nbar.sync 0;\n\
             add.u32 %t3, %thread, {by};\nrem.u32 %t3, %t3, {threads};\nmul.wide.u32 %a3, %t3, {WINDOW};\nadd.s64 %a3, %a3, %a2;\nld.shared.b32 {to}, [%a3+60];\nbar.sync 0;\n"
        )
    }

    /// Emits a cross-lane operation, whose members are all present lanes.
    pub(super) fn cross_lane_operation(
        &mut self,
        name: &str,
        words: &[Word],
        dotted: &str,
        last: Word,
    ) -> String {
        let is_sync = words.contains(&Word::Sync);
        let members = match is_sync {
            true if self.random.chance(60) && self.is_whole => ", 0xffffffff",
            true => ", %t3",
            false => "",
        };
        let before = if is_sync { "activemask.b32 %t3;\n" } else { "" };
        let predicate = self.register("pred");
        let instruction = match name {
            "vote" => {
                let to =
                    if words.contains(&Word::Ballot) { self.register("b32") } else { self.register("pred") };
                format!("vote{dotted} {to}, {predicate}{members};\n")
            }
            "shfl" => {
                let (to, from) = (self.register("b32"), self.register("b32"));
                let to = if self.random.chance(50) { format!("{to}|{predicate}") } else { to };
                let by = if self.random.chance(60) {
                    self.random.below(32).to_string()
                } else {
                    self.register("b32")
                };
                let bounds = if words.contains(&Word::Up) { 0 } else { 31 }
                    + 256 * self.random.pick(&[0, 0, 16, 24, 28]);
                // Only present lanes may be read.
                if !self.is_whole {
                    return format!("{before}shfl{dotted} {to}, {from}, %lane, {bounds}{members};\n")
                        .replace(
                            dotted,
                            &dotted.replace(".up", ".idx").replace(".down", ".idx").replace(".bfly", ".idx"),
                        );
                }
                format!("shfl{dotted} {to}, {from}, {by}, {bounds}{members};\n")
            }
            "match" => {
                let (to, from) = (self.register("b32"), self.of_type(last));
                let to = if words.contains(&Word::All) && self.random.chance(60) {
                    format!("{to}|{predicate}")
                } else {
                    to
                };
                format!("match{dotted} {to}, {from}{members};\n")
            }
            "redux" => {
                let (to, from) = (self.of_type(last), self.of_type(last));
                let mut text = format!("redux{dotted} {to}, {from}{members};\n");
                one_nan(&mut text, &to, last);
                text
            }
            _ => format!("elect{dotted} {}|{predicate}{members};\n", self.register("b32")),
        };
        format!("{before}{instruction}")
    }

    pub(super) fn product(&mut self, words: &[Word], dotted: &str) -> Option<String> {
        let types: Vec<Word> = words.iter().copied().filter(|word| word.is_type()).collect();
        let (m, k) = match words.iter().find(|word| word.text().starts_with('m'))? {
            Word::M8n8k4 => (8, 4),
            Word::M8n8k16 => (8, 16),
            Word::M16n8k4 => (16, 4),
            Word::M16n8k8 => (16, 8),
            Word::M16n8k16 => (16, 16),
            _ => (16, 32),
        };
        let each = match types[1] {
            Word::F16 | Word::Bf16 => 2,
            Word::U8 | Word::S8 => 4,
            _ => 1,
        };
        let (rows, along) = (m / 8, k / (4 * each));
        let results = if types[0] == Word::F16 { rows } else { rows * 2 };
        let list = |maker: &mut PtxGenerator, count: usize, ty: Word| {
            let pool = if ty == Word::F64 {
                "f64"
            } else if ty == Word::F32 {
                "f32"
            } else {
                "b32"
            };
            let first = maker.random.below(2);
            let letter = POOLS.iter().find(|(_, ty, _)| *ty == pool).map_or("%r", |(letter, ..)| letter);
            let all: Vec<String> = (0..count).map(|at| format!("{letter}{}", first + at)).collect();
            format!("{{{}}}", all.join(", "))
        };
        let into = list(self, results, types[0]);
        let [a, b] = [(rows * along, types[1]), (along, types[2])].map(|(count, ty)| list(self, count, ty));
        let c = list(self, results, types[3]);
        let mut text = format!("mma{dotted} {into}, {a}, {b}, {c};\n");
        let ty = if types[0] == Word::F16 { Word::F16x2 } else { types[0] };
        for register in into.trim_matches(|c| matches!(c, '{' | '}')).split(", ") {
            one_nan(&mut text, register, ty);
        }
        Some(text)
    }

    /// Matrices that a warp loads, multiplies and stores as a whole.
    pub(super) fn whole_matrices(&mut self, words: &[Word], dotted: &str) -> Option<String> {
        let has = |word: Word| words.contains(&word);
        let types: Vec<Word> = words.iter().copied().filter(|word| word.is_type()).collect();
        let (m, n, k) = match words.iter().find(|word| word.text().starts_with('m') && **word != Word::Mma)? {
            Word::M8n8k4 => (8, 8, 4),
            Word::M16n16k8 => (16, 16, 8),
            Word::M16n16k16 => (16, 16, 16),
            Word::M32n8k16 => (32, 8, 16),
            _ => (8, 32, 16),
        };
        // The registers of `A`, `B` and sums.
        let inputs = |size: usize, ty: Word| match ty {
            Word::F16 => 8,
            Word::U8 | Word::S8 => size * k / 128,
            Word::Bf16 => size * k / 64,
            _ => size * k / 32,
        };
        let sums = |ty: Word| m * n / if ty == Word::F16 { 64 } else { 32 };
        let list = |letter: &str, count: usize| {
            let all: Vec<String> = (0..count).map(|at| format!("%{letter}{at}")).collect();
            format!("{{{}}}", all.join(", "))
        };
        let last = *types.last()?;
        let letter = |ty: Word| if ty == Word::F64 { "g" } else { "m" };
        let mut text = String::new();
        if has(Word::Mma) {
            let (to, from) = (types[0], last);
            let input = types[..].get(1).copied().filter(|_| types.len() == 4).unwrap_or(Word::F16);
            for at in 0..if to == Word::F64 { 0 } else { 12 } {
                let _ = writeln!(text, "mov.b32 %m{at}, {};", self.register("b32"));
            }
            let of_input = if input == Word::F64 { "g" } else { "r" };
            let _ = writeln!(
                text,
                "wmma{dotted} {}, {}, {}, {};",
                list(letter(to), sums(to)),
                list(of_input, inputs(m, input)),
                list(of_input, inputs(n, input)),
                list(letter(from), sums(from))
            );
            let ty = if to == Word::F16 { Word::F16x2 } else { to };
            for at in 0..sums(to) {
                let register = format!("%{}{at}", letter(to));
                one_nan(&mut text, &register, ty);
                if to != Word::F64 {
                    let _ = writeln!(text, "mov.b32 {}, {register};", self.register("b32"));
                }
            }
            return Some(text);
        }
        let is_sum = has(Word::C) || has(Word::D);
        let count = if is_sum { sums(last) } else { inputs(if has(Word::A) { m } else { n }, last) };
        let list = list(letter(last), count);
        let is_store = has(Word::Store);
        match has(Word::Global) {
            true if is_store => return None,
            true => text.push_str("mov.b64 %a2, %in;\n"),
            false => {
                let _ = write!(
                    text,
                    "sub.u32 %t4, %thread, %lane;\nmul.wide.u32 %a3, %t4, {WINDOW};\nmov.u64 %a2, window;\nadd.s64 %a2, %a2, %a3;\n"
                );
                if !has(Word::Shared) && !has(Word::SharedCta) {
                    text.push_str("cvta.shared.u64 %a2, %a2;\n");
                }
            }
        }
        // No row or column is longer.
        let stride = if self.random.chance(30) { ", 32" } else { "" };
        let stride = if is_sum || last == Word::F64 { "" } else { stride };
        if is_store && last != Word::F64 {
            for at in 0..count {
                let _ = writeln!(text, "mov.b32 %m{at}, {};", self.register("b32"));
            }
        }
        text.push_str("bar.sync 0;\n");
        let _ = match is_store {
            true => writeln!(text, "wmma{dotted} [%a2], {list}{stride};"),
            false => writeln!(text, "wmma{dotted} {list}, [%a2]{stride};"),
        };
        if !is_store && last != Word::F64 {
            for at in 0..count {
                let _ = writeln!(text, "mov.b32 {}, %m{at};", self.register("b32"));
            }
        }
        text.push_str("bar.sync 0;\n");
        Some(text)
    }
}
