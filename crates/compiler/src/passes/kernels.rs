//! The pass `kernels`.

use super::{Pass, PassInfo};
use crate::context::PassContext;
use crate::option_words::{OptionWord, describe, flag, parse_options, store, word};
use crate::options::{BrushExtents, invalid_option, parse_versions};
use heddle_ir::verify::Stage;
use heddle_ir::{Diagnostic, Module};
use heddle_transform::widen::RemarkKind;
use heddle_transform::{
    AxisOrder, GroupExecution, KernelOptions, KnownStrides, Remark, VersioningPolicy, WorkItemLayout, lower_kernels,
};

pub(super) const INFO: PassInfo = PassInfo {
    name: "kernels",
    doc: "sequential code for one work-group in place of each kernel",
    requires: Stage::Source,
    ensures: None,
    options: || describe(OPTIONS),
    parse: |words| {
        let (brush, words) = words.split_once('+').unwrap_or((words, ""));
        let brush = brush.parse::<BrushExtents>()?.extents().into();
        let versions = VersioningPolicy::Model;
        let options = KernelOptions { is_small: false, versions, ..KernelOptions::rows(brush) };
        Ok(Pass::Kernels(parse_options(OPTIONS, words, options)?))
    },
};

const OPTIONS: &[OptionWord<KernelOptions>] = &[
    word("BRUSH", "lanes of a brush, first: `8`, or `8x2`", |_, word| Err(invalid_option(word, "write the brush first: `kernels:8+linear`"))),
    flag("rows", "lanes along the rows of the group (default)", |options| options.layout = WorkItemLayout::Rows),
    flag("linear", "lanes along the linear order of the group", |options| options.layout = WorkItemLayout::Linear),
    flag("small", "all numbers of a launch are below 2^31 - 2^22", |options| options.is_small = true),
    flag("mixed", "scattered code between barriers runs one work-item after the other", |options| options.execution = GroupExecution::Mixed),
    flag("refill", "lane refill", |options| options.execution = GroupExecution::LaneRefill),
    flag("distinct", "the pointers of a launch lead to different objects", |options| options.promises.distinct_pointers = true),
    flag("dense", "strides among the arguments of a launch are those of dense arrays", |options| options.promises.strides = KnownStrides::DENSE),
    flag("bounded", "no index of a launch wraps around, as far as extents and arguments tell for most launches", |options| options.promises.bounded_indices = true),
    flag("single", "groups of one work-item, several of which run as one", |options| options.single_item_groups = true),
    word("versions=POLICY", "region versions wherever possible (`force`), or nowhere (`none`)", |options, word| store(&mut options.versions, parse_versions(word))),
    word("axes=ORDER", "work-item dimensions along the axes of a brush, innermost first: `102`", |options, word| store(&mut options.axes, parse_axes(word))),
];

pub(super) fn run(options: &KernelOptions, module: &mut Module, context: &mut PassContext<'_>) -> Result<(), Diagnostic> {
    let diagnostics = lower_kernels(module, options)?.into_iter().flat_map(|group| group.remarks);
    let remark = |diagnostic: Diagnostic| Remark {
        kind: RemarkKind::Versioned,
        accesses: 1,
        diagnostic: diagnostic.in_module(module),
    };
    context.remarks.extend(diagnostics.map(remark));
    Ok(())
}

fn parse_axes(dimensions: &str) -> Result<AxisOrder, Diagnostic> {
    let name = |axes: &AxisOrder| axes.to_axes(["0", "1", "2"]).concat();
    let found = AxisOrder::ALL.into_iter().find(|axes| name(axes) == dimensions);
    found.ok_or_else(|| invalid_option(dimensions, "write the three dimensions, innermost first: `axes=102`"))
}
