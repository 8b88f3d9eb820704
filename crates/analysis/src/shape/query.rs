//! Transfer functions of lane queries: geometry, activation, and private objects.

use super::{
    Activation, Congruence, DetachedInst, Fact, Geometry, GroupExtent, NoWrap, Poison, Shape, Steps,
    TransferContext, UniformityLevel,
};
use heddle_ir::types::MAX_DIMENSIONS;
use heddle_ir::{Detail, Op};

/// `alloca`: uniform as a number, since all lanes use one address for their separate memory. The analysis of private
/// objects tracks the contents.
pub(crate) fn alloca(operation: &DetachedInst<'_>) -> Fact {
    let Detail::Alloca { align, .. } = operation.detail else { return Fact::TOP };
    let base = Congruence::aligned((*align).into(), operation.result().width());
    Fact::of_shape(Shape::uniform(base))
}

/// Geometry queries and `mask`.
pub(crate) fn query(operation: &DetachedInst<'_>, context: &TransferContext<'_>) -> Fact {
    let width = operation.result().width();
    let geometry = &context.geometry;
    let dimension = match operation.detail {
        Detail::Dimension(dimension) => dimension.map(usize::from),
        _ => None,
    };
    let along = dimension.unwrap_or(0).min(2);
    let known = |number: Option<u32>, level| {
        let base = number.map_or(Congruence::ANY, |number| Congruence::new(number.into(), width));
        Fact::of_shape(Shape::uniform(base)).with_level(level)
    };
    match operation.op {
        Op::Lane => lane(width, dimension, geometry),
        Op::Width => {
            known(dimension.map_or(geometry.width(), |d| geometry.extent(d)), UniformityLevel::Launch)
        }
        Op::LocalId => local_id(width, along, geometry),
        Op::GlobalId => global_id(width, along, geometry),
        Op::LocalSize | Op::EnqueuedSize => match geometry.local[along] {
            GroupExtent::Known(size) => known(Some(size), UniformityLevel::Launch),
            size => Fact::of_shape(Shape::uniform(multiple(size, geometry).known(width)))
                .with_level(UniformityLevel::Launch),
        },
        Op::GlobalSize => {
            let base = multiple(geometry.local[along], geometry).known(width);
            Fact::of_shape(Shape::uniform(base)).with_level(UniformityLevel::Launch)
        }
        Op::GroupId => known(None, UniformityLevel::Group),
        Op::GlobalOffset => Fact::of_shape(Shape::uniform(offset(geometry, along).known(width)))
            .with_level(UniformityLevel::Launch),
        Op::Mask => match context.activation {
            Activation::Full => {
                Fact::of_shape(Shape::uniform(Congruence::new(1, 1))).with_level(UniformityLevel::Launch)
            }
            Activation::Uniform => known(None, UniformityLevel::Brush),
            Activation::Varying => Fact::of_shape(Shape::VARYING),
        },
        _ => known(None, UniformityLevel::Launch),
    }
    .with_poison(Poison::Never)
}

/// Index of the lane: linear, or along a dimension.
fn lane(width: u32, dimension: Option<usize>, geometry: &Geometry) -> Fact {
    let mut steps: Steps<i128> = Steps::default();
    match dimension {
        Some(dimension) => {
            if let Some(step) = steps.get_mut(dimension) {
                *step = 1;
            }
        }
        None => {
            // Dimension 0 is fastest. A dimension with one lane has no steps.
            let mut before = Some(1i128);
            for (dimension, step) in steps.iter_mut().enumerate() {
                match (before, geometry.extent(dimension)) {
                    (_, Some(1)) => {}
                    (Some(lanes), extent) => {
                        *step = lanes;
                        before = extent.map(|extent| lanes * i128::from(extent));
                    }
                    (None, _) => return Fact::of_shape(Shape::VARYING).with_level(UniformityLevel::Launch),
                }
            }
        }
    }
    for (dimension, step) in steps.iter_mut().enumerate() {
        if geometry.extent(dimension) == Some(1) {
            *step = 0;
        }
    }
    Fact::of_shape(Shape::strided(width, steps, Congruence::new(0, width.max(1))))
        .with_level(UniformityLevel::Launch)
}

/// Returns the power of two known to divide an extent.
fn multiple(size: GroupExtent, geometry: &Geometry) -> Congruence {
    match (size, geometry.width()) {
        (GroupExtent::Known(size), _) => Congruence::aligned(size.into(), 64),
        (GroupExtent::MultipleOfWidth, Some(width)) => Congruence::aligned(width.into(), 64),
        _ => Congruence::ANY,
    }
}

fn offset(geometry: &Geometry, dimension: usize) -> Congruence {
    match geometry.offset_align[dimension] {
        0 => Congruence::new(0, 64),
        align => Congruence::aligned(align, 64),
    }
}

/// Returns the steps and lane 0's known bits of a lane's position in its work-group along a dimension.
fn position(dimension: usize, geometry: &Geometry) -> Option<(Steps<i128>, Congruence)> {
    const NONE: Steps<i128> = [0; MAX_DIMENSIONS];
    let zero = Congruence::new(0, 64);
    if geometry.local[dimension] == GroupExtent::Known(1) {
        return Some((NONE, zero));
    }
    if !geometry.is_linear() {
        // A tile starts at a multiple of its extent.
        let mut steps = NONE;
        let Some(mut extent) = geometry.extent(dimension) else {
            steps[dimension] = 1;
            // The step of the fourth dimension along the third is unknown.
            let is_last = dimension < 2 || geometry.extent(3) == Some(1);
            return is_last.then_some((steps, Congruence::ANY));
        };
        steps[dimension] = i128::from(extent > 1);
        if dimension == 2 {
            // The last two dimensions of a four-dimensional brush run along the third of the group.
            let further = geometry.extent(3)?;
            steps[3] = if further > 1 { extent.into() } else { 0 };
            extent *= further;
        }
        let fits = matches!(geometry.local[dimension], GroupExtent::Known(size) if size <= extent);
        return Some((steps, if fits { zero } else { Congruence::aligned(extent.into(), 64) }));
    }
    // A piece of the group's linear order, starting at a multiple of the width.
    let sizes = geometry.local;
    let width = geometry.width();
    let is_one = |size: &GroupExtent| *size == GroupExtent::Known(1);
    let start = width.map_or(Congruence::ANY, |width| Congruence::aligned(width.into(), 64));
    // True if a row of this many lanes in linear order consists of whole brushes.
    let holds_brushes = |sizes: &[GroupExtent]| {
        let product = sizes.iter().try_fold(1u64, |product, size| match size {
            GroupExtent::Known(size) => product.checked_mul((*size).into()),
            _ => None,
        });
        let divides = product.zip(width).is_some_and(|(product, width)| product % u64::from(width) == 0);
        divides || sizes.contains(&GroupExtent::MultipleOfWidth)
    };
    let (before, behind) = (&sizes[..dimension], &sizes[dimension + 1..]);
    if holds_brushes(before) {
        return Some((NONE, Congruence::ANY));
    }
    let group: Option<u64> = sizes.iter().try_fold(1u64, |product, size| match size {
        GroupExtent::Known(size) => product.checked_mul((*size).into()),
        _ => None,
    });
    let is_alone = group.zip(width).is_some_and(|(group, width)| group <= width.into());
    if before.iter().all(is_one)
        && (behind.iter().all(is_one) || holds_brushes(&sizes[dimension..=dimension]))
    {
        let mut steps = NONE;
        steps[0] = i128::from(width != Some(1));
        return Some((steps, if is_alone { zero } else { start }));
    }
    None
}

fn local_id(width: u32, dimension: usize, geometry: &Geometry) -> Fact {
    let fact = match position(dimension, geometry) {
        Some((steps, base)) => Fact::of_shape(Shape::strided(width, steps, base)),
        None => Fact::of_shape(Shape::VARYING),
    };
    // With fewer than 2^31 work-items, 32 bits do not wrap, signed or unsigned.
    let no_wrap = if width >= 32 { NoWrap::BOTH } else { NoWrap::NEITHER };
    let level = match fact.shape.constant(width) {
        Some(_) => UniformityLevel::Launch,
        None => UniformityLevel::Brush,
    };
    Fact { no_wrap, level, ..fact }.normalized()
}

fn global_id(width: u32, dimension: usize, geometry: &Geometry) -> Fact {
    let fact = match position(dimension, geometry) {
        Some((steps, base)) => {
            let groups = multiple(geometry.local[dimension], geometry);
            let base = base.plus(groups).plus(offset(geometry, dimension));
            Fact::of_shape(Shape::strided(width, steps, base))
        }
        None => Fact::of_shape(Shape::VARYING),
    };
    let bound = geometry.global_bits;
    let no_wrap = NoWrap { unsigned: bound <= width && bound < 64, signed: bound < width };
    Fact { no_wrap, ..fact }.normalized()
}
