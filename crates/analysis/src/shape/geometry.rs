//! Geometry of brush, work-group and launch, and the context of a transfer function.

use std::borrow::Cow;

use super::Fact;
use super::strides::{Steps, signed};
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use smallvec::SmallVec;

/// Known extent of a work-group along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GroupExtent {
    /// Unknown extent.
    #[default]
    Unknown,
    /// Multiple of the number of lanes of the brush.
    MultipleOfWidth,
    /// Constant extent.
    Known(u32),
}

/// Position of a brush's lanes in the work-group and the launch.
///
/// A one-dimensional brush covers `W` consecutive work-items in the linear order of its work-group (dimension 0 fastest). A
/// brush of more dimensions is a tile of the group. A work-group has fewer than 2^31 work-items.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Geometry {
    /// Lanes along each dimension of the brush, if known. No extent is 0; the product is at most [`MAX_LANES`].
    pub brush: Option<SmallVec<[u32; 3]>>,
    /// Number of dimensions of a brush with unknown extents; 0 means 1.
    pub dimensions: u32,
    /// Extent of the work-group along each dimension.
    pub local: [GroupExtent; 3],
    /// Power of two that divides the minimum global index along each dimension; 0 if that index is 0.
    pub offset_align: [u64; 3],
    /// Number of bits that suffice for every global index; 64 if unknown.
    pub global_bits: u32,
}

impl Geometry {
    /// A one-dimensional brush with this many lanes, nothing else known.
    pub fn lanes(width: u32) -> Geometry {
        Geometry::brush(&[width])
    }

    /// A brush with these extents, nothing else known. Invalid extents give an unknown brush.
    pub fn brush(extents: &[u32]) -> Geometry {
        let lanes = extents.iter().fold(1u32, |lanes, &extent| lanes.saturating_mul(extent));
        let is_one = (1..=MAX_DIMENSIONS).contains(&extents.len()) && (1..=MAX_LANES).contains(&lanes);
        Geometry {
            brush: is_one.then(|| SmallVec::from_slice(extents)),
            dimensions: extents.len().clamp(1, MAX_DIMENSIONS) as u32,
            ..Geometry::unknown()
        }
    }

    /// A one-dimensional brush, nothing else known.
    pub fn unknown() -> Geometry {
        Geometry {
            brush: None,
            dimensions: 1,
            local: [GroupExtent::Unknown; 3],
            offset_align: [1; 3],
            global_bits: 64,
        }
    }

    /// Returns the number of lanes, if known.
    pub fn width(&self) -> Option<u32> {
        self.brush.as_ref().map(|extents| extents.iter().product())
    }

    /// Returns the number of lanes along a dimension, if known.
    pub fn extent(&self, dimension: usize) -> Option<u32> {
        match &self.brush {
            Some(extents) => Some(extents.get(dimension).copied().unwrap_or(1)),
            None if dimension >= self.dimensions.max(1) as usize => Some(1),
            None => None,
        }
    }

    /// True if brushes follow the linear order of the group instead of tiling it.
    pub fn is_linear(&self) -> bool {
        (1..MAX_DIMENSIONS).all(|dimension| self.extent(dimension) == Some(1))
    }

    /// Returns the offset of each lane from lane 0 with these steps; none if the extents are unknown. If all steps are 0, the
    /// single offset 0 stands for all lanes.
    pub(crate) fn offsets(&self, steps: Steps<i128>) -> Option<Vec<i128>> {
        let extents: [_; MAX_DIMENSIONS] = std::array::from_fn(|dimension| self.extent(dimension));
        if steps.iter().zip(&extents).all(|(&step, &extent)| step == 0 || extent == Some(1)) {
            return Some(vec![0]);
        }
        let [Some(x), Some(y), Some(z), Some(w)] = extents else { return None };
        let mut offsets = Vec::with_capacity((x * y * z * w) as usize);
        for l in 0..i128::from(w) {
            for k in 0..i128::from(z) {
                for j in 0..i128::from(y) {
                    let row = [j, k, l].into_iter().zip(&steps[1..]);
                    let start = row.fold(0i128, |sum, (at, step)| sum.wrapping_add(step.wrapping_mul(at)));
                    offsets.extend((0..i128::from(x)).map(|i| steps[0].wrapping_mul(i).wrapping_add(start)));
                }
            }
        }
        Some(offsets)
    }

    /// Returns the steps in ℤ of these lanes if they are affine; the lanes are in the order of `offsets`.
    pub(crate) fn fit(&self, values: &[i128]) -> Option<Steps<i128>> {
        self.fit_modulo(values, 128)
    }

    /// Returns the steps modulo 2^width of these lanes if they are affine: the first lanes determine the steps.
    pub(crate) fn fit_modulo(&self, values: &[i128], width: u32) -> Option<Steps<i128>> {
        let first = *values.first()?;
        let distance = |value: i128| signed(width, value.wrapping_sub(first));
        if values.iter().all(|&value| distance(value) == 0) {
            return Some(Steps::default());
        }
        let mut steps = Steps::default();
        let mut next = 1;
        for (dimension, step) in steps.iter_mut().enumerate() {
            let extent = self.extent(dimension)?;
            *step = match values.get(next as usize) {
                Some(&value) if extent != 1 => distance(value),
                _ => 0,
            };
            next *= extent;
        }
        let offsets = self.offsets(steps)?;
        let fits = offsets.len() == values.len()
            && offsets
                .iter()
                .zip(values)
                .all(|(&offset, &value)| signed(width, offset.wrapping_sub(distance(value))) == 0);
        fits.then_some(steps)
    }

    /// Returns the minimum and maximum offset of a lane from lane 0 with these steps.
    pub(crate) fn span(&self, steps: Steps<i128>) -> (i128, i128) {
        let mut span = (0, 0);
        for (dimension, step) in steps.into_iter().enumerate() {
            let last = i128::from(self.extent(dimension).unwrap_or(MAX_LANES).saturating_sub(1));
            let reach = step.saturating_mul(last);
            span = (span.0 + reach.min(0), span.1 + reach.max(0));
        }
        span
    }
}

/// Set of lanes that execute a block, from most to least precise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Activation {
    /// All lanes of the brush.
    Full,
    /// All lanes or none.
    Uniform,
    /// Any lanes.
    #[default]
    Varying,
}

/// Uniformity of the memory that a load reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryUniformity {
    /// Lanes that read one address at the same time get one value: shared memory, or a private object with the same contents
    /// in all lanes.
    Uniform,
    /// Each lane may have its own contents.
    #[default]
    PerLane,
}

/// Context of a transfer function, apart from the operands.
#[derive(Clone, Debug, Default)]
pub struct TransferContext<'a> {
    /// Geometry of the lanes.
    pub geometry: Cow<'a, Geometry>,
    /// Lanes that execute the instruction; `Full` for a `total` one.
    pub activation: Activation,
    /// Memory that a load reads.
    pub memory: MemoryUniformity,
    /// Summary of the results of a call with these lanes.
    pub results: Option<&'a [Fact]>,
}

impl TransferContext<'_> {
    /// A context with nothing known but the geometry.
    pub fn new(geometry: Geometry) -> TransferContext<'static> {
        TransferContext { geometry: Cow::Owned(geometry), ..TransferContext::default() }
    }
}
