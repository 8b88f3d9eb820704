//! Samplers.

use super::info::Info;
use super::pointer::{ClInput, ClOutput, is_true};
use crate::cl::*;
use crate::core::context::ClContext;
use crate::core::error::{ClError, ClResult, ensure};
use crate::core::registry::{find, handle_of, publish, references, release, retain};
use crate::core::sampler::ClSampler;
use std::ffi::c_void;
use std::sync::Arc;

makers! {
    fn clCreateSampler(context: ClHandle, normalized: cl_bool, addressing: cl_uint, filter: cl_uint) {
        let context = find::<ClContext>(context)?;
        Ok(publish(Arc::new(ClSampler::new(&context, is_true(normalized), addressing, filter, Vec::new())?)))
    }

    fn clCreateSamplerWithProperties(context: ClHandle, list: ClInput<u64>) {
        let context = find::<ClContext>(context)?;
        let properties = list.until(|list| list.len() % 2 == 1 && list.last() == Some(&0));
        let (mut normalized, mut addressing, mut filter) = (1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
        let mut seen = Vec::new();
        for pair in properties.chunks_exact(2) {
            ensure(!seen.contains(&pair[0]), CL_INVALID_VALUE)?;
            seen.push(pair[0]);
            let value = u32::try_from(pair[1]).map_err(|_| ClError(CL_INVALID_VALUE))?;
            match u32::try_from(pair[0]) {
                Ok(CL_SAMPLER_NORMALIZED_COORDS) => normalized = value,
                Ok(CL_SAMPLER_ADDRESSING_MODE) => addressing = value,
                Ok(CL_SAMPLER_FILTER_MODE) => filter = value,
                _ => return Err(ClError(CL_INVALID_VALUE)),
            }
        }
        Ok(publish(Arc::new(ClSampler::new(&context, is_true(normalized), addressing, filter, properties)?)))
    }
}

entries! {
    fn clRetainSampler(of: ClHandle) {
        retain::<ClSampler>(of)
    }

    fn clReleaseSampler(of: ClHandle) {
        release::<ClSampler>(of).map(|_| ())
    }

    fn clGetSamplerInfo(of: ClHandle, name: cl_uint, size: usize, value: ClOutput<c_void>, needed: ClOutput<usize>) {
        let sampler = find::<ClSampler>(of)?;
        let info = Info::new(size, value, needed);
        match name {
            CL_SAMPLER_REFERENCE_COUNT => info.value(references(&*sampler)),
            CL_SAMPLER_CONTEXT => info.value(handle_of(&*sampler.context)),
            CL_SAMPLER_NORMALIZED_COORDS => info.truth(sampler.is_normalized),
            CL_SAMPLER_ADDRESSING_MODE => info.value(sampler.addressing),
            CL_SAMPLER_FILTER_MODE => info.value(sampler.filter),
            CL_SAMPLER_PROPERTIES => info.list(&sampler.properties),
            _ => Err(ClError(CL_INVALID_VALUE)),
        }
    }
}
