//! Functions of generated C: what they declare, the functions that they call, their jumps.
//!
//! Every name is declared at the top, so a jump skips no initializer. A jump back has a budget for the whole call of the
//! function; loops have counters. So every lane ends, and soon.

use super::expression::CType;
use super::tree::{CNode, CNodeKind, CPiece, CProgram, resolve};
use crate::generate::Random;

/// Helper function: its name and result type, or the elements of the array that it works on.
#[derive(Clone, Debug)]
struct CHelper {
    name: String,
    result: CType,
    array: Option<CType>,
}

/// A function being written.
pub(super) struct CFunctionGenerator<'r> {
    pub(super) random: &'r mut Random,
    variables: Vec<(String, CType)>,
    pub(super) readable: Vec<String>,
    pub(super) arrays: Vec<(String, CType)>,
    pointers: Vec<(String, CType)>,
    structs: Vec<String>,
    struct_pointer: bool,
    helpers: Vec<CHelper>,
    declarations: Vec<CNode>,
    pub(super) features: Vec<&'static str>,
    /// Position of labels and jumps in text order.
    pub(super) position: u32,
    pub(super) labels: Vec<u32>,
    pub(super) jumps: Vec<u32>,
    pub(super) counters: u32,
    /// Loops around, by what they cost.
    pub(super) loops: u32,
    /// Loops around that can be left.
    pub(super) inside: u32,
    /// Blocks around that may not be jumped into.
    pub(super) no_labels: u32,
    pub(super) budget: i32,
    pub(super) is_helper: bool,
    pub(super) result: CType,
}

impl<'r> CFunctionGenerator<'r> {
    fn new(random: &'r mut Random, budget: i32) -> CFunctionGenerator<'r> {
        CFunctionGenerator {
            random,
            variables: Vec::new(),
            readable: Vec::new(),
            arrays: Vec::new(),
            pointers: Vec::new(),
            structs: Vec::new(),
            struct_pointer: false,
            helpers: Vec::new(),
            declarations: Vec::new(),
            features: Vec::new(),
            position: 0,
            labels: Vec::new(),
            jumps: Vec::new(),
            counters: 0,
            loops: 0,
            inside: 0,
            no_labels: 0,
            budget,
            is_helper: false,
            result: CType::U32,
        }
    }

    pub(super) fn feature(&mut self, name: &'static str) {
        if !self.features.contains(&name) {
            self.features.push(name);
        }
    }

    pub(super) fn declare(&mut self, text: &str) {
        self.declarations.push(CNode::text(CNodeKind::Statement, text));
    }

    pub(super) fn random_int_variable(&mut self) -> Option<String> {
        let names: Vec<&String> = self
            .variables
            .iter()
            .filter(|(_, ty)| !ty.is_float())
            .map(|(name, _)| name)
            .chain(&self.readable)
            .collect();
        let at = (!names.is_empty()).then(|| self.random.below(names.len()))?;
        Some(names[at].clone())
    }

    pub(super) fn random_float_variable(&mut self) -> Option<String> {
        let names: Vec<&String> =
            self.variables.iter().filter(|(_, ty)| ty.is_float()).map(|(name, _)| name).collect();
        let at = (!names.is_empty()).then(|| self.random.below(names.len()))?;
        Some(names[at].clone())
    }

    pub(super) fn random_target(&mut self) -> Option<(String, CType)> {
        let at = (!self.variables.is_empty()).then(|| self.random.below(self.variables.len()))?;
        Some(self.variables[at].clone())
    }

    /// An unsigned variable, which may be added to.
    pub(super) fn random_int_target(&mut self) -> Option<String> {
        let is_unsigned = |ty: CType| matches!(ty, CType::U8 | CType::U16 | CType::U32 | CType::U64);
        let mut all = self.variables.iter().filter(|(_, ty)| is_unsigned(*ty));
        let count = all.clone().count();
        (count > 0).then(|| self.random.below(count)).and_then(|at| all.nth(at)).map(|(name, _)| name.clone())
    }

    /// Returns an array element, with a `#` for its index, and its type.
    pub(super) fn random_element(&mut self) -> Option<(String, CType)> {
        let mut places: Vec<(String, CType)> = Vec::new();
        places.extend(self.arrays.iter().map(|(name, ty)| (format!("{name}[(uint32_t)#&7]"), *ty)));
        places.extend(self.pointers.iter().map(|(name, ty)| (format!("{name}[(uint32_t)#&3]"), *ty)));
        let mut structs: Vec<String> = self.structs.iter().map(|name| format!("{name}.")).collect();
        structs.extend(self.struct_pointer.then(|| "ps->".into()));
        for name in structs {
            let fields = [("a", CType::S32), ("c", CType::F64), ("d", CType::U16), ("e", CType::S64)];
            // The index is part of the template all the same.
            places
                .extend(fields.iter().map(|(field, ty)| (format!("*(&{name}{field} + 0*(uint32_t)#)"), *ty)));
            places.push((format!("{name}b[(uint32_t)#&3]"), CType::U8));
        }
        let at = (!places.is_empty()).then(|| self.random.below(places.len()))?;
        Some(places[at].clone())
    }

    pub(super) fn random_place(&mut self, is_float: bool) -> Option<String> {
        let (place, ty) = self.random_element()?;
        (ty.is_float() == is_float).then_some(place)
    }

    /// A pointer and the arrays that it may point into.
    pub(super) fn random_pointer(&mut self) -> Option<(String, Vec<usize>)> {
        let at = (!self.pointers.is_empty()).then(|| self.random.below(self.pointers.len()))?;
        let (name, ty) = self.pointers[at].clone();
        // Inner arrays end before the pointer does.
        let fit = |(at, (array, of)): (usize, &(String, CType))| {
            (*of == ty && array.starts_with('a')).then_some(at)
        };
        let arrays: Vec<usize> = self.arrays.iter().enumerate().filter_map(fit).collect();
        (!arrays.is_empty()).then_some((name, arrays))
    }

    pub(super) fn array_name(&self, at: usize) -> &str {
        &self.arrays[at].0
    }

    fn a_helper(&mut self, is_wanted: impl Fn(&CHelper) -> bool) -> Option<CHelper> {
        let known: Vec<&CHelper> = self.helpers.iter().filter(|helper| is_wanted(helper)).collect();
        let at = (!known.is_empty()).then(|| self.random.below(known.len()))?;
        Some(known[at].clone())
    }

    pub(super) fn call_of_int_helper(&mut self, depth: u32) -> CNode {
        match self.a_helper(|helper| helper.array.is_none() && !helper.result.is_float()) {
            Some(helper) => {
                self.feature("helper functions");
                let (a, b, c) = (self.int(depth), self.int(depth), self.float(depth));
                let template = format!("{}((uint32_t)#,(uint32_t)#,(float)#)", helper.name);
                CNode::of(CNodeKind::Int, &template, [a, b, c].map(CPiece::Node))
            }
            None => self.condition(depth),
        }
    }

    pub(super) fn call_of_float_helper(&mut self, depth: u32) -> CNode {
        match self.a_helper(|helper| helper.array.is_none() && helper.result.is_float()) {
            Some(helper) => {
                self.feature("helper functions");
                let (a, b, c) = (self.int(depth), self.int(depth), self.float(depth));
                let template = format!("{}((uint32_t)#,(uint32_t)#,(float)#)", helper.name);
                CNode::of(CNodeKind::Float, &template, [a, b, c].map(CPiece::Node))
            }
            None => self.float(0),
        }
    }

    pub(super) fn call_of_array_helper(&mut self) -> CNode {
        let helper = self.a_helper(|helper| helper.array.is_some());
        let fits = |(at, (_, ty)): (usize, &(String, CType))| {
            (helper.as_ref().and_then(|helper| helper.array) == Some(*ty)).then_some(at)
        };
        let arrays: Vec<usize> = self.arrays.iter().enumerate().filter_map(fits).collect();
        let (Some(helper), false) = (&helper, arrays.is_empty()) else {
            // Any statement will do.
            let value = self.int(2);
            return CNode::of(CNodeKind::Statement, "if (#) ;", [value.into()]);
        };
        self.feature("helper functions");
        self.feature("pointers to locals");
        let at = self.random.pick(&arrays);
        let (a, b) = (self.int(2), self.int(2));
        let template = format!("{}({}, (uint32_t)#, (uint32_t)#);", helper.name, self.array_name(at));
        CNode::of(CNodeKind::Statement, &template, [a.into(), b.into()])
    }

    /// Declares what a function works with.
    fn declare_locals(&mut self, size: CProgramSize) {
        let initial = |writer: &mut CFunctionGenerator<'_>| {
            let all =
                ["(id)", "(u)", "(id*2654435761u)", "(7)", "(id&3)", "m[0]", "m[5]", "(uint32_t)in[id&31]"];
            // Helpers know no memory.
            writer.random.pick(if writer.is_helper { &all[..5] } else { &all })
        };
        for number in 0..self.random.between(2, 4) {
            let ty = self.random.pick(&CType::INTS);
            let (name, first) = (format!("x{number}"), initial(self));
            self.declare(&format!("{0} {name} = ({0}){first};", ty.name()));
            self.variables.push((name, ty));
        }
        for number in 0..self.random.between(1, 2) {
            let ty = self.random.pick(&[CType::F32, CType::F32, CType::F64]);
            let (name, first) = (format!("y{number}"), initial(self));
            self.declare(&format!("{0} {name} = ({0}){first};", ty.name()));
            self.variables.push((name, ty));
        }
        let types = [CType::S32, CType::U8, CType::U16, CType::U32, CType::S64, CType::F32, CType::F64];
        if !self.is_helper && self.random.chance(size.arrays) {
            self.feature("local arrays");
            let ty = self.random.pick(&types);
            for number in 0..self.random.between(1, 2) {
                let (name, first) = (format!("a{number}"), initial(self));
                let text = ty.name();
                self.declare(&format!("{text} {name}[8];"));
                self.declare(&format!(
                    "for (uint32_t j = 0; j < 8; j++) {name}[j] = ({text})(j * 3 + (uint32_t){first});"
                ));
                self.arrays.push((name, ty));
            }
            if self.random.chance(60) {
                self.declare(&format!("{} *p = a0 + 2;", ty.name()));
                self.pointers.push(("p".into(), ty));
            }
        }
        if !self.is_helper && self.random.chance(size.structs) {
            self.feature("structs");
            for number in 0..self.random.between(1, 2) {
                let name = format!("s{number}");
                self.declare(&format!(
                    "struct S {name} = {{(int32_t)u, {{1, 2, 3, 4}}, 0.5, (uint16_t)id, -7}};"
                ));
                self.structs.push(name);
            }
            if self.structs.len() > 1 {
                self.feature("pointers to locals");
                let condition = self.condition(1);
                self.declarations.push(CNode::of(
                    CNodeKind::Statement,
                    "struct S *ps = # ? &s0 : &s1;",
                    [condition.into()],
                ));
                self.struct_pointer = true;
            }
        }
    }

    /// Returns the jumps' texts, once all labels are known.
    fn jump_texts(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        let mut backward = 0;
        for number in 0..self.jumps.len() {
            if self.labels.is_empty() {
                texts.push(";".into());
                continue;
            }
            let label = self.random.below(self.labels.len());
            let is_back = self.labels[label] < self.jumps[number];
            if !is_back {
                self.feature("jumps forward");
                texts.push(format!("goto L{label};"));
            } else if backward < 2 {
                backward += 1;
                self.feature("jumps backward");
                self.declare(&format!("int32_t k{number} = 0;"));
                texts.push(format!("if (k{number}++ < 2) goto L{label};"));
            } else {
                texts.push(";".into());
            }
        }
        texts
    }
}

fn helper(random: &mut Random, seed: u64, number: u32, features: &mut Vec<&'static str>) -> (CNode, CHelper) {
    let noinline = random.chance(50);
    let array = random.chance(30);
    let array_type = random.pick(&[CType::S32, CType::U8, CType::U32]);
    let result = if array {
        CType::U32
    } else {
        random.pick(&[CType::U32, CType::S32, CType::U8, CType::F32, CType::F64])
    };
    let budget = random.between(3, 7) as i32;
    let mut writer = CFunctionGenerator::new(random, budget);
    (writer.is_helper, writer.result) = (true, result);
    // Loops in helpers run inside the callers' loops.
    writer.loops = 1;
    writer.declare_locals(CProgramSize::USUAL);
    if array {
        writer.arrays.push(("array".into(), array_type));
    } else {
        writer.variables.push(("y".into(), CType::F32));
    }
    let body = writer.body(1);
    let end = writer.expression(result, 2);
    features.extend(&writer.features);
    let name = format!("h{seed}_{number}");
    let attribute = if noinline { "__attribute__((noinline)) " } else { "" };
    let params = match array {
        true => format!("{} *array, uint32_t id, uint32_t u", array_type.name()),
        false => "uint32_t id, uint32_t u, float y".into(),
    };
    let template = format!(
        "static {attribute}{0} {name}({params}) {{\nuint32_t n = 3;\n##return ({0})#;\n}}\n",
        result.name()
    );
    let places = [writer.declarations.into(), body.into(), end.into()];
    let node = CNode::of(CNodeKind::Statement, &template, places);
    (node, CHelper { name, result, array: array.then_some(array_type) })
}

/// Size of generated programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CProgramSize {
    /// In how many of a hundred there are helpers, arrays and structures.
    helpers: u32,
    arrays: u32,
    structs: u32,
    /// Statements, and how many of a hundred programs have them.
    statements: [(i32, u32); 3],
}

impl CProgramSize {
    const USUAL: CProgramSize =
        CProgramSize { helpers: 55, arrays: 65, structs: 40, statements: [(7, 40), (12, 42), (26, 18)] };
    /// Some ten times as many of them are compiled in a second.
    pub(super) const SMALL: CProgramSize =
        CProgramSize { helpers: 5, arrays: 15, structs: 5, statements: [(1, 30), (2, 40), (4, 30)] };
}

/// The program of this seed.
pub(super) fn generate(seed: u64) -> CProgram {
    generate_of(seed, CProgramSize::USUAL)
}

/// The program of this seed and size.
pub(super) fn generate_of(seed: u64, size: CProgramSize) -> CProgram {
    let mut random = Random::new(seed ^ 0xc0de);
    let is_linear = random.chance(40);
    let (mut parts, mut helpers, mut features) = (Vec::new(), Vec::new(), Vec::new());
    if random.chance(size.helpers) {
        for number in 0..random.between(1, 2) {
            let (node, helper) = helper(&mut random, seed, number, &mut features);
            parts.push(node);
            helpers.push(helper);
        }
    }
    let budget = random.weighted(&size.statements);
    let mut writer = CFunctionGenerator::new(&mut random, budget);
    writer.helpers = helpers;
    writer.declare_locals(size);
    let mut body = CNode::of(CNodeKind::Statement, "#", [writer.body(0).into()]);
    let jumps = writer.jump_texts();
    resolve(&mut body, &jumps);
    let mut last = String::new();
    for (number, (name, ty)) in writer.variables.clone().iter().enumerate() {
        let value = if ty.is_float() { format!("bits64({name})") } else { format!("(uint64_t){name}") };
        last += &format!("out[{}*n+id] += {value};\n", number % 8);
    }
    for (name, ty) in &writer.arrays {
        let value = if ty.is_float() { format!("bits64({name}[j])") } else { format!("(uint64_t){name}[j]") };
        last += &format!("for (uint32_t j = 0; j < 8; j++) out[j*n+id] ^= {value};\n");
    }
    for name in &writer.structs {
        last += &format!(
            "out[6*n+id] += (uint64_t){name}.a ^ {name}.b[2] ^ bits64({name}.c) ^ {name}.d ^ (uint64_t){name}.e;\n"
        );
    }
    features.extend(&writer.features);
    features.sort_unstable();
    features.dedup();
    let template = format!(
        "void f{seed}(uint32_t n, uint32_t u, const int32_t *in, const double *fin, uint32_t *mem, float *fio, uint64_t *out, uint32_t id) {{\n\
         uint32_t *m = mem + id * 16;\nfloat *g = fio + id * 8;\n###}}\n"
    );
    let last = CNode::text(CNodeKind::Statement, last);
    let places = [writer.declarations.into(), CPiece::Node(body), CPiece::Node(last)];
    parts.push(CNode::of(CNodeKind::Statement, &template, places));
    CProgram { seed, parts, features, is_linear }
}
