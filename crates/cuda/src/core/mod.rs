//! CUDA's objects.

pub mod error;
pub mod registry;
pub mod memory;
pub mod range_advice;
pub mod virtual_memory;
pub mod texture;
pub mod context;
pub mod image;
mod host;
pub mod module;
pub mod launch;
pub mod verify;
pub mod launch_attributes;
pub mod memory_operation;
pub mod command;
pub mod stream;
pub mod deferred;
pub mod event;
pub mod user_object;
pub mod graph;
pub mod graph_memory;
pub mod graph_dot;
