//! Shrinks a failing program: removes parts while it still fails.
//!
//! Each candidate must verify and be a valid generated program: it runs without a fault and, where the original does,
//! without a race. Otherwise the property may fail for another reason. Candidates may violate either of these
//! conditions if the original program does.

use crate::execution::{observe, options};
use crate::generate::{GeneratedProgram, InputArgument, ProgramInput};
use crate::properties::stage;
use heddle_interp::{RunLimits, RunOptions};
use heddle_ir::entity::EntitySet;
use heddle_ir::text::write_scalar;
use heddle_ir::verify::verify_module;
use heddle_ir::words::Flags;
use heddle_ir::{Block, Constant, Detail, Function, Inst, InstData, Module, Op, Scalar, Type, Value};
use std::fmt::Write as _;

/// The most blocks that a candidate may execute.
const STEP_LIMIT: u64 = 20_000;
/// The most candidates that are tried.
const MOST_TRIES: u32 = 20_000;

struct Shrinker<'a> {
    case: GeneratedProgram,
    fails: &'a dyn Fn(&GeneratedProgram) -> bool,
    /// Sanity of the case apart from the property: it verifies, and it runs without faults.
    is_sound: (bool, bool),
    tries: u32,
}

/// The smallest case found for which `fails` still holds, as it does for this one.
pub fn shrink(case: &GeneratedProgram, fails: &dyn Fn(&GeneratedProgram) -> bool) -> GeneratedProgram {
    let is_sound = (verifies(case), runs_well(case));
    let mut shrinker = Shrinker { case: case.clone(), fails, is_sound, tries: 0 };
    loop {
        let mut changed = shrinker.inputs();
        changed |= shrinker.functions();
        for index in 0..shrinker.case.module.functions.len() {
            changed |= shrinker.branches(index);
            changed |= shrinker.instructions(index);
            changed |= shrinker.straighten(index);
            changed |= shrinker.operands(index);
        }
        if !changed || shrinker.tries >= MOST_TRIES {
            return shrinker.case;
        }
    }
}

fn verifies(case: &GeneratedProgram) -> bool {
    verify_module(&case.module, stage(case)).is_ok()
}

fn runs_well(case: &GeneratedProgram) -> bool {
    let limits = RunLimits { steps: STEP_LIMIT, ..RunLimits::default() };
    case.inputs.iter().all(|input| {
        let options = RunOptions { detect_races: true, limits, ..options(input) };
        observe(case, &case.module, input, &options)
            .is_ok_and(|observed| case.traits.order_dependent || observed.race.is_none())
    })
}

impl Shrinker<'_> {
    /// Takes the candidate if it fails, too.
    fn take(&mut self, candidate: GeneratedProgram) -> bool {
        self.tries += 1;
        let (must_verify, must_run_well) = self.is_sound;
        if self.tries > MOST_TRIES
            || (must_verify && !verifies(&candidate))
            || (must_run_well && !runs_well(&candidate))
            || !(self.fails)(&candidate)
        {
            return false;
        }
        self.case = candidate;
        true
    }

    /// Tries the case with a changed module.
    fn change(&mut self, edit: impl FnOnce(&mut Module)) -> bool {
        let mut candidate = self.case.clone();
        edit(&mut candidate.module);
        self.take(candidate)
    }

    fn func(&self, index: usize) -> &Function {
        &self.case.module.functions[index]
    }

    /// One input, few lanes, plain arguments.
    fn inputs(&mut self) -> bool {
        let mut changed = false;
        for index in (0..self.case.inputs.len()).rev() {
            if self.case.inputs.len() > 1 {
                let mut candidate = self.case.clone();
                candidate.inputs.remove(index);
                changed |= self.take(candidate);
            }
        }
        while self.case.inputs.len() == 1 && self.case.inputs[0].lanes() > 1 {
            let mut candidate = self.case.clone();
            if !halve(&mut candidate.inputs[0]) || !self.take(candidate) {
                break;
            }
            changed = true;
        }
        for index in 0..self.case.inputs[0].args.len() {
            let plain = match &self.case.inputs[0].args[index] {
                InputArgument::Uniform(bits) if *bits != 0 => InputArgument::Uniform(0),
                InputArgument::Varying(values) if values.iter().any(|&bits| bits != 0) => {
                    InputArgument::Varying(vec![0; values.len()])
                }
                _ => continue,
            };
            let mut candidate = self.case.clone();
            candidate.inputs[0].args[index] = plain;
            changed |= self.take(candidate);
        }
        for index in 0..self.case.objects.len() {
            let bytes = &self.case.inputs[0].contents[index];
            if bytes.iter().all(|&byte| byte == 0) {
                continue;
            }
            let mut candidate = self.case.clone();
            candidate.inputs[0].contents[index].fill(0);
            changed |= self.take(candidate);
        }
        changed
    }

    /// Functions that nothing calls, globals that nothing names.
    fn functions(&mut self) -> bool {
        let mut changed = false;
        for index in (0..self.case.module.functions.len()).rev() {
            if self.func(index).name != self.case.entry {
                changed |= self.change(|module| {
                    module.functions.remove(index);
                    module.functions.iter_mut().for_each(|func| func.remove_unused_callees());
                });
            }
        }
        for index in (0..self.case.module.globals.len()).rev() {
            changed |= self.change(|module| {
                module.globals.remove(index);
            });
        }
        for index in (0..self.case.module.declarations.len()).rev() {
            changed |= self.change(|module| {
                module.declarations.remove(index);
            });
        }
        changed
    }

    /// Makes branches unconditional and removes blocks' predicates.
    fn branches(&mut self, index: usize) -> bool {
        let mut changed = false;
        let blocks: Vec<Block> = self.func(index).blocks().collect();
        for &block in &blocks {
            if !self.func(index).layout.is_placed(block) {
                continue;
            }
            if self.func(index).predicate(block).is_some() {
                changed |= self.change(|module| module.functions[index].set_predicate(block, None));
            }
            let targets = self.func(index).successors(block).to_vec();
            if targets.len() < 2 {
                continue;
            }
            for target in targets {
                let done = self.change(|module| {
                    let func = &mut module.functions[index];
                    let terminator = func.terminator(block).expect("the block has targets");
                    *func.inst_mut(terminator) = InstData::jump(target);
                    tidy(func);
                });
                changed |= done;
                if done {
                    break;
                }
            }
        }
        changed
    }

    /// Removes instructions, many at first, then fewer: their results become an operand or a constant.
    fn instructions(&mut self, index: usize) -> bool {
        let mut changed = false;
        let all = |func: &Function| -> Vec<Inst> {
            let insts = func.blocks().flat_map(|block| func.block_insts(block).collect::<Vec<_>>());
            insts.filter(|&inst| !func.inst(inst).op.is_terminator()).collect()
        };
        let mut size = all(self.func(index)).len().max(1);
        loop {
            let insts = all(self.func(index));
            for chunk in insts.rchunks(size) {
                for way in 0..3 {
                    if size > 1 && way > 0 {
                        break;
                    }
                    let done = self.change(|module| {
                        let func = &mut module.functions[index];
                        chunk.iter().rev().for_each(|&inst| remove(func, inst, way));
                    });
                    changed |= done;
                    if done {
                        break;
                    }
                }
            }
            if size == 1 {
                return changed;
            }
            size /= 2;
        }
    }

    /// Merges blocks with a single predecessor into it.
    fn straighten(&mut self, index: usize) -> bool {
        let mut changed = false;
        let blocks: Vec<Block> = self.func(index).blocks().collect();
        for block in blocks {
            if self.func(index).layout.is_placed(block) {
                changed |= self.change_if(|module| append_next(&mut module.functions[index], block));
            }
        }
        changed
    }

    fn change_if(&mut self, edit: impl FnOnce(&mut Module) -> bool) -> bool {
        let mut candidate = self.case.clone();
        edit(&mut candidate.module) && self.take(candidate)
    }

    /// Operands that are constants, instructions that promise nothing.
    fn operands(&mut self, index: usize) -> bool {
        let mut changed = false;
        let blocks: Vec<Block> = self.func(index).blocks().collect();
        for block in blocks {
            for inst in self.func(index).block_insts(block).collect::<Vec<_>>() {
                if !self.func(index).inst(inst).flags.without(Flags::ACCESS).is_empty() {
                    changed |= self.change(|module| {
                        let flags = &mut module.functions[index].inst_mut(inst).flags;
                        *flags = flags.intersection(Flags::ACCESS);
                    });
                }
                for operand in 0..self.func(index).inst(inst).args.len() {
                    let func = self.func(index);
                    let old = func.inst(inst).args[operand];
                    let is_plain = func.constant(old).is_some();
                    if is_plain || func.value_type(old).scalar().is_ptr() {
                        continue;
                    }
                    for bits in [0, 1] {
                        let done = self.change(|module| {
                            let func = &mut module.functions[index];
                            let constant = Constant::splat(func.value_type(old), bits);
                            let new = func.make_const(constant);
                            func.inst_mut(inst).args[operand] = new;
                        });
                        changed |= done;
                        if done {
                            break;
                        }
                    }
                }
            }
        }
        changed
    }
}

/// Half the lanes, if the brush has one dimension and is a group by itself.
fn halve(input: &mut ProgramInput) -> bool {
    if input.brush.len() != 1 || input.group.is_some() {
        return false;
    }
    let lanes = input.brush[0] / 2;
    input.brush[0] = lanes;
    for arg in &mut input.args {
        if let InputArgument::Varying(values) = arg {
            values.truncate(lanes as usize);
        }
    }
    true
}

/// Removes an instruction: what it gave becomes 0, its first or its last operand of that type.
fn remove(func: &mut Function, inst: Inst, way: usize) {
    if func.layout.block_of(inst).is_none() {
        return;
    }
    for result in func.results(inst).to_vec() {
        let ty = func.value_type(result);
        let args = func.inst(inst).args.clone();
        let mut operands = args.iter().copied().filter(|&arg| func.value_type(arg) == ty && arg != result);
        let operand = match way {
            0 => operands.next(),
            1 => operands.next_back(),
            _ => None,
        };
        let stand_in = operand.unwrap_or_else(|| plain_value(func, ty));
        func.map_values(|value| if value == result { stand_in } else { value });
    }
    func.remove_inst(inst);
}

/// 0, or a pointer that is a parameter.
fn plain_value(func: &mut Function, ty: Type) -> Value {
    let param = func.params().iter().copied().find(|&param| func.value_type(param) == ty);
    match param {
        Some(param) if ty.scalar().is_ptr() => param,
        _ => func.make_const(Constant::splat(ty, 0)),
    }
}

/// Removes what cannot be reached, and what φs have for edges that are gone.
fn tidy(func: &mut Function) {
    let mut reached: EntitySet<Block> = EntitySet::new();
    let mut work = vec![func.entry()];
    reached.insert(func.entry());
    while let Some(block) = work.pop() {
        for &next in func.successors(block) {
            if reached.insert(next) {
                work.push(next);
            }
        }
    }
    for block in func.blocks().collect::<Vec<_>>() {
        if !reached.contains(block) {
            func.remove_block(block);
        }
    }
    let blocks: Vec<Block> = func.blocks().collect();
    for &block in &blocks {
        let comes_here: Vec<Block> =
            blocks.iter().copied().filter(|&from| func.successors(from).contains(&block)).collect();
        for phi in func.phis(block).collect::<Vec<_>>() {
            let data = func.inst(phi);
            let kept: Vec<(Block, Value)> =
                data.incoming().filter(|(from, _)| comes_here.contains(from)).collect();
            *func.inst_mut(phi) = InstData::phi(kept, data.shadow());
        }
    }
}

/// Moves the contents of the block's only successor, which has no other predecessor, into the block.
fn append_next(func: &mut Function, block: Block) -> bool {
    let &[next] = func.successors(block) else { return false };
    let from = func.blocks().filter(|&from| func.successors(from).contains(&next)).count();
    if from != 1 || next == block || func.predicate(next) != func.predicate(block) {
        return false;
    }
    for phi in func.phis(next).collect::<Vec<_>>() {
        let (Some(result), Some(&value)) = (func.result(phi), func.inst(phi).args.first()) else {
            return false;
        };
        func.map_values(|old| if old == result { value } else { old });
        func.remove_inst(phi);
    }
    if let Some(jump) = func.terminator(block) {
        func.remove_inst(jump);
    }
    for inst in func.block_insts(next).collect::<Vec<_>>() {
        func.layout.remove_inst(inst);
        func.layout.append_inst(inst, block);
    }
    func.set_predicate(next, None);
    func.layout.remove_block(next);
    for other in func.blocks().collect::<Vec<_>>() {
        for phi in func.phis(other).collect::<Vec<_>>() {
            if let Detail::Phi(blocks) = &mut func.inst_mut(phi).detail {
                blocks.iter_mut().filter(|from| **from == next).for_each(|from| *from = block);
            }
        }
    }
    true
}

/// The case as a file test: what it is about, how it runs, its text.
pub fn print(case: &GeneratedProgram, command: &str, about: &str) -> String {
    let mut text = format!("; test {command}\n");
    for line in about.lines().take(6) {
        let _ = writeln!(text, "; {line}");
    }
    let _ = writeln!(text, "; seed {}", case.seed);
    for input in &case.inputs {
        let _ = writeln!(text, "; run: {}", run_line(case, input));
    }
    let _ = write!(text, "{}", case.module);
    text
}

fn values(scalar: Scalar, all: impl Iterator<Item = u128>) -> String {
    let mut text = String::from("[");
    for (index, bits) in all.enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        write_scalar(&mut text, scalar, bits);
    }
    text.push(']');
    text
}

fn run_line(case: &GeneratedProgram, input: &ProgramInput) -> String {
    let Some(func) = case.module.function(&case.entry) else { return String::new() };
    let mut args = Vec::new();
    for (param, arg) in func.signature.params.iter().zip(&input.args) {
        let scalar = param.ty.scalar();
        let mut text = String::new();
        match arg {
            InputArgument::Object(index) => text = format!("&{}", case.objects[*index].name),
            InputArgument::Uniform(bits) => write_scalar(&mut text, scalar, *bits),
            InputArgument::Linear(base, strides) => {
                text.push_str("linear(");
                write_scalar(&mut text, scalar, *base);
                for stride in strides {
                    let _ = write!(text, ", {stride}");
                }
                text.push(')');
            }
            InputArgument::Varying(all) => text = values(scalar, all.iter().copied()),
        }
        args.push(text);
    }
    let dims = |dims: &[u32]| dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
    let mut line = format!("@{}({}) brush={}", case.entry, args.join(", "), dims(&input.brush));
    if let Some(group) = input.group {
        let _ = write!(line, " local={} groups={}", dims(&group), dims(&input.groups));
    }
    for (index, (object, bytes)) in case.objects.iter().zip(&input.contents).enumerate() {
        let size = object.scalar.bytes() as usize;
        let word = |chunk: &[u8]| {
            let mut word = [0; 16];
            word[..size].copy_from_slice(chunk);
            u128::from_le_bytes(word)
        };
        let space = match object.space {
            heddle_ir::Space::Global => String::new(),
            space => format!("{} ", space.name()),
        };
        let contents = if bytes.iter().all(|&byte| byte == 0) {
            format!("zero {}", bytes.len() / size)
        } else {
            values(object.scalar, bytes.chunks(size).map(word))
        };
        let start = if index == 0 { " with " } else { "; " };
        let _ = write!(line, "{start}{}: {space}{} {contents}", object.name, object.scalar);
    }
    line
}

/// The number of instructions that are not jumps.
pub fn weight(module: &Module) -> usize {
    let insts = |func: &Function| -> usize {
        func.blocks()
            .map(|block| func.block_insts(block).filter(|&i| func.inst(i).op != Op::Br).count())
            .sum()
    };
    module.functions.iter().map(insts).sum()
}
