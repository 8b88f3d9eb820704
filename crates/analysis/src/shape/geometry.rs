//! What is known of the brush, the work-group and the launch around a function.

use std::borrow::Cow;

use super::Fact;
use super::strides::{Steps, signed};
use heddle_ir::types::{MAX_DIMENSIONS, MAX_LANES};
use smallvec::SmallVec;

/// What is known of the size of a work-group along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GroupExtent {
    /// Nothing.
    #[default]
    Unknown,
    /// It is a multiple of the number of lanes of the brush.
    MultipleOfWidth,
    /// It is this.
    Known(u32),
}

/// What is known of the lanes' places.
///
/// A brush of one dimension runs along the linear order of its work-group (dimension 0 fastest) in pieces of `W`; one
/// of more dimensions is a tile of it. A work-group has fewer than 2^31 work-items.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Geometry {
    /// ResultShape along each dimension of the brush, if known: no dimension has 0, and together they are at most
    /// [`MAX_LANES`].
    pub brush: Option<SmallVec<[u32; 3]>>,
    /// Dimensions of the brush, where its extents are not known; 0 is taken for 1.
    pub dimensions: u32,
    /// The size of the work-group along each dimension.
    pub local: [GroupExtent; 3],
    /// A power of two that divides the least global index along each dimension; 0 if that index is 0.
    pub offset_align: [u64; 3],
    /// Every global index is below two to this; 64 if nothing is known.
    pub global_bits: u32,
}

impl Geometry {
    /// A one-dimensional brush of this many lanes, nothing else known.
    pub fn lanes(width: u32) -> Geometry {
        Geometry::brush(&[width])
    }

    /// A brush with these extents, nothing else known. What is no brush is an unknown one.
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

    /// The number of lanes, if known.
    pub fn width(&self) -> Option<u32> {
        self.brush.as_ref().map(|extents| extents.iter().product())
    }

    /// The number of lanes along a dimension, if known.
    pub fn extent(&self, dimension: usize) -> Option<u32> {
        match &self.brush {
            Some(extents) => Some(extents.get(dimension).copied().unwrap_or(1)),
            None if dimension >= self.dimensions.max(1) as usize => Some(1),
            None => None,
        }
    }

    /// Whether brushes run along the linear order of the group, rather than tile it.
    pub fn is_linear(&self) -> bool {
        (1..MAX_DIMENSIONS).all(|dimension| self.extent(dimension) == Some(1))
    }

    /// How far each lane is from lane 0 with these steps, lane by lane; none if the lanes are not known. Where there
    /// are no steps, the one offset 0 stands for all lanes.
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

    /// The steps of the line in ℤ on which all these values are, lane by lane in the order of `offsets`.
    pub(crate) fn fit(&self, values: &[i128]) -> Option<Steps<i128>> {
        self.fit_modulo(values, 128)
    }

    /// The same for numbers of this width: all lanes are on the line through the first ones, if on any.
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

    /// The least and the greatest distance of a lane from lane 0 with these steps.
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

/// Which lanes execute a block, from what says most to what says least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Activation {
    /// All lanes of the brush.
    Full,
    /// All of them or none.
    Uniform,
    /// Any.
    #[default]
    Varying,
}

/// What the caller knows of the memory that a load reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MemoryUniformity {
    /// ResultShape that read at one address at one time read the same: memory that lanes share, or a private object that is
    /// the same in all lanes.
    Uniform,
    /// Each lane may have its own.
    #[default]
    PerLane,
}

/// What a transfer function may use beside its operands.
#[derive(Clone, Debug, Default)]
pub struct TransferContext<'a> {
    /// The lanes' places.
    pub geometry: Cow<'a, Geometry>,
    /// Which lanes execute the instruction; `Full` for a `total` one.
    pub activation: Activation,
    /// Of a load: the memory that it reads.
    pub memory: MemoryUniformity,
    /// Of a call: a summary of what it returns to these lanes.
    pub results: Option<&'a [Fact]>,
}

impl TransferContext<'_> {
    /// Nothing known but the lanes' places.
    pub fn new(geometry: Geometry) -> TransferContext<'static> {
        TransferContext { geometry: Cow::Owned(geometry), ..TransferContext::default() }
    }
}
