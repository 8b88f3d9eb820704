//! Modules: PTX is parsed, checked and lowered at load time. Kernels of small modules are compiled from then on, and at the latest when the
//! program gets their functions; others at their launch.

use crate::attributes::FunctionAttribute;
use crate::core::error::{CudaError, CudaResult, ensure, say};
use crate::core::host;
use crate::core::image::{ImageError, PtxText};
use crate::core::memory;
use crate::core::registry::HandleTable;
use crate::cuda::*;
use heddle_ir::{Module as IrModule, Space};
use heddle_ptx::lower::{LAUNCH, PtxKernel as Layout, PtxParam};
use heddle_ptx::module::PtxItem;
use heddle_runtime::{BuildOptions, BuildServices, KernelCache, KernelModule, PreparedKernel, environment};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ffi::CString;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of threads in a block.
pub const MOST_THREADS: u32 = 1024;
/// Maximum shared memory of a block in bytes; without opt-in, [`MOST_SHARED_UNASKED`].
pub const MOST_SHARED: u64 = 99 << 10;
/// See [`MOST_SHARED`].
pub const MOST_SHARED_UNASKED: u64 = 48 << 10;

/// Module or library.
#[derive(Debug)]
pub struct CudaModule {
    /// Its handle.
    pub handle: CudaHandle,
    program: Option<KernelModule>,
    layouts: Vec<Layout>,
    /// Refused kernels and the reasons.
    refused: Vec<(String, String)>,
    /// Published functions by kernel number.
    functions: Mutex<Vec<Option<CudaHandle>>>,
    variables: Vec<usize>,
    /// PTX source, kept if launches are verified.
    pub text: Option<String>,
    /// The bytes of its constants.
    constant_bytes: i32,
    /// Compute capability of its `.target`, times 10.
    ptx_version: i32,
    /// Address from which kernels read their dynamic shared memory size, if any.
    message: Option<usize>,
}

/// A kernel.
#[derive(Debug)]
pub struct CudaFunction {
    /// Its handle.
    pub handle: CudaHandle,
    /// The module that it is of.
    pub module: Arc<CudaModule>,
    /// Prepared kernel.
    pub kernel: PreparedKernel,
    /// Kernel number in the module.
    number: usize,
    /// Its name, as C wants it.
    pub name: CString,
    /// Maximum dynamic shared memory in bytes.
    pub most_dynamic: AtomicI32,
    /// Preferred shared memory carveout, recorded only.
    pub carveout: AtomicI32,
}

/// All modules and libraries.
pub static MODULES: HandleTable<CudaModule> = HandleTable::new();
/// All functions and kernels.
pub static FUNCTIONS: HandleTable<CudaFunction> = HandleTable::new();

/// Load error: code and message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError {
    /// The code.
    pub code: CUresult,
    /// The reason.
    pub reason: String,
}

impl From<LoadError> for CudaError {
    fn from(refused: LoadError) -> CudaError {
        CudaError(refused.code)
    }
}

/// Returns the PTX of an image, or the load error.
pub fn text(image: PtxText) -> Result<String, LoadError> {
    image.map_err(|reason| match reason {
        ImageError::Broken(reason) => LoadError { code: CUDA_ERROR_INVALID_IMAGE, reason: reason.into() },
        ImageError::NoPtx(reason) => LoadError { code: CUDA_ERROR_NO_BINARY_FOR_GPU, reason: reason.into() },
        ImageError::Unlinkable(reason) => LoadError { code: CUDA_ERROR_INVALID_PTX, reason },
    })
}

/// PTX of the device library, without the directives at the head of a module.
const DEVICE_LIBRARY: &str = include_str!("device.ptx");
const DEVICE_FUNCTIONS: [&str; 2] = ["cudaCGGetIntrinsicHandle", "cudaCGSynchronize"];

/// Returns the functions that a module declares but does not define.
fn externals(module: &heddle_ptx::PtxModule<'_>) -> FxHashSet<String> {
    let (mut declared, mut defined) = (FxHashSet::default(), FxHashSet::default());
    for item in &module.items {
        if let PtxItem::Function(function) = item {
            let names = if function.body.is_some() { &mut defined } else { &mut declared };
            names.insert(module.names.text(function.name).to_string());
        }
    }
    declared.difference(&defined).cloned().collect()
}

/// The compute capability that PTX is made for, times 10; that of the device if it says none.
fn target_of(module: &heddle_ptx::PtxModule<'_>) -> i32 {
    let targets = module.items.iter().filter_map(|item| match item {
        PtxItem::Target(targets) => Some(targets),
        _ => None,
    });
    let number = |target: &&str| {
        target.strip_prefix("sm_")?.trim_end_matches(|end: char| end.is_ascii_lowercase()).parse().ok()
    };
    targets.flatten().find_map(number).unwrap_or(CAPABILITY[0] * 10 + CAPABILITY[1])
}

/// Appends the device library if the text needs it.
fn with_library(text: &str) -> Option<String> {
    let declares = |name: &&str| text.contains(*name) && !text.contains(&format!(".visible .func {name}"));
    if !DEVICE_FUNCTIONS.iter().any(declares) {
        return None;
    }
    Some(format!("{text}\n{DEVICE_LIBRARY}"))
}

/// Returns why an undefined function cannot be called.
fn undefined(name: &str) -> String {
    // CUDA 12 and 13 call the device's runtime by the second kind of name.
    match name.starts_with("cuda") || name.starts_with("__cudaCDP") {
        true => format!(
            "calls @{name}: kernels cannot launch kernels (dynamic parallelism) or call CUDA's runtime\nhelp: call it on the host"
        ),
        false => format!("undefined function @{name}"),
    }
}

/// Returns why a kernel cannot run: the first function that it reaches and that the module does not have.
fn find_unavailable<'a>(
    module: &IrModule,
    unavailable: &'a FxHashMap<String, String>,
    kernel: &str,
) -> Option<&'a String> {
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut work = vec![kernel];
    while let Some(name) = work.pop() {
        if let Some(reason) = unavailable.get(name) {
            return Some(reason);
        }
        let Some(func) = module.function(name).filter(|_| seen.insert(name)) else { continue };
        work.extend(func.callees.values().map(|callee| &*callee.name));
    }
    None
}

impl CudaModule {
    /// Loads PTX.
    pub fn load(text: &str) -> Result<Arc<CudaModule>, LoadError> {
        let wrong = |code, reason: String| LoadError { code, reason };
        let completed = with_library(text);
        let text = completed.as_deref().unwrap_or(text);
        let options =
            heddle_ptx::LowerOptions { launch_objects: true, ..heddle_ptx::LowerOptions::default() };
        let lowered = heddle_ptx::parse(text).and_then(|module| {
            let lowered = heddle_ptx::lower(&module, "module.ptx", options)?;
            let mut externals = externals(&module);
            host::functions().iter().for_each(|(name, _)| _ = externals.remove(*name));
            Ok((lowered, externals, target_of(&module)))
        });
        let (mut lowered, externals, ptx_version) = lowered.map_err(|diagnostics| {
            let lines: Vec<String> = diagnostics.iter().take(20).map(ToString::to_string).collect();
            wrong(CUDA_ERROR_INVALID_PTX, lines.join("\n"))
        })?;
        heddle_builtins::provide_textures(&mut lowered.module)
            .map_err(|reason| wrong(CUDA_ERROR_UNKNOWN, reason.to_string()))?;
        let mut refused = Vec::new();
        let mut unavailable: FxHashMap<String, String> = FxHashMap::default();
        for name in externals {
            let reason = undefined(&name);
            unavailable.insert(name, reason);
        }
        for diagnostic in &lowered.refused {
            let name = diagnostic.place.func.clone().unwrap_or_default();
            unavailable.insert(name.clone(), format!("unsupported callee @{name}: {diagnostic}"));
            refused.push((name, diagnostic.to_string()));
        }
        let mut layouts = Vec::new();
        for layout in std::mem::take(&mut lowered.kernels) {
            match find_unavailable(&lowered.module, &unavailable, &layout.name) {
                Some(reason) => {
                    let reason = format!("@{} {reason}", layout.name);
                    refused.push((layout.name, reason));
                }
                None => layouts.push(layout),
            }
        }
        let constants = lowered.module.globals.iter().filter(|global| global.space == Space::Constant);
        let constant_bytes = constants.fold(0u64, |sum, global| sum.saturating_add(global.bytes()));
        let constant_bytes = i32::try_from(constant_bytes).unwrap_or(i32::MAX);
        // The host may write constants between launches.
        for global in &mut lowered.module.globals {
            if global.space == Space::Constant {
                global.space = Space::Global;
            }
        }
        let names: Vec<String> =
            lowered.module.globals.iter().map(|global| global.name.to_string()).collect();
        let options = BuildOptions { warp: Some(WARP), ..environment::options() };
        let program = match lowered.module.functions.is_empty() && names.is_empty() {
            true => None,
            false => {
                let kept = KernelCache::of_user(format!("cuda\n{text}").into_bytes());
                let making = BuildServices {
                    kept,
                    watch: environment::watch(),
                    trials: environment::trials(),
                    ..BuildServices::default()
                };
                // SAFETY: they are functions of C, as CUDA declares them, and stay as long as the process.
                let made = unsafe {
                    KernelModule::with_functions(lowered.module, &options, making, &host::functions())
                };
                Some(made.map_err(|reason| wrong(CUDA_ERROR_INVALID_PTX, reason.to_string()))?)
            }
        };
        if let Some(program) = &program {
            program.compile_ahead(environment::threads());
        }
        let placed = |name: &String| program.as_ref()?.global(name);
        let variables: Vec<usize> = names
            .iter()
            .filter_map(placed)
            .filter(|&(_, bytes)| bytes > 0)
            .map(|(start, bytes)| {
                memory::note_variable(start, bytes);
                start
            })
            .collect();
        let functions = Mutex::new(vec![None; layouts.len()]);
        let text = environment::is_verified().then(|| text.to_string());
        let message = program.as_ref().and_then(|program| program.global(LAUNCH)).map(|(start, _)| start);
        let make = |handle| {
            Arc::new(CudaModule {
                handle,
                program,
                layouts,
                refused,
                functions,
                variables,
                text,
                constant_bytes,
                ptx_version,
                message,
            })
        };
        Ok(MODULES.publish_with(make).1)
    }

    /// Returns the address of a variable.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.program.as_ref()?.global(name).map(|(start, _)| start)
    }

    /// Sets the dynamic shared memory size that kernels read; valid while the guard lives.
    pub fn tell(&self, bytes: u32) -> Option<MutexGuard<'static, ()>> {
        static TELLING: Mutex<()> = Mutex::new(());
        let place = self.message?;
        let telling = TELLING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the program has the object there, aligned, and only its kernels read it, which run as long as this is kept.
        unsafe { std::ptr::with_exposed_provenance_mut::<u32>(place).write(bytes) };
        Some(telling)
    }

    /// Returns the number of kernels.
    pub fn count(&self) -> usize {
        self.layouts.len()
    }

    /// Returns the kernel of a name.
    pub fn function(self: &Arc<CudaModule>, name: &str) -> CudaResult<CudaHandle> {
        if let Some(number) = self.layouts.iter().position(|layout| layout.name == name) {
            return self.function_at(number);
        }
        let Some((_, reason)) = self.refused.iter().find(|(refused, _)| refused == name) else {
            return Err(CudaError(CUDA_ERROR_NOT_FOUND));
        };
        say(format_args!("{reason}"));
        Err(CudaError(CUDA_ERROR_NOT_SUPPORTED))
    }

    /// Returns the kernel of a number.
    pub fn function_at(self: &Arc<CudaModule>, number: usize) -> CudaResult<CudaHandle> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = functions.get_mut(number).ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        if let Some(handle) = *slot {
            return Ok(handle);
        }
        let name = &self.layouts[number].name;
        let kernel = self.program.as_ref().and_then(|program| program.kernel(name));
        let kernel = kernel.ok_or(CudaError(CUDA_ERROR_NOT_FOUND))?;
        let c_name = CString::new(name.as_str()).map_err(|_| CudaError(CUDA_ERROR_NOT_FOUND))?;
        let function = |handle| {
            Arc::new(CudaFunction {
                handle,
                module: Arc::clone(self),
                kernel: kernel.clone(),
                number,
                name: c_name,
                most_dynamic: AtomicI32::new(MOST_SHARED_UNASKED as i32),
                carveout: AtomicI32::new(-1),
            })
        };
        let (handle, _) = FUNCTIONS.publish_with(function);
        *slot = Some(handle);
        drop(functions);
        kernel.compile_before_launch(environment::threads());
        Ok(handle)
    }

    /// Returns address and size of a variable.
    pub fn variable(&self, name: &str) -> CudaResult<(CUdeviceptr, u64)> {
        let found = self.program.as_ref().and_then(|program| program.global(name));
        found.map(|(start, bytes)| (start as CUdeviceptr, bytes)).ok_or(CudaError(CUDA_ERROR_NOT_FOUND))
    }

    /// Unloads a module with its functions and variables.
    pub fn unload(handle: CudaHandle) -> CudaResult<()> {
        let module = MODULES.remove(handle)?;
        let functions = module.functions.lock().unwrap_or_else(PoisonError::into_inner);
        for &handle in functions.iter().flatten() {
            // Published functions are removed here only.
            let _ = FUNCTIONS.remove(handle);
        }
        module.variables.iter().for_each(|&start| memory::forget_variable(start));
        Ok(())
    }
}

impl CudaFunction {
    /// Returns the parameter layout.
    pub fn layout(&self) -> &Layout {
        &self.module.layouts[self.number]
    }

    /// Returns a parameter.
    pub fn param(&self, index: usize) -> CudaResult<PtxParam> {
        self.layout().params.get(index).copied().ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    /// Returns the maximum number of threads in a block.
    pub fn most_threads(&self) -> u32 {
        let fixed = self.kernel.info().required_local;
        let most = self.layout().max_threads.unwrap_or(MOST_THREADS.into()).clamp(1, MOST_THREADS.into());
        fixed.map_or(most as u32, |sizes| sizes.iter().product())
    }

    /// Returns an attribute.
    pub fn attribute(&self, attribute: FunctionAttribute) -> i32 {
        use FunctionAttribute::*;
        match attribute {
            MaxThreadsPerBlock => self.most_threads() as i32,
            SharedSizeBytes => self.layout().shared_bytes as i32,
            ConstSizeBytes => self.module.constant_bytes,
            LocalSizeBytes => i32::try_from(self.layout().local_bytes).unwrap_or(i32::MAX),
            // Registers per thread do not limit launches.
            NumRegs => 32,
            PtxVersion => self.module.ptx_version,
            BinaryVersion => CAPABILITY[0] * 10 + CAPABILITY[1],
            MaxDynamicSharedSizeBytes => self.most_dynamic.load(Ordering::Relaxed),
            PreferredSharedMemoryCarveout => self.carveout.load(Ordering::Relaxed),
            CacheModeCa
            | ClusterSizeMustBeSet
            | RequiredClusterWidth
            | RequiredClusterHeight
            | RequiredClusterDepth => 0,
            NonPortableClusterSizeAllowed | ClusterSchedulingPolicyPreference => 0,
        }
    }

    /// Sets an attribute.
    pub fn set_attribute(&self, attribute: FunctionAttribute, value: i32) -> CudaResult<()> {
        use FunctionAttribute::*;
        match attribute {
            MaxDynamicSharedSizeBytes => {
                let most = (MOST_SHARED - self.layout().shared_bytes.min(MOST_SHARED)) as i32;
                ensure((0..=most).contains(&value), CUDA_ERROR_INVALID_VALUE)?;
                self.most_dynamic.store(value, Ordering::Relaxed);
            }
            PreferredSharedMemoryCarveout => self.carveout.store(value, Ordering::Relaxed),
            ClusterSizeMustBeSet
            | RequiredClusterWidth
            | RequiredClusterHeight
            | RequiredClusterDepth
            | NonPortableClusterSizeAllowed
            | ClusterSchedulingPolicyPreference => {
                ensure(value == 0, CUDA_ERROR_NOT_SUPPORTED)?;
            }
            MaxThreadsPerBlock | SharedSizeBytes | ConstSizeBytes | LocalSizeBytes | NumRegs | PtxVersion
            | BinaryVersion | CacheModeCa => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        }
        Ok(())
    }

    /// Returns the number of resident blocks of `threads` threads per multiprocessor.
    pub fn active_blocks(&self, threads: u32, dynamic: u64) -> i32 {
        if threads == 0 || threads > self.most_threads() || self.layout().shared_bytes + dynamic > MOST_SHARED
        {
            return 0;
        }
        let by_threads = crate::core::launch::THREADS_PER_PROCESSOR / threads.next_multiple_of(WARP);
        by_threads.min(crate::core::launch::BLOCKS_PER_PROCESSOR) as i32
    }
}
