//! Memory of generated C: shared objects, and each lane's own parts.

use super::super::workshop::CallObject;
use crate::generate::Random;
use heddle_interp::{Argument, Datum, Memory, RunCounters, RunLimits, RunOptions, Scheduler, run};
use heddle_ir::{Module, Space};

/// Ids that lanes may have: as many as rows and columns.
pub(super) const IDS: u32 = 16;
/// Numbers in `in`, `fin`, a row of `mem`, a row of `fio`, a column of `out`.
const SIZES: [usize; 5] = [32, 16, 16, 8, 8];
const NAMES: [&str; 5] = ["in", "fin", "mem", "fio", "out"];

/// The objects `in`, `fin`, `mem`, `fio`, `out`, and the numbers `n` and `u`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LaneMemory {
    /// Rows and columns.
    ids: u32,
    u: u32,
    bytes: Vec<Vec<u8>>,
}

fn number(random: &mut Random) -> u32 {
    match random.below(4) {
        0 => random.below(8) as u32,
        1 => (random.below(40) as i32 - 20) as u32,
        2 => random.pick(&[0x7fff_ffff, 0x8000_0000, u32::MAX, 0x00ff_00ff]),
        _ => random.bits() as u32,
    }
}

fn real(random: &mut Random) -> f64 {
    match random.below(5) {
        0 => random.below(9) as f64 - 4.0,
        1 => random.below(1000) as f64 / 7.0,
        2 => random.pick(&[0.0, -0.0, 1e-41, 3e38, -1e300, f64::INFINITY, f64::NAN]),
        _ => random.below(100_000) as f64 * 0.01 - 500.0,
    }
}

impl LaneMemory {
    /// Creates the initial memory of a program's input.
    pub(super) fn new(seed: u64, input: u64) -> LaneMemory {
        LaneMemory::of_ids(seed, input, IDS)
    }

    /// As [`LaneMemory::new`], for this number of ids.
    pub(super) fn of_ids(seed: u64, input: u64, ids: u32) -> LaneMemory {
        let random = &mut Random::new(seed.wrapping_mul(31) ^ input << 60 ^ 0x10ad);
        let u = number(random);
        let mut bytes = vec![Vec::new(); 5];
        (0..SIZES[0]).for_each(|_| bytes[0].extend(number(random).to_le_bytes()));
        (0..SIZES[1]).for_each(|_| bytes[1].extend(real(random).to_le_bytes()));
        (0..SIZES[2] * ids as usize).for_each(|_| bytes[2].extend(number(random).to_le_bytes()));
        (0..SIZES[3] * ids as usize).for_each(|_| bytes[3].extend((real(random) as f32).to_le_bytes()));
        (0..SIZES[4] * ids as usize).for_each(|_| bytes[4].extend(u64::from(number(random)).to_le_bytes()));
        LaneMemory { ids, u, bytes }
    }

    /// Replaces the contents.
    pub(super) fn with(self, bytes: Vec<Vec<u8>>) -> LaneMemory {
        LaneMemory { bytes, ..self }
    }

    pub(super) fn objects(&self) -> Vec<CallObject> {
        self.bytes.iter().map(|bytes| CallObject { symbol: None, bytes: bytes.clone() }).collect()
    }

    /// The arguments, one in each slot, and where among them the addresses of objects go.
    pub(super) fn arguments(&self, ids: &[u32], is_vector: bool) -> (Vec<u8>, Vec<(u32, u32)>) {
        let mut bytes = vec![0; 7 * 16];
        bytes[..4].copy_from_slice(&self.ids.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.u.to_le_bytes());
        let ids = if is_vector { ids } else { &ids[..1] };
        ids.iter().for_each(|id| bytes.extend(id.to_le_bytes()));
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        (bytes, (0..5).map(|object| (32 + 16 * object, object)).collect())
    }

    /// Describes how this memory, which came from `before`, differs from the allowed results of these ids. Each id must
    /// match one of its allowed results; other memory must be unchanged.
    pub(super) fn difference(
        &self,
        before: &LaneMemory,
        allowed: &[&LaneMemory],
        ids: &[u32],
    ) -> Option<String> {
        for id in 0..self.ids {
            let of_lane: &[&LaneMemory] = if ids.contains(&id) { allowed } else { &[before] };
            let differences: Option<Vec<String>> =
                of_lane.iter().map(|right| self.differs_for(right, id)).collect();
            if let Some(mut differences) = differences {
                let lane = if ids.contains(&id) { "lane of id" } else { "id of no lane" };
                return Some(format!("{lane} {id}: {}", differences.swap_remove(0)));
            }
        }
        (0..2)
            .find(|&shared| self.bytes[shared] != before.bytes[shared])
            .map(|shared| format!("`{}`, which nothing writes, has changed", NAMES[shared]))
    }

    /// Describes a difference in what belongs to one id.
    fn differs_for(&self, right: &LaneMemory, id: u32) -> Option<String> {
        let (id, ids) = (id as usize, self.ids as usize);
        let rows = |object: usize| (id * SIZES[object]..(id + 1) * SIZES[object]).collect::<Vec<_>>();
        let column: Vec<usize> = (0..SIZES[4]).map(|row| row * ids + id).collect();
        for (object, size, places) in [(2, 4, rows(2)), (3, 4, rows(3)), (4, 8, column)] {
            for (index, place) in places.into_iter().enumerate() {
                let of = |room: &LaneMemory| {
                    let mut bytes = [0; 8];
                    bytes[..size].copy_from_slice(&room.bytes[object][place * size..(place + 1) * size]);
                    u64::from_le_bytes(bytes)
                };
                let (found, wanted) = (of(self), of(right));
                let is_nan = |bits: u64| f32::from_bits(bits as u32).is_nan();
                if found != wanted && !(object == 3 && is_nan(found) && is_nan(wanted)) {
                    let name = NAMES[object];
                    return Some(format!("{name}[{index}] is {found:#x}, should be {wanted:#x}"));
                }
            }
        }
        None
    }

    /// Interprets the lanes together and returns the memory that they leave.
    pub(super) fn interpreted(
        &self,
        module: &Module,
        name: &str,
        ids: &[u32],
        scheduler: Scheduler,
    ) -> Result<(LaneMemory, RunCounters), String> {
        let mut memory = Memory::new();
        let bits = |bits: u64| Argument::Uniform(Datum::Bits(bits.into()));
        let mut args = vec![bits(IDS.into()), bits(self.u.into())];
        for (name, bytes) in NAMES.iter().zip(&self.bytes) {
            args.push(bits(memory.add(Space::Global, Some(name), 16, bytes.clone())));
        }
        args.push(Argument::Varying(ids.iter().map(|&id| Datum::Bits(id.into())).collect()));
        let limits = RunLimits { steps: 10_000_000, ..RunLimits::default() };
        let options =
            RunOptions { detect_races: true, limits, scheduler, ..RunOptions::lanes(ids.len() as u32) };
        let outcome = run(module, name, &args, &mut memory, &options).map_err(|fault| fault.to_string())?;
        if let Some(race) = outcome.race {
            return Err(format!("a race: {race}"));
        }
        let contents =
            |name: &&str| memory.object(name).map(|object| object.bytes.clone()).unwrap_or_default();
        Ok((self.clone().with(NAMES.iter().map(contents).collect()), outcome.counters))
    }
}

/// Returns different ids for the lanes: consecutive, or any.
pub(super) fn choose_ids(seed: u64, lanes: u32, is_linear: bool) -> Vec<u32> {
    let mut random = Random::new(seed ^ 0x1d5);
    if is_linear {
        let first = random.between(0, IDS - lanes);
        return (first..first + lanes).collect();
    }
    let mut all: Vec<u32> = (0..IDS).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, random.below(at + 1));
    }
    all.truncate(lanes as usize);
    all
}
