//! Generators against their definitions, numbers that are known, and the distributions that they are to have.

use heddle_curand::generator::{Algorithm, Generator, ORDERING_LEGACY};
use heddle_curand::poisson::DiscreteDistribution;
use heddle_curand::{distributions, sobol};

const PSEUDO: [Algorithm; 4] =
    [Algorithm::Xorwow, Algorithm::Mrg32k3a, Algorithm::Philox, Algorithm::Mt19937];

fn bits(algorithm: Algorithm, seed: u64, count: usize) -> Vec<u32> {
    let mut generator = Generator::new(algorithm);
    generator.set_seed(seed);
    let mut output = vec![0; count];
    generator.bits(&mut output).expect("pseudorandom numbers have no dimensions");
    output
}

/// Outputs that NVIDIA's library gives for the seed 1234 in its default ordering.
#[test]
fn outputs_are_where_the_host_interface_has_them() {
    type Known = (Algorithm, [(usize, u32); 6]);
    let known: [Known; 3] = [
        (
            Algorithm::Xorwow,
            [
                (0, 624_778_773),
                (1, 3_522_650_202),
                (4095, 3_856_448_218),
                (4096, 1_867_875_844),
                (5000, 1_378_181_827),
                (99_999, 1_286_219_390),
            ],
        ),
        (
            Algorithm::Mrg32k3a,
            [
                (0, 3_379_073_520),
                (1, 653_317_650),
                (4096, 2_648_318_237),
                (5000, 3_869_769_518),
                (81_920, 2_521_876_100),
                (99_999, 326_359_744),
            ],
        ),
        (
            Algorithm::Philox,
            [
                (0, 546_353_992),
                (1, 3_665_621_163),
                (5000, 4_164_562_676),
                (262_144, 2_666_454_581),
                (262_149, 1_698_527_859),
                (299_999, 1_867_931_545),
            ],
        ),
    ];
    for (algorithm, outputs) in known {
        let found = bits(algorithm, 1234, 300_000);
        for (index, output) in outputs {
            assert_eq!(found[index], output, "{algorithm:?} at {index}");
        }
    }
}

/// Numbers of XORWOW that NVIDIA's library gives for the seed 1234 on the host.
#[test]
fn numbers_are_made_of_draws_as_the_host_interface_makes_them() {
    let mut generator = Generator::new(Algorithm::Xorwow);
    let mut doubles = vec![0.0; 20_000];
    generator.set_seed(1234);
    generator.uniform_double(&mut doubles).expect("the length fits");
    for (index, known) in
        [(0, 0.434_898_804_388_412_94), (8192, 0.582_418_125_198_572_7), (19_999, 0.887_173_488_329_094_7)]
    {
        assert!((doubles[index] - known).abs() < 1e-15);
    }
    generator.set_seed(1234);
    generator.normal_double(&mut doubles, |x| x).expect("the length is even");
    for (index, known) in
        [(0, 0.358_739_798_524_455_03), (1, -1.239_592_503_223_552), (19_999, -0.578_319_165_070_704)]
    {
        assert!((doubles[index] - known).abs() < 1e-14);
    }
    let mut floats = vec![0.0; 20_000];
    generator.set_seed(1234);
    generator.normal(&mut floats, |x| x).expect("the length is even");
    for (index, known) in [(0, 0.780_973_55), (1, -1.801_578_2), (8192, 0.146_282_33), (19_999, 1.527_611_5)]
    {
        assert!((floats[index] - known).abs() < 1e-6);
    }
}

/// XORWOW as it is published, from the state of a seed.
#[test]
fn the_first_sequence_of_xorwow_is_the_recurrence() {
    let found = bits(Algorithm::Xorwow, 0, 4096 * 100);
    let (s0, s1) = (0xaad2_6b49_u32, 0xf7dc_efdd_u32);
    let (t0, t1) = (1_099_087_573_u32.wrapping_mul(s0), 2_591_861_531_u32.wrapping_mul(s1));
    let mut v = [
        123_456_789_u32.wrapping_add(t0),
        362_436_069 ^ t0,
        521_288_629_u32.wrapping_add(t1),
        88_675_123 ^ t1,
        5_783_321_u32.wrapping_add(t0),
    ];
    let mut d = 6_615_241_u32.wrapping_add(t1).wrapping_add(t0);
    for row in 0..100 {
        let t = v[0] ^ (v[0] >> 2);
        v = [v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))];
        d = d.wrapping_add(362_437);
        assert_eq!(found[row * 4096], v[4].wrapping_add(d));
    }
}

/// The first output of the published program for MT19937 with the seed 5489, and the 10,000th.
#[test]
fn mt19937_is_the_published_generator() {
    let found = bits(Algorithm::Mt19937, 5489, 10_000);
    assert_eq!((found[0], found[9_999]), (3_499_211_612, 4_123_659_995));
}

#[test]
fn calls_continue_where_the_last_one_ended() {
    for algorithm in PSEUDO {
        let whole = bits(algorithm, 7, 200_000);
        let mut generator = Generator::new(algorithm);
        generator.set_seed(7);
        let mut parts = Vec::new();
        for count in [1, 9, 4086, 5000, 90_000, 100_904] {
            let mut output = vec![0; count];
            generator.bits(&mut output).expect("pseudorandom numbers have no dimensions");
            parts.extend(output);
        }
        assert!(parts == whole, "{algorithm:?}");
        let of_pairs = |counts: &[usize]| {
            let mut generator = Generator::new(algorithm);
            let mut all = Vec::new();
            for count in counts {
                let mut output = vec![0.0; *count];
                generator.normal_double(&mut output, |x| x).expect("the length is even");
                all.extend(output);
            }
            all
        };
        assert!(of_pairs(&[50_000]) == of_pairs(&[2, 8_190, 10, 41_798]), "{algorithm:?}");
    }
}

#[test]
fn an_offset_leaves_out_outputs() {
    for algorithm in [Algorithm::Xorwow, Algorithm::Mrg32k3a, Algorithm::Philox] {
        let whole = bits(algorithm, 3, 1_000_000);
        for offset in [1, 4095, 4097, 82_000, 600_001] {
            let mut generator = Generator::new(algorithm);
            generator.set_seed(3);
            generator.set_position(offset as u64);
            let mut output = vec![0; 300_000];
            generator.bits(&mut output).expect("pseudorandom numbers have no dimensions");
            assert!(output == whole[offset..offset + 300_000], "{algorithm:?} from {offset}");
        }
    }
}

/// Sequences skip their parts of an offset draw by draw, and then give units of several draws, each in turn.
#[test]
fn an_offset_leaves_out_draws_of_numbers_that_take_several() {
    let (offset, sequences, count) = (100_002, 4096, 9000);
    let draws = bits(Algorithm::Xorwow, 5, sequences * 40);
    let mut generator = Generator::new(Algorithm::Xorwow);
    generator.set_seed(5);
    generator.set_position(offset as u64);
    let mut found = vec![0.0; count];
    generator.uniform_double(&mut found).expect("the length fits");
    let mut next: Vec<usize> =
        (0..sequences).map(|sequence| (offset + sequences - 1 - sequence) / sequences).collect();
    for (unit, found) in found.into_iter().enumerate() {
        let sequence = (offset + unit) % sequences;
        let draw = |row: usize| draws[row * sequences + sequence];
        let wanted = distributions::uniform_double_of_two([draw(next[sequence]), draw(next[sequence] + 1)]);
        assert!(found == wanted, "{unit}");
        next[sequence] += 2;
    }

    // Philox does so with groups of four outputs, whose doubles take two blocks.
    let (group, sequences) = (65_541, 65_536);
    let draws = bits(Algorithm::Philox, 5, 4 * sequences * 6);
    let mut generator = Generator::new(Algorithm::Philox);
    generator.set_seed(5);
    generator.set_position(4 * group as u64);
    let mut found = vec![0.0; 4 * 70_000];
    generator.uniform_double(&mut found).expect("the length fits");
    let mut next: Vec<usize> =
        (0..sequences).map(|sequence| (group + sequences - 1 - sequence) / sequences).collect();
    for (unit, found) in found.chunks(4).enumerate() {
        let sequence = (group + unit) % sequences;
        for (i, found) in found.iter().enumerate() {
            let draw = 4 * ((next[sequence] + i / 2) * sequences + sequence) + 2 * (i % 2);
            assert!(*found == distributions::uniform_double_of_two([draws[draw], draws[draw + 1]]), "{unit}");
        }
        next[sequence] += 2;
    }
}

#[test]
fn the_legacy_ordering_of_mrg32k3a_has_fewer_sequences() {
    let default = bits(Algorithm::Mrg32k3a, 1, 100_000);
    let mut generator = Generator::new(Algorithm::Mrg32k3a);
    generator.set_ordering(ORDERING_LEGACY);
    generator.set_seed(1);
    let mut legacy = vec![0; 100_000];
    generator.bits(&mut legacy).expect("pseudorandom numbers have no dimensions");
    assert_eq!(default[..4096], legacy[..4096]);
    assert_eq!(default[81_920], legacy[4096]);
}

/// Panics unless numbers between 0 and 1 are evenly spread: the largest distance of the sorted numbers from their ranks.
#[track_caller]
fn is_even(numbers: &mut [f64], limit: f64) {
    numbers.sort_by(f64::total_cmp);
    let count = numbers.len() as f64;
    let distance =
        numbers.iter().enumerate().map(|(i, x)| (x - (i as f64 + 0.5) / count).abs()).fold(0.0, f64::max);
    assert!(distance * count.sqrt() < limit, "{}", distance * count.sqrt());
}

/// Share of normal numbers below one.
fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

#[test]
fn numbers_have_their_distributions() {
    const COUNT: usize = 200_000;
    let quasi = [(false, false), (false, true), (true, false), (true, true)];
    let quasi = quasi.map(|(is_wide, is_scrambled)| Algorithm::Sobol { is_wide, is_scrambled });
    for algorithm in PSEUDO.into_iter().chain(quasi) {
        let mut generator = Generator::new(algorithm);
        let (mut floats, mut doubles) = (vec![0.0; COUNT], vec![0.0; COUNT]);
        // A distance of 2 has a probability of 0.0007; seeds are fixed.
        generator.uniform(&mut floats).expect("the length fits");
        assert!(floats.iter().all(|x| *x > 0.0 && *x <= 1.0));
        is_even(&mut floats.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), 2.0);
        generator.uniform_double(&mut doubles).expect("the length fits");
        assert!(doubles.iter().all(|x| *x > 0.0 && *x <= 1.0));
        is_even(&mut doubles, 2.0);
        generator.normal(&mut floats, |x| 3.0 + 2.0 * x).expect("the length fits");
        is_even(&mut floats.iter().map(|x| below((f64::from(*x) - 3.0) / 2.0)).collect::<Vec<_>>(), 2.0);
        generator.normal_double(&mut doubles, |x| x).expect("the length fits");
        is_even(&mut doubles.iter().map(|x| below(*x)).collect::<Vec<_>>(), 2.0);
        // Neighbours do not depend on each other.
        if !algorithm.is_quasi() {
            generator.normal_double(&mut doubles, |x| x).expect("the length fits");
            let product: f64 = doubles.windows(2).map(|pair| pair[0] * pair[1]).sum();
            assert!((product / COUNT as f64).abs() < 4.0 / (COUNT as f64).sqrt(), "{algorithm:?}: {product}");
        }
        for mean in [0.3, 5.0, 70.0, 1999.0, 3000.0] {
            let distribution = DiscreteDistribution::poisson(mean);
            let mut values = vec![0; COUNT];
            generator.discrete(&mut values, &distribution).expect("the length fits");
            let average = values.iter().map(|value| f64::from(*value)).sum::<f64>() / COUNT as f64;
            assert!(
                (average - mean).abs() < 4.0 * (mean / COUNT as f64).sqrt() + 0.001 * mean,
                "{average} for {mean}"
            );
            let variance =
                values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / COUNT as f64;
            assert!(
                (variance / mean - 1.0).abs() < 0.03 + 1.0 / mean / (COUNT as f64).sqrt() * 4.0,
                "{variance} for {mean}"
            );
            // Frequencies of values: chi-square over those that are expected 20 times and more.
            if mean < 100.0 {
                let mut counts = vec![0.0; 400];
                values.iter().for_each(|value| counts[*value as usize] += 1.0);
                let mut probability = (-mean).exp();
                let (mut chi_square, mut terms) = (0.0, 0.0);
                for (value, count) in counts.iter().enumerate() {
                    let expected: f64 = probability * COUNT as f64;
                    if expected > 20.0 {
                        chi_square += (count - expected).powi(2) / expected;
                        terms += 1.0;
                    }
                    probability *= mean / (value as f64 + 1.0);
                }
                assert!(
                    chi_square < terms + 5.0 * (2.0_f64 * terms).sqrt(),
                    "{algorithm:?}, {mean}: {chi_square} of {terms}"
                );
            }
        }
    }
}

#[test]
fn normal_shares_are_the_inverse_of_their_integral() {
    for exponent in 1..50 {
        for factor in [1.0, 1.3, 1.9] {
            let p = factor * 0.5_f64.powi(exponent);
            let x = distributions::normal_quantile(p);
            assert!((below(x) / p - 1.0).abs() < 1e-13, "{p}");
            if exponent < 20 {
                assert!((distributions::normal_quantile(1.0 - p) + x).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn sobol_points_are_even_in_each_dimension() {
    // 1, 1/2, 3/4, 1/4 in the order of Gray codes.
    let mut first = Vec::new();
    sobol::points(0, false, 0, 6, |point| first.push((point >> 32) as u32));
    assert_eq!(first, [0, 2_147_483_648, 3_221_225_472, 1_073_741_824, 1_610_612_736, 3_758_096_384]);
    for dimension in [0, 1, 2, 500, 999, 1000, 19_999] {
        for is_scrambled in [false, true] {
            // Each interval of 1/256 has one of 256 points, wherever an aligned run begins.
            let mut seen = [0; 256];
            sobol::points(dimension, is_scrambled, 512, 256, |point| seen[(point >> 56) as usize] += 1);
            assert_eq!(seen, [1; 256], "{dimension}");
            // Points of a later call follow those of the first.
            let (mut whole, mut part) = (Vec::new(), Vec::new());
            sobol::points(dimension, is_scrambled, 0, 100, |point| whole.push(point));
            sobol::points(dimension, is_scrambled, 37, 63, |point| part.push(point));
            assert_eq!(whole[37..], part);
        }
    }
    // Two dimensions: each of 16 by 16 squares has one of 256 points in the first pairs of the table.
    for pair in [(0, 1), (1, 2)] {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        sobol::points(pair.0, false, 0, 256, |point| x.push(point >> 60));
        sobol::points(pair.1, false, 0, 256, |point| y.push(point >> 60));
        let squares: std::collections::BTreeSet<(u64, u64)> = x.into_iter().zip(y).collect();
        assert!(squares.len() >= 128, "{}", squares.len());
    }
}

#[test]
fn lengths_that_do_not_fit_are_errors() {
    let mut quasi = Generator::new(Algorithm::Sobol { is_wide: false, is_scrambled: false });
    quasi.set_dimensions(3);
    assert!(quasi.bits(&mut [0; 10]).is_err());
    assert!(quasi.bits(&mut [0; 9]).is_ok());
    assert!(quasi.normal(&mut [0.0; 9], |x| x).is_ok());
    assert!(Generator::new(Algorithm::Xorwow).normal(&mut [0.0; 3], |x| x).is_err());
}
