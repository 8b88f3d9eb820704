//! The generator: random well-formed modules, each with inputs for which it has no undefined behaviour.
//!
//! [`generate`] turns a seed and a [`GeneratorProfile`] into a [`GeneratedProgram`]. The same seed gives the same program. Programs end
//! in every lane and under every schedule; what they return, store and branch on is never ⊤, though ⊤ comes up where
//! it does not matter. What the schedule may decide is marked in the case's [`ProgramTraits`].

mod access;
mod control;
mod input;
mod operations;
mod predicated;
mod program;
mod random;
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

/// What programs are made of. Percentages where nothing else is said.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratorProfile {
    /// How often each kind of program comes, as weights.
    pub classes: [(ProgramClass, u32); 5],
    /// How often a program may have horizontals.
    pub horizontals: u32,
    /// How often a program may ask which of its brush's lanes it is. Kernels that may not ask for their place in the group.
    pub lanes: u32,
    /// How often a program may have atomics.
    pub atomics: u32,
    /// How often a program may have private arrays.
    pub privates: u32,
    /// How often a program may have jumps forward.
    pub gotos: u32,
    /// How often a program has divergent loops inside each other for sure.
    pub nests: u32,
    /// How often a program may have webs of blocks, irreducible ones among them.
    pub webs: u32,
    /// How often a program may call functions.
    pub calls: u32,
    /// How often a program may have `fmuladd`, whose rounding is open.
    pub fmuladd: u32,
    /// How often a loop is entered in its middle.
    pub jump_into_loop: u32,
    /// How often operations keep to uniform operands.
    pub uniform_operation: u32,
    /// How often branches are meant to be uniform.
    pub uniform_branch: u32,
    /// How often the arms of a condition are alike.
    pub similar_arms: u32,
    /// How often a loop goes over arrays.
    pub walks: u32,
    /// Whether all lanes leave a loop together.
    pub uniform_loops: bool,
    /// How often the trivial φs are left in.
    pub trivial_phis: u32,
    /// Sizes: a range of statements, and how often it is drawn, as weights.
    pub sizes: [((u32, u32), u32); 3],
    /// The most statements in a body.
    pub longest_body: u32,
    /// The most trips of a loop.
    pub most_trips: u32,
    /// A bound on the statements that one lane executes in calls.
    pub most_cost: u32,
    /// How often a kernel's phase with barriers is conditional; none is where nothing is said.
    pub conditional_phases: u32,
    /// Whether lanes share all parameters of the entry, as work-items do.
    pub shared_params: bool,
    /// How many inputs a program gets, at most.
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
            uniform_loops: false,
            trivial_phis: 15,
            sizes: [((2, 5), 60), ((5, 14), 30), ((14, 45), 10)],
            longest_body: 4,
            most_trips: 4,
            most_cost: 600,
            conditional_phases: 0,
            shared_params: false,
            inputs: 2,
        }
    }
}
