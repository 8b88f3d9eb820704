//! Generators: their options, and arrays of numbers.

use crate::distributions::{
    angle, normal_pair, normal_pair_double, normal_quantile, uniform, uniform_double, uniform_double_of_two,
    uniform_double_wide,
};
use crate::mrg32k3a::{self, Mrg32k3a};
use crate::mt19937::Mt19937;
use crate::poisson::DiscreteDistribution;
use crate::sequences::{DrawPosition, Draws, SequenceRows};
use crate::sobol;
use crate::xorwow::Xorwow;

/// Algorithm of a generator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// `CURAND_RNG_PSEUDO_XORWOW`
    Xorwow,
    /// `CURAND_RNG_PSEUDO_MRG32K3A`
    Mrg32k3a,
    /// `CURAND_RNG_PSEUDO_MT19937`
    Mt19937,
    /// `CURAND_RNG_PSEUDO_PHILOX4_32_10`
    Philox,
    /// Sobol sequences of 32 or 64 bits, scrambled or not.
    Sobol {
        /// True for 64 bits.
        is_wide: bool,
        /// True if scrambled.
        is_scrambled: bool,
    },
}

impl Algorithm {
    /// Reads `curandRngType`.
    pub fn of(kind: i32) -> Option<Algorithm> {
        Some(match kind {
            100 | 101 => Algorithm::Xorwow,
            121 => Algorithm::Mrg32k3a,
            142 => Algorithm::Mt19937,
            161 => Algorithm::Philox,
            200 | 201 => Algorithm::Sobol { is_wide: false, is_scrambled: false },
            202 => Algorithm::Sobol { is_wide: false, is_scrambled: true },
            203 => Algorithm::Sobol { is_wide: true, is_scrambled: false },
            204 => Algorithm::Sobol { is_wide: true, is_scrambled: true },
            _ => return None,
        })
    }

    /// True for quasirandom sequences.
    pub fn is_quasi(self) -> bool {
        matches!(self, Algorithm::Sobol { .. })
    }
}

/// `CURAND_ORDERING_PSEUDO_LEGACY`
pub const ORDERING_LEGACY: i32 = 103;
/// `CURAND_ORDERING_PSEUDO_DEFAULT`
pub const ORDERING_DEFAULT: i32 = 101;
/// Sequences that MRG32k3a deals outputs to, and in the legacy ordering.
const MRG_SEQUENCES: usize = 81_920;
const MRG_LEGACY_SEQUENCES: usize = 4_096;

/// Generator with its position.
#[allow(missing_debug_implementations)]
pub struct Generator {
    algorithm: Algorithm,
    seed: u64,
    ordering: i32,
    dimensions: usize,
    /// Position of the next output; of quasirandom sequences the next point.
    position: DrawPosition,
    /// Source of draws, once one is needed.
    draws: Option<Draws>,
}

/// Error of an array of numbers: the length does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthError;

impl Generator {
    /// Returns a generator with default options.
    pub fn new(algorithm: Algorithm) -> Generator {
        Generator {
            algorithm,
            seed: 0,
            ordering: ORDERING_DEFAULT,
            dimensions: 1,
            position: DrawPosition::default(),
            draws: None,
        }
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Begins again with a seed.
    pub fn set_seed(&mut self, seed: u64) {
        (self.seed, self.position, self.draws) = (seed, DrawPosition::default(), None);
    }

    /// Goes to a position.
    pub fn set_position(&mut self, position: u64) {
        self.position = DrawPosition { offset: position, outputs: 0 };
    }

    /// Chooses an arrangement of outputs.
    pub fn set_ordering(&mut self, ordering: i32) {
        (self.ordering, self.draws) = (ordering, None);
    }

    /// Sets the number of dimensions.
    pub fn set_dimensions(&mut self, dimensions: usize) {
        (self.dimensions, self.position) = (dimensions, DrawPosition::default());
    }

    fn draws(&mut self) -> &mut Draws {
        let (seed, algorithm, ordering) = (self.seed, self.algorithm, self.ordering);
        self.draws.get_or_insert_with(|| match algorithm {
            Algorithm::Xorwow => Draws::Rows(SequenceRows::new(Xorwow::new(seed))),
            Algorithm::Mrg32k3a => {
                let sequences =
                    if ordering == ORDERING_LEGACY { MRG_LEGACY_SEQUENCES } else { MRG_SEQUENCES };
                Draws::Rows(SequenceRows::new(Mrg32k3a::new(seed, sequences)))
            }
            Algorithm::Philox => Draws::Philox { seed },
            Algorithm::Mt19937 | Algorithm::Sobol { .. } => Draws::Twister(Mt19937::new(seed)),
        })
    }

    /// Writes outputs that are made of units of draws, each of `OUTPUTS`.
    fn fill<V, const WIDTH: usize, const OUTPUTS: usize>(
        &mut self,
        output: &mut [V],
        of: impl Fn([u32; WIDTH]) -> [V; OUTPUTS],
    ) {
        let mut places = output.iter_mut();
        let count = (places.len() / OUTPUTS) as u64;
        let position = self.position;
        self.draws().units::<WIDTH, OUTPUTS>(position, count, |draws| {
            for (value, place) in of(draws).into_iter().zip(places.by_ref()) {
                *place = value;
            }
        });
        self.position.outputs += count * OUTPUTS as u64;
    }

    /// Writes points of all dimensions, one dimension after the other.
    fn fill_points<V>(&mut self, output: &mut [V], of: impl Fn(u64) -> V) -> Result<(), LengthError> {
        let Algorithm::Sobol { is_scrambled, .. } = self.algorithm else { return Err(LengthError) };
        if !output.len().is_multiple_of(self.dimensions) {
            return Err(LengthError);
        }
        let count = output.len() / self.dimensions;
        let first = self.position.offset + self.position.outputs;
        for dimension in 0..self.dimensions {
            let mut places = output[dimension * count..(dimension + 1) * count].iter_mut();
            sobol::points(dimension, is_scrambled, first, count as u64, |point| {
                if let Some(place) = places.next() {
                    *place = of(point);
                }
            });
        }
        self.position.outputs += count as u64;
        Ok(())
    }

    /// Writes 32 random bits each.
    ///
    /// # Errors
    /// The length is no multiple of the dimensions.
    pub fn bits(&mut self, output: &mut [u32]) -> Result<(), LengthError> {
        match self.algorithm {
            Algorithm::Sobol { .. } => return self.fill_points(output, |point| (point >> 32) as u32),
            Algorithm::Mrg32k3a => self.fill::<_, 1, 1>(output, |[state]| [mrg_bits(state)]),
            _ => self.fill::<_, 1, 1>(output, |bits| bits),
        }
        Ok(())
    }

    /// Writes 64 random bits each, which quasirandom sequences of 64 bits have.
    ///
    /// # Errors
    /// The length is no multiple of the dimensions.
    pub fn wide_bits(&mut self, output: &mut [u64]) -> Result<(), LengthError> {
        self.fill_points(output, |point| point)
    }

    /// Writes uniform floats.
    ///
    /// # Errors
    /// The length is no multiple of the dimensions.
    pub fn uniform(&mut self, output: &mut [f32]) -> Result<(), LengthError> {
        match self.algorithm {
            Algorithm::Sobol { .. } => {
                return self.fill_points(output, |point| uniform((point >> 32) as u32));
            }
            Algorithm::Mrg32k3a => self.fill::<_, 1, 1>(output, |[state]| [mrg_uniform(state) as f32]),
            _ => self.fill::<_, 1, 1>(output, |[bits]| [uniform(bits)]),
        }
        Ok(())
    }

    /// Writes uniform doubles.
    ///
    /// # Errors
    /// The length is no multiple of the dimensions.
    pub fn uniform_double(&mut self, output: &mut [f64]) -> Result<(), LengthError> {
        match self.algorithm {
            Algorithm::Sobol { is_wide, .. } => {
                return self.fill_points(output, |point| share(point, is_wide));
            }
            Algorithm::Mrg32k3a => self.fill::<_, 1, 1>(output, |[state]| [mrg_uniform(state)]),
            _ => self.fill::<_, 2, 1>(output, |draws| [uniform_double_of_two(draws)]),
        }
        Ok(())
    }

    /// Writes normal floats.
    ///
    /// # Errors
    /// The length is odd, or no multiple of the dimensions.
    pub fn normal(&mut self, output: &mut [f32], of: impl Fn(f32) -> f32) -> Result<(), LengthError> {
        match self.algorithm {
            Algorithm::Sobol { .. } => {
                return self.fill_points(output, |point| of(normal_quantile(middle(point)) as f32));
            }
            _ if !output.len().is_multiple_of(2) => return Err(LengthError),
            Algorithm::Mrg32k3a => self.fill::<_, 2, 2>(output, |[x, y]| {
                let turn = mrg_uniform(y) as f32 * std::f32::consts::TAU;
                normal_pair(mrg_uniform(x) as f32, turn).map(&of)
            }),
            _ => self.fill::<_, 2, 2>(output, |[x, y]| normal_pair(uniform(x), angle(y)).map(&of)),
        }
        Ok(())
    }

    /// Writes normal doubles.
    ///
    /// # Errors
    /// The length is odd, or no multiple of the dimensions.
    pub fn normal_double(&mut self, output: &mut [f64], of: impl Fn(f64) -> f64) -> Result<(), LengthError> {
        match self.algorithm {
            Algorithm::Sobol { is_wide, .. } => {
                return self.fill_points(output, |point| {
                    of(normal_quantile(if is_wide { uniform_double_wide(point) } else { middle(point) }))
                });
            }
            _ if !output.len().is_multiple_of(2) => return Err(LengthError),
            Algorithm::Mrg32k3a => {
                self.fill::<_, 2, 2>(output, |[x, y]| {
                    normal_pair_double(mrg_uniform(x), mrg_uniform(y)).map(&of)
                });
            }
            _ => self.fill::<_, 4, 2>(output, |[a, b, c, d]| {
                normal_pair_double(uniform_double_of_two([a, b]), uniform_double_of_two([c, d])).map(&of)
            }),
        }
        Ok(())
    }

    /// Writes numbers of a discrete distribution.
    ///
    /// # Errors
    /// The length is no multiple of the dimensions.
    pub fn discrete(
        &mut self,
        output: &mut [u32],
        distribution: &DiscreteDistribution,
    ) -> Result<(), LengthError> {
        match self.algorithm {
            Algorithm::Sobol { .. } => {
                return self.fill_points(output, |point| distribution.value((point >> 32) as u32));
            }
            Algorithm::Mrg32k3a => {
                self.fill::<_, 1, 1>(output, |[state]| [distribution.value(mrg_bits(state))])
            }
            _ => self.fill::<_, 1, 1>(output, |[bits]| [distribution.value(bits)]),
        }
        Ok(())
    }
}

fn mrg_bits(state: u32) -> u32 {
    (f64::from(state) * mrg32k3a::BITS_NORM) as u32
}

fn mrg_uniform(state: u32) -> f64 {
    f64::from(state) * mrg32k3a::NORM
}

/// Returns the middle of the numbers with the upper 32 bits of a point, as a share between 0 and 1.
fn middle(point: u64) -> f64 {
    uniform_double((point >> 32) as u32) - uniform_double(0) / 2.0
}

/// Returns a quasirandom point as a share between 0 and 1.
fn share(point: u64, is_wide: bool) -> f64 {
    if is_wide { uniform_double_wide(point) } else { uniform_double((point >> 32) as u32) }
}
