//! Meaning of facts as sets of lane vectors. Obvious and slow.

use heddle_analysis::shape::{Congruence, Fact, Geometry, NoWrap, Poison, Shape, Steps};

/// The lanes of a brush: the place of each.
#[derive(Clone, Debug)]
pub struct Lanes {
    pub places: Vec<Steps<i128>>,
    pub extents: Vec<u32>,
}

impl Lanes {
    pub fn new(extents: &[u32]) -> Lanes {
        let at = |dimension: usize| extents.get(dimension).copied().unwrap_or(1);
        let mut places = Vec::new();
        for w in 0..at(3) {
            for z in 0..at(2) {
                for y in 0..at(1) {
                    places.extend((0..at(0)).map(|x| [x, y, z, w].map(i128::from)));
                }
            }
        }
        Lanes { places, extents: extents.to_vec() }
    }

    pub fn count(&self) -> usize {
        self.places.len()
    }

    pub fn geometry(&self) -> Geometry {
        Geometry::brush(&self.extents)
    }

    /// Returns the distance of a lane from lane 0.
    pub fn distance(&self, lane: usize, steps: Steps<i64>) -> i128 {
        self.places[lane].iter().zip(steps).map(|(place, step)| place * i128::from(step)).sum()
    }
}

pub fn wrap(width: u32, number: i128) -> u128 {
    (number & ((1 << width) - 1)) as u128
}

pub fn signed(width: u32, number: u128) -> i128 {
    if number >> (width - 1) & 1 == 1 { number as i128 - (1 << width) } else { number as i128 }
}

pub fn contains(congruence: Congruence, number: i128) -> bool {
    wrap(congruence.bits(), number) == u128::from(congruence.residue())
}

/// Explains why a vector of lanes contradicts a fact of this width; poison and inactive lanes are `None`.
pub fn contradiction(
    fact: &Fact,
    width: u32,
    lanes: &Lanes,
    vector: &[Option<u128>],
) -> Option<&'static str> {
    let held = || vector.iter().enumerate().filter_map(|(lane, number)| number.map(|number| (lane, number)));
    match fact.shape {
        Shape::Undefined => held().next().is_some().then_some("a lane holds a value"),
        Shape::Varying { each } => {
            let all = held().all(|(_, number)| contains(each, number as i128));
            (!all).then_some("a lane is not in the congruence")
        }
        Shape::Strided { strides, base } => {
            let steps = strides.all();
            let mut bases =
                held().map(|(lane, number)| wrap(width, number as i128 - lanes.distance(lane, steps)));
            let first = bases.next()?;
            if bases.any(|base| base != first) {
                return Some("lanes are not on the line");
            }
            if !contains(base, first as i128) {
                return Some("the base is not in the congruence");
            }
            let is_straight = |read: &dyn Fn(u128) -> i128| {
                let mut bases = held().map(|(lane, number)| read(number) - lanes.distance(lane, steps));
                let first = bases.next();
                bases.all(|base| Some(base) == first)
            };
            if fact.no_wrap.unsigned && !is_straight(&|number| number as i128) {
                return Some("lanes wrap around, unsigned");
            }
            if fact.no_wrap.signed && !is_straight(&|number| signed(width, number)) {
                return Some("lanes wrap around, signed");
            }
            None
        }
    }
}

/// Explains why poison in these of the active lanes contradicts a fact.
pub fn poison_contradiction(fact: &Fact, active: usize, poisoned: usize) -> Option<&'static str> {
    match fact.poison {
        Poison::Never if poisoned > 0 => Some("a lane is poison"),
        Poison::Uniform if poisoned > 0 && poisoned < active => {
            Some("some lanes are poison, and some are not")
        }
        _ => None,
    }
}

pub fn congruences(width: u32) -> impl Iterator<Item = Congruence> + Clone {
    (0..=width).flat_map(|bits| (0..1i128 << bits).map(move |residue| Congruence::new(residue, bits)))
}

/// All shapes of this width that hold a value, with one stride per dimension of the brush.
pub fn shapes(width: u32, dimensions: usize) -> Vec<Shape> {
    let numbers = 1i128 << width;
    let mut shapes = Vec::new();
    let steps_of = |mut index: i128| {
        let mut steps = Steps::default();
        for step in steps.iter_mut().take(dimensions) {
            *step = index % numbers;
            index /= numbers;
        }
        steps
    };
    for index in 0..numbers.pow(dimensions as u32) {
        for base in congruences(width) {
            let shape = Shape::strided(width, steps_of(index), base);
            if !shape.is_varying() {
                shapes.push(shape);
            }
        }
    }
    for each in congruences(width).filter(|each| each.bits() < width) {
        shapes.push(Shape::varying(width, each));
    }
    shapes
}

/// Returns the shapes as facts, with every combination of straightness flags if requested.
pub fn facts(width: u32, dimensions: usize, with_straight: bool) -> Vec<Fact> {
    let mut facts = Vec::new();
    for shape in shapes(width, dimensions) {
        let plain = Fact::of_shape(shape);
        facts.push(plain);
        if with_straight && !shape.is_uniform() && !shape.is_varying() {
            for (unsigned, signed) in [(true, false), (false, true), (true, true)] {
                facts.push(Fact { no_wrap: NoWrap { unsigned, signed }, ..plain });
            }
        }
    }
    facts
}

/// Domain of an operand: vectors on lines, or any numbers lane by lane.
#[derive(Clone, Debug)]
pub enum Family {
    Vectors(Vec<Vec<u128>>),
    Each(Vec<u128>),
}

/// All that a fact allows in the active lanes. What is in other lanes does not count.
pub fn family(fact: &Fact, width: u32, lanes: &Lanes, active: u32) -> Family {
    match fact.shape {
        Shape::Undefined => Family::Vectors(Vec::new()),
        Shape::Varying { each } => {
            Family::Each((0..1u128 << width).filter(|&number| contains(each, number as i128)).collect())
        }
        Shape::Strided { strides, base } => {
            let vectors = (0..1i128 << width).filter(|&number| contains(base, number)).map(|number| {
                let lane = |lane| wrap(width, number + lanes.distance(lane, strides.all()));
                (0..lanes.count()).map(lane).collect::<Vec<u128>>()
            });
            let allowed = vectors.filter(|vector| {
                let seen: Vec<Option<u128>> = vector
                    .iter()
                    .enumerate()
                    .map(|(lane, &n)| (active >> lane & 1 == 1).then_some(n))
                    .collect();
                contradiction(fact, width, lanes, &seen).is_none()
            });
            Family::Vectors(allowed.collect())
        }
    }
}
