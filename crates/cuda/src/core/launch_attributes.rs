//! Attributes of launches, kernel nodes and streams (`CUlaunchAttribute`): kept, and read back.
//!
//! One of them acts: a cooperative launch runs all its blocks concurrently.

use crate::core::error::{CudaError, CudaResult, ensure};
use crate::cuda::{CUDA_ERROR_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED};

/// Value of an attribute (`CUlaunchAttributeValue`) in words of 32 bits.
pub type AttributeValue = [u32; 16];

/// Numbers of attributes (`CU_LAUNCH_ATTRIBUTE_…`).
const IGNORE: u32 = 0;
const ACCESS_POLICY_WINDOW: u32 = 1;
const COOPERATIVE: u32 = 2;
const SYNCHRONIZATION_POLICY: u32 = 3;
const CLUSTER_DIMENSION: u32 = 4;
const CLUSTER_SCHEDULING_POLICY_PREFERENCE: u32 = 5;
/// Priority of a stream, node or launch.
pub const PRIORITY: u32 = 8;
const MEM_SYNC_DOMAIN_MAP: u32 = 9;
const MEM_SYNC_DOMAIN: u32 = 10;
const PREFERRED_CLUSTER_DIMENSION: u32 = 11;
const DEVICE_UPDATABLE_KERNEL_NODE: u32 = 13;
const PREFERRED_SHARED_MEMORY_CARVEOUT: u32 = 14;

/// `CU_SYNC_POLICY_AUTO`, the policy of streams without another one.
const SYNC_POLICY_AUTO: u32 = 1;
/// Number of synchronization policies.
const SYNC_POLICIES: u32 = 4;

/// Holder of attributes: decides which ones there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeHolder {
    /// A launch.
    Launch,
    /// A kernel node of a graph.
    KernelNode,
    /// A stream.
    Stream,
}

impl AttributeHolder {
    fn has(self, id: u32) -> bool {
        match self {
            AttributeHolder::Launch => id <= PREFERRED_SHARED_MEMORY_CARVEOUT,
            AttributeHolder::KernelNode => matches!(
                id,
                ACCESS_POLICY_WINDOW
                    | COOPERATIVE
                    | CLUSTER_DIMENSION
                    | CLUSTER_SCHEDULING_POLICY_PREFERENCE
                    | PRIORITY
                    | MEM_SYNC_DOMAIN_MAP
                    | MEM_SYNC_DOMAIN
                    | PREFERRED_CLUSTER_DIMENSION
                    | DEVICE_UPDATABLE_KERNEL_NODE
                    | PREFERRED_SHARED_MEMORY_CARVEOUT
            ),
            AttributeHolder::Stream => matches!(
                id,
                ACCESS_POLICY_WINDOW
                    | SYNCHRONIZATION_POLICY
                    | PRIORITY
                    | MEM_SYNC_DOMAIN_MAP
                    | MEM_SYNC_DOMAIN
            ),
        }
    }
}

/// Attributes that were set, by number.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LaunchAttributes(Vec<(u32, AttributeValue)>);

impl LaunchAttributes {
    /// Returns an attribute of a holder, or its default.
    pub fn get(&self, holder: AttributeHolder, id: u32) -> CudaResult<AttributeValue> {
        ensure(holder.has(id), CUDA_ERROR_INVALID_VALUE)?;
        let mut default = [0; 16];
        if id == SYNCHRONIZATION_POLICY {
            default[0] = SYNC_POLICY_AUTO;
        }
        Ok(self.value(id).unwrap_or(default))
    }

    /// Returns an attribute that was set.
    pub fn value(&self, id: u32) -> Option<AttributeValue> {
        self.0.iter().find(|(known, _)| *known == id).map(|(_, value)| *value)
    }

    /// Sets an attribute of a holder.
    pub fn set(&mut self, holder: AttributeHolder, id: u32, value: AttributeValue) -> CudaResult<()> {
        ensure(holder.has(id), CUDA_ERROR_INVALID_VALUE)?;
        match id {
            IGNORE => return Ok(()),
            // Clusters have one block.
            CLUSTER_DIMENSION | PREFERRED_CLUSTER_DIMENSION => {
                ensure(value[..3].iter().all(|&blocks| blocks <= 1), CUDA_ERROR_INVALID_CLUSTER_SIZE)?;
            }
            SYNCHRONIZATION_POLICY if holder == AttributeHolder::Stream => {
                ensure((SYNC_POLICY_AUTO..=SYNC_POLICIES).contains(&value[0]), CUDA_ERROR_INVALID_VALUE)?;
            }
            // Kernels do not update graphs.
            DEVICE_UPDATABLE_KERNEL_NODE if holder == AttributeHolder::KernelNode && value[0] != 0 => {
                return Err(CudaError(CUDA_ERROR_NOT_SUPPORTED));
            }
            _ => {}
        }
        match self.0.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => *known = value,
            None => self.0.push((id, value)),
        }
        Ok(())
    }

    /// True if all blocks of a launch with these attributes run concurrently.
    pub fn is_cooperative(&self) -> bool {
        self.value(COOPERATIVE).is_some_and(|value| value[0] != 0)
    }

    /// Sets whether all blocks of a launch run concurrently.
    pub fn set_cooperative(&mut self, is_cooperative: bool) {
        let mut value = [0; 16];
        value[0] = is_cooperative.into();
        // A launch has this attribute, with any value.
        let _ = self.set(AttributeHolder::Launch, COOPERATIVE, value);
    }
}
