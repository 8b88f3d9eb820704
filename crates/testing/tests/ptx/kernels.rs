//! The kernels of `tests/cuda/kernels`, compiled to PTX by clang and by NVRTC, at -O0 and -O3. Interpreted, vectorized
//! and after a round trip through PTX they give the same results; all compilers' PTX agrees; NVIDIA's assembler accepts
//! the emitted PTX.

use crate::compile::{CLANG, NVRTC, ptx_of, sources};
use crate::round::Round;
use std::collections::BTreeMap;

#[test]
fn kernels_compute_the_same_all_the_way_round() {
    let mut wrong = Vec::new();
    let mut round = Round::new();
    // Results of each launch, by its line.
    let mut given = BTreeMap::new();
    let mut compiled = 0;
    for source in sources() {
        for how in CLANG.iter().chain(NVRTC) {
            let Some(text) = ptx_of(&source, how) else { continue };
            compiled += 1;
            let what = format!("{}, {how}", source.name);
            wrong.extend(round.check(&what, &text, &source.launches, &mut given));
        }
    }
    println!("{compiled} modules, {round}");
    assert!(compiled >= 18, "only {compiled} modules were compiled");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
