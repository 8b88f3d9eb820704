//! Checks the claims of the divergence analysis against a run.
//!
//! Each step of the trace is compared with the claims. Lanes that execute an instruction together match its shape, and
//! stay together at uniform branches. They leave loops in the same iteration by edges claimed so, and reach blocks all
//! or none where claimed. Shared objects get a single copy: stores go to it, and loads must find their value in it.
//! Addresses of access groups are compared where the groups' conditions hold, and brushes as far as levels reach.
//!
//! Values of lanes that predicates disable are poison only under OBLIVIOUS, so predicated programs must run in that
//! semantics.

use crate::levels_oracle::Levels;
use heddle_analysis::shape::{Geometry, Poison, Shape};
use heddle_analysis::{
    AccessGroup, AccessGroups, Activation, ControlTables, Cycle, Divergence, Edge, InitialShapes, divergence,
};
use heddle_interp::{Datum, LaneSet, LaneSuccessor, Trace, TraceStep};
use heddle_ir::entity::EntitySet;
use heddle_ir::ops::Op;
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::{Block, Detail, Function, Inst, InstData, Module, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The claims about one function.
#[derive(Debug)]
pub struct Claims<'m> {
    /// The function.
    pub func: &'m Function,
    /// Its control flow.
    pub control: ControlTables,
    /// Shapes assumed on entry.
    pub initial: InitialShapes,
    /// Where lanes are in truth.
    pub brush: Geometry,
    /// Claimed divergence.
    pub divergence: Divergence,
    /// Claimed access groups.
    pub accesses: AccessGroups,
    /// Blocks that all lanes execute or none.
    pub region: EntitySet<Block>,
}

impl<'m> Claims<'m> {
    /// Analyzes a function; `None` if it is irreducible.
    pub fn new(func: &'m Function, initial: InitialShapes, brush: &[u32]) -> Option<Claims<'m>> {
        let control = ControlTables::new(func);
        if !control.cycles.is_graph_reducible() {
            return None;
        }
        let divergence = divergence(func, &control, &initial);
        let accesses = AccessGroups::new(func, &control, &divergence, &initial.geometry);
        let region = divergence.region_of_nondivergence(&control);
        Some(Claims { func, control, initial, brush: Geometry::brush(brush), divergence, accesses, region })
    }
}

/// Number of checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckCounts {
    /// Executions of instructions with a result.
    pub executions: u64,
    /// Of those, executions by at least two lanes that agreed.
    pub uniform: u64,
    /// Of those, the ones claimed to be.
    pub proved: u64,
    /// Branches that at least two lanes executed together, without divergence.
    pub branches: u64,
    /// Of those, the ones claimed to be uniform.
    pub proved_branches: u64,
    /// Loads that found what they should in the one copy for all lanes.
    pub shared_loads: u64,
    /// Addresses of lanes that were compared with another one's of their access group.
    pub addresses: u64,
    /// Of those, the ones where conditions had to hold first.
    pub conditional: u64,
    /// Comparisons between brushes.
    pub across_brushes: u64,
}

impl CheckCounts {
    /// Adds what another run looked at.
    pub fn add(&mut self, other: &CheckCounts) {
        self.executions += other.executions;
        self.uniform += other.uniform;
        self.proved += other.proved;
        self.branches += other.branches;
        self.proved_branches += other.proved_branches;
        self.shared_loads += other.shared_loads;
        self.addresses += other.addresses;
        self.conditional += other.conditional;
        self.across_brushes += other.across_brushes;
    }
}

/// Checks all claims on a trace. `claims` has an entry for each function of the module.
pub fn check_trace(
    module: &Module,
    claims: &[Option<Claims<'_>>],
    trace: &Trace,
) -> Result<CheckCounts, String> {
    let mut frames: FxHashMap<(u32, u32, u32), Frame> = FxHashMap::default();
    let mut checked = CheckCounts::default();
    let mut levels = Levels::default();
    for (number, step) in trace.steps.iter().enumerate() {
        let Some(Some(claims)) = claims.get(step.func as usize) else { continue };
        let key = (step.brush, step.depth, step.func);
        let is_fresh = step.control.iter().all(|lane| step.from[lane].is_none());
        if !step.control.is_empty() && is_fresh && step.block == claims.func.entry() {
            if let Some(frame) = frames.remove(&key) {
                frame.finish(claims).map_err(|reason| at(module, step, &reason))?;
            }
            frames.insert(key, Frame::new(step));
        }
        let Some(frame) = frames.get_mut(&key) else { continue };
        frame.step(claims, step, number as u64, &mut checked).map_err(|reason| at(module, step, &reason))?;
        if step.depth == 0
            && !step.next.is_empty()
            && let Some(lane) = step.active.iter().next()
        {
            let round = |cycle| frame.stays.get(&(lane, cycle)).map_or(0, |stay| stay.round);
            levels.check(claims, step, round).map_err(|reason| at(module, step, &reason))?;
        }
    }
    checked.across_brushes = levels.compared;
    for ((_, _, func), frame) in frames {
        if let Some(Some(claims)) = claims.get(func as usize) {
            frame.finish(claims)?;
        }
    }
    Ok(checked)
}

fn at(module: &Module, step: &TraceStep, reason: &str) -> String {
    let name = module.functions.get(step.func as usize).map_or("?", |func| &func.name);
    format!("@{name}, {}: {reason}", step.block)
}

/// A lane's stay in a loop: when it came in, and how often it went round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LoopStay {
    since: u64,
    round: u64,
}

/// One run of a function.
struct Frame {
    entered: LaneSet,
    returned: LaneSet,
    executed: FxHashSet<Block>,
    values: FxHashMap<Value, Vec<Datum>>,
    stays: FxHashMap<(usize, Cycle), LoopStay>,
    /// Per exit edge of a loop and arrival in it, the round in which a lane took the edge.
    left: FxHashMap<(Cycle, Edge, u64), u64>,
    /// Single copy of each shared object: byte and poison flag; `None` if unknown.
    memory: FxHashMap<u64, Option<(u8, bool)>>,
}

impl Frame {
    fn new(step: &TraceStep) -> Frame {
        Frame {
            entered: step.control,
            returned: LaneSet::NONE,
            executed: FxHashSet::default(),
            values: FxHashMap::default(),
            stays: FxHashMap::default(),
            left: FxHashMap::default(),
            memory: FxHashMap::default(),
        }
    }

    fn step(
        &mut self,
        claims: &Claims<'_>,
        step: &TraceStep,
        number: u64,
        checked: &mut CheckCounts,
    ) -> Result<(), String> {
        self.executed.insert(step.block);
        for (value, lanes) in step.args.iter().chain(&step.values) {
            self.values.insert(*value, lanes.clone());
        }
        if step.next.is_empty() {
            return Ok(());
        }
        self.check_activation(claims, step)?;
        self.check_values(claims, step, checked)?;
        self.check_branch(claims, step, checked)?;
        self.check_loops(claims, step, number)?;
        self.check_shared(claims, step, checked)?;
        self.check_accesses(claims, step, checked)?;
        for lane in step.control.iter() {
            if step.next.get(lane) == Some(&LaneSuccessor::Returned) {
                self.returned |= [lane].into_iter().collect();
            }
        }
        Ok(())
    }

    fn finish(&self, claims: &Claims<'_>) -> Result<(), String> {
        if self.returned != self.entered {
            return Ok(());
        }
        for block in claims.func.blocks() {
            if claims.control.cfg.is_reachable(block)
                && claims.divergence.activation(block) == Activation::Full
                && !self.executed.contains(&block)
            {
                return Err(format!("{block} is claimed to be executed by all lanes, but was not executed"));
            }
        }
        Ok(())
    }

    fn check_activation(&self, claims: &Claims<'_>, step: &TraceStep) -> Result<(), String> {
        let activation = claims.divergence.activation(step.block);
        let holds = match activation {
            Activation::Full => step.active == self.entered,
            Activation::Uniform => step.active == self.entered || step.active.is_empty(),
            Activation::Varying => true,
        };
        if !holds {
            return Err(format!(
                "active lanes {:?} of {:?}, claimed to be {activation:?}",
                step.active, self.entered
            ));
        }
        if claims.region.contains(step.block) && step.control != self.entered && !step.control.is_empty() {
            return Err(format!(
                "lanes {:?} of {:?} come here, although it is claimed to depend on no divergent branch",
                step.control, self.entered
            ));
        }
        for &to in claims.func.successors(step.block) {
            let goes = |&lane: &usize| step.next.get(lane) == Some(&LaneSuccessor::Block(to));
            let going: LaneSet = step.active.iter().filter(goes).collect();
            let edge = Edge { from: step.block, to };
            let activation = claims.divergence.edge_activation(claims.func, edge);
            let all = going == self.entered;
            if match activation {
                Activation::Full => !all,
                Activation::Uniform => !all && !going.is_empty(),
                Activation::Varying => false,
            } {
                return Err(format!(
                    "lanes {going:?} of {:?} go to {to}, claimed to be {activation:?}",
                    self.entered
                ));
            }
        }
        Ok(())
    }

    fn check_values(
        &self,
        claims: &Claims<'_>,
        step: &TraceStep,
        checked: &mut CheckCounts,
    ) -> Result<(), String> {
        for (value, data) in &step.values {
            let Some(inst) = claims.func.def_inst(*value) else { continue };
            let instruction = claims.func.inst(inst);
            if claims.func.value_type(*value).is_vector() {
                continue;
            }
            let mask =
                if instruction.is_total() || instruction.op == Op::Mask || instruction.shadow().is_some() {
                    self.entered
                } else if instruction.op == Op::Phi {
                    step.control
                } else {
                    step.active
                };
            let fact = claims.divergence.fact(*value);
            let held: Vec<(usize, u128)> =
                mask.iter().filter_map(|lane| Some((lane, data.get(lane)?.bits()?))).collect();
            let show = || {
                let shown: Vec<String> = mask
                    .iter()
                    .map(|lane| data.get(lane).map_or("?".into(), |datum| show_datum(*datum)))
                    .collect();
                format!("{value} is {}by claim, but lanes hold {}", fact.shape, shown.join(" "))
            };
            let count = mask.iter().count();
            let poisoned = count - held.len();
            let fits = match fact.poison {
                Poison::Never => poisoned == 0,
                Poison::Uniform => poisoned == 0 || poisoned == count,
                Poison::Any => true,
            };
            if !fits {
                return Err(format!("{}: poison {:?}", show(), fact.poison));
            }
            let width = claims.func.value_type(*value).scalar().bits();
            let is_number = !claims.func.value_type(*value).scalar().is_float();
            if !fits_shape(fact.shape, &held, width, &claims.brush, is_number) {
                return Err(show());
            }
            if is_number && !fits_line(claims, *value, &held, width) {
                return Err(format!("{}: not {:?}", show(), fact.no_wrap));
            }
            checked.executions += 1;
            if held.len() > 1 && held.iter().all(|&(_, bits)| bits == held[0].1) {
                checked.uniform += 1;
                checked.proved += u64::from(fact.shape.is_uniform());
            }
        }
        Ok(())
    }

    fn check_branch(
        &self,
        claims: &Claims<'_>,
        step: &TraceStep,
        checked: &mut CheckCounts,
    ) -> Result<(), String> {
        let succs = claims.func.successors(step.block);
        if succs.len() < 2 {
            return Ok(());
        }
        let mut targets = step.active.iter().filter_map(|lane| step.next.get(lane).copied());
        let Some(first) = targets.next() else { return Ok(()) };
        let is_uniform = !claims.divergence.is_divergent_branch(step.block);
        let mut count = 1;
        for target in targets {
            count += 1;
            if target != first {
                return match is_uniform {
                    true => {
                        Err(format!("lanes part at a branch that is claimed to be uniform: {:?}", step.next))
                    }
                    false => Ok(()),
                };
            }
        }
        if count > 1 {
            checked.branches += 1;
            checked.proved_branches += u64::from(is_uniform);
        }
        Ok(())
    }

    fn check_loops(&mut self, claims: &Claims<'_>, step: &TraceStep, number: u64) -> Result<(), String> {
        let cycles = &claims.control.cycles;
        if let Some(cycle) = cycles.headed_by(step.block) {
            for lane in step.control.iter() {
                let goes_round = step.from[lane].is_some_and(|from| cycles.contains(cycle, from));
                match self.stays.get_mut(&(lane, cycle)) {
                    Some(stay) if goes_round => stay.round += 1,
                    _ => _ = self.stays.insert((lane, cycle), LoopStay { since: number, round: 0 }),
                }
            }
        }
        for lane in step.control.iter() {
            let Some(&LaneSuccessor::Block(to)) = step.next.get(lane) else { continue };
            let edge = Edge { from: step.block, to };
            let mut around = cycles.innermost(step.block);
            while let Some(cycle) = around.filter(|&cycle| !cycles.contains(cycle, to)) {
                around = cycles.parent(cycle);
                let exit = claims.divergence.exits(cycle).iter().find(|(exit, _)| *exit == edge);
                let Some((_, agreement)) = exit else { return Err(format!("{edge:?} is no exit")) };
                let Some(&stay) = self.stays.get(&(lane, cycle)) else { continue };
                let round = *self.left.entry((cycle, edge, stay.since)).or_insert(stay.round);
                if agreement.is_some() && round != stay.round {
                    return Err(format!(
                        "lanes leave the loop of {} in rounds {round} and {} by {} -> {to}, claimed to be left together",
                        cycles.header(cycle),
                        stay.round,
                        step.block,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Runs the block's accesses to shared objects on one copy for all lanes.
    fn check_shared(
        &mut self,
        claims: &Claims<'_>,
        step: &TraceStep,
        checked: &mut CheckCounts,
    ) -> Result<(), String> {
        if claims.divergence.slots().is_empty() {
            return Ok(());
        }
        for inst in claims.func.block_insts(step.block) {
            let data = claims.func.inst(inst);
            let mask = if data.is_total() { self.entered } else { step.active };
            // One store serves all lanes: poison in some lanes becomes the others' value.
            let stored = match data.op {
                Op::Store => data.args.first(),
                Op::Memset => data.args.get(1),
                _ => None,
            };
            let is_poison =
                |lane: &usize| stored.is_some_and(|&value| self.get(claims.func, value, *lane).is_none());
            let (first, then): (Vec<usize>, Vec<usize>) = mask.iter().partition(is_poison);
            for lane in first.into_iter().chain(then) {
                self.access(claims, inst, data, lane, checked)?;
            }
        }
        Ok(())
    }

    /// Compares the addresses of each access with another lane's, and with another access of its group.
    fn check_accesses(
        &self,
        claims: &Claims<'_>,
        step: &TraceStep,
        checked: &mut CheckCounts,
    ) -> Result<(), String> {
        let mut others: FxHashMap<*const AccessGroup, (usize, u128, i64)> = FxHashMap::default();
        for inst in claims.func.block_insts(step.block) {
            let Some(group) = claims.accesses.of(inst) else { continue };
            let data = claims.func.inst(inst);
            let mask = if data.is_total() { self.entered } else { step.active };
            let pointer = if data.op == Op::Store { data.args[1] } else { data.args[0] };
            let address = |lane: usize| Some((lane, self.get(claims.func, pointer, lane)?));
            let mut all = mask.iter().filter_map(address);
            let Some((first, start)) = all.next() else { continue };
            let holds = |condition: &heddle_analysis::StrideCondition| {
                let bound = condition.bound.and_then(|bound| self.get(claims.func, bound.value, first));
                let value = self.get(claims.func, condition.value, first);
                value.is_some_and(|bits| condition.holds(bits, first, bound))
            };
            let offset = group.accesses.iter().find(|access| access.inst == inst).map_or(0, |it| it.offset);
            // Constants are claimed to differ whatever holds of the lanes.
            let (lane, seen, from) =
                *others.entry(std::ptr::from_ref(group)).or_insert((first, start, offset));
            if lane == first && (start.wrapping_sub(seen) as i64) != offset.wrapping_sub(from) {
                return Err(format!(
                    "an access at {start}, another of its group at {seen}, claimed to be {} apart",
                    offset.wrapping_sub(from)
                ));
            }
            if !group.conditions.iter().all(holds) {
                continue;
            }
            for (lane, found) in all {
                let expected = group.stride.wrapping_mul((lane - first) as i64);
                if (found.wrapping_sub(start) as i64) != expected {
                    return Err(format!(
                        "lane {first} accesses {start}, lane {lane} {found}: not {}",
                        group.display(claims.func)
                    ));
                }
                checked.addresses += 1;
                checked.conditional += u64::from(!group.conditions.is_empty());
            }
        }
        Ok(())
    }

    fn get(&self, func: &Function, value: Value, lane: usize) -> Option<u128> {
        match func.constant(value) {
            Some(heddle_ir::Constant::Scalar(_, bits)) => Some(*bits),
            Some(_) => None,
            None => self.values.get(&value)?.get(lane)?.bits(),
        }
    }

    fn access(
        &mut self,
        claims: &Claims<'_>,
        inst: Inst,
        data: &InstData,
        lane: usize,
        checked: &mut CheckCounts,
    ) -> Result<(), String> {
        let func = claims.func;
        // One copy serves a pointer if it does for all objects that the pointer may point to.
        let is_shared = |pointer: Value| claims.divergence.pointee_agreement(pointer).is_some();
        match data.op {
            Op::Alloca => {
                let Detail::Alloca { bytes, .. } = data.detail else { return Ok(()) };
                let Some(address) = func.result(inst).and_then(|result| self.get(func, result, lane)) else {
                    return Ok(());
                };
                for byte in 0..bytes.min(1 << 16) {
                    self.memory.insert(address as u64 + byte, Some((0, true)));
                }
            }
            Op::Store if is_shared(data.args[1]) => {
                let Some(address) = self.get(func, data.args[1], lane) else { return Ok(()) };
                let bits = self.get(func, data.args[0], lane);
                // Untraced values (arguments, addresses of globals) are unknown.
                let is_known = func.constant(data.args[0]).is_some_and(|constant| {
                    matches!(constant, heddle_ir::Constant::Scalar(..) | heddle_ir::Constant::Poison(_))
                }) || self.values.contains_key(&data.args[0]);
                let bytes = bits.unwrap_or(0).to_le_bytes();
                for index in 0..func.value_type(data.args[0]).bytes() as usize {
                    let byte = is_known.then_some((bytes.get(index).copied().unwrap_or(0), bits.is_none()));
                    self.memory.insert(address as u64 + index as u64, byte);
                }
            }
            Op::Memset | Op::Memcpy | Op::Memmove if is_shared(data.args[0]) => {
                let Some(address) = self.get(func, data.args[0], lane) else { return Ok(()) };
                let Some(size) = self.get(func, data.args[2], lane) else { return Ok(()) };
                let from = self.get(func, data.args[1], lane);
                let bytes: Vec<Option<(u8, bool)>> = (0..(size as u64).min(1 << 16))
                    .map(|index| match data.op {
                        Op::Memset => from.map(|byte| (byte as u8, false)),
                        _ if is_shared(data.args[1]) => {
                            self.memory.get(&(from? as u64 + index)).copied().flatten()
                        }
                        _ => None,
                    })
                    .collect();
                for (index, byte) in (0..).zip(bytes) {
                    self.memory.insert(address as u64 + index, byte);
                }
            }
            Op::AtomicRmw | Op::CompareExchange if is_shared(data.args[0]) => {
                let Some(address) = self.get(func, data.args[0], lane) else { return Ok(()) };
                for index in 0..func.value_type(data.args[1]).bytes() {
                    self.memory.insert(address as u64 + u64::from(index), None);
                }
            }
            Op::Load if is_shared(data.args[0]) => {
                let Some(result) = func.result(inst) else { return Ok(()) };
                let (Some(address), Some(bits)) =
                    (self.get(func, data.args[0], lane), self.get(func, result, lane))
                else {
                    return Ok(());
                };
                for index in 0..func.value_type(result).bytes() as usize {
                    let found = self.memory.get(&(address as u64 + index as u64)).copied().flatten();
                    let own = bits.to_le_bytes()[index];
                    match found {
                        Some((_, true)) => {
                            return Err(format!(
                                "{result}: the one copy for all lanes holds poison, lane {lane}'s {own}"
                            ));
                        }
                        Some((byte, false)) if byte != own => {
                            return Err(format!(
                                "{result}: the one copy for all lanes holds {byte}, lane {lane}'s own {own}"
                            ));
                        }
                        Some(_) => checked.shared_loads += 1,
                        None => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn show_datum(datum: Datum) -> String {
    match datum {
        Datum::Poison => "poison".into(),
        Datum::Bits(bits) => bits.to_string(),
    }
}

fn signed(bits: u128, width: u32) -> i128 {
    (bits << (128 - width)) as i128 >> (128 - width)
}

/// The steps of a strided shape up to this lane.
fn distance(shape: Shape, lane: usize, geometry: &Geometry) -> i128 {
    let Some(strides) = shape.strides() else { return 0 };
    let mut rest = lane as i128;
    let mut sum = 0i128;
    for dimension in 0..MAX_DIMENSIONS {
        let extent = geometry.extent(dimension).map_or(i128::MAX, i128::from);
        sum += i128::from(strides.along(dimension)) * (rest % extent);
        rest /= extent;
    }
    sum
}

fn fits_shape(
    shape: Shape,
    held: &[(usize, u128)],
    width: u32,
    geometry: &Geometry,
    is_number: bool,
) -> bool {
    let mask = u128::MAX >> (128 - width);
    let fits = |known: heddle_analysis::shape::Congruence, bits: u128| {
        let low = u128::MAX.checked_shr(128 - known.bits()).filter(|_| known.bits() > 0).unwrap_or(0);
        !is_number || bits & low == u128::from(known.residue()) & low
    };
    match shape {
        Shape::Undefined => held.is_empty(),
        Shape::Varying { each } => held.iter().all(|&(_, bits)| fits(each, bits)),
        Shape::Strided { base, .. } => {
            let first = |&(lane, bits): &(usize, u128)| {
                bits.wrapping_sub(distance(shape, lane, geometry) as u128) & mask
            };
            let Some(expected) = held.first().map(first) else { return true };
            held.iter().all(|lane| first(lane) == expected) && fits(base, expected)
        }
    }
}

fn fits_line(claims: &Claims<'_>, value: Value, held: &[(usize, u128)], width: u32) -> bool {
    let fact = claims.divergence.fact(value);
    if fact.shape.strides().is_none() {
        return true;
    }
    let step = |lane: usize| distance(fact.shape, lane, &claims.brush);
    let is_line = |number: &dyn Fn(u128) -> i128| {
        let Some(&(lane, bits)) = held.first() else { return true };
        held.iter().all(|&(other, its)| number(its) - number(bits) == step(other) - step(lane))
    };
    (!fact.no_wrap.unsigned || width > 64 || is_line(&|bits| bits as i128))
        && (!fact.no_wrap.signed || width > 64 || is_line(&|bits| signed(bits, width)))
}
