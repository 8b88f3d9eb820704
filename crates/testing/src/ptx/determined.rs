//! Instructions of which PTX determines the result, and that a GPU of compute capability 9.0 has.

use heddle_ptx::Word;

/// True if each GPU gives the same result, as far as numbers are no NaN.
pub(super) fn is_determined(mnemonic: &str, words: &[Word]) -> bool {
    use Word::*;
    let has = |word: Word| words.contains(&word);
    let any = |list: &[Word]| list.iter().any(|&word| has(word));
    let types: Vec<Word> = words.iter().copied().filter(|word| word.is_type()).collect();
    let is_float = types.iter().any(|ty| ty.is_float() || matches!(ty, F16x2 | Bf16x2 | Tf32));
    // Of compute capability 10.
    if any(&[F32x2, V8]) {
        return false;
    }
    // Of which the assembler takes few combinations.
    if any(&[Unified, L2EvictFirst, L2EvictLast, L2EvictNormal]) && matches!(mnemonic, "ld" | "st") {
        return false;
    }
    match mnemonic {
        _ if any(&[Approx, Full]) => false,
        // Without a rounding, an assembler may fuse a product and a sum.
        "add" | "sub" | "mul" if is_float => any(&[Rn, Rz, Rm, Rp]) && types.len() == 1,
        "mad" | "fma" if is_float => any(&[Rn, Rz, Rm, Rp]) && types.len() == 1,
        "set" => types[0] == types[1] || !any(&[U16, S16, Bf16, Bf16x2]),
        "cvt" => !has(Sat) || is_float,
        "st" => !any(&[Cv, F16, Bf16]),
        "redux" => !is_float,
        // Sums of products are rounded otherwise.
        "mma" => !is_float || has(F64),
        "wmma" => !has(Mma) || !is_float || has(F64),
        "vote" | "shfl" => has(Sync),
        "setmaxnreg" | "ldu" => false,
        _ => true,
    }
}
