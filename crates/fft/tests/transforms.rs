//! Transforms against their definition.

use heddle_fft::sequence::{Direction, SequencePlan};
use heddle_fft::view::SequencesView;
use heddle_fft::{ArrayLayout, ArrayTransform, FftReal, TransformKind, factors::root};

/// Returns numbers between -1 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Exact in single precision.
        (state >> 43) as f64 / f64::from(1 << 20) - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn complexes(count: usize, seed: u64) -> Vec<[f64; 2]> {
    numbers(2 * count, seed).chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// Sum of products in about twice the precision.
#[derive(Default)]
struct ExactSum {
    sum: f64,
    rest: f64,
}

impl ExactSum {
    fn add(&mut self, a: f64, b: f64) {
        let product = a * b;
        let sum = self.sum + product;
        let part = sum - self.sum;
        self.rest += (self.sum - (sum - part)) + (product - part) + a.mul_add(b, -product);
        self.sum = sum;
    }
}

/// Returns the transform by its definition.
fn by_definition(input: &[[f64; 2]], direction: Direction) -> Vec<[f64; 2]> {
    let size = input.len();
    let roots: Vec<(f64, f64)> = (0..size).map(|k| root(k as u64, size as u64)).collect();
    let sign = if direction == Direction::Forward { 1.0 } else { -1.0 };
    (0..size)
        .map(|k| {
            let (mut re, mut im) = (ExactSum::default(), ExactSum::default());
            for (j, value) in input.iter().enumerate() {
                let (cos, sin) = roots[j * k % size];
                let sin = sign * sin;
                re.add(value[0], cos);
                re.add(-value[1], sin);
                im.add(value[0], sin);
                im.add(value[1], cos);
            }
            [re.sum + re.rest, im.sum + im.rest]
        })
        .collect()
}

fn rounded<R: FftReal>(values: &[[f64; 2]]) -> Vec<[R; 2]> {
    values.iter().map(|value| value.map(R::from_f64)).collect()
}

/// Returns the distance of numbers from others, relative to those.
fn distance<R: FftReal>(found: &[[R; 2]], wanted: &[[f64; 2]]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let (mut error, mut norm) = (0.0, f64::MIN_POSITIVE);
    for (found, wanted) in found.iter().zip(wanted) {
        for part in 0..2 {
            error += (found[part].to_f64() - wanted[part]).powi(2);
            norm += wanted[part].powi(2);
        }
    }
    (error / norm).sqrt()
}

/// Errors that are allowed: those of some roundings at each level.
fn allowed<R: FftReal>(size: usize) -> f64 {
    let epsilon = if size_of::<R>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    epsilon
        * (1.0 + 0.5 * (size as f64).log2().sqrt())
        * if heddle_fft::factors::radices(size).is_some() { 1.0 } else { 3.0 }
}

fn transform<R: FftReal>(input: &[[R; 2]], direction: Direction) -> Vec<[R; 2]> {
    let plan = ArrayTransform::<R>::new(&[input.len()], TransformKind::Complex, 1);
    let mut output = vec![[R::ZERO; 2]; input.len()];
    let layout = ArrayLayout::embedded(&[input.len()], 1, 0);
    // SAFETY: the layouts are of the arrays.
    unsafe { plan.run(input.as_ptr().cast(), &layout, output.as_mut_ptr().cast(), &layout, direction) };
    output
}

fn check_complex<R: FftReal>(size: usize) {
    let input = complexes(size, size as u64);
    for direction in [Direction::Forward, Direction::Inverse] {
        let error = distance(&transform::<R>(&rounded(&input), direction), &by_definition(&input, direction));
        assert!(error <= allowed::<R>(size), "{size} {direction:?}: {error}");
    }
}

/// Checks all outputs of small sizes, and some of others: with sums in double precision, which are exact enough.
fn check_single(size: usize) {
    let input = complexes(size, size as u64);
    for direction in [Direction::Forward, Direction::Inverse] {
        let spectrum = transform::<f32>(&rounded(&input), direction);
        let outputs: Vec<usize> = (0..size).step_by(1 + size / 64).collect();
        let wanted: Vec<[f64; 2]> = outputs
            .iter()
            .map(|k| {
                let mut sum = [0.0; 2];
                for (j, [re, im]) in input.iter().enumerate() {
                    let (cos, mut sin) = root((j * k) as u64, size as u64);
                    if direction == Direction::Inverse {
                        sin = -sin;
                    }
                    sum = [sum[0] + re * cos - im * sin, sum[1] + re * sin + im * cos];
                }
                sum
            })
            .collect();
        let found: Vec<[f32; 2]> = outputs.iter().map(|&k| spectrum[k]).collect();
        let error = distance(&found, &wanted);
        assert!(error <= 2.0 * allowed::<f32>(size), "{size} {direction:?}: {error}");
    }
}

#[test]
fn all_sizes_are_as_defined() {
    for size in 1..=1000 {
        check_single(size);
    }
    for size in (1..=1000).step_by(7).chain([1, 2, 3, 4, 5, 6, 7, 8, 16, 31, 32, 37, 961, 997]) {
        check_complex::<f64>(size);
    }
}

/// Transforms a batch of one-dimensional arrays with strides, in place or not, and compares all of the memory.
fn check_batch<R: FftReal>(size: usize, count: usize, stride: usize, gap: usize, is_in_place: bool) {
    let inputs: Vec<Vec<[f64; 2]>> = (0..count).map(|i| complexes(size, (i + 1) as u64)).collect();
    let array = size * stride + gap;
    let place = |lane: usize, element: usize| lane * array + element * stride;
    let mut memory = vec![[R::from_f64(7.0); 2]; count * array];
    for (lane, input) in inputs.iter().enumerate() {
        for (element, value) in rounded(input).into_iter().enumerate() {
            memory[place(lane, element)] = value;
        }
    }
    let layout = ArrayLayout::embedded(&[size], stride as isize, array as isize);
    let plan = ArrayTransform::<R>::new(&[size], TransformKind::Complex, count);
    let mut output = if is_in_place { memory.clone() } else { vec![[R::from_f64(7.0); 2]; count * array] };
    let source = if is_in_place { output.as_ptr() } else { memory.as_ptr() };
    // SAFETY: the layouts are of the arrays.
    unsafe { plan.run(source.cast(), &layout, output.as_mut_ptr().cast(), &layout, Direction::Forward) };
    let mut touched = vec![false; output.len()];
    for (lane, input) in inputs.iter().enumerate() {
        let found: Vec<[R; 2]> = (0..size).map(|element| output[place(lane, element)]).collect();
        (0..size).for_each(|element| touched[place(lane, element)] = true);
        let error = distance(&found, &by_definition(input, Direction::Forward));
        assert!(error <= allowed::<R>(size), "{size} {count} {stride} {gap}: {error}");
    }
    let others = output.iter().zip(touched).filter(|(_, touched)| !touched);
    assert!(
        others.into_iter().all(|(value, _)| *value == [R::from_f64(7.0); 2]),
        "{size} {count}: memory between"
    );
}

#[test]
fn batches_and_strides_leave_the_memory_between() {
    for size in [1, 3, 8, 12, 30, 37, 64, 100, 360] {
        for count in [1, 2, 7, 16, 17, 33] {
            for (stride, gap) in [(1, 0), (1, 3), (2, 1), (3, 0)] {
                check_batch::<f32>(size, count, stride, gap, false);
                check_batch::<f64>(size, count, stride, gap, true);
            }
        }
    }
}

/// Returns the transform of an array of three dimensions by its definition.
fn cube_by_definition(sizes: [usize; 3], input: &[[f64; 2]], direction: Direction) -> Vec<[f64; 2]> {
    let mut values = input.to_vec();
    let strides = [sizes[1] * sizes[2], sizes[2], 1];
    for dimension in 0..3 {
        for start in 0..values.len() {
            if (start / strides[dimension]).is_multiple_of(sizes[dimension]) {
                let at = |i: usize| start + i * strides[dimension];
                let sequence: Vec<[f64; 2]> = (0..sizes[dimension]).map(|i| values[at(i)]).collect();
                for (i, value) in by_definition(&sequence, direction).into_iter().enumerate() {
                    values[at(i)] = value;
                }
            }
        }
    }
    values
}

fn check_cube<R: FftReal>(sizes: [usize; 3]) {
    let [a, b, c] = sizes;
    let (count, half) = (a * b * c, c / 2 + 1);
    let input: Vec<[f64; 2]> = numbers(count, 5).into_iter().map(|re| [re, 0.0]).collect();
    let wanted = cube_by_definition(sizes, &input, Direction::Forward);
    let whole = ArrayLayout::embedded(&sizes, 1, 0);
    let halves = ArrayLayout::embedded(&[a, b, half], 1, 0);
    let padded = ArrayLayout::embedded(&[a, b, 2 * half], 1, 0);
    let given: Vec<[R; 2]> = rounded(&input);
    let mut output = vec![[R::ZERO; 2]; count];
    let plan = ArrayTransform::<R>::new(&sizes, TransformKind::Complex, 1);
    // SAFETY: the layouts are of the arrays.
    unsafe {
        plan.run(given.as_ptr().cast(), &whole, output.as_mut_ptr().cast(), &whole, Direction::Forward)
    };
    assert!(distance(&output, &wanted) <= 2.0 * allowed::<R>(count), "{sizes:?}");
    let reals: Vec<R> = given.iter().map(|value| value[0]).collect();
    let mut spectrum = vec![[R::ZERO; 2]; a * b * half];
    let plan = ArrayTransform::<R>::new(&sizes, TransformKind::RealToComplex, 1);
    // SAFETY: the layouts are of the arrays.
    unsafe { plan.run(reals.as_ptr(), &whole, spectrum.as_mut_ptr().cast(), &halves, Direction::Forward) };
    let wanted_half: Vec<[f64; 2]> = wanted.chunks(c).flat_map(|row| row[..half].to_vec()).collect();
    assert!(distance(&spectrum, &wanted_half) <= 2.0 * allowed::<R>(count), "{sizes:?} real");
    // In place: rows are padded.
    let mut in_place = vec![[R::ZERO; 2]; a * b * half];
    for (row, reals) in reals.chunks(c).enumerate() {
        for (i, value) in reals.iter().enumerate() {
            in_place[row * half + i / 2][i % 2] = *value;
        }
    }
    let pointer = in_place.as_mut_ptr().cast();
    // SAFETY: the layouts are of the array.
    unsafe { plan.run(pointer, &padded, pointer, &halves, Direction::Forward) };
    assert_eq!(in_place, spectrum, "{sizes:?} in place");
    let before = spectrum.clone();
    let back = ArrayTransform::<R>::new(&sizes, TransformKind::ComplexToReal, 1);
    let mut found = vec![R::ZERO; count];
    // SAFETY: the layouts are of the arrays.
    unsafe { back.run(spectrum.as_ptr().cast(), &halves, found.as_mut_ptr(), &whole, Direction::Inverse) };
    assert_eq!(before, spectrum, "the source stays");
    let found: Vec<[R; 2]> = found.into_iter().map(|value| [value, R::ZERO]).collect();
    let scaled: Vec<[f64; 2]> = input.iter().map(|value| [value[0] * count as f64, 0.0]).collect();
    assert!(distance(&found, &scaled) <= 4.0 * allowed::<R>(count), "{sizes:?} back");
    // SAFETY: the layouts are of the array.
    unsafe { back.run(pointer, &halves, pointer, &padded, Direction::Inverse) };
    let found: Vec<[R; 2]> =
        (0..count).map(|i| [in_place[i / c * half + i % c / 2][i % c % 2], R::ZERO]).collect();
    assert!(distance(&found, &scaled) <= 4.0 * allowed::<R>(count), "{sizes:?} back in place");
}

#[test]
fn real_and_complex_arrays_are_as_defined() {
    for size in (1..=130).chain([255, 256, 257, 360, 997, 1000, 1024]) {
        check_cube::<f32>([1, 1, size]);
        check_cube::<f64>([1, 1, size]);
    }
    for sizes in [[2, 3, 4], [5, 1, 9], [8, 16, 32], [1, 64, 64], [37, 3, 41], [1, 20, 18], [7, 40, 1]] {
        check_cube::<f32>(sizes);
        check_cube::<f64>(sizes);
    }
}

#[test]
fn large_sizes_agree_with_convolutions() {
    // A shift in one domain is a factor in the other, and one number is a wave.
    for size in [1 << 16, 1 << 17, 3 * 5 * 7 * 11 * 13, 65_537, 100_003] {
        let at = size / 3;
        let mut input = vec![[0.0; 2]; size];
        input[at] = [1.0, 0.5];
        let wave: Vec<[f64; 2]> = (0..size)
            .map(|k| {
                let (re, im) = root((at * k) as u64, size as u64);
                [re - 0.5 * im, im + 0.5 * re]
            })
            .collect();
        let error = distance(&transform::<f32>(&rounded(&input), Direction::Forward), &wave);
        assert!(error <= allowed::<f32>(size), "{size}: {error}");
        let input = complexes(size, 9);
        let spectrum = transform::<f64>(&input, Direction::Forward);
        let scaled: Vec<[f64; 2]> = input.iter().map(|value| value.map(|part| part * size as f64)).collect();
        let error = distance(&transform::<f64>(&spectrum, Direction::Inverse), &scaled);
        assert!(error <= 2.0 * allowed::<f64>(size), "{size} back: {error}");
        let narrow = distance(&transform::<f32>(&rounded(&input), Direction::Forward), &spectrum);
        assert!(narrow <= allowed::<f32>(size), "{size} narrow: {narrow}");
    }
}

#[test]
fn a_plan_of_one_sequence_takes_strides_of_both_signs() {
    let input = complexes(48, 3);
    let mut memory: Vec<[f64; 2]> = input.iter().rev().copied().collect();
    let mut output = vec![[0.0; 2]; 48];
    let plan = SequencePlan::<f64>::new(48);
    let source = SequencesView::complex(memory[47..].as_mut_ptr().cast::<f64>(), -1, 0);
    let target = SequencesView::complex(output.as_mut_ptr().cast::<f64>(), 1, 0);
    // SAFETY: the views are of the arrays.
    unsafe { plan.transform_one(source, target, Direction::Forward) };
    assert!(distance(&output, &by_definition(&input, Direction::Forward)) <= allowed::<f64>(48));
}
