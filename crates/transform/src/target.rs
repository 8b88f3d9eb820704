//! Costs and times of vector instructions by target, for the cost models of passes.

use heddle_ir::Op;

/// Cost of a vector operation, in tenths of a plain operation on one register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VectorCost {
    /// Cost per register that the vector fills.
    pub register: u32,
    /// Cost per lane.
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

/// Costs of vector loads or vector stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccessCosts {
    /// Contiguous, all lanes.
    pub whole: VectorCost,
    /// Contiguous, masked.
    pub masked: VectorCost,
    /// An address per lane, all lanes.
    pub scattered: VectorCost,
    /// An address per lane, masked.
    pub masked_scattered: VectorCost,
}

/// Direction of a memory access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessDirection {
    /// From memory.
    Load,
    /// To memory.
    Store,
}

impl AccessDirection {
    /// Direction of an operation on memory; one that reads and writes counts as a store.
    pub fn of(op: Op) -> AccessDirection {
        match op {
            Op::Load | Op::MaskedLoad | Op::Gather => AccessDirection::Load,
            _ => AccessDirection::Store,
        }
    }

    /// True for stores.
    pub fn is_store(self) -> bool {
        self == AccessDirection::Store
    }
}

/// Lanes for which an access is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessLanes {
    /// All lanes of the brush.
    All,
    /// Those that a mask selects.
    Masked,
}

impl AccessLanes {
    /// Lanes of an access that has a mask, or none.
    pub fn under(is_masked: bool) -> AccessLanes {
        if is_masked { AccessLanes::Masked } else { AccessLanes::All }
    }
}

/// Latency and throughput of an operation, in tenths of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTime {
    /// Time until the result is available.
    pub latency: u32,
    /// Time for which it occupies the machine; for vectors, per register.
    pub busy: u32,
}

const fn time(latency: u32, busy: u32) -> OpTime {
    OpTime { latency, busy }
}

/// Latencies and throughputs of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpTimes {
    /// Scalar operations.
    pub scalar: OpTime,
    /// Vector integer arithmetic, comparisons, blends, mask operations.
    pub plain: OpTime,
    /// Float additions, multiplications and conversions.
    pub float: OpTime,
    /// Integer multiplications.
    pub multiply: OpTime,
    /// Float divisions and square roots.
    pub divide: OpTime,
    /// Integer divisions, per lane.
    pub divide_integers: OpTime,
    /// Loads of whole vectors.
    pub load: OpTime,
    /// Stores of whole vectors, without latency.
    pub store: OpTime,
}

/// Target with its vector registers and costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TargetInfo {
    /// Name in options.
    pub name: &'static str,
    /// Width of a vector register in bits.
    pub vector_bits: u32,
    /// Number of vector registers.
    pub registers: u32,
    /// Number of mask registers; if 0, masks are in vector registers.
    pub mask_registers: u32,
    /// Latencies and throughputs.
    pub times: OpTimes,
    /// Costs of loads.
    pub load: AccessCosts,
    /// Costs of stores.
    pub store: AccessCosts,
    /// Cost of a permutation of two vectors with constant indices.
    pub permute: VectorCost,
    /// Cost of extracting a lane's address from a vector and inserting the loaded value into one.
    pub lane: u32,
    /// Cost of a predicted branch with its condition.
    pub branch: u32,
    /// Bytes of the first-level data cache, if bits 6 to 11 of an address choose its set.
    pub first_level_cache: Option<u32>,
}

/// Caches of 8 and of 12 ways.
const KIB_32: Option<u32> = Some(32 * 1024);
const KIB_48: Option<u32> = Some(48 * 1024);

/// Access costs on machines without masks and gathers, which serialize lanes. Masked accesses branch for each lane; the
/// figures include mispredictions.
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

/// Costs on x86 come from `./x bench cost` on an Intel Emerald Rapids (x86-64-v2 to v4, first-level cache), unless noted
/// otherwise.
impl TargetInfo {
    /// x86-64-v4: mask registers, hardware gathers and scatters, any permutation in one instruction. Gathers cost twice the
    /// measured figure, since older machines are slower.
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
        first_level_cache: KIB_32,
    };

    /// Intel Sapphire Rapids, Emerald Rapids and Granite Rapids. Gathers cost half again the measured figure, since lanes miss the
    /// first-level cache more often than contiguous accesses.
    pub const SAPPHIRE_RAPIDS: TargetInfo = TargetInfo {
        name: "sapphirerapids",
        load: AccessCosts {
            scattered: VectorCost::of_lanes(6),
            masked_scattered: VectorCost::of_lanes(6),
            ..TargetInfo::AVX512.load
        },
        first_level_cache: KIB_48,
        ..TargetInfo::AVX512
    };

    /// AMD Zen 4: gathers and scatters are microcoded, with a cost per lane. Measured by `./x bench cost` on an EPYC; its
    /// vector registers are twice as wide as its paths to memory.
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

    /// AMD Zen 5: paths to memory as wide as its vector registers; a dependent addition of vectors takes two cycles. Measured by
    /// `./x bench cost` on an EPYC.
    pub const ZEN5: TargetInfo = TargetInfo {
        name: "znver5",
        times: OpTimes { plain: time(20, 5), divide_integers: time(60, 47), ..TargetInfo::AVX512.times },
        load: AccessCosts {
            whole: VectorCost::of_registers(6),
            masked: VectorCost::of_registers(6),
            scattered: VectorCost { register: 24, lane: 7 },
            masked_scattered: VectorCost { register: 26, lane: 7 },
        },
        store: AccessCosts {
            whole: VectorCost::of_registers(10),
            masked: VectorCost::of_registers(10),
            scattered: VectorCost { register: 2, lane: 11 },
            masked_scattered: VectorCost { register: 2, lane: 11 },
        },
        permute: VectorCost::of_registers(10),
        lane: 6,
        first_level_cache: KIB_48,
        ..TargetInfo::AVX512
    };

    /// x86-64-v3: masked accesses, no scatters; gathers are serialized.
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
        first_level_cache: KIB_32,
    };

    /// AMD Zen to Zen 3: gathers and masked stores are microcoded, with a cost per lane. Measured by `./x bench cost` with
    /// `HEDDLE_CPU=avx2` on a Zen 4.
    pub const ZEN3: TargetInfo = TargetInfo {
        name: "znver3",
        load: AccessCosts {
            scattered: VectorCost { register: 13, lane: 12 },
            masked_scattered: VectorCost { register: 10, lane: 12 },
            ..TargetInfo::AVX2.load
        },
        store: AccessCosts {
            whole: VectorCost::of_registers(12),
            masked: VectorCost::of_lanes(20),
            scattered: VectorCost::of_lanes(15),
            masked_scattered: VectorCost { register: 12, lane: 10 },
        },
        permute: VectorCost::of_registers(11),
        lane: 6,
        ..TargetInfo::AVX2
    };

    /// x86-64-v2: whole accesses only; all others are serialized.
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
        first_level_cache: KIB_32,
    };

    /// AArch64 with 128-bit vectors: estimates, not measured.
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
        first_level_cache: None,
    };

    /// All targets.
    pub const ALL: [TargetInfo; 8] = [
        TargetInfo::AVX512,
        TargetInfo::AVX2,
        TargetInfo::SSE42,
        TargetInfo::NEON,
        TargetInfo::SAPPHIRE_RAPIDS,
        TargetInfo::ZEN4,
        TargetInfo::ZEN5,
        TargetInfo::ZEN3,
    ];

    /// Target with this name.
    pub fn named(name: &str) -> Option<TargetInfo> {
        TargetInfo::ALL.into_iter().find(|target| target.name == name)
    }

    /// Target of a CPU by its LLVM name. A CPU without its own table gets that of its instruction set, by the width of its
    /// vector registers.
    pub fn of_cpu(name: &str, bits: u32, is_x86: bool) -> TargetInfo {
        match name {
            "sapphirerapids" | "emeraldrapids" | "graniterapids" if bits == 512 => {
                TargetInfo::SAPPHIRE_RAPIDS
            }
            "znver4" if bits == 512 => TargetInfo::ZEN4,
            "znver5" if bits == 512 => TargetInfo::ZEN5,
            "znver1" | "znver2" | "znver3" | "znver4" if bits == 256 => TargetInfo::ZEN3,
            _ => TargetInfo::of_registers(bits, is_x86),
        }
    }

    /// Target by the width of its vector registers and its architecture.
    pub fn of_registers(bits: u32, is_x86: bool) -> TargetInfo {
        match bits {
            _ if !is_x86 => TargetInfo::NEON,
            512.. => TargetInfo::AVX512,
            256..512 => TargetInfo::AVX2,
            _ => TargetInfo::SSE42,
        }
    }

    /// True if inverse square roots have estimates that one Newton step refines enough: 14 bits, as on AVX-512.
    pub fn estimates_roots(&self) -> bool {
        self.vector_bits >= 512
    }

    /// Number of registers that a vector of this many bits fills.
    pub fn registers_of(&self, bits: u32) -> u32 {
        bits.div_ceil(self.vector_bits)
    }

    /// Cost of loads, or of stores.
    pub fn access_costs(&self, direction: AccessDirection) -> &AccessCosts {
        match direction {
            AccessDirection::Load => &self.load,
            AccessDirection::Store => &self.store,
        }
    }

    /// Cost of an access to contiguous elements.
    pub fn contiguous_cost(
        &self,
        direction: AccessDirection,
        active: AccessLanes,
        lanes: u32,
        element_bits: u32,
    ) -> u32 {
        let costs = self.access_costs(direction);
        let cost = match active {
            AccessLanes::All => costs.whole,
            AccessLanes::Masked => costs.masked,
        };
        self.cost(cost, lanes, lanes * element_bits)
    }

    /// True if a masked store of a vector costs more than a branch and twice a whole one, so that its mask is worth a test.
    pub fn tests_store_masks(&self, lanes: u32, element_bits: u32) -> bool {
        let cost = |active| self.contiguous_cost(AccessDirection::Store, active, lanes, element_bits);
        cost(AccessLanes::Masked) > self.branch + 2 * cost(AccessLanes::All)
    }

    /// Cost of an access with an address for each lane. No machine gathers or scatters elements of less than 32 bits: their lanes
    /// are accessed one after the other, under a mask behind branches.
    pub fn scattered_cost(
        &self,
        direction: AccessDirection,
        active: AccessLanes,
        lanes: u32,
        element_bits: u32,
    ) -> u32 {
        let costs = self.access_costs(direction);
        let (cost, branch) = match active {
            AccessLanes::All => (costs.scattered, 0),
            AccessLanes::Masked => (costs.masked_scattered, self.branch),
        };
        let of_lanes = self.cost(cost, lanes, lanes * element_bits);
        let each = self.lane + branch;
        if element_bits < 32 { of_lanes.max(lanes * each) } else { of_lanes }
    }

    /// Cost of so many accesses to the same lines, an address for each lane. Lanes may be as far apart as the first-level cache has sets:
    /// their lines then evict one another between two accesses.
    pub fn repeated_cost(
        &self,
        direction: AccessDirection,
        active: AccessLanes,
        lanes: u32,
        bits: u32,
        times: u32,
    ) -> u32 {
        /// Lines of a set.
        const WAYS: u32 = 8;
        let once = self.scattered_cost(direction, active, lanes, bits);
        let again = once + once / 2 * (lanes / WAYS).max(1).ilog2();
        once + again * times.saturating_sub(1)
    }

    /// Total cost of a vector operation.
    pub fn cost(&self, cost: VectorCost, lanes: u32, bits: u32) -> u32 {
        cost.register * self.registers_of(bits) + cost.lane * lanes
    }
}

impl Default for TargetInfo {
    /// The most common target.
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
    fn on_zen_4_gathers_cost_more_than_lines_and_than_on_others() {
        let gather = |target: TargetInfo| target.cost(target.load.scattered, 16, 512);
        let lines = |target: TargetInfo| {
            4 * (target.cost(target.load.whole, 16, 512) + target.cost(target.permute, 16, 512))
        };
        assert!(gather(TargetInfo::ZEN4) > lines(TargetInfo::ZEN4));
        assert!(gather(TargetInfo::SAPPHIRE_RAPIDS) < gather(TargetInfo::ZEN4));
    }

    #[test]
    fn narrow_elements_are_gathered_lane_by_lane() {
        let (load, all) = (AccessDirection::Load, AccessLanes::All);
        let cost = |bits, active| TargetInfo::SAPPHIRE_RAPIDS.scattered_cost(load, active, 16, bits);
        assert!(cost(8, all) > cost(32, all) && cost(8, AccessLanes::Masked) > cost(8, all));
        let [eight, sixteen] = [8, 16].map(|lanes| {
            let target = TargetInfo::SAPPHIRE_RAPIDS;
            target.repeated_cost(load, all, lanes, 32, 4) - 4 * target.scattered_cost(load, all, lanes, 32)
        });
        assert!(eight == 0 && sixteen > 0, "more lanes than a set has lines evict one another");
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
