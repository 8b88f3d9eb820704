//! Generator of random well-formed modules, with inputs for which they have no undefined behaviour.
//!
//! [`generate`] turns a seed and a [`GeneratorProfile`] into a [`GeneratedProgram`], deterministically. Programs
//! terminate in every lane and under every schedule. Poison occurs where it does not matter, but never as a returned,
//! stored or branched-on value. [`ProgramTraits`] marks results that the schedule may change.

mod access;
mod control;
mod input;
mod operations;
mod predicated;
mod program;
mod random;
mod rows;
mod ssa;
mod writer;

pub use input::{InputArgument, ObjectShape, Owner, ProgramInput};
pub use program::{GeneratedProgram, ProgramTraits, generate};
pub use random::Random;

/// The kind of program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProgramClass {
    /// A function over lanes that share only what they read.
    Lanes,
    /// A function whose lanes write to the same memory, in an order that the schedule decides.
    Racy,
    /// A kernel over work-groups, with barriers and local memory.
    Kernel,
    /// Sequential code that launches a region.
    Launch,
    /// LinearEdges control flow: predicates on blocks, `total`, masks, shadows. At stage Linear.
    Predicated,
}

impl ProgramClass {
    /// All of them, in order.
    pub const ALL: [ProgramClass; 5] = [
        ProgramClass::Lanes,
        ProgramClass::Racy,
        ProgramClass::Kernel,
        ProgramClass::Launch,
        ProgramClass::Predicated,
    ];

    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            ProgramClass::Lanes => "lanes",
            ProgramClass::Racy => "racy",
            ProgramClass::Kernel => "kernel",
            ProgramClass::Launch => "launch",
            ProgramClass::Predicated => "predicated",
        }
    }
}

/// Composition of programs. Values are percentages unless noted otherwise.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratorProfile {
    /// Weights of the program classes.
    pub classes: [(ProgramClass, u32); 5],
    /// Programs that may have horizontals.
    pub horizontals: u32,
    /// Programs that may query lane numbers. Kernels that may not use their position in the group.
    pub lanes: u32,
    /// Programs that may have atomics.
    pub atomics: u32,
    /// Programs that may have private arrays.
    pub privates: u32,
    /// Private arrays of integers that are also accessed in another size.
    pub views: u32,
    /// Programs that may have forward jumps.
    pub gotos: u32,
    /// Programs that certainly have nested divergent loops.
    pub nests: u32,
    /// Programs that may have arbitrary, possibly irreducible, subgraphs.
    pub webs: u32,
    /// Programs that may call functions.
    pub calls: u32,
    /// Programs that may have `fmuladd`, whose rounding is unspecified.
    pub fmuladd: u32,
    /// Loops entered in the middle.
    pub jump_into_loop: u32,
    /// Operations restricted to uniform operands.
    pub uniform_operation: u32,
    /// Branches intended to be uniform.
    pub uniform_branch: u32,
    /// Conditions with similar arms.
    pub similar_arms: u32,
    /// Loops that iterate over arrays.
    pub walks: u32,
    /// Loops that are over rows, one for each lane.
    pub row_loops: u32,
    /// True if all lanes leave a loop together.
    pub uniform_loops: bool,
    /// Programs that keep their trivial φs.
    pub trivial_phis: u32,
    /// Sizes: a range of statements, and how often it is drawn, as weights.
    pub sizes: [((u32, u32), u32); 3],
    /// The most statements in a body.
    pub longest_body: u32,
    /// The most trips of a loop.
    pub most_trips: u32,
    /// A bound on the statements that one lane executes in calls.
    pub most_cost: u32,
    /// Conditional phases among a kernel's phases with barriers; none by default.
    pub conditional_phases: u32,
    /// Percentage of a kernel's phases before which some work-items exit; none exits before the first barrier.
    pub early_exits: u32,
    /// True if all lanes share the entry's parameters, as work-items do.
    pub shared_params: bool,
    /// Maximum number of inputs per program.
    pub inputs: u32,
}

impl GeneratorProfile {
    /// Programs at stage Source.
    pub fn source() -> GeneratorProfile {
        let mut profile = GeneratorProfile::default();
        for (class, weight) in &mut profile.classes {
            if *class == ProgramClass::Predicated {
                *weight = 0;
            }
        }
        profile
    }

    /// Programs at stage Source with conditions whose arms are alike.
    pub fn similar() -> GeneratorProfile {
        GeneratorProfile {
            classes: [
                (ProgramClass::Lanes, 70),
                (ProgramClass::Racy, 8),
                (ProgramClass::Kernel, 12),
                (ProgramClass::Launch, 10),
                (ProgramClass::Predicated, 0),
            ],
            uniform_branch: 15,
            similar_arms: 75,
            ..GeneratorProfile::source()
        }
    }

    /// Programs at stage Source all of whose loops are uniform.
    pub fn uniform() -> GeneratorProfile {
        GeneratorProfile {
            uniform_loops: true,
            nests: 0,
            webs: 0,
            jump_into_loop: 0,
            ..GeneratorProfile::source()
        }
    }
}

impl Default for GeneratorProfile {
    fn default() -> GeneratorProfile {
        GeneratorProfile {
            classes: [
                (ProgramClass::Lanes, 42),
                (ProgramClass::Racy, 10),
                (ProgramClass::Kernel, 11),
                (ProgramClass::Launch, 5),
                (ProgramClass::Predicated, 22),
            ],
            horizontals: 15,
            lanes: 100,
            atomics: 15,
            privates: 50,
            views: 0,
            gotos: 35,
            nests: 80,
            webs: 62,
            calls: 25,
            fmuladd: 10,
            jump_into_loop: 9,
            uniform_operation: 25,
            uniform_branch: 35,
            similar_arms: 0,
            walks: 0,
            row_loops: 0,
            uniform_loops: false,
            trivial_phis: 15,
            sizes: [((2, 5), 60), ((5, 14), 30), ((14, 45), 10)],
            longest_body: 4,
            most_trips: 4,
            most_cost: 600,
            conditional_phases: 0,
            early_exits: 0,
            shared_params: false,
            inputs: 2,
        }
    }
}
