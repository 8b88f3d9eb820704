//! Types of shared virtual memory (`cl_khr_unified_svm`).

use super::device::device_among;
use super::info::Info;
use super::pointer::{ClInput, ClOutput};
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::device::{BASE_ALIGN, device};
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::registry::{find, handle_of};
use crate::core::svm::{SVM_TYPES, SharedMemoryKind, SvmAttributes, suggested_type};
use std::ffi::c_void;

const ACCESS_FLAGS: u64 = CL_SVM_ALLOC_ACCESS_HOST_NOREAD_KHR
    | CL_SVM_ALLOC_ACCESS_HOST_NOWRITE_KHR
    | CL_SVM_ALLOC_ACCESS_DEVICE_NOREAD_KHR
    | CL_SVM_ALLOC_ACCESS_DEVICE_NOWRITE_KHR;

/// Reads a list of properties for memory of a type. Alignments need no care: all memory has the largest.
fn attributes(context: &ClContext, list: ClInput<u64>, type_index: u32) -> ClResult<SvmAttributes> {
    let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
    let (mut access, mut device) = (0, None);
    for (index, pair) in properties.chunks_exact(2).enumerate() {
        let is_repeated = properties.chunks_exact(2).take(index).any(|before| before[0] == pair[0]);
        ensure(!is_repeated, CL_INVALID_PROPERTY)?;
        match u32::try_from(pair[0]) {
            Ok(CL_SVM_ALLOC_ASSOCIATED_DEVICE_HANDLE_KHR) => {
                let named = std::ptr::without_provenance_mut(pair[1] as usize);
                let known =
                    |_| device_among(&context.devices, named).map_err(|_| ClError(CL_INVALID_PROPERTY));
                device = (pair[1] != 0).then_some(()).map(known).transpose()?;
            }
            Ok(CL_SVM_ALLOC_ACCESS_FLAGS_KHR) => {
                access = pair[1];
                ensure(access & !ACCESS_FLAGS == 0, CL_INVALID_PROPERTY)?;
            }
            Ok(CL_SVM_ALLOC_ALIGNMENT_KHR) => {
                let fits = pair[1].is_power_of_two() && pair[1] <= BASE_ALIGN as u64;
                ensure(pair[1] == 0 || fits, CL_INVALID_PROPERTY)?;
            }
            _ => return Err(ClError(CL_INVALID_PROPERTY)),
        }
    }
    Ok(SvmAttributes { type_index, properties, access, device })
}

makers! {
    fn clSVMAllocWithPropertiesKHR(context: ClHandle, properties: ClInput<u64>, type_index: cl_uint, size: usize) {
        let context = find::<ClContext>(context)?;
        let capabilities = *SVM_TYPES.get(type_index as usize).ok_or(ClError(CL_INVALID_VALUE))?;
        let attributes = attributes(&context, properties, type_index)?;
        let needs_device = capabilities & CL_SVM_CAPABILITY_DEVICE_UNASSOCIATED_KHR == 0;
        ensure(attributes.device.is_some() || !needs_device, CL_INVALID_PROPERTY)?;
        if size == 0 {
            return Ok(std::ptr::null_mut());
        }
        ensure(size as u64 <= device().max_allocation(), CL_INVALID_BUFFER_SIZE)?;
        let address = context.svm.add(SharedMemoryKind::Svm(attributes), size, BASE_ALIGN);
        Ok(address.ok_or(ClError(CL_OUT_OF_RESOURCES))?.pointer().cast())
    }
}

entries! {
    fn clSVMFreeWithPropertiesKHR(context: ClHandle, properties: ClInput<u64>, flags: u64, pointer: ClInput<c_void>) {
        let context = find::<ClContext>(context)?;
        ensure(properties.read().unwrap_or(0) == 0, CL_INVALID_PROPERTY)?;
        let address = pointer.address().number();
        ensure(flags == 0 && (address == 0 || context.svm.is_svm(address)), CL_INVALID_VALUE)?;
        context.svm.remove(address);
        Ok(())
    }

    fn clGetSVMPointerInfoKHR(
        context: ClHandle, on: ClHandle, pointer: ClInput<c_void>, name: cl_uint, size: usize, value: ClOutput<c_void>,
        needed: ClOutput<usize>,
    ) {
        let context = find::<ClContext>(context)?;
        if !on.is_null() {
            device_among(&context.devices, on)?;
        }
        let info = Info::new(size, value, needed);
        let address = pointer.address();
        let kind = context.svm.kind(address.number());
        let svm = kind.as_ref().and_then(SharedMemoryKind::svm);
        let place = svm.and_then(|_| context.svm.find(address.number()));
        match name {
            CL_SVM_INFO_TYPE_INDEX_KHR => info.value(svm.map_or(u32::MAX, |svm| svm.type_index)),
            CL_SVM_INFO_CAPABILITIES_KHR => info.value(svm.map_or(0, SvmAttributes::capabilities)),
            CL_SVM_INFO_PROPERTIES_KHR => info.list(svm.map_or(&[][..], |svm| &svm.properties)),
            CL_SVM_INFO_ACCESS_FLAGS_KHR => info.value(svm.map_or(0, |svm| svm.access)),
            CL_SVM_INFO_BASE_PTR_KHR => info.value(match place {
                Some((start, _)) => address.minus(address.number() - start).pointer().cast::<c_void>(),
                None => std::ptr::null_mut(),
            }),
            CL_SVM_INFO_SIZE_KHR => info.value(place.map_or(0, |(_, size)| size)),
            CL_SVM_INFO_ASSOCIATED_DEVICE_HANDLE_KHR => {
                let device = svm.and_then(|svm| svm.device.as_deref());
                info.value(device.map_or(std::ptr::null_mut(), handle_of))
            }
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetSVMSuggestedTypeIndexKHR(
        context: ClHandle, required: u64, desired: u64, properties: ClInput<u64>, _size: usize, suggested: ClOutput<cl_uint>,
    ) {
        let context = find::<ClContext>(context)?;
        ensure(!suggested.is_null(), CL_INVALID_VALUE)?;
        let attributes = attributes(&context, properties, 0)?;
        // Without a list the application may still name a device when it allocates.
        let has_device = attributes.device.is_some() || attributes.properties.is_empty();
        suggested.write(suggested_type(required, desired, has_device).unwrap_or(u32::MAX));
        Ok(())
    }
}
