//! Statements: sequences, conditions, loops, switches, jumps into tails and out of loops.
//!
//! Every loop counts its trips and leaves at a bound, so every lane ends under every schedule. A jump forward may
//! go anywhere that its lane has not passed: out of loops, into the arms of later conditions, and, where the loop's
//! counter is set before, into the middle of a loop.

use super::writer::{
    EnclosingLoop, FunctionGenerator, Label, MemoryRegion, Reach, Temp, ValueConstraint, VariableSlot,
    WALKED, Walk, int_type, number_type,
};
use heddle_ir::inst::SwitchDetail;
use heddle_ir::words::IntPredicate;
use heddle_ir::{Block, Detail, InstData, Op, Scalar};

/// Maximum number of executions of a point in a function, per lane.
const MOST_TRIPS: u32 = 40;
/// The most statements that an arm like another one has for nothing.
const MOST_ALIKE: i32 = 6;
/// The deepest nesting of statements.
const DEEPEST: u32 = 6;

#[derive(Clone, Copy)]
enum StatementKind {
    Operation,
    Assign,
    Access,
    If,
    Loop,
    Switch,
    Break,
    Return,
    Goto,
    Web,
    GuardedDivision,
    Call,
    Horizontal,
    Assume,
    Fence,
    Count,
    Dead,
}

impl FunctionGenerator<'_> {
    /// Writes statements until some budget is used up or control ends.
    pub(super) fn sequence(&mut self, most: u32) {
        for _ in 0..most {
            if self.here.is_none() || self.budget <= 0 {
                return;
            }
            self.statement();
            self.place_some_label(18);
        }
    }

    fn statement(&mut self) {
        self.budget -= 1;
        self.cost += self.weight;
        let allowed = self.allowed;
        let deeper = self.depth < DEEPEST && self.budget > 0;
        let loops = deeper && self.weight * 2 <= MOST_TRIPS;
        let on = |yes: bool, weight: u32| if yes { weight } else { 0 };
        let in_loop = !self.loops.is_empty();
        // Statements that may take single lanes out of a loop.
        let may_part = !in_loop || !self.profile.uniform_loops;
        let kind = self.random.weighted(&[
            (StatementKind::Operation, 34),
            (StatementKind::Assign, 20),
            (StatementKind::Access, on(!self.places.is_empty() || allowed.privates, 14)),
            (StatementKind::If, on(deeper, 14)),
            (StatementKind::Loop, on(loops, 12)),
            (StatementKind::Switch, on(deeper, 3)),
            (StatementKind::Break, on(in_loop, 20)),
            (StatementKind::Return, on(allowed.returns && self.divergence > 0 && may_part, 3)),
            (StatementKind::Goto, on(allowed.gotos && self.labels.len() < 3 && may_part, 4)),
            (StatementKind::Web, on(loops && allowed.webs, 6)),
            (StatementKind::GuardedDivision, on(deeper, 2)),
            (StatementKind::Call, on(allowed.calls, 5)),
            (StatementKind::Horizontal, on(allowed.horizontals, 12)),
            (StatementKind::Assume, 1),
            (StatementKind::Fence, on(allowed.atomics, 2)),
            (StatementKind::Count, on(!self.counters.is_empty(), 6)),
            (StatementKind::Dead, on(allowed.gotos, 1)),
        ]);
        match kind {
            StatementKind::Operation => {
                for _ in 0..self.random.between(1, 3) {
                    self.operation();
                }
            }
            StatementKind::Assign => self.assign(),
            StatementKind::Access => self.access(),
            StatementKind::If => self.conditional(),
            StatementKind::Loop
                if self.profile.row_loops > 0 && self.random.chance(self.profile.row_loops) =>
            {
                self.row_loop();
            }
            StatementKind::Loop => self.repeat(0),
            StatementKind::Switch => self.choose(),
            StatementKind::Break => self.leave_or_go_on(),
            StatementKind::Return => self.return_early(),
            StatementKind::Goto => self.goto(),
            StatementKind::Web => self.web(),
            StatementKind::GuardedDivision => self.guarded_division(),
            StatementKind::Call => self.call(),
            StatementKind::Horizontal => {
                let since = self.scope();
                self.horizontal();
                self.consume(since);
            }
            StatementKind::Assume => self.assume(),
            StatementKind::Fence => self.fence(),
            StatementKind::Count => {
                let counter = self.random.pick(&self.counters);
                self.count(counter);
            }
            StatementKind::Dead => self.dead_block(),
        }
    }

    /// Writes a variable.
    fn assign(&mut self) {
        let slot = self.slots[self.random.below(self.slots.len())];
        if slot.uniform && self.divergence > 0 {
            return;
        }
        if self.random.chance(50) {
            self.operation();
        }
        let value = if !slot.clean && self.random.chance(10) {
            self.poison(slot.scalar)
        } else {
            self.pick_known(slot.scalar, ValueConstraint { clean: slot.clean, uniform: slot.uniform })
        };
        self.write(slot, value);
    }

    /// Generates an effect that is observable after the arm.
    fn show_effect(&mut self) {
        match self.random.below(5) {
            0 if self.allowed.memory => self.store_something(),
            1 => self.assign(),
            _ => self.accumulate(),
        }
    }

    /// Mixes some of the values computed since into a variable, so that they count.
    pub(super) fn consume(&mut self, since: u32) {
        for _ in 0..self.random.between(1, 2) {
            let Some(value) = self.recent(since) else { return };
            let count = self.slots.len();
            let first = self.random.below(count);
            let fits = |slot: &&VariableSlot| {
                slot.clean && !slot.uniform && slot.scalar.is_int() && slot.scalar != Scalar::I1
            };
            let (before, behind) = self.slots.split_at(first);
            let Some(&slot) = behind.iter().chain(before).find(fits) else { return };
            let old = self.read(slot);
            let mixed = self.mix(old, value);
            self.write(slot, mixed);
        }
    }

    /// One of the last values computed since.
    pub(super) fn recent(&mut self, since: u32) -> Option<Temp> {
        let first = self.pool.partition_point(|temp| temp.time < since);
        let last = &self.pool[first..];
        let last = &last[last.len().saturating_sub(8)..];
        let fits = |temp: &&Temp| temp.clean && !temp.scalar.is_ptr();
        let start = self.random.below(last.len().max(1));
        last[start..].iter().chain(&last[..start]).find(fits).copied()
    }

    /// An integer that depends on both.
    pub(super) fn mix(&mut self, old: Temp, value: Temp) -> Temp {
        let value = self.convert(value, old.scalar);
        let op = self.random.pick(&[Op::Add, Op::Xor, Op::Sub]);
        self.op(op, &[old, value])
    }

    /// Carries a variable on: what it becomes depends on what it was.
    pub(super) fn accumulate(&mut self) {
        let count = self.slots.len();
        let first = self.random.below(count);
        let fits = |slot: &VariableSlot| slot.clean && !slot.uniform && slot.scalar != Scalar::I1;
        let Some(slot) = (0..count).map(|index| self.slots[(first + index) % count]).find(fits) else {
            return;
        };
        let (old, other) = (self.read(slot), self.pick_known(slot.scalar, ValueConstraint::CLEAN));
        let op = if slot.scalar.is_float() {
            self.random.pick(&[Op::Fadd, Op::Fsub, Op::Fmul, Op::Fmax])
        } else {
            self.random.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::Umax])
        };
        let new = self.op(op, &[old, other]);
        self.write(slot, new);
    }

    /// Chooses a branch condition, uniform or not as the profile says.
    fn decide(&mut self) -> (Temp, u32) {
        let uniform = self.random.chance(self.profile.uniform_branch);
        let condition = self.condition(uniform);
        (condition, u32::from(!condition.uniform))
    }

    fn nested(&mut self, divergence: u32, most: u32) {
        self.divergence += divergence;
        self.depth += 1;
        let scope = self.scope();
        if self.random.chance(60) {
            self.show_effect();
        }
        self.sequence(most);
        if self.random.chance(60) {
            self.consume(scope);
        }
        self.leave_scope(scope);
        self.depth -= 1;
        self.divergence -= divergence;
    }

    fn length(&mut self) -> u32 {
        self.random.between(1, self.profile.longest_body)
    }

    /// `if`, or `if` and `else`.
    fn conditional(&mut self) {
        let (condition, divergence) = self.decide();
        let are_similar = self.profile.similar_arms > 0 && self.random.chance(self.profile.similar_arms);
        let has_else = are_similar || self.random.chance(45);
        let (then, join) = (self.func.new_block(), self.func.new_block());
        let otherwise = if has_else { self.func.new_block() } else { join };
        // An arm may be like another one although it is on the other side.
        let is_turned = self.profile.similar_arms > 0 && self.random.new_chance(25);
        let targets = if is_turned { (otherwise, then) } else { (then, otherwise) };
        self.branch(condition.value, targets.0, targets.1);
        let (place, budget) = (self.random.place(), self.budget);
        for arm in [Some(then), has_else.then_some(otherwise)].into_iter().flatten() {
            self.start_sealed(arm);
            let drawn = (arm == otherwise && are_similar).then_some(place);
            if drawn.is_some() {
                self.budget += (budget - self.budget).min(MOST_ALIKE);
            }
            let outer = drawn.map(|_| self.random.draw_again(drawn));
            let most = self.length();
            self.nested(divergence, most);
            if let Some(outer) = outer {
                self.random.draw_again(outer);
            }
            if self.here.is_some() {
                self.jump(join);
            }
        }
        self.join(join);
    }

    /// Goes on in the block, if any jump leads there.
    fn join(&mut self, join: Block) {
        if self.ssa.predecessors(join) > 0 {
            self.start_sealed(join);
        }
    }

    /// A number of trips: always the same, the same for all lanes, or each lane's own.
    fn trips(&mut self, scalar: Scalar, most: u32) -> Temp {
        let most = most.clamp(1, 5);
        if self.random.chance(30) {
            let trips = self.random.between(1, most);
            return self.int(scalar, trips.into());
        }
        let uniform = self.profile.uniform_loops || self.random.chance(self.profile.uniform_branch);
        let any = self.pick_known(scalar, ValueConstraint { clean: true, uniform });
        let mask = (most + 1).next_power_of_two() / 2;
        let mask = if mask > most { mask / 2 } else { mask };
        let few = self.op_int(Op::And, any, (mask.max(2) - 1).into());
        let least = self.random.below(2) as i128;
        if least == 0 { few } else { self.op_int(Op::Add, few, least) }
    }

    /// A number of trips from 0 or 1 to 4 that differs from lane to lane.
    fn divergent_trips(&mut self, scalar: Scalar) -> Temp {
        let any = self.pick_known(scalar, ValueConstraint::CLEAN);
        if !self.allowed.lanes {
            return self.op_int(Op::And, any, 3);
        }
        let data = InstData::new(Op::Lane, [], Detail::Dimension(None));
        let lane = self.define(data, Some(scalar), true, false);
        let mixed = if self.random.chance(30) {
            any
        } else {
            let op = self.random.pick(&[Op::Add, Op::Xor, Op::Sub]);
            self.op(op, &[any, lane])
        };
        let few = self.op_int(Op::And, mixed, 3);
        if self.random.chance(60) { self.op_int(Op::Add, few, 1) } else { few }
    }

    /// Generates nested loops, each with a different trip count per lane.
    pub(super) fn nest(&mut self) {
        self.repeat(2);
    }

    /// A walk along an array that is large enough, mostly one that is written.
    fn walk(&mut self, counter: VariableSlot) -> Option<Walk> {
        let is_written = self.random.chance(70);
        let suits =
            |place: &MemoryRegion| place.len >= WALKED && (!is_written || place.reach != Reach::ReadOnly);
        let place = self.place(suits).or_else(|| self.place(|place| place.len >= WALKED))?;
        let from = self.random.chance(20).then(|| {
            let any = self.pick_known(counter.scalar, ValueConstraint::CLEAN);
            let few = self.op_int(Op::And, any, 7);
            self.declare(few, true, few.uniform)
        });
        Some(Walk { counter, from, place })
    }

    /// Generates a counting loop: tested at the top or at the bottom, with or without an early exit. With a `nest` it
    /// is divergent and contains `nest - 1` nested loops.
    fn repeat(&mut self, nest: u32) {
        let scalar = self.random.pick(&[Scalar::I32, Scalar::I32, Scalar::I64, Scalar::I8]);
        let most = (MOST_TRIPS / self.weight).min(self.profile.most_trips);
        let trips = if nest > 0 { self.divergent_trips(scalar) } else { self.trips(scalar, most) };
        let divergence = u32::from(!trips.uniform);
        let zero = self.int(scalar, 0);
        let counter = self.declare(zero, true, trips.uniform);
        let walks = self.profile.walks > 0 && self.random.chance(self.profile.walks);
        let walk = if walks { self.walk(counter) } else { None };
        let id = self.next_loop;
        self.next_loop += 1;
        let [header, again, leave] = [(); 3].map(|()| self.func.new_block());

        let jumps_in =
            self.allowed.gotos && self.labels.len() < 3 && self.random.chance(self.profile.jump_into_loop);
        if jumps_in {
            let condition = self.condition(false);
            let (middle, next) = (self.func.new_block(), self.func.new_block());
            self.branch(condition.value, middle, next);
            let loops = self.loops.iter().map(|around| around.id).chain([id]).collect();
            self.labels.push(Label { block: middle, time: self.clock, loops });
            self.start_sealed(next);
        }

        let before = self.scope();
        self.jump(header);
        self.start(header);
        let tested_first = self.random.chance(60);
        if tested_first {
            if self.random.chance(30) {
                self.operation();
            }
            let count = self.read(counter);
            let goes_on = self.icmp(IntPredicate::Ult, count, trips);
            let body = self.func.new_block();
            self.branch(goes_on.value, body, leave);
            self.start_sealed(body);
        }
        let inside = if tested_first { self.scope() } else { before };

        let (weight, divergence_around) = (self.weight, self.divergence);
        self.weight *= most.clamp(2, 5);
        self.divergence += divergence + u32::from(jumps_in);
        self.depth += 1;
        self.loops.push(EnclosingLoop { id, leave, again });
        self.walks.extend(walk);
        if jumps_in {
            self.sequence(1);
            self.place_some_label(100);
        }
        for _ in 0..if walk.is_some() { self.random.between(2, 5) } else { 0 } {
            self.access();
        }
        if self.random.chance(60) {
            let count = self.read(counter);
            self.pool.push(Temp { time: self.clock, ..count });
            self.clock += 1;
        }
        if nest > 1 {
            self.accumulate();
            self.repeat(nest - 1);
        }
        let length = if nest > 0 { 2 } else { self.length() + 1 };
        self.sequence(length);
        if nest > 0 || self.random.chance(65) {
            self.accumulate();
        }
        if self.random.chance(60) {
            self.consume(inside);
        }
        if self.random.chance(50) {
            while self.place_some_label(100) {}
        }
        self.loops.pop();
        self.walks.truncate(self.walks.len() - usize::from(walk.is_some()));
        self.depth -= 1;
        (self.weight, self.divergence) = (weight, divergence_around);

        if self.here.is_some() {
            self.jump(again);
        }
        if self.ssa.predecessors(again) > 0 {
            self.start_sealed(again);
            let count = self.read(counter);
            let next = self.op_int(Op::Add, count, 1);
            self.write(counter, next);
            if tested_first {
                self.jump(header);
            } else {
                let goes_on = self.icmp(IntPredicate::Ult, next, trips);
                self.branch(goes_on.value, header, leave);
            }
        }
        self.seal(header);
        self.leave_scope(inside);
        self.join(leave);
    }

    /// `break` or `continue`, out of some of the loops, where a condition holds.
    fn leave_or_go_on(&mut self) {
        let depth = self.loops.len();
        let target = if depth > 1 && self.random.chance(25) { self.random.below(depth) } else { depth - 1 };
        let target = self.loops[target];
        let target = if self.random.chance(70) { target.leave } else { target.again };
        let (mut condition, _) = self.decide();
        let mut target = target;
        if self.profile.uniform_loops {
            // Lanes go on one by one, and leave together.
            target = self.loops[depth - 1].again;
            if self.divergence == 0 && self.random.chance(50) {
                (target, condition) = (self.loops[depth - 1].leave, self.condition(true));
            }
        }
        let next = self.func.new_block();
        if self.random.chance(25) {
            // Puts work on the exit edge, so that the exit has its own block.
            let out = self.func.new_block();
            self.branch(condition.value, out, next);
            self.start_sealed(out);
            self.nested(1, 2);
            if self.here.is_some() {
                self.jump(target);
            }
        } else if self.random.chance(50) {
            self.branch(condition.value, target, next);
        } else {
            self.branch(condition.value, next, target);
        }
        self.start_sealed(next);
    }

    /// `return` where a condition holds.
    fn return_early(&mut self) {
        let (condition, _) = self.decide();
        let (out, next) = (self.func.new_block(), self.func.new_block());
        self.branch(condition.value, out, next);
        self.start_sealed(out);
        let scope = self.scope();
        self.finish();
        self.leave_scope(scope);
        self.start_sealed(next);
    }

    /// A `switch`, whose arms may fall through into the next.
    fn choose(&mut self) {
        let scalar = int_type(self.random);
        let count = self.random.between(2, 4);
        let uniform = self.random.chance(self.profile.uniform_branch);
        let of = self.pick_known(scalar, ValueConstraint { clean: true, uniform });
        let divergence = u32::from(!of.uniform);
        let mask = count.next_power_of_two() - 1;
        let of = self.op_int(Op::And, of, mask.into());
        let join = self.func.new_block();
        let arms: Vec<Block> = (0..count).map(|_| self.func.new_block()).collect();
        let exhaustive = count == mask + 1;
        let default = match self.random.below(3) {
            0 if exhaustive && self.allowed.unreachable => self.func.new_block(),
            1 => arms[self.random.below(arms.len())],
            _ => join,
        };
        let mut targets = vec![default];
        targets.extend(&arms);
        let block = self.block();
        for &target in &targets {
            self.ssa.add_edge(block, target);
        }
        let cases = (0..u128::from(count)).collect();
        let data =
            InstData::new(Op::Switch, [of.value], Detail::Switch(Box::new(SwitchDetail { cases, targets })));
        self.put(data, None);
        self.here = None;
        if default != join && !arms.contains(&default) {
            self.start_sealed(default);
            self.put(InstData::plain(Op::Unreachable, []), None);
            self.here = None;
        }
        for (index, &arm) in arms.iter().enumerate() {
            self.start_sealed(arm);
            let most = self.length().min(3);
            self.nested(divergence, most);
            if self.here.is_some() {
                let next = arms.get(index + 1).copied().filter(|_| self.random.chance(25));
                self.jump(next.unwrap_or(join));
            }
        }
        self.join(join);
    }

    /// Generates a forward jump to a label that is placed later.
    fn goto(&mut self) {
        let (condition, _) = self.decide();
        let next = self.func.new_block();
        let old = self.labels.iter().position(|label| self.may_reach(label));
        let target = match old.filter(|_| self.random.chance(40)) {
            Some(index) => self.labels[index].block,
            None => {
                let block = self.func.new_block();
                let loops = self.loops.iter().map(|around| around.id).collect();
                self.labels.push(Label { block, time: self.clock, loops });
                block
            }
        };
        self.branch(condition.value, target, next);
        self.start_sealed(next);
    }

    /// True if a jump from here may target a label with earlier jumps: it must not enter loops.
    fn may_reach(&self, label: &Label) -> bool {
        label.loops.len() <= self.loops.len()
            && label.loops.iter().zip(&self.loops).all(|(&id, around)| id == around.id)
    }

    /// Places a pending label here, if one is allowed; returns whether it did.
    fn place_some_label(&mut self, percent: u32) -> bool {
        if self.labels.is_empty() || !self.random.chance(percent) {
            return false;
        }
        let depth = self.loops.len();
        let may_stand = |label: &Label| {
            label.loops.len() >= depth
                && label.loops.iter().zip(&self.loops).all(|(&id, around)| id == around.id)
        };
        let Some(index) = self.labels.iter().position(may_stand) else { return false };
        let label = self.labels.remove(index);
        if self.here.is_some() {
            self.jump(label.block);
        }
        self.start_sealed(label.block);
        self.pool.retain(|temp| temp.time < label.time);
        self.places.retain(|place| place.time < label.time);
        true
    }

    /// Places every label that must be placed here, since nothing follows.
    pub(super) fn place_all_labels(&mut self) {
        while self.place_some_label(100) {}
    }

    /// Blocks that jump about among each other: often a cycle with two entries.
    fn web(&mut self) {
        let count = self.random.between(2, 5) as usize;
        let nodes: Vec<Block> = (0..count).map(|_| self.func.new_block()).collect();
        let exit = self.func.new_block();
        let fuel = self.random.between(2, self.profile.most_trips.clamp(3, 6));
        let first = self.int(Scalar::I32, fuel.into());
        let fuel = self.declare(first, true, false);
        let (condition, _) = self.decide();
        if self.random.chance(80) {
            let other = 1 + self.random.below(count - 1);
            self.branch(condition.value, nodes[0], nodes[other]);
        } else {
            self.jump(nodes[0]);
        }
        let (weight, cost) = (self.weight, self.cost);
        self.weight *= 4;
        // Jumps out of the web are not loops' own breaks.
        let (loops, labels) = (std::mem::take(&mut self.loops), std::mem::take(&mut self.labels));
        let (gotos, webs) = (self.allowed.gotos, self.allowed.webs);
        (self.allowed.gotos, self.allowed.webs) = (false, false);
        let scope = self.scope();
        for (index, &node) in nodes.iter().enumerate() {
            self.start(node);
            let scope = self.scope();
            if self.random.chance(40) {
                self.accumulate();
            }
            self.nested(1, 2);
            // Control reaches every node: each leads to the next one, or was led to.
            let next = nodes.get(index + 1).copied().unwrap_or(exit);
            if self.random.chance(25) {
                self.jump(next);
                self.leave_scope(scope);
                continue;
            }
            let (condition, _) = self.decide();
            let other = self.random.below(count + 1);
            let (target, back) = match nodes.get(other) {
                Some(&node) if other <= index => (self.func.new_block(), Some(node)),
                Some(&node) => (node, None),
                None => (exit, None),
            };
            if target == next {
                self.jump(next);
            } else if self.random.chance(50) {
                self.branch(condition.value, target, next);
            } else {
                self.branch(condition.value, next, target);
            }
            if let Some(node) = back {
                self.start_sealed(target);
                let left = self.read(fuel);
                let left = self.op_int(Op::Sub, left, 1);
                self.write(fuel, left);
                let zero = self.int(Scalar::I32, 0);
                let goes_on = self.icmp(IntPredicate::Ne, left, zero);
                self.branch(goes_on.value, node, exit);
            }
            self.leave_scope(scope);
        }
        for node in nodes {
            self.seal(node);
        }
        self.leave_scope(scope);
        (self.allowed.gotos, self.allowed.webs) = (gotos, webs);
        (self.loops, self.labels) = (loops, labels);
        self.cost += (self.cost - cost) * 4;
        self.weight = weight;
        self.join(exit);
    }

    /// A division that only runs where its divisor is not 0.
    fn guarded_division(&mut self) {
        let scalar = int_type(self.random);
        let (a, b) = (
            self.pick_known(scalar, ValueConstraint::CLEAN),
            self.pick_known(scalar, ValueConstraint::CLEAN),
        );
        let slot = self.declare(a, true, false);
        let zero = self.int(scalar, 0);
        let divides = self.icmp(IntPredicate::Ne, b, zero);
        let (then, join) = (self.func.new_block(), self.func.new_block());
        self.branch(divides.value, then, join);
        self.start_sealed(then);
        let scope = self.scope();
        let op = self.random.pick(&[Op::Udiv, Op::Urem]);
        let quotient = self.op(op, &[a, b]);
        self.write(slot, quotient);
        self.jump(join);
        self.leave_scope(scope);
        self.start_sealed(join);
        let joined = self.read(slot);
        self.pool.push(Temp { time: self.clock, ..joined });
        self.clock += 1;
    }

    /// Generates unreachable code that jumps to reachable code.
    fn dead_block(&mut self) {
        let (dead, join) = (self.func.new_block(), self.func.new_block());
        self.jump(join);
        self.start_sealed(dead);
        let scope = self.scope();
        self.operation();
        self.assign();
        if self.here.is_some() {
            self.jump(join);
        }
        self.leave_scope(scope);
        self.start_sealed(join);
    }

    /// Calls a function that was written before.
    pub(super) fn call(&mut self) {
        if self.known.is_empty() {
            return;
        }
        let known = &self.known[self.random.below(self.known.len())];
        if self.weight * known.cost.max(1) > self.profile.most_cost {
            return;
        }
        self.call_known(known);
    }

    /// Gives the values that the function returns, or ends it.
    pub(super) fn finish(&mut self) {
        if self.random.chance(50) && self.allowed.memory {
            self.store_something();
        }
        let mut values = Vec::new();
        for index in 0..self.results.len() {
            let scalar = self.results[index];
            values.push(self.pick_known(scalar, ValueConstraint::CLEAN).value);
        }
        self.put(InstData::plain(Op::Ret, values), None);
        self.here = None;
    }

    /// The variables that every function starts with.
    pub(super) fn declare_slots(&mut self) {
        let count = self.random.between(3, 7);
        for index in 0..count {
            let scalar = if index == 0 { Scalar::I32 } else { number_type(self.random) };
            let clean = index == 0 || !self.random.chance(12);
            let uniform = index != 0 && self.random.chance(18);
            let first = if !clean && self.random.chance(40) {
                self.poison(scalar)
            } else {
                self.pick(scalar, ValueConstraint { clean: true, uniform })
            };
            let slot = self.declare(first, clean, uniform);
            self.slots.push(slot);
        }
    }
}
