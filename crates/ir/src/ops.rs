//! Ops table: name, operands, results, effects and flags of every instruction.
//!
//! The parser, the printer, typing, the verifier and docs/ops.md are driven by this one table.

use crate::words::{Flag, Flags};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Class of types that an operand or result may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeClass {
    /// Any type.
    Any,
    /// Integers, `i1` included, and vectors of them.
    Int,
    /// Integers of at least eight bits, and vectors of them.
    WideInt,
    /// Floats and vectors of them.
    Float,
    /// Pointers and vectors of them.
    Ptr,
    /// Integers, pointers and vectors of them.
    IntOrPtr,
    /// `i1` or a mask.
    Bool,
    /// A vector or a mask.
    Vector,
    /// A scalar of any type.
    Scalar,
    /// A scalar integer.
    ScalarInt,
    /// A scalar pointer.
    ScalarPtr,
    /// A vector of pointers.
    VectorPtr,
}

/// Type constraint of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandConstraint {
    /// The controlling type `T`, in this class. All such operands have one type.
    T(TypeClass),
    /// `i1`, or the mask with the lanes of `T`.
    BoolOfT,
    /// `i1` even if `T` is a vector, or the mask with the lanes of `T`.
    Choice,
    /// A type of this class, with the lanes of `T`.
    SameLanes(TypeClass),
    /// One lane of `T`.
    LaneOfT,
    /// A type of this class, independent of the other operands.
    Free(TypeClass),
    /// The mask with the lanes of the result.
    MaskOfResult,
    /// The result's type.
    SameAsResult,
}

/// Type constraint of an instruction's results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultConstraint {
    /// No result.
    Nothing,
    /// A value of type `T`.
    T,
    /// `i1`, or the mask with the lanes of `T`.
    BoolOfT,
    /// `i1`.
    Bool,
    /// One lane of `T`.
    LaneOfT,
    /// The type written after the op, in this class. For a cast, operand and result have equal numbers of lanes.
    Written(TypeClass),
    /// A private pointer.
    PrivatePtr,
    /// `T`, then the success flag of an exchange.
    TAndBool,
    /// The callee's results.
    Callee,
}

/// Format of an instruction: the variant of its detail and its syntax.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstFormat {
    /// Operands only.
    Plain,
    /// Element-wise conversion: result and operand have equal numbers of lanes.
    Cast,
    /// `icmp P a, b`.
    IntCompare,
    /// `fcmp P a, b`.
    FloatCompare,
    /// An optional or required dimension after the type: `global_id i64, 0`.
    Dimension,
    /// Operands, then access attributes: `load i32, v5 align 4`.
    Access,
    /// Two accesses: `memcpy v1, v2, v3 align 4, 8`.
    Transfer,
    /// `atomic_rmw add v5, v6 relaxed device`.
    Rmw,
    /// `cmpxchg v5, v6, v7 seq_cst, relaxed device`.
    CompareExchange,
    /// `fence acquire group`.
    Fence,
    /// `barrier group`.
    Barrier,
    /// `alloca 16 align 4`.
    Alloca,
    /// `reduce add v5`.
    Reduce,
    /// `scan add v5`, `scan_before add v5`.
    Scan,
    /// `permute v1, v2 [0, 4, 1, 5]`.
    Permute,
    /// `fclass v1, 3`.
    FloatClass,
    /// `phi i32 [block0: v1], [block1: v2] shadow(v3)`.
    Phi,
    /// `br block1` or `br v1, block1, block2`.
    Branch,
    /// `switch v1, block9 [0: block1, 5: block2]`.
    Switch,
    /// `ret v1, v2`.
    Return,
    /// `call @f(v1)`.
    Call,
    /// `launch 8 @f(v1)`, `launch 4x2 @f(v1) if v2`.
    Launch,
}

/// Effect of executing an instruction, besides its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// None: it may be moved, repeated and removed.
    Pure,
    /// Undefined behaviour for some operands (division by zero), no other effect.
    Traps,
    /// Reads memory.
    Reads,
    /// Writes memory.
    Writes,
    /// Reads and writes memory.
    ReadsWrites,
    /// Allocates a new object at each execution.
    Allocates,
    /// The result depends on the set of active lanes: never moved, merged or repeated.
    Horizontal,
    /// Synchronizes lanes or orders memory: never moved, merged, repeated or removed.
    Synchronizes,
    /// Undefined behaviour if the operand is false or poison: never executed more often.
    Assumes,
    /// The callee's effects.
    Callee,
    /// Ends a block.
    Terminator,
    /// Joins values at the start of a block (φ).
    Joins,
}

/// Context that the result or effect of an instruction depends on, apart from its operands and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observed {
    /// Lanes that share the brush, or are active with this one.
    Lanes,
    /// The lane's own position: the result differs from lane to lane whatever the operands.
    Position,
    /// The work-group: its size, its index, the work-items in it.
    Group,
    /// The launch: its size and offset.
    Launch,
    /// Order of memory accesses of different lanes.
    Order,
    /// Progress of other lanes: it waits for them.
    Progress,
}

impl Observed {
    /// All, in the order of the table.
    pub const ALL: [Observed; 6] = [
        Observed::Lanes,
        Observed::Position,
        Observed::Group,
        Observed::Launch,
        Observed::Order,
        Observed::Progress,
    ];
}

/// Row of the ops table.
#[derive(Debug)]
pub struct OpInfo {
    /// Word of the text format.
    pub name: &'static str,
    /// Constraints of the operands; empty for formats with rules of their own.
    pub operands: &'static [OperandConstraint],
    /// Constraint of the results.
    pub gives: ResultConstraint,
    /// Format of detail and text.
    pub format: InstFormat,
    /// Effect of an execution.
    pub effect: Effect,
    /// Context observed in all its forms; [`crate::InstData::observes`] adds that of scopes and access attributes.
    pub observes: &'static [Observed],
    /// Flags that it may carry besides `total`.
    pub flags: Flags,
    /// Description in docs/ops.md.
    pub doc: &'static str,
}

macro_rules! ops {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal
        ($($operand:expr),*) -> $gives:expr, $format:ident, $effect:ident $([$($observed:ident),+])? $(, $flags:expr)?;)*) => {
        /// Operation code of an instruction.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])* $variant,)* }

        static TABLE: &[OpInfo] = &[$(OpInfo {
            name: $name,
            operands: &[$($operand),*],
            gives: $gives,
            format: InstFormat::$format,
            effect: Effect::$effect,
            observes: &[$($(Observed::$observed),+)?],
            flags: Flags::NONE $(.union($flags))?,
            doc: concat!($($doc),*),
        },)*];

        impl Op {
            /// All ops, in order.
            pub const ALL: &'static [Op] = &[$(Op::$variant,)*];

            /// Returns the op of this name.
            pub fn from_name(name: &str) -> Option<Op> {
                static NAMES: LazyLock<FxHashMap<&str, Op>> =
                    LazyLock::new(|| Op::ALL.iter().map(|&op| (op.name(), op)).collect());
                NAMES.get(name).copied()
            }
        }
    };
}

use OperandConstraint::{BoolOfT, Choice, Free, LaneOfT, MaskOfResult, SameAsResult, SameLanes, T};
use ResultConstraint::Written;
use TypeClass::{Any, Bool, Float, Int, IntOrPtr, Ptr, ScalarInt, ScalarPtr, Vector, VectorPtr, WideInt};

const EXACT: Flags = Flags::of(&[Flag::Exact]);
const NNEG: Flags = Flags::of(&[Flag::Nneg]);
const STRICT: Flags = Flags::of(&[Flag::Strict]);

ops! {
    /// Sum, modulo 2^n.
    Add "add" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, Flags::WRAP;
    /// Difference, modulo 2^n.
    Sub "sub" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, Flags::WRAP;
    /// Product, modulo 2^n.
    Mul "mul" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, Flags::WRAP;
    /// Unsigned quotient; division by zero is undefined behaviour.
    Udiv "udiv" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Traps, EXACT;
    /// Signed quotient, towards zero; division by zero and overflow are undefined behaviour.
    Sdiv "sdiv" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Traps, EXACT;
    /// Unsigned remainder; division by zero is undefined behaviour.
    Urem "urem" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Traps;
    /// Signed remainder, with the dividend's sign; division by zero and overflow are undefined behaviour.
    Srem "srem" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Traps;
    /// Shift left; an amount of the width or more is poison.
    Shl "shl" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, Flags::WRAP;
    /// Shift right, zeros in; an amount of the width or more is poison.
    Lshr "lshr" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, EXACT;
    /// Shift right, sign in; an amount of the width or more is poison.
    Ashr "ashr" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, EXACT;
    /// Bitwise and.
    And "and" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Bitwise or.
    Or "or" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure, Flags::of(&[Flag::Disjoint]);
    /// Bitwise exclusive or.
    Xor "xor" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Lesser of two unsigned numbers.
    Umin "umin" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Greater of two unsigned numbers.
    Umax "umax" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Lesser of two signed numbers.
    Smin "smin" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Greater of two signed numbers.
    Smax "smax" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Absolute value; of the least number itself, or poison if `strict`.
    Abs "abs" (T(Int)) -> ResultConstraint::T, Plain, Pure, STRICT;
    /// Unsigned sum, clamped.
    UaddSat "uadd_sat" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Signed sum, clamped.
    SaddSat "sadd_sat" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Unsigned difference, clamped.
    UsubSat "usub_sat" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Signed difference, clamped.
    SsubSat "ssub_sat" (T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Number of bits set.
    Ctpop "ctpop" (T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Number of leading zeros; of 0 the width, or poison if `strict`.
    Ctlz "ctlz" (T(Int)) -> ResultConstraint::T, Plain, Pure, STRICT;
    /// Number of trailing zeros; of 0 the width, or poison if `strict`.
    Cttz "cttz" (T(Int)) -> ResultConstraint::T, Plain, Pure, STRICT;
    /// Bytes in reverse order.
    Bswap "bswap" (T(WideInt)) -> ResultConstraint::T, Plain, Pure;
    /// Bits in reverse order.
    Bitreverse "bitreverse" (T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Upper half of the first two operands side by side, shifted left by the third modulo the width.
    Fshl "fshl" (T(Int), T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Lower half of the first two operands side by side, shifted right by the third modulo the width.
    Fshr "fshr" (T(Int), T(Int), T(Int)) -> ResultConstraint::T, Plain, Pure;
    /// Comparison of integers or addresses.
    Icmp "icmp" (T(IntOrPtr), T(IntOrPtr)) -> ResultConstraint::BoolOfT, IntCompare, Pure;

    /// Sum.
    Fadd "fadd" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Difference.
    Fsub "fsub" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Product.
    Fmul "fmul" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Quotient.
    Fdiv "fdiv" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Remainder of the division towards zero, exact.
    Frem "frem" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Sign flipped.
    Fneg "fneg" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Sign cleared.
    Fabs "fabs" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Magnitude of the first, sign of the second.
    Copysign "copysign" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Square root.
    Sqrt "sqrt" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// 1 by the square root, rounded twice, or as close: machines may estimate it, two units in the last place off at most.
    Rsqrt "rsqrt" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// `a * b + c`, rounded once.
    Fma "fma" (T(Float), T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// `a * b + c`, rounded once or twice: either is right.
    Fmuladd "fmuladd" (T(Float), T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Lesser number; a NaN is ignored.
    Fmin "fmin" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Greater number; a NaN is ignored.
    Fmax "fmax" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Lesser number, -0 below +0; a NaN wins.
    Fminimum "fminimum" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Greater number, +0 above -0; a NaN wins.
    Fmaximum "fmaximum" (T(Float), T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Rounded down to an integral number.
    Floor "floor" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Rounded up to an integral number.
    Ceil "ceil" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Rounded towards zero to an integral number.
    Truncate "truncate" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Rounded to the nearest integral number, halves away from zero.
    Round "round" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Rounded to the nearest integral number, halves to even.
    RoundEven "round_even" (T(Float)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// The first, times two to the second.
    Ldexp "ldexp" (T(Float), SameLanes(Int)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// Whether the float is in one of the classes of the mask (LLVM's bits).
    FloatClass "fclass" (T(Float)) -> ResultConstraint::BoolOfT, FloatClass, Pure;
    /// Comparison of floats.
    Fcmp "fcmp" (T(Float), T(Float)) -> ResultConstraint::BoolOfT, FloatCompare, Pure, Flags::FAST;

    /// Lower bits of an integer.
    Trunc "trunc" (Free(Int)) -> Written(Int), Cast, Pure, Flags::WRAP;
    /// Integer with zeros above.
    Zext "zext" (Free(Int)) -> Written(Int), Cast, Pure, NNEG;
    /// Integer with its sign above.
    Sext "sext" (Free(Int)) -> Written(Int), Cast, Pure;
    /// Float in a narrower format, to nearest even.
    Fptrunc "fptrunc" (Free(Float)) -> Written(Float), Cast, Pure, Flags::FAST;
    /// Float in a wider format.
    Fpext "fpext" (Free(Float)) -> Written(Float), Cast, Pure, Flags::FAST;
    /// Unsigned integer part of a float; out of range is poison.
    Fptoui "fptoui" (Free(Float)) -> Written(Int), Cast, Pure;
    /// Signed integer part of a float; out of range is poison.
    Fptosi "fptosi" (Free(Float)) -> Written(Int), Cast, Pure;
    /// Unsigned integer part of a float, clamped; of NaN 0.
    FptouiSat "fptoui_sat" (Free(Float)) -> Written(Int), Cast, Pure;
    /// Signed integer part of a float, clamped; of NaN 0.
    FptosiSat "fptosi_sat" (Free(Float)) -> Written(Int), Cast, Pure;
    /// Float nearest to an unsigned integer.
    Uitofp "uitofp" (Free(Int)) -> Written(Float), Cast, Pure, NNEG;
    /// Float nearest to a signed integer.
    Sitofp "sitofp" (Free(Int)) -> Written(Float), Cast, Pure;
    /// Address as an integer.
    Ptrtoint "ptrtoint" (Free(Ptr)) -> Written(Int), Cast, Pure;
    /// Integer as an address.
    Inttoptr "inttoptr" (Free(Int)) -> Written(Ptr), Cast, Pure;
    /// Same address, in another space's type.
    SpaceCast "space_cast" (Free(Ptr)) -> Written(Ptr), Cast, Pure;
    /// Same bits, in another type of that many.
    Bitcast "bitcast" (Free(Any)) -> Written(Any), Plain, Pure;

    /// First arm where the condition holds, second elsewhere; the other arm is ignored, poison or not.
    Select "select" (Choice, T(Any), T(Any)) -> ResultConstraint::T, Plain, Pure, Flags::FAST;
    /// The operand, or some one value where it is poison.
    Freeze "freeze" (T(Any)) -> ResultConstraint::T, Plain, Pure;
    /// A promise that the condition holds.
    Assume "assume" (T(Bool)) -> ResultConstraint::Nothing, Plain, Assumes;
    /// Joins the values of the incoming edges; `shadow` for lanes that do not enter here.
    Phi "phi" () -> Written(Any), Phi, Joins;

    /// New private object of this many bytes.
    Alloca "alloca" () -> ResultConstraint::PrivatePtr, Alloca, Allocates;
    /// Address this many bytes further; the offset is signed.
    PtrAdd "ptradd" (T(Ptr), SameLanes(Int)) -> ResultConstraint::T, Plain, Pure,
        Flags::of(&[Flag::Nuw, Flag::Inbounds]);
    /// Value at an address; a vector lies there side by side.
    Load "load" (Free(ScalarPtr)) -> Written(Any), Access, Reads, Flags::ACCESS;
    /// Writes a value to an address.
    Store "store" (Free(Any), Free(ScalarPtr)) -> ResultConstraint::Nothing, Access, Writes, Flags::ACCESS;
    /// Copies bytes between objects that do not overlap.
    Memcpy "memcpy" (Free(ScalarPtr), Free(ScalarPtr), Free(ScalarInt)) -> ResultConstraint::Nothing, Transfer, ReadsWrites,
        Flags::of(&[Flag::Volatile]);
    /// Copies bytes, overlap allowed.
    Memmove "memmove" (Free(ScalarPtr), Free(ScalarPtr), Free(ScalarInt)) -> ResultConstraint::Nothing, Transfer, ReadsWrites,
        Flags::of(&[Flag::Volatile]);
    /// Fills bytes.
    Memset "memset" (Free(ScalarPtr), Free(ScalarInt), Free(ScalarInt)) -> ResultConstraint::Nothing, Access, Writes,
        Flags::of(&[Flag::Volatile]);
    /// Atomically replaces the value at an address by a function of it; gives the old value.
    AtomicRmw "atomic_rmw" (Free(ScalarPtr), T(TypeClass::Scalar)) -> ResultConstraint::T, Rmw, ReadsWrites [Order],
        Flags::of(&[Flag::Volatile]);
    /// Atomically replaces the value at an address if it is the expected one; gives the old value and whether.
    CompareExchange "cmpxchg" (Free(ScalarPtr), T(TypeClass::Scalar), T(TypeClass::Scalar)) -> ResultConstraint::TAndBool, CompareExchange,
        ReadsWrites [Order], Flags::of(&[Flag::Volatile]);
    /// Orders accesses around it.
    Fence "fence" () -> ResultConstraint::Nothing, Fence, Synchronizes [Order];
    /// Waits for all lanes of the scope and makes their writes visible.
    Barrier "barrier" () -> ResultConstraint::Nothing, Barrier, Synchronizes [Group, Order, Progress];

    /// Index of the lane in its brush, linear or along a dimension.
    Lane "lane" () -> Written(ScalarInt), Dimension, Pure [Lanes, Position];
    /// Number of lanes of the brush, in all or along a dimension.
    Width "width" () -> Written(ScalarInt), Dimension, Pure [Lanes];
    /// Index in the work-group along a dimension.
    LocalId "local_id" () -> Written(ScalarInt), Dimension, Pure [Group, Position];
    /// Size of the work-group along a dimension.
    LocalSize "local_size" () -> Written(ScalarInt), Dimension, Pure [Group];
    /// Size of a whole work-group along a dimension; those at the end of a launch may be smaller.
    EnqueuedSize "enqueued_size" () -> Written(ScalarInt), Dimension, Pure [Group];
    /// Index of the work-group along a dimension.
    GroupId "group_id" () -> Written(ScalarInt), Dimension, Pure [Group];
    /// Number of work-groups along a dimension.
    NumGroups "num_groups" () -> Written(ScalarInt), Dimension, Pure [Group];
    /// Index in the launch along a dimension, its offset included.
    GlobalId "global_id" () -> Written(ScalarInt), Dimension, Pure [Launch, Position];
    /// Size of the launch along a dimension.
    GlobalSize "global_size" () -> Written(ScalarInt), Dimension, Pure [Launch];
    /// Least global index along a dimension.
    GlobalOffset "global_offset" () -> Written(ScalarInt), Dimension, Pure [Launch];
    /// Number of dimensions of the launch.
    WorkDim "work_dim" () -> Written(ScalarInt), Dimension, Pure [Launch];

    /// True in active lanes, defined in every lane.
    Mask "mask" () -> ResultConstraint::Bool, Plain, Horizontal [Lanes, Position];
    /// Whether the condition holds in some active lane.
    Any "any" (T(Bool)) -> ResultConstraint::Bool, Plain, Horizontal [Lanes];
    /// Whether the condition holds in every active lane.
    All "all" (T(Bool)) -> ResultConstraint::Bool, Plain, Horizontal [Lanes];
    /// One bit for each lane that is active and where the condition holds.
    Ballot "ballot" (T(Bool)) -> Written(ScalarInt), Plain, Horizontal [Lanes];
    /// Number of active lanes where the condition holds.
    Popcount "popcount" (T(Bool)) -> Written(ScalarInt), Plain, Horizontal [Lanes];
    /// Value that another lane, chosen per lane, has here; of a lane not active or not there, poison.
    Shuffle "shuffle" (T(Any), SameLanes(Int)) -> ResultConstraint::T, Plain, Horizontal [Lanes];
    /// Value that one lane, the same for all, has here; of a lane not active or not there, poison.
    Broadcast "broadcast" (T(TypeClass::Scalar), Free(ScalarInt)) -> ResultConstraint::T, Plain, Horizontal [Lanes];
    /// Value of the lowest active lane.
    First "first" (T(TypeClass::Scalar)) -> ResultConstraint::T, Plain, Horizontal [Lanes];
    /// The active lanes' values, combined in ascending order.
    Reduce "reduce" (T(Any)) -> ResultConstraint::LaneOfT, Reduce, Horizontal [Lanes], Flags::FAST;
    /// The active lanes' values up to this one (`scan_before`: without it), combined in ascending order.
    Scan "scan" (T(Any)) -> ResultConstraint::T, Scan, Horizontal [Lanes], Flags::FAST;

    /// One value in every lane.
    Splat "splat" (Free(TypeClass::Scalar)) -> Written(Vector), Plain, Pure;
    /// One lane of a vector; outside of it, poison.
    Extract "extract" (T(Vector), Free(ScalarInt)) -> ResultConstraint::LaneOfT, Plain, Pure;
    /// A vector with one lane replaced; outside of it, poison.
    Insert "insert" (T(Vector), LaneOfT, Free(ScalarInt)) -> ResultConstraint::T, Plain, Pure;
    /// Lanes of two vectors side by side, picked by constant indices.
    Permute "permute" (T(Vector), T(Vector)) -> Written(Vector), Permute, Pure;
    /// The lanes that the mask picks, moved to the front; poison after them.
    Compress "compress" (T(Vector), BoolOfT) -> ResultConstraint::T, Plain, Pure;
    /// The front lanes, moved to where the mask picks; poison elsewhere.
    Expand "expand" (T(Vector), BoolOfT) -> ResultConstraint::T, Plain, Pure;
    /// Contiguous values where the mask holds, the last operand's lanes elsewhere.
    MaskedLoad "masked_load" (Free(ScalarPtr), MaskOfResult, SameAsResult) -> Written(Vector), Access, Reads,
        Flags::ACCESS;
    /// Writes a vector's lanes side by side where the mask holds.
    MaskedStore "masked_store" (T(Vector), Free(ScalarPtr), BoolOfT) -> ResultConstraint::Nothing, Access, Writes, Flags::ACCESS;
    /// Value at each lane's address where the mask holds, the last operand's lanes elsewhere.
    Gather "gather" (Free(VectorPtr), MaskOfResult, SameAsResult) -> Written(Vector), Access, Reads, Flags::ACCESS;
    /// Writes each lane's value to its address where the mask holds, in ascending lane order.
    Scatter "scatter" (T(Vector), SameLanes(Ptr), BoolOfT) -> ResultConstraint::Nothing, Access, Writes, Flags::ACCESS;

    /// Calls a function with the active lanes.
    Call "call" () -> ResultConstraint::Callee, Call, Callee;
    /// Runs a function as a lock-step region of its own, from sequential code.
    Launch "launch" () -> ResultConstraint::Callee, Launch, Callee;

    /// Goes to a block, or to one of two.
    Br "br" () -> ResultConstraint::Nothing, Branch, Terminator;
    /// Goes to the block of a case, or to the default.
    Switch "switch" () -> ResultConstraint::Nothing, Switch, Terminator;
    /// Returns.
    Ret "ret" () -> ResultConstraint::Nothing, Return, Terminator;
    /// Is never reached.
    Unreachable "unreachable" () -> ResultConstraint::Nothing, Plain, Terminator;
}

impl Op {
    /// Returns the row of the table.
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self as usize]
    }

    /// Returns the word of the text format.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// True if all its forms observe this.
    pub fn observes(self, what: Observed) -> bool {
        self.info().observes.contains(&what)
    }

    /// True if it ends a block.
    pub fn is_terminator(self) -> bool {
        self.info().effect == Effect::Terminator
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
