//! Launches of one dimension that run as launches of several: of kernels that divide their index.
//!
//! Such a kernel has a second form, which has the quotient as a dimension ([`divided_index`]), and a bounded one for launches whose last row is
//! not whole. These are kernels of their own, with codes and choices of their own.

use crate::kernel_facts::{KernelFacts, functions_that};
use crate::launch::LaunchArgument;
use crate::program::PreparedKernel;
use crate::range::NdRange;
use heddle_ir::Module;
use heddle_transform::kernels::{
    DividedIndex, IndexExtent, MOST_ITERATIONS, SHORTEST_ROW, SMALL_LAUNCH, divided_index, observes_launch,
};

/// Minimum number of work-items for each idle one in the last row.
const FEWEST_FOR_IDLE: u64 = 8;

/// Kernel of several dimensions for launches of another one.
#[derive(Clone, Debug)]
pub(crate) struct DividedKernel {
    /// Number of the kernel; the next one is bounded.
    number: usize,
    /// Extents from dimension 0 on.
    extents: Vec<IndexExtent>,
    /// Minimum of work-items, if loops over the grid are to run once.
    limits: Vec<IndexExtent>,
    /// Number from which on work-items do nothing.
    bound: Option<IndexExtent>,
}

/// Launch that is divided into dimensions.
pub(crate) struct DividedLaunch {
    pub(crate) kernel: PreparedKernel,
    pub(crate) range: NdRange,
    /// Number of work-items, which is the last argument, if the kernel is bounded.
    pub(crate) bound: Option<u64>,
}

/// Adds the second forms of kernels to their module, after all others. Returns them by the numbers of the kernels.
pub(crate) fn add_divided_kernels(
    module: &mut Module,
    kernels: &[KernelFacts],
) -> Vec<Option<DividedKernel>> {
    let observers = functions_that(module, |func, inst| observes_launch(func.inst(inst)));
    let divide = |facts: &KernelFacts| {
        let is_free = facts.required_local.is_none() && facts.required_lanes.is_none() && !facts.polls;
        let func = module.functions.iter().find(|func| func.name == facts.name).filter(|_| is_free)?;
        divided_index(func, &format!("{}.divided", func.name), |name| observers.contains_key(name))
    };
    let divided: Vec<Option<DividedIndex>> = kernels.iter().map(divide).collect();
    let mut number = kernels.len();
    let add = |divided: Option<DividedIndex>| {
        let DividedIndex { kernel, bounded, extents, limits, bound } = divided?;
        module.functions.extend([kernel, bounded]);
        number += 2;
        Some(DividedKernel { number: number - 2, extents, limits, bound })
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
    /// Divides the range of a launch with these arguments, and returns its work-items if the last row is not whole; none if rows are
    /// short, or many work-items would be idle.
    fn divide(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> Option<(NdRange, Option<u64>)> {
        let [items, 1, 1] = range.global() else { return None };
        if !range.has_no_offset() {
            return None;
        }
        let parameter = |parameter: u32| integer(args.get(parameter as usize)?);
        let is_reached = |limit: &IndexExtent| limit.value(parameter).is_some_and(|it| it <= items);
        let runs_once = self.limits.iter().all(is_reached) && items < MOST_ITERATIONS;
        if !self.limits.is_empty() && !runs_once {
            return None;
        }
        let items = match &self.bound {
            Some(bound) => items.min(bound.value(parameter)?),
            None => items,
        };
        let mut extents: Vec<u64> =
            self.extents.iter().map(|extent| extent.value(parameter)).collect::<Option<_>>()?;
        let whole = extents.iter().try_fold(1u64, |product, &width| product.checked_mul(width))?;
        if extents[0] < SHORTEST_ROW {
            return None;
        }
        let last = items.div_ceil(whole);
        let all = last.checked_mul(whole).filter(|&all| all < SMALL_LAUNCH)?;
        extents.push(last);
        let pays = items > 0 && (all - items).saturating_mul(FEWEST_FOR_IDLE) <= items;
        pays.then(|| Some((NdRange::new(&extents).ok()?, (all != items).then_some(items))))?
    }
}

impl PreparedKernel {
    /// Its second form, for launches whose rows are whole.
    pub(crate) fn second_form(&self) -> Option<PreparedKernel> {
        self.program().divided(self).map(|divided| self.program().numbered(divided.number))
    }

    /// Its second forms.
    pub(crate) fn second_forms(&self) -> Vec<PreparedKernel> {
        let numbers = self.program().divided(self).map(|divided| [divided.number, divided.number + 1]);
        numbers.into_iter().flatten().map(|number| self.program().numbered(number)).collect()
    }

    /// Form of most launches.
    pub(crate) fn usual_form(&self) -> PreparedKernel {
        self.second_form().unwrap_or_else(|| self.clone())
    }

    /// Kernel and range of a launch with these arguments, if it takes a second form.
    pub(crate) fn divided_launch(
        &self,
        args: &[LaunchArgument<'_>],
        range: &NdRange,
    ) -> Option<DividedLaunch> {
        let divided = self.program().divided(self)?;
        let (range, bound) = divided.divide(args, range)?;
        let kernel = self.program().numbered(divided.number + usize::from(bound.is_some()));
        Some(DividedLaunch { kernel, range, bound })
    }
}
