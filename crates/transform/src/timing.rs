//! Latency and throughput of instructions, and when results of straight code are available.

use crate::target::{AccessDirection, AccessLanes, OpTime, TargetInfo};
use heddle_analysis::{BlockIndex, Cfg, CycleForest, DominatorTree, object_and_offset};
use heddle_ir::inst::Detail;
use heddle_ir::{Function, Inst, Module, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Maximum depth of calls to look into.
const MAX_CALL_DEPTH: u32 = 4;

/// Times of functions without loops, by name.
pub(crate) type CallTimes = FxHashMap<String, OpTime>;

/// Times of a module's functions, if they have no loops and calls are not too deep.
pub(crate) fn call_times(module: &Module, target: &TargetInfo) -> CallTimes {
    let mut known = CallTimes::default();
    for _ in 0..MAX_CALL_DEPTH {
        let before = known.len();
        for func in &module.functions {
            if !known.contains_key(&func.name)
                && let Some(time) = straight_time(func, &known, target)
            {
                known.insert(func.name.clone(), time);
            }
        }
        if known.len() == before {
            break;
        }
    }
    known
}

/// Latency and time of a function; none if it has a loop.
fn straight_time(func: &Function, calls: &CallTimes, target: &TargetInfo) -> Option<OpTime> {
    let cfg = Cfg::new(func);
    let cycles = CycleForest::new(&cfg);
    if cycles.num_cycles() > 0 {
        return None;
    }
    let index = BlockIndex::new(&cfg, &DominatorTree::new(&cfg), &cycles);
    let insts = index.order().iter().flat_map(|&block| func.block_insts(block));
    let times: Vec<(Inst, OpTime)> =
        insts.map(|inst| Some((inst, time_of(func, inst, calls, target)?))).collect::<Option<_>>()?;
    let mut ready = ReadyTimes::default();
    let latency = simulate(func, &times, &mut ready);
    Some(OpTime { latency, busy: times.iter().map(|(_, time)| time.busy).sum() })
}

/// Private object, by its `alloca`, and the offset in it if that is constant.
pub(crate) type ObjectOffset = (Inst, Option<i64>);

/// Times at which results are available.
#[derive(Default)]
pub(crate) struct ReadyTimes {
    pub(crate) values: FxHashMap<Value, u32>,
    /// Last stores to private objects: a load waits for stores to its offset, and for those to unknown offsets.
    pub(crate) objects: FxHashMap<ObjectOffset, u32>,
}

/// Computes when results are available, given the times of operands from outside; returns the time of the return.
pub(crate) fn simulate(func: &Function, times: &[(Inst, OpTime)], ready: &mut ReadyTimes) -> u32 {
    let mut returned = 0;
    for &(inst, time) in times {
        let data = func.inst(inst);
        let location = data.address().and_then(|address| object_offset(func, address));
        let reads = matches!(data.op, Op::Load | Op::MaskedLoad | Op::Gather);
        let written = location
            .filter(|_| reads)
            .into_iter()
            .flat_map(|(object, offset)| [(object, offset), (object, None)]);
        let written = written.filter_map(|place| ready.objects.get(&place).copied()).max();
        let args = data.args.iter().map(|arg| ready.values.get(arg).copied().unwrap_or(0));
        let done = args.chain(written).max().unwrap_or(0) + time.latency;
        ready.values.extend(func.results(inst).iter().map(|&value| (value, done)));
        if let Some(location) = location.filter(|_| !reads) {
            let last = ready.objects.entry(location).or_default();
            // A store to a known offset doesn't wait for what it overwrites.
            let is_new = data.op == Op::Store && location.1.is_some();
            *last = if is_new { done } else { done.max(*last) };
        }
        if data.op == Op::Ret {
            returned = returned.max(done);
        }
    }
    returned
}

/// Private object and offset of an address.
pub(crate) fn object_offset(func: &Function, address: Value) -> Option<ObjectOffset> {
    let (object, offset) = object_and_offset(func, address);
    let alloca = func.def_inst(object).filter(|&inst| func.inst(inst).op == Op::Alloca)?;
    Some((alloca, offset))
}

/// Class of an instruction by its costs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpClass {
    /// Folded into other instructions by code generation.
    Free,
    /// Moves lanes; scalar code has none of it.
    Moves,
    Load,
    Gather,
    Store,
    Scatter,
    Float,
    Multiply,
    Divide,
    /// Serialized over lanes on all machines.
    DivideIntegers,
    Plain,
}

fn op_class(func: &Function, inst: Inst) -> OpClass {
    let data = func.inst(inst);
    let is_constant = |at: usize| data.args.get(at).is_some_and(|&value| func.constant(value).is_some());
    match data.op {
        Op::Phi | Op::Freeze | Op::Bitcast | Op::Fneg | Op::Ret => OpClass::Free,
        Op::Xor if is_constant(1) && is_mask(func.value_type(data.args[0])) => OpClass::Free,
        Op::Select if is_constant(0) => OpClass::Free,
        Op::Splat | Op::Extract | Op::Insert | Op::Permute | Op::Compress | Op::Expand => OpClass::Moves,
        Op::Load | Op::MaskedLoad => OpClass::Load,
        Op::Gather => OpClass::Gather,
        Op::Store | Op::MaskedStore => OpClass::Store,
        Op::Scatter => OpClass::Scatter,
        Op::Fdiv | Op::Sqrt | Op::Rsqrt | Op::Frem => OpClass::Divide,
        Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem => OpClass::DivideIntegers,
        Op::Mul => OpClass::Multiply,
        Op::Fadd | Op::Fsub | Op::Fmul | Op::Fma | Op::Fmuladd => OpClass::Float,
        Op::Fptosi | Op::Fptoui | Op::Sitofp | Op::Uitofp | Op::Fptrunc | Op::Fpext => OpClass::Float,
        Op::Floor | Op::Ceil | Op::Truncate | Op::Round | Op::RoundEven => OpClass::Float,
        _ => OpClass::Plain,
    }
}

/// Number of registers from which each register of a permutation's result takes elements.
pub(crate) fn permuted_registers(
    order: &[u16],
    scalar: Scalar,
    target: &TargetInfo,
) -> impl Iterator<Item = usize> {
    let lanes = (target.vector_bits / 8 / scalar.bytes()).max(1) as usize;
    order.chunks(lanes).map(move |elements| {
        let mut sources: SmallVec<[usize; 16]> =
            elements.iter().map(|&element| usize::from(element) / lanes).collect();
        sources.sort_unstable();
        sources.dedup();
        sources.len()
    })
}

/// Permutations for a register that takes elements from so many others. Without masks and two-register permutations, halves are blended;
/// bytes do not cross the halves of a register.
pub(crate) fn permutes_of(sources: usize, scalar: Scalar, target: &TargetInfo) -> u32 {
    let (has_all, pairs) = (target.vector_bits >= 512, (sources as u32).saturating_sub(1));
    match (sources, scalar.bytes()) {
        _ if has_all => pairs.max(1),
        (1, 4..) => 1,
        (1, _) => 3,
        (_, 4..) => 3 * pairs,
        _ => 6 * pairs,
    }
}

/// True for a load of 32 bits or more into all lanes, which loads alone do.
fn is_broadcast_load(func: &Function, inst: Inst) -> bool {
    let value = func.inst(inst).args[0];
    let is_load = func.def_inst(value).is_some_and(|def| func.inst(def).op == Op::Load);
    is_load && func.value_type(value).bytes() >= 4
}

/// Number of operations for a permutation. Registers of the result that are registers of the operands take none, and operands of less than
/// a register are joined by one each; equal registers are one. `of_sources` gives the number for a register that takes elements from so many others.
pub(crate) fn permutations(
    func: &Function,
    inst: Inst,
    target: &TargetInfo,
    of_sources: impl Fn(usize) -> u32,
) -> u32 {
    let data = func.inst(inst);
    let (Detail::Permute(order), Some(&operand)) = (&data.detail, data.args.first()) else { return 1 };
    let ty = func.value_type(operand);
    if is_mask(ty) {
        return 1;
    }
    let lanes = (target.vector_bits / 8 / ty.scalar().bytes()).max(1) as usize;
    let whole = lanes.min(ty.lanes().unwrap_or(1).into());
    let is_whole = |part: &[u16]| {
        let first = usize::from(part[0]);
        let is_next = |(at, &element): (usize, &u16)| usize::from(element) == first + at;
        first.is_multiple_of(whole) && part.iter().enumerate().all(is_next)
    };
    let of_register = |(register, sources): (&[u16], usize)| match register.chunks(whole).all(is_whole) {
        true => register.len().div_ceil(whole) as u32 - 1,
        false => of_sources(sources),
    };
    // Rows of a tile that take the same elements share a register.
    let mut registers: SmallVec<[(&[u16], usize); 8]> =
        order.chunks(lanes).zip(permuted_registers(order, ty.scalar(), target)).collect();
    registers.sort_unstable();
    registers.dedup();
    registers.into_iter().map(of_register).sum()
}

/// Time of scalar code for an instruction, for all lanes. Branches replace its masks, and no vectors have to be built.
pub(crate) fn serialized_busy(func: &Function, inst: Inst, target: &TargetInfo) -> u32 {
    let data = func.inst(inst);
    let types = || func.results(inst).iter().chain(&data.args).map(|&value| func.value_type(value));
    let lanes = types().filter_map(Type::lanes).max().unwrap_or(0);
    let is_of_masks = types().filter(|ty| ty.is_vector()).all(is_mask);
    let times = &target.times;
    let one = match op_class(func, inst) {
        _ if is_of_masks || data.op == Op::Call => 0,
        OpClass::Free | OpClass::Moves => 0,
        OpClass::Load | OpClass::Gather => times.load.busy,
        OpClass::Store | OpClass::Scatter => times.store.busy,
        OpClass::Divide => times.divide.busy,
        OpClass::DivideIntegers => times.divide_integers.busy,
        OpClass::Float => times.float.busy,
        OpClass::Multiply | OpClass::Plain => times.scalar.busy,
    };
    one * u32::from(lanes)
}

pub(crate) fn is_mask(ty: Type) -> bool {
    ty.is_vector() && ty.scalar() == Scalar::I1
}

/// Widest vector type of an instruction's results and operands; a mask only where there is nothing else.
pub(crate) fn widest_vector(func: &Function, inst: Inst) -> Option<Type> {
    let values = func.results(inst).iter().chain(&func.inst(inst).args);
    let types = values.map(|&value| func.value_type(value)).filter(|ty| ty.is_vector());
    types.max_by_key(|ty| if is_mask(*ty) { 0 } else { ty.bytes() })
}

/// True if an access is made lane by lane.
pub(crate) fn has_lane_accesses(func: &Function, inst: Inst) -> bool {
    matches!(op_class(func, inst), OpClass::Gather | OpClass::Scatter)
}

/// Time of an instruction; the registers of a vector are processed one after the other. None for calls of unknown
/// time.
pub(crate) fn time_of(func: &Function, inst: Inst, calls: &CallTimes, target: &TargetInfo) -> Option<OpTime> {
    let data = func.inst(inst);
    let times = &target.times;
    let none = OpTime { latency: 0, busy: 0 };
    if data.op == Op::Call {
        return calls.get(&func.callee_of(data)?.name).copied();
    }
    let Some(ty) = widest_vector(func, inst) else {
        let is_free = matches!(data.op, Op::Phi | Op::Ret) || data.op == Op::Br && data.args.is_empty();
        return Some(if is_free { none } else { times.scalar });
    };
    // One lane is in one register, and a value that is equal in all lanes needs one.
    let is_one = is_mask(ty) || matches!(data.op, Op::Extract | Op::Insert | Op::Splat);
    let registers = if is_one { 1 } else { target.registers_of(ty.bytes() * 8) };
    let lanes = u32::from(ty.lanes().unwrap_or(1));
    // A serialized operation completes with its last lane.
    let of_lanes = |busy: u32| OpTime { latency: times.load.latency + busy, busy };
    let one = match op_class(func, inst) {
        OpClass::Free => none,
        OpClass::Load => times.load,
        OpClass::Store => times.store,
        OpClass::Gather | OpClass::Scatter => {
            let direction = AccessDirection::of(data.op);
            let is_store = direction == AccessDirection::Store;
            let element =
                func.value_type(if is_store { data.args[0] } else { func.results(inst)[0] }).scalar();
            // Narrow elements under a mask are behind branches. Others are accessed by pointers, of 64 bits.
            let is_narrow = element.bits() < 32;
            let mask = data.args.get(if is_store { 2 } else { 1 });
            let is_masked = is_narrow && mask.is_some_and(|&mask| func.constant(mask).is_none());
            let bits = if is_narrow { element.bits() } else { ty.bytes() / lanes * 8 };
            return Some(of_lanes(target.scattered_cost(
                direction,
                AccessLanes::under(is_masked),
                lanes,
                bits,
            )));
        }
        OpClass::DivideIntegers => return Some(of_lanes(times.divide_integers.busy * lanes)),
        OpClass::Divide => times.divide,
        // Multiplication by a constant becomes shifts and additions.
        OpClass::Multiply if data.args.get(1).is_some_and(|&value| func.constant(value).is_some()) => {
            times.float
        }
        OpClass::Multiply => times.multiply,
        OpClass::Float => times.float,
        OpClass::Moves | OpClass::Plain => times.plain,
    };
    let registers = match data.op {
        Op::Permute => permutations(func, inst, target, |sources| permutes_of(sources, ty.scalar(), target)),
        Op::Splat if is_broadcast_load(func, inst) => 0,
        _ => registers,
    };
    let latency = if registers == 0 { 0 } else { one.latency };
    Some(OpTime { latency, busy: one.busy * registers })
}

/// Time of a scalar instruction, by its class.
pub(crate) fn scalar_time(func: &Function, inst: Inst, target: &TargetInfo) -> OpTime {
    let times = &target.times;
    let data = func.inst(inst);
    if matches!(data.op, Op::Phi | Op::Ret) || data.op == Op::Br && data.args.is_empty() {
        return OpTime { latency: 0, busy: 0 };
    }
    match op_class(func, inst) {
        OpClass::Load => OpTime { latency: 40, ..times.load },
        OpClass::Store => times.store,
        OpClass::Float => times.float,
        // The scalar divider is as fast as that for the least vector.
        OpClass::Divide => OpTime { latency: 110, busy: 45 },
        OpClass::DivideIntegers => OpTime { latency: 120, ..times.divide_integers },
        OpClass::Multiply => OpTime { latency: 30, busy: 10 },
        _ => times.scalar,
    }
}
