//! Samplers.

use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::error::{ClResult, ensure};
use crate::core::registry::ObjectHandle;
use std::sync::Arc;

/// A sampler.
#[derive(Debug)]
pub struct ClSampler {
    pub(crate) handle: ObjectHandle<ClSampler>,
    /// Owning context.
    pub context: Arc<ClContext>,
    /// True if coordinates are from 0 to 1.
    pub is_normalized: bool,
    /// `CL_ADDRESS_…`.
    pub addressing: u32,
    /// `CL_FILTER_…`.
    pub filter: u32,
    /// Creation properties, with the terminating zero; empty without any.
    pub properties: Vec<u64>,
}

crate::object!(ClSampler, CL_INVALID_SAMPLER);

impl ClSampler {
    /// Creates a sampler.
    pub fn new(
        context: &Arc<ClContext>,
        is_normalized: bool,
        addressing: u32,
        filter: u32,
        properties: Vec<u64>,
    ) -> ClResult<ClSampler> {
        ensure((CL_ADDRESS_NONE..=CL_ADDRESS_MIRRORED_REPEAT).contains(&addressing), CL_INVALID_VALUE)?;
        ensure(matches!(filter, CL_FILTER_NEAREST | CL_FILTER_LINEAR), CL_INVALID_VALUE)?;
        let repeats = matches!(addressing, CL_ADDRESS_REPEAT | CL_ADDRESS_MIRRORED_REPEAT);
        ensure(is_normalized || !repeats, CL_INVALID_VALUE)?;
        let handle = ObjectHandle::default();
        Ok(ClSampler { handle, context: context.clone(), is_normalized, addressing, filter, properties })
    }

    /// Returns the bits that kernels take, as `CLK_…` of OpenCL C.
    pub fn bits(&self) -> u32 {
        let filter = if self.filter == CL_FILTER_LINEAR { 0x20 } else { 0x10 };
        (self.addressing - CL_ADDRESS_NONE) << 1 | filter | u32::from(self.is_normalized)
    }
}
