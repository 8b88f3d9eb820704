//! The driver as applications meet it: after the dynamic linker, from Python and C++.

mod place;
mod library;
mod programs;
mod runtime;
mod solvers;
mod ocelot;
mod python;
