//! The closed vocabularies that refine an operation: predicates, reductions, orderings, scopes.
//!
//! Each is an enum whose `name` is its word in the text format.

/// Declares an enum whose variants are words of the text format.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word of the text format.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// What this word names.
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
    /// How `icmp` compares.
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
    /// The predicate that holds where this one does not.
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

    /// The predicate that holds of `(b, a)` where this one holds of `(a, b)`.
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
    /// How `fcmp` compares: `o…` is false on NaN, `u…` true. The number of each is the set of relations that it
    /// admits: equal is bit 0, greater bit 1, less bit 2, unordered bit 3.
    FloatPredicate {
        /// Never.
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
        /// No NaN.
        Ord = "ord",
        /// Some NaN.
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
        /// Always.
        True = "true",
    }
}

words! {
    /// How a reduction or a scan combines lanes, in ascending lane order.
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
        /// Least unsigned.
        Umin = "umin",
        /// Greatest unsigned.
        Umax = "umax",
        /// Least signed.
        Smin = "smin",
        /// Greatest signed.
        Smax = "smax",
        /// Floating-point sum.
        Fadd = "fadd",
        /// Floating-point product.
        Fmul = "fmul",
        /// Least number, NaN ignored.
        Fmin = "fmin",
        /// Greatest number, NaN ignored.
        Fmax = "fmax",
    }
}

impl Reduction {
    /// Whether it combines floats rather than integers.
    pub const fn is_float(self) -> bool {
        matches!(self, Reduction::Fadd | Reduction::Fmul | Reduction::Fmin | Reduction::Fmax)
    }
}

words! {
    /// What `atomic_rmw` does with the old value and its operand.
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
        /// Least unsigned.
        Umin = "umin",
        /// Greatest unsigned.
        Umax = "umax",
        /// Least signed.
        Smin = "smin",
        /// Greatest signed.
        Smax = "smax",
        /// Floating-point sum.
        Fadd = "fadd",
        /// Floating-point difference.
        Fsub = "fsub",
        /// Least number, NaN ignored.
        Fmin = "fmin",
        /// Greatest number, NaN ignored.
        Fmax = "fmax",
        /// Increment, back to 0 above the operand.
        IncWrap = "inc_wrap",
        /// Decrement, back to the operand at 0 or above it.
        DecWrap = "dec_wrap",
    }
}

impl Rmw {
    /// Whether it works on floats rather than integers (`exchange` takes either).
    pub const fn is_float(self) -> bool {
        matches!(self, Rmw::Fadd | Rmw::Fsub | Rmw::Fmin | Rmw::Fmax)
    }
}

words! {
    /// What an atomic access or a fence orders.
    AtomicOrdering {
        /// Atomic, ordering nothing else, not even per location.
        Unordered = "unordered",
        /// Atomic, one order per location.
        Relaxed = "relaxed",
        /// Later accesses stay later.
        Acquire = "acquire",
        /// Earlier accesses stay earlier.
        Release = "release",
        /// Both.
        AcqRel = "acq_rel",
        /// Both, in one order for all.
        SeqCst = "seq_cst",
    }
}

words! {
    /// What takes part in an ordering.
    SyncScope {
        /// One lane, against its own signal handlers.
        Lane = "lane",
        /// The lanes of a brush.
        Brush = "brush",
        /// The lanes of a work-group.
        Group = "group",
        /// All lanes of a launch.
        Device = "device",
        /// Everything that shares the memory.
        System = "system",
    }
}

words! {
    /// The fast-math, overflow and access promises of an instruction, and its `total` modifier.
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
        /// The corner-case operand (0 for counts, the least integer for `abs`) gives poison.
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
        /// The access must happen as written.
        Volatile = "volatile",
        /// The memory does not change while it is visible.
        Invariant = "invariant",
        /// The memory is not used again soon.
        Nontemporal = "nontemporal",
        /// All lanes execute, active or not.
        Total = "total",
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags(u32);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// Integer promises that no result wraps.
    pub const WRAP: Flags = Flags::of(&[Flag::Nuw, Flag::Nsw]);
    /// What any floating-point operation may promise.
    pub const FAST: Flags =
        Flags::of(&[Flag::Nnan, Flag::Ninf, Flag::Nsz, Flag::Arcp, Flag::Contract, Flag::Afn, Flag::Reassoc]);
    /// What an access may say.
    pub const ACCESS: Flags = Flags::of(&[Flag::Volatile, Flag::Invariant, Flag::Nontemporal]);
    /// The flags whose broken promise is poison.
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
    /// Whether the flag is set.
    pub const fn has(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 == 1
    }
    /// This set and that flag.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Flags {
        Flags(self.0 | 1 << flag as u32)
    }
    /// This set without those flags.
    #[must_use]
    pub const fn without(self, flags: Flags) -> Flags {
        Flags(self.0 & !flags.0)
    }
    /// The flags of both sets together.
    #[must_use]
    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The flags in both sets.
    #[must_use]
    pub const fn intersection(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
    /// Whether no flag is set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The flags, in order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |&flag| self.has(flag))
    }
}
