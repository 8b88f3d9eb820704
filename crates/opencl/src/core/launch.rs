//! Running a kernel over its work-items.

use crate::core::memory::Address;
use heddle_interp::{Argument, Datum, Geometry, Limits, Memory, Options};
use heddle_ir::module::Kind;
use heddle_ir::{Module, Space};
use heddle_llvm::{KernelInfo, LlvmModule, Passed};

/// The work-items of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdRange {
    /// Dimensions, 1 to 3. Sizes beyond are 1, offsets 0.
    pub dims: u32,
    /// Work-items each way.
    pub global: [usize; 3],
    /// Work-items of a group each way; the last group may have fewer.
    pub local: [usize; 3],
    /// The least global index each way.
    pub offset: [usize; 3],
}

/// An argument, as a kernel gets it.
#[derive(Clone, Debug)]
pub enum Given {
    /// A value.
    Bytes(Vec<u8>),
    /// A pointer to memory that kernel and host share.
    Pointer(Address),
    /// As much local memory.
    Local(usize),
}

/// A piece of memory that pointers may lead to.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its first byte.
    pub base: Address,
    /// Its size.
    pub bytes: usize,
}

/// A program made ready to run.
#[derive(Debug)]
pub struct Code {
    module: Module,
    /// Its kernels.
    pub kernels: Vec<KernelInfo>,
}

impl Code {
    /// Makes a program ready to run. The error is for the build log.
    pub fn new(llvm: &LlvmModule) -> Result<Code, String> {
        let kernels = heddle_llvm::kernels(llvm);
        let imported = heddle_llvm::import(llvm);
        let refused: Vec<String> =
            imported.refused.iter().map(|refusal| format!("error: {refusal}\n")).collect();
        let missing = kernels.iter().any(|kernel| imported.module.function(&kernel.name).is_none());
        if missing {
            return Err(refused.concat());
        }
        let mut module = imported.module;
        heddle_math::provide(&mut module, heddle_math::Accuracy::Exact).map_err(|reason| format!("error: {reason}\n"))?;
        Ok(Code { module, kernels })
    }

    /// Runs a kernel. The error says what it did wrong.
    pub fn run(&self, kernel: &KernelInfo, given: &[Given], range: &NdRange, pieces: &[Piece]) -> Result<(), String> {
        let mut memory = Memory::new();
        let mut placed = Vec::new();
        for piece in pieces {
            let mut bytes = vec![0; piece.bytes];
            // SAFETY: the piece is memory of this process, kept by who launches; the copy is as long.
            unsafe { Address::new(bytes.as_mut_ptr()).copy_from(piece.base, piece.bytes) };
            let name = format!("heddle.piece.{}", placed.len());
            placed.push((memory.add(Space::Global, Some(&name), 128, bytes), piece, name));
        }
        let place = |address: Address| {
            let inside = |(_, piece, _): &&(u64, &Piece, String)| {
                address.number().wrapping_sub(piece.base.number()) < piece.bytes
            };
            let found = placed.iter().find(inside);
            found.map_or(0, |(at, piece, _)| at + (address.number() - piece.base.number()) as u64)
        };
        let mut arguments = Vec::new();
        for (param, given) in kernel.params.iter().zip(given) {
            match (&param.passed, given) {
                (Passed::Value { pieces, .. }, Given::Bytes(bytes)) => {
                    for piece in pieces {
                        let size = piece.scalar.bytes() as usize;
                        let mut value = [0; 16];
                        value[..size].copy_from_slice(&bytes[piece.offset..piece.offset + size]);
                        arguments.push(Argument::Uniform(Datum::Bits(u128::from_le_bytes(value))));
                    }
                }
                (_, Given::Bytes(bytes)) => {
                    let at = memory.add(Space::Constant, None, 128, bytes.clone());
                    arguments.push(Argument::Uniform(Datum::Bits(at.into())));
                }
                (_, Given::Pointer(address)) => {
                    arguments.push(Argument::Uniform(Datum::Bits(place(*address).into())));
                }
                (_, Given::Local(bytes)) => {
                    let at = memory.add(Space::Local, None, 128, vec![0; *bytes]);
                    arguments.push(Argument::Uniform(Datum::Bits(at.into())));
                }
            }
        }
        let number = |size: usize| u32::try_from(size).map_err(|_| "the launch is too large".to_string());
        let mut geometry = Geometry { dims: range.dims, local: [1; 3], groups: [1; 3], offset: [0; 3] };
        for way in 0..3 {
            geometry.local[way] = number(range.local[way])?;
            geometry.groups[way] = number(range.global[way].div_ceil(range.local[way].max(1)))?;
            geometry.offset[way] = range.offset[way] as u64;
        }
        let options = Options { geometry: Some(geometry), limits: Limits::NONE, ..Options::lanes(16) };
        debug_assert!(self.module.function(&kernel.name).is_some_and(|func| matches!(func.kind, Kind::Kernel(_))));
        heddle_interp::run(&self.module, &kernel.name, &arguments, &mut memory, &options)
            .map_err(|fault| fault.to_string())?;
        for (_, piece, name) in &placed {
            let Some(object) = memory.object(name) else { continue };
            // SAFETY: as above.
            unsafe { piece.base.copy_from(Address::new(object.bytes.as_ptr()), piece.bytes) };
        }
        Ok(())
    }
}
