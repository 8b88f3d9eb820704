//! Kernels and their arguments.

use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::device::{Device, LOCAL_MEMORY, MAX_WORK_GROUP_SIZE};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::launch::{ClExecutable, ClLaunchArgument, ClNdRange};
use crate::core::memory::Address;
use crate::core::program::ClProgram;
use crate::core::queue::CommandThreads;
use crate::core::registry::ObjectHandle;
use crate::core::sampler::ClSampler;
use crate::core::verify::MemorySnapshot;
use heddle_ir::Space;
use heddle_llvm::{KernelInfo, ParamPassing};
use heddle_runtime::LaunchForecast;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Argument as set by the application.
#[derive(Clone, Debug)]
enum ClArgument {
    Bytes(Vec<u8>),
    /// A weak reference: a kernel does not keep buffers alive.
    Buffer(Weak<ClBuffer>),
    Image(Weak<ClBuffer>),
    Sampler(u32),
    Local(usize),
    /// Shared virtual memory, or null.
    Address(Address),
}

/// Argument value passed to `clSetKernelArg`.
#[derive(Debug)]
pub enum ClArgumentValue<'a> {
    /// The bytes of a value.
    Bytes(&'a [u8]),
    /// A buffer, or null.
    Buffer(Option<Arc<ClBuffer>>),
    /// An image.
    Image(Arc<ClBuffer>),
    /// A sampler.
    Sampler(Arc<ClSampler>),
    /// Local memory of this size in bytes.
    Local(usize),
}

/// Kernel.
pub struct ClKernel {
    pub(crate) handle: ObjectHandle<ClKernel>,
    /// Program that defines the kernel.
    pub program: Arc<ClProgram>,
    code: Arc<ClExecutable>,
    index: usize,
    arguments: Mutex<Vec<Option<ClArgument>>>,
}

crate::object!(ClKernel, CL_INVALID_KERNEL);

impl fmt::Debug for ClKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({:?}, {})", self.handle, self.info().name)
    }
}

/// Launch with all arguments bound.
#[derive(Debug)]
pub struct ClLaunch {
    code: Arc<ClExecutable>,
    /// Device whose threads it has.
    device: Arc<Device>,
    index: usize,
    given: Vec<ClLaunchArgument>,
    range: ClNdRange,
    /// Buffers that the launch keeps alive.
    buffers: Vec<Arc<ClBuffer>>,
    program: Arc<ClProgram>,
}

impl ClLaunch {
    /// Returns the work-group size, also if the application names none.
    pub fn local_size(&self) -> [usize; 3] {
        let name = &self.code.kernels[self.index].name;
        let chosen = || self.code.local_size(name, &self.range).unwrap_or([1; 3]);
        self.range.local.unwrap_or_else(chosen)
    }

    /// Returns the memory ranges that arguments point to.
    fn places(&self) -> Vec<(Address, usize)> {
        let svm = &self.program.context.svm;
        let of_buffers = self.buffers.iter().map(|buffer| (buffer.base(), buffer.size));
        let of_addresses = self.given.iter().filter_map(|given| match given {
            ClLaunchArgument::Pointer(address) => {
                let (start, size) = svm.find(address.number())?;
                Some((address.minus(address.number() - start), size))
            }
            _ => None,
        });
        of_buffers.chain(of_addresses).collect()
    }

    /// Threads that may execute the command.
    pub fn doer(&self) -> CommandThreads {
        match self.code.outlook(self.index, &self.given, &self.range, self.device.pool()) {
            LaunchForecast { is_brief: true, .. } => CommandThreads::Caller,
            LaunchForecast { is_slim: true, .. } => CommandThreads::Waiter,
            _ => CommandThreads::Executor,
        }
    }

    /// Compiles the kernel if needed, so that compilation does not count as launch time.
    pub fn prepare(&self) -> ClResult<()> {
        self.code
            .prepare(self.index, &self.given, &self.range)
            .map_err(|reason| ClError(self.report(&reason)))
    }

    /// Runs the launch.
    pub fn run(&self) -> Result<(), i32> {
        self.run_quietly().map_err(|reason| self.report(&reason))
    }

    /// Reports the reason of a failure to the application and returns the error code.
    pub fn report(&self, reason: &str) -> i32 {
        let name = &self.code.kernels[self.index].name;
        self.program.context.report(&format!("kernel {name}: {reason}"));
        CL_OUT_OF_RESOURCES
    }

    /// Runs the launch without calling the application. The error is the reason of a failure.
    pub fn run_quietly(&self) -> Result<(), String> {
        let info = &self.code.kernels[self.index];
        let is_verified = heddle_runtime::environment::is_verified();
        let has_images = self.buffers.iter().any(|buffer| buffer.image.is_some());
        if is_verified && has_images {
            eprintln!("heddle: kernel {}: not verified: it takes images", info.name);
        }
        // SAFETY: buffers of the arguments are kept alive; the rest is the application's promise for its kernel.
        let before = (is_verified && !has_images).then(|| unsafe { MemorySnapshot::new(&self.places()) });
        // SAFETY: as above.
        unsafe { self.code.run(self.index, &self.given, &self.range, self.device.pool()) }?;
        if let Some(before) = before {
            // SAFETY: as above.
            let message = unsafe { before.verify(&self.code, info, &self.given, &self.range) };
            eprintln!("heddle: kernel {}: {message}", info.name);
        }
        Ok(())
    }
}

/// Chooses a work-group size that divides a range.
pub fn divide(global: [usize; 3]) -> [usize; 3] {
    let mut room: usize = 256;
    global.map(|size| {
        let fits = (1..=room.min(size)).rev().find(|&part| size.is_multiple_of(part)).unwrap_or(1);
        room /= fits;
        fits
    })
}

impl ClKernel {
    /// Creates the kernel of this name.
    pub fn new(program: &Arc<ClProgram>, name: &str) -> ClResult<ClKernel> {
        let code = program.code()?;
        if let Some(index) = code.kernels.iter().position(|kernel| kernel.name == name) {
            return Ok(ClKernel::of_code(program, code, index));
        }
        let Some(reason) = code.refusal(name) else { return Err(ClError(CL_INVALID_KERNEL_NAME)) };
        program.context.report(&format!("kernel {name} cannot be launched: {reason}"));
        Err(ClError(CL_INVALID_KERNEL_DEFINITION))
    }

    /// Creates all launchable kernels of a program.
    pub fn all(program: &Arc<ClProgram>) -> ClResult<Vec<ClKernel>> {
        let code = program.code()?;
        Ok((0..code.kernels.len()).map(|index| ClKernel::of_code(program, code.clone(), index)).collect())
    }

    fn of_code(program: &Arc<ClProgram>, code: Arc<ClExecutable>, index: usize) -> ClKernel {
        program.count_kernel(true);
        code.compile_before_launch(index);
        let arguments = Mutex::new(vec![None; code.kernels[index].params.len()]);
        ClKernel { handle: ObjectHandle::default(), program: program.clone(), code, index, arguments }
    }

    /// Clones the kernel with its arguments.
    pub fn duplicate(&self) -> ClKernel {
        let kernel = ClKernel::of_code(&self.program, self.code.clone(), self.index);
        let arguments = self.arguments().clone();
        *kernel.arguments() = arguments;
        kernel
    }

    fn arguments(&self) -> MutexGuard<'_, Vec<Option<ClArgument>>> {
        self.arguments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the kernel's description.
    pub fn info(&self) -> &KernelInfo {
        &self.code.kernels[self.index]
    }

    /// Returns the lanes that the kernel is compiled for, which is its sub-group size.
    pub fn lanes(&self) -> usize {
        self.code.lanes(&self.info().name) as usize
    }

    /// Returns how a parameter is passed.
    pub fn passed(&self, index: u32) -> ClResult<&ParamPassing> {
        let param = self.info().params.get(index as usize).ok_or(ClError(CL_INVALID_ARG_INDEX))?;
        Ok(&param.passing)
    }

    /// Sets an argument.
    pub fn set(&self, index: u32, setting: &ClArgumentValue<'_>) -> ClResult<()> {
        let argument = match (self.passed(index)?, setting) {
            (
                ParamPassing::Value { bytes, .. } | ParamPassing::Copy { bytes, .. },
                ClArgumentValue::Bytes(given),
            ) => {
                ensure(*bytes == given.len(), CL_INVALID_ARG_SIZE)?;
                ClArgument::Bytes(given.to_vec())
            }
            (ParamPassing::Pointer(Space::Local), ClArgumentValue::Local(bytes)) => {
                ensure(*bytes <= LOCAL_MEMORY, CL_OUT_OF_RESOURCES)?;
                ClArgument::Local(*bytes)
            }
            (ParamPassing::Pointer(space), ClArgumentValue::Buffer(buffer)) if *space != Space::Local => {
                match buffer {
                    None => ClArgument::Address(Address::new::<u8>(std::ptr::null())),
                    Some(buffer) => {
                        let is_own = Arc::ptr_eq(&buffer.context, &self.program.context);
                        ensure(is_own && buffer.image.is_none(), CL_INVALID_MEM_OBJECT)?;
                        ClArgument::Buffer(Arc::downgrade(buffer))
                    }
                }
            }
            (ParamPassing::Image(ty), ClArgumentValue::Image(buffer)) => {
                ensure(Arc::ptr_eq(&buffer.context, &self.program.context), CL_INVALID_MEM_OBJECT)?;
                let view = buffer.view()?;
                ensure(view.is_of_type(*ty), CL_INVALID_ARG_VALUE)?;
                let access = &*self.info().params[index as usize].access;
                let (reads, writes) = (access != "write_only", access != "read_only");
                let allowed = (!reads || buffer.flags & CL_MEM_WRITE_ONLY == 0)
                    && (!writes || buffer.flags & CL_MEM_READ_ONLY == 0 && view.layout.is_writable);
                ensure(allowed, CL_INVALID_ARG_VALUE)?;
                ClArgument::Image(Arc::downgrade(buffer))
            }
            (ParamPassing::Sampler, ClArgumentValue::Sampler(sampler)) => {
                ensure(Arc::ptr_eq(&sampler.context, &self.program.context), CL_INVALID_SAMPLER)?;
                ClArgument::Sampler(sampler.bits())
            }
            _ => return Err(ClError(CL_INVALID_ARG_VALUE)),
        };
        self.arguments()[index as usize] = Some(argument);
        Ok(())
    }

    /// Sets an argument to an address in shared virtual memory.
    pub fn set_address(&self, index: u32, address: Address) -> ClResult<()> {
        match self.passed(index)? {
            ParamPassing::Pointer(Space::Global | Space::Constant | Space::Generic) => {}
            _ => return Err(ClError(CL_INVALID_ARG_VALUE)),
        }
        self.arguments()[index as usize] = Some(ClArgument::Address(address));
        Ok(())
    }

    /// Returns the local memory of a group in bytes, with the arguments set so far.
    pub fn local_bytes(&self) -> usize {
        let arguments = self.arguments();
        let set = arguments.iter().flatten();
        let of_arguments =
            set.map(|argument| if let ClArgument::Local(bytes) = argument { *bytes } else { 0 });
        self.info().local_bytes.saturating_add(of_arguments.fold(0, usize::saturating_add))
    }

    /// Checks the index space of a launch.
    pub fn range(
        &self,
        dims: u32,
        offset: Option<&[usize]>,
        global: &[usize],
        local: Option<&[usize]>,
    ) -> ClResult<ClNdRange> {
        let mut range = ClNdRange { dims, global: [1; 3], local: None, offset: [0; 3] };
        range.global[..dims as usize].copy_from_slice(global);
        if let Some(offset) = offset {
            range.offset[..dims as usize].copy_from_slice(offset);
        }
        for way in 0..3 {
            let end = range.offset[way].checked_add(range.global[way]);
            ensure(end.is_some_and(|end| end as u64 >> 63 == 0), CL_INVALID_GLOBAL_OFFSET)?;
        }
        let items = range.global.iter().try_fold(1usize, |items, &size| items.checked_mul(size));
        ensure(items.is_some(), CL_INVALID_GLOBAL_WORK_SIZE)?;
        let required = self.info().required_size.map(|size| size.map(|size| size as usize));
        let sub_groups = self.info().required_sub_groups.map(|count| count as usize);
        range.local = required.or(sub_groups.map(|count| [count.saturating_mul(self.lanes()), 1, 1]));
        if let Some(local) = local {
            let mut sizes = [1; 3];
            sizes[..dims as usize].copy_from_slice(local);
            ensure(!local.contains(&0), CL_INVALID_WORK_GROUP_SIZE)?;
            ensure(sizes.iter().all(|&size| size <= MAX_WORK_GROUP_SIZE), CL_INVALID_WORK_ITEM_SIZE)?;
            ensure(required.is_none_or(|required| required == sizes), CL_INVALID_WORK_GROUP_SIZE)?;
            range.local = Some(sizes);
        }
        if let Some(sizes) = range.local {
            ensure(sizes.iter().product::<usize>() <= MAX_WORK_GROUP_SIZE, CL_INVALID_WORK_GROUP_SIZE)?;
            let count = sizes.iter().product::<usize>().div_ceil(self.lanes());
            ensure(sub_groups.is_none_or(|wanted| wanted == count), CL_INVALID_WORK_GROUP_SIZE)?;
            let divides = (0..3).all(|way| range.global[way].is_multiple_of(sizes[way]));
            ensure(divides || self.code.allows_rest && sub_groups.is_none(), CL_INVALID_WORK_GROUP_SIZE)?;
        }
        Ok(range)
    }

    /// Builds a launch on a device from the current arguments.
    pub fn launch(&self, range: ClNdRange, device: &Arc<Device>) -> ClResult<ClLaunch> {
        ensure(self.local_bytes() <= LOCAL_MEMORY, CL_OUT_OF_RESOURCES)?;
        let (mut given, mut buffers) = (Vec::new(), Vec::new());
        for argument in self.arguments().iter() {
            given.push(match argument {
                None => return Err(ClError(CL_INVALID_KERNEL_ARGS)),
                Some(ClArgument::Bytes(bytes)) => ClLaunchArgument::Bytes(bytes.clone()),
                Some(ClArgument::Sampler(bits)) => ClLaunchArgument::Sampler(*bits),
                Some(ClArgument::Local(bytes)) => ClLaunchArgument::Local(*bytes),
                Some(ClArgument::Address(address)) => ClLaunchArgument::Pointer(*address),
                Some(ClArgument::Buffer(buffer)) => {
                    let buffer = buffer.upgrade().ok_or(ClError(CL_INVALID_KERNEL_ARGS))?;
                    let base = buffer.base();
                    buffers.push(buffer);
                    ClLaunchArgument::Pointer(base)
                }
                Some(ClArgument::Image(buffer)) => {
                    let buffer = buffer.upgrade().ok_or(ClError(CL_INVALID_KERNEL_ARGS))?;
                    let view = buffer.view()?;
                    let image = ClLaunchArgument::Image(view.address(), view.fields());
                    buffers.push(buffer);
                    image
                }
            });
        }
        let is_known = self.program.devices.iter().any(|known| Arc::ptr_eq(known, device));
        ensure(is_known, CL_INVALID_PROGRAM_EXECUTABLE)?;
        let (code, program, device) = (self.code.clone(), self.program.clone(), device.clone());
        Ok(ClLaunch { code, device, index: self.index, given, range, buffers, program })
    }
}

impl Drop for ClKernel {
    fn drop(&mut self) {
        self.program.count_kernel(false);
    }
}
