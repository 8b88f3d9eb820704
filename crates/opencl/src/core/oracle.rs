//! Kernels that have no vector code run on the oracle: slowly, one work-item after the other, with the same results.

use crate::core::kernel::divide;
use crate::core::launch::{Given, NdRange, Piece};
use crate::core::memory::Address;
use heddle_interp::{Argument, Datum, Geometry, Limits, Memory, Options};
use heddle_ir::{Module, Space};
use heddle_llvm::{KernelInfo, Passed};

/// Runs a kernel over copies of the memory that it may use, and copies back what it wrote.
///
/// # Safety
/// The pieces are memory of this process.
pub unsafe fn run(
    module: &Module,
    kernel: &KernelInfo,
    given: &[Given],
    range: &NdRange,
    pieces: &[Piece],
) -> Result<(), String> {
    let mut memory = Memory::new();
    let mut placed = Vec::new();
    for piece in pieces {
        let mut bytes = vec![0; piece.bytes];
        // SAFETY: the caller's promise; the copy is as long.
        unsafe { Address::new(bytes.as_mut_ptr()).copy_from(piece.base, piece.bytes) };
        let name = format!("heddle.piece.{}", placed.len());
        placed.push((memory.add(Space::Global, Some(&name), 128, bytes), piece, name));
    }
    let place = |address: Address| {
        let offset = |piece: &Piece| address.number().wrapping_sub(piece.base.number());
        let found = placed.iter().find(|(_, piece, _)| offset(piece) < piece.bytes);
        found.map_or(0, |(at, piece, _)| at + offset(piece) as u64)
    };
    let mut arguments = Vec::new();
    for (param, given) in kernel.params.iter().zip(given) {
        match (&param.passed, given) {
            (Passed::Value { pieces, .. }, Given::Bytes(bytes)) => {
                for piece in pieces {
                    let size = piece.scalar.bytes() as usize;
                    let mut value = [0; 16];
                    value[..size].copy_from_slice(&bytes[piece.offset..piece.offset + size]);
                    arguments.push(u128::from_le_bytes(value));
                }
            }
            (_, Given::Bytes(bytes)) => {
                arguments.push(memory.add(Space::Constant, None, 128, bytes.clone()).into());
            }
            (_, Given::Pointer(address)) => arguments.push(place(*address).into()),
            (_, Given::Local(bytes)) => {
                arguments.push(memory.add(Space::Local, None, 128, vec![0; *bytes]).into());
            }
        }
    }
    let arguments: Vec<Argument> =
        arguments.into_iter().map(|bits| Argument::Uniform(Datum::Bits(bits))).collect();
    let number = |size: usize| u32::try_from(size).map_err(|_| "the launch is too large".to_string());
    let local = range.local.unwrap_or_else(|| divide(range.dims, range.global));
    let mut geometry = Geometry { dims: range.dims, local: [1; 3], groups: [1; 3], offset: [0; 3] };
    for way in 0..3 {
        if !range.global[way].is_multiple_of(local[way]) {
            return Err("there is no code for it in groups of different sizes".into());
        }
        geometry.local[way] = number(local[way])?;
        geometry.groups[way] = number(range.global[way] / local[way])?;
        geometry.offset[way] = range.offset[way] as u64;
    }
    let options = Options { geometry: Some(geometry), limits: Limits::NONE, ..Options::lanes(16) };
    heddle_interp::run(module, &kernel.name, &arguments, &mut memory, &options)
        .map_err(|fault| fault.to_string())?;
    for (_, piece, name) in &placed {
        let Some(object) = memory.object(name) else { continue };
        // SAFETY: the caller's promise; the copy is as long.
        unsafe { piece.base.copy_from(Address::new(object.bytes.as_ptr()), piece.bytes) };
    }
    Ok(())
}
