//! Events.

use super::info::Info;
use super::pointer::{ClInput, ClOutput, UserData};
use crate::cl::*;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::event::ClEvent;
use crate::core::registry::{find, handle_of, references, release, retain};
use std::ffi::c_void;
use std::sync::Arc;

/// Callback for an event that reaches a status.
pub type EventFunction = unsafe extern "C" fn(ClHandle, cl_int, *mut c_void);

entries! {
    fn clRetainEvent(of: ClHandle) {
        retain::<ClEvent>(of)
    }

    fn clReleaseEvent(of: ClHandle) {
        release::<ClEvent>(of).map(|_| ())
    }

    fn clWaitForEvents(count: cl_uint, list: ClInput<ClHandle>) {
        let handles = list.list(count as usize)?;
        ensure(!handles.is_empty(), CL_INVALID_VALUE)?;
        let events: ClResult<Vec<Arc<ClEvent>>> = handles.into_iter().map(find).collect();
        let events = events?;
        let context = &events[0].context;
        ensure(events.iter().all(|event| Arc::ptr_eq(&event.context, context)), CL_INVALID_CONTEXT)?;
        // Wait for all events, even if the first one fails.
        let least = events.iter().map(|event| event.wait()).min().unwrap_or(CL_COMPLETE);
        ensure(least >= 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    }

    fn clGetEventInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let event = find::<ClEvent>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_EVENT_COMMAND_QUEUE => {
                info.value(event.queue.as_ref().map_or(std::ptr::null_mut(), |queue| handle_of(&**queue)))
            }
            CL_EVENT_CONTEXT => info.value(handle_of(&*event.context)),
            CL_EVENT_COMMAND_TYPE => info.value(event.command),
            CL_EVENT_COMMAND_EXECUTION_STATUS => info.value(event.status()),
            CL_EVENT_REFERENCE_COUNT => info.value(references(&*event)),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clGetEventProfilingInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let event = find::<ClEvent>(of)?;
        let keeps = event.queue.as_ref().is_some_and(|queue| queue.flags & CL_QUEUE_PROFILING_ENABLE != 0);
        ensure(keeps, CL_PROFILING_INFO_NOT_AVAILABLE)?;
        let times = event.times().ok_or(ClError(CL_PROFILING_INFO_NOT_AVAILABLE))?;
        let info = Info::new(size, value, needed);
        match name {
            CL_PROFILING_COMMAND_QUEUED => info.value(times[0]),
            CL_PROFILING_COMMAND_SUBMIT => info.value(times[1]),
            CL_PROFILING_COMMAND_START => info.value(times[2]),
            CL_PROFILING_COMMAND_END | CL_PROFILING_COMMAND_COMPLETE => info.value(times[3]),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }

    fn clSetUserEventStatus(of: ClHandle, status: cl_int) {
        find::<ClEvent>(of)?.set_user_status(status)
    }

    fn clSetEventCallback(of: ClHandle, at: cl_int, function: Option<EventFunction>, data: UserData) {
        let event = find::<ClEvent>(of)?;
        let function = function.ok_or(ClError(CL_INVALID_VALUE))?;
        ensure([CL_SUBMITTED, CL_RUNNING, CL_COMPLETE].contains(&at), CL_INVALID_VALUE)?;
        event.add_callback(at, Box::new(move |event, status| {
            // SAFETY: the application's function, with its own argument.
            unsafe { function(handle_of(&**event), status, data.get()) };
        }));
        Ok(())
    }
}
