//! Plans that programs' handles stand for.

use crate::status::{
    ALLOC_FAILED, CufftError, CufftResult, INVALID_PLAN, INVALID_SIZE, INVALID_TYPE, INVALID_VALUE,
    NOT_SUPPORTED, ensure,
};
use heddle_fft::factors::radices;
use heddle_fft::sequence::Direction;
use heddle_fft::{ArrayLayout, ArrayTransform, FftReal, TransformKind};
use heddle_hostcall::Stream;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Handle of a plan: `cufftHandle`.
pub type PlanHandle = i32;

/// Numbers that a plan transforms: `cufftType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanType {
    /// Kind of the transform.
    pub kind: TransformKind,
    /// True for double precision.
    pub is_double: bool,
}

impl PlanType {
    /// Complex numbers.
    pub const C2C: PlanType = PlanType { kind: TransformKind::Complex, is_double: false };
    /// Real numbers into complex ones.
    pub const R2C: PlanType = PlanType { kind: TransformKind::RealToComplex, is_double: false };
    /// Complex numbers into real ones.
    pub const C2R: PlanType = PlanType { kind: TransformKind::ComplexToReal, is_double: false };

    /// Returns the type in double precision.
    pub const fn double(self) -> PlanType {
        PlanType { is_double: true, ..self }
    }

    /// Returns the type of a code.
    pub fn of(code: i32) -> CufftResult<PlanType> {
        let single = match code & !0x40 {
            0x29 => PlanType::C2C,
            0x2a => PlanType::R2C,
            0x2c => PlanType::C2R,
            _ => return Err(CufftError(INVALID_TYPE)),
        };
        Ok(if code & 0x40 == 0 { single } else { single.double() })
    }

    /// Returns the type for codes of `cudaDataType`.
    pub fn of_data(input: i32, output: i32, execution: i32) -> CufftResult<PlanType> {
        const R_32F: i32 = 0;
        const R_64F: i32 = 1;
        const C_32F: i32 = 4;
        const C_64F: i32 = 5;
        // R_16F, C_16F, R_16BF, C_16BF
        ensure(
            ![input, output, execution].iter().any(|code| matches!(code, 2 | 6 | 14 | 15)),
            NOT_SUPPORTED,
        )?;
        match (input, output, execution) {
            (C_32F, C_32F, C_32F) => Ok(PlanType::C2C),
            (R_32F, C_32F, C_32F) => Ok(PlanType::R2C),
            (C_32F, R_32F, C_32F) => Ok(PlanType::C2R),
            (C_64F, C_64F, C_64F) => Ok(PlanType::C2C.double()),
            (R_64F, C_64F, C_64F) => Ok(PlanType::R2C.double()),
            (C_64F, R_64F, C_64F) => Ok(PlanType::C2R.double()),
            _ => Err(CufftError(INVALID_TYPE)),
        }
    }
}

/// Arrangement that a program gives: sizes of the memory, distance of elements, and of arrays.
#[derive(Clone, Debug)]
pub struct EmbeddedArray {
    /// Sizes of the memory.
    pub sizes: Vec<i64>,
    /// Elements from one to the next.
    pub stride: i64,
    /// Elements from one array to the next.
    pub distance: i64,
}

/// Shape of a plan.
#[derive(Clone, Debug)]
pub struct PlanShape {
    /// Sizes of the dimensions.
    pub sizes: Vec<i64>,
    /// Arrangement of input and output, unless both are dense.
    pub embedded: Option<[EmbeddedArray; 2]>,
    /// Arrays.
    pub batch: i64,
}

/// Largest size of a dimension, and largest memory of an array in elements.
const LARGEST: [u64; 2] = [1 << 34, 1 << 56];

impl PlanShape {
    /// Checks numbers, and returns the sizes.
    pub fn checked(&self) -> CufftResult<Vec<usize>> {
        ensure((1..=3).contains(&self.sizes.len()), INVALID_VALUE)?;
        ensure(self.batch >= 1 && self.sizes.iter().all(|&size| size >= 1), INVALID_SIZE)?;
        let sizes: Vec<u64> = self.sizes.iter().map(|&size| size as u64).collect();
        ensure(sizes.iter().all(|&size| size <= LARGEST[0]), ALLOC_FAILED)?;
        let whole =
            |sizes: &[u64]| sizes.iter().try_fold(self.batch as u64, |all, &size| all.checked_mul(size));
        ensure(whole(&sizes).is_some_and(|all| all <= LARGEST[1]), INVALID_SIZE)?;
        for array in self.embedded.iter().flatten() {
            let fits = |number: i64| number >= 0 && (number as u64) < LARGEST[0];
            ensure(array.stride >= 1 && array.sizes.iter().all(|&size| size >= 1), INVALID_SIZE)?;
            ensure([array.stride, array.distance].into_iter().all(fits), INVALID_SIZE)?;
            let sizes: Vec<u64> = array.sizes.iter().map(|&size| size as u64).collect();
            ensure(whole(&sizes).is_some_and(|all| all <= LARGEST[1] >> 8), INVALID_SIZE)?;
        }
        Ok(sizes.into_iter().map(|size| size as usize).collect())
    }
}

/// Transform in either precision.
#[derive(Debug)]
enum PlannedTransform {
    Single(ArrayTransform<f32>),
    Double(ArrayTransform<f64>),
}

/// Plan with all that transforms need.
#[derive(Debug)]
pub struct ReadyPlan {
    /// Numbers that it transforms.
    pub numbers: PlanType,
    transform: PlannedTransform,
    /// Input and output.
    layouts: [ArrayLayout; 2],
    /// Arrangement of real numbers at the address of their spectra, whose rows are longer.
    padded: Option<ArrayLayout>,
}

/// Bytes that a plan takes for an element of a dimension, as doubles: with passes, and with a convolution, whose size is up to four times
/// as large.
const BYTES: [usize; 2] = [64, 512];

impl ReadyPlan {
    /// Makes a plan, if there is memory for it: an allocation that fails would end the process.
    pub fn new(shape: &PlanShape, numbers: PlanType) -> CufftResult<ReadyPlan> {
        let sizes = shape.checked()?;
        let bytes = |&size: &usize| size.saturating_mul(BYTES[usize::from(radices(size).is_none())]);
        let bytes = sizes.iter().map(bytes).fold(0, usize::saturating_add);
        heddle_hostcall::ready()?;
        ensure(bytes <= heddle_hostcall::free_memory()?, ALLOC_FAILED)?;
        let batch = shape.batch as usize;
        let dense = |last: usize| {
            let mut memory = sizes.clone();
            *memory.last_mut().expect("a plan has a dimension") = last;
            ArrayLayout::embedded(&memory, 1, memory.iter().product::<usize>() as isize)
        };
        let last = sizes[sizes.len() - 1];
        let (whole, half) = (dense(last), dense(last / 2 + 1));
        let mut padded = None;
        let layouts = if let Some(arrays) = &shape.embedded {
            arrays.each_ref().map(|array| {
                let memory: Vec<usize> = array.sizes.iter().map(|&size| size as usize).collect();
                ArrayLayout::embedded(&memory, array.stride as isize, array.distance as isize)
            })
        } else {
            padded = (numbers.kind != TransformKind::Complex).then(|| dense(2 * (last / 2 + 1)));
            match numbers.kind {
                TransformKind::Complex => [whole.clone(), whole],
                TransformKind::RealToComplex => [whole, half],
                TransformKind::ComplexToReal => [half, whole],
            }
        };
        let transform = if numbers.is_double {
            PlannedTransform::Double(ArrayTransform::new(&sizes, numbers.kind, batch))
        } else {
            PlannedTransform::Single(ArrayTransform::new(&sizes, numbers.kind, batch))
        };
        Ok(ReadyPlan { numbers, transform, layouts, padded })
    }

    /// Transforms.
    ///
    /// # Safety
    /// Input and output are there.
    pub unsafe fn run(&self, input: usize, output: usize, direction: Direction) {
        let [mut from, mut to] = self.layouts.each_ref();
        if let (true, Some(padded)) = (input == output, &self.padded) {
            match self.numbers.kind {
                TransformKind::RealToComplex => from = padded,
                _ => to = padded,
            }
        }
        // SAFETY: input and output are there.
        unsafe fn run<R: FftReal>(
            transform: &ArrayTransform<R>,
            [input, output]: [usize; 2],
            [from, to]: [&ArrayLayout; 2],
            direction: Direction,
        ) {
            let source = std::ptr::with_exposed_provenance(input);
            let target = std::ptr::with_exposed_provenance_mut(output);
            // SAFETY: the caller's promise.
            unsafe { transform.run(source, from, target, to, direction) }
        }
        // SAFETY: the caller's promise.
        unsafe {
            match &self.transform {
                PlannedTransform::Single(transform) => run(transform, [input, output], [from, to], direction),
                PlannedTransform::Double(transform) => run(transform, [input, output], [from, to], direction),
            }
        }
    }
}

/// State that a handle stands for.
#[derive(Clone, Debug, Default)]
pub struct PlanState {
    /// Stream of the transforms.
    pub stream: Stream,
    /// Shared with graphs that transform.
    pub ready: Option<Arc<ReadyPlan>>,
    /// Values that `cufftSetPlanPropertyInt64` set.
    pub properties: BTreeMap<i32, i64>,
}

impl PlanState {
    /// Returns the plan; a handle may have none yet.
    pub fn ready(&self) -> CufftResult<&Arc<ReadyPlan>> {
        self.ready.as_ref().ok_or(CufftError(INVALID_PLAN))
    }
}

/// Plans by their handles.
#[derive(Debug)]
pub struct PlanTable {
    plans: BTreeMap<PlanHandle, PlanState>,
    last: PlanHandle,
}

impl PlanTable {
    /// Locks the table.
    pub fn lock() -> MutexGuard<'static, PlanTable> {
        static TABLE: Mutex<PlanTable> = Mutex::new(PlanTable { plans: BTreeMap::new(), last: 0 });
        TABLE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a new handle.
    pub fn create(&mut self, state: PlanState) -> CufftResult<PlanHandle> {
        let free = |handle: &PlanHandle| !self.plans.contains_key(handle);
        let handle = (self.last.saturating_add(1)..=i32::MAX).chain(1..=self.last).find(free);
        let handle = handle.ok_or(CufftError(ALLOC_FAILED))?;
        self.last = handle;
        self.plans.insert(handle, state);
        Ok(handle)
    }

    /// Finds the state of a handle.
    pub fn of(&mut self, handle: PlanHandle) -> CufftResult<&mut PlanState> {
        self.plans.get_mut(&handle).ok_or(CufftError(INVALID_PLAN))
    }

    /// Ends a handle.
    pub fn destroy(&mut self, handle: PlanHandle) -> CufftResult<()> {
        self.plans.remove(&handle).map(|_| ()).ok_or(CufftError(INVALID_PLAN))
    }
}
