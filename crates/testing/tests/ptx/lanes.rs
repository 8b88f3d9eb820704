//! Cross-lane operations against the PTX specification, on random values: all modes and modifiers of votes, shuffles,
//! matches, reductions, elections and reducing barriers, with full and partial masks.

use heddle_testing::generate::Random;
use heddle_testing::ptx::{
    LANE_KERNEL, LANE_MEMBERS, LaneValues, lane_cases, lane_kernel, lane_values, run_in_all_modes,
};

const HEAD: &str = ".version 8.8\n.target sm_100\n.address_size 64\n";

#[test]
fn lanes_get_what_ptx_says() {
    let all = lane_cases();
    let mut checked = 0;
    for (round, members) in LANE_MEMBERS.into_iter().enumerate() {
        let text = format!("{HEAD}{}", lane_kernel("k", &all, members));
        // Kinds of values: all of them where all lanes take part, each once elsewhere.
        for kind in if round == 0 { 0..4 } else { round - 1..round } {
            let mut random = Random::new((round * 4 + kind) as u64);
            let lanes =
                LaneValues { a: lane_values(&mut random, kind), b: lane_values(&mut random, 0), members };
            let input: Vec<u64> = lanes.a.iter().zip(&lanes.b).flat_map(|(&a, &b)| [a, b]).collect();
            let found = run_in_all_modes(&text, 32, &input, all.len() * 32);
            for (what, found) in found.unwrap_or_else(|reason| panic!("{reason}")) {
                for (index, case) in all.iter().enumerate() {
                    for lane in 0..32 {
                        let word = found[index * 32 + lane];
                        let message = || {
                            format!("{}, {what}, members {members:#x}, kind {kind}, lane {lane}", case.text)
                        };
                        if members >> lane & 1 == 0 {
                            assert_eq!(word, 0, "{}", message());
                            continue;
                        }
                        let (expected, predicate) = (case.expected)(lane, &lanes);
                        if let Some(expected) = expected {
                            assert_eq!(word as u32, expected, "{}", message());
                        }
                        if let Some(predicate) = predicate {
                            assert_eq!(word >> 32 != 0, predicate, "{}", message());
                        }
                        checked += 1;
                    }
                }
            }
        }
    }
    assert!(checked > 40_000, "{checked} results");
}

#[test]
fn barriers_reduce_what_all_threads_say() {
    let mut text = format!("{HEAD}.visible .entry k{LANE_KERNEL}");
    let forms = ["bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"];
    let mut index = 0;
    for form in forms {
        let aligned = if form.starts_with("barrier") { ".aligned" } else { "" };
        for (words, to) in [("popc", "%d"), ("and", "%q"), ("or", "%q")] {
            let ty = if words == "popc" { "u32" } else { "pred" };
            text.push_str(&format!(
                "mov.u32 %d, 0;\nsetp.ne.u32 %q, %d, %d;\n{form}.{words}{aligned}.{ty} {to}, 0, %p;\nselp.u32 %t, 1, 0, %q;\nst.global.v2.b32 [%out+{}], {{%d, %t}};\n",
                index * 512
            ));
            index += 1;
        }
    }
    text.push_str("ret;\n}\n");
    for kind in 0..4 {
        let mut random = Random::new(kind as u64);
        let bits: Vec<u64> = [lane_values(&mut random, kind), lane_values(&mut random, kind)].concat();
        let input: Vec<u64> = bits.iter().flat_map(|&bits| [bits, 0]).collect();
        let yes = bits.iter().filter(|&&bits| bits & 1 == 1).count() as u64;
        let expected = [yes, u64::from(yes == 64) << 32, u64::from(yes > 0) << 32];
        let found = run_in_all_modes(&text, 64, &input, index * 64);
        for (what, found) in found.unwrap_or_else(|reason| panic!("{reason}")) {
            for (at, &word) in found.iter().enumerate() {
                assert_eq!(
                    word,
                    expected[at / 64 % 3],
                    "{what}, kind {kind}, form {}, thread {}",
                    at / 64,
                    at % 64
                );
            }
        }
    }
}
