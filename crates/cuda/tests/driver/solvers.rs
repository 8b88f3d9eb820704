//! cuSOLVER and cuSPARSE: entries as programs call them, against plain loops; captured work; refusals.

use crate::place::folder;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;

type Address = *mut c_void;

/// Returns a function of a library in the driver's folder.
fn symbol(library: &str, name: &str) -> Address {
    let path = folder().join(library);
    let path = CString::new(path.to_string_lossy().as_ref()).expect("a path has no zero byte");
    let name = CString::new(name).expect("a name has no zero byte");
    // SAFETY: both are texts; the library's initialization is its own.
    let found = unsafe { libc::dlsym(libc::dlopen(path.as_ptr(), libc::RTLD_NOW), name.as_ptr()) };
    assert!(!found.is_null(), "{library} has no {name:?}");
    found
}

/// Calls an entry with arguments of these types, and returns its status.
macro_rules! call {
    ($library:literal $name:literal ($($value:expr => $type:ty),* $(,)?)) => {{
        let function = symbol($library, $name);
        // SAFETY: the entry has this type; arrays are as long as the arguments tell.
        unsafe { std::mem::transmute::<Address, unsafe extern "C" fn($($type),*) -> i32>(function)($($value),*) }
    }};
}

macro_rules! solver {
    ($name:literal ($($arguments:tt)*)) => { call!("libcusolver.so.12" $name ($($arguments)*)) };
}

macro_rules! sparse {
    ($name:literal ($($arguments:tt)*)) => { call!("libcusparse.so.12" $name ($($arguments)*)) };
}

macro_rules! driver {
    ($name:literal ($($arguments:tt)*)) => { call!("libcuda.so.1" $name ($($arguments)*)) };
}

const N: usize = 40;
const SIZE: i32 = N as i32;
const INVALID_VALUE: i32 = 3;

/// Returns a square matrix in columns, the same in each run: symmetric, and positive definite with a large diagonal.
fn symmetric(diagonal: f64) -> Vec<f64> {
    let at = |i: usize, j: usize| {
        ((i * 7 + j * 7 + i * j) % 13) as f64 / 13.0 + if i == j { diagonal } else { 0.0 }
    };
    (0..N * N).map(|p| at(p % N, p / N)).collect()
}

/// Returns the product of two matrices in columns.
fn product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let at = |i: usize, j: usize| (0..N).map(|k| a[i + k * N] * b[k + j * N]).sum();
    (0..N * N).map(|p| at(p % N, p / N)).collect()
}

fn transposed(a: &[f64]) -> Vec<f64> {
    (0..N * N).map(|p| a[p / N + p % N * N]).collect()
}

#[track_caller]
fn near(found: &[f64], wanted: &[f64]) {
    let largest = wanted.iter().fold(1.0, |largest: f64, it| largest.max(it.abs()));
    assert_eq!(found.len(), wanted.len());
    let error = found.iter().zip(wanted).fold(0.0, |error: f64, (x, y)| error.max((x - y).abs()));
    assert!(error <= 1e-13 * largest, "error {error:e} of numbers up to {largest}");
}

fn solver_handle() -> Address {
    let mut handle = null_mut();
    assert_eq!(solver!("cusolverDnCreate" (&mut handle => *mut Address)), 0);
    handle
}

fn sparse_handle() -> Address {
    let mut handle = null_mut();
    assert_eq!(sparse!("cusparseCreate" (&mut handle => *mut Address)), 0);
    handle
}

/// Factors by `potrf`.
fn factor(handle: Address, triangle: i32, a: *mut f64, info: *mut i32) -> i32 {
    solver!("cusolverDnDpotrf" (
        handle => Address, triangle => i32, SIZE => i32, a => *mut f64, SIZE => i32, null_mut() => *mut f64,
        0 => i32, info => *mut i32,
    ))
}

/// Returns the product that Cholesky factors in a triangle have.
fn product_of_factors(a: &[f64], is_lower: bool) -> Vec<f64> {
    let is_part = |i: usize, j: usize| if is_lower { i >= j } else { i <= j };
    let part: Vec<f64> = (0..N * N).map(|p| if is_part(p % N, p / N) { a[p] } else { 0.0 }).collect();
    if is_lower { product(&part, &transposed(&part)) } else { product(&transposed(&part), &part) }
}

#[test]
fn cusolver_factors_systems() {
    let handle = solver_handle();
    let (matrix, mut info) = (symmetric(30.0), -1);
    for triangle in [0, 1] {
        let mut a = matrix.clone();
        assert_eq!(factor(handle, triangle, a.as_mut_ptr(), &mut info), 0);
        assert_eq!(info, 0);
        near(&product_of_factors(&a, triangle == 0), &matrix);
        let mut b = matrix.clone();
        let status = solver!("cusolverDnDpotrs" (
            handle => Address, triangle => i32, SIZE => i32, SIZE => i32, a.as_ptr() => *const f64, SIZE => i32,
            b.as_mut_ptr() => *mut f64, SIZE => i32, &mut info => *mut i32,
        ));
        assert_eq!(status, 0);
        near(&product(&matrix, &b), &matrix);
    }
    let (general, mut pivots) = (product(&matrix, &symmetric(0.5)), vec![0_i32; N]);
    let (mut a, mut b) = (general.clone(), matrix.clone());
    let status = solver!("cusolverDnDgetrf" (
        handle => Address, SIZE => i32, SIZE => i32, a.as_mut_ptr() => *mut f64, SIZE => i32, null_mut() => *mut f64,
        pivots.as_mut_ptr() => *mut i32, &mut info => *mut i32,
    ));
    assert_eq!((status, info), (0, 0));
    let status = solver!("cusolverDnDgetrs" (
        handle => Address, 0 => i32, SIZE => i32, SIZE => i32, a.as_ptr() => *const f64, SIZE => i32,
        pivots.as_ptr() => *const i32,
        b.as_mut_ptr() => *mut f64, SIZE => i32, &mut info => *mut i32,
    ));
    assert_eq!((status, info), (0, 0));
    let back = product(&general, &b);
    let error = back.iter().zip(&matrix).fold(0.0, |error: f64, (x, y)| error.max((x - y).abs()));
    assert!(error < 1e-8, "error {error:e}");
    assert_eq!(solver!("cusolverDnDestroy" (handle => Address)), 0);
}

#[test]
fn cusolver_finds_eigenvalues_and_singular_values() {
    let handle = solver_handle();
    let (matrix, mut info) = (symmetric(1.0), -1);
    let (mut vectors, mut values) = (matrix.clone(), vec![0.0; N]);
    let status = solver!("cusolverDnDsyevd" (
        handle => Address, 1 => i32, 0 => i32, SIZE => i32, vectors.as_mut_ptr() => *mut f64, SIZE => i32,
        values.as_mut_ptr() => *mut f64, null_mut() => *mut f64, 0 => i32, &mut info => *mut i32,
    ));
    assert_eq!((status, info), (0, 0));
    assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
    let scaled: Vec<f64> = (0..N * N).map(|p| vectors[p] * values[p / N]).collect();
    near(&product(&matrix, &vectors), &scaled);
    let (mut a, mut values, mut u, mut v) =
        (matrix.clone(), vec![0.0; N], vec![0.0; N * N], vec![0.0; N * N]);
    let status = solver!("cusolverDnDgesvd" (
        handle => Address, b'A' as i8 => i8, b'S' as i8 => i8, SIZE => i32, SIZE => i32,
        a.as_mut_ptr() => *mut f64, SIZE => i32,
        values.as_mut_ptr() => *mut f64, u.as_mut_ptr() => *mut f64, SIZE => i32, v.as_mut_ptr() => *mut f64,
        SIZE => i32,
        null_mut() => *mut f64, 0 => i32, null_mut() => *mut f64, &mut info => *mut i32,
    ));
    assert_eq!((status, info), (0, 0));
    let scaled: Vec<f64> = (0..N * N).map(|p| u[p] * values[p / N]).collect();
    near(&product(&scaled, &v), &matrix);
    assert_eq!(solver!("cusolverDnDestroy" (handle => Address)), 0);
}

#[test]
fn cusolver_refuses_wrong_arguments_and_entries_that_it_has_not() {
    let handle = solver_handle();
    let (mut a, mut info) = (symmetric(30.0), -1);
    assert_eq!(factor(null_mut(), 0, a.as_mut_ptr(), &mut info), 1);
    assert_eq!(factor(handle, 2, a.as_mut_ptr(), &mut info), INVALID_VALUE);
    assert_eq!(factor(handle, 0, null_mut(), &mut info), INVALID_VALUE);
    a[5 * N + 5] = -1.0;
    assert_eq!(factor(handle, 0, a.as_mut_ptr(), &mut info), 0);
    assert_eq!(info, 6, "the sixth minor is not positive");
    assert_eq!(solver!("cusolverDnDsytrf"()), 9);
    assert_eq!(solver!("cusolverDnDestroy" (handle => Address)), 0);
}

/// Begins the capture of a new stream.
fn captured_stream() -> Address {
    let mut stream = null_mut();
    assert_eq!(driver!("cuStreamCreate" (&mut stream => *mut Address, 0 => u32)), 0);
    assert_eq!(driver!("cuStreamBeginCapture_v2" (stream => Address, 2 => i32)), 0);
    stream
}

#[test]
fn captured_factors_are_computed_by_the_graph() {
    let handle = solver_handle();
    let (matrix, mut info) = (symmetric(30.0), -1);
    let mut a = matrix.clone();
    let stream = captured_stream();
    assert_eq!(solver!("cusolverDnSetStream" (handle => Address, stream => Address)), 0);
    assert_eq!(factor(handle, 0, a.as_mut_ptr(), &mut info), 0);
    let (mut graph, mut instance) = (null_mut(), null_mut());
    assert_eq!(driver!("cuStreamEndCapture" (stream => Address, &mut graph => *mut Address)), 0);
    let status =
        driver!("cuGraphInstantiateWithFlags" (&mut instance => *mut Address, graph => Address, 0 => u64));
    assert_eq!(status, 0);
    assert_eq!(a, matrix, "nothing is computed while the stream is captured");
    for _ in 0..2 {
        a.copy_from_slice(&matrix);
        assert_eq!(driver!("cuGraphLaunch" (instance => Address, stream => Address)), 0);
        assert_eq!(driver!("cuStreamSynchronize" (stream => Address)), 0);
        near(&product_of_factors(&a, true), &matrix);
    }
    assert_eq!(solver!("cusolverDnDestroy" (handle => Address)), 0);
}

/// Descriptor of a sparse matrix: `[2 0 1; 0 3 0; 4 0 5]`.
fn sparse_matrix(offsets: &mut [i32; 4], indices: &mut [i32; 5], values: &mut [f64; 5]) -> Address {
    let mut matrix = null_mut();
    let status = sparse!("cusparseCreateCsr" (
        &mut matrix => *mut Address, 3 => i64, 3 => i64, 5 => i64, offsets.as_mut_ptr() => *mut i32,
        indices.as_mut_ptr() => *mut i32,
        values.as_mut_ptr() => *mut f64, 2 => i32, 2 => i32, 0 => i32, 1 => i32,
    ));
    assert_eq!(status, 0);
    matrix
}

fn vector(values: &mut [f64; 3]) -> Address {
    let mut made = null_mut();
    let status = sparse!("cusparseCreateDnVec" (&mut made => *mut Address, 3 => i64, values.as_mut_ptr() => *mut f64, 1 => i32));
    assert_eq!(status, 0);
    made
}

#[test]
fn cusparse_multiplies_matrices() {
    let handle = sparse_handle();
    let (mut offsets, mut indices, mut values) = ([0, 2, 3, 5], [0, 2, 1, 0, 2], [2.0, 1.0, 3.0, 4.0, 5.0]);
    let matrix = sparse_matrix(&mut offsets, &mut indices, &mut values);
    let (alpha, beta, mut x, mut y) = (2.0, -1.0, [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]);
    let (of_x, of_y) = (vector(&mut x), vector(&mut y));
    let multiply = |kind: i32| {
        sparse!("cusparseSpMV" (
            handle => Address, 0 => i32, &alpha => *const f64, matrix => Address, of_x => Address,
            &beta => *const f64, of_y => Address,
            kind => i32, 0 => i32, null_mut() => Address,
        ))
    };
    assert_eq!(multiply(1), 0);
    assert_eq!(y, [9.0, 11.0, 37.0]);
    assert_eq!(multiply(2), 10, "halves are not supported");
    // The square of the matrix: [8 0 7; 0 9 0; 28 0 29].
    let (mut state, mut result, mut bounds) = (null_mut(), null_mut(), [0; 4]);
    let (none, zero) = (null_mut::<c_void>(), 0.0);
    assert_eq!(sparse!("cusparseSpGEMM_createDescr" (&mut state => *mut Address)), 0);
    let status = sparse!("cusparseCreateCsr" (
        &mut result => *mut Address, 3 => i64, 3 => i64, 0 => i64, bounds.as_mut_ptr() => *mut i32,
        none => Address, none => Address,
        2 => i32, 2 => i32, 0 => i32, 1 => i32,
    ));
    assert_eq!(status, 0);
    let (mut size, mut buffer) = (0_usize, [0_u8; 8]);
    let mut compute = |buffer: Address| {
        sparse!("cusparseSpGEMM_compute" (
            handle => Address, 0 => i32, 0 => i32, &alpha => *const f64, matrix => Address, matrix => Address,
            &zero => *const f64,
            result => Address, 1 => i32, 0 => i32, state => Address, &mut size => *mut usize, buffer => Address,
        ))
    };
    assert_eq!((compute(null_mut()), compute(buffer.as_mut_ptr().cast())), (0, 0));
    let (mut rows, mut columns, mut count) = (0_i64, 0_i64, 0_i64);
    let status = sparse!("cusparseSpMatGetSize" (
        result => Address, &mut rows => *mut i64, &mut columns => *mut i64, &mut count => *mut i64,
    ));
    assert_eq!((status, count), (0, 5));
    let (mut places, mut found) = ([0; 5], [0.0; 5]);
    let status = sparse!("cusparseCsrSetPointers" (
        result => Address, bounds.as_mut_ptr() => *mut i32, places.as_mut_ptr() => *mut i32,
        found.as_mut_ptr() => *mut f64,
    ));
    assert_eq!(status, 0);
    let status = sparse!("cusparseSpGEMM_copy" (
        handle => Address, 0 => i32, 0 => i32, &alpha => *const f64, matrix => Address, matrix => Address,
        &zero => *const f64,
        result => Address, 1 => i32, 0 => i32, state => Address,
    ));
    assert_eq!(status, 0);
    assert_eq!((bounds, places, found), ([0, 2, 3, 5], [0, 2, 1, 0, 2], [16.0, 14.0, 18.0, 56.0, 58.0]));
    assert_eq!(sparse!("cusparseDestroy" (handle => Address)), 0);
}

#[test]
fn cusparse_refuses_what_the_host_would_wait_for_while_a_stream_is_captured() {
    let handle = sparse_handle();
    let (mut offsets, mut indices, mut values) = ([0, 2, 3, 5], [0, 2, 1, 0, 2], [2.0, 1.0, 3.0, 4.0, 5.0]);
    let (mut x, mut y) = ([1.0, 2.0, 3.0], [0.0; 3]);
    let matrix = sparse_matrix(&mut offsets, &mut indices, &mut values);
    let (of_x, of_y, alpha, beta) = (vector(&mut x), vector(&mut y), 1.0, 0.0);
    let stream = captured_stream();
    assert_eq!(sparse!("cusparseSetStream" (handle => Address, stream => Address)), 0);
    let (mut state, mut size, mut buffer) = (null_mut(), 0_usize, [0_u8; 8]);
    assert_eq!(sparse!("cusparseSpGEMM_createDescr" (&mut state => *mut Address)), 0);
    let status = sparse!("cusparseSpGEMM_compute" (
        handle => Address, 0 => i32, 0 => i32, &alpha => *const f64, matrix => Address, matrix => Address,
        &beta => *const f64,
        matrix => Address, 1 => i32, 0 => i32, state => Address, &mut size => *mut usize,
        buffer.as_mut_ptr() => *mut u8,
    ));
    assert_eq!(status, 10);
    let status = sparse!("cusparseSpMV" (
        handle => Address, 0 => i32, &alpha => *const f64, matrix => Address, of_x => Address,
        &beta => *const f64, of_y => Address,
        1 => i32, 0 => i32, null_mut() => Address,
    ));
    assert_eq!((status, y), (0, [0.0; 3]));
    let mut graph = null_mut();
    assert_eq!(driver!("cuStreamEndCapture" (stream => Address, &mut graph => *mut Address)), 0);
    assert_eq!(sparse!("cusparseSbsrmv"()), 10);
    assert_eq!(sparse!("cusparseDestroy" (handle => Address)), 0);
}
