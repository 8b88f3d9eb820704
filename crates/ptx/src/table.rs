//! Table of instruction forms: mnemonic, pattern of modifiers, operands, operation.
//!
//! It drives the parser, the checker, `./x coverage ptx` and the tests that cover every form.
//!
//! A pattern lists the modifiers in their order: `a|b` is a choice, `x?` is optional, a class name expands to its
//! words, and `*` matches everything that follows. Operands:
//!
//! ```text
//! T S D       a source of the last type, of the second, of the first (with `=` before: a destination)
//! W           of twice the width of the last type
//! u32 b64 …   of this type, whatever the modifiers        p     a predicate, perhaps negated
//! =p|p  =T|p  a destination, with an optional predicate   V     a vector of the last type, by `.v2`, `.v4` or `.v8`
//! m           an address in brackets                      i     a constant
//! x           a texture or surface with coordinates, in brackets
//! L F A       a label, a function, anything               ?x    optional        …  everything that follows
//! ```

use crate::operation::PtxOperation::{self, *};
use crate::operation::{FloatOp, IntegerOp, VideoOp};
use crate::words::Word;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::LazyLock;

const TEXTURE: PtxOperation =
    Refused("cube maps, formatted stores and reductions of textures and surfaces; use other accesses");
const TENSOR: PtxOperation = Refused("tensor cores with fragments of a whole warp; compile without them");
const TMA: PtxOperation = Refused("bulk and tensor copies; copy with loads and stores");
const CLUSTER: PtxOperation = Refused("clusters of work-groups; launch without clusters");
const MBARRIER: PtxOperation =
    Refused("barrier objects of clusters, and those that threads leave; use `bar.sync`");
const VIDEO: PtxOperation = Refused("video instructions on parts that are named; use plain arithmetic");
const NARROW: PtxOperation =
    Refused("formats of less than eight bits, and stochastic roundings; convert to half first");
const STACK: PtxOperation = Refused("dynamic stack of a thread; declare `.local` memory");
const CALLS: PtxOperation = Refused("it asks another GPU or the host; do without it");
const DIRECTED: PtxOperation =
    Refused("fused products of doubles in other roundings than to nearest; use `.rn`");
const WIDE: PtxOperation = Refused("atomic vectors and 128-bit exchanges; use narrower ones");

/// One form of an instruction.
#[derive(Debug)]
pub struct InstructionForm {
    /// Mnemonic.
    pub mnemonic: &'static str,
    /// Pattern of modifiers.
    pub pattern: &'static str,
    /// Operands.
    pub operands: &'static str,
    /// Operation, by which it is lowered.
    pub operation: PtxOperation,
}

const fn form(
    mnemonic: &'static str,
    pattern: &'static str,
    operands: &'static str,
    operation: PtxOperation,
) -> InstructionForm {
    InstructionForm { mnemonic, pattern, operands, operation }
}

/// Classes of modifiers.
const CLASSES: &[(&str, &str)] = &[
    ("rnd", "rn|rz|rm|rp"),
    ("round", "rn|rz|rm|rp|rni|rzi|rmi|rpi|rna"),
    ("int", "u16|u32|u64|s16|s32|s64"),
    ("half", "u16|u32|s16|s32"),
    ("long", "u32|u64|s32|s64"),
    ("bits", "b16|b32|b64"),
    ("value", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"),
    ("mem", "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"),
    ("numeric", "u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f32|f64"),
    ("cmp", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"),
    ("bool", "and|or|xor"),
    ("space", "global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func"),
    ("sem", "weak|volatile|relaxed|acquire|release|acq_rel|sc|mmio"),
    ("scope", "cta|cluster|gpu|sys|gl"),
    ("cop", "ca|cg|cs|lu|cv|wb|wt"),
    ("l1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"),
    ("l2", "L2::evict_normal|L2::evict_first|L2::evict_last"),
    ("pre", "L2::64B|L2::128B|L2::256B"),
    ("vec", "v2|v4|v8"),
    ("k16", "m16n16k16|m32n8k16|m8n32k16"),
    ("window", "global|shared|shared::cta"),
    ("geometry", "1d|2d|3d|a1d|a2d"),
];

/// All forms, in order.
pub static FORMS: &[InstructionForm] = &[
    // Integers.
    form("add", "int", "=T T T", Integer(IntegerOp::Add)),
    form("add", "sat s32", "=T T T", Integer(IntegerOp::Add)),
    form("add", "u16x2|s16x2", "=T T T", Integer(IntegerOp::Add)),
    form("add", "cc long", "=T T T", Integer(IntegerOp::Add)),
    form("addc", "cc? long", "=T T T", Integer(IntegerOp::Addc)),
    form("sub", "int", "=T T T", Integer(IntegerOp::Sub)),
    form("sub", "sat s32", "=T T T", Integer(IntegerOp::Sub)),
    form("sub", "cc long", "=T T T", Integer(IntegerOp::Sub)),
    form("subc", "cc? long", "=T T T", Integer(IntegerOp::Subc)),
    form("mul", "lo|hi int", "=T T T", Integer(IntegerOp::Mul)),
    form("mul", "wide half", "=W T T", Integer(IntegerOp::Mul)),
    form("mad", "lo|hi int", "=T T T T", Integer(IntegerOp::Mad)),
    form("mad", "wide half", "=W T T W", Integer(IntegerOp::Mad)),
    form("mad", "hi sat s32", "=T T T T", Integer(IntegerOp::Mad)),
    form("mad", "lo|hi cc long", "=T T T T", Integer(IntegerOp::Mad)),
    form("madc", "lo|hi cc? long", "=T T T T", Integer(IntegerOp::Madc)),
    form("mul24", "lo|hi u32|s32", "=T T T", Integer(IntegerOp::Mul24)),
    form("mad24", "lo|hi u32|s32", "=T T T T", Integer(IntegerOp::Mad24)),
    form("mad24", "hi sat s32", "=T T T T", Integer(IntegerOp::Mad24)),
    form("sad", "int", "=T T T T", Integer(IntegerOp::Sad)),
    form("div", "int", "=T T T", Integer(IntegerOp::Div)),
    form("rem", "int", "=T T T", Integer(IntegerOp::Rem)),
    form("abs", "s16|s32|s64", "=T T", Integer(IntegerOp::Abs)),
    form("neg", "s16|s32|s64", "=T T", Integer(IntegerOp::Neg)),
    form("min", "int", "=T T T", Integer(IntegerOp::Min)),
    form("min", "u16x2|s16x2", "=T T T", Integer(IntegerOp::Min)),
    form("min", "relu s32|s16x2", "=T T T", Integer(IntegerOp::Min)),
    form("max", "int", "=T T T", Integer(IntegerOp::Max)),
    form("max", "u16x2|s16x2", "=T T T", Integer(IntegerOp::Max)),
    form("max", "relu s32|s16x2", "=T T T", Integer(IntegerOp::Max)),
    form("popc", "b32|b64", "=u32 T", Integer(IntegerOp::Popc)),
    form("clz", "b32|b64", "=u32 T", Integer(IntegerOp::Clz)),
    form("bfind", "shiftamt? long", "=u32 T", Integer(IntegerOp::Bfind)),
    form("fns", "b32", "=b32 b32 b32 s32", Integer(IntegerOp::Fns)),
    form("brev", "b32|b64", "=T T", Integer(IntegerOp::Brev)),
    form("bfe", "long", "=T T u32 u32", Integer(IntegerOp::Bfe)),
    form("bfi", "b32|b64", "=T T T u32 u32", Integer(IntegerOp::Bfi)),
    form("szext", "clamp|wrap u32|s32", "=T T u32", Integer(IntegerOp::Szext)),
    form("bmsk", "clamp|wrap b32", "=T u32 u32", Integer(IntegerOp::Bmsk)),
    form("vadd2", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Add, 2)),
    form("vsub2", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Sub, 2)),
    form("vavrg2", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Avrg, 2)),
    form("vabsdiff2", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Absdiff, 2)),
    form("vmin2", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Min, 2)),
    form("vmax2", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Max, 2)),
    form("vset2", "u32|s32 u32|s32 eq|ne|lt|le|gt|ge add?", "=b32 b32 b32 b32", Video(VideoOp::Set, 2)),
    form("vadd4", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Add, 4)),
    form("vsub4", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Sub, 4)),
    form("vavrg4", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Avrg, 4)),
    form("vabsdiff4", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Absdiff, 4)),
    form("vmin4", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Min, 4)),
    form("vmax4", "u32|s32 u32|s32 u32|s32 sat|add?", "=D D D D", Video(VideoOp::Max, 4)),
    form("vset4", "u32|s32 u32|s32 eq|ne|lt|le|gt|ge add?", "=b32 b32 b32 b32", Video(VideoOp::Set, 4)),
    form("dp4a", "u32|s32 u32|s32", "=A D S A", Dp4a),
    form("dp2a", "lo|hi u32|s32 u32|s32", "=A D S A", Dp2a),
    // Floats.
    form("testp", "finite|infinite|number|notanumber|normal|subnormal f32|f64", "=p T", Testp),
    form("copysign", "f32|f64", "=T T T", Float(FloatOp::Copysign)),
    form("add", "rnd? ftz? sat? f32", "=T T T", Float(FloatOp::Add)),
    form("add", "rnd? f64", "=T T T", Float(FloatOp::Add)),
    form("add", "rn? ftz? sat? f16|f16x2", "=T T T", Float(FloatOp::Add)),
    form("add", "rn? bf16|bf16x2", "=T T T", Float(FloatOp::Add)),
    form("add", "rnd? ftz? f32x2", "=T T T", Float(FloatOp::Add)),
    form("add", "rnd? sat? f32 f16|bf16", "=D S D", Float(FloatOp::Add)),
    form("sub", "rnd? ftz? sat? f32", "=T T T", Float(FloatOp::Sub)),
    form("sub", "rnd? f64", "=T T T", Float(FloatOp::Sub)),
    form("sub", "rn? ftz? sat? f16|f16x2", "=T T T", Float(FloatOp::Sub)),
    form("sub", "rn? bf16|bf16x2", "=T T T", Float(FloatOp::Sub)),
    form("sub", "rnd? ftz? f32x2", "=T T T", Float(FloatOp::Sub)),
    form("sub", "rnd? sat? f32 f16|bf16", "=D S D", Float(FloatOp::Sub)),
    form("mul", "rnd? ftz? sat? f32", "=T T T", Float(FloatOp::Mul)),
    form("mul", "rnd? f64", "=T T T", Float(FloatOp::Mul)),
    form("mul", "rn? ftz? sat? f16|f16x2", "=T T T", Float(FloatOp::Mul)),
    form("mul", "rn? bf16|bf16x2", "=T T T", Float(FloatOp::Mul)),
    form("mul", "rnd? ftz? f32x2", "=T T T", Float(FloatOp::Mul)),
    form("fma", "rnd ftz? sat? f32", "=T T T T", Float(FloatOp::Fma)),
    form("fma", "rn f64", "=T T T T", Float(FloatOp::Fma)),
    form("fma", "rz|rm|rp f64", "=T T T T", DIRECTED),
    form("fma", "rn ftz? sat? f16|f16x2", "=T T T T", Float(FloatOp::Fma)),
    form("fma", "rn ftz? relu f16|f16x2", "=T T T T", Float(FloatOp::Fma)),
    form("fma", "rn relu? bf16|bf16x2", "=T T T T", Float(FloatOp::Fma)),
    form("fma", "rnd ftz? f32x2", "=T T T T", Float(FloatOp::Fma)),
    form("fma", "rnd sat? f32 f16|bf16", "=D S S D", Float(FloatOp::Fma)),
    form("mad", "rnd? ftz? sat? f32", "=T T T T", Float(FloatOp::Mad)),
    form("mad", "rn f64", "=T T T T", Float(FloatOp::Mad)),
    form("mad", "rz|rm|rp f64", "=T T T T", DIRECTED),
    form("div", "approx|full ftz? f32", "=T T T", Float(FloatOp::Div)),
    form("div", "rnd ftz? f32", "=T T T", Float(FloatOp::Div)),
    form("div", "rnd f64", "=T T T", Float(FloatOp::Div)),
    form("abs", "ftz? f32", "=T T", Float(FloatOp::Abs)),
    form("abs", "f64", "=T T", Float(FloatOp::Abs)),
    form("abs", "ftz? f16|f16x2", "=T T", Float(FloatOp::Abs)),
    form("abs", "bf16|bf16x2", "=T T", Float(FloatOp::Abs)),
    form("neg", "ftz? f32", "=T T", Float(FloatOp::Neg)),
    form("neg", "f64", "=T T", Float(FloatOp::Neg)),
    form("neg", "ftz? f16|f16x2", "=T T", Float(FloatOp::Neg)),
    form("neg", "bf16|bf16x2", "=T T", Float(FloatOp::Neg)),
    form("min", "ftz? NaN? f32", "=T T T ?T", Float(FloatOp::Min)),
    form("min", "ftz? NaN? xorsign abs f32", "=T T T ?T", Float(FloatOp::Min)),
    form("min", "f64", "=T T T", Float(FloatOp::Min)),
    form("min", "ftz? NaN? f16|f16x2", "=T T T", Float(FloatOp::Min)),
    form("min", "ftz? NaN? xorsign abs f16|f16x2", "=T T T", Float(FloatOp::Min)),
    form("min", "NaN? bf16|bf16x2", "=T T T", Float(FloatOp::Min)),
    form("min", "NaN? xorsign abs bf16|bf16x2", "=T T T", Float(FloatOp::Min)),
    form("max", "ftz? NaN? f32", "=T T T ?T", Float(FloatOp::Max)),
    form("max", "ftz? NaN? xorsign abs f32", "=T T T ?T", Float(FloatOp::Max)),
    form("max", "f64", "=T T T", Float(FloatOp::Max)),
    form("max", "ftz? NaN? f16|f16x2", "=T T T", Float(FloatOp::Max)),
    form("max", "ftz? NaN? xorsign abs f16|f16x2", "=T T T", Float(FloatOp::Max)),
    form("max", "NaN? bf16|bf16x2", "=T T T", Float(FloatOp::Max)),
    form("max", "NaN? xorsign abs bf16|bf16x2", "=T T T", Float(FloatOp::Max)),
    form("rcp", "approx ftz? f32|f64", "=T T", Float(FloatOp::Rcp)),
    form("rcp", "rnd ftz? f32", "=T T", Float(FloatOp::Rcp)),
    form("rcp", "rnd f64", "=T T", Float(FloatOp::Rcp)),
    form("sqrt", "approx ftz? f32", "=T T", Float(FloatOp::Sqrt)),
    form("sqrt", "rnd ftz? f32", "=T T", Float(FloatOp::Sqrt)),
    form("sqrt", "rnd f64", "=T T", Float(FloatOp::Sqrt)),
    form("rsqrt", "approx ftz? f32|f64", "=T T", Float(FloatOp::Rsqrt)),
    form("sin", "approx ftz? f32", "=T T", Float(FloatOp::Sin)),
    form("cos", "approx ftz? f32", "=T T", Float(FloatOp::Cos)),
    form("lg2", "approx ftz? f32", "=T T", Float(FloatOp::Lg2)),
    form("ex2", "approx ftz? f32", "=T T", Float(FloatOp::Ex2)),
    form("ex2", "approx f16|f16x2", "=T T", Float(FloatOp::Ex2)),
    form("ex2", "approx ftz bf16|bf16x2", "=T T", Float(FloatOp::Ex2)),
    form("tanh", "approx f32|f16|f16x2|bf16|bf16x2", "=T T", Float(FloatOp::Tanh)),
    // Comparisons and choices.
    form("setp", "cmp ftz? value|f16|bf16", "=p|p T T", Setp),
    form("setp", "cmp bool ftz? value|f16|bf16", "=p|p T T p", Setp),
    form("setp", "cmp ftz? f16x2|bf16x2", "=p|p T T", Setp),
    form("setp", "cmp bool ftz? f16x2|bf16x2", "=p|p T T p", Setp),
    form("set", "cmp ftz? u16|s16|u32|s32|f32|f16|bf16 value|f16|bf16", "=D S S", Set),
    form("set", "cmp bool ftz? u16|s16|u32|s32|f32|f16|bf16 value|f16|bf16", "=D S S p", Set),
    form("set", "cmp ftz? f16x2|bf16x2 f16x2|bf16x2", "=D S S", Set),
    form("selp", "value", "=T T T p", Selp),
    form("slct", "ftz? value s32|f32", "=D D D S", Slct),
    // Bits.
    form("and", "pred|b16|b32|b64", "=T T T", Integer(IntegerOp::And)),
    form("or", "pred|b16|b32|b64", "=T T T", Integer(IntegerOp::Or)),
    form("xor", "pred|b16|b32|b64", "=T T T", Integer(IntegerOp::Xor)),
    form("not", "pred|b16|b32|b64", "=T T", Integer(IntegerOp::Not)),
    form("cnot", "b16|b32|b64", "=T T", Integer(IntegerOp::Cnot)),
    form("lop3", "b32", "=T T T T i", Integer(IntegerOp::Lop3)),
    form("lop3", "and|or b32", "=T|p T T T i p", Integer(IntegerOp::Lop3)),
    form("shl", "b16|b32|b64", "=T T u32", Integer(IntegerOp::Shl)),
    form("shr", "b16|b32|b64|u16|u32|u64|s16|s32|s64", "=T T u32", Integer(IntegerOp::Shr)),
    form("shf", "l|r clamp|wrap b32", "=T T T u32", Integer(IntegerOp::Shf)),
    form("prmt", "b32", "=T T T T", Integer(IntegerOp::Prmt)),
    form("prmt", "b32 f4e|b4e|rc8|ecl|ecr|rc16", "=D D D D", Integer(IntegerOp::Prmt)),
    // Moves and conversions.
    form("mov", "pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64", "=A A", Mov),
    form("cvt", "pack sat u16|s16 s32", "=b32 S S", Cvt),
    form("cvt", "pack sat u8|s8 s32 b32", "=b32 s32 s32 b32", Cvt),
    form("cvt", "rn|rz relu? f16x2|bf16x2 f32", "=b32 S S", Cvt),
    form("cvt", "rn|rz|rna relu? tf32 f32", "=b32 S", Cvt),
    form("cvt", "round? relu? ftz? sat? numeric numeric", "=D S", Cvt),
    form("cvt", "rn satfinite relu? e4m3x2|e5m2x2 f32", "=b16 S S", Cvt),
    form("cvt", "rn satfinite relu? e4m3x2|e5m2x2 f16x2", "=b16 b32", Cvt),
    form("cvt", "rn relu? f16x2 e4m3x2|e5m2x2", "=b32 b16", Cvt),
    form("cvt", "*", "…", NARROW),
    form(
        "cvta",
        "to? global|shared|shared::cta|shared::cluster|local|const|param|param::entry u32|u64",
        "=T A",
        Cvta,
    ),
    form(
        "isspacep",
        "global|shared|shared::cta|shared::cluster|local|const|param|param::entry",
        "=p u64",
        Isspacep,
    ),
    // Memory.
    form(
        "ld",
        "sem? scope? space? cop? nc? l1? l2? L2::cache_hint? pre? unified? vec? mem|f16|bf16",
        "=V m ?b64",
        Ld,
    ),
    form("ldu", "space? vec? mem", "=V m", Ldu),
    form("st", "async *", "…", MBARRIER),
    form("st", "bulk *", "…", TMA),
    form("st", "sem? scope? space? cop? l1? l2? L2::cache_hint? vec? mem|f16|bf16", "m V ?b64", St),
    form("prefetch", "space? L1|L2|L2::evict_last|L2::evict_normal", "m", Hint),
    form("prefetch", "*", "…", TMA),
    form("prefetchu", "L1", "m", Hint),
    form("applypriority", "global? L2::evict_normal", "m i", Hint),
    form("discard", "global? L2", "m i", Hint),
    form("createpolicy", "*", "=b64 …", CachePolicy),
    form("cp", "async ca|cg shared|shared::cta global L2::cache_hint? pre?", "m m i ?A ?A", Cp),
    form("cp", "async commit_group", "", Cp),
    form("cp", "async wait_group", "i", Cp),
    form("cp", "async wait_all", "", Cp),
    form("cp", "async bulk *", "…", TMA),
    form("cp", "async mbarrier arrive noinc? shared|shared::cta? b64", "m", Cp),
    form("cp", "*", "…", TMA),
    form("atom", "sem? scope? space? exch|cas b128", "…", WIDE),
    form("atom", "sem? scope? space? add noftz? L2::cache_hint? v2|v4|v8 *", "…", WIDE),
    form("atom", "sem? scope? space? cas b16|b32|b64", "=T m T T", Atom),
    form("atom", "sem? scope? space? exch L2::cache_hint? b32|b64", "=T m T ?b64", Atom),
    form("atom", "sem? scope? space? and|or|xor L2::cache_hint? b32|b64", "=T m T ?b64", Atom),
    form("atom", "sem? scope? space? add L2::cache_hint? u32|s32|u64|f32|f64", "=T m T ?b64", Atom),
    form("atom", "sem? scope? space? add noftz L2::cache_hint? f16|bf16|f16x2|bf16x2", "=T m T ?b64", Atom),
    form("atom", "sem? scope? space? inc|dec u32", "=T m T", Atom),
    form("atom", "sem? scope? space? min|max u32|s32|u64|s64", "=T m T", Atom),
    form("atom", "*", "…", WIDE),
    form("red", "async *", "…", MBARRIER),
    form("red", "sem? scope? space? and|or|xor L2::cache_hint? b32|b64", "m T ?b64", Red),
    form("red", "sem? scope? space? add L2::cache_hint? u32|s32|u64|f32|f64", "m T ?b64", Red),
    form("red", "sem? scope? space? add noftz L2::cache_hint? f16|bf16|f16x2|bf16x2", "m T ?b64", Red),
    form("red", "sem? scope? space? inc|dec u32", "m T", Red),
    form("red", "sem? scope? space? min|max u32|s32|u64|s64", "m T", Red),
    form("red", "*", "…", WIDE),
    // Control.
    form("bra", "uni?", "L", Bra),
    form("brx", "idx uni?", "u32 A", Brx),
    form("call", "uni?", "…", Call),
    form("ret", "uni?", "", Ret),
    form("exit", "", "", Exit),
    form("trap", "", "", Trap),
    form("brkpt", "", "", Hint),
    form("nanosleep", "u32", "T", Hint),
    form("pmevent", "*", "…", Hint),
    form("setmaxnreg", "*", "…", Hint),
    form("griddepcontrol", "*", "…", Hint),
    // Barriers and warp-wide operations.
    form("bar", "cta? sync", "u32 ?u32", Bar),
    form("bar", "warp sync", "u32", Bar),
    form("bar", "cta? red popc u32", "=T u32 ?A ?A", Bar),
    form("bar", "cta? red and|or pred", "=p u32 ?A ?A", Bar),
    form("bar", "cta? arrive", "u32 u32", Bar),
    form("barrier", "cluster *", "…", CLUSTER),
    form("barrier", "cta? sync aligned?", "u32 ?u32", Bar),
    form("barrier", "cta? red popc aligned? u32", "=T u32 ?A ?A", Bar),
    form("barrier", "cta? red and|or aligned? pred", "=p u32 ?A ?A", Bar),
    form("barrier", "cta? arrive aligned?", "u32 u32", Bar),
    form("membar", "cta|gl|sys", "", Fence),
    form("membar", "proxy *", "…", TMA),
    form("fence", "sc|acq_rel|acquire|release? cta|cluster|gpu|sys", "", Fence),
    form("fence", "*", "…", TMA),
    form("mbarrier", "init shared|shared::cta? b64", "m u32", Mbarrier),
    form("mbarrier", "inval shared|shared::cta? b64", "m", Mbarrier),
    form("mbarrier", "expect_tx|complete_tx sem? scope? shared|shared::cta? b64", "m u32", Mbarrier),
    form("mbarrier", "arrive noComplete? sem? scope? shared|shared::cta? b64", "=b64 m ?u32", Mbarrier),
    form("mbarrier", "arrive expect_tx sem? scope? shared|shared::cta? b64", "=b64 m u32", Mbarrier),
    form("mbarrier", "test_wait|try_wait sem? scope? shared|shared::cta? b64", "=p m b64 ?u32", Mbarrier),
    form(
        "mbarrier",
        "test_wait|try_wait parity sem? scope? shared|shared::cta? b64",
        "=p m u32 ?u32",
        Mbarrier,
    ),
    form("mbarrier", "pending_count b64", "=u32 b64", Mbarrier),
    form("mbarrier", "*", "…", MBARRIER),
    form("activemask", "b32", "=T", Activemask),
    form("vote", "sync all|any|uni pred", "=p p u32", Vote),
    form("vote", "sync ballot b32", "=T p u32", Vote),
    form("vote", "all|any|uni pred", "=p p", Vote),
    form("vote", "ballot b32", "=T p", Vote),
    form("shfl", "sync up|down|bfly|idx b32", "=T|p T u32 u32 u32", Shfl),
    form("shfl", "up|down|bfly|idx b32", "=T|p T u32 u32", Shfl),
    form("match", "any sync b32|b64", "=b32 T u32", Match),
    form("match", "all sync b32|b64", "=b32|p T u32", Match),
    form("redux", "sync add|min|max u32|s32", "=T T u32", Redux),
    form("redux", "sync and|or|xor b32", "=T T u32", Redux),
    form("redux", "sync min|max abs? NaN? f32", "=T T u32", Redux),
    form("elect", "sync", "=b32|p u32", Elect),
    // Matrices distributed over a warp.
    form("mma", "sync aligned m16n8k8|m16n8k16 row col f16 f16 f16 f16", "=A A A A", Mma),
    form("mma", "sync aligned m16n8k8|m16n8k16 row col f32 f16 f16 f32", "=A A A A", Mma),
    form("mma", "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32", "=A A A A", Mma),
    form("mma", "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32", "=A A A A", Mma),
    form(
        "mma",
        "sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 u8|s8 u8|s8 s32",
        "=A A A A",
        Mma,
    ),
    form("mma", "sync aligned m8n8k4 row col f64 f64 f64 f64", "=A A A A", Mma),
    form("ldmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", "=A m", Ldmatrix),
    form("stmatrix", "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", "m A", Stmatrix),
    form("movmatrix", "sync aligned m8n8 trans b16", "=b32 b32", Movmatrix),
    form("wmma", "load a|b sync aligned row|col k16 window? f16|bf16|u8|s8", "=A m ?u32", Wmma),
    form("wmma", "load a|b sync aligned row|col m16n16k8 window? tf32", "=A m ?u32", Wmma),
    form("wmma", "load a|b|c sync aligned row|col m8n8k4 window? f64", "=A m ?u32", Wmma),
    form("wmma", "load c sync aligned row|col k16 window? f16|f32|s32", "=A m ?u32", Wmma),
    form("wmma", "load c sync aligned row|col m16n16k8 window? f32", "=A m ?u32", Wmma),
    form("wmma", "store d sync aligned row|col k16 window? f16|f32|s32", "m A ?u32", Wmma),
    form("wmma", "store d sync aligned row|col m16n16k8 window? f32", "m A ?u32", Wmma),
    form("wmma", "store d sync aligned row|col m8n8k4 window? f64", "m A ?u32", Wmma),
    form("wmma", "mma sync aligned row|col row|col k16 f16|f32 f16|f32", "=A A A A", Wmma),
    form("wmma", "mma sync aligned row|col row|col k16 f32 bf16 bf16 f32", "=A A A A", Wmma),
    form("wmma", "mma sync aligned row|col row|col m16n16k8 f32 tf32 tf32 f32", "=A A A A", Wmma),
    form("wmma", "mma sync aligned row|col row|col k16 s32 u8 u8 s32 satfinite?", "=A A A A", Wmma),
    form("wmma", "mma sync aligned row|col row|col k16 s32 s8 s8 s32 satfinite?", "=A A A A", Wmma),
    form("wmma", "mma sync aligned row|col row|col m8n8k4 rn? f64 f64 f64 f64", "=A A A A", Wmma),
    form("wmma", "mma sync aligned row|col row|col m8n8k4 f64 f64 f64 f64 rn", "=A A A A", Wmma),
    // Textures and surfaces.
    form("tex", "geometry v4 u32|s32|f32 s32|f32", "=A x", Tex),
    form("tex", "base geometry v4 u32|s32|f32 f32", "=A x", Tex),
    form("tex", "level geometry v4 u32|s32|f32 f32", "=A x f32", Tex),
    form("tex", "grad geometry v4 u32|s32|f32 f32", "=A x A A", Tex),
    form("tld4", "r|g|b|a 2d v4 u32|s32|f32 f32", "=A x", Tld4),
    form("txq", "width|height|depth b32", "=u32 m", Txq),
    form("suq", "width|height|depth b32", "=u32 m", Txq),
    form("suld", "b geometry cop? vec? b8|b16|b32|b64 trap|clamp|zero", "=A x", Suld),
    form("sust", "b geometry cop? vec? b8|b16|b32|b64 trap|clamp|zero", "x A", Sust),
    // Families that are refused as a whole.
    form("tex", "*", "…", TEXTURE),
    form("tld4", "*", "…", TEXTURE),
    form("txq", "*", "…", TEXTURE),
    form("suld", "*", "…", TEXTURE),
    form("sust", "*", "…", TEXTURE),
    form("sured", "*", "…", TEXTURE),
    form("suq", "*", "…", TEXTURE),
    form("istypep", "*", "…", TEXTURE),
    form("mma", "*", "…", TENSOR),
    form("wmma", "*", "…", TENSOR),
    form("ldmatrix", "*", "…", TENSOR),
    form("stmatrix", "*", "…", TENSOR),
    form("movmatrix", "*", "…", TENSOR),
    form("wgmma", "*", "…", TENSOR),
    form("tcgen05", "*", "…", TENSOR),
    form("tensormap", "*", "…", TMA),
    form("multimem", "*", "…", CALLS),
    form("mapa", "*", "…", CLUSTER),
    form("getctarank", "*", "…", CLUSTER),
    form("clusterlaunchcontrol", "*", "…", CLUSTER),
    form("alloca", "*", "…", STACK),
    form("stacksave", "*", "…", STACK),
    form("stackrestore", "*", "…", STACK),
    form("vadd", "*", "…", VIDEO),
    form("vsub", "*", "…", VIDEO),
    form("vabsdiff", "*", "…", VIDEO),
    form("vmin", "*", "…", VIDEO),
    form("vmax", "*", "…", VIDEO),
    form("vshl", "*", "…", VIDEO),
    form("vshr", "*", "…", VIDEO),
    form("vmad", "*", "…", VIDEO),
    form("vset", "*", "…", VIDEO),
];

/// Set of words.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WordSet([u64; 4]);

const _: () = assert!(Word::ALL.len() <= 256);

impl WordSet {
    fn add(&mut self, word: Word) {
        self.0[word as usize / 64] |= 1 << (word as usize % 64);
    }

    /// True if the set contains the word.
    pub fn has(&self, word: Word) -> bool {
        self.0[word as usize / 64] >> (word as usize % 64) & 1 == 1
    }

    /// Iterates over the words, in order.
    pub fn iter(&self) -> impl Iterator<Item = Word> + '_ {
        Word::ALL.iter().copied().filter(|&word| self.has(word))
    }
}

/// Position of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModifierSlot {
    /// Words allowed here.
    pub words: WordSet,
    /// True if the position may be empty.
    pub optional: bool,
}

/// Parsed pattern of modifiers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModifierPattern {
    /// Positions, in order.
    pub slots: Vec<ModifierSlot>,
    /// True if anything may follow.
    pub open: bool,
}

fn words_of(text: &str, set: &mut WordSet) {
    for choice in text.split('|') {
        if let Some((_, words)) = CLASSES.iter().find(|(class, _)| *class == choice) {
            words.split('|').for_each(|word| add_word(word, set));
        } else {
            add_word(choice, set);
        }
    }
}

fn add_word(text: &str, set: &mut WordSet) {
    match Word::ALL.iter().find(|word| word.text() == text) {
        Some(&word) => set.add(word),
        None => panic!("the table of instructions names `{text}`, which is no word"),
    }
}

impl InstructionForm {
    /// True if the form is lowered, and not refused.
    pub fn is_supported(&self) -> bool {
        !matches!(self.operation, Refused(_))
    }

    fn read(&self) -> ModifierPattern {
        let mut pattern = ModifierPattern { slots: Vec::new(), open: false };
        for part in self.pattern.split_whitespace() {
            if part == "*" {
                pattern.open = true;
                continue;
            }
            let mut words = WordSet::default();
            words_of(part.strip_suffix('?').unwrap_or(part), &mut words);
            pattern.slots.push(ModifierSlot { words, optional: part.ends_with('?') });
        }
        pattern
    }
}

/// All patterns, and the forms of each mnemonic.
struct FormIndex {
    patterns: Vec<ModifierPattern>,
    by_mnemonic: FxHashMap<&'static str, SmallVec<[u16; 8]>>,
}

static INDEX: LazyLock<FormIndex> = LazyLock::new(|| {
    let mut by_mnemonic: FxHashMap<&'static str, SmallVec<[u16; 8]>> = FxHashMap::default();
    for (number, form) in (0..).zip(FORMS) {
        by_mnemonic.entry(form.mnemonic).or_default().push(number);
    }
    FormIndex { patterns: FORMS.iter().map(InstructionForm::read).collect(), by_mnemonic }
});

/// Returns the pattern of a form.
pub fn pattern(form: u16) -> &'static ModifierPattern {
    &INDEX.patterns[usize::from(form)]
}

/// Returns the forms of a mnemonic, in order; none if there is no such instruction.
pub fn forms_of(mnemonic: &str) -> Option<&'static [u16]> {
    INDEX.by_mnemonic.get(mnemonic).map(|forms| &forms[..])
}

/// Sorts modifiers as in the table: order, scope and space of memory-ordering instructions first, `.sync` of votes first. ptxas
/// accepts them after the operation as well.
pub fn put_in_order(mnemonic: &str, words: &mut [Option<Word>]) {
    if matches!(mnemonic, "atom" | "red" | "fence") {
        let classes = ["sem", "scope", "space"].map(class);
        let rank = |word: &Option<Word>| {
            let is_in = |set: &WordSet| word.is_some_and(|word| set.has(word));
            classes.iter().position(is_in).unwrap_or(classes.len())
        };
        words.sort_by_key(rank);
    }
    // As in `vote.ballot.sync.b32`.
    if mnemonic == "vote" {
        words.sort_by_key(|word| *word != Some(Word::Sync));
    }
}

fn class(name: &str) -> WordSet {
    let mut words = WordSet::default();
    words_of(name, &mut words);
    words
}

/// True if the modifiers match a pattern. An unknown word matches only `*`.
pub fn fits(pattern: &ModifierPattern, words: &[Option<Word>]) -> bool {
    let mut at = 0;
    for slot in &pattern.slots {
        match words.get(at) {
            Some(Some(word)) if slot.words.has(*word) => at += 1,
            _ if slot.optional => {}
            _ => return false,
        }
    }
    pattern.open || at == words.len()
}

/// Source of an operand's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandType {
    /// Last type among the modifiers.
    Last,
    /// First type.
    First,
    /// Second type.
    Second,
    /// Twice the width of the last type.
    Wide,
    /// This type.
    Fixed(Word),
    /// Any type.
    Any,
}

/// Role of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandRole {
    /// Value.
    Value(OperandType),
    /// Predicate.
    Predicate,
    /// Destination value, with an optional predicate after `|`.
    WithPredicate(OperandType),
    /// Vector of the length in the modifiers.
    Vector,
    /// Address.
    Memory,
    /// Texture or surface with coordinates.
    Texel,
    /// Constant.
    Constant,
    /// Label.
    Label,
    /// All further operands.
    Rest,
}

/// Specification of an operand of a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandSpec {
    /// Role.
    pub role: OperandRole,
    /// True for destinations.
    pub is_dest: bool,
    /// True if it may be omitted.
    pub optional: bool,
}

fn spec(text: &str) -> OperandSpec {
    let (optional, text) = text.strip_prefix('?').map_or((false, text), |text| (true, text));
    let (is_dest, text) = text.strip_prefix('=').map_or((false, text), |text| (true, text));
    let type_of = |text: &str| match text {
        "T" => OperandType::Last,
        "D" => OperandType::First,
        "S" => OperandType::Second,
        "W" => OperandType::Wide,
        "A" => OperandType::Any,
        _ => match Word::ALL.iter().find(|word| word.text() == text && word.is_type()) {
            Some(&word) => OperandType::Fixed(word),
            None => panic!("the table of instructions has an operand `{text}`"),
        },
    };
    let role = match text {
        "p" => OperandRole::Predicate,
        "p|p" => OperandRole::WithPredicate(OperandType::Fixed(Word::Pred)),
        "V" => OperandRole::Vector,
        "m" => OperandRole::Memory,
        "x" => OperandRole::Texel,
        "i" => OperandRole::Constant,
        "L" => OperandRole::Label,
        "…" => OperandRole::Rest,
        _ => match text.strip_suffix("|p") {
            Some(text) => OperandRole::WithPredicate(type_of(text)),
            None => OperandRole::Value(type_of(text)),
        },
    };
    OperandSpec { role, is_dest, optional }
}

static SPECS: LazyLock<Vec<Vec<OperandSpec>>> =
    LazyLock::new(|| FORMS.iter().map(|form| form.operands.split_whitespace().map(spec).collect()).collect());

/// Returns the operands of a form.
pub fn specs(form: u16) -> &'static [OperandSpec] {
    &SPECS[usize::from(form)]
}
