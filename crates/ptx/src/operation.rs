//! Operations of instruction forms, as the lowering tells them apart.

/// Declares enums of operations, which have the mnemonics' names.
macro_rules! operations {
    ($($(#[$meta:meta])* $name:ident: $($variant:ident)*;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)]
        pub enum $name { $($variant,)* }
    )*};
}

operations! {
    /// Operation on integers, element by element.
    IntegerOp: Add Addc Sub Subc Mul Mad Madc Mul24 Mad24 Sad Div Rem Abs Neg Min Max Popc Clz Bfind Fns Brev Bfe Bfi Szext Bmsk
        And Or Xor Not Cnot Lop3 Shl Shr Shf Prmt;
    /// Operation on floating-point numbers, element by element.
    FloatOp: Add Sub Mul Fma Mad Div Abs Neg Min Max Rcp Sqrt Rsqrt Sin Cos Lg2 Ex2 Tanh Copysign;
    /// Operation of a video instruction on each part of a word.
    VideoOp: Add Sub Avrg Absdiff Min Max Set;
}

/// Operation of an instruction form, or the reason why the lowering refuses the form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum PtxOperation {
    Integer(IntegerOp),
    Float(FloatOp),
    /// Operation on this number of parts of a word.
    Video(VideoOp, u8),
    Dp4a,
    Dp2a,
    Testp,
    Setp,
    Set,
    Selp,
    Slct,
    Mov,
    Cvt,
    Cvta,
    Isspacep,
    Ld,
    Ldu,
    St,
    Atom,
    Red,
    /// Asynchronous copy.
    Cp,
    Call,
    Trap,
    Bra,
    Brx,
    Ret,
    Exit,
    /// Performance hint without code.
    Hint,
    CachePolicy,
    /// Barrier of the block or of the warp.
    Bar,
    Fence,
    Mbarrier,
    Activemask,
    Vote,
    Shfl,
    Match,
    Redux,
    Elect,
    Mma,
    Wmma,
    Ldmatrix,
    Stmatrix,
    Movmatrix,
    Tex,
    Tld4,
    /// Size of a texture or surface.
    Txq,
    Suld,
    Sust,
    /// Refused: what it is, and help after `; `.
    Refused(&'static str),
}
