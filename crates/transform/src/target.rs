//! What a machine's vector instructions cost, as far as passes choose by it.

/// What an operation on a vector costs, in tenths of a plain operation on one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// For each register that the vector fills.
    pub register: u32,
    /// For each lane.
    pub lane: u32,
}

impl Cost {
    const fn of_registers(register: u32) -> Cost {
        Cost { register, lane: 0 }
    }

    const fn of_lanes(lane: u32) -> Cost {
        Cost { register: 0, lane }
    }
}

/// What loads or stores of a vector cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCosts {
    /// Side by side, all lanes.
    pub whole: Cost,
    /// Side by side, the lanes of a mask.
    pub masked: Cost,
    /// Each lane at an address of its own, all lanes.
    pub scattered: Cost,
    /// Each lane at an address of its own, the lanes of a mask.
    pub masked_scattered: Cost,
}

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Its name in options.
    pub name: &'static str,
    /// Bits of a vector register.
    pub vector_bits: u32,
    /// Loads.
    pub load: AccessCosts,
    /// Stores.
    pub store: AccessCosts,
    /// Lanes of two vectors picked by constant indices.
    pub permute: Cost,
    /// A branch that goes the same way as last time, with what asks for it.
    pub branch: u32,
}

impl Target {
    /// x86-64-v4: masks of bits, gathers and scatters in hardware, any permutation in one instruction.
    pub const AVX512: Target = Target {
        name: "avx512",
        vector_bits: 512,
        load: AccessCosts {
            whole: Cost::of_registers(5),
            masked: Cost::of_registers(8),
            scattered: Cost { register: 30, lane: 10 },
            masked_scattered: Cost { register: 30, lane: 10 },
        },
        store: AccessCosts {
            whole: Cost::of_registers(10),
            masked: Cost::of_registers(12),
            scattered: Cost { register: 40, lane: 12 },
            masked_scattered: Cost { register: 40, lane: 12 },
        },
        permute: Cost::of_registers(10),
        branch: 20,
    };

    /// x86-64-v3: gathers in hardware, masked accesses, no scatters.
    pub const AVX2: Target = Target {
        name: "avx2",
        vector_bits: 256,
        load: AccessCosts {
            whole: Cost::of_registers(5),
            masked: Cost::of_registers(10),
            scattered: Cost { register: 30, lane: 15 },
            masked_scattered: Cost { register: 30, lane: 15 },
        },
        store: AccessCosts {
            whole: Cost::of_registers(10),
            masked: Cost::of_registers(20),
            scattered: Cost::of_lanes(20),
            masked_scattered: Cost::of_lanes(40),
        },
        permute: Cost::of_registers(15),
        branch: 20,
    };

    /// x86-64-v2: nothing but whole accesses; the rest is done lane by lane.
    pub const SSE42: Target = Target {
        name: "sse4.2",
        vector_bits: 128,
        load: AccessCosts {
            whole: Cost::of_registers(5),
            masked: Cost::of_lanes(30),
            scattered: Cost::of_lanes(20),
            masked_scattered: Cost::of_lanes(40),
        },
        store: AccessCosts {
            whole: Cost::of_registers(10),
            masked: Cost::of_lanes(30),
            scattered: Cost::of_lanes(20),
            masked_scattered: Cost::of_lanes(40),
        },
        permute: Cost::of_registers(10),
        branch: 20,
    };

    /// AArch64's vectors of 128 bits.
    pub const NEON: Target = Target {
        name: "neon",
        vector_bits: 128,
        load: AccessCosts {
            whole: Cost::of_registers(5),
            masked: Cost::of_lanes(30),
            scattered: Cost::of_lanes(15),
            masked_scattered: Cost::of_lanes(35),
        },
        store: AccessCosts {
            whole: Cost::of_registers(10),
            masked: Cost::of_lanes(30),
            scattered: Cost::of_lanes(15),
            masked_scattered: Cost::of_lanes(35),
        },
        permute: Cost::of_registers(10),
        branch: 20,
    };

    /// All of them.
    pub const ALL: [Target; 4] = [Target::AVX512, Target::AVX2, Target::SSE42, Target::NEON];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name == name)
    }

    /// A machine whose vector registers have so many bits, of x86 or not.
    pub fn of_registers(bits: u32, is_x86: bool) -> Target {
        match bits {
            _ if !is_x86 => Target::NEON,
            512.. => Target::AVX512,
            256..512 => Target::AVX2,
            _ => Target::SSE42,
        }
    }

    /// What an operation on a vector of this many bits costs.
    pub fn cost(&self, cost: Cost, lanes: u32, bits: u32) -> u32 {
        cost.register * bits.div_ceil(self.vector_bits) + cost.lane * lanes
    }
}

impl Default for Target {
    /// What most machines have.
    fn default() -> Target {
        Target::AVX2
    }
}
