//! CUDA's objects.

pub mod error;
pub mod registry;
pub mod memory;
pub mod texture;
pub mod context;
pub mod image;
mod host;
pub mod module;
pub mod launch;
pub mod verify;
pub mod stream;
pub mod event;
pub mod graph;
pub mod graph_memory;
