//! MT19937: Matsumoto & Nishimura, "Mersenne Twister", TOMACS 1998, as one sequence.

const N: usize = 624;
const M: usize = 397;

/// The sequence of a seed.
#[allow(missing_debug_implementations)]
pub struct Mt19937 {
    state: Vec<u32>,
    /// Outputs before the next one.
    next: u64,
    seed: u32,
}

impl Mt19937 {
    /// Returns the sequence of a seed, of which the low 32 bits count.
    pub fn new(seed: u64) -> Mt19937 {
        let seed = seed as u32;
        let mut state = vec![seed];
        for i in 1..N as u32 {
            let last = state[i as usize - 1];
            state.push(1_812_433_253_u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i));
        }
        Mt19937 { state, next: 0, seed }
    }

    /// Returns an output; earlier ones than the last begin again.
    pub fn output(&mut self, index: u64) -> u32 {
        if index < self.next.saturating_sub(1) {
            *self = Mt19937::new(self.seed.into());
        }
        let mut output = 0;
        while self.next <= index {
            let at = (self.next % N as u64) as usize;
            let bits = (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % N] & 0x7fff_ffff);
            let odd = if bits & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[at] = self.state[(at + M) % N] ^ (bits >> 1) ^ odd;
            output = self.state[at];
            self.next += 1;
        }
        // The last output, if it is wanted again.
        if output == 0 {
            output = self.state[(index % N as u64) as usize];
        }
        let output = output ^ (output >> 11);
        let output = output ^ ((output << 7) & 0x9d2c_5680);
        let output = output ^ ((output << 15) & 0xefc6_0000);
        output ^ (output >> 18)
    }
}
