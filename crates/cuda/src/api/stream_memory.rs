//! Waits for values in memory and writes of values, in stream order.

use super::pointer::CudaInput;
use crate::core::command::{StreamCommand, StreamWait};
use crate::core::error::{CudaError, CudaResult, ensure};
use crate::core::memory::RangeAccess;
use crate::core::memory_operation::{ValueCondition, ValuePlace, ValueWait, ValueWrite};
use crate::core::stream::CudaStream;
use crate::cuda::*;

/// `CUstreamBatchMemOpParams` in words of 64 bits: the kind of operation and, for some, flags; address; value; flags.
pub type OperationWords = [u64; 6];

/// Kinds of operations (`CUstreamBatchMemOpType`).
const WAIT_VALUE_32: u32 = 1;
const WRITE_VALUE_32: u32 = 2;
const FLUSH_REMOTE_WRITES: u32 = 3;
const WAIT_VALUE_64: u32 = 4;
const WRITE_VALUE_64: u32 = 5;
const BARRIER: u32 = 6;

/// Flag of waits after which writes of other devices are visible, as they are always.
const WAIT_FLUSH: u32 = 1 << 30;

/// Number of operations that a batch stays below.
const BATCH_LIMIT: u32 = 256;

fn wait(place: ValuePlace, operand: u64, flags: u32) -> CudaResult<StreamCommand> {
    let condition = ValueCondition::from_number(flags & !WAIT_FLUSH);
    let condition = condition.ok_or(CudaError(CUDA_ERROR_INVALID_VALUE))?;
    place.check(RangeAccess::Read)?;
    Ok(StreamCommand::Wait(StreamWait::Value(ValueWait { place, operand, condition })))
}

fn write(place: ValuePlace, value: u64, flags: u32) -> CudaResult<StreamCommand> {
    ensure(flags <= 1, CUDA_ERROR_INVALID_VALUE)?;
    place.check(RangeAccess::ReadWrite)?;
    Ok(StreamCommand::Write(ValueWrite { place, value }))
}

fn operation(words: &OperationWords) -> CudaResult<StreamCommand> {
    let [kind, address, value, flags, ..] = *words;
    let (number, short_flags, flags) = (kind as u32, (kind >> 32) as u32, flags as u32);
    let place = |is_wide| ValuePlace { address, is_wide };
    match number {
        WAIT_VALUE_32 => wait(place(false), value, flags),
        WAIT_VALUE_64 => wait(place(true), value, flags),
        WRITE_VALUE_32 => write(place(false), value, flags),
        WRITE_VALUE_64 => write(place(true), value, flags),
        // Memory is that of the host, and commands of a stream follow each other.
        FLUSH_REMOTE_WRITES if short_flags == 0 => Ok(StreamCommand::Empty),
        BARRIER if short_flags <= 1 => Ok(StreamCommand::Empty),
        _ => Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
    }
}

/// Returns the operations of a list, checked, as one command.
pub fn memory_operations(
    list: CudaInput<OperationWords>,
    count: u32,
    flags: u32,
) -> CudaResult<StreamCommand> {
    ensure(flags == 0 && count < BATCH_LIMIT, CUDA_ERROR_INVALID_VALUE)?;
    let commands: CudaResult<Vec<StreamCommand>> = list.list(count as usize)?.iter().map(operation).collect();
    Ok(StreamCommand::MemoryOperations(commands?.into()))
}

/// Returns the operations of a command as the application describes them.
pub fn operation_words(command: &StreamCommand) -> CudaResult<Vec<OperationWords>> {
    let words = |numbers: [u32; 2], place: ValuePlace, value: u64, flags: u32| {
        [numbers[usize::from(place.is_wide)].into(), place.address, value, flags.into(), 0, 0]
    };
    let is_operation = matches!(
        command,
        StreamCommand::MemoryOperations(_)
            | StreamCommand::Wait(StreamWait::Value(_))
            | StreamCommand::Write(_)
    );
    ensure(is_operation, CUDA_ERROR_INVALID_VALUE)?;
    let mut all = Vec::new();
    command.each_leaf(|leaf| {
        all.push(match leaf {
            StreamCommand::Wait(StreamWait::Value(ValueWait { place, operand, condition })) => {
                words([WAIT_VALUE_32, WAIT_VALUE_64], *place, *operand, condition.number())
            }
            StreamCommand::Write(ValueWrite { place, value }) => {
                words([WRITE_VALUE_32, WRITE_VALUE_64], *place, *value, 0)
            }
            StreamCommand::Empty => [BARRIER.into(), 0, 0, 0, 0, 0],
            _ => return Err(CudaError(CUDA_ERROR_INVALID_VALUE)),
        });
        Ok(())
    })?;
    Ok(all)
}

entries! {
    fn cuStreamWaitValue32_v2 | cuStreamWaitValue32_v2_ptsz | cuStreamWaitValue32 | cuStreamWaitValue32_ptsz (
        handle: CudaHandle, address: CUdeviceptr, value: u32, flags: u32,
    ) {
        let stream = CudaStream::find(handle)?;
        stream.submit(wait(ValuePlace { address, is_wide: false }, value.into(), flags)?)
    }

    fn cuStreamWaitValue64_v2 | cuStreamWaitValue64_v2_ptsz | cuStreamWaitValue64 | cuStreamWaitValue64_ptsz (
        handle: CudaHandle, address: CUdeviceptr, value: u64, flags: u32,
    ) {
        let stream = CudaStream::find(handle)?;
        stream.submit(wait(ValuePlace { address, is_wide: true }, value, flags)?)
    }

    fn cuStreamWriteValue32_v2 | cuStreamWriteValue32_v2_ptsz | cuStreamWriteValue32 | cuStreamWriteValue32_ptsz (
        handle: CudaHandle, address: CUdeviceptr, value: u32, flags: u32,
    ) {
        let stream = CudaStream::find(handle)?;
        stream.submit(write(ValuePlace { address, is_wide: false }, value.into(), flags)?)
    }

    fn cuStreamWriteValue64_v2 | cuStreamWriteValue64_v2_ptsz | cuStreamWriteValue64 | cuStreamWriteValue64_ptsz (
        handle: CudaHandle, address: CUdeviceptr, value: u64, flags: u32,
    ) {
        let stream = CudaStream::find(handle)?;
        stream.submit(write(ValuePlace { address, is_wide: true }, value, flags)?)
    }

    fn cuStreamBatchMemOp_v2 | cuStreamBatchMemOp_v2_ptsz | cuStreamBatchMemOp | cuStreamBatchMemOp_ptsz (
        handle: CudaHandle, count: u32, operations: CudaInput<OperationWords>, flags: u32,
    ) {
        let stream = CudaStream::find(handle)?;
        match memory_operations(operations, count, flags)? {
            StreamCommand::MemoryOperations(commands) if stream.capture().is_none() => {
                commands.iter().try_for_each(|command| stream.submit(command.clone()))
            }
            command => stream.submit(command),
        }
    }
}
