//! Second forms of kernels, for launches in which fewer conditions are checked ([`launch_form`]).
//!
//! A kernel that divides its index has a form of several dimensions, and a bounded one for launches whose last row is not whole; one with guards
//! has a form for launches that end at them, and one that is a loop over the grid a form for launches with a work-item for each iteration. These
//! are kernels of their own, with codes and choices of their own.

use crate::kernel_facts::{KernelFacts, functions_that};
use crate::launch::LaunchArgument;
use crate::memory::object;
use crate::program::PreparedKernel;
use crate::range::NdRange;
use heddle_ir::Module;
use heddle_transform::kernels::{
    IndependentIterations, IndexBounds, IndexExtent, LaunchForm, MOST_ITERATIONS, SHORTEST_ROW, SMALL_LAUNCH,
    launch_form, observes_launch,
};
use std::fmt;
use std::ops::Range;

/// Minimum number of work-items for each idle one in the last row.
const FEWEST_FOR_IDLE: u64 = 8;

/// Short rows of a multiple of so many work-items leave no lanes without work.
const WHOLE_ROW: u64 = 16;

/// Kernel for some launches of another one.
#[derive(Clone, Debug)]
pub(crate) struct SecondForm {
    /// Number of the kernel.
    number: usize,
    /// Number of the bounded kernel, if it divides the index.
    bounded: Option<usize>,
    /// Extents from dimension 0 on, if it divides the index.
    extents: Vec<IndexExtent>,
    /// Minimum of work-items, if loops over the grid are to run once.
    limits: Vec<IndexExtent>,
    /// Iterations that may be work-items of their own, if there are fewer.
    iterations: Option<IndependentIterations>,
    /// Numbers by dimension from which on work-items do nothing.
    bounds: IndexBounds,
}

/// Launch of a second form.
pub(crate) struct SecondLaunch {
    pub(crate) kernel: PreparedKernel,
    pub(crate) range: NdRange,
    /// Number of work-items, which is the last argument, if the kernel is bounded.
    pub(crate) bound: Option<u64>,
}

/// Adds the second forms of kernels to their module, after all others. Returns them by the numbers of the kernels.
pub(crate) fn add_second_forms(module: &mut Module, kernels: &[KernelFacts]) -> Vec<Option<SecondForm>> {
    let observers = functions_that(module, |func, inst| observes_launch(func.inst(inst)));
    let form = |facts: &KernelFacts| {
        let is_free = facts.required_lanes.is_none() && !facts.polls;
        let func = module.functions.iter().find(|func| func.name == facts.name).filter(|_| is_free)?;
        // Groups of the size that the source demands stay groups of it.
        let keeps_groups = |form: &LaunchForm| form.extents.is_empty() && form.iterations.is_none();
        let fits = |form: &LaunchForm| keeps_groups(form) || facts.required_local.is_none();
        launch_form(func, |name| observers.contains_key(name)).filter(fits)
    };
    let forms: Vec<Option<LaunchForm>> = kernels.iter().map(form).collect();
    let mut next = kernels.len();
    let mut add = |func| {
        module.functions.push(func);
        next += 1;
        next - 1
    };
    let mut add_form = |form: LaunchForm| {
        let LaunchForm { kernel, bounded, extents, limits, iterations, bounds } = form;
        let number = add(kernel);
        SecondForm { number, bounded: bounded.map(&mut add), extents, limits, iterations, bounds }
    };
    forms.into_iter().map(|form| form.map(&mut add_form)).collect()
}

/// Value of an integer that is passed by its bytes.
pub(crate) fn integer(argument: &LaunchArgument<'_>) -> Option<u64> {
    match *argument {
        LaunchArgument::Bytes(bytes) => match bytes.len() {
            4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
            8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// Where the object lies that an argument leads to, if it is known; the null pointer leads to one without bytes.
pub(crate) fn object_of(argument: &LaunchArgument<'_>) -> Option<Range<u64>> {
    let address = match *argument {
        LaunchArgument::Memory(address, bytes) => {
            return Some(address as u64..(address as u64).saturating_add(bytes as u64));
        }
        LaunchArgument::Pointer(address) | LaunchArgument::Image(address, _) => address as u64,
        _ => integer(argument)?,
    };
    if address == 0 { Some(0..0) } else { object(address) }
}

impl SecondForm {
    /// Numbers of its kernels.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        [Some(self.number), self.bounded].into_iter().flatten()
    }

    /// Range of the launch that does what one with these arguments over this range does, and its work-items if the last row is not whole;
    /// none if the form does not do the same, rows are short, or many work-items would be idle.
    fn range(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> Option<(NdRange, Option<u64>)> {
        // Indices of 32 bits are those of 64.
        if !range.has_no_offset() || !range.is_small() || range.items() == 0 {
            return None;
        }
        let parameter = |parameter: u32| integer(args.get(parameter as usize)?);
        let mut global = range.global();
        let mut is_spread = false;
        if !self.limits.is_empty() {
            let ends = self.limits.iter().map(|limit| limit.value(parameter));
            let end = ends.reduce(|one, other| Some(one?.max(other?)))??;
            if global[1..] != [1, 1] || end.max(global[0]) >= MOST_ITERATIONS {
                return None;
            }
            is_spread = end > global[0];
            global[0] = end.max(global[0]);
        }
        for (items, bound) in global.iter_mut().zip(&self.bounds) {
            if let Some(bound) = bound {
                *items = (*items).min(bound.value(parameter)?);
            }
        }
        let holds = |extents: &[u64]| {
            let iterations = self.iterations.as_ref();
            let object = |parameter: u32| object_of(args.get(parameter as usize)?);
            !is_spread || iterations.is_some_and(|it| it.hold(extents, parameter, object))
        };
        if self.extents.is_empty() {
            let cut = NdRange::new(&global).ok()?;
            let cut = match range.local().filter(|_| !is_spread) {
                Some(local) => cut.with_local(&local.map(u64::from)).ok()?,
                None => cut,
            };
            return holds(&global).then_some((cut, None));
        }
        let [items, 1, 1] = global else { return None };
        let mut extents: Vec<u64> =
            self.extents.iter().map(|extent| extent.value(parameter)).collect::<Option<_>>()?;
        let whole = extents.iter().try_fold(1u64, |product, &width| product.checked_mul(width))?;
        if extents[0] < SHORTEST_ROW && !extents[0].is_multiple_of(WHOLE_ROW) {
            return None;
        }
        let last = items.div_ceil(whole);
        let all = last.checked_mul(whole).filter(|&all| all < SMALL_LAUNCH)?;
        extents.push(last);
        let pays = (all - items).saturating_mul(FEWEST_FOR_IDLE) <= items && holds(&extents);
        pays.then(|| Some((NdRange::new(&extents).ok()?, (all != items).then_some(items))))?
    }
}

/// Launches that take the form, for reports.
impl fmt::Display for SecondForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launches without offset")?;
        for limit in &self.limits {
            match &self.iterations {
                Some(_) => write!(f, ", with a work-item for each of {limit} iterations")?,
                None => write!(f, ", of {limit} work-items or more")?,
            }
        }
        for (dimension, bound) in self.bounds.iter().enumerate() {
            if let Some(bound) = bound {
                write!(f, ", cut at {bound} along dimension {dimension}")?;
            }
        }
        if !self.extents.is_empty() {
            let extents: Vec<String> = self.extents.iter().map(ToString::to_string).collect();
            write!(f, ", by {} work-items and what is left", extents.join(" by "))?;
        }
        Ok(())
    }
}

impl PreparedKernel {
    /// Its second form; for launches whose rows are whole if it divides the index.
    pub(crate) fn second_form(&self) -> Option<PreparedKernel> {
        self.program().second_form(self.number()).map(|form| self.program().numbered(form.number))
    }

    /// Its second forms: kernels of their own, which do the same in some launches.
    pub fn second_forms(&self) -> Vec<PreparedKernel> {
        let form = self.program().second_form(self.number());
        form.into_iter().flat_map(SecondForm::numbers).map(|number| self.program().numbered(number)).collect()
    }

    /// Launches that take a second form, if there is one.
    pub fn launches_of_second_form(&self) -> Option<String> {
        self.program().second_form(self.number()).map(ToString::to_string)
    }

    /// Form of most launches.
    pub(crate) fn usual_form(&self) -> PreparedKernel {
        self.second_form().unwrap_or_else(|| self.clone())
    }

    /// Kernel and range of a launch with these arguments, if it takes a second form.
    pub(crate) fn second_launch(&self, args: &[LaunchArgument<'_>], range: &NdRange) -> Option<SecondLaunch> {
        let form = self.program().second_form(self.number())?;
        let (range, bound) = form.range(args, range)?;
        let number = if bound.is_some() { form.bounded? } else { form.number };
        Some(SecondLaunch { kernel: self.program().numbered(number), range, bound })
    }
}
