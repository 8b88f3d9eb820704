//! Kernels that each lane runs.

/// Writes the mean of three neighbours. An out-of-range index panics, in its lane alone.
///
/// # Safety
/// `from` points to `len` numbers, and `to` to space for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smooth(from: *const f32, len: usize, to: *mut f32, at: u32) {
    // SAFETY: as the caller says.
    let from = unsafe { std::slice::from_raw_parts(from, len) };
    let at = at as usize;
    // SAFETY: as the caller says.
    unsafe { *to = (from[at] + from[at + 1] + from[at + 2]) / 3.0 };
}

/// Writes the number of Collatz steps from a number to 1; 0 on overflow.
///
/// # Safety
/// `start` points to a number, and `steps` to space for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn collatz(start: *const u32, steps: *mut u32) {
    // SAFETY: as the caller says.
    let mut number = unsafe { *start }.max(1);
    let mut count = 0;
    while number != 1 {
        number = match number % 2 {
            0 => number / 2,
            _ => match number.checked_mul(3).and_then(|tripled| tripled.checked_add(1)) {
                Some(next) => next,
                None => {
                    count = 0;
                    break;
                }
            },
        };
        count += 1;
    }
    // SAFETY: as the caller says.
    unsafe { *steps = count };
}
