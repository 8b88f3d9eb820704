//! Launches of one dimension that run as launches of several: of kernels that divide their index by a parameter.
//!
//! Such a kernel has a second form, which has the quotient as a dimension ([`divided_index`]). A launch takes it if the parameter divides the
//! number of work-items. It is a kernel of its own, with codes and choices of its own.

use crate::kernel_facts::{KernelFacts, functions_that};
use crate::launch::LaunchArgument;
use crate::program::PreparedKernel;
use crate::range::NdRange;
use heddle_ir::Module;
use heddle_ir::ops::Observed;
use heddle_transform::kernels::{DividedIndex, SMALL_LAUNCH, divided_index};

/// Fewest work-items of dimension 0: shorter rows leave lanes without work.
const SHORTEST: u64 = 64;

/// Kernel of several dimensions for launches of another one.
#[derive(Clone, Debug)]
pub(crate) struct DividedKernel {
    /// Number of the kernel.
    number: usize,
    /// Parameters that are the extents, from dimension 0 on.
    widths: Vec<u32>,
}

/// Adds the second forms of kernels to their module, after all others. Returns them by the numbers of the kernels.
pub(crate) fn add_divided_kernels(
    module: &mut Module,
    kernels: &[KernelFacts],
) -> Vec<Option<DividedKernel>> {
    let observed = [Observed::Group, Observed::Launch, Observed::Position, Observed::Lanes];
    let observers =
        functions_that(module, |func, inst| observed.iter().any(|&it| func.inst(inst).observes(it)));
    let divide = |facts: &KernelFacts| {
        let is_free = facts.required_local.is_none() && facts.required_lanes.is_none() && !facts.polls;
        let func = module.functions.iter().find(|func| func.name == facts.name).filter(|_| is_free)?;
        divided_index(func, &format!("{}.divided", func.name), |name| observers.contains_key(name))
    };
    let divided: Vec<Option<DividedIndex>> = kernels.iter().map(divide).collect();
    let mut number = kernels.len();
    let add = |divided: Option<DividedIndex>| {
        let DividedIndex { kernel, widths } = divided?;
        module.functions.push(kernel);
        number += 1;
        Some(DividedKernel { number: number - 1, widths })
    };
    divided.into_iter().map(add).collect()
}

/// Value of an integer that is passed by its bytes.
fn integer(argument: &LaunchArgument<'_>) -> Option<u64> {
    match *argument {
        LaunchArgument::Bytes(bytes) => match bytes.len() {
            4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        },
        _ => None,
    }
}

impl DividedKernel {
    /// Divides the range of a launch with these arguments; none if it does not go up evenly.
    fn divide(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> Option<NdRange> {
        let [mut rest, 1, 1] = range.global() else { return None };
        if !range.has_no_offset() || rest >= SMALL_LAUNCH {
            return None;
        }
        let mut extents = Vec::new();
        for &parameter in &self.widths {
            let width = integer(args.get(parameter as usize)?)?;
            if width == 0 || !rest.is_multiple_of(width) {
                return None;
            }
            rest /= width;
            extents.push(width);
        }
        extents.push(rest);
        (extents[0] >= SHORTEST && rest > 0).then(|| NdRange::new(&extents).ok())?
    }
}

impl PreparedKernel {
    /// Its second form.
    pub(crate) fn second_form(&self) -> Option<PreparedKernel> {
        self.program().divided(self).map(|divided| self.program().numbered(divided.number))
    }

    /// Form of most launches.
    pub(crate) fn usual_form(&self) -> PreparedKernel {
        self.second_form().unwrap_or_else(|| self.clone())
    }

    /// Kernel and range that run a launch with these arguments, if it takes the second form.
    pub(crate) fn divided_launch(
        &self,
        args: &[LaunchArgument<'_>],
        range: &NdRange,
    ) -> Option<(PreparedKernel, NdRange)> {
        let range = self.program().divided(self)?.divide(args, range)?;
        Some((self.second_form()?, range))
    }
}
