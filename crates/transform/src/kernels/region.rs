//! The lock-step function of a state.
//!
//! It gets what lives at its start from the homes of these values, and leaves there what it changed of what lives behind
//! the barriers at which it ends. A value that it makes again, in a loop round a barrier, has two definitions then: the
//! one that it came with, and its own. Its reads are led to the right one by φs.

use super::copy::Copier;
use super::live::{BRUSH_ALIGN, Home, Live};
use super::states::States;
use crate::ssa_repair::{SsaRepair, Variable};
use heddle_analysis::{Cfg, ControlTables, Dominators};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::entity::EntitySet;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, FunctionKind, Param, ReturnValue, Signature};
use heddle_ir::{Block, Constant, Function, Inst, Op, Scalar, Space, Type, Value, ValueDef};
use rustc_hash::FxHashMap;

/// What a state became.
pub(super) struct Region {
    /// The function.
    pub(super) func: Function,
    /// What of the kernel it takes, in order.
    pub(super) takes: Vec<Value>,
    /// Whether it takes the memory of its brush behind that.
    pub(super) takes_memory: bool,
    /// Whether its first result says which state is next.
    pub(super) gives_next: bool,
    /// The variables of the group that it gives behind that.
    pub(super) gives: Vec<Value>,
    /// Whether what it takes and keeps in memory has a place for each lane.
    pub(super) keeps_by_lane: bool,
    /// Whether it has loops.
    pub(super) loops: bool,
    /// Whether it runs for one work-item after the other.
    pub(super) is_alone: bool,
    /// Whether it runs a whole row, whose work-items lanes take when they are done with others.
    pub(super) refills: bool,
}

/// What says that no state is next.
pub(super) const END: u32 = u32::MAX;

/// Where a state ends, and which state is next.
struct Exit {
    /// The block of the region.
    block: Block,
    next: Option<usize>,
}

struct Making<'a> {
    kernel: &'a Function,
    live: &'a Live,
    func: Function,
    entry: Block,
    /// The memory of the brush.
    memory: Option<Value>,
    lane: Option<Value>,
    addresses: FxHashMap<u64, Value>,
}

/// The lock-step function of a state. Parameters of the kernel of which nothing is said are uniform.
pub(super) fn make_region(kernel: &Function, states: &States, live: &Live, number: usize) -> Region {
    let state = &states.all[number];
    let mut read: EntitySet<Value> = EntitySet::new();
    let mut defined: EntitySet<Value> = EntitySet::new();
    for inst in state.blocks.iter().flat_map(|&block| kernel.block_insts(block)) {
        kernel.inst(inst).args.iter().for_each(|&arg| _ = read.insert(arg));
        kernel.results(inst).iter().for_each(|&result| _ = defined.insert(result));
    }
    // What it comes with: what it reads, and what it may leave as it was.
    let comes: Vec<Value> = live.at_start[number]
        .iter()
        .copied()
        .filter(|&value| read.contains(value) || defined.contains(value))
        .collect();
    let again: Vec<Inst> = {
        let mut order: Vec<Inst> = Vec::new();
        for &value in comes.iter().filter(|&&value| live.homes[value] == Some(Home::Again)) {
            for inst in live.recomputed(kernel, value).unwrap_or_default() {
                if !order.contains(&inst) {
                    order.push(inst);
                }
            }
        }
        order
    };
    for &inst in &again {
        kernel.inst(inst).args.iter().for_each(|&arg| _ = read.insert(arg));
    }
    let objects: Vec<Value> =
        read.iter().filter(|&value| matches!(live.homes[value], Some(Home::Object(..)))).collect();
    let gives: Vec<Value> = {
        let mut all: Vec<Value> = state
            .next
            .iter()
            .flat_map(|&next| &live.at_start[next])
            .copied()
            .filter(|&value| live.homes[value] == Some(Home::Group) && defined.contains(value))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let is_param = |value: &Value| matches!(kernel.value_def(*value), ValueDef::Param(_));
    let mut takes: Vec<Value> = read.iter().filter(is_param).collect();
    takes.extend(comes.iter().copied().filter(|&value| live.homes[value] == Some(Home::Group)));
    let is_kept = |&value: &Value| {
        matches!(
            live.homes[value],
            Some(Home::Brush(_) | Home::Steps(..) | Home::Lanes(_) | Home::Object(..))
        )
    };
    let leaves =
        state.next.iter().flat_map(|&next| &live.at_start[next]).filter(|&&value| defined.contains(value));
    let takes_memory = comes.iter().any(is_kept)
        || leaves.copied().any(|value| is_kept(&value))
        || read.iter().any(|value| is_kept(&value) && !defined.contains(value))
        || !objects.is_empty();
    let is_by_lane = |value: &Value| {
        matches!(
            live.homes[*value],
            None | Some(Home::Lanes(_) | Home::Object(..) | Home::Again | Home::Group)
        )
    };
    let keeps_by_lane =
        comes.iter().chain(state.next.iter().flat_map(|&next| &live.at_start[next])).all(is_by_lane);
    let gives_next = state.next.len() + usize::from(state.ends) > 1;

    let params = takes.iter().map(|&value| match kernel.value_def(value) {
        ValueDef::Param(index) => {
            let mut param = kernel.signature.params[index as usize].clone();
            param.shape.get_or_insert(DeclaredShape::Uniform);
            param
        }
        _ => Param { shape: Some(DeclaredShape::Uniform), ..Param::new(kernel.value_type(value)) },
    });
    let memory = Param {
        shape: Some(DeclaredShape::Uniform),
        align: BRUSH_ALIGN as u32,
        // The addresses of private objects may be kept anywhere.
        noalias: !live.has_objects,
        ..Param::new(Type::ptr(Space::Global))
    };
    let uniform = |ty| ReturnValue { ty, shape: Some(DeclaredShape::Uniform) };
    let results =
        gives_next.then_some(Type::I32).into_iter().chain(gives.iter().map(|&it| kernel.value_type(it)));
    let signature = Signature {
        params: params.chain(takes_memory.then_some(memory)).collect(),
        results: results.map(uniform).collect(),
        effects: kernel.signature.effects,
    };
    let mut func = Function::new(format!("{}.region{number}", kernel.name), signature);
    func.kind = FunctionKind::Function;
    let entry = func.append_block();
    let own = func.params().to_vec();
    let mut copier = Copier::new(kernel);
    takes.iter().zip(&own).for_each(|(&value, &param)| copier.set(&mut func, value, param));
    let memory = takes_memory.then(|| own[takes.len()]);
    let mut making =
        Making { kernel, live, func, entry, memory, lane: None, addresses: FxHashMap::default() };

    // What it came with, by name of the kernel.
    let mut came: Vec<(Value, Value)> = Vec::new();
    for value in objects {
        let address = making.object(value);
        copier.set(&mut making.func, value, address);
        came.push((value, address));
    }
    copier.copy_insts(&mut making.func, &again, entry);
    for &value in &comes {
        let here = match live.homes[value] {
            Some(Home::Object(..)) => continue,
            Some(Home::Group | Home::Again) => copier.value(&mut making.func, value),
            _ => making.fetch(value),
        };
        copier.set(&mut making.func, value, here);
        came.push((value, here));
    }
    copier.copy_blocks(&mut making.func, &state.blocks);
    let copy = |block: Block| copier.block(block).expect("blocks of the state were copied");
    let start = copy(state.start);
    making.put(entry, InstData::jump(start));
    let mut exits: Vec<Exit> = Vec::new();
    for &block in &state.blocks {
        let ends = kernel.terminator(block).is_some_and(|inst| kernel.inst(inst).op == Op::Ret);
        let next = states.behind[block];
        if next.is_none() && !ends {
            continue;
        }
        let block = copy(block);
        exits.push(Exit { block, next });
        // The rest of the state must not seem to go on behind the barrier.
        making.end(block, &[]);
    }

    let cfg = Cfg::new(&making.func);
    let dominators = Dominators::new(&cfg);
    let repair = SsaRepair::new(&cfg, &dominators);
    let renamed: Vec<(Value, Value)> =
        came.iter().copied().filter(|&(value, _)| defined.contains(value)).collect();
    let own: Vec<Value> = renamed.iter().map(|&(value, _)| copier.value(&mut making.func, value)).collect();
    let reads = reads_of(&making.func, &own);
    let mut variables: FxHashMap<Value, Variable<'_>> = FxHashMap::default();
    for &(value, came) in &renamed {
        let own = copier.value(&mut making.func, value);
        let is_same = matches!(live.homes[value], Some(Home::Again | Home::Object(..)));
        let home = making.func.def_inst(own).and_then(|inst| making.func.layout.block_of(inst));
        let Some(home) = home else { continue };
        let joins = repair.iterated_frontier(&[home]);
        let mut variable = repair.variable_from(&making.func, &[(entry, came), (home, own)], joins);
        for &(inst, index, block) in reads.get(&own).map_or(&[][..], Vec::as_slice) {
            let is_phi = making.func.inst(inst).op == Op::Phi;
            let now = match is_same {
                true => came,
                false if !is_phi && block == home => own,
                false => variable.read(&mut making.func, block),
            };
            making.func.inst_mut(inst).args[index] = now;
        }
        variables.insert(value, variable);
    }
    // What lives behind the barriers.
    for exit in &exits {
        let mut results: Vec<Value> = Vec::new();
        if gives_next {
            let next = exit.next.map_or(END, |next| next as u32);
            results.push(making.func.make_int(Scalar::I32, next.into()));
        }
        let behind: &[Value] = exit.next.map_or(&[], |next| &live.at_start[next]);
        let mut now = |making: &mut Making<'_>, value: Value| match variables.get_mut(&value) {
            Some(variable) => variable.read(&mut making.func, exit.block),
            None => copier.value(&mut making.func, value),
        };
        for &value in &gives {
            // What is not read again may be anything, but a region returns no ⊤.
            let here = match behind.contains(&value) {
                true => now(&mut making, value),
                false => making.func.make_const(Constant::splat(kernel.value_type(value), 0)),
            };
            let may_be_poison = behind.contains(&value) && live.is_poison.contains(value);
            results.push(if may_be_poison { making.freeze(here, exit.block) } else { here });
        }
        for &value in behind.iter().filter(|&&value| defined.contains(value) && is_kept(&value)) {
            if !matches!(live.homes[value], Some(Home::Object(..))) {
                let here = now(&mut making, value);
                let is_there = came.iter().any(|&(old, came)| old == value && came == here);
                if !is_there {
                    making.keep(value, here, exit.block);
                }
            }
        }
        making.end(exit.block, &results);
    }
    for &(value, _) in &renamed {
        if let Some(variable) = variables.remove(&value) {
            variable.finish(&mut making.func);
        }
    }
    let moved: Vec<Value> = renamed
        .iter()
        .filter(|(value, _)| matches!(live.homes[*value], Some(Home::Object(..))))
        .map(|&(value, _)| copier.value(&mut making.func, value))
        .collect();
    forget_bases(&mut making.func, &moved);
    let cycles = ControlTables::new(&making.func).cycles;
    let loops = making.func.blocks().any(|block| cycles.innermost(block).is_some());
    Region {
        func: making.func,
        takes,
        takes_memory,
        gives_next,
        gives,
        keeps_by_lane,
        loops,
        is_alone: false,
        refills: false,
    }
}

/// The reads of some values: instruction, operand, and where the value must be.
fn reads_of(func: &Function, values: &[Value]) -> FxHashMap<Value, Vec<(Inst, usize, Block)>> {
    let mut reads: FxHashMap<Value, Vec<(Inst, usize, Block)>> =
        values.iter().map(|&value| (value, Vec::new())).collect();
    if reads.is_empty() {
        return reads;
    }
    for block in func.blocks() {
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            for (index, arg) in data.args.iter().enumerate() {
                if let Some(list) = reads.get_mut(arg) {
                    let from = data.incoming().nth(index).map(|(pred, _)| pred);
                    list.push((inst, index, from.unwrap_or(block)));
                }
            }
        }
    }
    reads
}

/// Accesses no longer lead to the objects that were replaced.
fn forget_bases(func: &mut Function, moved: &[Value]) {
    let insts: Vec<Inst> = func.blocks().flat_map(|block| func.block_insts(block)).collect();
    let is_base = |func: &Function, value: Value| match func.value_def(value) {
        ValueDef::Param(_) => true,
        ValueDef::Const => matches!(func.constant(value), Some(Constant::Address(..))),
        ValueDef::Result(inst, _) => func.inst(inst).op == Op::Alloca && !moved.contains(&value),
        ValueDef::None => false,
    };
    for inst in insts {
        let mut data = func.inst(inst).clone();
        let accesses = match &mut data.detail {
            Detail::Access(access) | Detail::Rmw(_, access) | Detail::CompareExchange(access, _) => {
                vec![access]
            }
            Detail::Transfer(both) => vec![&mut both.0, &mut both.1],
            _ => continue,
        };
        for access in accesses {
            access.base = access.base.filter(|&base| is_base(func, base));
        }
        *func.inst_mut(inst) = data;
    }
}

impl Making<'_> {
    fn put(&mut self, block: Block, data: InstData) {
        let inst = self.func.make_inst(data, &[]);
        self.func.layout.append_inst(inst, block);
    }

    /// Lets a block end the region.
    fn end(&mut self, block: Block, results: &[Value]) {
        let terminator = self.func.terminator(block).expect("a copied block has a terminator");
        let origin = self.func.inst(terminator).origin;
        *self.func.inst_mut(terminator) =
            InstData { origin, ..InstData::plain(Op::Ret, results.iter().copied()) };
    }

    /// Where the entry goes on.
    fn at_entry(&self) -> InsertPoint {
        self.func.terminator(self.entry).map_or(InsertPoint::End(self.entry), InsertPoint::Before)
    }

    /// Lane numbers.
    fn lane(&mut self) -> Value {
        if let Some(known) = self.lane {
            return known;
        }
        let at = self.at_entry();
        let data = InstData::new(Op::Lane, [], Detail::Dimension(None));
        let lane = Builder::new(&mut self.func, at).value(data, Some(Type::I64));
        self.lane = Some(lane);
        lane
    }

    /// The address that is so far behind the start of the brush's memory, for each lane so much further.
    fn address(&mut self, offset: u64, step: u64) -> Value {
        if let Some(&known) = self.addresses.get(&offset) {
            return known;
        }
        let memory = self.memory.expect("a region that keeps values has memory");
        let lane = (step > 0).then(|| self.lane());
        let at = self.at_entry();
        let mut builder = Builder::new(&mut self.func, at);
        let behind = builder.int(Scalar::I64, offset.into());
        let mut address = builder.op(Op::PtrAdd, &[memory, behind]);
        if let Some(lane) = lane {
            let step = builder.int(Scalar::I64, step.into());
            let further = builder.op(Op::Mul, &[lane, step]);
            address = builder.op(Op::PtrAdd, &[address, further]);
        }
        self.addresses.insert(offset, address);
        address
    }

    /// The address of a private object.
    fn object(&mut self, value: Value) -> Value {
        let Some(Home::Object(offset, stride)) = self.live.homes[value] else {
            unreachable!("{value} is the address of an object")
        };
        let address = self.address(offset, stride);
        let to = self.kernel.value_type(value);
        Builder::new(&mut self.func, InsertPoint::End(self.entry)).op_to(Op::SpaceCast, to, &[address])
    }

    /// Loads a value from its home.
    fn fetch(&mut self, value: Value) -> Value {
        let ty = self.kernel.value_type(value);
        match self.live.homes[value] {
            Some(Home::Lanes(offset)) => {
                let address = self.address(offset, ty.bytes().into());
                Builder::new(&mut self.func, InsertPoint::End(self.entry)).load(
                    ty,
                    address,
                    natural_align(ty),
                )
            }
            Some(Home::Brush(offset)) => {
                let address = self.address(offset, 0);
                Builder::new(&mut self.func, InsertPoint::End(self.entry)).load(
                    ty,
                    address,
                    natural_align(ty),
                )
            }
            Some(Home::Steps(offset, strides)) => {
                let address = self.address(offset, 0);
                let mut builder = Builder::new(&mut self.func, InsertPoint::End(self.entry));
                let mut value = builder.load(ty, address, natural_align(ty));
                let scalar = if ty.scalar().is_ptr() { Scalar::I64 } else { ty.scalar() };
                let op = if ty.scalar().is_ptr() { Op::PtrAdd } else { Op::Add };
                for (along, step) in (0u8..).zip(strides.all()).filter(|&(_, step)| step != 0) {
                    let dimension = Detail::Dimension((self.live.dimensions > 1).then_some(along));
                    let lane = builder.value(InstData::new(Op::Lane, [], dimension), Some(scalar.into()));
                    let step = builder.int(scalar, step.into());
                    let further = builder.op(Op::Mul, &[lane, step]);
                    value = builder.op(op, &[value, further]);
                }
                value
            }
            home => unreachable!("{value} is not kept in memory but {home:?}"),
        }
    }

    /// The value at the end of a block, where ⊤ is some value.
    fn freeze(&mut self, here: Value, block: Block) -> Value {
        let end = self.func.terminator(block).expect("a copied block has a terminator");
        Builder::new(&mut self.func, InsertPoint::Before(end)).op(Op::Freeze, &[here])
    }

    /// Stores a value at its home, at the end of a block.
    fn keep(&mut self, value: Value, here: Value, block: Block) {
        let ty = self.kernel.value_type(value);
        let (address, is_first) = match self.live.homes[value] {
            Some(Home::Lanes(offset)) => (self.address(offset, ty.bytes().into()), false),
            Some(Home::Brush(offset)) => (self.address(offset, 0), false),
            Some(Home::Steps(offset, _)) => (self.address(offset, 0), true),
            home => unreachable!("{value} is not kept in memory but {home:?}"),
        };
        let end = self.func.terminator(block).expect("a copied block has a terminator");
        let mut builder = Builder::new(&mut self.func, InsertPoint::Before(end));
        let mut stored = here;
        if is_first {
            // Lane 0 is in every brush.
            let lane = builder.int(Scalar::I32, 0);
            stored = builder.op(Op::Broadcast, &[here, lane]);
        }
        builder.store(stored, address, natural_align(ty));
    }
}

fn natural_align(ty: Type) -> u32 {
    ty.bytes().next_power_of_two()
}
