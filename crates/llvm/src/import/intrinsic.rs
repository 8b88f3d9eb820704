//! Import of intrinsics by name, with the table that `./x coverage llvm` prints.

use super::body::{BodyImporter, Leaves};
use super::instruction::fast_math;
use super::memory::volatile;
use super::refusal::{ImportRefusal, ImportResult};
use crate::view::{Val, intrinsic_name_of};
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use heddle_ir::words::{Flag, Flags, FloatPredicate, IntPredicate};
use heddle_ir::{Op, Scalar, Type, Value};
use std::sync::Arc;

/// Lowering of an intrinsic.
#[derive(Clone, Copy)]
pub(crate) enum IntrinsicLowering {
    /// An elementwise op on the first N arguments, with the call's fast-math flags.
    LaneWise(Op, usize),
    /// An elementwise op on two arguments that may return either zero, as C and LLVM allow.
    ZeroSignAgnostic(Op),
    /// An elementwise call of a C library function.
    Math(&'static str, usize),
    /// The first argument.
    FirstArgument,
    /// Dropped: it states what the IR cannot hold, or may be ignored.
    Dropped,
    /// A reduction of its argument's lanes.
    Reduced(Op),
    /// A launch query and its dimension.
    Query(Op, u8),
    /// A lowering of its own.
    Special(SpecialIntrinsic),
    /// Refused: the reason, and help after a colon.
    Refused(&'static str),
}

/// Intrinsics that need more than one op.
#[derive(Clone, Copy)]
pub(crate) enum SpecialIntrinsic {
    Abs,
    ZeroCount(Op),
    Overflow(Op),
    ShiftSat { signed: bool },
    ThreeWay { signed: bool },
    MinimumNumber(Op),
    FloatClass,
    ToInteger(Op),
    Saturate(Op),
    Powi,
    SinCos,
    Modf,
    Canonicalize,
    ToHalf,
    FromHalf,
    OrderedReduce(Op),
    Reverse,
    ExtractVector,
    InsertVector,
    Interleave,
    Deinterleave(u32),
    Splice { left: bool },
    ActiveLanes,
    Step,
    Assume,
    Copy(Op),
    Set,
    Null,
    Constant(i128),
    ObjectSize,
    Trap,
    PointerMask,
    LoadRelative,
    Barrier,
}

use IntrinsicLowering::{
    Dropped, FirstArgument, LaneWise, Math, Query, Reduced, Refused, Special, ZeroSignAgnostic,
};

const FENV: &str = "floating-point environment: compile without -frounding-math and FENV_ACCESS";
const FIXED: &str = "fixed-point numbers: use integers";
const MATRIX: &str = "matrix types: write the loops";
const SANITIZER: &str = "sanitizers: compile without -fsanitize";
const FRAME: &str = "call stack inspection: remove it";
const MASKED: &str = "a branch per lane: compile with -fno-vectorize -fno-slp-vectorize";
const CLOCK: &str = "clock: remove it";
const VARARGS: &str = "variable number of arguments: give it a fixed number";
const REGISTERS: &str = "register of one machine: remove it";
const METADATA_TYPE: &str = "types of virtual functions: compile without -fwhole-program-vtables and CFI";
const PROFILE: &str = "profile counters: compile without -fprofile-instr-generate";
const LATE: &str = "written by LLVM's code generator only: stop before code generation";
const ELEMENTWISE: &str = "element-wise atomic copy: write the loop";
const TRAMPOLINE: &str = "function made at run time: pass a pointer to its data";
const BPF: &str = "rewritten for BPF later: compile for another target";

/// Every target-independent intrinsic of LLVM 22, by name without type suffixes.
pub(crate) const INTRINSICS: &[(&str, IntrinsicLowering)] = &[
    ("llvm.abs", Special(SpecialIntrinsic::Abs)),
    ("llvm.acos", Math("acos", 1)),
    ("llvm.addressofreturnaddress", Refused(FRAME)),
    ("llvm.adjust.trampoline", Refused(TRAMPOLINE)),
    ("llvm.alloc.token.id", Refused(SANITIZER)),
    ("llvm.allow.runtime.check", Special(SpecialIntrinsic::Constant(1))),
    ("llvm.allow.sanitize.address", Refused(SANITIZER)),
    ("llvm.allow.sanitize.hwaddress", Refused(SANITIZER)),
    ("llvm.allow.sanitize.memory", Refused(SANITIZER)),
    ("llvm.allow.sanitize.thread", Refused(SANITIZER)),
    ("llvm.allow.ubsan.check", Special(SpecialIntrinsic::Constant(1))),
    ("llvm.annotation", FirstArgument),
    ("llvm.arithmetic.fence", LaneWise(Op::Freeze, 1)),
    ("llvm.asan.check.memaccess", Refused(SANITIZER)),
    ("llvm.asin", Math("asin", 1)),
    ("llvm.assume", Special(SpecialIntrinsic::Assume)),
    ("llvm.atan", Math("atan", 1)),
    ("llvm.atan2", Math("atan2", 2)),
    ("llvm.bitreverse", LaneWise(Op::Bitreverse, 1)),
    ("llvm.bswap", LaneWise(Op::Bswap, 1)),
    ("llvm.call.preallocated.arg", Refused("arguments built on the stack: use the calling convention of C")),
    (
        "llvm.call.preallocated.setup",
        Refused("arguments built on the stack: use the calling convention of C"),
    ),
    (
        "llvm.call.preallocated.teardown",
        Refused("arguments built on the stack: use the calling convention of C"),
    ),
    ("llvm.callbr.landingpad", Refused("inline assembly that jumps: write it in C")),
    ("llvm.canonicalize", Special(SpecialIntrinsic::Canonicalize)),
    ("llvm.ceil", LaneWise(Op::Ceil, 1)),
    ("llvm.clear_cache", Refused("self-modifying code: remove it")),
    ("llvm.clmul", Refused("a product without carries: write it with shifts and exclusive or")),
    ("llvm.codeview.annotation", Dropped),
    ("llvm.convert.from.fp16", Special(SpecialIntrinsic::FromHalf)),
    ("llvm.convert.to.fp16", Special(SpecialIntrinsic::ToHalf)),
    ("llvm.copysign", LaneWise(Op::Copysign, 2)),
    ("llvm.cos", Math("cos", 1)),
    ("llvm.cosh", Math("cosh", 1)),
    ("llvm.ctlz", Special(SpecialIntrinsic::ZeroCount(Op::Ctlz))),
    ("llvm.ctpop", LaneWise(Op::Ctpop, 1)),
    ("llvm.cttz", Special(SpecialIntrinsic::ZeroCount(Op::Cttz))),
    ("llvm.dbg.assign", Dropped),
    ("llvm.dbg.declare", Dropped),
    ("llvm.dbg.label", Dropped),
    ("llvm.dbg.value", Dropped),
    ("llvm.debugtrap", Special(SpecialIntrinsic::Trap)),
    ("llvm.donothing", Dropped),
    ("llvm.exp", Math("exp", 1)),
    ("llvm.exp10", Math("exp10", 1)),
    ("llvm.exp2", Math("exp2", 1)),
    ("llvm.expect", FirstArgument),
    ("llvm.expect.with.probability", FirstArgument),
    ("llvm.fabs", LaneWise(Op::Fabs, 1)),
    ("llvm.fake.use", Dropped),
    ("llvm.floor", LaneWise(Op::Floor, 1)),
    ("llvm.fma", LaneWise(Op::Fma, 3)),
    ("llvm.fmuladd", LaneWise(Op::Fmuladd, 3)),
    ("llvm.fptosi.sat", Special(SpecialIntrinsic::Saturate(Op::FptosiSat))),
    ("llvm.fptoui.sat", Special(SpecialIntrinsic::Saturate(Op::FptouiSat))),
    ("llvm.fptrunc.round", Refused(FENV)),
    ("llvm.frameaddress", Refused(FRAME)),
    ("llvm.frexp", Refused("exponent and mantissa of a float: use its bits")),
    ("llvm.fshl", LaneWise(Op::Fshl, 3)),
    ("llvm.fshr", LaneWise(Op::Fshr, 3)),
    ("llvm.gcread", Refused("garbage collection: remove it")),
    ("llvm.gcroot", Refused("garbage collection: remove it")),
    ("llvm.gcwrite", Refused("garbage collection: remove it")),
    ("llvm.get.active.lane.mask", Special(SpecialIntrinsic::ActiveLanes)),
    ("llvm.get.dynamic.area.offset", Refused(FRAME)),
    ("llvm.get.fpenv", Refused(FENV)),
    ("llvm.get.fpmode", Refused(FENV)),
    ("llvm.get.rounding", Refused(FENV)),
    ("llvm.hwasan.check.memaccess", Refused(SANITIZER)),
    ("llvm.hwasan.check.memaccess.fixedshadow", Refused(SANITIZER)),
    ("llvm.hwasan.check.memaccess.shortgranules", Refused(SANITIZER)),
    ("llvm.hwasan.check.memaccess.shortgranules.fixedshadow", Refused(SANITIZER)),
    ("llvm.icall.branch.funnel", Refused(METADATA_TYPE)),
    ("llvm.init.trampoline", Refused(TRAMPOLINE)),
    ("llvm.instrprof.callsite", Refused(PROFILE)),
    ("llvm.instrprof.cover", Refused(PROFILE)),
    ("llvm.instrprof.increment", Refused(PROFILE)),
    ("llvm.instrprof.increment.step", Refused(PROFILE)),
    ("llvm.instrprof.mcdc.parameters", Refused(PROFILE)),
    ("llvm.instrprof.mcdc.tvbitmap.update", Refused(PROFILE)),
    ("llvm.instrprof.timestamp", Refused(PROFILE)),
    ("llvm.instrprof.value.profile", Refused(PROFILE)),
    ("llvm.invariant.end", Dropped),
    ("llvm.invariant.start", Special(SpecialIntrinsic::Null)),
    ("llvm.is.constant", Special(SpecialIntrinsic::Constant(0))),
    ("llvm.is.fpclass", Special(SpecialIntrinsic::FloatClass)),
    ("llvm.launder.invariant.group", FirstArgument),
    ("llvm.ldexp", LaneWise(Op::Ldexp, 2)),
    ("llvm.lifetime.end", Dropped),
    ("llvm.lifetime.start", Dropped),
    ("llvm.llrint", Special(SpecialIntrinsic::ToInteger(Op::RoundEven))),
    ("llvm.llround", Special(SpecialIntrinsic::ToInteger(Op::Round))),
    ("llvm.load.relative", Special(SpecialIntrinsic::LoadRelative)),
    ("llvm.localaddress", Refused(FRAME)),
    ("llvm.localescape", Refused(FRAME)),
    ("llvm.localrecover", Refused(FRAME)),
    ("llvm.log", Math("log", 1)),
    ("llvm.log10", Math("log10", 1)),
    ("llvm.log2", Math("log2", 1)),
    ("llvm.loop.decrement", Refused(LATE)),
    ("llvm.loop.decrement.reg", Refused(LATE)),
    ("llvm.loop.dependence.raw.mask", Refused(MASKED)),
    ("llvm.loop.dependence.war.mask", Refused(MASKED)),
    ("llvm.lrint", Special(SpecialIntrinsic::ToInteger(Op::RoundEven))),
    ("llvm.lround", Special(SpecialIntrinsic::ToInteger(Op::Round))),
    ("llvm.masked.compressstore", Refused(MASKED)),
    ("llvm.masked.expandload", Refused(MASKED)),
    ("llvm.masked.gather", Refused(MASKED)),
    ("llvm.masked.load", Refused(MASKED)),
    ("llvm.masked.scatter", Refused(MASKED)),
    ("llvm.masked.store", Refused(MASKED)),
    ("llvm.matrix.column.major.load", Refused(MATRIX)),
    ("llvm.matrix.column.major.store", Refused(MATRIX)),
    ("llvm.matrix.multiply", Refused(MATRIX)),
    ("llvm.matrix.transpose", Refused(MATRIX)),
    ("llvm.maximum", LaneWise(Op::Fmaximum, 2)),
    ("llvm.maximumnum", Special(SpecialIntrinsic::MinimumNumber(Op::Fmaximum))),
    ("llvm.maxnum", ZeroSignAgnostic(Op::Fmax)),
    ("llvm.memcpy", Special(SpecialIntrinsic::Copy(Op::Memcpy))),
    ("llvm.memcpy.element.unordered.atomic", Refused(ELEMENTWISE)),
    ("llvm.memcpy.inline", Special(SpecialIntrinsic::Copy(Op::Memcpy))),
    ("llvm.memmove", Special(SpecialIntrinsic::Copy(Op::Memmove))),
    ("llvm.memmove.element.unordered.atomic", Refused(ELEMENTWISE)),
    ("llvm.memset", Special(SpecialIntrinsic::Set)),
    ("llvm.memset.element.unordered.atomic", Refused(ELEMENTWISE)),
    ("llvm.memset.inline", Special(SpecialIntrinsic::Set)),
    ("llvm.minimum", LaneWise(Op::Fminimum, 2)),
    ("llvm.minimumnum", Special(SpecialIntrinsic::MinimumNumber(Op::Fminimum))),
    ("llvm.minnum", ZeroSignAgnostic(Op::Fmin)),
    ("llvm.modf", Special(SpecialIntrinsic::Modf)),
    ("llvm.nearbyint", LaneWise(Op::RoundEven, 1)),
    ("llvm.objectsize", Special(SpecialIntrinsic::ObjectSize)),
    ("llvm.pcmarker", Dropped),
    ("llvm.pow", Math("pow", 2)),
    ("llvm.powi", Special(SpecialIntrinsic::Powi)),
    ("llvm.prefetch", Dropped),
    ("llvm.preserve.array.access.index", Refused(BPF)),
    ("llvm.preserve.static.offset", Refused(BPF)),
    ("llvm.preserve.struct.access.index", Refused(BPF)),
    ("llvm.preserve.union.access.index", Refused(BPF)),
    ("llvm.protected.field.ptr", Refused("signed pointers: compile without pointer authentication")),
    ("llvm.pseudoprobe", Dropped),
    ("llvm.ptr.annotation", FirstArgument),
    ("llvm.ptrmask", Special(SpecialIntrinsic::PointerMask)),
    ("llvm.public.type.test", Refused(METADATA_TYPE)),
    ("llvm.read_register", Refused(REGISTERS)),
    ("llvm.read_volatile_register", Refused(REGISTERS)),
    ("llvm.readcyclecounter", Refused(CLOCK)),
    ("llvm.readsteadycounter", Refused(CLOCK)),
    ("llvm.reloc.none", Dropped),
    ("llvm.reset.fpenv", Refused(FENV)),
    ("llvm.reset.fpmode", Refused(FENV)),
    ("llvm.returnaddress", Refused(FRAME)),
    ("llvm.rint", LaneWise(Op::RoundEven, 1)),
    ("llvm.round", LaneWise(Op::Round, 1)),
    ("llvm.roundeven", LaneWise(Op::RoundEven, 1)),
    ("llvm.sadd.sat", LaneWise(Op::SaddSat, 2)),
    ("llvm.sadd.with.overflow", Special(SpecialIntrinsic::Overflow(Op::SaddSat))),
    ("llvm.scmp", Special(SpecialIntrinsic::ThreeWay { signed: true })),
    ("llvm.sdiv.fix", Refused(FIXED)),
    ("llvm.sdiv.fix.sat", Refused(FIXED)),
    ("llvm.set.fpenv", Refused(FENV)),
    ("llvm.set.fpmode", Refused(FENV)),
    ("llvm.set.loop.iterations", Refused(LATE)),
    ("llvm.set.rounding", Refused(FENV)),
    ("llvm.sideeffect", Dropped),
    ("llvm.sin", Math("sin", 1)),
    ("llvm.sincos", Special(SpecialIntrinsic::SinCos)),
    ("llvm.sincospi", Refused("no such function in every C library: multiply by π first")),
    ("llvm.sinh", Math("sinh", 1)),
    ("llvm.smax", LaneWise(Op::Smax, 2)),
    ("llvm.smin", LaneWise(Op::Smin, 2)),
    ("llvm.smul.fix", Refused(FIXED)),
    ("llvm.smul.fix.sat", Refused(FIXED)),
    ("llvm.smul.with.overflow", Special(SpecialIntrinsic::Overflow(Op::Sext))),
    ("llvm.sponentry", Refused(FRAME)),
    ("llvm.sqrt", LaneWise(Op::Sqrt, 1)),
    ("llvm.ssa.copy", FirstArgument),
    ("llvm.sshl.sat", Special(SpecialIntrinsic::ShiftSat { signed: true })),
    ("llvm.ssub.sat", LaneWise(Op::SsubSat, 2)),
    ("llvm.ssub.with.overflow", Special(SpecialIntrinsic::Overflow(Op::SsubSat))),
    ("llvm.stackaddress", Refused(FRAME)),
    ("llvm.stackguard", Refused("stack protectors: compile with -fno-stack-protector")),
    ("llvm.stackprotector", Refused("stack protectors: compile with -fno-stack-protector")),
    ("llvm.stackrestore", Dropped),
    ("llvm.stacksave", Special(SpecialIntrinsic::Null)),
    ("llvm.start.loop.iterations", Refused(LATE)),
    ("llvm.stepvector", Special(SpecialIntrinsic::Step)),
    ("llvm.strip.invariant.group", FirstArgument),
    ("llvm.swift.async.context.addr", Refused("Swift's calling convention: use that of C")),
    ("llvm.tan", Math("tan", 1)),
    ("llvm.tanh", Math("tanh", 1)),
    ("llvm.test.set.loop.iterations", Refused(LATE)),
    ("llvm.test.start.loop.iterations", Refused(LATE)),
    ("llvm.thread.pointer", Refused("thread-local variable: pass its address")),
    ("llvm.threadlocal.address", Refused("thread-local variable: pass its address")),
    ("llvm.trap", Special(SpecialIntrinsic::Trap)),
    ("llvm.trunc", LaneWise(Op::Truncate, 1)),
    ("llvm.type.checked.load", Refused(METADATA_TYPE)),
    ("llvm.type.checked.load.relative", Refused(METADATA_TYPE)),
    ("llvm.type.test", Refused(METADATA_TYPE)),
    ("llvm.uadd.sat", LaneWise(Op::UaddSat, 2)),
    ("llvm.uadd.with.overflow", Special(SpecialIntrinsic::Overflow(Op::UaddSat))),
    ("llvm.ubsantrap", Refused(SANITIZER)),
    ("llvm.ucmp", Special(SpecialIntrinsic::ThreeWay { signed: false })),
    ("llvm.udiv.fix", Refused(FIXED)),
    ("llvm.udiv.fix.sat", Refused(FIXED)),
    ("llvm.umax", LaneWise(Op::Umax, 2)),
    ("llvm.umin", LaneWise(Op::Umin, 2)),
    ("llvm.umul.fix", Refused(FIXED)),
    ("llvm.umul.fix.sat", Refused(FIXED)),
    ("llvm.umul.with.overflow", Special(SpecialIntrinsic::Overflow(Op::Zext))),
    ("llvm.ushl.sat", Special(SpecialIntrinsic::ShiftSat { signed: false })),
    ("llvm.usub.sat", LaneWise(Op::UsubSat, 2)),
    ("llvm.usub.with.overflow", Special(SpecialIntrinsic::Overflow(Op::UsubSat))),
    ("llvm.va_copy", Refused(VARARGS)),
    ("llvm.va_end", Refused(VARARGS)),
    ("llvm.va_start", Refused(VARARGS)),
    ("llvm.var.annotation", Dropped),
    ("llvm.vector.deinterleave2", Special(SpecialIntrinsic::Deinterleave(2))),
    ("llvm.vector.deinterleave3", Special(SpecialIntrinsic::Deinterleave(3))),
    ("llvm.vector.deinterleave4", Special(SpecialIntrinsic::Deinterleave(4))),
    ("llvm.vector.deinterleave5", Special(SpecialIntrinsic::Deinterleave(5))),
    ("llvm.vector.deinterleave6", Special(SpecialIntrinsic::Deinterleave(6))),
    ("llvm.vector.deinterleave7", Special(SpecialIntrinsic::Deinterleave(7))),
    ("llvm.vector.deinterleave8", Special(SpecialIntrinsic::Deinterleave(8))),
    ("llvm.vector.extract", Special(SpecialIntrinsic::ExtractVector)),
    ("llvm.vector.insert", Special(SpecialIntrinsic::InsertVector)),
    ("llvm.vector.interleave2", Special(SpecialIntrinsic::Interleave)),
    ("llvm.vector.interleave3", Special(SpecialIntrinsic::Interleave)),
    ("llvm.vector.interleave4", Special(SpecialIntrinsic::Interleave)),
    ("llvm.vector.interleave5", Special(SpecialIntrinsic::Interleave)),
    ("llvm.vector.interleave6", Special(SpecialIntrinsic::Interleave)),
    ("llvm.vector.interleave7", Special(SpecialIntrinsic::Interleave)),
    ("llvm.vector.interleave8", Special(SpecialIntrinsic::Interleave)),
    (
        "llvm.vector.partial.reduce.add",
        Refused("written by LLVM's vectorizer only: compile with -fno-vectorize"),
    ),
    (
        "llvm.vector.partial.reduce.fadd",
        Refused("written by LLVM's vectorizer only: compile with -fno-vectorize"),
    ),
    ("llvm.vector.reduce.add", Reduced(Op::Add)),
    ("llvm.vector.reduce.and", Reduced(Op::And)),
    ("llvm.vector.reduce.fadd", Special(SpecialIntrinsic::OrderedReduce(Op::Fadd))),
    ("llvm.vector.reduce.fmax", Reduced(Op::Fmax)),
    ("llvm.vector.reduce.fmaximum", Reduced(Op::Fmaximum)),
    ("llvm.vector.reduce.fmin", Reduced(Op::Fmin)),
    ("llvm.vector.reduce.fminimum", Reduced(Op::Fminimum)),
    ("llvm.vector.reduce.fmul", Special(SpecialIntrinsic::OrderedReduce(Op::Fmul))),
    ("llvm.vector.reduce.mul", Reduced(Op::Mul)),
    ("llvm.vector.reduce.or", Reduced(Op::Or)),
    ("llvm.vector.reduce.smax", Reduced(Op::Smax)),
    ("llvm.vector.reduce.smin", Reduced(Op::Smin)),
    ("llvm.vector.reduce.umax", Reduced(Op::Umax)),
    ("llvm.vector.reduce.umin", Reduced(Op::Umin)),
    ("llvm.vector.reduce.xor", Reduced(Op::Xor)),
    ("llvm.vector.reverse", Special(SpecialIntrinsic::Reverse)),
    ("llvm.vector.splice.left", Special(SpecialIntrinsic::Splice { left: true })),
    ("llvm.vector.splice.right", Special(SpecialIntrinsic::Splice { left: false })),
    ("llvm.vscale", Refused("scalable vectors: compile without SVE and RVV intrinsics")),
    ("llvm.write_register", Refused(REGISTERS)),
    ("llvm.xray.customevent", Refused("tracing: compile without -fxray-instrument")),
    ("llvm.xray.typedevent", Refused("tracing: compile without -fxray-instrument")),
    ("llvm.experimental.cttz.elts", Refused("search for a lane: write the loop")),
    ("llvm.experimental.deoptimize", Refused("it leaves compiled code: remove it")),
    ("llvm.experimental.get.vector.length", Refused("scalable vectors: compile with -fno-vectorize")),
    ("llvm.experimental.guard", Refused("it leaves compiled code: remove it")),
    ("llvm.experimental.memset.pattern", Refused("fill of memory with a pattern: write the loop")),
    ("llvm.experimental.noalias.scope.decl", Dropped),
    ("llvm.experimental.patchpoint", Refused("self-modifying code: remove it")),
    ("llvm.experimental.patchpoint.void", Refused("self-modifying code: remove it")),
    ("llvm.experimental.stackmap", Refused("self-modifying code: remove it")),
    ("llvm.experimental.vector.compress", Refused("permutation by lane numbers: write the loop")),
    ("llvm.experimental.vector.extract.last.active", Refused("search for a lane: write the loop")),
    ("llvm.experimental.vector.histogram.add", Refused(MASKED)),
    ("llvm.experimental.vector.histogram.uadd.sat", Refused(MASKED)),
    ("llvm.experimental.vector.histogram.umax", Refused(MASKED)),
    ("llvm.experimental.vector.histogram.umin", Refused(MASKED)),
    ("llvm.experimental.vector.match", Refused("search for lanes: write the loop")),
    ("llvm.experimental.widenable.condition", Refused("it leaves compiled code: remove it")),
    ("llvm.nvvm.read.ptx.sreg.tid.x", Query(Op::LocalId, 0)),
    ("llvm.nvvm.read.ptx.sreg.tid.y", Query(Op::LocalId, 1)),
    ("llvm.nvvm.read.ptx.sreg.tid.z", Query(Op::LocalId, 2)),
    ("llvm.nvvm.read.ptx.sreg.ntid.x", Query(Op::LocalSize, 0)),
    ("llvm.nvvm.read.ptx.sreg.ntid.y", Query(Op::LocalSize, 1)),
    ("llvm.nvvm.read.ptx.sreg.ntid.z", Query(Op::LocalSize, 2)),
    ("llvm.nvvm.read.ptx.sreg.ctaid.x", Query(Op::GroupId, 0)),
    ("llvm.nvvm.read.ptx.sreg.ctaid.y", Query(Op::GroupId, 1)),
    ("llvm.nvvm.read.ptx.sreg.ctaid.z", Query(Op::GroupId, 2)),
    ("llvm.nvvm.read.ptx.sreg.nctaid.x", Query(Op::NumGroups, 0)),
    ("llvm.nvvm.read.ptx.sreg.nctaid.y", Query(Op::NumGroups, 1)),
    ("llvm.nvvm.read.ptx.sreg.nctaid.z", Query(Op::NumGroups, 2)),
    ("llvm.nvvm.barrier.cta.sync.aligned.all", Special(SpecialIntrinsic::Barrier)),
    ("llvm.amdgcn.workitem.id.x", Query(Op::LocalId, 0)),
    ("llvm.amdgcn.workitem.id.y", Query(Op::LocalId, 1)),
    ("llvm.amdgcn.workitem.id.z", Query(Op::LocalId, 2)),
    ("llvm.amdgcn.workgroup.id.x", Query(Op::GroupId, 0)),
    ("llvm.amdgcn.workgroup.id.y", Query(Op::GroupId, 1)),
    ("llvm.amdgcn.workgroup.id.z", Query(Op::GroupId, 2)),
    ("llvm.amdgcn.s.barrier", Special(SpecialIntrinsic::Barrier)),
];

const MACHINE: &str = "intrinsic of one machine: write it in C";

/// Refused intrinsic families, by name prefix.
pub(crate) const FAMILIES: &[(&str, &str)] = &[
    ("llvm.aarch64.", MACHINE),
    ("llvm.amdgcn.", MACHINE),
    ("llvm.arm.", MACHINE),
    ("llvm.bpf.", MACHINE),
    ("llvm.dx.", MACHINE),
    ("llvm.hexagon.", MACHINE),
    ("llvm.loongarch.", MACHINE),
    ("llvm.mips.", MACHINE),
    ("llvm.nvvm.", MACHINE),
    ("llvm.ppc.", MACHINE),
    ("llvm.r600.", MACHINE),
    ("llvm.riscv.", MACHINE),
    ("llvm.s390.", MACHINE),
    ("llvm.spv.", MACHINE),
    ("llvm.ve.", MACHINE),
    ("llvm.wasm.", MACHINE),
    ("llvm.x86.", MACHINE),
    ("llvm.xcore.", MACHINE),
    ("llvm.coro.", "coroutines: write a state machine"),
    ("llvm.eh.", "exceptions: compile with -fno-exceptions, or -C panic=abort"),
    ("llvm.seh.", "exceptions: compile with -fno-exceptions, or -C panic=abort"),
    ("llvm.objc.", "reference counts of Objective-C: move them out of the function"),
    ("llvm.ptrauth.", "signed pointers: compile without pointer authentication"),
    ("llvm.vp.", "scalable vector lengths: compile with -fno-vectorize"),
    ("llvm.experimental.vp.", "scalable vector lengths: compile with -fno-vectorize"),
    ("llvm.experimental.constrained.", FENV),
    ("llvm.experimental.convergence.", "convergence tokens: compile without them"),
    ("llvm.experimental.gc.", "garbage collection: remove it"),
];

/// Returns the lowering of an intrinsic; none for unknown names.
pub(crate) fn intrinsic_lowering(name: &str) -> Option<IntrinsicLowering> {
    if let Some((_, lowering)) = INTRINSICS.iter().find(|(known, _)| *known == name) {
        return Some(*lowering);
    }
    FAMILIES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, reason)| Refused(reason))
}

impl<'m> BodyImporter<'_, 'm> {
    /// Imports an intrinsic call.
    pub(super) fn intrinsic(&mut self, inst: Val<'m>, callee: Val<'m>) -> ImportResult<Leaves> {
        let name = intrinsic_name_of(callee);
        let flags = fast_math(inst.fast_math());
        let arguments = inst.arguments();
        let types = arguments.iter().map(|argument| argument.ty()).chain([inst.ty()]);
        let has_odd_width = types.into_iter().any(|ty| self.module.types.odd_bits(ty).is_some());
        // These lowerings do not depend on the integer width.
        let is_indifferent = matches!(
            intrinsic_lowering(&name),
            None | Some(
                FirstArgument
                    | Dropped
                    | Refused(_)
                    | LaneWise(Op::Umin | Op::Umax | Op::Ctpop | Op::Bitreverse, _)
            )
        );
        if has_odd_width && !is_indifferent {
            return Err(ImportRefusal::new(
                format!("{name} of integers of an odd width"),
                "use the next wider type",
            ));
        }
        match intrinsic_lowering(&name) {
            None => Err(ImportRefusal::new(
                format!("unknown intrinsic {name}"),
                "please report it, with this file",
            )),
            Some(Refused(reason)) => {
                let (reason, help) = reason.split_once(": ").unwrap_or((reason, ""));
                Err(ImportRefusal::new(format!("unsupported intrinsic {name}: {reason}"), help))
            }
            Some(Dropped) => Ok(Leaves::new()),
            Some(FirstArgument) => self.leaves(arguments[0]),
            Some(LaneWise(Op::Bitreverse, _)) if has_odd_width => self.odd_bitreverse(inst, arguments[0]),
            Some(LaneWise(op, count)) => {
                let operands = self.all(&arguments[..count])?;
                self.lanewise_with(op, &operands, flags.intersection(op.info().flags))
            }
            Some(ZeroSignAgnostic(op)) => {
                let operands = self.all(&arguments[..2])?;
                self.lanewise_with(op, &operands, flags.intersection(op.info().flags).with(Flag::Nsz))
            }
            Some(Math(name, count)) => {
                let operands = self.all(&arguments[..count])?;
                (0..operands[0].len())
                    .map(|lane| {
                        let args: Vec<Value> = operands.iter().map(|operand| operand[lane]).collect();
                        self.call_math(name, &args)
                    })
                    .collect()
            }
            Some(Reduced(op)) => {
                let lanes = self.leaves(arguments[0])?;
                Ok(Leaves::from_slice(&[self.combine(op, &lanes, flags.intersection(op.info().flags))?]))
            }
            Some(Query(op, dimension)) => Ok(Leaves::from_slice(&[self.query(inst, op, Some(dimension))?])),
            Some(Special(special)) => self.special(special, inst, &arguments, flags),
        }
    }

    fn all(&mut self, arguments: &[Val<'m>]) -> ImportResult<Vec<Leaves>> {
        let mut all = Vec::new();
        for &argument in arguments {
            all.push(self.leaves(argument)?);
        }
        Ok(all)
    }

    fn is_true(&mut self, argument: Val<'m>) -> ImportResult<bool> {
        let value = self.leaf(argument)?;
        Ok(self.constant_int(value).is_some_and(|value| value != 0))
    }

    fn number(&mut self, argument: Val<'m>) -> ImportResult<usize> {
        let value = self.leaf(argument)?;
        let number = self.constant_int(value).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| {
            ImportRefusal::new("an operand must be constant", "please report it, with this file")
        })
    }

    fn special(
        &mut self,
        special: SpecialIntrinsic,
        inst: Val<'m>,
        args: &[Val<'m>],
        fast: Flags,
    ) -> ImportResult<Leaves> {
        let result = self.module.types.leaves(inst.ty())?;
        let one = |value: Value| Leaves::from_slice(&[value]);
        match special {
            SpecialIntrinsic::Abs => {
                let strict = if self.is_true(args[1])? { Flags::of(&[Flag::Strict]) } else { Flags::NONE };
                let operands = self.all(&args[..1])?;
                self.lanewise_with(Op::Abs, &operands, strict)
            }
            SpecialIntrinsic::ZeroCount(op) => {
                let strict = if self.is_true(args[1])? { Flags::of(&[Flag::Strict]) } else { Flags::NONE };
                let operands = self.all(&args[..1])?;
                self.lanewise_with(op, &operands, strict)
            }
            SpecialIntrinsic::Overflow(kind) => {
                let (a, b) = (self.leaves(args[0])?, self.leaves(args[1])?);
                let (mut values, mut overflows) = (Leaves::new(), Leaves::new());
                for (a, b) in a.into_iter().zip(b) {
                    let (value, overflow) = self.with_overflow(kind, a, b)?;
                    values.push(value);
                    overflows.push(overflow);
                }
                values.extend(overflows);
                Ok(values)
            }
            SpecialIntrinsic::ShiftSat { signed } => {
                let (a, b) = (self.leaves(args[0])?, self.leaves(args[1])?);
                a.into_iter().zip(b).map(|(a, b)| self.shift_sat(signed, a, b)).collect()
            }
            SpecialIntrinsic::ThreeWay { signed } => {
                let (a, b) = (self.leaves(args[0])?, self.leaves(args[1])?);
                let predicates = match signed {
                    true => (IntPredicate::Slt, IntPredicate::Sgt),
                    false => (IntPredicate::Ult, IntPredicate::Ugt),
                };
                let (less, zero, more) = (
                    self.int(result[0].scalar, -1),
                    self.int(result[0].scalar, 0),
                    self.int(result[0].scalar, 1),
                );
                a.into_iter()
                    .zip(b)
                    .map(|(a, b)| {
                        let (is_less, is_more) =
                            (self.icmp(predicates.0, a, b)?, self.icmp(predicates.1, a, b)?);
                        let otherwise = self.choose(is_more, more, zero)?;
                        self.choose(is_less, less, otherwise)
                    })
                    .collect()
            }
            SpecialIntrinsic::MinimumNumber(op) => {
                let (a, b) = (self.leaves(args[0])?, self.leaves(args[1])?);
                a.into_iter()
                    .zip(b)
                    .map(|(a, b)| {
                        let both = self.op_with(op, &[a, b], fast)?;
                        let a_is_nan = self.fcmp(FloatPredicate::Uno, a, a)?;
                        let b_is_nan = self.fcmp(FloatPredicate::Uno, b, b)?;
                        let without_b = self.choose(b_is_nan, a, both)?;
                        self.choose(a_is_nan, b, without_b)
                    })
                    .collect()
            }
            SpecialIntrinsic::FloatClass => {
                let classes = self.number(args[1])? as u16;
                let values = self.leaves(args[0])?;
                let data = |value| InstData::new(Op::FloatClass, [value], Detail::FloatClass(classes));
                values.into_iter().map(|value| self.emit(data(value), None)).collect()
            }
            SpecialIntrinsic::ToInteger(round) => {
                let values = self.leaves(args[0])?;
                values
                    .into_iter()
                    .map(|value| {
                        let rounded = self.op(round, &[value])?;
                        self.op_to(Op::FptosiSat, result[0].scalar, &[rounded])
                    })
                    .collect()
            }
            SpecialIntrinsic::Saturate(op) => {
                let values = self.leaves(args[0])?;
                values.into_iter().map(|value| self.op_to(op, result[0].scalar, &[value])).collect()
            }
            SpecialIntrinsic::Powi => {
                let (bases, exponent) = (self.leaves(args[0])?, self.leaf(args[1])?);
                let exponent = self.op_to(Op::Sitofp, result[0].scalar, &[exponent])?;
                bases.into_iter().map(|base| self.call_math("pow", &[base, exponent])).collect()
            }
            SpecialIntrinsic::SinCos => {
                let values = self.leaves(args[0])?;
                let mut both = Leaves::new();
                for name in ["sin", "cos"] {
                    for &value in &values {
                        both.push(self.call_math(name, &[value])?);
                    }
                }
                Ok(both)
            }
            SpecialIntrinsic::Modf => {
                let values = self.leaves(args[0])?;
                let (mut fractions, mut wholes) = (Leaves::new(), Leaves::new());
                for value in values {
                    let whole = self.op(Op::Truncate, &[value])?;
                    let difference = self.op(Op::Fsub, &[value, whole])?;
                    let is_whole = self.fcmp(FloatPredicate::Oeq, value, whole)?;
                    let scalar = self.scalar(value);
                    let zero = self.bits(scalar, 0);
                    let fraction = self.choose(is_whole, zero, difference)?;
                    fractions.push(self.op(Op::Copysign, &[fraction, value])?);
                    wholes.push(whole);
                }
                fractions.extend(wholes);
                Ok(fractions)
            }
            SpecialIntrinsic::Canonicalize => {
                let values = self.leaves(args[0])?;
                let bits = match result[0].scalar {
                    Scalar::F16 => 0x3c00,
                    Scalar::BF16 => 0x3f80,
                    Scalar::F32 => 1.0f32.to_bits().into(),
                    _ => 1.0f64.to_bits().into(),
                };
                let one = self.bits(result[0].scalar, bits);
                values.into_iter().map(|value| self.op(Op::Fmul, &[value, one])).collect()
            }
            SpecialIntrinsic::ToHalf => {
                let value = self.leaf(args[0])?;
                let half = self.op_to(Op::Fptrunc, Scalar::F16, &[value])?;
                Ok(one(self.op_to(Op::Bitcast, Scalar::I16, &[half])?))
            }
            SpecialIntrinsic::FromHalf => {
                let bits = self.leaf(args[0])?;
                let half = self.op_to(Op::Bitcast, Scalar::F16, &[bits])?;
                Ok(one(self.op_to(Op::Fpext, result[0].scalar, &[half])?))
            }
            SpecialIntrinsic::OrderedReduce(op) => {
                let mut lanes = self.leaves(args[0])?;
                lanes.extend(self.leaves(args[1])?);
                Ok(one(self.combine(op, &lanes, fast)?))
            }
            SpecialIntrinsic::Reverse => Ok(self.leaves(args[0])?.into_iter().rev().collect()),
            SpecialIntrinsic::ExtractVector => {
                let (lanes, first) = (self.leaves(args[0])?, self.number(args[1])?);
                let picked = lanes.get(first..first + result.len());
                picked.map(Leaves::from_slice).ok_or_else(|| ImportRefusal::new("lanes out of bounds", ""))
            }
            SpecialIntrinsic::InsertVector => {
                let (mut lanes, part, first) =
                    (self.leaves(args[0])?, self.leaves(args[1])?, self.number(args[2])?);
                let outside = || ImportRefusal::new("lanes out of bounds", "");
                lanes.get_mut(first..first + part.len()).ok_or_else(outside)?.copy_from_slice(&part);
                Ok(lanes)
            }
            SpecialIntrinsic::Interleave => {
                let parts = self.all(args)?;
                Ok((0..parts[0].len()).flat_map(|lane| parts.iter().map(move |part| part[lane])).collect())
            }
            SpecialIntrinsic::Deinterleave(factor) => {
                let lanes = self.leaves(args[0])?;
                let factor = factor as usize;
                Ok((0..factor).flat_map(|first| lanes.iter().skip(first).step_by(factor).copied()).collect())
            }
            SpecialIntrinsic::Splice { left } => {
                let mut lanes = self.leaves(args[0])?;
                let count = lanes.len();
                lanes.extend(self.leaves(args[1])?);
                let offset = self.number(args[2])?;
                let first = if left { offset } else { count.saturating_sub(offset) };
                let picked = lanes.get(first..first + count);
                picked.map(Leaves::from_slice).ok_or_else(|| ImportRefusal::new("lanes out of bounds", ""))
            }
            SpecialIntrinsic::ActiveLanes => {
                let (first, end) = (self.leaf(args[0])?, self.leaf(args[1])?);
                let count = self.op(Op::UsubSat, &[end, first])?;
                let scalar = self.scalar(first);
                (0..result.len())
                    .map(|lane| {
                        let lane = self.int(scalar, lane as i128);
                        self.icmp(IntPredicate::Ult, lane, count)
                    })
                    .collect()
            }
            SpecialIntrinsic::Step => Ok(result
                .iter()
                .enumerate()
                .map(|(lane, leaf)| self.int(leaf.scalar, lane as i128))
                .collect()),
            SpecialIntrinsic::Assume => {
                let condition = self.leaf(args[0])?;
                if self.constant_int(condition).is_none_or(|condition| condition == 0) {
                    self.emit_inst(InstData::plain(Op::Assume, [condition]), None)?;
                }
                Ok(Leaves::new())
            }
            SpecialIntrinsic::Copy(op) => {
                let flags = volatile(self.is_true(args[3])?);
                let operands = [self.leaf(args[0])?, self.leaf(args[1])?, self.leaf(args[2])?];
                let both = (self.argument_access(inst, 1), self.argument_access(inst, 2));
                self.check_written(operands[0])?;
                let data = InstData::new(op, operands, Detail::Transfer(Box::new(both)));
                self.emit_inst(InstData { flags, ..data }, None)?;
                Ok(Leaves::new())
            }
            SpecialIntrinsic::Set => {
                let flags = volatile(self.is_true(args[3])?);
                let operands = [self.leaf(args[0])?, self.leaf(args[1])?, self.leaf(args[2])?];
                let access = self.argument_access(inst, 1);
                self.check_written(operands[0])?;
                let data = InstData::new(Op::Memset, operands, Detail::Access(access));
                self.emit_inst(InstData { flags, ..data }, None)?;
                Ok(Leaves::new())
            }
            SpecialIntrinsic::Null => Ok(one(self.bits(result[0].scalar, 0))),
            SpecialIntrinsic::Constant(value) => Ok(one(self.int(result[0].scalar, value))),
            SpecialIntrinsic::ObjectSize => {
                let value = if self.is_true(args[1])? { 0 } else { -1 };
                Ok(one(self.int(result[0].scalar, value)))
            }
            SpecialIntrinsic::Trap => {
                let declaration = Declaration {
                    name: intrinsic_name_of(inst.called()),
                    kind: FunctionKind::Function,
                    signature: Signature { effects: Effects::ANY, ..Signature::new(&[], &[]) },
                };
                self.call_declared(&Arc::new(declaration), &[])
            }
            SpecialIntrinsic::PointerMask => {
                let (address, mask) = (self.leaf(args[0])?, self.leaf(args[1])?);
                let scalar = self.scalar(mask);
                let int = self.op_to(Op::Ptrtoint, scalar, &[address])?;
                let masked = self.op(Op::And, &[int, mask])?;
                let offset = self.op(Op::Sub, &[masked, int])?;
                let offset = self.i64_of(offset)?;
                Ok(one(self.op(Op::PtrAdd, &[address, offset])?))
            }
            SpecialIntrinsic::LoadRelative => {
                let (address, offset) = (self.leaf(args[0])?, self.leaf(args[1])?);
                let offset = self.i64_of(offset)?;
                let at = self.op(Op::PtrAdd, &[address, offset])?;
                let detail = Detail::Access(Access::aligned(4));
                let relative = self.emit(InstData::new(Op::Load, [at], detail), Some(Type::I32))?;
                let relative = self.i64_of(relative)?;
                Ok(one(self.op(Op::PtrAdd, &[address, relative])?))
            }
            SpecialIntrinsic::Barrier => {
                self.barrier()?;
                Ok(Leaves::new())
            }
        }
    }

    /// Returns the access of a memory intrinsic through one of its pointers.
    fn argument_access(&self, inst: Val<'m>, index: u32) -> Access {
        let align = inst.call_attribute(index, self.module.kinds.align);
        let align = align.and_then(|align| u32::try_from(align).ok()).filter(|align| align.is_power_of_two());
        Access::aligned(align.unwrap_or(1))
    }

    /// Emits an arithmetic op and its overflow flag. `kind` encodes operation and sign.
    fn with_overflow(&mut self, kind: Op, a: Value, b: Value) -> ImportResult<(Value, Value)> {
        let scalar = self.scalar(a);
        let zero = self.int(scalar, 0);
        Ok(match kind {
            Op::UaddSat => {
                let sum = self.op(Op::Add, &[a, b])?;
                (sum, self.icmp(IntPredicate::Ult, sum, a)?)
            }
            Op::UsubSat => (self.op(Op::Sub, &[a, b])?, self.icmp(IntPredicate::Ult, a, b)?),
            Op::SaddSat | Op::SsubSat => {
                let is_sum = kind == Op::SaddSat;
                let result = self.op(if is_sum { Op::Add } else { Op::Sub }, &[a, b])?;
                let (x, y) = (
                    self.op(Op::Xor, &[a, result])?,
                    self.op(Op::Xor, &[if is_sum { b } else { a }, result])?,
                );
                let y = if is_sum { y } else { self.op(Op::Xor, &[a, b])? };
                let both = self.op(Op::And, &[x, y])?;
                (result, self.icmp(IntPredicate::Slt, both, zero)?)
            }
            _ => {
                let double = Scalar::int(if scalar == Scalar::I1 { 8 } else { scalar.bits() * 2 });
                let Some(double) = double else {
                    return Err(ImportRefusal::new(
                        "a product of 128-bit numbers with overflow",
                        "use 64-bit numbers",
                    ));
                };
                let (wide_a, wide_b) = (self.op_to(kind, double, &[a])?, self.op_to(kind, double, &[b])?);
                let product = self.op(Op::Mul, &[wide_a, wide_b])?;
                let result = self.op_to(Op::Trunc, scalar, &[product])?;
                let again = self.op_to(kind, double, &[result])?;
                (result, self.icmp(IntPredicate::Ne, again, product)?)
            }
        })
    }

    fn shift_sat(&mut self, signed: bool, a: Value, b: Value) -> ImportResult<Value> {
        let scalar = self.scalar(a);
        let (back, most) = match signed {
            true => (Op::Ashr, scalar.bit_mask() >> 1),
            false => (Op::Lshr, scalar.bit_mask()),
        };
        let shifted = self.op(Op::Shl, &[a, b])?;
        let again = self.op(back, &[shifted, b])?;
        let mut clamped = self.bits(scalar, most);
        if signed {
            let zero = self.int(scalar, 0);
            let is_negative = self.icmp(IntPredicate::Slt, a, zero)?;
            let least = self.bits(scalar, most + 1);
            clamped = self.choose(is_negative, least, clamped)?;
        }
        let fits = self.icmp(IntPredicate::Eq, again, a)?;
        self.choose(fits, shifted, clamped)
    }
}
