//! Statements of generated C: all control flow terminates, because every iteration is counted.

use super::expression::CType;
use super::generate::CFunctionGenerator;
use super::tree::{CNode, CNodeKind, CPiece};

const MOST_DEPTH: u32 = 4;
const MOST_LOOPS: u32 = 3;

fn statement(template: &str, places: Vec<CPiece>) -> CNode {
    CNode::of(CNodeKind::Statement, template, places)
}

impl CFunctionGenerator<'_> {
    /// A few statements.
    pub(super) fn body(&mut self, depth: u32) -> Vec<CNode> {
        let count = if depth == 0 { self.random.between(5, 12) } else { self.random.between(1, 4) };
        let mut nodes = Vec::new();
        for _ in 0..count {
            if self.budget <= 0 {
                break;
            }
            self.budget -= 1;
            if self.may_label() && self.random.chance(14) {
                self.position += 1;
                self.labels.push(self.position);
                nodes.push(CNode::text(CNodeKind::Statement, format!("L{}:;", self.labels.len() - 1)));
            }
            nodes.push(self.statement(depth));
        }
        nodes
    }

    fn may_label(&self) -> bool {
        !self.is_helper && self.no_labels == 0
    }

    fn statement(&mut self, depth: u32) -> CNode {
        let is_deep = depth >= MOST_DEPTH;
        match self.random.below(100) {
            0..22 => self.assignment(),
            22..36 => self.store(),
            36..50 if !is_deep => self.branch(depth),
            50..66 if !is_deep && self.loops < MOST_LOOPS => self.a_loop(depth),
            66..71 if !is_deep => self.switch(depth),
            71..74 if !is_deep && self.loops < MOST_LOOPS => self.duff(depth),
            74..82 if self.may_label() => self.jump(),
            82..85 if self.inside > 0 => self.leave_loop(),
            85..88 => self.early_return(),
            88..90 if !is_deep && self.loops < 2 => self.explicit_stack(depth),
            90..92 if !self.is_helper => self.guarded_load(),
            92..94 => self.guarded_division(),
            94..96 if !is_deep => self.inner_array(depth),
            96..98 => self.move_pointer(),
            98.. => self.call_of_array_helper(),
            _ => self.assignment(),
        }
    }

    fn assignment(&mut self) -> CNode {
        let Some((name, ty)) = self.random_target() else { return self.store() };
        let value = self.expression(ty, 3);
        if ty.is_float() {
            let op = self.random.pick(&["=", "=", "+=", "*=", "-="]);
            return statement(&format!("{name} {op} #;"), vec![value.into()]);
        }
        match self.random.below(4) {
            0 => {
                let op = self.random.pick(&["+", "^", "-", "|", "*"]);
                let wide = if matches!(ty, CType::S64 | CType::U64) { "uint64_t" } else { "uint32_t" };
                let ty = ty.name();
                statement(&format!("{name} = ({ty})(({wide}){name} {op} ({wide})#);"), vec![value.into()])
            }
            _ => statement(&format!("{name} = ({})#;", ty.name()), vec![value.into()]),
        }
    }

    fn store(&mut self) -> CNode {
        let index = self.int(1);
        match self.random.below(8) {
            0..2 if !self.is_helper => {
                let value = self.int(3);
                statement("m[(uint32_t)#&15] = (uint32_t)#;", vec![index.into(), value.into()])
            }
            2 if !self.is_helper => {
                let value = self.float(2);
                statement("g[(uint32_t)#&7] = (float)#;", vec![index.into(), value.into()])
            }
            3 if !self.is_helper => {
                let value = self.int(2);
                statement("out[((uint32_t)#&7)*n+id] ^= (uint64_t)#;", vec![index.into(), value.into()])
            }
            4 if !self.is_helper => {
                let value = self.float(2);
                statement("out[((uint32_t)#&7)*n+id] += bits64(#);", vec![index.into(), value.into()])
            }
            _ => match self.random_element() {
                Some((place, ty)) => {
                    let value = self.expression(ty, 2);
                    let template = format!("{place} = ({})#;", ty.name());
                    statement(&template, vec![index.into(), value.into()])
                }
                None => self.assignment(),
            },
        }
    }

    fn branch(&mut self, depth: u32) -> CNode {
        let condition = self.condition(2);
        let then = self.body(depth + 1);
        if self.random.chance(45) {
            let otherwise = self.body(depth + 1);
            return statement(
                "if (#) {\n#} else {\n#}",
                vec![condition.into(), then.into(), otherwise.into()],
            );
        }
        statement("if (#) {\n#}", vec![condition.into(), then.into()])
    }

    fn counter(&mut self, letter: char) -> String {
        self.counters += 1;
        let name = format!("{letter}{}", self.counters);
        self.declare(&format!("int32_t {name} = 0;"));
        name
    }

    /// Returns the trip bound of a loop, as C: a number, or a smaller one for some lanes.
    fn trips(&mut self) -> CPiece {
        match self.random.below(4) {
            0 => CNode::text(CNodeKind::Int, self.random.pick(&["2", "3", "5"])).into(),
            1 => CNode::text(CNodeKind::Int, self.random.pick(&["(int32_t)(u&3)", "(int32_t)(n&7)"])).into(),
            _ => {
                let bound = self.int(1);
                CNode::of(CNodeKind::Int, "(int32_t)((uint32_t)#&7)", [bound.into()]).into()
            }
        }
    }

    fn a_loop(&mut self, depth: u32) -> CNode {
        self.loops += 1;
        if self.loops > 1 {
            self.feature("nested loops");
        }
        let counter = self.counter('i');
        let trips = self.trips();
        let condition = self.condition(2);
        self.readable.push(counter.clone());
        self.inside += 1;
        let body = self.body(depth + 1);
        self.inside -= 1;
        let node = match self.random.below(5) {
            0 => statement(
                &format!("for ({counter} = 0; {counter} < # && #; {counter}++) {{\n#}}"),
                vec![trips, condition.into(), body.into()],
            ),
            1 => statement(
                &format!("while (# && {counter}++ < 6) {{\n#}}"),
                vec![condition.into(), body.into()],
            ),
            2 => {
                let start = self.random.pick(&["", "= 0"]);
                let start = if start.is_empty() { String::new() } else { format!("{counter} {start};\n") };
                statement(
                    &format!("{start}do {{\n#}} while (# && ++{counter} < 5);"),
                    vec![body.into(), condition.into()],
                )
            }
            3 => statement(
                &format!("for ({counter} = 5; {counter} > 0; {counter} -= 2) {{\n#}}"),
                vec![body.into()],
            ),
            _ => statement(
                &format!("for ({counter} = 0; {counter} < #; {counter}++) {{\n#}}"),
                vec![trips, body.into()],
            ),
        };
        self.loops -= 1;
        node
    }

    fn leave_loop(&mut self) -> CNode {
        let word = self.random.pick(&["break", "continue"]);
        self.feature(if word == "break" { "break" } else { "continue" });
        let condition = self.condition(2);
        statement(&format!("if (#) {word};"), vec![condition.into()])
    }

    fn switch(&mut self, depth: u32) -> CNode {
        self.feature("switches");
        let value = self.int(2);
        let cases = self.random.between(2, 5);
        let default = self.random.below(cases as usize + 2) as u32;
        let mut template = String::from("switch ((uint32_t)#&7) {\n");
        let mut places: Vec<CPiece> = vec![value.into()];
        let mut first = self.random.between(0, 2);
        for case in 0..cases {
            template += &format!("case {first}:");
            first += self.random.between(1, 2);
            if case == default {
                template += " default:";
            }
            template += "\n#";
            places.push(self.body(depth + 1).into());
            if self.random.chance(55) {
                template += "break;\n";
            } else {
                self.feature("fallthrough");
            }
        }
        template += ";\n}";
        statement(&template, places)
    }

    /// A switch into the middle of a loop.
    fn duff(&mut self, depth: u32) -> CNode {
        self.feature("switches into loops");
        self.loops += 1;
        let counter = self.counter('d');
        let (value, trips) = (self.int(1), self.trips());
        self.inside += 1;
        let bodies = [(); 3].map(|()| CPiece::from(self.body(depth + 1)));
        self.inside -= 1;
        self.loops -= 1;
        let [a, b, c] = bodies;
        statement(
            &format!(
                "{counter} = #;\nswitch ((uint32_t)#&3) {{\ncase 0: do {{\n#case 3:;\n#case 1:;\n#}} while (--{counter} > 0);\n}}"
            ),
            vec![trips, value.into(), a, b, c],
        )
    }

    fn jump(&mut self) -> CNode {
        self.position += 1;
        self.jumps.push(self.position);
        let condition = self.condition(2);
        statement("if (#) #", vec![condition.into(), CPiece::Jump(self.jumps.len() - 1)])
    }

    fn early_return(&mut self) -> CNode {
        self.feature("early returns");
        let condition = self.condition(3);
        if self.is_helper {
            let value = self.expression(self.result, 1);
            let template = format!("if (#) return ({})#;", self.result.name());
            return statement(&template, vec![condition.into(), value.into()]);
        }
        let value = self.int(2);
        statement("if (#) { out[7*n+id] += (uint64_t)#; return; }", vec![condition.into(), value.into()])
    }

    /// Generates a work list on an explicit stack.
    fn explicit_stack(&mut self, depth: u32) -> CNode {
        self.feature("explicit stacks");
        self.loops += 1;
        let (top, steps, seen) = (self.counter('t'), self.counter('w'), self.counter('v'));
        let stack = format!("stack{}", self.counters);
        self.declare(&format!("uint16_t {stack}[8] = {{0}};"));
        self.readable.push(seen.clone());
        let (first, left, right) = (self.int(1), self.condition(2), self.condition(2));
        self.inside += 1;
        let body = self.body(depth + 1);
        self.inside -= 1;
        self.loops -= 1;
        let mut template = format!("{top} = 0; {steps} = 0;\n{stack}[{top}++] = (uint16_t)#;\n");
        template += &format!("while ({top} > 0 && {steps}++ < 12) {{\n{seen} = {stack}[--{top}];\n#");
        template += &format!("if ({top} < 7 && #) {stack}[{top}++] = (uint16_t)({seen} * 2 + 1);\n");
        template += &format!("if ({top} < 7 && #) {stack}[{top}++] = (uint16_t)({seen} >> 1);\n}}");
        statement(&template, vec![first.into(), body.into(), left.into(), right.into()])
    }

    /// A pointer that is null in some lanes.
    fn guarded_load(&mut self) -> CNode {
        self.feature("guarded loads");
        self.counters += 1;
        let name = format!("q{}", self.counters);
        self.declare(&format!("const uint32_t *{name} = 0;"));
        let (condition, offset, index) = (self.condition(2), self.int(1), self.int(1));
        let target = self.random_int_target().unwrap_or("out[id]".into());
        statement(
            &format!("{name} = # ? m + ((uint32_t)#&7) : 0;\nif ({name}) {target} += {name}[(uint32_t)#&7];"),
            vec![condition.into(), offset.into(), index.into()],
        )
    }

    fn guarded_division(&mut self) -> CNode {
        self.feature("guarded divisions");
        self.counters += 1;
        let (name, op) = (format!("z{}", self.counters), self.random.pick(&["/", "%"]));
        let (ty, limit) =
            self.random.pick(&[("uint32_t", ""), ("uint64_t", ""), ("int32_t", " > 0"), ("uint8_t", "")]);
        self.declare(&format!("{ty} {name} = 0;"));
        let (divisor, number) = (self.int(2), self.int(2));
        let Some(target) = self.random_int_target() else { return self.store() };
        statement(
            &format!("{name} = ({ty})#;\nif ({name}{limit}) {target} ^= ({ty})#{op}{name};"),
            vec![divisor.into(), number.into()],
        )
    }

    /// An array that lives in a block only.
    fn inner_array(&mut self, depth: u32) -> CNode {
        self.feature("local arrays");
        self.counters += 1;
        let name = format!("b{}", self.counters);
        let ty = self.random.pick(&CType::INTS);
        let (first, step) = (self.int(1), self.int(1));
        self.no_labels += 1;
        self.arrays.push((name.clone(), ty));
        let body = self.body(depth + 1);
        self.arrays.retain(|(array, _)| *array != name);
        self.no_labels -= 1;
        let ty = ty.name();
        statement(
            &format!(
                "{{\n{ty} {name}[8];\nfor (int32_t j = 0; j < 8; j++) {name}[j] = ({ty})((uint32_t)# + (uint32_t)j * (uint32_t)#);\n#}}"
            ),
            vec![first.into(), step.into(), body.into()],
        )
    }

    fn move_pointer(&mut self) -> CNode {
        let Some((pointer, arrays)) = self.random_pointer() else { return self.assignment() };
        self.feature("pointers to locals");
        let (a, b) = (self.random.pick(&arrays), self.random.pick(&arrays));
        let (condition, here, there) = (self.condition(2), self.int(1), self.int(1));
        statement(
            &format!(
                "{pointer} = # ? {} + ((uint32_t)#&3) : {} + ((uint32_t)#&3);",
                self.array_name(a),
                self.array_name(b)
            ),
            vec![condition.into(), here.into(), there.into()],
        )
    }
}
