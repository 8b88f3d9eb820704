//! Keywords after a dot: types, spaces and modifiers of PTX.
//!
//! They are interned first, so a symbol less than the length of [`Word::ALL`] is a keyword.

/// Declares the keywords with their spelling.
macro_rules! words {
    ($($variant:ident $text:literal)*) => {
        /// Keyword after a dot.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        #[allow(missing_docs)]
        pub enum Word { $($variant,)* }

        impl Word {
            /// All keywords, in order.
            pub const ALL: &'static [Word] = &[$(Word::$variant,)*];

            /// Returns the spelling, without the dot.
            pub const fn text(self) -> &'static str {
                match self { $(Word::$variant => $text,)* }
            }
        }
    };
}

words! {
    // Types.
    Pred "pred" B8 "b8" B16 "b16" B32 "b32" B64 "b64" B128 "b128"
    U8 "u8" U16 "u16" U32 "u32" U64 "u64" S8 "s8" S16 "s16" S32 "s32" S64 "s64"
    F16 "f16" F16x2 "f16x2" Bf16 "bf16" Bf16x2 "bf16x2" F32 "f32" F64 "f64" F32x2 "f32x2"
    E4m3x2 "e4m3x2" E5m2x2 "e5m2x2"
    U16x2 "u16x2" S16x2 "s16x2" Tf32 "tf32"
    // Spaces.
    Reg "reg" Param "param" ParamEntry "param::entry" ParamFunc "param::func" Local "local" Global "global"
    Shared "shared" SharedCta "shared::cta" SharedCluster "shared::cluster" Const "const"
    // Rounding.
    Rn "rn" Rz "rz" Rm "rm" Rp "rp" Rna "rna" Rs "rs" Rni "rni" Rzi "rzi" Rmi "rmi" Rpi "rpi"
    Ftz "ftz" Sat "sat" Satfinite "satfinite" Relu "relu" Approx "approx" Full "full" Noftz "noftz"
    // Operands and operators.
    Lo "lo" Hi "hi" Wide "wide" Cc "cc" Nan "nan" NanToo "NaN" Xorsign "xorsign" Abs "abs"
    Eq "eq" Ne "ne" Lt "lt" Le "le" Gt "gt" Ge "ge" Ls "ls" Hs "hs"
    Equ "equ" Neu "neu" Ltu "ltu" Leu "leu" Gtu "gtu" Geu "geu" Num "num"
    And "and" Or "or" Xor "xor" Not "not" Add "add" Min "min" Max "max" Inc "inc" Dec "dec" Exch "exch" Cas "cas"
    Popc "popc" Shiftamt "shiftamt" Clamp "clamp" Wrap "wrap" L "l" R "r"
    Finite "finite" Infinite "infinite" Number "number" Notanumber "notanumber" Normal "normal" Subnormal "subnormal"
    F4e "f4e" B4e "b4e" Rc8 "rc8" Ecl "ecl" Ecr "ecr" Rc16 "rc16"
    Up "up" Down "down" Bfly "bfly" Idx "idx" All "all" Any "any" Uni "uni" Ballot "ballot" Sync "sync"
    Aligned "aligned" Arrive "arrive" Red "red" Warp "warp" Cta "cta" Cluster "cluster" Gpu "gpu" Sys "sys" Gl "gl"
    Weak "weak" Volatile "volatile" Relaxed "relaxed" Acquire "acquire" Release "release" AcqRel "acq_rel" Sc "sc"
    Mmio "mmio" Nc "nc" Ca "ca" Cg "cg" Cs "cs" Lu "lu" Cv "cv" Wb "wb" Wt "wt" Unified "unified"
    V2 "v2" V4 "v4" V8 "v8" To "to" Pack "pack" Async "async" CommitGroup "commit_group" WaitGroup "wait_group"
    WaitAll "wait_all" Bulk "bulk" Proxy "proxy"
    // Barrier objects.
    Init "init" Inval "inval" NoComplete "noComplete" ExpectTx "expect_tx" CompleteTx "complete_tx" TestWait "test_wait"
    TryWait "try_wait" Parity "parity" PendingCount "pending_count" MbarrierWord "mbarrier" Noinc "noinc"
    L1EvictNormal "L1::evict_normal" L1EvictUnchanged "L1::evict_unchanged" L1EvictFirst "L1::evict_first"
    L1EvictLast "L1::evict_last" L1NoAllocate "L1::no_allocate" L2EvictNormal "L2::evict_normal"
    L2EvictFirst "L2::evict_first" L2EvictLast "L2::evict_last" L2CacheHint "L2::cache_hint" L264 "L2::64B"
    L2128 "L2::128B" L2256 "L2::256B" LevelL1 "L1" LevelL2 "L2"
    // Matrices.
    M8n8 "m8n8" M8n8k4 "m8n8k4" M8n8k16 "m8n8k16" M16n8k4 "m16n8k4" M16n8k8 "m16n8k8" M16n8k16 "m16n8k16"
    M16n8k32 "m16n8k32" M16n16k8 "m16n16k8" M16n16k16 "m16n16k16" M32n8k16 "m32n8k16" M8n32k16 "m8n32k16"
    Load "load" Store "store" Mma "mma" A "a" B "b" C "c" D "d" Row "row" Col "col" X1 "x1" X2 "x2" X4 "x4" Trans "trans"
    // Textures and surfaces.
    Texref "texref" Samplerref "samplerref" Surfref "surfref" Line "1d" Plane "2d" Volume "3d" LineArray "a1d" PlaneArray "a2d"
    Level "level" Grad "grad" Base "base" G "g" Trap "trap" Zero "zero" Width "width" Height "height" Depth "depth"
    // Components of vectors and of special registers.
    X "x" Y "y" Z "z" W "w"
}

impl Word {
    /// Returns the width of a type in bits; none if it is no type.
    pub const fn bits(self) -> Option<u32> {
        use Word::*;
        Some(match self {
            Pred => 1,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 => 16,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 | U16x2 | S16x2 | Tf32 => 32,
            B64 | U64 | S64 | F64 | F32x2 | Texref | Samplerref | Surfref => 64,
            B128 => 128,
            _ => return None,
        })
    }

    /// True for types.
    pub const fn is_type(self) -> bool {
        self.bits().is_some()
    }

    /// True for signed integer types.
    pub const fn is_signed(self) -> bool {
        matches!(self, Word::S8 | Word::S16 | Word::S32 | Word::S64 | Word::S16x2)
    }

    /// True for scalar floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, Word::F16 | Word::Bf16 | Word::F32 | Word::F64)
    }

    /// True for integer types of either signedness.
    pub const fn is_int(self) -> bool {
        use Word::*;
        matches!(self, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64)
    }

    /// True for types that specify a width only.
    pub const fn is_untyped(self) -> bool {
        matches!(self, Word::B8 | Word::B16 | Word::B32 | Word::B64 | Word::B128)
    }

    /// Returns the element type of a packed pair.
    pub const fn half(self) -> Option<Word> {
        Some(match self {
            Word::F16x2 => Word::F16,
            Word::Bf16x2 => Word::Bf16,
            Word::F32x2 => Word::F32,
            Word::U16x2 => Word::U16,
            Word::S16x2 => Word::S16,
            _ => return None,
        })
    }
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text())
    }
}
