//! What a machine's vector instructions cost and how long they take, as far as passes choose by it.

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

/// How long an operation takes, in tenths of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Time {
    /// Until its result is there.
    pub latency: u32,
    /// For which it keeps the machine busy; of vectors, for each register.
    pub busy: u32,
}

const fn time(latency: u32, busy: u32) -> Time {
    Time { latency, busy }
}

/// How long operations take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// On scalars.
    pub scalar: Time,
    /// Of integers, comparisons, blends, masks.
    pub plain: Time,
    /// Additions and multiplications of floats, conversions.
    pub float: Time,
    /// Multiplications of integers.
    pub multiply: Time,
    /// Divisions and roots of floats.
    pub divide: Time,
    /// Loads of whole vectors.
    pub load: Time,
}

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Its name in options.
    pub name: &'static str,
    /// Bits of a vector register.
    pub vector_bits: u32,
    /// How many vector registers there are.
    pub registers: u32,
    /// How many registers for masks there are; without one, masks are in vector registers.
    pub mask_registers: u32,
    /// How long operations take.
    pub times: Times,
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
        registers: 32,
        mask_registers: 8,
        times: Times {
            scalar: time(10, 2),
            plain: time(10, 5),
            float: time(40, 5),
            multiply: time(100, 10),
            divide: time(170, 100),
            load: time(70, 5),
        },
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
        registers: 16,
        mask_registers: 0,
        times: Times {
            scalar: time(10, 2),
            plain: time(10, 4),
            float: time(40, 5),
            multiply: time(100, 10),
            divide: time(110, 50),
            load: time(70, 4),
        },
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
        registers: 16,
        mask_registers: 0,
        times: Times {
            scalar: time(10, 2),
            plain: time(10, 4),
            float: time(40, 5),
            multiply: time(100, 10),
            divide: time(110, 30),
            load: time(60, 4),
        },
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
        registers: 32,
        mask_registers: 0,
        times: Times {
            scalar: time(10, 4),
            plain: time(30, 5),
            float: time(70, 5),
            multiply: time(50, 10),
            divide: time(180, 120),
            load: time(60, 10),
        },
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

    /// A CPU by LLVM's name of it; one that has no table of its own gets that of its instruction set, by the bits of its
    /// vector registers.
    pub fn of_cpu(_name: &str, bits: u32, is_x86: bool) -> Target {
        Target::of_registers(bits, is_x86)
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

    /// The registers that a vector of this many bits fills.
    pub fn registers_of(&self, bits: u32) -> u32 {
        bits.div_ceil(self.vector_bits)
    }

    /// What an operation on a vector of this many bits costs.
    pub fn cost(&self, cost: Cost, lanes: u32, bits: u32) -> u32 {
        cost.register * self.registers_of(bits) + cost.lane * lanes
    }
}

impl Default for Target {
    /// What most machines have.
    fn default() -> Target {
        Target::AVX2
    }
}
