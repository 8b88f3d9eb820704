//! Contexts.

use super::pointer::{CudaInput, CudaOutput};
use crate::core::context::{self, CudaContext, ensure_device};
use crate::core::error::{CudaError, ensure};
use crate::core::stream::{CudaStream, GREATEST_PRIORITY};
use crate::cuda::*;
use std::sync::atomic::Ordering;

/// The flags that a context may be made with.
const FLAGS: u32 = 0xff;

/// `CUctxCreateParams`: zeros ask for an ordinary context.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CreateParameters {
    affinities: u64,
    affinity_count: i32,
    _padding: u32,
    graphics: u64,
}

entries! {
    fn cuCtxCreate_v2 | cuCtxCreate (context: CudaOutput<CudaHandle>, flags: u32, device: CUdevice) {
        ensure_device(device)?;
        context.ensure()?;
        ensure(flags & !FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        context.write(CudaContext::create(flags))
    }

    fn cuCtxCreate_v3(context: CudaOutput<CudaHandle>, affinity: CudaOutput<u64>, count: i32, flags: u32, device: CUdevice) {
        ensure_device(device)?;
        context.ensure()?;
        ensure(flags & !FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        ensure(affinity.is_null() && count == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        context.write(CudaContext::create(flags))
    }

    fn cuCtxCreate_v4(context: CudaOutput<CudaHandle>, parameters: CudaInput<CreateParameters>, flags: u32, device: CUdevice) {
        ensure_device(device)?;
        context.ensure()?;
        ensure(flags & !FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        if !parameters.is_null() {
            let CreateParameters { affinities, affinity_count, graphics, .. } = parameters.read()?;
            ensure(affinities == 0 && affinity_count == 0 && graphics == 0, CUDA_ERROR_NOT_SUPPORTED)?;
        }
        context.write(CudaContext::create(flags))
    }

    fn cuCtxDestroy_v2 | cuCtxDestroy | cuCtxDetach (handle: CudaHandle) {
        context::destroy(handle)
    }

    fn cuCtxAttach(context: CudaOutput<CudaHandle>, flags: u32) {
        ensure(flags == 0, CUDA_ERROR_INVALID_VALUE)?;
        context.write(context::current()?.handle)
    }

    fn cuCtxPushCurrent_v2 | cuCtxPushCurrent (handle: CudaHandle) {
        context::push(handle)
    }

    fn cuCtxPopCurrent_v2 | cuCtxPopCurrent (handle: CudaOutput<CudaHandle>) {
        let popped = context::pop()?;
        handle.write_if(popped);
        Ok(())
    }

    fn cuCtxSetCurrent(handle: CudaHandle) {
        context::ensure_initialized()?;
        context::set_current(handle)
    }

    fn cuCtxGetCurrent(handle: CudaOutput<CudaHandle>) {
        context::ensure_initialized()?;
        handle.write(context::current_handle())
    }

    fn cuCtxGetDevice(device: CudaOutput<CUdevice>) {
        context::current()?;
        device.write(0)
    }

    fn cuCtxGetFlags(flags: CudaOutput<u32>) {
        flags.write(context::current()?.flags.load(Ordering::Relaxed))
    }

    fn cuCtxSetFlags(flags: u32) {
        ensure(flags & !FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        context::current()?.flags.store(flags, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetId(handle: CudaHandle, id: CudaOutput<u64>) {
        let context = if handle == 0 { context::current()? } else { context::find(handle)? };
        id.write(context.handle)
    }

    fn cuCtxGetApiVersion(handle: CudaHandle, version: CudaOutput<u32>) {
        if handle == 0 { context::current()? } else { context::find(handle)? };
        version.write(3020)
    }

    fn cuCtxSynchronize() {
        context::current()?;
        CudaStream::synchronize_all();
        Ok(())
    }

    fn cuCtxGetLimit(value: CudaOutput<usize>, number: u32) {
        value.write(context::current()?.limit(number)?.load(Ordering::Relaxed) as usize)
    }

    fn cuCtxSetLimit(number: u32, value: usize) {
        context::current()?.limit(number)?.store(value as u64, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetCacheConfig | cuCtxGetSharedMemConfig (config: CudaOutput<u32>) {
        context::current()?;
        config.write(0)
    }

    fn cuCtxSetCacheConfig | cuCtxSetSharedMemConfig (config: u32) {
        // Caches are as they are.
        context::current()?;
        ensure(config <= 3, CUDA_ERROR_INVALID_VALUE)
    }

    fn cuCtxGetStreamPriorityRange(least: CudaOutput<i32>, greatest: CudaOutput<i32>) {
        context::current()?;
        least.write_if(0);
        greatest.write_if(GREATEST_PRIORITY);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        context::current().map(|_| ())
    }

    fn cuCtxEnablePeerAccess | cuCtxDisablePeerAccess (peer: CudaHandle, _flags: u32) {
        context::find(peer)?;
        Err(CudaError(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED))
    }

    fn cuDevicePrimaryCtxRetain(context: CudaOutput<CudaHandle>, device: CUdevice) {
        ensure_device(device)?;
        context.ensure()?;
        context.write(context::retain_primary())
    }

    fn cuDevicePrimaryCtxRelease_v2 | cuDevicePrimaryCtxRelease (device: CUdevice) {
        ensure_device(device)?;
        context::release_primary()
    }

    fn cuDevicePrimaryCtxReset_v2 | cuDevicePrimaryCtxReset (device: CUdevice) {
        ensure_device(device)?;
        context::reset_primary();
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2 | cuDevicePrimaryCtxSetFlags (device: CUdevice, flags: u32) {
        ensure_device(device)?;
        ensure(flags & !FLAGS == 0, CUDA_ERROR_INVALID_VALUE)?;
        context::set_primary_flags(flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: CudaOutput<u32>, active: CudaOutput<i32>) {
        ensure_device(device)?;
        let (now, is_active) = context::primary_state();
        flags.write(now)?;
        active.write(is_active.into())
    }
}
