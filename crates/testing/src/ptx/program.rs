//! Generated PTX program: a tree of statements, so that parts can be left out, and its text.

use std::fmt::Write as _;

/// Statement of a body.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PtxNode {
    /// Lines that belong together, and the forms of their instructions.
    Lines(String),
    /// Code for lanes with a true predicate, and code for the others.
    If(String, Vec<PtxNode>, Vec<PtxNode>),
    /// Loop with a maximum number of iterations, or an earlier exit by a predicate.
    Loop(u32, Option<String>, Vec<PtxNode>),
    /// One of several, by a register.
    Switch(String, Vec<Vec<PtxNode>>),
}

/// A program: a kernel and what it calls.
#[derive(Clone, PartialEq, Debug)]
pub struct PtxProgram {
    /// Seed of the program.
    pub seed: u64,
    /// The threads of a group, and the groups.
    pub shape: ([u32; 3], u32),
    pub(crate) body: Vec<PtxNode>,
    pub(crate) callee: Vec<PtxNode>,
    /// Registers that the callee returns.
    pub(crate) returned: [String; 2],
}

/// Bytes of memory of each thread: where it stores, and where its registers go at the end.
pub(crate) const OWN: u32 = 256;
/// Size of the register dump, in bytes.
pub(crate) const DUMP: u32 = 320;
/// Bytes that all threads read.
pub(crate) const SHARED_INPUT: u32 = 4096;
/// Bytes of shared memory of each thread.
pub(crate) const WINDOW: u32 = 64;
/// Bytes that groups count in together.
pub(crate) const COUNTERS: u32 = 64;

/// The kinds of registers: the letter, the type, how many.
pub(crate) const POOLS: [(&str, &str, u32); 7] = [
    ("%p", "pred", 6),
    ("%h", "b16", 6),
    ("%r", "b32", 12),
    ("%d", "b64", 8),
    ("%f", "f32", 6),
    ("%g", "f64", 6),
    ("%w", "b128", 2),
];

struct PtxProgramWriter {
    text: String,
    labels: u32,
    counters: u32,
}

impl PtxProgramWriter {
    fn nodes(&mut self, nodes: &[PtxNode]) {
        for node in nodes {
            match node {
                PtxNode::Lines(lines) => {
                    for line in lines.lines() {
                        let _ = writeln!(self.text, "\t{line}");
                    }
                }
                PtxNode::If(predicate, then, otherwise) => {
                    let [other, end] = self.labels();
                    let _ = writeln!(self.text, "\t@!{predicate} bra {other};");
                    self.nodes(then);
                    if !otherwise.is_empty() {
                        let _ = writeln!(self.text, "\tbra {end};");
                    }
                    let _ = writeln!(self.text, "{other}:");
                    self.nodes(otherwise);
                    let _ = writeln!(self.text, "{end}:");
                }
                PtxNode::Loop(rounds, exit, body) => {
                    let [start, end] = self.labels();
                    let counter = format!("%n{}", self.counters);
                    self.counters += 1;
                    let _ = writeln!(self.text, "\tmov.u32 {counter}, 0;\n{start}:");
                    self.nodes(body);
                    if let Some(predicate) = exit {
                        let _ = writeln!(self.text, "\t@{predicate} bra {end};");
                    }
                    let _ = writeln!(
                        self.text,
                        "\tadd.u32 {counter}, {counter}, 1;\n\tsetp.lt.u32 %c0, {counter}, {rounds};\n\t@%c0 bra {start};\n{end}:"
                    );
                }
                PtxNode::Switch(register, arms) => {
                    let [table, end] = self.labels();
                    let labels: Vec<String> = (0..arms.len()).map(|arm| format!("{table}_{arm}")).collect();
                    let _ = writeln!(
                        self.text,
                        "\trem.u32 %t0, {register}, {};\n{table}: .branchtargets {};\n\tbrx.idx %t0, {table};",
                        arms.len(),
                        labels.join(", ")
                    );
                    for (label, arm) in labels.iter().zip(arms) {
                        let _ = writeln!(self.text, "{label}:");
                        self.nodes(arm);
                        let _ = writeln!(self.text, "\tbra.uni {end};");
                    }
                    let _ = writeln!(self.text, "{end}:");
                }
            }
        }
    }

    fn labels(&mut self) -> [String; 2] {
        self.labels += 2;
        [self.labels - 1, self.labels].map(|number| format!("$L{number}"))
    }
}

fn loops(nodes: &[PtxNode]) -> u32 {
    let of = |node: &PtxNode| match node {
        PtxNode::Lines(_) => 0,
        PtxNode::If(_, then, otherwise) => loops(then) + loops(otherwise),
        PtxNode::Loop(_, _, body) => 1 + loops(body),
        PtxNode::Switch(_, arms) => arms.iter().map(|arm| loops(arm)).sum(),
    };
    nodes.iter().map(of).sum()
}

fn registers(text: &mut String, loops: u32) {
    for (letter, ty, count) in POOLS {
        let _ = writeln!(text, "\t.reg .{ty} {letter}<{count}>;");
    }
    let _ =
        writeln!(text, "\t.reg .pred %c<3>;\n\t.reg .b32 %t<8>, %thread, %lane, %m<12>;\n\t.reg .b64 %a<8>;");
    let _ = writeln!(text, "\t.reg .b64 %in, %own, %counters;");
    if loops > 0 {
        let _ = writeln!(text, "\t.reg .b32 %n<{loops}>;");
    }
}

/// Initializes all registers from shared input, at a different offset in each thread.
fn first_values(text: &mut String) {
    let _ = writeln!(text, "\tmov.b64 %a0, %in;\n\tmul.lo.u32 %t0, %thread, 40;");
    let mut at = 0u32;
    for (letter, ty, count) in POOLS {
        for number in 0..count {
            at += 1;
            let _ = writeln!(
                text,
                "\tadd.u32 %t1, %t0, {};\n\tand.b32 %t1, %t1, {};\n\tcvt.u64.u32 %a1, %t1;\n\tadd.s64 %a1, %a0, %a1;",
                at * 296,
                SHARED_INPUT - 16
            );
            let register = format!("{letter}{number}");
            let _ = match ty {
                "pred" => writeln!(text, "\tld.global.u32 %t2, [%a1];\n\tsetp.lt.s32 {register}, %t2, 1000;"),
                "b128" => writeln!(
                    text,
                    "\tld.global.v2.b64 {{%a2, %a3}}, [%a1];\n\tmov.b128 {register}, {{%a2, %a3}};"
                ),
                _ => writeln!(text, "\tld.global.{ty} {register}, [%a1];"),
            };
        }
    }
    // The carry.
    text.push_str("\tadd.cc.u32 %t2, %r0, %r1;\n");
}

impl PtxProgram {
    /// Its text.
    pub fn text(&self) -> String {
        let ([width, height, depth], _) = self.shape;
        let threads = width * height * depth;
        let mut text = String::from(".version 8.8\n.target sm_100\n.address_size 64\n\n");
        let _ = writeln!(
            text,
            ".const .align 32 .b32 fixed[16] = {{1, 2, 3, 5, 7, 11, 13, 17, 0x80000000, 0xffffffff, 0x3f800000, 0x7f800000, 0, 40, 50, 60}};"
        );
        let _ = writeln!(text, ".global .align 32 .b64 table[4] = {{1, 0x8000000000000000, 3, 4}};\n");
        if !self.callee.is_empty() {
            text.push_str(".func (.param .align 8 .b8 both[16]) callee(.param .b32 x, .param .b64 y, .param .b64 own)\n{\n");
            registers(&mut text, loops(&self.callee));
            let _ = writeln!(text, "\t.local .align 32 .b8 mine[64];");
            text.push_str("\tld.param.b64 %own, [own];\n\tmov.u32 %thread, %tid.x;\n\tmov.u32 %lane, %laneid;\n\tcvta.global.u64 %in, table;\n\tmov.b64 %counters, 0;\n");
            for (letter, ty, count) in POOLS {
                for number in 0..count {
                    let (low, high) = ("%t3", "%a3");
                    if number == 0 && ty == "pred" {
                        let _ = writeln!(text, "\tld.param.b32 {low}, [x];\n\tld.param.b64 {high}, [y];");
                    }
                    let _ = match ty {
                        "pred" => writeln!(text, "\tsetp.gt.s32 {letter}{number}, {low}, {number};"),
                        "b16" => writeln!(text, "\tcvt.u16.u32 {letter}{number}, {low};"),
                        "b32" | "f32" => writeln!(text, "\tmov.b32 {letter}{number}, {low};"),
                        "b128" => writeln!(text, "\tmov.b128 {letter}{number}, {{{high}, {high}}};"),
                        _ => writeln!(text, "\tmov.b64 {letter}{number}, {high};"),
                    };
                }
            }
            text.push_str("\tadd.cc.u32 %t2, %r0, %r1;\n");
            let mut writer = PtxProgramWriter { text, labels: 0, counters: 0 };
            writer.nodes(&self.callee);
            text = writer.text;
            let [one, two] = &self.returned;
            let _ = writeln!(
                text,
                "\tst.param.b32 [both], {one};\n\tst.param.b64 [both+8], {two};\n\tret;\n}}\n"
            );
        }
        let _ = writeln!(
            text,
            ".visible .entry k(.param .u64 .ptr .global .align 16 input, .param .u64 output, .param .u64 shared_counters)\n.reqntid {width}, {height}, {depth}\n{{"
        );
        registers(&mut text, loops(&self.body));
        let _ = writeln!(text, "\t.shared .align 32 .b8 window[{}];", threads * WINDOW);
        text.push_str("\t.local .align 32 .b8 mine[64];\n\tld.param.u64 %in, [input];\n\tcvta.to.global.u64 %in, %in;\n");
        text.push_str(
            "\tld.param.u64 %counters, [shared_counters];\n\tcvta.to.global.u64 %counters, %counters;\n",
        );
        text.push_str("\tmov.u32 %t0, %tid.z;\n\tmov.u32 %t1, %ntid.y;\n\tmul.lo.u32 %t0, %t0, %t1;\n\tmov.u32 %t1, %tid.y;\n\tadd.u32 %t0, %t0, %t1;\n");
        text.push_str("\tmov.u32 %t1, %ntid.x;\n\tmov.u32 %t2, %tid.x;\n\tmad.lo.u32 %thread, %t0, %t1, %t2;\n\tmov.u32 %lane, %laneid;\n");
        let _ = writeln!(
            text,
            "\tmov.u32 %t0, %ctaid.x;\n\tmad.lo.u32 %t1, %t0, {threads}, %thread;\n\tmul.wide.u32 %a0, %t1, {};",
            OWN + DUMP
        );
        text.push_str(
            "\tld.param.u64 %own, [output];\n\tcvta.to.global.u64 %own, %own;\n\tadd.s64 %own, %own, %a0;\n",
        );
        // Initializes each thread's private storage.
        let _ = writeln!(
            text,
            "\tmov.u64 %a1, window;\n\tmul.wide.u32 %a0, %thread, {WINDOW};\n\tadd.s64 %a1, %a1, %a0;\n\tmov.u64 %a2, mine;"
        );
        for at in (0..64).step_by(4) {
            let _ = writeln!(
                text,
                "\tadd.u32 %t1, %thread, {at};\n\tst.shared.b32 [%a1+{at}], %t1;\n\tst.local.b32 [%a2+{at}], %t1;"
            );
        }
        first_values(&mut text);
        let mut writer = PtxProgramWriter { text, labels: 100, counters: 0 };
        writer.nodes(&self.body);
        text = writer.text;
        let mut at = OWN;
        for (letter, ty, count) in POOLS.iter().rev() {
            for number in 0..*count {
                let register = format!("{letter}{number}");
                let bytes = match *ty {
                    "pred" => {
                        let _ = writeln!(
                            text,
                            "\tselp.u32 %t0, 1, 0, {register};\n\tst.global.u32 [%own+{at}], %t0;"
                        );
                        4
                    }
                    "b128" => {
                        let _ = writeln!(
                            text,
                            "\tmov.b128 {{%a0, %a1}}, {register};\n\tst.global.v2.b64 [%own+{at}], {{%a0, %a1}};"
                        );
                        16
                    }
                    "b16" => {
                        let _ = writeln!(text, "\tst.global.b16 [%own+{at}], {register};");
                        2
                    }
                    "b64" | "f64" => {
                        let _ = writeln!(text, "\tst.global.b64 [%own+{at}], {register};");
                        8
                    }
                    _ => {
                        let _ = writeln!(text, "\tst.global.b32 [%own+{at}], {register};");
                        4
                    }
                };
                at += bytes;
                if *ty == "b16" && number + 1 == *count {
                    at = at.next_multiple_of(4);
                }
            }
        }
        text.push_str("\t@%p0 ret;\n\tst.global.b32 [%own+4], %thread;\n\texit;\n}\n");
        text
    }

    /// Returns the text of the statements alone.
    pub fn body_text(&self) -> String {
        let mut writer = PtxProgramWriter { text: String::new(), labels: 0, counters: 0 };
        writer.nodes(&self.callee);
        writer.text.push_str("\t// the kernel\n");
        writer.nodes(&self.body);
        writer.text
    }

    /// Returns smaller programs, with the largest parts removed first.
    pub fn smaller(&self) -> Vec<PtxProgram> {
        let mut all = Vec::new();
        for body in without(&self.body) {
            all.push(PtxProgram { body, ..self.clone() });
        }
        for callee in without(&self.callee) {
            if !callee.is_empty() {
                all.push(PtxProgram { callee, ..self.clone() });
            }
        }
        all
    }
}

/// Returns lists with a part removed: halves, quarters, single nodes, contents of nodes.
fn without(nodes: &[PtxNode]) -> Vec<Vec<PtxNode>> {
    let mut all = Vec::new();
    let mut size = nodes.len();
    while size > 0 {
        for start in (0..nodes.len()).step_by(size) {
            let mut less = nodes.to_vec();
            less.drain(start..(start + size).min(nodes.len()));
            all.push(less);
        }
        size /= 2;
    }
    for (index, node) in nodes.iter().enumerate() {
        let mut replace = |with: Vec<PtxNode>| {
            let mut less = nodes.to_vec();
            less.splice(index..=index, with);
            all.push(less);
        };
        match node {
            PtxNode::Lines(_) => {}
            PtxNode::If(predicate, then, otherwise) => {
                replace(then.clone());
                replace(otherwise.clone());
                for then in without(then) {
                    replace(vec![PtxNode::If(predicate.clone(), then, otherwise.clone())]);
                }
                for otherwise in without(otherwise) {
                    replace(vec![PtxNode::If(predicate.clone(), then.clone(), otherwise)]);
                }
            }
            PtxNode::Loop(rounds, exit, body) => {
                replace(body.clone());
                for body in without(body) {
                    replace(vec![PtxNode::Loop(*rounds, exit.clone(), body)]);
                }
            }
            PtxNode::Switch(register, arms) => {
                for arm in arms {
                    replace(arm.clone());
                }
                for (at, arm) in arms.iter().enumerate() {
                    for arm in without(arm) {
                        let mut arms = arms.clone();
                        arms[at] = arm;
                        replace(vec![PtxNode::Switch(register.clone(), arms)]);
                    }
                }
            }
        }
    }
    all
}
