//! From kernels to vector code, step by step: group functions, passes, LLVM.

use crate::code::BuildError;
use crate::forced::ForcedOptions;
use crate::kernel_facts::KernelFacts;
use crate::program::BuildOptions;
use heddle_compiler::context::PassContext;
use heddle_compiler::ir::module::FunctionKind;
use heddle_compiler::ir::{Code, Diagnostic, Module};
use heddle_compiler::report::attribute_to_kernel;
use heddle_compiler::session::retain_all_reachable;
use heddle_compiler::{BrushExtents, KernelReport, PassPolicy, Session};
use heddle_llvm::{
    CodeFormat, Cpu, EmitOptions, LlvmModule, OptimizeOptions, SourceLoops, define_printf_bodies, emit,
    generate, internalize_except, optimize,
};
use heddle_transform::kernels::{GainsBySize, GroupLayout, LayoutRequest, group_layout};
use heddle_transform::{
    AxisOrder, GroupExecution, GroupFunction, KernelOptions, LaunchPromises, TargetInfo, VersioningPolicy,
    WorkItemLayout, has_vectorized_loops, lower_kernels,
};
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash as _, Hasher as _};

/// For what launches code is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CodeVariant {
    /// Layout of work-items in brushes.
    pub fold: WorkItemLayout,
    /// Work-item dimensions that the axes of a brush span.
    pub axes: AxisOrder,
    /// The lanes of a brush along each axis.
    pub brush: [u32; 3],
    /// True if all numbers of a launch are below 2^31 - 2^22.
    pub is_small: bool,
    /// Properties of the arguments of a launch, where they make faster code.
    pub promises: LaunchPromises,
    /// The size of all groups, if the code is for no other.
    pub local: Option<[u32; 3]>,
    /// True if groups of the source have one work-item each, and run merged.
    pub single: bool,
    /// Form of the code.
    pub form: CodeForm,
}

/// Forms of code for the same launches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum CodeForm {
    /// As models say.
    #[default]
    Usual,
    /// Code between two barriers may run for one work-item after another, while other parts run for brushes.
    Mixed,
    /// Lanes take new work-items when they are done with theirs.
    LaneRefill,
    /// Whatever some work-items of a brush do without the others is skipped where none does, pay or not.
    Guarded,
    /// Stores of whole brushes bypass the caches.
    Streaming,
}

impl CodeVariant {
    /// Number that identifies the variant in kept choices.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// For launches of a kernel in groups of this size; `is_uniform` says that there are no smaller ones at the ends.
    pub fn of_groups(
        kernel: &KernelFacts,
        lanes: u32,
        local: [u32; 3],
        axes: AxisOrder,
        is_uniform: bool,
        is_small: bool,
    ) -> CodeVariant {
        let gains_by_size = match (kernel.required_local, kernel.sees_groups) {
            (Some(_), _) => GainsBySize::Always,
            (None, true) => GainsBySize::ForSeveralRows,
            (None, false) => GainsBySize::Never,
        };
        let observes_brush = kernel.observes_brush;
        let request = LayoutRequest { local, axes, lanes, observes_brush, is_uniform, gains_by_size };
        let GroupLayout { layout, axes, brush, local } = group_layout(&request);
        CodeVariant { fold: layout, axes, brush, local, ..CodeVariant::of_rows(lanes, axes, is_small) }
    }

    /// Returns the variant for groups of one work-item, which run merged.
    pub(crate) fn of_single_items(self) -> CodeVariant {
        CodeVariant { local: None, single: true, ..self }
    }

    /// For launches of a kernel of which nothing is known: of groups as the source fixes them or lets one expect them.
    pub fn usual(kernel: &KernelFacts, lanes: u32, axes: AxisOrder) -> CodeVariant {
        match kernel.required_local {
            Some([1, 1, 1]) if kernel.shares_nothing => {
                CodeVariant::of_rows(lanes, axes, true).of_single_items()
            }
            Some(local) => CodeVariant::of_groups(kernel, lanes, local, axes, true, true),
            None => match kernel.square {
                Some(width) => CodeVariant::of_groups(kernel, lanes, [width, width, 1], axes, true, true),
                None => CodeVariant::of_rows(lanes, axes, true),
            },
        }
    }

    /// For launches in groups that are rows.
    pub fn of_rows(lanes: u32, axes: AxisOrder, is_small: bool) -> CodeVariant {
        let brush = [lanes, 1, 1];
        CodeVariant {
            fold: WorkItemLayout::Rows,
            axes,
            brush,
            is_small,
            promises: LaunchPromises::default(),
            local: None,
            single: false,
            form: CodeForm::Usual,
        }
    }

    /// Returns the variant whose lanes take new work-items, if groups of this size have several for each lane.
    pub(crate) fn lane_refill(self, local: [u32; 3]) -> Option<CodeVariant> {
        const FEWEST: u32 = 4;
        let lanes = self.brush.iter().product::<u32>();
        let wanted = FEWEST.saturating_mul(lanes);
        let items = local.iter().fold(1u32, |items, &size| items.saturating_mul(size));
        let has_rows = self.axes.to_axes(local)[0] >= wanted;
        let (fold, axes) = match has_rows {
            true => (WorkItemLayout::Rows, self.axes),
            false => (WorkItemLayout::Linear, AxisOrder::WORK_ITEMS),
        };
        let fits = lanes > 1 && items >= wanted;
        fits.then_some(CodeVariant { fold, axes, brush: [lanes, 1, 1], form: CodeForm::LaneRefill, ..self })
    }

    /// Options of the kernel lowering.
    pub(crate) fn options(&self) -> KernelOptions {
        let dimensions = self.brush.iter().rposition(|&extent| extent > 1).map_or(1, |last| last + 1);
        KernelOptions {
            brush: self.brush[..dimensions].into(),
            layout: self.fold,
            axes: self.axes,
            is_small: self.is_small,
            versions: VersioningPolicy::Model,
            execution: match self.form {
                CodeForm::Usual | CodeForm::Guarded | CodeForm::Streaming => GroupExecution::Brushes,
                CodeForm::Mixed => GroupExecution::Mixed,
                CodeForm::LaneRefill => GroupExecution::LaneRefill,
            },
            single_item_groups: self.single,
            promises: self.promises,
        }
    }
}

impl fmt::Display for CodeVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.brush {
            [1, 1, 1] => write!(f, "1 lane")?,
            [lanes, 1, 1] => write!(f, "{lanes} lanes")?,
            [x, y, 1] => write!(f, "{x} x {y} lanes")?,
            [x, y, z] => write!(f, "{x} x {y} x {z} lanes")?,
        }
        if self.axes.dimension(0) != 0 && self.brush != [1; 3] {
            write!(f, " along dimension {}", self.axes.dimension(0))?;
        }
        f.write_str(match self.form {
            CodeForm::Usual => "",
            CodeForm::Mixed => ", parts one work-item at a time",
            CodeForm::LaneRefill => ", lane refill",
            CodeForm::Guarded => ", all guards",
            CodeForm::Streaming => ", stores bypass the caches",
        })
    }
}

/// The group functions of kernels, and the regions that they launch, at stage Source.
#[derive(Debug)]
pub struct GroupFunctions {
    /// The module.
    pub module: Module,
    groups: Vec<GroupFunction>,
    options: KernelOptions,
}

impl GroupFunctions {
    /// Of some kernels of a program.
    pub fn new(
        program: &Module,
        kernels: &[&str],
        variant: CodeVariant,
    ) -> Result<GroupFunctions, BuildError> {
        GroupFunctions::forced(program, kernels, variant, &ForcedOptions::default())
    }

    /// Makes group functions with forced choices.
    pub(crate) fn forced(
        program: &Module,
        kernels: &[&str],
        variant: CodeVariant,
        forced: &ForcedOptions,
    ) -> Result<GroupFunctions, BuildError> {
        let mut module = program.clone();
        retain_all_reachable(&mut module, kernels);
        for func in &mut module.functions {
            func.kind = match func.kind {
                FunctionKind::Kernel(sizes) if kernels.contains(&&*func.name) => {
                    FunctionKind::Kernel(variant.local.or(sizes.filter(|_| !variant.single)))
                }
                // A kernel that another one calls is a function like any other.
                _ => FunctionKind::Function,
            };
        }
        let mut options = KernelOptions { versions: forced.versions(), ..variant.options() };
        if forced.refill() == PassPolicy::Always && options.execution == GroupExecution::Brushes {
            options.execution = GroupExecution::LaneRefill;
        }
        let groups = lower_kernels(&mut module, &options)?;
        let in_vain = match variant.form {
            CodeForm::Mixed if groups.iter().all(|group| group.serial_regions == 0) => {
                "no state gains by running one work-item at a time"
            }
            CodeForm::LaneRefill if !groups.iter().any(|group| group.refills_lanes) => {
                "no work-item waits for others in a loop"
            }
            _ => return Ok(GroupFunctions { module, groups, options }),
        };
        Err(Diagnostic::error(Code::KernelForm, in_vain).into())
    }

    /// Makes vector code of them. The context sees each pass; `program` is what they were made of.
    pub fn vectorize(
        self,
        program: &Module,
        cpu: &Cpu,
        options: &BuildOptions,
        context: &mut PassContext<'_>,
    ) -> Result<VectorCode, BuildError> {
        let GroupFunctions { mut module, groups, options: made } = self;
        let refused = |reason: heddle_compiler::ir::Diagnostic| {
            let message = reason.in_module(program);
            let mut kernels = groups.iter().map(|group| &group.name);
            let of_region = |name: &&String| attribute_to_kernel(message.clone(), name) != message;
            let kernel = kernels.clone().find(of_region).or(kernels.next()).cloned().unwrap_or_default();
            BuildError::Pass { reason: Box::new(attribute_to_kernel(message, &kernel)), kernel }
        };
        let mut session = Session::new(cpu.clone());
        session.options = options.of_passes(cpu);
        let brush = BrushExtents::new(&made.brush).map_err(refused)?;
        session.widen_module(&mut module, &brush, context).map_err(refused)?;
        // Users cannot choose how branches, loops and values are transformed.
        let is_of_access =
            |message: &&Diagnostic| !matches!(message.code, Code::Fusion | Code::Scalars | Code::Nest);
        let of_passes = context.remarks.iter().map(|remark| &remark.diagnostic).filter(is_of_access);
        let message = groups.iter().flat_map(|group| &group.remarks).chain(of_passes);
        let message: Vec<_> = message.map(|message| message.clone().in_module(program)).collect();
        let report = |group: &GroupFunction| KernelReport::new(program, &module, group, &made, &message);
        let reports = groups.iter().map(report).collect();
        let source_loops = source_loops(&module, &made.brush, &options.target(cpu));
        Ok(VectorCode { module, groups, reports, source_loops })
    }
}

/// Returns the treatment of kernels' loops by LLVM: with one lane, it vectorizes those over contiguous elements.
pub(crate) fn source_loops(module: &Module, brush: &[u32], target: &TargetInfo) -> SourceLoops {
    let has_one_lane = brush.iter().all(|&extent| extent == 1);
    if has_one_lane && has_vectorized_loops(module, target) {
        SourceLoops::Vectorized
    } else {
        SourceLoops::Scalar
    }
}

/// Vector code of kernels.
#[derive(Debug)]
pub struct VectorCode {
    /// The module at stage Wide.
    pub module: Module,
    /// Facts that a caller of the group functions needs, in the order of the program.
    pub groups: Vec<GroupFunction>,
    /// Reports of the kernels, in the same order.
    pub reports: Vec<KernelReport>,
    /// Treatment of the kernels' loops by LLVM.
    source_loops: SourceLoops,
}

impl VectorCode {
    /// The module of LLVM, which LLVM's passes have been through. Group functions are seen by the names of their kernels.
    pub fn llvm(&self, cpu: &Cpu) -> Result<LlvmModule, BuildError> {
        let llvm = emit(&self.module, EmitOptions::default())?;
        define_printf_bodies(&llvm);
        let seen: Vec<&str> = self.groups.iter().map(|group| &*group.name).collect();
        internalize_except(&llvm, &seen);
        let options = OptimizeOptions { loops: self.source_loops, ..OptimizeOptions::default() };
        optimize(&llvm, cpu, options)?;
        Ok(llvm)
    }

    /// Writes the code as text, bitcode, assembly or object.
    pub fn write(&self, cpu: &Cpu, output: CodeFormat) -> Result<Vec<u8>, BuildError> {
        Ok(generate(&self.llvm(cpu)?, cpu, output)?)
    }
}
