//! Handles, options, logging, and the version.

use crate::VERSION;
use crate::context::{OptionsHandle, RoutineOptions, SolverContext, SolverHandle};
use crate::status::{put, valid};
use heddle_hostcall::Stream;
use std::ffi::c_void;

entries! {
    fn cusolverGetProperty(kind: i32, value: *mut i32) {
        valid((0..3).contains(&kind))?;
        put(value, VERSION[kind as usize])
    }
    fn cusolverGetVersion(version: *mut i32) {
        let [major, minor, patch] = VERSION;
        put(version, major * 1000 + minor * 100 + patch)
    }

    fn cusolverDnCreate(handle: *mut SolverHandle) {
        valid(!handle.is_null())?;
        heddle_hostcall::ready()?;
        put(handle, SolverContext::create())
    }
    fn cusolverDnDestroy(handle: SolverHandle) {
        SolverContext::destroy(handle)
    }
    fn cusolverDnSetStream(handle: SolverHandle, stream: Stream) {
        SolverContext::of(handle)?.stream.set(stream);
        Ok(())
    }
    fn cusolverDnGetStream(handle: SolverHandle, stream: *mut Stream) {
        put(stream, SolverContext::of(handle)?.stream.get())
    }
    fn cusolverSpCreate(handle: *mut SolverHandle) {
        valid(!handle.is_null())?;
        heddle_hostcall::ready()?;
        put(handle, SolverContext::create())
    }
    fn cusolverSpDestroy(handle: SolverHandle) {
        SolverContext::destroy(handle)
    }
    fn cusolverSpSetStream(handle: SolverHandle, stream: Stream) {
        SolverContext::of(handle)?.stream.set(stream);
        Ok(())
    }
    fn cusolverSpGetStream(handle: SolverHandle, stream: *mut Stream) {
        put(stream, SolverContext::of(handle)?.stream.get())
    }

    fn cusolverDnSetDeterministicMode(handle: SolverHandle, mode: i32) {
        // Results are the same in each run, whatever the mode is.
        let context = SolverContext::of(handle)?;
        valid((1..=2).contains(&mode))?;
        context.deterministic.set(mode);
        Ok(())
    }
    fn cusolverDnGetDeterministicMode(handle: SolverHandle, mode: *mut i32) {
        put(mode, SolverContext::of(handle)?.deterministic.get())
    }
    fn cusolverDnSetMathMode(handle: SolverHandle, mode: i32) {
        // All modes compute with the types of the call.
        let context = SolverContext::of(handle)?;
        valid(matches!(mode, 1 | 2 | 4 | 6))?;
        context.math_mode.set(mode);
        Ok(())
    }
    fn cusolverDnGetMathMode(handle: SolverHandle, mode: *mut i32) {
        put(mode, SolverContext::of(handle)?.math_mode.get())
    }

    fn cusolverDnCreateParams(options: *mut OptionsHandle) {
        valid(!options.is_null())?;
        put(options, RoutineOptions::create())
    }
    fn cusolverDnDestroyParams(options: OptionsHandle) {
        RoutineOptions::destroy(options)
    }
    fn cusolverDnSetAdvOptions(options: OptionsHandle, _function: i32, algorithm: i32) {
        RoutineOptions::of(options)?;
        valid((0..=2).contains(&algorithm))
    }

    fn cusolverDnLoggerSetCallback(_callback: *mut c_void) { Ok(()) }
    fn cusolverDnLoggerSetFile(_file: *mut c_void) { Ok(()) }
    fn cusolverDnLoggerOpenFile(_name: *const c_void) { Ok(()) }
    fn cusolverDnLoggerSetLevel(_level: i32) { Ok(()) }
    fn cusolverDnLoggerSetMask(_mask: i32) { Ok(()) }
    fn cusolverDnLoggerForceDisable() { Ok(()) }
}

/// Defines the options of a routine that uses Jacobi's method with NVIDIA. Their queries answer as for a method that needs no sweep.
macro_rules! jacobi_options {
    ($($create:ident $destroy:ident $tolerance:ident $sweeps:ident $sort:ident $residual:ident $executed:ident;)*) => {
        entries! {$(
            fn $create(options: *mut OptionsHandle) {
                valid(!options.is_null())?;
                put(options, RoutineOptions::create())
            }
            fn $destroy(options: OptionsHandle) {
                RoutineOptions::destroy(options)
            }
            fn $tolerance(options: OptionsHandle, tolerance: f64) {
                RoutineOptions::of(options)?.tolerance = tolerance;
                Ok(())
            }
            fn $sweeps(options: OptionsHandle, sweeps: i32) {
                RoutineOptions::of(options)?.sweeps = sweeps;
                Ok(())
            }
            fn $sort(options: OptionsHandle, _sort: i32) {
                // Values are sorted always.
                RoutineOptions::of(options).map(|_| ())
            }
            fn $residual(handle: SolverHandle, options: OptionsHandle, residual: *mut f64) {
                SolverContext::of(handle)?;
                RoutineOptions::of(options)?;
                put(residual, 0.0)
            }
            fn $executed(handle: SolverHandle, options: OptionsHandle, sweeps: *mut i32) {
                SolverContext::of(handle)?;
                RoutineOptions::of(options)?;
                put(sweeps, 0)
            }
        )*}
    };
}

jacobi_options! {
    cusolverDnCreateSyevjInfo cusolverDnDestroySyevjInfo cusolverDnXsyevjSetTolerance cusolverDnXsyevjSetMaxSweeps
        cusolverDnXsyevjSetSortEig cusolverDnXsyevjGetResidual cusolverDnXsyevjGetSweeps;
    cusolverDnCreateGesvdjInfo cusolverDnDestroyGesvdjInfo cusolverDnXgesvdjSetTolerance cusolverDnXgesvdjSetMaxSweeps
        cusolverDnXgesvdjSetSortEig cusolverDnXgesvdjGetResidual cusolverDnXgesvdjGetSweeps;
}
