//! Memory objects, and buffers.

use super::info::Info;
use super::pointer::{ClInput, ClOutput, UserData};
use crate::cl::*;
use crate::core::buffer::ClBuffer;
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use std::ffi::c_void;
use std::sync::Arc;

/// Destructor callback of a memory object.
pub type EndOfMemory = unsafe extern "C" fn(ClHandle, *mut c_void);

fn create(
    context: ClHandle,
    properties: Vec<u64>,
    flags: u64,
    size: usize,
    host: ClInput<c_void>,
) -> ClResult<ClHandle> {
    let context = find::<ClContext>(context)?;
    // SAFETY: the application hands over as much memory as it says, for as long as it is used.
    let buffer = unsafe { ClBuffer::create(&context, properties, flags, size, host.address()) }?;
    Ok(publish(Arc::new(buffer)))
}

makers! {
    fn clCreateBuffer(context: ClHandle, flags: u64, size: usize, host: ClInput<c_void>) {
        create(context, Vec::new(), flags, size, host)
    }

    fn clCreateBufferWithProperties(context: ClHandle, list: ClInput<u64>, flags: u64, size: usize, host: ClInput<c_void>) {
        find::<ClContext>(context)?;
        let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        for pair in properties.chunks_exact(2) {
            ensure(pair[0] == u64::from(CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT), CL_INVALID_PROPERTY)?;
            ensure(pair[1] <= 1, CL_INVALID_PROPERTY)?;
        }
        create(context, properties, flags, size, host)
    }

    fn clCreateSubBuffer(of: ClHandle, flags: u64, kind: cl_uint, region: ClInput<[usize; 2]>) {
        let buffer = find::<ClBuffer>(of)?;
        ensure(buffer.image.is_none(), CL_INVALID_MEM_OBJECT)?;
        ensure(kind == CL_BUFFER_CREATE_TYPE_REGION, CL_INVALID_VALUE)?;
        let [origin, size] = region.read().ok_or(ClError(CL_INVALID_VALUE))?;
        Ok(publish(Arc::new(buffer.part(flags, origin, size)?)))
    }
}

entries! {
    fn clRetainMemObject(of: ClHandle) {
        retain::<ClBuffer>(of)
    }

    fn clReleaseMemObject(of: ClHandle) {
        release::<ClBuffer>(of).map(|_| ())
    }

    fn clGetMemObjectInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let buffer = find::<ClBuffer>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_MEM_TYPE => info.value(buffer.image.as_ref().map_or(CL_MEM_OBJECT_BUFFER, |image| image.object_type)),
            CL_MEM_FLAGS => info.value(buffer.flags),
            CL_MEM_SIZE => info.value(buffer.size),
            CL_MEM_HOST_PTR => info.value(buffer.host_pointer.pointer().cast::<c_void>()),
            CL_MEM_MAP_COUNT => info.value(buffer.map_count() as u32),
            CL_MEM_REFERENCE_COUNT => info.value(references(&*buffer)),
            CL_MEM_CONTEXT => info.value(handle_of(&*buffer.context)),
            CL_MEM_ASSOCIATED_MEMOBJECT => {
                info.value(buffer.parent.as_ref().map_or(std::ptr::null_mut(), |parent| handle_of(&**parent)))
            }
            CL_MEM_OFFSET => info.value(if buffer.image.is_some() { 0 } else { buffer.origin }),
            CL_MEM_USES_SVM_POINTER => info.truth(buffer.uses_svm),
            CL_MEM_PROPERTIES => info.list(&buffer.properties),
            CL_MEM_DEVICE_ADDRESS_EXT => {
                let wanted = [u64::from(CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT), 1];
                ensure(buffer.properties.chunks_exact(2).any(|pair| pair == wanted), CL_INVALID_OPERATION)?;
                // Kernels may use the address of any buffer.
                info.value(buffer.base().pointer().expose_provenance() as u64)
            }
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clSetMemObjectDestructorCallback(of: ClHandle, function: Option<EndOfMemory>, data: UserData) {
        let buffer = find::<ClBuffer>(of)?;
        let function = function.ok_or(ClError(CL_INVALID_VALUE))?;
        let handle = of.addr();
        buffer.destructors.add(Box::new(move || {
            // SAFETY: the application's function, with its own argument.
            unsafe { function(std::ptr::without_provenance_mut(handle), data.get()) };
        }));
        Ok(())
    }
}
