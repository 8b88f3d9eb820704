//! Host functions called by kernels: output, assertions, memory, waiting for other blocks.
//!
//! Kernels call them per lane. The application promises that their pointers are valid, as for all accesses of a kernel.

use crate::core::error::say;
use heddle_ptx::lower::{NO_ARRIVAL, NO_FUNCTION};
use heddle_runtime::faults::{KernelFault, fail, outside_kernel};
use std::ffi::{CStr, c_char, c_void};
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns all host functions by their names in PTX.
pub(crate) fn functions() -> [(&'static str, usize); 7] {
    let wait: unsafe extern "C" fn(*const AtomicU32, u32) = heddle_wait;
    let print: unsafe extern "C" fn(*const c_char, *const u8) -> i32 = print;
    let assert: unsafe extern "C" fn(*const c_char, *const c_char, u32, *const c_char, usize) = assert_fail;
    let allocate: extern "C" fn(usize) -> *mut c_void = allocate;
    let free: unsafe extern "C" fn(*mut c_void) = free;
    let no_function: extern "C" fn(u64) = no_function;
    let no_arrival: extern "C" fn(u32) = no_arrival;
    [
        ("heddle_wait", wait as usize),
        ("vprintf", print as usize),
        ("__assertfail", assert as usize),
        ("malloc", allocate as usize),
        ("free", free as usize),
        (NO_FUNCTION, no_function as usize),
        (NO_ARRIVAL, no_arrival as usize),
    ]
}

/// Waits until a counter changes.
///
/// # Safety
/// The number is there.
unsafe extern "C" fn heddle_wait(number: *const AtomicU32, seen: u32) {
    // SAFETY: the caller's promise.
    let number = unsafe { &*number };
    while number.load(Ordering::Acquire) == seen {
        std::thread::yield_now();
    }
}

/// # Safety
/// The format is a text, and the values are those that it asks for, each at a multiple of its size.
unsafe extern "C" fn print(format: *const c_char, values: *const u8) -> i32 {
    if format.is_null() {
        return -1;
    }
    outside_kernel(|| {
        // SAFETY: the caller's promise.
        let (out, count) = unsafe { formatted(CStr::from_ptr(format).to_bytes(), values) };
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(&out).and_then(|()| stdout.flush()) {
            Ok(()) => count,
            Err(_) => -1,
        }
    })
}

extern "C" fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: any size may be requested.
    outside_kernel(|| unsafe { libc::malloc(bytes) })
}

/// # Safety
/// The memory is from [`allocate`], and is not used any more; or there is none.
unsafe extern "C" fn free(start: *mut c_void) {
    // SAFETY: the caller's promise.
    outside_kernel(|| unsafe { libc::free(start) });
}

/// Formats values and returns the text and the number of values consumed.
///
/// # Safety
/// As for [`print`].
unsafe fn formatted(format: &[u8], values: *const u8) -> (Vec<u8>, i32) {
    let (mut out, mut count, mut offset, mut at) = (Vec::new(), 0, 0usize, 0usize);
    while at < format.len() {
        if format[at] != b'%' {
            out.push(format[at]);
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < format.len() && b"-+ #0123456789.".contains(&format[at]) {
            at += 1;
        }
        let length = at;
        while at < format.len() && b"hlLqjzt".contains(&format[at]) {
            at += 1;
        }
        let Some(&kind) = format.get(at) else { break };
        let long = format[length..at].iter().any(|letter| b"lqjzt".contains(letter));
        at += 1;
        if kind == b'%' {
            out.push(b'%');
            continue;
        }
        let size =
            if long || matches!(kind, b's' | b'p' | b'e' | b'f' | b'g' | b'a' | b'E' | b'F' | b'G' | b'A') {
                8
            } else {
                4
            };
        offset = offset.next_multiple_of(size);
        // The value's width overrides the format's length modifier.
        let mut spec = format[start..length].to_vec();
        spec.extend(if size == 8 && b"diouxX".contains(&kind) { &b"ll"[..] } else { b"" });
        spec.extend([kind, 0]);
        let spec: *const c_char = spec.as_ptr().cast();
        let mut piece = [0u8; 1024];
        let (to, room) = (piece.as_mut_ptr().cast::<c_char>(), piece.len());
        // SAFETY: the value is there, by the caller's promise; the format asks for one value of this type.
        let written = unsafe {
            let value = values.add(offset);
            match kind {
                b'e' | b'f' | b'g' | b'a' | b'E' | b'F' | b'G' | b'A' => {
                    libc::snprintf(to, room, spec, value.cast::<f64>().read_unaligned())
                }
                b's' | b'p' => libc::snprintf(to, room, spec, value.cast::<*const c_void>().read_unaligned()),
                b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' if size == 8 => {
                    libc::snprintf(to, room, spec, value.cast::<u64>().read_unaligned())
                }
                b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' => {
                    libc::snprintf(to, room, spec, value.cast::<u32>().read_unaligned())
                }
                _ => -1,
            }
        };
        if let Ok(written) = usize::try_from(written) {
            out.extend_from_slice(&piece[..written.min(room - 1)]);
        }
        offset += size;
        count += 1;
    }
    (out, count)
}

/// # Safety
/// The pointers lead to texts.
unsafe extern "C" fn assert_fail(
    message: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    _character: usize,
) {
    outside_kernel(|| {
        let text = |text: *const c_char| match text.is_null() {
            true => "?".into(),
            // SAFETY: the caller's promise.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy(),
        };
        say(format_args!("{}:{line}: {}: assertion `{}` failed", text(file), text(function), text(message)));
    });
    fail(KernelFault::Assertion);
}

/// Ends a launch that calls through an address of no function.
extern "C" fn no_function(address: u64) {
    outside_kernel(|| {
        say(format_args!(
            "a kernel calls through {address:#x}: this is the address of no function with the prototype of the call"
        ));
    });
    fail(KernelFault::NoFunction);
}

/// Ends a launch whose threads wait at a barrier that others never reach.
extern "C" fn no_arrival(barrier: u32) {
    outside_kernel(|| {
        say(format_args!(
            "threads of a block wait at barrier {barrier}, and no other thread of the block can go on to reach it"
        ));
    });
    fail(KernelFault::NoArrival);
}

#[cfg(test)]
mod tests {
    use super::formatted;

    #[test]
    fn formats_take_values_one_behind_the_other() {
        let mut values = Vec::new();
        values.extend((-7i32).to_le_bytes());
        values.extend([0; 4]);
        values.extend(2.5f64.to_le_bytes());
        values.extend(9i32.to_le_bytes());
        values.extend([0; 4]);
        values.extend(u64::MAX.to_le_bytes());
        // SAFETY: the values are those that the format asks for.
        let (out, count) = unsafe { formatted(b"%d %6.2f|%c 100%% %llx\n", values.as_ptr()) };
        assert_eq!(String::from_utf8_lossy(&out), "-7   2.50|\t 100% ffffffffffffffff\n");
        assert_eq!(count, 4);
    }
}
