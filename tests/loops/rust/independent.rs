// Loops of Rust, marked by a call. Without the plugin the call does nothing.
#[cfg(heddle)]
unsafe extern "C" {
    safe fn heddle_independent();
}
#[cfg(not(heddle))]
fn heddle_independent() {}

unsafe fn slices<'a, T, U>(out: *mut T, from: *const U, count: usize) -> (&'a mut [T], &'a [U]) {
    unsafe { (std::slice::from_raw_parts_mut(out, count), std::slice::from_raw_parts(from, count)) }
}

/// How many steps each number takes to 1.
#[cfg_attr(heddle, unsafe(no_mangle))]
pub unsafe extern "C" fn collatz(out: *mut u32, from: *const u32, count: usize) {
    let (out, from) = unsafe { slices(out, from, count) };
    for (out, &from) in out.iter_mut().zip(from) {
        heddle_independent();
        let (mut x, mut steps) = (from, 0);
        while x > 1 {
            x = if x & 1 == 1 { x.wrapping_mul(3).wrapping_add(1) } else { x / 2 };
            steps += 1;
        }
        *out = steps;
    }
}

/// In a closure, and summed up.
#[cfg_attr(heddle, unsafe(no_mangle))]
pub unsafe extern "C" fn roots(out: *mut f32, from: *const f32, count: usize) -> u64 {
    let (out, from) = unsafe { slices(out, from, count) };
    let mut above = 0;
    out.iter_mut().zip(from).for_each(|(out, &from)| {
        heddle_independent();
        *out = from.sqrt() * 0.5;
        above += u64::from(from > 2.0);
    });
    above
}

/// Indices that are checked once, before the loop.
#[cfg_attr(heddle, unsafe(no_mangle))]
pub unsafe extern "C" fn powers(out: *mut u32, from: *const u32, count: usize) {
    let (out, from) = unsafe { slices(out, from, count) };
    for i in 0..count {
        heddle_independent();
        let mut power = 1u32;
        for _ in 0..from[i] % 7 {
            power = power.wrapping_mul(from[i]);
        }
        out[i] = power;
    }
}

/// A number from the outside ends the program in some iteration, which comes before the next ones.
#[cfg_attr(heddle, unsafe(no_mangle))]
pub unsafe extern "C" fn checked(out: *mut u32, from: *const u32, count: usize) {
    let (out, from) = unsafe { slices(out, from, count) };
    for i in 0..count {
        heddle_independent();
        out[i] = from[from[i] as usize % 80];
    }
}
