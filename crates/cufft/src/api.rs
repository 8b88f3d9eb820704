//! The C interface: one function for each entry of `cufft.h` and `cufftXt.h`.
//!
//! Transforms need no work area of the program: sizes are 0.
#![allow(missing_docs)]

use crate::VERSION;
use crate::plan::{EmbeddedArray, PlanHandle, PlanShape, PlanState, PlanTable, PlanType, ReadyPlan};
use crate::status::{CufftError, CufftResult, INVALID_PLAN, INVALID_VALUE, ensure, put};
use heddle_fft::TransformKind;
use heddle_fft::sequence::Direction;
use heddle_hostcall::Stream;
use std::ffi::c_void;
use std::sync::Arc;

/// Reads some integers; a null pointer is an error.
///
/// # Safety
/// They are there, or the pointer is null.
unsafe fn integers<I: Copy + Into<i64>>(from: *const I, rank: i32) -> CufftResult<Vec<i64>> {
    ensure((1..=3).contains(&rank) && !from.is_null(), INVALID_VALUE)?;
    // SAFETY: the caller's promise.
    Ok((0..rank as usize).map(|i| unsafe { from.add(i).read_unaligned() }.into()).collect())
}

/// Arrangement argument of an entry: sizes of the memory, stride and distance.
type EmbeddedArguments<I> = (*const I, I, I);

/// Reads the shape of a plan. Without either of the memory's sizes, both arrangements are dense.
///
/// # Safety
/// Integers are there, or null.
unsafe fn shape<I: Copy + Into<i64>>(
    rank: i32,
    sizes: *const I,
    input: EmbeddedArguments<I>,
    output: EmbeddedArguments<I>,
    batch: I,
) -> CufftResult<PlanShape> {
    // SAFETY: the caller's promise.
    unsafe {
        let embedded = |(sizes, stride, distance): EmbeddedArguments<I>| -> CufftResult<EmbeddedArray> {
            Ok(EmbeddedArray {
                sizes: integers(sizes, rank)?,
                stride: stride.into(),
                distance: distance.into(),
            })
        };
        Ok(PlanShape {
            sizes: integers(sizes, rank)?,
            embedded: if input.0.is_null() || output.0.is_null() {
                None
            } else {
                Some([embedded(input)?, embedded(output)?])
            },
            batch: batch.into(),
        })
    }
}

fn dense(sizes: &[i32], batch: i32) -> PlanShape {
    PlanShape { sizes: sizes.iter().map(|&size| size.into()).collect(), embedded: None, batch: batch.into() }
}

/// Makes a plan with a handle of its own.
///
/// # Safety
/// The place is there, or null.
unsafe fn create(place: *mut PlanHandle, shape: &PlanShape, numbers: PlanType) -> CufftResult<()> {
    ensure(!place.is_null(), INVALID_VALUE)?;
    let ready = Some(Arc::new(ReadyPlan::new(shape, numbers)?));
    let handle = PlanTable::lock().create(PlanState { ready, ..PlanState::default() })?;
    // SAFETY: the caller's promise.
    unsafe { put(place, handle) }
}

/// Makes the plan of a handle, which has none yet.
///
/// # Safety
/// The place is there, or null.
unsafe fn make(
    handle: PlanHandle,
    shape: &PlanShape,
    numbers: PlanType,
    work_size: *mut usize,
) -> CufftResult<()> {
    ensure(PlanTable::lock().of(handle)?.ready.is_none(), INVALID_PLAN)?;
    ensure(!work_size.is_null(), INVALID_VALUE)?;
    let ready = Arc::new(ReadyPlan::new(shape, numbers)?);
    PlanTable::lock().of(handle)?.ready = Some(ready);
    // SAFETY: the caller's promise.
    unsafe { put(work_size, 0) }
}

/// Checks a shape, and writes the size of the work area.
///
/// # Safety
/// The place is there, or null.
unsafe fn estimate(shape: &PlanShape, code: i32, work_size: *mut usize) -> CufftResult<()> {
    PlanType::of(code)?;
    shape.checked()?;
    // SAFETY: the caller's promise.
    unsafe { put(work_size, 0) }
}

/// Transforms in the order of the plan's stream. Without a type, the plan's own is right.
///
/// # Safety
/// Input and output are there.
unsafe fn execute(
    handle: PlanHandle,
    numbers: Option<PlanType>,
    input: *mut c_void,
    output: *mut c_void,
    direction: i32,
) -> CufftResult<()> {
    let (plan, stream) = {
        let mut table = PlanTable::lock();
        let state = table.of(handle)?;
        (state.ready()?.clone(), state.stream)
    };
    ensure(numbers.is_none_or(|numbers| numbers == plan.numbers), INVALID_PLAN)?;
    ensure(!input.is_null() && !output.is_null(), INVALID_VALUE)?;
    let direction = match (plan.numbers.kind, direction) {
        (TransformKind::RealToComplex, _) | (TransformKind::Complex, -1) => Direction::Forward,
        (TransformKind::ComplexToReal, _) | (TransformKind::Complex, 1) => Direction::Inverse,
        _ => return Err(CufftError(INVALID_VALUE)),
    };
    heddle_hostcall::ready()?;
    let (input, output) = (input.expose_provenance(), output.expose_provenance());
    let alignment = if plan.numbers.is_double { align_of::<f64>() } else { align_of::<f32>() };
    ensure(input.is_multiple_of(alignment) && output.is_multiple_of(alignment), INVALID_VALUE)?;
    // SAFETY: the caller's promise.
    heddle_hostcall::submit(stream, move || unsafe { plan.run(input, output, direction) })?;
    Ok(())
}

heddle_hostcall::library_entries! {
    fn cufftPlan1d(plan: *mut PlanHandle, nx: i32, code: i32, batch: i32) {
        create(plan, &dense(&[nx], batch), PlanType::of(code)?)
    }
    fn cufftPlan2d(plan: *mut PlanHandle, nx: i32, ny: i32, code: i32) {
        create(plan, &dense(&[nx, ny], 1), PlanType::of(code)?)
    }
    fn cufftPlan3d(plan: *mut PlanHandle, nx: i32, ny: i32, nz: i32, code: i32) {
        create(plan, &dense(&[nx, ny, nz], 1), PlanType::of(code)?)
    }
    fn cufftPlanMany(
        plan: *mut PlanHandle, rank: i32, n: *const i32, inembed: *const i32, istride: i32, idist: i32,
        onembed: *const i32, ostride: i32, odist: i32, code: i32, batch: i32,
    ) {
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        create(plan, &shape, PlanType::of(code)?)
    }
    fn cufftCreate(handle: *mut PlanHandle) {
        ensure(!handle.is_null(), INVALID_VALUE)?;
        heddle_hostcall::ready()?;
        let new = PlanTable::lock().create(PlanState::default())?;
        put(handle, new)
    }
    fn cufftDestroy(plan: PlanHandle) {
        PlanTable::lock().destroy(plan)
    }
    fn cufftMakePlan1d(plan: PlanHandle, nx: i32, code: i32, batch: i32, work_size: *mut usize) {
        make(plan, &dense(&[nx], batch), PlanType::of(code)?, work_size)
    }
    fn cufftMakePlan2d(plan: PlanHandle, nx: i32, ny: i32, code: i32, work_size: *mut usize) {
        make(plan, &dense(&[nx, ny], 1), PlanType::of(code)?, work_size)
    }
    fn cufftMakePlan3d(plan: PlanHandle, nx: i32, ny: i32, nz: i32, code: i32, work_size: *mut usize) {
        make(plan, &dense(&[nx, ny, nz], 1), PlanType::of(code)?, work_size)
    }
    fn cufftMakePlanMany(
        plan: PlanHandle, rank: i32, n: *const i32, inembed: *const i32, istride: i32, idist: i32,
        onembed: *const i32, ostride: i32, odist: i32, code: i32, batch: i32, work_size: *mut usize,
    ) {
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        make(plan, &shape, PlanType::of(code)?, work_size)
    }
    fn cufftMakePlanMany64(
        plan: PlanHandle, rank: i32, n: *const i64, inembed: *const i64, istride: i64, idist: i64,
        onembed: *const i64, ostride: i64, odist: i64, code: i32, batch: i64, work_size: *mut usize,
    ) {
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        make(plan, &shape, PlanType::of(code)?, work_size)
    }
    fn cufftXtMakePlanMany(
        plan: PlanHandle, rank: i32, n: *const i64, inembed: *const i64, istride: i64, idist: i64, input: i32,
        onembed: *const i64, ostride: i64, odist: i64, output: i32, batch: i64, work_size: *mut usize, execution: i32,
    ) {
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        make(plan, &shape, PlanType::of_data(input, output, execution)?, work_size)
    }
    fn cufftEstimate1d(nx: i32, code: i32, batch: i32, work_size: *mut usize) {
        estimate(&dense(&[nx], batch), code, work_size)
    }
    fn cufftEstimate2d(nx: i32, ny: i32, code: i32, work_size: *mut usize) {
        estimate(&dense(&[nx, ny], 1), code, work_size)
    }
    fn cufftEstimate3d(nx: i32, ny: i32, nz: i32, code: i32, work_size: *mut usize) {
        estimate(&dense(&[nx, ny, nz], 1), code, work_size)
    }
    fn cufftEstimateMany(
        rank: i32, n: *const i32, inembed: *const i32, istride: i32, idist: i32, onembed: *const i32, ostride: i32,
        odist: i32, code: i32, batch: i32, work_size: *mut usize,
    ) {
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        estimate(&shape, code, work_size)
    }
    fn cufftGetSize1d(handle: PlanHandle, nx: i32, code: i32, batch: i32, work_size: *mut usize) {
        PlanTable::lock().of(handle)?;
        estimate(&dense(&[nx], batch), code, work_size)
    }
    fn cufftGetSize2d(handle: PlanHandle, nx: i32, ny: i32, code: i32, work_size: *mut usize) {
        PlanTable::lock().of(handle)?;
        estimate(&dense(&[nx, ny], 1), code, work_size)
    }
    fn cufftGetSize3d(handle: PlanHandle, nx: i32, ny: i32, nz: i32, code: i32, work_size: *mut usize) {
        PlanTable::lock().of(handle)?;
        estimate(&dense(&[nx, ny, nz], 1), code, work_size)
    }
    fn cufftGetSizeMany(
        handle: PlanHandle, rank: i32, n: *const i32, inembed: *const i32, istride: i32, idist: i32,
        onembed: *const i32, ostride: i32, odist: i32, code: i32, batch: i32, work_size: *mut usize,
    ) {
        PlanTable::lock().of(handle)?;
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        estimate(&shape, code, work_size)
    }
    fn cufftGetSizeMany64(
        handle: PlanHandle, rank: i32, n: *const i64, inembed: *const i64, istride: i64, idist: i64,
        onembed: *const i64, ostride: i64, odist: i64, code: i32, batch: i64, work_size: *mut usize,
    ) {
        PlanTable::lock().of(handle)?;
        let shape = shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?;
        estimate(&shape, code, work_size)
    }
    fn cufftXtGetSizeMany(
        handle: PlanHandle, rank: i32, n: *const i64, inembed: *const i64, istride: i64, idist: i64, input: i32,
        onembed: *const i64, ostride: i64, odist: i64, output: i32, batch: i64, work_size: *mut usize, execution: i32,
    ) {
        PlanTable::lock().of(handle)?;
        PlanType::of_data(input, output, execution)?;
        shape(rank, n, (inembed, istride, idist), (onembed, ostride, odist), batch)?.checked()?;
        put(work_size, 0)
    }
    fn cufftGetSize(handle: PlanHandle, work_size: *mut usize) {
        PlanTable::lock().of(handle)?.ready()?;
        put(work_size, 0)
    }
    fn cufftSetWorkArea(plan: PlanHandle, _area: *mut c_void) {
        PlanTable::lock().of(plan).map(|_| ())
    }
    fn cufftXtSetWorkArea(plan: PlanHandle, _areas: *mut *mut c_void) {
        PlanTable::lock().of(plan).map(|_| ())
    }
    fn cufftSetAutoAllocation(plan: PlanHandle, _is_automatic: i32) {
        PlanTable::lock().of(plan).map(|_| ())
    }
    fn cufftXtSetWorkAreaPolicy(plan: PlanHandle, policy: i32, work_size: *mut usize) {
        PlanTable::lock().of(plan)?;
        ensure((0..=2).contains(&policy), INVALID_VALUE)?;
        if work_size.is_null() { Ok(()) } else { put(work_size, 0) }
    }
    fn cufftSetStream(plan: PlanHandle, stream: Stream) {
        PlanTable::lock().of(plan)?.stream = stream;
        Ok(())
    }
    fn cufftSetPlanPropertyInt64(plan: PlanHandle, property: i32, value: i64) {
        let mut table = PlanTable::lock();
        let state = table.of(plan)?;
        ensure(state.ready.is_none(), INVALID_PLAN)?;
        ensure((1..=4).contains(&property), INVALID_VALUE)?;
        state.properties.insert(property, value);
        Ok(())
    }
    fn cufftGetPlanPropertyInt64(plan: PlanHandle, property: i32, value: *mut i64) {
        let mut table = PlanTable::lock();
        let state = table.of(plan)?;
        ensure((1..=4).contains(&property), INVALID_VALUE)?;
        put(value, state.properties.get(&property).copied().unwrap_or(0))
    }
    fn cufftResetPlanProperty(plan: PlanHandle, property: i32) {
        let mut table = PlanTable::lock();
        let state = table.of(plan)?;
        ensure(state.ready.is_none(), INVALID_PLAN)?;
        ensure((1..=4).contains(&property), INVALID_VALUE)?;
        state.properties.remove(&property);
        Ok(())
    }
    fn cufftGetVersion(version: *mut i32) {
        let [major, minor, patch] = VERSION;
        put(version, major * 1000 + minor * 100 + patch)
    }
    fn cufftGetProperty(kind: i32, value: *mut i32) {
        ensure((0..3).contains(&kind), INVALID_VALUE)?;
        put(value, VERSION[kind as usize])
    }
    fn cufftExecC2C(plan: PlanHandle, input: *mut c_void, output: *mut c_void, direction: i32) {
        execute(plan, Some(PlanType::C2C), input, output, direction)
    }
    fn cufftExecR2C(plan: PlanHandle, input: *mut c_void, output: *mut c_void) {
        execute(plan, Some(PlanType::R2C), input, output, -1)
    }
    fn cufftExecC2R(plan: PlanHandle, input: *mut c_void, output: *mut c_void) {
        execute(plan, Some(PlanType::C2R), input, output, 1)
    }
    fn cufftExecZ2Z(plan: PlanHandle, input: *mut c_void, output: *mut c_void, direction: i32) {
        execute(plan, Some(PlanType::C2C.double()), input, output, direction)
    }
    fn cufftExecD2Z(plan: PlanHandle, input: *mut c_void, output: *mut c_void) {
        execute(plan, Some(PlanType::R2C.double()), input, output, -1)
    }
    fn cufftExecZ2D(plan: PlanHandle, input: *mut c_void, output: *mut c_void) {
        execute(plan, Some(PlanType::C2R.double()), input, output, 1)
    }
    fn cufftXtExec(plan: PlanHandle, input: *mut c_void, output: *mut c_void, direction: i32) {
        execute(plan, None, input, output, direction)
    }
}
