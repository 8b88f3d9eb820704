//! Pattern of an access's addresses over the lanes, with its cost.

use crate::target::{AccessDirection, AccessLanes, TargetInfo};
use heddle_analysis::{Divergence, Shape};
use heddle_ir::{Scalar, Value};

/// Pattern of addresses over the lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressPattern {
    /// One address for all lanes.
    Uniform,
    /// Contiguous, ascending.
    Contiguous,
    /// Contiguous, descending.
    Reversed,
    /// An address for each lane.
    Scattered,
}

impl AddressPattern {
    /// Estimated pattern of an access, before accesses are planned: descending lanes count as ascending ones, and only the first
    /// dimension of a brush counts.
    pub(crate) fn estimated(facts: &Divergence, address: Value, scalar: Scalar) -> AddressPattern {
        match facts.fact(address).shape {
            shape if shape.is_uniform() => AddressPattern::Uniform,
            Shape::Strided { strides, .. }
                if strides.along(0).unsigned_abs() == u64::from(scalar.bytes()) =>
            {
                AddressPattern::Contiguous
            }
            _ => AddressPattern::Scattered,
        }
    }

    /// Cost of an access.
    pub(crate) fn cost(
        self,
        target: &TargetInfo,
        direction: AccessDirection,
        active: AccessLanes,
        lanes: u32,
        element_bits: u32,
    ) -> u32 {
        let contiguous = |active, lanes| target.contiguous_cost(direction, active, lanes, element_bits);
        match self {
            AddressPattern::Uniform => contiguous(AccessLanes::All, 1),
            AddressPattern::Contiguous => contiguous(active, lanes),
            AddressPattern::Reversed => {
                contiguous(active, lanes) + target.cost(target.permute, lanes, lanes * element_bits)
            }
            AddressPattern::Scattered => target.scattered_cost(direction, active, lanes, element_bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cost_more_the_further_lanes_are_apart() {
        for target in [TargetInfo::AVX512, TargetInfo::AVX2, TargetInfo::ZEN4] {
            for direction in [AccessDirection::Load, AccessDirection::Store] {
                let cost = |pattern: AddressPattern, active| pattern.cost(&target, direction, active, 16, 32);
                let [uniform, contiguous, reversed, scattered] = [
                    AddressPattern::Uniform,
                    AddressPattern::Contiguous,
                    AddressPattern::Reversed,
                    AddressPattern::Scattered,
                ]
                .map(|pattern| [AccessLanes::All, AccessLanes::Masked].map(|active| cost(pattern, active)));
                assert_eq!(uniform[0], uniform[1], "one lane has no mask");
                for at in [0, 1] {
                    assert!(uniform[at] <= contiguous[at] && contiguous[at] < reversed[at]);
                    assert!(reversed[at] < scattered[at], "{} {direction:?}", target.name);
                }
            }
        }
    }
}
