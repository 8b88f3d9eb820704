//! `HEDDLE_VERIFY=1`: the oracle repeats each launch on a copy of the memory before it and reports the first difference.
//!
//! The oracle sees the memory that arguments point to, and no other. Launches it cannot repeat (pointers in memory,
//! non-uniform groups, program-scope variables) are reported as not verified and keep their result.

use crate::core::launch::{ClExecutable, ClLaunchArgument, ClNdRange};
use crate::core::memory::Address;
use heddle_interp::{
    Argument, Datum, FaultKind, LaunchGeometry, Memory, MemoryObject, RunLimits, RunOptions, run,
};
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::module::Declaration;
use heddle_ir::{Function, Module, Scalar, Space};
use heddle_llvm::{Cpu, KernelInfo, PRINTF, ParamPassing};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contents of a memory range before a launch.
#[derive(Debug)]
struct SavedRange {
    start: Address,
    bytes: Vec<u8>,
}

/// Contents of all memory that a launch's arguments point to, before the launch.
#[derive(Debug)]
pub struct MemorySnapshot {
    pieces: Vec<SavedRange>,
}

impl MemorySnapshot {
    /// Saves the ranges of these addresses and sizes.
    ///
    /// # Safety
    /// The ranges are mapped memory of these sizes, here and in [`MemorySnapshot::verify`].
    pub unsafe fn new(places: &[(Address, usize)]) -> MemorySnapshot {
        // Sub-buffers may overlap.
        let mut places = places.to_vec();
        places.sort_unstable();
        let mut joined: Vec<(Address, usize)> = Vec::new();
        for (start, size) in places {
            let last = joined.last_mut();
            match last.filter(|(first, held)| start.number() < first.number() + *held) {
                Some((first, held)) => *held = (*held).max(start.number() - first.number() + size),
                None => joined.push((start, size)),
            }
        }
        let piece = |(start, size): (Address, usize)| {
            // SAFETY: the caller promises that the ranges are live.
            let bytes = unsafe { start.read(size) };
            SavedRange { start, bytes }
        };
        MemorySnapshot { pieces: joined.into_iter().map(piece).collect() }
    }

    /// Repeats the finished launch on the oracle and returns the verdict as text.
    ///
    /// # Safety
    /// As for [`MemorySnapshot::new`].
    pub unsafe fn verify(
        &self,
        code: &ClExecutable,
        kernel: &KernelInfo,
        given: &[ClLaunchArgument],
        range: &ClNdRange,
    ) -> String {
        match self.repeat(code, kernel, given, range, false) {
            Err(reason) => format!("not verified: {reason}"),
            Ok(OracleLaunch { objects, items, .. }) => {
                for (piece, object) in self.pieces.iter().zip(&objects) {
                    // SAFETY: the caller says so.
                    let now = unsafe { piece.start.read(piece.bytes.len()) };
                    if let Some(difference) = object.first_difference(&now) {
                        let name = self.name_of(piece, kernel, given);
                        // Racy kernels have several valid results.
                        let again = self.repeat(code, kernel, given, range, true);
                        let race = again.ok().and_then(|again| again.race);
                        let race = race.map_or(String::new(), |race| format!("; data race: {race}"));
                        return format!("differs from the interpreter: {name}, {difference}{race}");
                    }
                }
                format!("{items} work-items agree with the interpreter")
            }
        }
    }

    /// Returns the name of the argument that points to a range.
    fn name_of(&self, piece: &SavedRange, kernel: &KernelInfo, given: &[ClLaunchArgument]) -> String {
        let leads = |given: &ClLaunchArgument| matches!(given, ClLaunchArgument::Pointer(address) if self.place_of(*address).is_some_and(|(own, _)| own.start == piece.start));
        let index = given.iter().position(leads).unwrap_or_default();
        let name = kernel.params.get(index).and_then(|param| param.name.as_deref()).unwrap_or("?");
        format!("argument {index} (`{name}`)")
    }

    /// Returns the range that contains an address, and the offset in it.
    fn place_of(&self, address: Address) -> Option<(&SavedRange, usize)> {
        let at = address.number();
        let holds = |piece: &&SavedRange| {
            at.checked_sub(piece.start.number()).is_some_and(|it| it < piece.bytes.len())
        };
        self.pieces.iter().find(holds).map(|piece| (piece, at - piece.start.number()))
    }

    fn repeat(
        &self,
        code: &ClExecutable,
        kernel: &KernelInfo,
        given: &[ClLaunchArgument],
        range: &ClNdRange,
        detect_races: bool,
    ) -> Result<OracleLaunch, String> {
        let mut module = code.module().clone();
        let is_variable = |space: Space| !matches!(space, Space::Constant | Space::Local);
        if let Some(global) = module.globals.iter().find(|global| is_variable(global.space)) {
            return Err(format!("the program has the variable `{}`", global.name));
        }
        silence(&mut module);
        let mut memory = Memory::new();
        let addresses: Vec<u64> = self
            .pieces
            .iter()
            .map(|piece| {
                let name = self.name_of(piece, kernel, given);
                memory.add(Space::Global, Some(&name), ALIGN, piece.bytes.clone())
            })
            .collect();
        let address_of = |address: Address| -> Result<u64, String> {
            if address.number() == 0 {
                return Ok(0);
            }
            let (piece, offset) =
                self.place_of(address).ok_or("an argument points to memory unknown to the driver")?;
            let index = self.pieces.iter().position(|own| own.start == piece.start).unwrap_or_default();
            Ok(addresses[index] + offset as u64)
        };
        let mut args = Vec::new();
        let one = |bits: u64| Argument::Uniform(Datum::Bits(bits.into()));
        for (param, given) in kernel.params.iter().zip(given) {
            match (&param.passing, given) {
                (ParamPassing::Value { pieces, .. }, ClLaunchArgument::Bytes(bytes)) => {
                    for piece in pieces {
                        let mut word = [0; 8];
                        let size = piece.scalar.bytes() as usize;
                        word[..size].copy_from_slice(&bytes[piece.offset..piece.offset + size]);
                        args.push(one(u64::from_le_bytes(word)));
                    }
                }
                (_, ClLaunchArgument::Bytes(bytes)) => {
                    args.push(one(memory.add(Space::Global, None, ALIGN, bytes.clone())));
                }
                (_, ClLaunchArgument::Pointer(address) | ClLaunchArgument::Image(address, _)) => {
                    args.push(one(address_of(*address)?));
                }
                (_, ClLaunchArgument::Sampler(bits)) => args.push(one((*bits).into())),
                (_, ClLaunchArgument::Local(bytes)) => {
                    args.push(one(memory.add(Space::Local, None, ALIGN, vec![0; *bytes])));
                }
            }
        }
        let local = code.local_size(&kernel.name, range)?;
        let mut groups = [1; 3];
        for way in 0..3 {
            let size = local[way];
            if !range.global[way].is_multiple_of(size) {
                return Err("work-groups of different sizes".into());
            }
            groups[way] = u32::try_from(range.global[way] / size).map_err(|_| "too many work-groups")?;
        }
        if groups.contains(&0) {
            return Ok(OracleLaunch::default());
        }
        let local = local.map(|size| size as u32);
        let geometry =
            LaunchGeometry { dims: range.dims, local, groups, offset: range.offset.map(|it| it as u64) };
        let options = RunOptions {
            geometry: Some(geometry),
            limits: RunLimits { steps: u64::MAX, memory: 4 << 30, ..RunLimits::default() },
            fused: Cpu::host().has_fma(),
            detect_races,
            ..RunOptions::lanes(code.lanes(&kernel.name))
        };
        let outcome =
            run(&module, &kernel.name, &args, &mut memory, &options).map_err(|fault| match fault.kind {
                FaultKind::Limit { .. } => format!("time limit: {}", fault.located_message(&module)),
                _ => format!("the interpreter stops: {}", fault.located_message(&module)),
            })?;
        let objects = addresses.iter().filter_map(|&at| memory.objects().find(|object| object.address == at));
        let items = range.global.iter().map(|&size| size as u64).product();
        let race = outcome.race.map(|race| race.to_string());
        Ok(OracleLaunch { objects: objects.cloned().collect(), items, race })
    }
}

/// Result of a launch on the oracle.
#[derive(Default)]
struct OracleLaunch {
    /// Final contents of each range.
    objects: Vec<MemoryObject>,
    /// Number of work-items.
    items: u64,
    /// First race, if race detection is on and finds one.
    race: Option<String>,
}

/// Alignment of the largest types in bytes.
const ALIGN: u32 = 128;

/// Replaces printf by a stub: the launch has already printed.
fn silence(module: &mut Module) {
    let called = module.functions.iter().flat_map(|func| func.callees.values());
    let printing: BTreeMap<String, Arc<Declaration>> = called
        .filter(|callee| callee.name.starts_with(PRINTF))
        .map(|callee| (callee.name.clone(), callee.clone()))
        .collect();
    for (name, declaration) in printing {
        let mut func = Function::new(name, declaration.signature.clone());
        let block = func.append_block();
        let mut builder = Builder::new(&mut func, InsertPoint::End(block));
        let zero = builder.int(Scalar::I32, 0);
        builder.ret(&[zero]);
        module.functions.push(func);
    }
}
