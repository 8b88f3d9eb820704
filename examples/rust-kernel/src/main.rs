//! Calls the wide forms of the kernels, of eight lanes on AVX2, and compares them with the kernels themselves. With an
//! argument, a lane asks for what is not there.

mod kernel;

// Vectors do not go through Rust's `extern`; lines of addresses do: lane 0's comes, the others are 4 bytes apart.
unsafe extern "C" {
    fn _ZGVdN8uul4l_smooth(from: *const f32, len: usize, to: *mut f32, at: u32);
    fn _ZGVdN8l4l4_collatz(start: *const u32, steps: *mut u32);
}

fn main() {
    assert!(is_x86_feature_detected!("avx2"), "this machine has no AVX2");
    let numbers: Vec<f32> = (0..100).map(|number| (number * number % 37) as f32).collect();
    let starts: Vec<u32> = (0..100).map(|number| number * number * 7919).collect();
    let (mut means, mut steps) = ([0.0; 104], [0; 104]);
    let end = if std::env::args().len() > 1 { 104 } else { 96 };
    for at in (0..end).step_by(8) {
        // SAFETY: the machine has the registers, and the pointers are valid for all eight lanes.
        unsafe { _ZGVdN8uul4l_smooth(numbers.as_ptr(), numbers.len(), means[at..].as_mut_ptr(), at as u32) };
    }
    for at in (0..96).step_by(8) {
        // SAFETY: the same.
        unsafe { _ZGVdN8l4l4_collatz(starts[at..].as_ptr(), steps[at..].as_mut_ptr()) };
    }
    for at in 0..96 {
        let (mut mean, mut count) = (0.0, 0);
        // SAFETY: a lane by itself.
        unsafe {
            kernel::smooth(numbers.as_ptr(), numbers.len(), &mut mean, at as u32);
            kernel::collatz(&starts[at], &mut count);
        }
        assert_eq!((means[at], steps[at]), (mean, count), "lane {at}");
    }
    println!("{:?} {:?}", &means[..4], &steps[..4]);
}
