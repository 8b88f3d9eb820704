//! FFI between the Rust and C++ halves of the plugin. Nothing unwinds across it.

use crate::loops::{LoopResult, PluginLoopRequest, VectorizedLoop, vectorize_loops, wants_tensors};
use heddle_compiler::llvm::{BorrowedModule, link};
use heddle_compiler::{VectorLoop, slice_length};
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Plugin description that LLVM queries, as in `llvm/Plugins/PassPlugin.h`.
#[repr(C)]
#[derive(Debug)]
pub struct PassPluginLibraryInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: unsafe extern "C" fn(*mut c_void),
    before_code: *const c_void,
}

/// The version of the plugin interface of LLVM 22.
const API_VERSION: u32 = 2;

// SAFETY: as cpp/pass.cpp defines it.
unsafe extern "C" {
    fn heddle_register_passes(builder: *mut c_void);
}

/// LLVM's first question.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
    PassPluginLibraryInfo {
        api_version: API_VERSION,
        name: c"heddle".as_ptr(),
        version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast(),
        register: heddle_register_passes,
        before_code: std::ptr::null(),
    }
}

/// A request as C++ writes it; `cpp/pass.cpp` is the other side.
#[repr(C)]
#[derive(Debug)]
pub struct CLoopRequest {
    name: *const c_char,
    cpu: *const c_char,
    features: *const c_char,
    width: u32,
    is_parallel: u32,
    interleaved: u32,
    is_nest: u32,
    inner_width: u32,
    outer_trips: u32,
    inner_trips: u32,
    is_resumable: u32,
    first: u32,
}

/// Results of a batch of loops.
struct LoopBatch {
    loops: Vec<LoopResult>,
    /// The texts that C++ looks at: of each loop its refusal, or its remark and those of what is in it.
    texts: Vec<Vec<CString>>,
    /// Names of linked code.
    names: Vec<CString>,
}

impl LoopBatch {
    fn as_loop(&self, index: usize) -> Option<&VectorLoop> {
        let (made, _) = self.loops.get(index)?.as_ref().ok()?;
        made.as_loop()
    }
}

fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// # Safety
/// A text of C that lives, or null.
unsafe fn text(at: *const c_char) -> String {
    match at.is_null() {
        true => String::new(),
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned(),
    }
}

/// Makes vector code of loops; null if that went wrong altogether.
///
/// # Safety
/// Bitcode of so many bytes, so many requests, each of live texts; a live text of options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_vectorize_loops(
    bitcode: *const u8,
    bytes: usize,
    requests: *const CLoopRequest,
    count: usize,
    options: *const c_char,
) -> *mut c_void {
    // SAFETY: the caller's promise.
    let (bitcode, requests) =
        unsafe { (std::slice::from_raw_parts(bitcode, bytes), std::slice::from_raw_parts(requests, count)) };
    let requests: Vec<PluginLoopRequest> = requests
        .iter()
        .map(|request| {
            // SAFETY: the caller's promise.
            let [name, cpu, features] =
                unsafe { [text(request.name), text(request.cpu), text(request.features)] };
            PluginLoopRequest {
                name,
                cpu,
                features,
                width: request.width,
                is_parallel: request.is_parallel != 0,
                interleaved: request.interleaved,
                is_nest: request.is_nest != 0,
                inner_width: request.inner_width,
                outer_trips: request.outer_trips,
                inner_trips: request.inner_trips,
                first: (request.is_resumable != 0).then_some(request.first as usize),
            }
        })
        .collect();
    // SAFETY: the caller's promise.
    let options = unsafe { text(options) };
    let loops = catch_unwind(AssertUnwindSafe(|| vectorize_loops(bitcode, &requests, &options)));
    let Ok(loops) = loops else { return std::ptr::null_mut() };
    let words = |one: &LoopResult| match one {
        Ok((_, remarks)) => remarks.iter().map(|remark| c_text(remark)).collect(),
        Err(reason) => vec![c_text(reason)],
    };
    let texts = loops.iter().map(words).collect();
    Box::into_raw(Box::new(LoopBatch { loops, texts, names: Vec::new() })).cast()
}

/// # Safety
/// A batch that `heddle_vectorize_loops` gave and that is not freed.
unsafe fn batch<'a>(batch: *mut c_void) -> &'a mut LoopBatch {
    // SAFETY: the caller's promise; C++ uses it from one thread.
    unsafe { &mut *batch.cast::<LoopBatch>() }
}

/// Why a loop is no vector code; null if it is.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_refusal(all: *mut c_void, index: usize) -> *const c_char {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    match (all.loops.get(index), all.texts.get(index)) {
        (Some(Err(_)), Some(texts)) => texts.first().map_or(std::ptr::null(), |text| text.as_ptr()),
        _ => std::ptr::null(),
    }
}

/// Returns the remarks of a loop by index: first the loop's, then those of its contents; null after the last.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_remark(all: *mut c_void, index: usize, number: usize) -> *const c_char {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    let text = all.texts.get(index).and_then(|texts| texts.get(number));
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Returns the number of iterations for a run-time trial of a loop's code.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_trial(all: *mut c_void, index: usize) -> u32 {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    all.as_loop(index).map_or(0, |made| slice_length(made.lanes))
}

/// True if only a run-time trial decides between scalar and vector code of a loop.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_is_doubtful(all: *mut c_void, index: usize) -> bool {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    all.as_loop(index).is_some_and(|made| made.is_doubtful)
}

/// Up to how many iterations scalar code of a loop is faster; 0 if the loop runs by vector code alone.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_few(all: *mut c_void, index: usize) -> u32 {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    all.as_loop(index).map_or(0, |made| made.few)
}

/// Number of lanes of a loop whose last iterations, which fill no vector, run faster as scalar code; 0 for others.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_scalar_rest(all: *mut c_void, index: usize) -> u32 {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    all.as_loop(index).filter(|made| made.has_scalar_rest).map_or(0, |made| made.lanes)
}

/// Number of iterations that interleaved vectors of a loop run together, if there is code of one vector for the others; else 0.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_group(all: *mut c_void, index: usize) -> u32 {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    all.as_loop(index).filter(|made| made.rest.is_some()).map_or(0, |made| made.lanes)
}

/// Number of rows that the code of a nest runs at a time; 0 for a loop.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_nest_height(all: *mut c_void, index: usize) -> u32 {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    match all.loops.get(index) {
        Some(Ok((VectorizedLoop::Nest(made), _))) => made.brush.extents.height,
        _ => 0,
    }
}

/// Bytes of the first-level cache, if rows that evict one another from it shall run one at a time; else 0.
///
/// # Safety
/// See `batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_nest_cache(all: *mut c_void, index: usize) -> u32 {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    match all.loops.get(index) {
        Some(Ok((VectorizedLoop::Nest(made), _))) => made.cache.unwrap_or(0),
        _ => 0,
    }
}

/// True if options ask for brushes of two dimensions for nests whose pragmas do not.
///
/// # Safety
/// A live text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_wants_tensors(options: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    let options = unsafe { text(options) };
    catch_unwind(|| wants_tensors(&options)).unwrap_or(false)
}

/// Links a form of a loop's vector code into a module: 0 is that whose lanes run iterations side by side, 1 that whose lanes take
/// new ones, or that of single rows of a nest, 2 that of one vector of a loop whose vectors are interleaved. Its name there, or null if there is
/// none or that is impossible.
///
/// # Safety
/// See `batch`; a live module that nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_loop_link(
    all: *mut c_void,
    index: usize,
    form: u32,
    module: *mut c_void,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let all = unsafe { batch(all) };
    let Some(Ok((made, _))) = all.loops.get(index) else { return std::ptr::null() };
    let Some(form) = made.form(form) else { return std::ptr::null() };
    // SAFETY: the caller's promise.
    let module = unsafe { BorrowedModule::new(module) };
    let linked = catch_unwind(AssertUnwindSafe(|| link(&module, &form.code).is_ok()));
    if !linked.unwrap_or(false) {
        return std::ptr::null();
    }
    let name = c_text(&form.wide);
    let at = name.as_ptr();
    all.names.push(name);
    at
}

/// Frees a batch.
///
/// # Safety
/// See `batch`; nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_batch_free(all: *mut c_void) {
    // SAFETY: the caller's promise; it was a box.
    let freed = unsafe { Box::from_raw(all.cast::<LoopBatch>()) };
    _ = catch_unwind(AssertUnwindSafe(|| drop(freed)));
}
