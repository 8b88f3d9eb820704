//! Objects of the application that graphs keep alive (`CUuserObject`).
//!
//! The last reference that goes calls the destructor, on the thread that gives it up. A graph, its clones, its executable graphs and
//! launches that have not ended own references.

use crate::core::command::HostCall;
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::registry::HandleTable;
use crate::cuda::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Object of the application with a destructor.
#[derive(Debug)]
pub struct UserObject {
    handle: CudaHandle,
    destructor: HostCall,
    references: Mutex<u64>,
}

/// All objects with references.
static USER_OBJECTS: HandleTable<UserObject> = HandleTable::new();

/// Returns an error unless so many references can be added or given up at once.
fn ensure_count(count: u32) -> CudaResult<()> {
    ensure((1..=i32::MAX as u32).contains(&count), CUDA_ERROR_INVALID_VALUE)
}

impl UserObject {
    /// Creates an object with some references.
    pub fn create(destructor: HostCall, references: u32) -> CudaResult<CudaHandle> {
        ensure_count(references)?;
        let references = Mutex::new(references.into());
        let object = |handle| Arc::new(UserObject { handle, destructor, references });
        Ok(USER_OBJECTS.publish_with(object).0)
    }

    fn find(handle: CudaHandle) -> CudaResult<Arc<UserObject>> {
        USER_OBJECTS.find(handle).map_err(|_| CudaError(CUDA_ERROR_INVALID_VALUE))
    }

    fn references(&self) -> MutexGuard<'_, u64> {
        self.references.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, count: u64) {
        *self.references() += count;
    }

    /// Gives references up; the last one calls the destructor.
    fn give_up(&self, count: u64) {
        let mut references = self.references();
        *references = references.saturating_sub(count);
        let is_last = *references == 0;
        drop(references);
        // Its handle is taken out of the table once.
        if is_last && USER_OBJECTS.remove(self.handle).is_ok() {
            self.destructor.call();
        }
    }

    /// Adds references of the application.
    pub fn retain(handle: CudaHandle, count: u32) -> CudaResult<()> {
        ensure_count(count)?;
        UserObject::find(handle)?.add(count.into());
        Ok(())
    }

    /// Gives up references of the application.
    pub fn release(handle: CudaHandle, count: u32) -> CudaResult<()> {
        ensure_count(count)?;
        let object = UserObject::find(handle)?;
        ensure(*object.references() >= count.into(), CUDA_ERROR_INVALID_VALUE)?;
        object.give_up(count.into());
        Ok(())
    }
}

/// References that a graph owns. A clone owns as many.
#[derive(Default, Debug)]
pub struct UserReferences(Vec<(Arc<UserObject>, u64)>);

impl UserReferences {
    /// Adds references to an object; `moves` takes them over from the application.
    pub fn retain(&mut self, handle: CudaHandle, count: u32, moves: bool) -> CudaResult<()> {
        ensure_count(count)?;
        let object = UserObject::find(handle)?;
        if moves {
            ensure(*object.references() >= count.into(), CUDA_ERROR_INVALID_VALUE)?;
        } else {
            object.add(count.into());
        }
        match self.0.iter_mut().find(|(known, _)| known.handle == handle) {
            Some((_, owned)) => *owned += u64::from(count),
            None => self.0.push((object, count.into())),
        }
        Ok(())
    }

    /// Gives references to an object up. The result holds them: their destructors run when it is dropped.
    pub fn release(&mut self, handle: CudaHandle, count: u32) -> CudaResult<UserReferences> {
        ensure_count(count)?;
        let place = self.0.iter().position(|(known, owned)| known.handle == handle && *owned >= count.into());
        let place = place.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
        let (object, owned) = &mut self.0[place];
        *owned -= u64::from(count);
        let released = UserReferences(vec![(Arc::clone(object), count.into())]);
        self.0.retain(|(_, owned)| *owned > 0);
        Ok(released)
    }
}

impl Clone for UserReferences {
    fn clone(&self) -> UserReferences {
        self.0.iter().for_each(|(object, owned)| object.add(*owned));
        UserReferences(self.0.clone())
    }
}

impl Drop for UserReferences {
    fn drop(&mut self) {
        self.0.iter().for_each(|(object, owned)| object.give_up(*owned));
    }
}
