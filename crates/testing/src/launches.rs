//! Launches kernels in the interpreter and as vector code, and compares the memory that they leave.
//!
//! A warp is a brush of 32 lanes, in linear order. Objects are compared byte by byte; bytes that are poison in the
//! source may be anything.

use crate::kernels::Machine;
use heddle_compiler::profile::BranchCounts;
use heddle_compiler::{Profile, Session};
use heddle_interp::{
    Argument, CycleCosts, Datum, FunctionProfile, LaunchGeometry, Memory, RunLimits, RunOptions, Scheduler,
    run as run_oracle,
};
use heddle_ir::{Block, Module, Space};
use heddle_llvm::{CodegenLevel, EmitOptions, Jit, SharedMapping, emit, slot_bytes};
use heddle_runs::line::RunLine;
use heddle_runs::spec::{parse_arguments, parse_object};
use heddle_transform::flatten::{JointIterations, TripCounts};
use heddle_transform::kernels::{GROUP_DESCRIPTOR_WORDS, GroupDescriptorField, LOCAL_ALIGN};
use heddle_transform::widen::VersioningPolicy;
use heddle_transform::{GroupFunction, KernelOptions, WorkItemLayout, lower_kernels};
use smallvec::smallvec;
use std::time::Duration;

/// The lanes of a warp.
pub const WARP: u32 = 32;

/// An argument of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestLaunchArgument {
    /// Object by number, and offset in it.
    Object(usize, u64),
    /// These bits.
    Bits(u128),
}

/// An object of global memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestLaunchObject {
    /// Name of the object.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Poison flag of each byte.
    pub poison: Vec<bool>,
}

impl TestLaunchObject {
    /// Creates an object with these bytes.
    pub fn new(name: &str, bytes: Vec<u8>) -> TestLaunchObject {
        let poison = vec![false; bytes.len()];
        TestLaunchObject { name: name.into(), bytes, poison }
    }
}

/// A launch.
#[derive(Clone, PartialEq, Debug)]
pub struct TestLaunch {
    /// The kernel.
    pub kernel: String,
    /// Its arguments.
    pub args: Vec<TestLaunchArgument>,
    /// Objects in global memory.
    pub objects: Vec<TestLaunchObject>,
    /// The size of a work-group.
    pub local: [u32; 3],
    /// Number of groups in each dimension.
    pub groups: [u32; 3],
    /// The most blocks that the oracle executes.
    pub steps: u64,
}

impl TestLaunch {
    /// Parses the launch of a run line.
    pub fn of_line(line: &RunLine, module: &Module) -> Result<TestLaunch, String> {
        let func = module.function(&line.func).ok_or_else(|| format!("there is no @{}", line.func))?;
        let geometry = line.options.geometry.as_ref().ok_or("a launch has a size: `local=64`")?;
        let mut memory = Memory::new();
        let mut objects = Vec::new();
        for text in &line.objects {
            let spec = parse_object(text, &mut memory, line.options.limits.memory)
                .map_err(|error| error.to_string())?;
            let object = memory.object(&spec.name).ok_or("the object is gone")?;
            let (bytes, poison) = (object.bytes.clone(), object.poison.clone());
            objects.push(TestLaunchObject { name: spec.name, bytes, poison });
        }
        let given = parse_arguments(&line.func, &func.signature, &line.args, &memory)
            .map_err(|error| error.to_string())?;
        let args = given.iter().zip(&line.args).map(|(arg, text)| {
            let Argument::Uniform(Datum::Bits(bits)) = *arg else {
                return Err("a kernel's arguments are the same for all lanes".to_string());
            };
            let place = objects.iter().enumerate().find_map(|(index, held)| {
                let object = memory.object(&held.name)?;
                let offset = (bits as u64).checked_sub(object.address)?;
                (text.trim().starts_with('&') && offset <= object.bytes.len() as u64)
                    .then_some(TestLaunchArgument::Object(index, offset))
            });
            Ok(place.unwrap_or(TestLaunchArgument::Bits(bits)))
        });
        let args = args.collect::<Result<Vec<TestLaunchArgument>, String>>()?;
        let (local, groups) = (geometry.local, geometry.groups);
        let steps = line.options.limits.steps;
        Ok(TestLaunch { kernel: line.func.clone(), args, objects, local, groups, steps })
    }

    fn dims(&self) -> u32 {
        let is_flat = |at: usize| self.local[at] == 1 && self.groups[at] == 1;
        if !is_flat(2) {
            3
        } else if !is_flat(1) {
            2
        } else {
            1
        }
    }

    fn memory(&self) -> (Memory, Vec<Argument>) {
        let mut memory = Memory::new();
        let mut addresses = Vec::new();
        for held in &self.objects {
            addresses.push(memory.add(Space::Global, Some(&held.name), 64, held.bytes.clone()));
            if let Some(object) = memory.object_mut(&held.name) {
                object.poison.clone_from_slice(&held.poison);
            }
        }
        let args = self.args.iter().map(|arg| {
            Argument::Uniform(Datum::Bits(match *arg {
                TestLaunchArgument::Object(index, offset) => (addresses[index] + offset).into(),
                TestLaunchArgument::Bits(bits) => bits,
            }))
        });
        let args = args.collect();
        (memory, args)
    }

    fn held(&self, memory: &Memory) -> Vec<TestLaunchObject> {
        let found = self.objects.iter().map(|held| match memory.object(&held.name) {
            Some(object) => TestLaunchObject {
                name: held.name.clone(),
                bytes: object.bytes.clone(),
                poison: object.poison.clone(),
            },
            None => held.clone(),
        });
        found.collect()
    }

    fn options(&self) -> RunOptions {
        let geometry =
            LaunchGeometry { dims: self.dims(), local: self.local, groups: self.groups, offset: [0; 3] };
        RunOptions {
            brush: vec![WARP],
            geometry: Some(geometry),
            detect_races: true,
            limits: RunLimits { steps: self.steps, ..RunLimits::default() },
            ..RunOptions::default()
        }
    }

    /// Where each group is.
    fn places(&self) -> Vec<[u64; GROUP_DESCRIPTOR_WORDS]> {
        let [width, height, depth] = self.groups;
        let place = |number: u32| {
            let group = [number % width, number / width % height, number / width / height];
            let mut words = [0; GROUP_DESCRIPTOR_WORDS];
            let mut set = |field: GroupDescriptorField, word: u32| words[field.word()] = u64::from(word);
            for (along, at) in (0u8..).zip(0..3) {
                set(GroupDescriptorField::GroupId(along), group[at]);
                set(GroupDescriptorField::NumGroups(along), self.groups[at]);
                set(GroupDescriptorField::LocalSize(along), self.local[at]);
                set(GroupDescriptorField::EnqueuedSize(along), self.local[at]);
                set(GroupDescriptorField::FirstId(along), group[at] * self.local[at]);
                set(GroupDescriptorField::GlobalSize(along), self.groups[at] * self.local[at]);
            }
            set(GroupDescriptorField::WorkDim, self.dims());
            words
        };
        (0..width * height * depth).map(place).collect()
    }
}

fn byte_list(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Runs a kernel on the oracle, 32 lanes together. The second of what comes back is a race, if there was one.
pub fn on_oracle(
    module: &Module,
    launch: &TestLaunch,
    scheduler: Scheduler,
) -> Result<(Vec<TestLaunchObject>, Option<String>), String> {
    let (mut memory, args) = launch.memory();
    let options = RunOptions { scheduler, ..launch.options() };
    let outcome = run_oracle(module, &launch.kernel, &args, &mut memory, &options)
        .map_err(|fault| fault.to_string())?;
    let race = outcome.race.map(|race| format!("{race:?}"));
    Ok((launch.held(&memory), race))
}

/// Cost of a launch on warps that run one instruction at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpCost {
    /// Instructions that lanes execute together.
    pub instructions: u64,
    /// Pieces of 128 bytes that accesses touch.
    pub pieces: u64,
    /// Cycles, estimated.
    pub cycles: u64,
}

/// Interprets a kernel with a reconvergence stack; returns the profile of each function.
fn profiled(
    module: &Module,
    launch: &TestLaunch,
) -> Result<(Vec<FunctionProfile>, Vec<TestLaunchObject>), String> {
    let (mut memory, args) = launch.memory();
    let options =
        RunOptions { detect_races: false, profile: true, scheduler: Scheduler::Ipdom, ..launch.options() };
    let outcome = run_oracle(module, &launch.kernel, &args, &mut memory, &options)
        .map_err(|fault| fault.to_string())?;
    Ok((outcome.profile.unwrap_or_default().functions, launch.held(&memory)))
}

/// Returns the trip counts of the loop with this header; `None` if it did not run.
pub fn trips_of(profile: &FunctionProfile, header: Block) -> Option<TripCounts> {
    let trips = &profile.loops[header].trips;
    let counts = trips.iter().map(|(&trips, &lanes)| (trips, lanes)).collect();
    let together = JointIterations {
        lanes: profile.blocks[header].lanes_each(),
        iterations: profile.blocks[header].executions(),
    };
    (!trips.is_empty()).then_some(TripCounts { counts, together: Some(together) })
}

/// Profiles a run of a kernel for the passes; `None` without branches and loops.
pub fn seen(module: &Module, launch: &TestLaunch) -> Result<Option<Profile>, String> {
    let (functions, _) = profiled(module, launch)?;
    let mut seen = Profile::default();
    for (func, profile) in module.functions.iter().zip(&functions) {
        for block in func.blocks() {
            let branch = &profile.branches[block];
            if let (&[then, otherwise], &[a, b], &[c, d]) =
                (func.successors(block), &branch.lanes[..], &branch.taken[..])
            {
                let (executed, diverged) = (branch.executed, branch.diverged);
                let went = BranchCounts {
                    executed,
                    diverged,
                    targets: [then, otherwise],
                    lanes: [a, b],
                    taken: [c, d],
                };
                seen.note_branch(&func.name, block, went);
            }
            if let Some(trips) = trips_of(profile, block) {
                seen.note_loop(&func.name, block, trips);
            }
        }
    }
    Ok((seen != Profile::default()).then_some(seen))
}

/// Runs a kernel on the oracle with a reconvergence stack, and counts what it costs.
pub fn measured(module: &Module, launch: &TestLaunch) -> Result<(WarpCost, Vec<TestLaunchObject>), String> {
    let (functions, held) = profiled(module, launch)?;
    let mut cost = WarpCost { instructions: 0, pieces: 0, cycles: 0 };
    for (func, profile) in module.functions.iter().zip(&functions) {
        let (instructions, cycles) = profile.total(func, &CycleCosts::default());
        cost.instructions += instructions;
        cost.cycles += cycles;
        let insts = func.blocks().flat_map(|block| func.block_insts(block));
        cost.pieces += insts.map(|inst| profile.accesses[inst].segments_128).sum::<u64>();
    }
    Ok((cost, held))
}

/// A kernel as vector code for a brush.
#[derive(Debug)]
pub struct VectorKernel {
    /// The module, wide.
    pub module: Module,
    info: GroupFunction,
    options: KernelOptions,
}

/// Links the bodies of mathematical functions that the module calls; `None` if it calls none.
pub fn exact(module: &Module) -> Result<Option<Module>, String> {
    let mut exact = module.clone();
    Session::default()
        .run_passes(&mut exact, &["math:exact"], true, |_, _| ())
        .map_err(|error| error.to_string())?;
    Ok((exact.functions.len() > module.functions.len()).then_some(exact))
}

/// Makes vector code for a warp of a kernel; other kernels of the module are left out.
pub fn vectors(module: &Module, kernel: &str) -> Result<VectorKernel, String> {
    let mut module = module.clone();
    heddle_compiler::session::retain_reachable(&mut module, kernel);
    let options = KernelOptions {
        layout: WorkItemLayout::Linear,
        is_small: false,
        versions: VersioningPolicy::Model,
        ..KernelOptions::rows(smallvec![WARP])
    };
    let made = lower_kernels(&mut module, &options).map_err(|refusal| refusal.to_string())?;
    let info = made.into_iter().find(|it| it.name == kernel).ok_or("the kernel has no group function")?;
    Session::default()
        .run_passes(&mut module, &["vectorize", &format!("W={WARP}")], true, |_, _| {})
        .map_err(|error| error.to_string())?;
    Ok(VectorKernel { module, info, options })
}

/// Runs vector code of a kernel, group by group.
pub fn as_vectors(
    code: &VectorKernel,
    launch: &TestLaunch,
    machine: Machine,
) -> Result<Vec<TestLaunchObject>, String> {
    match machine {
        Machine::Oracle => on_oracle_wide(code, launch),
        Machine::Native => natively(code, launch),
    }
}

fn scratch_bytes(code: &VectorKernel, launch: &TestLaunch) -> usize {
    code.info.brush_bytes as usize * code.options.brushes(launch.local) as usize
}

fn on_oracle_wide(code: &VectorKernel, launch: &TestLaunch) -> Result<Vec<TestLaunchObject>, String> {
    let (mut memory, mut args) = launch.memory();
    let place = memory.add(Space::Constant, Some("heddle.place"), 8, vec![0; 8 * GROUP_DESCRIPTOR_WORDS]);
    let locals = vec![0; code.info.local_bytes as usize];
    let lines = memory.add(Space::Local, Some("heddle.locals"), LOCAL_ALIGN as u32, locals);
    let scratch = vec![0; scratch_bytes(code, launch)];
    let scratch = memory.add(Space::Global, Some("heddle.scratch"), LOCAL_ALIGN as u32, scratch);
    args.extend([place, lines, scratch].map(|it| Argument::Uniform(Datum::Bits(it.into()))));
    let limits = RunLimits { steps: launch.steps.saturating_mul(8), ..RunLimits::default() };
    let options = RunOptions { limits, ..RunOptions::lanes(1) };
    for words in launch.places() {
        // A group finds poison in local and scratch memory.
        let is_own =
            |space: Space, name: Option<&str>| space == Space::Local || name == Some("heddle.scratch");
        for object in memory.objects_mut().filter(|it| is_own(it.space, it.name.as_deref())) {
            object.poison.fill(true);
        }
        if let Some(object) = memory.object_mut("heddle.place") {
            object.bytes.copy_from_slice(&byte_list(&words));
        }
        run_oracle(&code.module, &launch.kernel, &args, &mut memory, &options)
            .map_err(|fault| fault.to_string())?;
    }
    Ok(launch.held(&memory))
}

fn natively(code: &VectorKernel, launch: &TestLaunch) -> Result<Vec<TestLaunchObject>, String> {
    let say = |error: &dyn std::fmt::Display| error.to_string();
    let emission = EmitOptions { canonical_nans: true, fused: Some(false), exact_roots: true, entries: true };
    let llvm = emit(&code.module, emission).map_err(|error| say(&error))?;
    let jit = Jit::new(llvm, CodegenLevel::Minimal, &[]).map_err(|error| say(&error))?;
    let entry = jit.entry(&launch.kernel).map_err(|error| say(&error))?;
    let func = code.module.function(&launch.kernel).ok_or("the group function is gone")?;

    // Slots, then objects, far enough from each other.
    const GAP: usize = 4096;
    let mut end = func.signature.params.iter().map(|param| slot_bytes(param.ty)).sum::<usize>();
    let mut room = |bytes: usize| {
        let at = (end + GAP).next_multiple_of(128);
        end = at + bytes;
        at
    };
    let objects: Vec<usize> = launch.objects.iter().map(|held| room(held.bytes.len())).collect();
    let place = room(8 * GROUP_DESCRIPTOR_WORDS);
    let locals = room(code.info.local_bytes as usize);
    let scratch = room(scratch_bytes(code, launch));
    let mut shared = SharedMapping::new(end + GAP).map_err(|error| say(&error))?;
    let base = shared.address();
    for (&at, held) in objects.iter().zip(&launch.objects) {
        shared.bytes_mut()[at..at + held.bytes.len()].copy_from_slice(&held.bytes);
    }
    let further = [place, locals, scratch].map(|at| u128::from(base + at as u64));
    let own = launch.args.iter().map(|arg| match *arg {
        TestLaunchArgument::Object(index, offset) => u128::from(base + objects[index] as u64 + offset),
        TestLaunchArgument::Bits(bits) => bits,
    });
    let mut at = 0;
    for (bits, param) in own.chain(further).zip(&func.signature.params) {
        let size = param.ty.bytes() as usize;
        shared.bytes_mut()[at..at + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        at += slot_bytes(param.ty);
    }
    for words in launch.places() {
        shared.bytes_mut()[place..place + 8 * GROUP_DESCRIPTOR_WORDS].copy_from_slice(&byte_list(&words));
        entry
            .call_in_child(&mut shared, [0, 0], Some(Duration::from_secs(10)))
            .map_err(|error| say(&error))?;
    }
    let found = launch.objects.iter().zip(&objects).map(|(held, &at)| {
        TestLaunchObject::new(&held.name, shared.bytes()[at..at + held.bytes.len()].to_vec())
    });
    Ok(found.collect())
}

/// Describes the first difference; bytes that were poison may be anything.
pub fn difference(expected: &[TestLaunchObject], found: &[TestLaunchObject]) -> Option<String> {
    let of = |(expected, found): (&TestLaunchObject, &TestLaunchObject)| {
        let differs =
            |at: usize| !expected.poison[at] && (found.poison[at] || expected.bytes[at] != found.bytes[at]);
        let at = (0..expected.bytes.len().min(found.bytes.len())).find(|&at| differs(at))?;
        let line = |held: &TestLaunchObject| {
            let start = at / 8 * 8;
            let end = (start + 8).min(held.bytes.len());
            let text = held.bytes[start..end].iter().map(|byte| format!("{byte:02x}"));
            text.collect::<Vec<_>>().join(" ")
        };
        let is_top = if found.poison[at] { " (poison)" } else { "" };
        Some(format!("{} byte {at}: {} and not {}{is_top}", expected.name, line(found), line(expected)))
    };
    expected.iter().zip(found).find_map(of)
}
