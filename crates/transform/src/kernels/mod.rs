//! Turns a kernel into sequential code that runs one work-group.
//!
//! Requires: Stage::Source.  Ensures: no kernel is left; the group function of each has its name and launches regions.
//! Invariant: a work-item does what it did, in the same order; a barrier of the source is passed by all brushes of a
//! group, one after the other, before any goes on. No barrier is added.
//! After: R. Karrenberg and S. Hack, *Improving Performance of OpenCL on CPUs*, 2. Differs in: what work-items share is
//! kept in variables of the group function; what differs by a known step is kept once for each brush.
//!
//! ```text
//!     kernel @k(a)                    func @k(a, place, local, scratch)         one thread runs it
//!       … global_id …                   for z, y, x: launch W @k.region0(a, x, y, z, …)
//!       barrier group                   for z, y, x: launch W @k.region1(a, x, y, z, …)
//!       … global_id …                   return
//! ```
//!
//! * `inline` brings calls that ask for the launch, or wait at barriers, into the kernel.
//! * `extensions` parts what LLVM merged with the scales of addresses.
//! * `place` makes what a kernel asks for its parameters.
//! * `bounds` extends operands of what does not wrap around, as groups are not that large.
//! * `states` cuts the kernel at its barriers.
//! * `objects` finds the private objects that live across them, and interleaves those of the lanes.
//! * `live` finds what lives across them, and where it is kept.
//! * `region` makes a lock-step function of each state.
//! * `alone` lets regions run for one work-item after the other.
//! * `refilling` lets lanes take new work-items when they are done with theirs.
//! * `versions` gives regions a second version, for brushes that are well placed.
//! * `group` writes the sequential function that launches them.

mod alone;
mod bounds;
mod copy;
mod extensions;
mod group;
mod inline;
mod live;
mod objects;
mod place;
mod refilling;
mod region;
mod rounds;
mod states;
mod versions;

pub(crate) use inline::split_behind;
pub use place::{LOCAL_ALIGN, MOST_ITEMS, PLACE_WORDS, PlaceField};

use crate::widen::VersioningPolicy;
use heddle_ir::entity::PrimaryMap;
use heddle_ir::inst::Detail;
use heddle_ir::module::{DeclaredShape, FunctionKind, MetadataNode, MetadataOperand, Param};
use heddle_ir::ops::Effect;
use heddle_ir::types::MAX_LANES;
use heddle_ir::words::SyncScope;
use heddle_ir::{Code, Diagnostic, Function, Inst, Module, Op, Scalar, Space, Type};
use smallvec::SmallVec;

/// How the lanes of a brush lie in a work-group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Fold {
    /// Side by side along each dimension of the brush: a row, or a tile of rows. The last brush along a dimension may have lanes
    /// without work-items.
    #[default]
    Rows,
    /// Along the linear order of the group, round the ends of its rows. The brush has one dimension.
    Linear,
}

/// What runs the work-items of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Running {
    /// Brushes, one after the other.
    #[default]
    Brushes,
    /// Brushes, but regions whose accesses are scattered run for one work-item after the other, if others do not.
    Mixed,
    /// One brush, whose lanes take new work-items when they are done with theirs, where some would wait for others.
    Refilling,
}

/// How group functions are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelOptions {
    /// Lanes of a brush along each dimension.
    pub brush: SmallVec<[u32; 3]>,
    /// How they lie in a group.
    pub fold: Fold,
    /// Whether all numbers of a launch are below 2^31.
    pub is_small: bool,
    /// Where regions get versions.
    pub versions: VersioningPolicy,
    /// What runs the work-items.
    pub running: Running,
    /// Whether groups of the source have one work-item each. What runs as a group then is several of them, which have no local
    /// memory to keep apart.
    pub single: bool,
}

impl KernelOptions {
    /// All lanes of a brush.
    pub fn lanes(&self) -> u32 {
        self.brush.iter().fold(1, |lanes: u32, &extent| lanes.saturating_mul(extent))
    }

    /// Its lanes along a dimension.
    fn extent(&self, dimension: usize) -> u32 {
        self.brush.get(dimension).copied().unwrap_or(1)
    }

    /// The brushes of a work-group.
    pub fn brushes(&self, local: [u32; 3]) -> u64 {
        match self.fold {
            Fold::Rows => {
                [0, 1, 2].map(|along| u64::from(local[along].div_ceil(self.extent(along)))).iter().product()
            }
            Fold::Linear => local.map(u64::from).iter().product::<u64>().div_ceil(self.lanes().into()),
        }
    }

    /// The type that is computed in with places.
    fn unit(&self) -> Scalar {
        if self.is_small { Scalar::I32 } else { Scalar::I64 }
    }
}

/// What is to be known of a group function in order to call it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupFunction {
    /// The kernel.
    pub name: String,
    /// The bytes of local memory that objects of the program take, at the start of what a group gets.
    pub local_bytes: u64,
    /// The bytes of scratch memory that a brush needs.
    pub brush_bytes: u64,
    /// The barriers of the kernel, calls inlined.
    pub barriers: usize,
    /// The points at which brushes wait for each other.
    pub synchronization_points: usize,
    /// The regions that run for one work-item after the other.
    pub alone: usize,
    /// Whether lanes take new work-items when they are done with theirs.
    pub refills: bool,
    /// What accesses gain by versions of regions.
    pub remarks: Vec<Diagnostic>,
}

/// A kernel has no group function, because of an instruction.
fn refuse_inst(func: &Function, inst: Inst, text: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::KernelForm, text).of_inst(func, inst).help(help)
}

/// A kernel has no group function.
fn refuse(func: &Function, text: impl Into<String>, help: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::KernelForm, text).of_func(&func.name).help(help)
}

fn insts_of(func: &Function) -> Vec<Inst> {
    func.blocks().flat_map(|block| func.block_insts(block)).collect()
}

/// Whether work-items of a function see which of them make a brush.
fn sees_lanes(func: &Function) -> bool {
    insts_of(func).into_iter().any(|inst| {
        let op = func.inst(inst).op;
        matches!(op, Op::Lane | Op::Width) || op.info().effect == Effect::Horizontal
    })
}

/// A kernel may grow to so many instructions, by calls that are inlined and by states that share code.
const MOST_INSTRUCTIONS: usize = 1 << 20;

/// A hint about loops, by LLVM's name for it.
fn hint(facts: &mut PrimaryMap<MetadataNode, Vec<MetadataOperand>>, name: &str) -> MetadataNode {
    let mut named = |parts: Vec<MetadataOperand>| {
        let known = facts.iter().find(|(_, known)| **known == parts).map(|(fact, _)| fact);
        known.unwrap_or_else(|| facts.push(parts))
    };
    let text = named(vec![MetadataOperand::Text(name.into())]);
    named(vec![MetadataOperand::Node(text)])
}

/// Atomic accesses to local memory are seen by the lanes of a brush only: one thread runs the brushes of a group one after the
/// other.
fn keep_to_brush(func: &mut Function) {
    for inst in insts_of(func) {
        let data = func.inst(inst);
        let is_local =
            data.args.first().is_some_and(|&address| func.value_type(address) == Type::ptr(Space::Local));
        if !is_local {
            continue;
        }
        if let Detail::Rmw(_, access) | Detail::CompareExchange(access, _) = &mut func.inst_mut(inst).detail
            && let Some((_, scope)) = &mut access.atomic
        {
            *scope = SyncScope::Brush;
        }
    }
}

/// Replaces each kernel of a module by its group function and the regions that it launches. Functions that were inlined,
/// and objects of local memory, go.
pub fn lower_kernels(module: &mut Module, options: &KernelOptions) -> Result<Vec<GroupFunction>, Diagnostic> {
    let bound = inline::bound_to_launch(module);
    let (mut made, mut functions) = (Vec::new(), Vec::new());
    for func in &module.functions {
        if !matches!(func.kind, FunctionKind::Kernel(_)) {
            if !bound.contains(&func.name) {
                functions.push(func.clone());
            }
            continue;
        }
        if !(1..=MAX_LANES).contains(&options.lanes()) || !(1..=3).contains(&options.brush.len()) {
            let extents: Vec<String> = options.brush.iter().map(u32::to_string).collect();
            let text = format!("`{}` is no brush", extents.join("x"));
            let help = format!("write 1 to {MAX_LANES} lanes along 1 to 3 dimensions");
            return Err(refuse(func, text, help));
        }
        if options.fold == Fold::Linear && options.brush.len() > 1 {
            let text = "the linear order of a group has one dimension, and the brush has more";
            return Err(refuse(func, text, "fold by `rows`"));
        }
        if let Some(block) = func.blocks().find(|&block| func.predicate(block).is_some()) {
            let text = format!("{block} has a predicate, which no code has before `linearize`");
            return Err(refuse(func, text, "write a branch around it"));
        }
        let is_own = |param: &&Param| !matches!(param.shape, None | Some(DeclaredShape::Uniform));
        if func.signature.params.iter().any(|param| is_own(&param)) {
            let text = "a parameter differs between lanes, and a launch gives all work-items the same";
            return Err(refuse(func, text, "declare its parameters `uniform`"));
        }
        let mut kernel = func.clone();
        let own = kernel.params().len();
        inline::inline_calls(&mut kernel, module, &bound)?;
        extensions::part_extensions(&mut kernel);
        if options.lanes() == 1 || options.running == Running::Mixed {
            let own_rounds = || hint(&mut module.facts, "llvm.loop.unroll.runtime.disable");
            rounds::hint_at_own_rounds(&mut kernel, own_rounds);
        }
        if options.single {
            // A work-item alone waits for no other.
            let mut barriers = insts_of(&kernel);
            barriers.retain(|&inst| inline::is_group_barrier(kernel.inst(inst)));
            barriers.into_iter().for_each(|inst| kernel.remove_inst(inst));
        }
        let asked = place::ask_by_params(&mut kernel, module, options);
        bounds::extend_operands(&mut kernel, &asked, options.is_small);
        if states::has_barriers(&kernel) {
            // What is computed again is to take as few operations as it can.
            crate::simplify(&mut kernel);
            // What lives across barriers is known where loops are closed.
            crate::canonicalize(&mut kernel);
        }
        keep_to_brush(&mut kernel);
        let states = states::cut_at_barriers(&mut kernel);
        let sizes =
            states.all.iter().flat_map(|state| &state.blocks).map(|&block| kernel.block_insts(block).count());
        if sizes.sum::<usize>() > MOST_INSTRUCTIONS {
            let text = format!(
                "states that share code have copies of it, which makes more than {MOST_INSTRUCTIONS} instructions"
            );
            return Err(refuse(func, text, "use fewer barriers"));
        }
        let mut across =
            if states.all.len() > 1 { objects::objects_across(&kernel, &states) } else { Vec::new() };
        objects::interleave(&mut kernel, &mut across, options.lanes());
        let live = live::find_homes(&kernel, &asked, &states, &across, &options.brush)?;
        let mut remarks = Vec::new();
        let mut regions: Vec<region::Region> = (0..states.all.len())
            .map(|number| region::make_region(&kernel, &states, &live, number))
            .collect();
        let (mut alone, mut refills) = (0, false);
        match options.running {
            Running::Brushes => {}
            Running::Mixed => alone = alone::leave_alone(&kernel, &mut regions, options),
            Running::Refilling if options.brush.len() > 1 || options.lanes() < 2 => {}
            Running::Refilling => refills = refilling::refill(&mut regions, asked.items[0]),
        }
        for region in regions.iter_mut().filter(|region| !region.is_alone && !region.refills) {
            remarks.extend(versions::split(&mut region.func, &options.brush, options.versions));
            place::count_from_first(&mut region.func, &options.brush);
        }
        let whole = regions
            .iter()
            .any(|region| region.loops)
            .then(|| hint(&mut module.facts, "llvm.loop.unroll.disable"));
        made.push(GroupFunction {
            name: func.name.clone(),
            local_bytes: asked.local_bytes,
            brush_bytes: live.brush_bytes,
            barriers: states.barriers,
            synchronization_points: states.all.len() - 1,
            alone,
            refills,
            remarks,
        });
        let of_kernel = group::OfKernel { kernel: &kernel, own, asked: &asked, states: &states, live: &live };
        let mut group = group::make_group_function(&of_kernel, &regions, options, whole);
        let (called, launched): (Vec<_>, Vec<_>) = regions.into_iter().partition(|region| region.is_alone);
        let called =
            Module { functions: called.into_iter().map(|region| region.func).collect(), ..Module::default() };
        let names = called.functions.iter().map(|func| func.name.clone()).collect();
        inline::inline_calls(&mut group, &called, &names)?;
        functions.push(group);
        functions.extend(launched.into_iter().map(|region| region.func));
    }
    module.functions = functions;
    module.globals.retain(|global| global.space != Space::Local);
    Ok(made)
}
