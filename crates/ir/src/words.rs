//! Keywords that refine an op: predicates, reductions, orderings, scopes, flags.
//!
//! Each kind is an enum; `name` gives a variant's word in the text format.

/// Declares an enum whose variants are keywords of the text format.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All variants, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Returns the word of the text format.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// Returns the variant of this word.
            pub fn from_name(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// Predicate of `icmp`.
    IntPredicate {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Less, as unsigned numbers.
        Ult = "ult",
        /// Less or equal, as unsigned numbers.
        Ule = "ule",
        /// Greater, as unsigned numbers.
        Ugt = "ugt",
        /// Greater or equal, as unsigned numbers.
        Uge = "uge",
        /// Less, as signed numbers.
        Slt = "slt",
        /// Less or equal, as signed numbers.
        Sle = "sle",
        /// Greater, as signed numbers.
        Sgt = "sgt",
        /// Greater or equal, as signed numbers.
        Sge = "sge",
    }
}

impl IntPredicate {
    /// The logical negation.
    pub const fn negated(self) -> Self {
        use IntPredicate::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Ult => Uge,
            Ule => Ugt,
            Ugt => Ule,
            Uge => Ult,
            Slt => Sge,
            Sle => Sgt,
            Sgt => Sle,
            Sge => Slt,
        }
    }

    /// The predicate for swapped operands.
    pub const fn swapped(self) -> Self {
        use IntPredicate::*;
        match self {
            Eq => Eq,
            Ne => Ne,
            Ult => Ugt,
            Ule => Uge,
            Ugt => Ult,
            Uge => Ule,
            Slt => Sgt,
            Sle => Sge,
            Sgt => Slt,
            Sge => Sle,
        }
    }
}

words! {
    /// Predicate of `fcmp`: `o…` is false on NaN, `u…` true. Its number is the set of relations that it admits: equal is
    /// bit 0, greater bit 1, less bit 2, unordered bit 3.
    FloatPredicate {
        /// Always false.
        False = "false",
        /// Ordered and equal.
        Oeq = "oeq",
        /// Ordered and greater.
        Ogt = "ogt",
        /// Ordered and greater or equal.
        Oge = "oge",
        /// Ordered and less.
        Olt = "olt",
        /// Ordered and less or equal.
        Ole = "ole",
        /// Ordered and not equal.
        One = "one",
        /// No operand is NaN.
        Ord = "ord",
        /// Some operand is NaN.
        Uno = "uno",
        /// Unordered or equal.
        Ueq = "ueq",
        /// Unordered or greater.
        Ugt = "ugt",
        /// Unordered or greater or equal.
        Uge = "uge",
        /// Unordered or less.
        Ult = "ult",
        /// Unordered or less or equal.
        Ule = "ule",
        /// Unordered or not equal.
        Une = "une",
        /// Always true.
        True = "true",
    }
}

words! {
    /// Combining operation of a reduction or scan, applied in ascending lane order.
    Reduction {
        /// Integer sum.
        Add = "add",
        /// Integer product.
        Mul = "mul",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Unsigned minimum.
        Umin = "umin",
        /// Unsigned maximum.
        Umax = "umax",
        /// Signed minimum.
        Smin = "smin",
        /// Signed maximum.
        Smax = "smax",
        /// Floating-point sum.
        Fadd = "fadd",
        /// Floating-point product.
        Fmul = "fmul",
        /// Minimum, NaN ignored.
        Fmin = "fmin",
        /// Maximum, NaN ignored.
        Fmax = "fmax",
    }
}

impl Reduction {
    /// True if it combines floats, not integers.
    pub const fn is_float(self) -> bool {
        matches!(self, Reduction::Fadd | Reduction::Fmul | Reduction::Fmin | Reduction::Fmax)
    }
}

words! {
    /// Operation of `atomic_rmw`.
    Rmw {
        /// Replace.
        Exchange = "exchange",
        /// Integer sum.
        Add = "add",
        /// Integer difference.
        Sub = "sub",
        /// Bitwise and.
        And = "and",
        /// Complement of the bitwise and.
        Nand = "nand",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Unsigned minimum.
        Umin = "umin",
        /// Unsigned maximum.
        Umax = "umax",
        /// Signed minimum.
        Smin = "smin",
        /// Signed maximum.
        Smax = "smax",
        /// Floating-point sum.
        Fadd = "fadd",
        /// Floating-point difference.
        Fsub = "fsub",
        /// Minimum, NaN ignored.
        Fmin = "fmin",
        /// Maximum, NaN ignored.
        Fmax = "fmax",
        /// Increment, back to 0 above the operand.
        IncWrap = "inc_wrap",
        /// Decrement, back to the operand at 0 or above it.
        DecWrap = "dec_wrap",
    }
}

impl Rmw {
    /// True if it works on floats, not integers (`exchange` takes both).
    pub const fn is_float(self) -> bool {
        matches!(self, Rmw::Fadd | Rmw::Fsub | Rmw::Fmin | Rmw::Fmax)
    }
}

words! {
    /// Memory ordering of an atomic access or a fence.
    AtomicOrdering {
        /// Atomic, without any ordering, not even per location.
        Unordered = "unordered",
        /// Atomic, with one modification order per location.
        Relaxed = "relaxed",
        /// Later accesses are not moved before it.
        Acquire = "acquire",
        /// Earlier accesses are not moved after it.
        Release = "release",
        /// Acquire and release.
        AcqRel = "acq_rel",
        /// Acquire and release, in one total order.
        SeqCst = "seq_cst",
    }
}

words! {
    /// Scope of an ordering: the threads and lanes that observe it.
    SyncScope {
        /// One lane and its signal handlers.
        Lane = "lane",
        /// The lanes of a brush.
        Brush = "brush",
        /// The lanes of a work-group.
        Group = "group",
        /// All lanes of a launch.
        Device = "device",
        /// All agents that share the memory.
        System = "system",
    }
}

words! {
    /// Flag of an instruction: fast-math, overflow and access promises, and `total`.
    Flag {
        /// No unsigned overflow, else poison.
        Nuw = "nuw",
        /// No signed overflow, else poison.
        Nsw = "nsw",
        /// No remainder, no bit shifted out, else poison.
        Exact = "exact",
        /// No bit set on both sides, else poison.
        Disjoint = "disjoint",
        /// The operand is not negative, else poison.
        Nneg = "nneg",
        /// The address stays inside its object, else poison.
        Inbounds = "inbounds",
        /// The corner case (0 for bit counts, the minimum integer for `abs`) gives poison.
        Strict = "strict",
        /// No NaN, else poison.
        Nnan = "nnan",
        /// No infinity, else poison.
        Ninf = "ninf",
        /// The sign of zero does not matter.
        Nsz = "nsz",
        /// Division may become multiplication by the reciprocal.
        Arcp = "arcp",
        /// Multiplication and addition may fuse.
        Contract = "contract",
        /// Functions may be approximated.
        Afn = "afn",
        /// Operations may be reassociated.
        Reassoc = "reassoc",
        /// The access must be executed as written.
        Volatile = "volatile",
        /// The memory does not change while it is accessible.
        Invariant = "invariant",
        /// The memory is not used again soon.
        Nontemporal = "nontemporal",
        /// The memory that follows is accessed next: a hint to fetch it.
        Ahead = "ahead",
        /// Executed in all lanes, active or not.
        Total = "total",
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags(u32);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// No-wrap flags of integer operations.
    pub const WRAP: Flags = Flags::of(&[Flag::Nuw, Flag::Nsw]);
    /// Fast-math flags of floating-point operations.
    pub const FAST: Flags =
        Flags::of(&[Flag::Nnan, Flag::Ninf, Flag::Nsz, Flag::Arcp, Flag::Contract, Flag::Afn, Flag::Reassoc]);
    /// Flags of memory accesses.
    pub const ACCESS: Flags = Flags::of(&[Flag::Volatile, Flag::Invariant, Flag::Nontemporal, Flag::Ahead]);
    /// Flags whose violation gives poison.
    pub const POISON: Flags = Flags::of(&[
        Flag::Nuw,
        Flag::Nsw,
        Flag::Exact,
        Flag::Disjoint,
        Flag::Nneg,
        Flag::Inbounds,
        Flag::Strict,
        Flag::Nnan,
        Flag::Ninf,
    ]);

    /// The set of these flags.
    pub const fn of(flags: &[Flag]) -> Flags {
        let mut bits = 0;
        let mut index = 0;
        while index < flags.len() {
            bits |= 1 << flags[index] as u32;
            index += 1;
        }
        Flags(bits)
    }
    /// True if the flag is set.
    pub const fn has(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 == 1
    }
    /// Adds a flag.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Flags {
        Flags(self.0 | 1 << flag as u32)
    }
    /// Removes flags.
    #[must_use]
    pub const fn without(self, flags: Flags) -> Flags {
        Flags(self.0 & !flags.0)
    }
    /// The union of both sets.
    #[must_use]
    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The intersection of both sets.
    #[must_use]
    pub const fn intersection(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
    /// True if no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The flags, in order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |&flag| self.has(flag))
    }
}
