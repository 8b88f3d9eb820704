//! Waits for values in memory, and writes of values, in stream order.

use crate::core::error::{CudaResult, ensure};
use crate::core::memory::{self, RangeAccess};
use crate::cuda::*;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A value of 32 or 64 bits at an address of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValuePlace {
    /// Address.
    pub address: CUdeviceptr,
    /// True for 64 bits.
    pub is_wide: bool,
}

/// Condition of a wait (`CUstreamWaitValue_flags`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueCondition {
    /// The value is at least the operand, counted around.
    GreaterOrEqual,
    /// The value is the operand.
    Equal,
    /// Value and operand share a bit.
    And,
    /// Value and operand lack a bit.
    Nor,
}

impl ValueCondition {
    /// Returns the condition of a number.
    pub fn from_number(number: u32) -> Option<ValueCondition> {
        match number {
            0 => Some(ValueCondition::GreaterOrEqual),
            1 => Some(ValueCondition::Equal),
            2 => Some(ValueCondition::And),
            3 => Some(ValueCondition::Nor),
            _ => None,
        }
    }

    /// Returns the number of the condition.
    pub fn number(self) -> u32 {
        match self {
            ValueCondition::GreaterOrEqual => 0,
            ValueCondition::Equal => 1,
            ValueCondition::And => 2,
            ValueCondition::Nor => 3,
        }
    }
}

/// Wait for a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueWait {
    /// Place of the value.
    pub place: ValuePlace,
    /// Operand of the condition.
    pub operand: u64,
    /// Condition.
    pub condition: ValueCondition,
}

/// Write of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueWrite {
    /// Place of the value.
    pub place: ValuePlace,
    /// The value.
    pub value: u64,
}

impl ValuePlace {
    fn bytes(self) -> usize {
        if self.is_wide { 8 } else { 4 }
    }

    /// Returns an error unless the place is aligned, in known memory, and can be accessed so.
    pub fn check(self, access: RangeAccess) -> CudaResult<()> {
        let is_aligned = self.address != 0 && (self.address as usize).is_multiple_of(self.bytes());
        ensure(is_aligned, CUDA_ERROR_INVALID_VALUE)?;
        memory::ensure_access(self.address, self.bytes(), access)
    }

    fn load(self) -> CudaResult<u64> {
        self.check(RangeAccess::Read)?;
        let address = self.address as usize;
        // SAFETY: the place is aligned, and in memory that the driver knows.
        Ok(unsafe {
            match self.is_wide {
                true => AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .load(Ordering::Acquire),
                false => AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .load(Ordering::Acquire)
                    .into(),
            }
        })
    }
}

impl ValueWait {
    /// True if the value meets the condition; an error if its memory is gone.
    pub fn is_met(&self) -> CudaResult<bool> {
        let found = self.place.load()?;
        let (value, operand, bits) = match self.place.is_wide {
            true => (found, self.operand, u64::MAX),
            false => (found, self.operand & u64::from(u32::MAX), u32::MAX.into()),
        };
        Ok(match self.condition {
            ValueCondition::GreaterOrEqual if self.place.is_wide => value.wrapping_sub(operand) as i64 >= 0,
            ValueCondition::GreaterOrEqual => (value as u32).wrapping_sub(operand as u32) as i32 >= 0,
            ValueCondition::Equal => value == operand,
            ValueCondition::And => value & operand != 0,
            ValueCondition::Nor => !(value | operand) & bits != 0,
        })
    }
}

impl ValueWrite {
    /// Writes the value after all earlier writes of the stream.
    pub fn run(&self) -> CudaResult<()> {
        self.place.check(RangeAccess::ReadWrite)?;
        let address = self.place.address as usize;
        // SAFETY: the place is aligned, and in memory that the driver knows and that can be written.
        unsafe {
            match self.place.is_wide {
                true => AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .store(self.value, Ordering::SeqCst),
                false => AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(address))
                    .store(self.value as u32, Ordering::SeqCst),
            }
        }
        Ok(())
    }
}
