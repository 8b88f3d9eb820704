//! Contexts.

use crate::cl::*;
use crate::core::device::Device;
use crate::core::queue::Queue;
use crate::core::registry::ObjectHandle;
use crate::core::svm::SvmAllocations;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Error callback of a context, called with a message.
pub type Notify = Box<dyn Fn(&str) + Send + Sync>;
/// Destructor callback of an object.
pub type Destructor = Box<dyn FnOnce() + Send>;

/// Destructors, called in the reverse of the order in which they were registered.
#[derive(Default)]
pub struct Destructors(Mutex<Vec<Destructor>>);

impl fmt::Debug for Destructors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Destructors")
    }
}

impl Destructors {
    /// Registers one.
    pub fn add(&self, destructor: Destructor) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(destructor);
    }

    /// Calls all of them.
    pub fn run(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        all.into_iter().rev().for_each(|destructor| destructor());
    }
}

/// A context.
pub struct ClContext {
    pub(crate) handle: ObjectHandle<ClContext>,
    /// Its devices, each once.
    pub devices: Vec<Arc<Device>>,
    /// Creation properties, with the terminating zero; empty without any.
    pub properties: Vec<isize>,
    notify: Option<Notify>,
    /// Destructor callbacks.
    pub destructors: Destructors,
    /// Its shared virtual memory.
    pub svm: SvmAllocations,
    queues: Mutex<Vec<Weak<Queue>>>,
}

crate::object!(ClContext, CL_INVALID_CONTEXT);

impl fmt::Debug for ClContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?})", self.handle)
    }
}

impl ClContext {
    /// A context of these devices.
    pub fn new(devices: Vec<Arc<Device>>, properties: Vec<isize>, notify: Option<Notify>) -> ClContext {
        ClContext {
            handle: ObjectHandle::default(),
            devices,
            properties,
            notify,
            destructors: Destructors::default(),
            svm: SvmAllocations::default(),
            queues: Mutex::default(),
        }
    }

    /// Registers a queue of the context.
    pub fn add_queue(&self, queue: &Arc<Queue>) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// Waits for the commands of all queues.
    pub fn finish(&self) {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone();
        queues.iter().filter_map(Weak::upgrade).for_each(|queue| queue.finish());
    }

    /// Reports details of an error: to the application's callback, or to stderr without one.
    pub fn report(&self, message: &str) {
        match &self.notify {
            Some(notify) => notify(message),
            None => eprintln!("heddle: {message}"),
        }
    }
}

impl Drop for ClContext {
    fn drop(&mut self) {
        self.destructors.run();
    }
}
