//! Contexts.

use super::device::{devices, handles, requests_device};
use super::info::Info;
use super::pointer::{ClInput, ClOutput, UserData};
use crate::cl::*;
use crate::core::context::{ClContext, Notify};
use crate::core::device::device;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::platform::Platform;
use crate::core::registry::{find, publish, references, release, retain};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

/// Error callback of a context (`pfn_notify`).
pub type NotifyFunction = unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void);
/// Destructor callback of a context.
pub type EndOfContext = unsafe extern "C" fn(ClHandle, *mut c_void);

fn notify(function: Option<NotifyFunction>, data: UserData) -> ClResult<Option<Notify>> {
    let Some(function) = function else {
        ensure(data.get().is_null(), CL_INVALID_VALUE)?;
        return Ok(None);
    };
    Ok(Some(Box::new(move |message| {
        let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the application's function, with its own argument.
        unsafe { function(text.as_ptr(), std::ptr::null(), 0, data.get()) };
    })))
}

fn properties(list: ClInput<isize>) -> ClResult<Vec<isize>> {
    let list = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
    let mut seen = Vec::new();
    for pair in list.chunks_exact(2) {
        ensure(!seen.contains(&pair[0]), CL_INVALID_PROPERTY)?;
        seen.push(pair[0]);
        match pair[0] {
            CL_CONTEXT_PLATFORM => {
                find::<Platform>(std::ptr::without_provenance_mut(pair[1] as usize))?;
            }
            CL_CONTEXT_INTEROP_USER_SYNC => ensure(matches!(pair[1], 0 | 1), CL_INVALID_PROPERTY)?,
            _ => return Err(ClError(CL_INVALID_PROPERTY)),
        }
    }
    Ok(list)
}

makers! {
    fn clCreateContext(
        list: ClInput<isize>, count: cl_uint, named: ClInput<ClHandle>, function: Option<NotifyFunction>, data: UserData,
    ) {
        let properties = properties(list)?;
        ensure(count != 0 && !named.is_null(), CL_INVALID_VALUE)?;
        let notify = notify(function, data)?;
        let devices = devices(count, named)?;
        Ok(publish(Arc::new(ClContext::new(devices, properties, notify))))
    }

    fn clCreateContextFromType(
        list: ClInput<isize>, kinds: u64, function: Option<NotifyFunction>, data: UserData,
    ) {
        let properties = properties(list)?;
        let notify = notify(function, data)?;
        ensure(requests_device(kinds)?, CL_DEVICE_NOT_FOUND)?;
        Ok(publish(Arc::new(ClContext::new(vec![device().clone()], properties, notify))))
    }
}

entries! {
    fn clRetainContext(of: ClHandle) {
        retain::<ClContext>(of)
    }

    fn clReleaseContext(of: ClHandle) {
        release::<ClContext>(of).map(|_| ())
    }

    fn clGetContextInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let context = find::<ClContext>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_CONTEXT_REFERENCE_COUNT => info.value(references(&*context)),
            CL_CONTEXT_NUM_DEVICES => info.value(context.devices.len() as u32),
            CL_CONTEXT_DEVICES => info.list(&handles(&context.devices)),
            CL_CONTEXT_PROPERTIES => info.list(&context.properties),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clSetContextDestructorCallback(of: ClHandle, function: Option<EndOfContext>, data: UserData) {
        let context = find::<ClContext>(of)?;
        let function = function.ok_or(ClError(CL_INVALID_VALUE))?;
        let handle = of.addr();
        context.destructors.add(Box::new(move || {
            // SAFETY: the application's function, with its own argument.
            unsafe { function(std::ptr::without_provenance_mut(handle), data.get()) };
        }));
        Ok(())
    }
}
