//! Checks that an instruction's modifiers are compatible, beyond the constraints of the table of forms.

use super::generate::PtxGenerator;
use heddle_ptx::Word;

impl PtxGenerator {
    /// True if the modifiers are compatible beyond the constraints of the pattern.
    pub(super) fn is_sensible(&self, mnemonic: &str, words: &[Word]) -> bool {
        use Word::*;
        let has = |word: Word| words.contains(&word);
        let any = |list: &[Word]| list.iter().any(|&word| has(word));
        let types: Vec<Word> = words.iter().copied().filter(|word| word.is_type()).collect();
        let last = types.last().copied().unwrap_or(B32);
        let is_single = last == F32;
        let rounds = [Rn, Rz, Rm, Rp, Rni, Rzi, Rmi, Rpi, Rna];
        let is_rounded = any(&rounds);
        let none = |wrong: &[bool]| !wrong.contains(&true);
        if any(&[SharedCluster, Cluster, Mmio]) {
            return false;
        }
        match mnemonic {
            "setp" | "set" => {
                let is_float = last.is_float() || matches!(last, F16x2 | Bf16x2);
                let cmp = words[0];
                let fits = match cmp {
                    Eq | Ne => true,
                    Lt | Le | Gt | Ge => !last.is_untyped(),
                    Lo | Ls | Hi | Hs => last.is_int() && !last.is_signed(),
                    _ => is_float,
                };
                fits && (!has(Ftz) || matches!(last, F32 | F16 | F16x2))
                    && !(mnemonic == "set" && types[0] == Bf16 && last == F16)
            }
            "slct" => !has(Ftz) || is_single,
            "rcp" | "rsqrt" => !(has(Ftz) && last == F64) || has(Approx),
            "cvt" if types.len() == 2 && words[0] != Pack => {
                let [to, from] = [types[0], types[1]];
                if matches!(to, E4m3x2 | E5m2x2) {
                    return true;
                }
                if matches!(to, F16x2 | Bf16x2 | Tf32) {
                    return !(has(Relu) && has(Rna));
                }
                let whole = any(&[Rni, Rzi, Rmi, Rpi]);
                let directed = any(&[Rn, Rz, Rm, Rp]);
                if has(Rna) || has(Relu) && !(matches!(to, F16 | Bf16) && from == F32 && any(&[Rn, Rz])) {
                    return false;
                }
                if has(Ftz) && !(from == F32 || to == F32) || has(Ftz) && !from.is_float() && to != F32 {
                    return false;
                }
                match (to.is_float(), from.is_float()) {
                    (false, false) => !is_rounded && !has(Ftz),
                    (false, true) => whole && !has(Sat),
                    (true, false) => directed && !has(Ftz) && (to != Bf16 || has(Rn)),
                    (true, true) if to == from => !directed && to != Bf16,
                    (true, true) if to.bits() > from.bits() => none(&[is_rounded, has(Sat) && from == Bf16]),
                    (true, true) => {
                        directed
                            && !(to.bits() == Some(16) && from.bits() == Some(16))
                            && !(has(Sat) && to == Bf16)
                    }
                }
            }
            "ld" | "st" | "ldu" => {
                let sem = any(&[Weak, Volatile, Relaxed, Acquire, Release, AcqRel, Sc]);
                let scoped = any(&[Relaxed, Acquire, Release]);
                let scope = any(&[Cta, Gpu, Sys, Gl]);
                let hint = any(&[
                    Ca,
                    Cg,
                    Cs,
                    Lu,
                    Cv,
                    Wb,
                    Wt,
                    L1EvictNormal,
                    L1EvictUnchanged,
                    L1EvictFirst,
                    L1EvictLast,
                ]);
                let hint = hint
                    || any(&[
                        L1NoAllocate,
                        L2EvictNormal,
                        L2EvictFirst,
                        L2EvictLast,
                        L264,
                        L2128,
                        L2256,
                        Unified,
                    ]);
                let vec = any(&[V2, V4, V8]);
                let bits = last.bits().unwrap_or(32);
                let elsewhere = any(&[Local, Const, Param, ParamEntry, ParamFunc]);
                scoped == scope
                    && none(&[
                        any(&[AcqRel, Sc, L2CacheHint, Gl, ParamEntry, ParamFunc, Param]),
                        mnemonic == "ld" && has(Release),
                        mnemonic == "st" && any(&[Acquire, Const]),
                        sem && (hint || has(Nc)),
                        scoped && (vec || bits == 128 || elsewhere),
                        has(Nc) && !has(Global),
                        has(V8) && bits > 32,
                        vec && bits > 64,
                        self.in_callee && any(&[Shared, SharedCta]),
                    ])
            }
            "atom" | "red" => {
                let scope = any(&[Cta, Gpu, Sys]);
                let sem = any(&[Relaxed, Acquire, Release, AcqRel]);
                !any(&[Weak, Volatile, Sc, Gl, L2CacheHint, Local, Const, Param, ParamEntry, ParamFunc])
                    && sem == scope
                    && !(mnemonic == "red" && any(&[Acquire, AcqRel]))
            }
            "fence" => any(&[Cta, Gpu, Sys]),
            "cvta" | "isspacep" => {
                let is_window = self.in_callee && any(&[Shared, SharedCta]);
                none(&[any(&[ParamFunc, U32]), is_window])
            }
            "cp" => none(&[has(L2CacheHint), self.in_callee]),
            "prefetch" | "prefetchu" | "applypriority" | "discard" => {
                !any(&[Shared, SharedCta, Const, Param, ParamEntry, ParamFunc]) && !has(Local)
            }
            "mma" | "wmma" | "ldmatrix" | "stmatrix" | "movmatrix" => self.is_whole,
            _ => true,
        }
    }
}
