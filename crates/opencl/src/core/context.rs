//! Contexts.

use crate::cl::*;
use crate::core::registry::ObjectHandle;
use crate::core::svm::SvmAllocations;
use std::fmt;
use std::sync::{Mutex, PoisonError};

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
    /// Creation properties, with the terminating zero; empty without any.
    pub properties: Vec<isize>,
    notify: Option<Notify>,
    /// Destructor callbacks.
    pub destructors: Destructors,
    /// Its shared virtual memory.
    pub svm: SvmAllocations,
}

crate::object!(ClContext, CL_INVALID_CONTEXT);

impl fmt::Debug for ClContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?})", self.handle)
    }
}

impl ClContext {
    /// A context of the one device.
    pub fn new(properties: Vec<isize>, notify: Option<Notify>) -> ClContext {
        ClContext {
            handle: ObjectHandle::default(),
            properties,
            notify,
            destructors: Destructors::default(),
            svm: SvmAllocations::default(),
        }
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
