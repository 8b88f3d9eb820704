//! The driver as applications meet it: after the ICD loader, from C.

mod place;
mod loader;
mod layer;
mod covered;
mod programs;
mod printing;
mod cache;
mod reports;
mod python;
mod forced;
