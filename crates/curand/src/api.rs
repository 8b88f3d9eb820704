//! The C interface: one function for each entry of `curand.h`.
#![allow(missing_docs)]

use crate::generator::{Algorithm, Generator};
use crate::poisson::{DiscreteDistribution, LARGEST_MEAN};
use crate::sobol;
use crate::status::{CurandError, CurandResult, NOT_INITIALIZED, OUT_OF_RANGE, TYPE_ERROR, ensure, put};
use heddle_hostcall::Stream;
use std::sync::{Arc, Mutex, PoisonError};

/// State that a program's generator stands for.
#[allow(missing_debug_implementations)]
pub struct GeneratorState {
    magic: u64,
    /// True if outputs are the host's, and written without the driver.
    is_host: bool,
    stream: Stream,
    /// Shared with graphs that generate numbers.
    generator: Arc<Mutex<Generator>>,
}

/// Handle of a generator.
pub type GeneratorHandle = *mut GeneratorState;

/// Distinguishes generators from other memory.
const MAGIC: u64 = 0x6865_6464_6c65_726e;

impl GeneratorState {
    /// Finds the state of a handle.
    ///
    /// # Safety
    /// The handle is of a generator, or null; nobody else uses the generator.
    unsafe fn of<'a>(handle: GeneratorHandle) -> CurandResult<&'a mut GeneratorState> {
        ensure(!handle.is_null() && handle.is_aligned(), NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        let state = unsafe { &mut *handle };
        ensure(state.magic == MAGIC, NOT_INITIALIZED)?;
        Ok(state)
    }

    /// Changes the generator's options.
    fn change(&self, change: impl FnOnce(&mut Generator) -> CurandResult<()>) -> CurandResult<()> {
        change(&mut self.generator.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes numbers: now, or in the order of the stream.
    ///
    /// # Safety
    /// The output has room.
    unsafe fn generate<V: 'static>(
        &self,
        output: *mut V,
        count: usize,
        fill: impl Fn(&mut Generator, &mut [V]) -> CurandResult<()> + 'static,
    ) -> CurandResult<()> {
        if count == 0 {
            return Ok(());
        }
        ensure(!output.is_null() && output.is_aligned(), OUT_OF_RANGE)?;
        let generator = self.generator.clone();
        let failed = Arc::new(Mutex::new(Ok(())));
        let outcome = failed.clone();
        let work = move || {
            // SAFETY: the caller's promise.
            let output = unsafe { std::slice::from_raw_parts_mut(output, count) };
            let result = fill(&mut generator.lock().unwrap_or_else(PoisonError::into_inner), output);
            *outcome.lock().unwrap_or_else(PoisonError::into_inner) = result;
        };
        if self.is_host {
            work();
        } else {
            heddle_hostcall::ready()?;
            heddle_hostcall::submit(self.stream, work)?;
        }
        *failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a generator.
///
/// # Safety
/// The place is there, or null.
unsafe fn create(place: *mut GeneratorHandle, kind: i32, is_host: bool) -> CurandResult<()> {
    // MTGP32 is refused: its parameters are a table that only NVIDIA's headers have.
    let algorithm = Algorithm::of(kind).ok_or(CurandError(TYPE_ERROR))?;
    ensure(!place.is_null(), OUT_OF_RANGE)?;
    if !is_host {
        heddle_hostcall::ready()?;
    }
    let generator = Arc::new(Mutex::new(Generator::new(algorithm)));
    let state = GeneratorState { magic: MAGIC, is_host, stream: 0, generator };
    // SAFETY: the caller's promise.
    unsafe { put(place, Box::into_raw(Box::new(state))) }
}

/// Version of the interface: major, minor, patch.
const VERSION: [i32; 3] = [10, 4, 0];

heddle_hostcall::library_entries! {
    fn curandCreateGenerator(generator: *mut GeneratorHandle, kind: i32) {
        create(generator, kind, false)
    }
    fn curandCreateGeneratorHost(generator: *mut GeneratorHandle, kind: i32) {
        create(generator, kind, true)
    }
    fn curandDestroyGenerator(generator: GeneratorHandle) {
        GeneratorState::of(generator)?.magic = 0;
        drop(Box::from_raw(generator));
        Ok(())
    }
    fn curandGetVersion(version: *mut i32) {
        let [major, minor, patch] = VERSION;
        put(version, major * 1000 + minor * 100 + patch)
    }
    fn curandGetProperty(kind: i32, value: *mut i32) {
        ensure((0..3).contains(&kind), OUT_OF_RANGE)?;
        put(value, VERSION[kind as usize])
    }
    fn curandSetStream(generator: GeneratorHandle, stream: Stream) {
        GeneratorState::of(generator)?.stream = stream;
        Ok(())
    }
    fn curandSetPseudoRandomGeneratorSeed(generator: GeneratorHandle, seed: u64) {
        GeneratorState::of(generator)?.change(|generator| {
            ensure(!generator.algorithm().is_quasi(), TYPE_ERROR)?;
            generator.set_seed(seed);
            Ok(())
        })
    }
    fn curandSetGeneratorOffset(generator: GeneratorHandle, offset: u64) {
        GeneratorState::of(generator)?.change(|generator| {
            ensure(generator.algorithm() != Algorithm::Mt19937, TYPE_ERROR)?;
            generator.set_position(offset);
            Ok(())
        })
    }
    fn curandSetGeneratorOrdering(generator: GeneratorHandle, ordering: i32) {
        GeneratorState::of(generator)?.change(|generator| {
            let known = if generator.algorithm().is_quasi() { 201..=201 } else { 100..=104 };
            ensure(known.contains(&ordering), OUT_OF_RANGE)?;
            generator.set_ordering(ordering);
            Ok(())
        })
    }
    fn curandSetQuasiRandomGeneratorDimensions(generator: GeneratorHandle, dimensions: u32) {
        GeneratorState::of(generator)?.change(|generator| {
            ensure(generator.algorithm().is_quasi(), TYPE_ERROR)?;
            ensure((1..=sobol::DIMENSIONS).contains(&(dimensions as usize)), OUT_OF_RANGE)?;
            generator.set_dimensions(dimensions as usize);
            Ok(())
        })
    }
    fn curandGenerateSeeds(generator: GeneratorHandle) {
        // States are made when numbers are.
        GeneratorState::of(generator).map(|_| ())
    }
    fn curandGenerate(generator: GeneratorHandle, output: *mut u32, count: usize) {
        let state = GeneratorState::of(generator)?;
        state.change(|generator| ensure(!matches!(generator.algorithm(), Algorithm::Sobol { is_wide: true, .. }), TYPE_ERROR))?;
        state.generate(output, count, |generator, output| Ok(generator.bits(output)?))
    }
    fn curandGenerateLongLong(generator: GeneratorHandle, output: *mut u64, count: usize) {
        let state = GeneratorState::of(generator)?;
        state.change(|generator| ensure(matches!(generator.algorithm(), Algorithm::Sobol { is_wide: true, .. }), TYPE_ERROR))?;
        state.generate(output, count, |generator, output| Ok(generator.wide_bits(output)?))
    }
    fn curandGenerateUniform(generator: GeneratorHandle, output: *mut f32, count: usize) {
        GeneratorState::of(generator)?.generate(output, count, |generator, output| Ok(generator.uniform(output)?))
    }
    fn curandGenerateUniformDouble(generator: GeneratorHandle, output: *mut f64, count: usize) {
        GeneratorState::of(generator)?.generate(output, count, |generator, output| Ok(generator.uniform_double(output)?))
    }
    fn curandGenerateNormal(generator: GeneratorHandle, output: *mut f32, count: usize, mean: f32, stddev: f32) {
        GeneratorState::of(generator)?
            .generate(output, count, move |generator, output| Ok(generator.normal(output, |x| mean + stddev * x)?))
    }
    fn curandGenerateNormalDouble(generator: GeneratorHandle, output: *mut f64, count: usize, mean: f64, stddev: f64) {
        GeneratorState::of(generator)?
            .generate(output, count, move |generator, output| Ok(generator.normal_double(output, |x| mean + stddev * x)?))
    }
    fn curandGenerateLogNormal(generator: GeneratorHandle, output: *mut f32, count: usize, mean: f32, stddev: f32) {
        GeneratorState::of(generator)?
            .generate(output, count, move |generator, output| Ok(generator.normal(output, |x| (mean + stddev * x).exp())?))
    }
    fn curandGenerateLogNormalDouble(generator: GeneratorHandle, output: *mut f64, count: usize, mean: f64, stddev: f64) {
        GeneratorState::of(generator)?
            .generate(output, count, move |generator, output| Ok(generator.normal_double(output, |x| (mean + stddev * x).exp())?))
    }
    fn curandGeneratePoisson(generator: GeneratorHandle, output: *mut u32, count: usize, mean: f64) {
        let state = GeneratorState::of(generator)?;
        ensure(mean > 0.0 && mean <= LARGEST_MEAN, OUT_OF_RANGE)?;
        let distribution = DiscreteDistribution::poisson(mean);
        state.generate(output, count, move |generator, output| Ok(generator.discrete(output, &distribution)?))
    }
    fn curandGeneratePoissonMethod(generator: GeneratorHandle, output: *mut u32, count: usize, mean: f64, _method: i32) {
        // All methods draw from the same distribution.
        let state = GeneratorState::of(generator)?;
        ensure(mean > 0.0 && mean <= LARGEST_MEAN, OUT_OF_RANGE)?;
        let distribution = DiscreteDistribution::poisson(mean);
        state.generate(output, count, move |generator, output| Ok(generator.discrete(output, &distribution)?))
    }
    fn curandGenerateBinomial(_generator: GeneratorHandle, _output: *mut u32, _count: usize, _trials: u32, _share: f64) {
        Err(CurandError(TYPE_ERROR))
    }
    fn curandGenerateBinomialMethod(
        _generator: GeneratorHandle, _output: *mut u32, _count: usize, _trials: u32, _share: f64, _method: i32,
    ) {
        Err(CurandError(TYPE_ERROR))
    }
    fn curandCreatePoissonDistribution(mean: f64, place: *mut *mut DiscreteDistribution) {
        ensure(mean > 0.0 && mean <= LARGEST_MEAN, OUT_OF_RANGE)?;
        ensure(!place.is_null(), OUT_OF_RANGE)?;
        put(place, Box::into_raw(DiscreteDistribution::poisson(mean)))
    }
    fn curandDestroyDistribution(distribution: *mut DiscreteDistribution) {
        ensure(!distribution.is_null(), NOT_INITIALIZED)?;
        drop(Box::from_raw(distribution));
        Ok(())
    }
    fn curandGetDirectionVectors32(vectors: *mut *const [u32; 32], set: i32) {
        ensure(matches!(set, 101 | 102), OUT_OF_RANGE)?;
        put(vectors, sobol::vectors32(set == 102).as_ptr())
    }
    fn curandGetDirectionVectors64(vectors: *mut *const [u64; 64], set: i32) {
        ensure(matches!(set, 103 | 104), OUT_OF_RANGE)?;
        put(vectors, sobol::vectors64(set == 104).as_ptr())
    }
    fn curandGetScrambleConstants32(constants: *mut *const u32) {
        put(constants, sobol::constants32().as_ptr())
    }
    fn curandGetScrambleConstants64(constants: *mut *const u64) {
        put(constants, sobol::constants64().as_ptr())
    }
}
