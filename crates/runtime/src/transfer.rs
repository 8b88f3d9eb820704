//! Copies and fills of memory. All threads of the process share large ones: one thread alone does not use the memory's bandwidth, and the
//! pages of a new buffer are backed by the thread that first writes them.

use crate::pool::{JobShare, Pool};

/// Number of bytes from which on threads share the work: less takes about as long as to wake them.
const SHARED: usize = 4 << 20;
/// Parts per thread, so that a thread that starts late does less.
const PARTS: usize = 2;
/// Parts begin at pages.
const PAGE: usize = 4096;
/// Bytes of the block of patterns that a fill copies: it stays in the first-level cache.
const FILL_BLOCK: usize = 4096;

/// Number of bytes up to which a block is not worth its memory.
const SHORT: usize = 64;

/// Start of memory that threads write in parts, or read.
#[derive(Clone, Copy)]
struct Start(*mut u8);

// SAFETY: an address; who calls a function of this module promises what is done with it.
unsafe impl Send for Start {}
// SAFETY: as above.
unsafe impl Sync for Start {}

impl Start {
    fn plus(self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

/// Does the work for all parts of so many bytes, given as offset and number of bytes.
fn in_parts(bytes: usize, work: impl Fn(usize, usize) + Send + Sync + 'static) {
    if bytes < SHARED || Pool::of_process().threads() == 1 {
        return work(0, bytes);
    }
    let pool = Pool::of_process();
    let part = bytes.div_ceil(pool.threads() * PARTS).next_multiple_of(PAGE);
    let share = JobShare { threads: pool.threads(), grain: 1, is_ordered: false };
    pool.run(bytes.div_ceil(part) as u64, share, move |numbers| {
        for start in numbers.map(|number| number as usize * part) {
            work(start, part.min(bytes - start));
        }
    });
}

/// Copies bytes; the two pieces may overlap.
///
/// # Safety
/// Both pieces are mapped memory of at least so many bytes.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes < SHARED || from.addr().abs_diff(to.addr()) < bytes {
        // SAFETY: the caller's promise.
        return unsafe { std::ptr::copy(from, to, bytes) };
    }
    let (from, to) = (Start(from.cast_mut()), Start(to));
    in_parts(bytes, move |start, bytes| {
        // SAFETY: the caller's promise; parts of pieces that do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.plus(start).cast_const(), to.plus(start), bytes) }
    });
}

/// Repeats a pattern over bytes.
///
/// # Safety
/// The piece is mapped memory of at least so many bytes.
pub unsafe fn fill(to: *mut u8, pattern: &[u8], bytes: usize) {
    let Some((&first, rest)) = pattern.split_first() else { return };
    let to = Start(to);
    if rest.iter().all(|&byte| byte == first) {
        // SAFETY: the caller's promise; a part of the piece.
        return in_parts(bytes, move |start, bytes| unsafe { to.plus(start).write_bytes(first, bytes) });
    }
    if bytes <= SHORT {
        for at in 0..bytes {
            // SAFETY: the caller's promise.
            unsafe { to.plus(at).write(pattern[at % pattern.len()]) };
        }
        return;
    }
    // A part may begin within a pattern, so there is one more.
    let whole = pattern.len() * (FILL_BLOCK / pattern.len()).max(1);
    let length = pattern.len();
    let block: Vec<u8> = pattern.iter().copied().cycle().take(whole + length).collect();
    in_parts(bytes, move |start, bytes| {
        let phase = start % length;
        for at in (0..bytes).step_by(whole) {
            let some = whole.min(bytes - at);
            // SAFETY: the caller's promise; a part of the piece, and of the block from less than a pattern on.
            unsafe { std::ptr::copy_nonoverlapping(block[phase..].as_ptr(), to.plus(start + at), some) };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_whole() {
        for bytes in [0, 1, 1000, SHARED - 1, SHARED, 5 * SHARED + 12_345] {
            let from: Vec<u8> = (0..bytes).map(|it| (it % 251) as u8).collect();
            let mut to = vec![255; bytes + 1];
            // SAFETY: vectors of so many bytes.
            unsafe { copy(from.as_ptr(), to.as_mut_ptr(), bytes) };
            assert!(to[..bytes] == from && to[bytes] == 255, "{bytes}");
            for pattern in
                [&[7u8] as &[u8], &[1, 2, 3, 4], &[9; 16], &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]]
            {
                // SAFETY: as above.
                unsafe { fill(to.as_mut_ptr(), pattern, bytes) };
                let is_filled = |(at, &byte): (usize, &u8)| byte == pattern[at % pattern.len()];
                assert!(
                    to[..bytes].iter().enumerate().all(is_filled) && to[bytes] == 255,
                    "{bytes} {pattern:?}"
                );
            }
        }
    }

    #[test]
    fn overlapping_pieces_are_moved() {
        let mut bytes: Vec<u8> = (0..2 * SHARED).map(|it| (it / 3 % 256) as u8).collect();
        let wanted: Vec<u8> = bytes[..SHARED].to_vec();
        // SAFETY: both pieces are in the vector.
        unsafe { copy(bytes.as_ptr(), bytes.as_mut_ptr().add(5000), SHARED) };
        assert!(bytes[5000..5000 + SHARED] == wanted);
    }
}
