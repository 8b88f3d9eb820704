//! OpenCL's objects, without the C interface. Unsafe code is in `memory`, which copies raw memory, and in `registry`,
//! which says that addresses of objects may be shared.

pub mod error;
pub mod registry;
pub mod platform;
pub mod device;
pub mod partition;
pub mod context;
pub mod memory;
pub mod buffer;
pub mod image_format;
pub mod image;
pub mod sampler;
pub mod svm;
pub mod event;
pub mod executor;
pub mod queue;
pub mod command_buffer;
pub mod mutable_command;
pub mod compiler;
pub mod binary;
pub mod program;
pub mod kernel;
pub mod launch;
pub mod verify;
