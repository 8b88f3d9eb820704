//! Inputs of generated programs: brush, arguments, memory.

use super::program::{InputShape, ShapeKind};
use super::random::Random;
use super::writer::interesting_bits;
use heddle_ir::{Scalar, Space};

/// Access pattern of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Nothing writes it.
    ReadOnly,
    /// Each lane accesses its own slice of this many bytes, in lane order.
    Lane(u32),
    /// All lanes.
    Shared,
    /// All lanes, which add to it and do not look.
    Counter,
    /// The lanes of a work-group.
    Group,
}

/// An object that the program gets a pointer to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectShape {
    /// Its name.
    pub name: String,
    /// Address space.
    pub space: Space,
    /// Element type; NaNs compare as equal.
    pub scalar: Scalar,
    /// Number of elements, per lane of the launch for lane-owned objects.
    pub len: u32,
    /// Access pattern.
    pub owner: Owner,
}

/// One argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InputArgument {
    /// The address of an object of the case.
    Object(usize),
    /// One value for all lanes.
    Uniform(u128),
    /// A value of lane 0, and strides along the dimensions of the brush.
    Linear(u128, Vec<i64>),
    /// A value for each lane of the brush.
    Varying(Vec<u128>),
}

/// Input of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramInput {
    /// The lanes along each dimension of the brush.
    pub brush: Vec<u32>,
    /// The lanes along each dimension of a work-group; none for a single brush.
    pub group: Option<[u32; 3]>,
    /// The work-groups along each dimension.
    pub groups: [u32; 3],
    /// The arguments, one a parameter.
    pub args: Vec<InputArgument>,
    /// The bytes of each object of the case.
    pub contents: Vec<Vec<u8>>,
}

impl ProgramInput {
    /// The lanes of one brush.
    pub fn lanes(&self) -> u32 {
        self.brush.iter().product()
    }

    /// True if every lane of every brush has a work-item.
    pub fn is_whole(&self) -> bool {
        self.group.is_none_or(|group| match self.brush[..] {
            [lanes] => group.iter().product::<u32>().is_multiple_of(lanes),
            _ => self.brush.iter().zip(group).all(|(&extent, size)| size.is_multiple_of(extent)),
        })
    }

    /// All lanes of all brushes of all groups.
    pub fn all_lanes(&self) -> u32 {
        self.group.map_or(self.lanes(), |group| group.iter().chain(&self.groups).product())
    }
}

/// Geometry: brush, group, groups.
fn geometry(random: &mut Random, is_kernel: bool, fixed: Option<u32>) -> ProgramInput {
    let brush = match fixed {
        Some(lanes) => vec![lanes],
        None if random.chance(35) => {
            let shapes: [&[u32]; 6] = [&[2, 2], &[4, 2], &[4, 4], &[8, 2], &[2, 4], &[2, 2, 2]];
            random.pick(&shapes).to_vec()
        }
        None => {
            vec![random.weighted(&[(1, 4), (2, 22), (4, 40), (8, 24), (3, 3), (16, 3), (32, 4)])]
        }
    };
    let mut group = None;
    let mut groups = [1; 3];
    if is_kernel {
        let mut size = [1; 3];
        size[..brush.len()].copy_from_slice(&brush);
        let along = random.below(brush.len());
        size[along] *= random.weighted(&[(1, 30), (2, 50), (3, 20)]);
        if random.chance(25) {
            // The group ends within a brush.
            let over = random.below(brush[along] as usize) as u32;
            size[along] -= over;
            // Its array has 128 elements.
            if brush.len() == 1 && size[0] <= 64 {
                size[1] = random.between(1, 2);
            }
        }
        group = Some(size);
        groups[0] = random.weighted(&[(1, 50), (2, 40), (3, 10)]);
        if brush.len() > 1 {
            groups[1] = random.between(1, 2);
        }
    }
    ProgramInput { brush, group, groups, args: Vec::new(), contents: Vec::new() }
}

/// An input for a program of this shape.
pub(super) fn input(random: &mut Random, shape: &InputShape) -> ProgramInput {
    let mut input = geometry(random, shape.is_kernel, shape.lanes);
    for param in &shape.params {
        let argument = match param.kind {
            ShapeKind::Object(index) => InputArgument::Object(index),
            ShapeKind::Uniform => InputArgument::Uniform(interesting_bits(random, param.scalar)),
            ShapeKind::Linear(stride) => {
                let base = interesting_bits(random, param.scalar);
                InputArgument::Linear(base, vec![stride])
            }
            ShapeKind::Varying => InputArgument::Varying(varying(random, param.scalar, input.lanes())),
        };
        input.args.push(argument);
    }
    // Private objects of a launched region are laid out for the widest launch.
    let all_lanes = input.all_lanes().max(shape.widest);
    for object in &shape.objects {
        let count = match object.owner {
            Owner::Lane(_) => object.len * all_lanes,
            _ => object.len,
        };
        let mut bytes = Vec::with_capacity((count * object.scalar.bytes()) as usize);
        for _ in 0..count {
            let bits = interesting_bits(random, object.scalar);
            bytes.extend_from_slice(&bits.to_le_bytes()[..object.scalar.bytes() as usize]);
        }
        input.contents.push(bytes);
    }
    input
}

/// A value for each lane, with some pattern or none.
fn varying(random: &mut Random, scalar: Scalar, lanes: u32) -> Vec<u128> {
    let pattern = random.below(4);
    let (a, b) = (interesting_bits(random, scalar), interesting_bits(random, scalar));
    (0..lanes)
        .map(|lane| match pattern {
            0 if random.chance(80) => a,
            1 => [a, b][lane as usize % 2],
            2 if scalar.is_int() => a.wrapping_add(lane.into()) & scalar.bit_mask(),
            _ => interesting_bits(random, scalar),
        })
        .collect()
}
