//! The published analyses on generated programs: properties that they share, and runs that distinguish them.

use heddle_analysis::baselines::UniformityAnalysis;
use heddle_testing::baselines_oracle::subjects;
use heddle_testing::generate::{GeneratorProfile, generate};

#[test]
fn all_follow_data_and_runs_contradict_those_that_forget_control() {
    let profile = GeneratorProfile::source();
    let mut contradicted = [0; 4];
    for seed in 0..250 {
        for subject in subjects(&generate(seed, &profile)) {
            let claims = UniformityAnalysis::ALL
                .map(|analysis| analysis.run(&subject.func, &subject.control, &subject.initial));
            let [_, coutinho, karrenberg, stratton] = &claims;
            for value in stratton.varying.iter() {
                assert!(coutinho.varying.contains(value), "seed {seed}: {value} varies by data");
                assert!(karrenberg.varying.contains(value), "seed {seed}: {value} varies by data");
            }
            for (claims, count) in claims.iter().zip(&mut contradicted) {
                *count += usize::from(!subject.observed.contradicts(claims).is_empty());
            }
        }
    }
    let [heddle, coutinho, _, stratton] = contradicted;
    assert_eq!(heddle, 0);
    assert!(0 < coutinho && coutinho < stratton, "{contradicted:?}");
}
