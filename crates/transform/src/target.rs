//! What a machine's vector instructions cost and how long they take, as far as passes choose by it.

/// What an operation on a vector costs, in tenths of a plain operation on one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VectorCost {
    /// For each register that the vector fills.
    pub register: u32,
    /// For each lane.
    pub lane: u32,
}

impl VectorCost {
    const fn of_registers(register: u32) -> VectorCost {
        VectorCost { register, lane: 0 }
    }

    const fn of_lanes(lane: u32) -> VectorCost {
        VectorCost { register: 0, lane }
    }
}

/// What loads or stores of a vector cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCosts {
    /// Side by side, all lanes.
    pub whole: VectorCost,
    /// Side by side, the lanes of a mask.
    pub masked: VectorCost,
    /// Each lane at an address of its own, all lanes.
    pub scattered: VectorCost,
    /// Each lane at an address of its own, the lanes of a mask.
    pub masked_scattered: VectorCost,
}

/// How long an operation takes, in tenths of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTime {
    /// Until its result is there.
    pub latency: u32,
    /// For which it keeps the machine busy; of vectors, for each register.
    pub busy: u32,
}

const fn time(latency: u32, busy: u32) -> OpTime {
    OpTime { latency, busy }
}

/// How long operations take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTimes {
    /// On scalars.
    pub scalar: OpTime,
    /// Of integers, comparisons, blends, masks.
    pub plain: OpTime,
    /// Additions and multiplications of floats, conversions.
    pub float: OpTime,
    /// Multiplications of integers.
    pub multiply: OpTime,
    /// Divisions and roots of floats.
    pub divide: OpTime,
    /// Divisions of integers, each lane by itself.
    pub divide_integers: OpTime,
    /// Loads of whole vectors.
    pub load: OpTime,
    /// Stores of whole vectors: nothing waits for them.
    pub store: OpTime,
}

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetInfo {
    /// Its name in options.
    pub name: &'static str,
    /// Bits of a vector register.
    pub vector_bits: u32,
    /// How many vector registers there are.
    pub registers: u32,
    /// How many registers for masks there are; without one, masks are in vector registers.
    pub mask_registers: u32,
    /// How long operations take.
    pub times: OpTimes,
    /// Loads.
    pub load: AccessCosts,
    /// Stores.
    pub store: AccessCosts,
    /// Lanes of two vectors picked by constant indices.
    pub permute: VectorCost,
    /// To take the address of a lane out of a vector, and to put what it leads to into one.
    pub lane: u32,
    /// A branch that goes the same way as last time, with what asks for it.
    pub branch: u32,
}

/// How machines do it that have neither masks nor gathers: lane by lane. Where lanes are masked there is a branch for each;
/// that it may go the other way than last time is in the figure.
const LANE_BY_LANE: [AccessCosts; 2] = [
    AccessCosts {
        whole: VectorCost::of_registers(5),
        masked: VectorCost::of_lanes(16),
        scattered: VectorCost { register: 8, lane: 10 },
        masked_scattered: VectorCost::of_lanes(16),
    },
    AccessCosts {
        whole: VectorCost::of_registers(7),
        masked: VectorCost::of_lanes(13),
        scattered: VectorCost::of_lanes(12),
        masked_scattered: VectorCost::of_lanes(15),
    },
];

/// Costs of x86 are what `./x bench cost` finds on an Intel Emerald Rapids (x86-64-v2 to v4, first-level cache), where
/// nothing else is said.
impl TargetInfo {
    /// x86-64-v4: masks of bits, gathers and scatters in hardware, any permutation in one instruction. Gathers cost
    /// twice what that machine takes, as older ones need more.
    pub const AVX512: TargetInfo = TargetInfo {
        name: "avx512",
        vector_bits: 512,
        registers: 32,
        mask_registers: 8,
        times: OpTimes {
            scalar: time(10, 2),
            plain: time(10, 5),
            float: time(40, 5),
            multiply: time(100, 10),
            divide: time(170, 100),
            divide_integers: time(60, 60),
            load: time(70, 5),
            store: time(0, 10),
        },
        load: AccessCosts {
            whole: VectorCost::of_registers(5),
            masked: VectorCost::of_registers(10),
            scattered: VectorCost { register: 30, lane: 6 },
            masked_scattered: VectorCost { register: 30, lane: 6 },
        },
        store: AccessCosts {
            whole: VectorCost::of_registers(10),
            masked: VectorCost::of_registers(10),
            scattered: VectorCost { register: 30, lane: 8 },
            masked_scattered: VectorCost { register: 30, lane: 8 },
        },
        permute: VectorCost::of_registers(10),
        lane: 12,
        branch: 20,
    };

    /// Intel's Sapphire and Emerald Rapids, Granite Rapids.
    pub const SAPPHIRE_RAPIDS: TargetInfo = TargetInfo {
        name: "sapphirerapids",
        load: AccessCosts {
            scattered: VectorCost::of_lanes(4),
            masked_scattered: VectorCost::of_lanes(4),
            ..TargetInfo::AVX512.load
        },
        ..TargetInfo::AVX512
    };

    /// AMD's Zen 4, where gathers and scatters are microcode that takes its time for each lane. As `./x bench cost` finds it
    /// on an EPYC of that kind, whose registers are as wide as two of its ways to memory.
    pub const ZEN4: TargetInfo = TargetInfo {
        name: "znver4",
        load: AccessCosts {
            whole: VectorCost::of_registers(10),
            masked: VectorCost::of_registers(11),
            scattered: VectorCost::of_lanes(11),
            masked_scattered: VectorCost::of_lanes(11),
        },
        store: AccessCosts {
            whole: VectorCost::of_registers(19),
            masked: VectorCost::of_registers(19),
            scattered: VectorCost::of_lanes(14),
            masked_scattered: VectorCost::of_lanes(14),
        },
        permute: VectorCost::of_registers(13),
        lane: 6,
        ..TargetInfo::AVX512
    };

    /// x86-64-v3: masked accesses, no scatters; gathers are lane by lane.
    pub const AVX2: TargetInfo = TargetInfo {
        name: "avx2",
        vector_bits: 256,
        registers: 16,
        mask_registers: 0,
        times: OpTimes {
            scalar: time(10, 2),
            plain: time(10, 4),
            float: time(40, 5),
            multiply: time(100, 10),
            divide: time(110, 50),
            divide_integers: time(60, 60),
            load: time(70, 4),
            store: time(0, 10),
        },
        load: AccessCosts {
            whole: VectorCost::of_registers(5),
            masked: VectorCost::of_registers(10),
            scattered: VectorCost { register: 25, lane: 8 },
            masked_scattered: VectorCost::of_lanes(18),
        },
        store: AccessCosts {
            whole: VectorCost::of_registers(7),
            masked: VectorCost::of_registers(10),
            scattered: VectorCost::of_lanes(12),
            masked_scattered: VectorCost::of_lanes(17),
        },
        permute: VectorCost::of_registers(13),
        lane: 12,
        branch: 20,
    };

    /// x86-64-v2: nothing but whole accesses; the rest is done lane by lane.
    pub const SSE42: TargetInfo = TargetInfo {
        name: "sse4.2",
        vector_bits: 128,
        registers: 16,
        mask_registers: 0,
        times: OpTimes {
            scalar: time(10, 2),
            plain: time(10, 4),
            float: time(40, 5),
            multiply: time(100, 10),
            divide: time(110, 30),
            divide_integers: time(60, 60),
            load: time(60, 4),
            store: time(0, 10),
        },
        load: LANE_BY_LANE[0],
        store: LANE_BY_LANE[1],
        permute: VectorCost::of_registers(10),
        lane: 12,
        branch: 20,
    };

    /// AArch64's vectors of 128 bits: estimates, not measured.
    pub const NEON: TargetInfo = TargetInfo {
        name: "neon",
        vector_bits: 128,
        registers: 32,
        mask_registers: 0,
        times: OpTimes {
            scalar: time(10, 4),
            plain: time(30, 5),
            float: time(70, 5),
            multiply: time(50, 10),
            divide: time(180, 120),
            divide_integers: time(60, 60),
            load: time(60, 10),
            store: time(0, 10),
        },
        load: AccessCosts {
            whole: VectorCost::of_registers(5),
            masked: VectorCost::of_lanes(30),
            scattered: VectorCost::of_lanes(15),
            masked_scattered: VectorCost::of_lanes(35),
        },
        store: AccessCosts {
            whole: VectorCost::of_registers(10),
            masked: VectorCost::of_lanes(30),
            scattered: VectorCost::of_lanes(15),
            masked_scattered: VectorCost::of_lanes(35),
        },
        permute: VectorCost::of_registers(10),
        lane: 15,
        branch: 20,
    };

    /// All of them.
    pub const ALL: [TargetInfo; 6] = [
        TargetInfo::AVX512,
        TargetInfo::AVX2,
        TargetInfo::SSE42,
        TargetInfo::NEON,
        TargetInfo::SAPPHIRE_RAPIDS,
        TargetInfo::ZEN4,
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<TargetInfo> {
        TargetInfo::ALL.into_iter().find(|target| target.name == name)
    }

    /// A CPU by LLVM's name of it; one that has no table of its own gets that of its instruction set, by the bits of its
    /// vector registers.
    pub fn of_cpu(name: &str, bits: u32, is_x86: bool) -> TargetInfo {
        match name {
            "sapphirerapids" | "emeraldrapids" | "graniterapids" if bits == 512 => {
                TargetInfo::SAPPHIRE_RAPIDS
            }
            "znver4" | "znver5" if bits == 512 => TargetInfo::ZEN4,
            _ => TargetInfo::of_registers(bits, is_x86),
        }
    }

    /// A machine whose vector registers have so many bits, of x86 or not.
    pub fn of_registers(bits: u32, is_x86: bool) -> TargetInfo {
        match bits {
            _ if !is_x86 => TargetInfo::NEON,
            512.. => TargetInfo::AVX512,
            256..512 => TargetInfo::AVX2,
            _ => TargetInfo::SSE42,
        }
    }

    /// Whether it has estimates of inverse square roots that one step makes good enough: those of AVX-512, to 14 bits.
    pub fn estimates_roots(&self) -> bool {
        self.vector_bits >= 512
    }

    /// The registers that a vector of this many bits fills.
    pub fn registers_of(&self, bits: u32) -> u32 {
        bits.div_ceil(self.vector_bits)
    }

    /// What an operation on a vector of this many bits costs.
    pub fn cost(&self, cost: VectorCost, lanes: u32, bits: u32) -> u32 {
        cost.register * self.registers_of(bits) + cost.lane * lanes
    }
}

impl Default for TargetInfo {
    /// What most machines have.
    fn default() -> TargetInfo {
        TargetInfo::AVX2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_has_its_own_table_or_that_of_its_instruction_set() {
        let of = |name, bits| TargetInfo::of_cpu(name, bits, true).name;
        assert_eq!(of("emeraldrapids", 512), "sapphirerapids");
        assert_eq!(of("znver4", 512), "znver4");
        assert_eq!(
            [of("skylake-avx512", 512), of("haswell", 256), of("nehalem", 128)],
            ["avx512", "avx2", "sse4.2"]
        );
        assert_eq!(TargetInfo::of_cpu("cortex-a72", 128, false).name, "neon");
        for target in TargetInfo::ALL {
            assert_eq!(TargetInfo::named(target.name), Some(target));
        }
    }

    #[test]
    fn on_zen_4_lines_are_cheaper_than_gathers_that_others_would_take() {
        let gather = |target: TargetInfo| target.cost(target.load.scattered, 16, 512);
        let lines = |target: TargetInfo| {
            4 * (target.cost(target.load.whole, 16, 512) + target.cost(target.permute, 16, 512))
        };
        assert!(
            gather(TargetInfo::ZEN4) > lines(TargetInfo::ZEN4)
                && gather(TargetInfo::SAPPHIRE_RAPIDS) < lines(TargetInfo::ZEN4)
        );
    }

    #[test]
    fn vectors_cost_by_the_registers_that_they_fill_and_by_lane() {
        let cost = VectorCost { register: 30, lane: 2 };
        // Eight lanes of 32 bits fill one register of AVX2 and two of SSE; nine fill one more.
        assert_eq!(TargetInfo::AVX2.cost(cost, 8, 256), 46);
        assert_eq!(TargetInfo::SSE42.cost(cost, 8, 256), 76);
        assert_eq!(TargetInfo::AVX2.cost(cost, 9, 288), 78);
        assert_eq!(TargetInfo::AVX512.cost(VectorCost::of_registers(5), 4, 32), 5);
        assert_eq!(TargetInfo::NEON.cost(VectorCost::of_lanes(15), 4, 128), 60);
    }

    #[test]
    fn machines_are_found_by_name_and_by_registers() {
        for target in TargetInfo::ALL {
            assert_eq!(TargetInfo::named(target.name), Some(target));
        }
        assert_eq!(TargetInfo::named("sse5"), None);
        let x86 = [128, 255, 256, 511, 512, 1024].map(|bits| TargetInfo::of_registers(bits, true).name);
        assert_eq!(x86, ["sse4.2", "sse4.2", "avx2", "avx2", "avx512", "avx512"]);
        assert_eq!([128, 512].map(|bits| TargetInfo::of_registers(bits, false).name), ["neon", "neon"]);
        assert_eq!(TargetInfo::default().name, "avx2");
    }
}
