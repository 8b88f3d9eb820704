//! `HEDDLE_VERIFY=1`: each launch is repeated by the oracle, on a copy of the memory as it was, and the first difference is
//! named.
//!
//! The oracle sees the memory that arguments lead to, and no other. What it does not do (pointers in memory, groups of
//! different sizes, variables of the program) is said; the launch counts as it is.

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

/// A piece of the application's memory, as it was before a launch.
#[derive(Debug)]
struct SavedRange {
    start: Address,
    bytes: Vec<u8>,
}

/// The memory that the arguments of a launch lead to, as it was before.
#[derive(Debug)]
pub struct MemorySnapshot {
    pieces: Vec<SavedRange>,
}

impl MemorySnapshot {
    /// Of these places and sizes.
    ///
    /// # Safety
    /// They are memory of this process, as long as said, here and in [`MemorySnapshot::verify`].
    pub unsafe fn new(places: &[(Address, usize)]) -> MemorySnapshot {
        // Parts of one buffer may lie in each other.
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
        // SAFETY: the caller says so.
        let piece =
            |(start, size): (Address, usize)| SavedRange { start, bytes: unsafe { start.read(size) } };
        MemorySnapshot { pieces: joined.into_iter().map(piece).collect() }
    }

    /// Repeats the launch, which is done, and says what came out.
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
                        // What races may come out in many ways.
                        let again = self.repeat(code, kernel, given, range, true);
                        let race = again.ok().and_then(|again| again.race);
                        let race =
                            race.map_or(String::new(), |race| format!("; its work-items race: {race}"));
                        return format!("differs from the oracle: {name}, {difference}{race}");
                    }
                }
                format!("{items} work-items did as the oracle does")
            }
        }
    }

    /// The argument that leads to a piece.
    fn name_of(&self, piece: &SavedRange, kernel: &KernelInfo, given: &[ClLaunchArgument]) -> String {
        let leads = |given: &ClLaunchArgument| matches!(given, ClLaunchArgument::Pointer(address) if self.place_of(*address).is_some_and(|(own, _)| own.start == piece.start));
        let index = given.iter().position(leads).unwrap_or_default();
        let name = kernel.params.get(index).and_then(|param| param.name.as_deref()).unwrap_or("?");
        format!("argument {index} (`{name}`)")
    }

    /// The piece that an address lies in, and where in it.
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
                self.place_of(address).ok_or("an argument leads to memory that the driver does not know")?;
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
                (_, ClLaunchArgument::Pointer(address)) => args.push(one(address_of(*address)?)),
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
                return Err("its groups are of different sizes".into());
            }
            groups[way] = u32::try_from(range.global[way] / size).map_err(|_| "there are too many groups")?;
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
            ..RunOptions::lanes(code.lanes())
        };
        let outcome =
            run(&module, &kernel.name, &args, &mut memory, &options).map_err(|fault| match fault.kind {
                FaultKind::Limit { .. } => format!("it takes too long: {}", fault.located_message(&module)),
                _ => format!("the oracle stops: {}", fault.located_message(&module)),
            })?;
        let objects = addresses.iter().filter_map(|&at| memory.objects().find(|object| object.address == at));
        let items = range.global.iter().map(|&size| size as u64).product();
        let race = outcome.race.map(|race| race.to_string());
        Ok(OracleLaunch { objects: objects.cloned().collect(), items, race })
    }
}

/// What the oracle makes of a launch.
#[derive(Default)]
struct OracleLaunch {
    /// The memory that it leaves, a piece each.
    objects: Vec<MemoryObject>,
    /// How many work-items there are.
    items: u64,
    /// The first race, if there is one and races were looked for.
    race: Option<String>,
}

/// As the largest types are aligned.
const ALIGN: u32 = 128;

/// Lets printing do nothing: that was done.
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
