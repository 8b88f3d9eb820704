//! Kernels.

use super::device::device_among;
use super::info::Info;
use super::pointer::ClString;
use super::pointer::{ClInput, ClOutput};
use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::device::MAX_WORK_GROUP_SIZE;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::kernel::{ClArgumentValue, ClKernel};
use crate::core::memory::Address;
use crate::core::program::ClProgram;
use crate::core::queue::Queue;
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use crate::core::sampler::ClSampler;
use heddle_ir::Space;
use heddle_llvm::ParamPassing;
use std::ffi::c_void;
use std::sync::Arc;

makers! {
    fn clCreateKernel(of: ClHandle, name: ClString) {
        let program = find::<ClProgram>(of)?;
        let name = name.get().ok_or(ClError(CL_INVALID_VALUE))?;
        Ok(publish(Arc::new(ClKernel::new(&program, &name)?)))
    }

    fn clCloneKernel(of: ClHandle) {
        Ok(publish(Arc::new(find::<ClKernel>(of)?.duplicate())))
    }
}

/// Checks the device of a query. It may be null for a program of one device.
fn check_device(kernel: &ClKernel, device: ClHandle) -> ClResult<()> {
    let devices = &kernel.program.devices;
    if device.is_null() && devices.len() == 1 { Ok(()) } else { device_among(devices, device).map(|_| ()) }
}

/// Sets an argument from the bytes that the application passes.
pub(super) fn set_argument(
    kernel: &ClKernel,
    index: cl_uint,
    size: usize,
    value: ClInput<c_void>,
) -> ClResult<()> {
    match kernel.passed(index)? {
        ParamPassing::Pointer(Space::Local) => {
            ensure(value.is_null(), CL_INVALID_ARG_VALUE)?;
            kernel.set(index, &ClArgumentValue::Local(size))
        }
        ParamPassing::Pointer(_) => {
            ensure(size == size_of::<ClHandle>(), CL_INVALID_ARG_SIZE)?;
            let handle = ClInput::<ClHandle>::of_input(value).read().unwrap_or(std::ptr::null_mut());
            let buffer = if handle.is_null() { None } else { Some(find::<ClBuffer>(handle)?) };
            kernel.set(index, &ClArgumentValue::Buffer(buffer))
        }
        ParamPassing::Value { bytes, .. } | ParamPassing::Copy { bytes, .. } => {
            ensure(!value.is_null(), CL_INVALID_ARG_VALUE)?;
            ensure(size == *bytes, CL_INVALID_ARG_SIZE)?;
            kernel.set(index, &ClArgumentValue::Bytes(value.bytes(size).unwrap_or_default()))
        }
        ParamPassing::Image(_) => {
            ensure(size == size_of::<ClHandle>(), CL_INVALID_ARG_SIZE)?;
            let handle = ClInput::<ClHandle>::of_input(value).read().ok_or(ClError(CL_INVALID_ARG_VALUE))?;
            kernel.set(index, &ClArgumentValue::Image(find::<ClBuffer>(handle)?))
        }
        ParamPassing::Sampler => {
            ensure(size == size_of::<ClHandle>(), CL_INVALID_ARG_SIZE)?;
            let handle = ClInput::<ClHandle>::of_input(value).read().ok_or(ClError(CL_INVALID_SAMPLER))?;
            kernel.set(index, &ClArgumentValue::Sampler(find::<ClSampler>(handle)?))
        }
        ParamPassing::Opaque => Err(ClError(CL_INVALID_ARG_VALUE)),
    }
}

/// Checks information on what a kernel uses. Kernels may use all memory of their context anyhow.
pub(super) fn check_exec_info(name: cl_uint, size: usize, value: ClInput<c_void>) -> ClResult<()> {
    match name {
        CL_KERNEL_EXEC_INFO_SVM_PTRS
        | CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL
        | CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT => ensure(
            value.is_null() == (size == 0) && size.is_multiple_of(size_of::<usize>()),
            CL_INVALID_VALUE,
        ),
        CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM
        | CL_KERNEL_EXEC_INFO_SVM_INDIRECT_ACCESS_KHR
        | CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL
        | CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL
        | CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL => {
            ensure(!value.is_null() && size == size_of::<cl_bool>(), CL_INVALID_VALUE)
        }
        _ => Err(ClError(CL_INVALID_VALUE)),
    }
}

entries! {
    fn clCreateKernelsInProgram(of: ClHandle, count: cl_uint, kernels: ClOutput<ClHandle>, there: ClOutput<cl_uint>) {
        let program = find::<ClProgram>(of)?;
        let all = ClKernel::all(&program)?;
        ensure(kernels.is_null() || count as usize >= all.len(), CL_INVALID_VALUE)?;
        there.write(all.len() as cl_uint);
        if !kernels.is_null() {
            for (index, kernel) in all.into_iter().enumerate() {
                kernels.write_at(index, publish(Arc::new(kernel)));
            }
        }
        Ok(())
    }

    fn clRetainKernel(of: ClHandle) {
        retain::<ClKernel>(of)
    }

    fn clReleaseKernel(of: ClHandle) {
        release::<ClKernel>(of).map(|_| ())
    }

    fn clSetKernelArg(of: ClHandle, index: cl_uint, size: usize, value: ClInput<c_void>) {
        set_argument(&*find::<ClKernel>(of)?, index, size, value)
    }

    fn clSetKernelArgSVMPointer(of: ClHandle, index: cl_uint, pointer: ClInput<c_void>) {
        find::<ClKernel>(of)?.set_address(index, pointer.address())
    }

    fn clSetKernelArgDevicePointerEXT(of: ClHandle, index: cl_uint, address: u64) {
        let kernel = find::<ClKernel>(of)?;
        ensure(matches!(kernel.passed(index)?, ParamPassing::Pointer(Space::Global)), CL_INVALID_ARG_INDEX)?;
        kernel.set_address(index, Address::new(std::ptr::with_exposed_provenance::<u8>(address as usize)))
    }

    fn clSetKernelExecInfo(of: ClHandle, name: cl_uint, size: usize, value: ClInput<c_void>) {
        find::<ClKernel>(of)?;
        check_exec_info(name, size, value)
    }

    fn clGetKernelInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let kernel = find::<ClKernel>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_KERNEL_FUNCTION_NAME => info.text(&kernel.info().name),
            CL_KERNEL_NUM_ARGS => info.value(kernel.info().params.len() as u32),
            CL_KERNEL_REFERENCE_COUNT => info.value(references(&*kernel)),
            CL_KERNEL_CONTEXT => info.value(handle_of(&*kernel.program.context)),
            CL_KERNEL_PROGRAM => info.value(handle_of(&*kernel.program)),
            CL_KERNEL_ATTRIBUTES => info.text(&kernel.info().attributes),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetKernelArgInfo(
        of: ClHandle, index: cl_uint, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>,
    ) {
        let kernel = find::<ClKernel>(of)?;
        let param = kernel.info().params.get(index as usize).ok_or(ClError(CL_INVALID_ARG_INDEX))?;
        let info = Info::new(size, value, needed);
        ensure((CL_KERNEL_ARG_ADDRESS_QUALIFIER..=CL_KERNEL_ARG_NAME).contains(&name), CL_INVALID_VALUE)?;
        ensure(kernel.program.tells_of_arguments(), CL_KERNEL_ARG_INFO_NOT_AVAILABLE)?;
        match name {
            CL_KERNEL_ARG_ADDRESS_QUALIFIER => info.value(match param.passing {
                ParamPassing::Pointer(Space::Local) => CL_KERNEL_ARG_ADDRESS_LOCAL,
                ParamPassing::Pointer(Space::Constant) => CL_KERNEL_ARG_ADDRESS_CONSTANT,
                ParamPassing::Pointer(_) | ParamPassing::Image(_) => CL_KERNEL_ARG_ADDRESS_GLOBAL,
                _ => CL_KERNEL_ARG_ADDRESS_PRIVATE,
            }),
            CL_KERNEL_ARG_ACCESS_QUALIFIER => info.value(match &*param.access {
                "read_only" => CL_KERNEL_ARG_ACCESS_READ_ONLY,
                "write_only" => CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
                "read_write" => CL_KERNEL_ARG_ACCESS_READ_WRITE,
                _ => CL_KERNEL_ARG_ACCESS_NONE,
            }),
            CL_KERNEL_ARG_TYPE_NAME => info.text(&param.type_name),
            CL_KERNEL_ARG_TYPE_QUALIFIER => {
                let stated = |word: &str, bit: u64| {
                    if param.qualifiers.split(' ').any(|qualifier| qualifier == word) { bit } else { 0 }
                };
                info.value(
                    stated("const", CL_KERNEL_ARG_TYPE_CONST)
                        | stated("restrict", CL_KERNEL_ARG_TYPE_RESTRICT)
                        | stated("volatile", CL_KERNEL_ARG_TYPE_VOLATILE)
                        | stated("pipe", CL_KERNEL_ARG_TYPE_PIPE),
                )
            }
            CL_KERNEL_ARG_NAME => match &param.name {
                Some(name) => info.text(name),
                None => Err(ClError(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)),
            },
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetKernelWorkGroupInfo(
        of: ClHandle, on: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>,
    ) {
        let kernel = find::<ClKernel>(of)?;
        check_device(&kernel, on)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_KERNEL_WORK_GROUP_SIZE => info.value(MAX_WORK_GROUP_SIZE),
            CL_KERNEL_COMPILE_WORK_GROUP_SIZE => {
                info.list(&kernel.info().required_size.unwrap_or_default().map(|size| size as usize))
            }
            CL_KERNEL_LOCAL_MEM_SIZE => info.value(kernel.local_bytes() as u64),
            CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => info.value(kernel.lanes()),
            CL_KERNEL_PRIVATE_MEM_SIZE | CL_KERNEL_SPILL_MEM_SIZE_INTEL => info.value(0u64),
            // Built-in kernels and custom devices have it.
            CL_KERNEL_GLOBAL_WORK_SIZE => Err(ClError(CL_INVALID_VALUE)),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetKernelSubGroupInfo(
        of: ClHandle, on: ClHandle, name: cl_uint, input_size: usize, input: ClInput<c_void>, size: usize,
        value: ClOutput<c_void>, needed: ClOutput<usize>,
    ) {
        let kernel = find::<ClKernel>(of)?;
        check_device(&kernel, on)?;
        let info = Info::new(size, value, needed);
        let lanes = kernel.lanes();
        // The result is one number, or one per dimension.
        let numbers = |most: usize| {
            let count = input_size / size_of::<usize>();
            let fits = (1..=most).contains(&count) && input_size.is_multiple_of(size_of::<usize>());
            ensure(!input.is_null() && fits, CL_INVALID_VALUE)?;
            ClInput::<usize>::of_input(input).list(count)
        };
        let items = || Ok(numbers(3)?.into_iter().fold(1, usize::saturating_mul));
        match name {
            CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE => {
                items()?;
                info.value(lanes)
            }
            CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => info.value(items()?.div_ceil(lanes)),
            CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
                let count = numbers(1)?[0];
                let size = count.saturating_mul(lanes);
                let fits = size <= MAX_WORK_GROUP_SIZE
                    && kernel.info().required_size.is_none_or(|required| required == [size as u32, 1, 1]);
                let dims = (info.places().0 / size_of::<usize>()).clamp(1, 3);
                info.list(&[if fits { size } else { 0 }, fits.into(), fits.into()][..dims])
            }
            CL_KERNEL_MAX_NUM_SUB_GROUPS => info.value(MAX_WORK_GROUP_SIZE.div_ceil(lanes)),
            CL_KERNEL_COMPILE_NUM_SUB_GROUPS => {
                info.value(kernel.info().required_sub_groups.unwrap_or(0) as usize)
            }
            CL_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL => {
                info.value(kernel.info().required_lanes.unwrap_or(0) as usize)
            }
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetKernelSuggestedLocalWorkSizeKHR(
        queue: ClHandle, of: ClHandle, dims: cl_uint, offset: ClInput<usize>, global: ClInput<usize>, local: ClOutput<usize>,
    ) {
        let queue = find::<Queue>(queue)?;
        let kernel = find::<ClKernel>(of)?;
        ensure(Arc::ptr_eq(&kernel.program.context, &queue.context), CL_INVALID_CONTEXT)?;
        ensure(!local.is_null(), CL_INVALID_VALUE)?;
        let range = super::enqueue::range(&kernel, dims, offset, global, ClInput::NONE)?;
        let launch = kernel.launch(range, &queue.device)?;
        for way in 0..dims as usize {
            local.write_at(way, launch.local_size()[way]);
        }
        Ok(())
    }
}
