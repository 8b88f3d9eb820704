//! Philox-4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

/// Sequences that outputs are dealt to, four at a time.
pub const SEQUENCES: u64 = 65_536;

/// Returns the four outputs of a counter, of a sequence of a seed.
#[inline(always)]
pub fn block(seed: u64, sequence: u64, counter: u64) -> [u32; 4] {
    let mut c = [counter as u32, (counter >> 32) as u32, sequence as u32, (sequence >> 32) as u32];
    let mut key = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let p0 = 0xd251_1f53 * u64::from(c[0]);
        let p1 = 0xcd9e_8d57 * u64::from(c[2]);
        c = [(p1 >> 32) as u32 ^ c[1] ^ key[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ key[1], p0 as u32];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    c
}
