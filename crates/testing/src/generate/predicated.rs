//! Linearized control flow, in the form that a linearizer leaves.
//!
//! Conditions become masks, arms follow each other under their predicates, and selects join their results. A mask is
//! `select(parent, condition, false)`, defined in every lane. Uniform branches stay branches. Loops stay loops, run
//! while any lane is live, and keep the live-out values of each lane. So nothing depends on values of passive lanes,
//! and FREEZING and OBLIVIOUS agree.
//!
//! ```text
//!   before ──► then [m1] ──► else [m2] ──► join       before ──► head ──► body [live] ──► latch ──► head
//!                                                                  └────► join
//! ```

use super::program::{InputShape, ModuleGenerator, ProgramTraits};
use super::writer::{
    AllowedFeatures, FunctionGenerator, Reach, Temp, ValueConstraint, int_type, number_type,
};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Detail, Function, InstData, Op, Scalar, Type, Value};

/// Maximum nesting of linearized statements.
const DEEPEST: u32 = 4;

impl ModuleGenerator<'_> {
    /// Generates a function with linearized control flow.
    pub(super) fn predicated(&mut self, budget: i32) -> (String, InputShape, ProgramTraits) {
        let shape = self.shape();
        if self.random.chance(20) {
            self.add_global();
        }
        let results = self.results();
        let signature = self.signature(&shape, &results);
        let allowed = AllowedFeatures { control: false, calls: false, atomics: false, ..self.allowed() };
        let func = Function::new("main", signature);
        let globals = self.module.globals.clone();
        let mut writer =
            FunctionGenerator::new(self.random, self.profile, func, &self.known, allowed, budget);
        writer.add_params(&shape, false);
        writer.use_globals(&globals);
        let mut vars = writer.first_vars();
        if writer.allowed.privates {
            for _ in 0..writer.random.between(0, 2) {
                writer.allocate();
            }
        }
        while writer.budget > 0 {
            let most = writer.budget as u32;
            writer.folded(None, &mut vars, most);
        }
        writer.finish_linearized(&vars);
        self.module.functions.push(writer.func);
        ("main".into(), shape, self.traits())
    }
}

#[derive(Clone, Copy)]
enum PredicatedStatementKind {
    Operation,
    Assign,
    Access,
    Horizontal,
    Total,
    If,
    UniformIf,
    Loop,
    Division,
}

impl FunctionGenerator<'_> {
    fn first_vars(&mut self) -> Vec<Temp> {
        (0..self.random.between(2, 5))
            .map(|index| {
                let scalar = if index == 0 { Scalar::I32 } else { number_type(self.random) };
                self.pick_known(scalar, ValueConstraint::CLEAN)
            })
            .collect()
    }

    fn start_linearized(&mut self, block: Block, mask: Option<Value>) {
        self.start_sealed(block);
        self.func.set_predicate(block, mask);
    }

    /// Goes on in a new block under this mask.
    fn next_block(&mut self, mask: Option<Value>) {
        let block = self.func.new_block();
        self.jump(block);
        self.start_linearized(block, mask);
    }

    /// Makes the variables' values ones that may be picked.
    fn offer(&mut self, vars: &[Temp]) {
        for var in vars {
            self.pool.push(Temp { time: self.clock, ..*var });
            self.clock += 1;
        }
    }

    /// Statements in blocks under this mask.
    fn folded(&mut self, mask: Option<Value>, vars: &mut [Temp], most: u32) {
        for _ in 0..most {
            if self.budget <= 0 {
                return;
            }
            self.budget -= 1;
            let deeper = self.depth < DEEPEST && self.budget > 0;
            let on = |yes: bool, weight: u32| if yes { weight } else { 0 };
            let kind = self.random.weighted(&[
                (PredicatedStatementKind::Operation, 32),
                (PredicatedStatementKind::Assign, 18),
                (PredicatedStatementKind::Access, 12),
                (PredicatedStatementKind::Horizontal, on(self.allowed.horizontals, 10)),
                (PredicatedStatementKind::Total, 4),
                (PredicatedStatementKind::If, on(deeper, 22)),
                (PredicatedStatementKind::UniformIf, on(deeper, 4)),
                (PredicatedStatementKind::Loop, on(deeper && self.weight <= 9, 8)),
                (PredicatedStatementKind::Division, on(deeper, 2)),
            ]);
            match kind {
                PredicatedStatementKind::Operation => {
                    for _ in 0..self.random.between(1, 2) {
                        self.operation();
                    }
                }
                PredicatedStatementKind::Assign => {
                    if self.random.chance(50) {
                        self.operation();
                    }
                    let index = self.random.below(vars.len());
                    vars[index] = self.pick_known(vars[index].scalar, ValueConstraint::CLEAN);
                }
                PredicatedStatementKind::Access => self.access(),
                PredicatedStatementKind::Horizontal => {
                    let since = self.scope();
                    self.horizontal();
                    self.consume_linearized(since, vars);
                }
                PredicatedStatementKind::Total => self.total_operation(),
                PredicatedStatementKind::If => self.linearized_if(mask, vars),
                PredicatedStatementKind::UniformIf => self.uniform_if(mask, vars),
                PredicatedStatementKind::Loop => self.linearized_loop(mask, vars),
                PredicatedStatementKind::Division => self.linearized_division(mask, vars),
            }
        }
    }

    fn inner(&mut self, mask: Option<Value>, vars: &mut [Temp]) {
        self.depth += 1;
        self.offer(vars);
        let most = self.random.between(1, self.profile.longest_body);
        let since = self.scope();
        self.folded(mask, vars, most);
        if self.random.chance(60) {
            self.consume_linearized(since, vars);
        }
        if self.random.chance(40) {
            self.store_something();
        }
        self.depth -= 1;
    }

    /// Mixes a value computed since into a variable, so that it counts.
    fn consume_linearized(&mut self, since: u32, vars: &mut [Temp]) {
        let Some(value) = self.recent(since) else { return };
        let fits = |var: &&mut Temp| var.scalar.is_int() && var.scalar != Scalar::I1;
        let Some(var) = vars.iter_mut().find(fits) else { return };
        *var = self.mix(*var, value);
    }

    /// Computes the lanes of the parent where the condition holds; defined in every lane.
    fn mask_of(&mut self, parent: Option<Value>, condition: Value) -> Value {
        let Some(parent) = parent else { return condition };
        let no = self.func.make_bool(false);
        let data = InstData::plain(Op::Select, [parent, condition, no]).total();
        let inst = self.put(data, None);
        self.func.result(inst).expect("a select gives one value")
    }

    fn not(&mut self, condition: Value) -> Value {
        let yes = self.func.make_bool(true);
        let inst = self.put(InstData::plain(Op::Xor, [condition, yes]), None);
        self.func.result(inst).expect("an xor gives one value")
    }

    fn choose_var(&mut self, mask: Value, then: Temp, otherwise: Temp, total: bool) -> Temp {
        let data = InstData::plain(Op::Select, [mask, then.value, otherwise.value]);
        let data = if total { data.total() } else { data };
        self.define(data, None, true, false)
    }

    /// A condition that became masks: one arm, or two.
    fn linearized_if(&mut self, parent: Option<Value>, vars: &mut [Temp]) {
        let condition = self.condition(false);
        let then_mask = self.mask_of(parent, condition.value);
        let has_else = self.random.chance(50);
        let else_mask = has_else.then(|| {
            let not = self.not(condition.value);
            self.mask_of(parent, not)
        });
        let scope = self.scope();
        self.next_block(Some(then_mask));
        let mut then_vars = vars.to_vec();
        self.inner(Some(then_mask), &mut then_vars);
        let joins_early = else_mask.is_none() && self.random.chance(40);
        let mut joined = vars.to_vec();
        if joins_early {
            // In the arm's own block, for all lanes: the blend of a value that passive lanes keep.
            for (index, var) in vars.iter().enumerate() {
                if then_vars[index].value != var.value {
                    joined[index] = self.choose_var(then_mask, then_vars[index], *var, true);
                }
            }
        }
        self.leave_scope(scope);
        let mut else_vars = vars.to_vec();
        if let Some(else_mask) = else_mask {
            self.next_block(Some(else_mask));
            self.inner(Some(else_mask), &mut else_vars);
            self.leave_scope(scope);
        }
        self.next_block(parent);
        for (index, var) in vars.iter_mut().enumerate() {
            if joins_early {
                *var = joined[index];
            } else if then_vars[index].value != else_vars[index].value {
                *var = self.choose_var(then_mask, then_vars[index], else_vars[index], false);
            } else {
                *var = then_vars[index];
            }
        }
        self.offer(vars);
    }

    /// A condition that is the same in all lanes and defined in all of them: a branch.
    fn uniform_if(&mut self, mask: Option<Value>, vars: &mut [Temp]) {
        let known: Vec<Value> = self.everywhere(true);
        let Some(&value) = known.get(self.random.below(known.len().max(1))) else { return };
        let scalar = self.func.value_type(value).scalar();
        if !scalar.is_int() {
            return;
        }
        let of = Temp { value, scalar, time: 0, clean: true, uniform: true };
        let bound = self.any_constant(scalar);
        let predicate = self.random.pick(IntPredicate::ALL);
        let data = InstData::new(Op::Icmp, [of.value, bound.value], Detail::IntCompare(predicate)).total();
        let condition = self.define(data, None, true, true);
        let [then, otherwise, join] = [(); 3].map(|()| self.func.new_block());
        self.branch(condition.value, then, otherwise);
        let scope = self.scope();
        let mut arms = Vec::new();
        for arm in [then, otherwise] {
            self.start_linearized(arm, mask);
            let mut arm_vars = vars.to_vec();
            self.inner(mask, &mut arm_vars);
            let end = self.block();
            self.jump(join);
            self.leave_scope(scope);
            arms.push((end, arm_vars));
        }
        self.start_linearized(join, mask);
        for (index, var) in vars.iter_mut().enumerate() {
            let incoming = [0, 1].map(|arm: usize| (arms[arm].0, arms[arm].1[index].value));
            if incoming[0].1 == incoming[1].1 {
                *var = arms[0].1[index];
            } else {
                let data = InstData::phi(incoming, None);
                *var = self.define(data, Some(var.scalar), true, false);
            }
        }
        self.offer(vars);
    }

    /// A loop that runs while some lane is live.
    fn linearized_loop(&mut self, parent: Option<Value>, vars: &mut [Temp]) {
        let before = self.block();
        let [head, body, latch, join] = [(); 4].map(|()| self.func.new_block());
        self.jump(head);

        // The φs get their second values once the latch is written.
        self.start(head);
        let (yes, no) = (self.func.make_bool(true), self.func.make_bool(false));
        let shadow = self.random.chance(60).then_some(no);
        let scope = self.scope();
        let phi = |writer: &mut Self, first: Value, scalar: Scalar, shadow: Option<Value>| {
            let data = InstData::phi([(before, first)], shadow);
            let inst = writer.put(data, Some(Type::Scalar(scalar)));
            (inst, writer.func.result(inst).expect("a φ gives one value"))
        };
        let (live_phi, live) = phi(self, parent.unwrap_or(yes), Scalar::I1, shadow);
        let zero = self.int(Scalar::I32, 0);
        let (count_phi, count) = phi(self, zero.value, Scalar::I32, None);
        let carried: Vec<_> = vars.iter().map(|var| phi(self, var.value, var.scalar, None)).collect();
        let left: Vec<_> = vars.iter().map(|var| phi(self, var.value, var.scalar, None)).collect();
        let some = self.put(InstData::plain(Op::Any, [live]), None);
        let some = self.func.result(some).expect("`any` gives one value");
        self.branch(some, body, join);

        self.start_linearized(body, Some(live));
        let weight = self.weight;
        self.weight *= 3;
        let mut inside: Vec<Temp> = vars
            .iter()
            .zip(&carried)
            .map(|(var, &(_, value))| Temp {
                value,
                scalar: var.scalar,
                time: 0,
                clean: true,
                uniform: false,
            })
            .collect();
        self.inner(Some(live), &mut inside);
        let stays = self.condition(false);
        let end = self.block();
        debug_assert_eq!(self.func.predicate(end), Some(live));
        self.jump(latch);

        self.start_linearized(latch, None);
        let most = self.random.between(1, 3);
        let one = self.int(Scalar::I32, 1);
        let most = self.int(Scalar::I32, most.into());
        let count = Temp { value: count, scalar: Scalar::I32, time: 0, clean: true, uniform: true };
        let next = self.op(Op::Add, &[count, one]);
        let goes_on = self.icmp(IntPredicate::Ult, next, most);
        let put = |writer: &mut Self, operands: [Value; 3], total: bool| {
            let data = InstData::plain(Op::Select, operands);
            let inst = writer.put(if total { data.total() } else { data }, None);
            writer.func.result(inst).expect("a select gives one value")
        };
        let stays = put(self, [live, stays.value, no], true);
        let stays = put(self, [stays, goes_on.value, no], true);
        let mut seconds = vec![(live_phi, stays), (count_phi, next.value)];
        for (index, var) in inside.iter().enumerate() {
            seconds.push((carried[index].0, var.value));
            let kept = put(self, [live, var.value, left[index].1], false);
            seconds.push((left[index].0, kept));
        }
        self.jump(head);
        for (inst, value) in seconds {
            let shadow = self.func.inst(inst).shadow();
            let first = self.func.inst(inst).args[0];
            *self.func.inst_mut(inst) = InstData::phi([(before, first), (latch, value)], shadow);
        }
        self.seal(head);
        self.weight = weight;
        self.leave_scope(scope);

        self.start_linearized(join, parent);
        for (var, &(_, value)) in vars.iter_mut().zip(&left) {
            *var = Temp { value, scalar: var.scalar, time: self.clock, clean: true, uniform: false };
        }
        self.offer(vars);
    }

    /// A division under the mask of the lanes whose divisor is not 0.
    fn linearized_division(&mut self, parent: Option<Value>, vars: &mut [Temp]) {
        let scalar = int_type(self.random);
        let (a, b) = (
            self.pick_known(scalar, ValueConstraint::CLEAN),
            self.pick_known(scalar, ValueConstraint::CLEAN),
        );
        let zero = self.int(scalar, 0);
        let divides = self.icmp(IntPredicate::Ne, b, zero);
        let mask = self.mask_of(parent, divides.value);
        let scope = self.scope();
        self.next_block(Some(mask));
        let op = self.random.pick(&[Op::Udiv, Op::Urem]);
        let quotient = self.op(op, &[a, b]);
        self.leave_scope(scope);
        self.next_block(parent);
        let joined = self.choose_var(mask, quotient, a, false);
        if let Some(var) = vars.iter_mut().find(|var| var.scalar == scalar) {
            *var = joined;
        }
    }

    /// Values that are defined in every lane wherever they are used: parameters.
    fn everywhere(&self, uniform: bool) -> Vec<Value> {
        self.pool
            .iter()
            .filter(|temp| self.func.params().contains(&temp.value) && (temp.uniform || !uniform))
            .map(|temp| temp.value)
            .collect()
    }

    /// An operation that all lanes execute, on what all lanes have.
    fn total_operation(&mut self) {
        let known = self.everywhere(false);
        let Some(&value) = known.get(self.random.below(known.len().max(1))) else { return };
        let scalar = self.func.value_type(value).scalar();
        if scalar == Scalar::I1 && self.allowed.horizontals {
            let op = self.random.pick(&[Op::Any, Op::All]);
            self.define(InstData::plain(op, [value]).total(), None, true, true);
        } else if scalar.is_int() {
            let op = self.random.pick(&[Op::Add, Op::Xor, Op::Umin, Op::Mul]);
            let other = self.any_constant(scalar);
            self.define(InstData::plain(op, [value, other.value]).total(), None, true, false);
        } else if scalar.is_float() {
            self.define(InstData::plain(Op::Fneg, [value]).total(), None, true, false);
        }
    }

    /// Stores what the variables hold and returns.
    fn finish_linearized(&mut self, vars: &[Temp]) {
        self.offer(vars);
        for &var in vars {
            let Some(place) = self.place(|place| place.reach == Reach::Own) else { break };
            let value = self.convert(var, place.scalar);
            self.store(value, place);
        }
        self.finish();
    }
}
