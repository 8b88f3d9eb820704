//! Chooses how the lanes of brushes lie in work-groups of a size.
//!
//! A kernel that observes which work-items form a brush (sub-group functions) fixes the choice: brushes are of consecutive work-items in
//! the order of work-item ids, and all but the last one of a group are full. Other kernels take rows along the innermost axis, and
//! tiles of several rows where these are short.
//!
//! The size of groups becomes a constant only where no group at the end of the launch is smaller.

use super::{AxisOrder, WorkItemLayout};

/// Properties of a kernel and a launch that decide the layout of its groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayoutRequest {
    /// Size of a group along each dimension.
    pub local: [u32; 3],
    /// Order of axes, where the kernel does not fix it.
    pub axes: AxisOrder,
    /// Lanes of a brush.
    pub lanes: u32,
    /// True if the kernel may observe which work-items form a brush.
    pub observes_brush: bool,
    /// True if all groups of the launch have the same size.
    pub is_uniform: bool,
    /// Launches for which code for one size of groups is faster.
    pub gains_by_size: GainsBySize,
}

/// Layouts of brushes that gain if code is for one size of groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GainsBySize {
    /// Always.
    Always,
    /// Where a brush takes several rows of a group: their distance becomes a constant.
    ForSeveralRows,
    /// Never.
    Never,
}

/// Layout of the brushes of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupLayout {
    /// Layout of work-items in brushes.
    pub layout: WorkItemLayout,
    /// Work-item dimensions that the axes of a brush span.
    pub axes: AxisOrder,
    /// Lanes of a brush along each axis.
    pub brush: [u32; 3],
    /// Size of all groups, if the code is for no other.
    pub local: Option<[u32; 3]>,
}

/// Chooses the layout of the brushes of a group.
pub fn group_layout(request: &LayoutRequest) -> GroupLayout {
    let &LayoutRequest { local, axes, lanes, observes_brush, is_uniform, gains_by_size } = request;
    let axes = if observes_brush { AxisOrder::WORK_ITEMS } else { axes };
    let (layout, brush) = choose_brush(axes.to_axes(local), lanes, observes_brush, is_uniform);
    let has_rows = layout == WorkItemLayout::Linear || brush[1] * brush[2] > 1;
    let is_fixed = match gains_by_size {
        GainsBySize::Always => true,
        GainsBySize::ForSeveralRows => has_rows,
        GainsBySize::Never => false,
    };
    let local = (is_fixed && is_uniform).then_some(local);
    GroupLayout { layout, axes, brush, local }
}

/// Returns the layout of brushes in groups of this size, and their lanes along each axis; `local` has the order of axes.
fn choose_brush(
    local: [u32; 3],
    lanes: u32,
    observes_brush: bool,
    is_uniform: bool,
) -> (WorkItemLayout, [u32; 3]) {
    let is_row = local[1] == 1 && local[2] == 1;
    if observes_brush {
        // Brushes are of consecutive work-items, and all but the last one of a group are full.
        let goes_on = is_row || is_uniform && local[0].is_multiple_of(lanes);
        return (if goes_on { WorkItemLayout::Rows } else { WorkItemLayout::Linear }, [lanes, 1, 1]);
    }
    // Short rows lie side by side. A row that fills half of the lanes has none next to it: one contiguous access costs less than
    // two that are joined.
    let mut left = lanes;
    if local[0].saturating_mul(2) >= lanes {
        return (WorkItemLayout::Rows, [local[0].next_power_of_two().min(lanes), 1, 1]);
    }
    let brush = local.map(|size| {
        let extent = size.next_power_of_two().min(left).max(1);
        left /= extent;
        extent
    });
    (WorkItemLayout::Rows, brush)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brushes_take_lanes_from_several_rows() {
        let chosen = |local| choose_brush(local, 16, false, true);
        assert_eq!(chosen([64, 4, 1]), (WorkItemLayout::Rows, [16, 1, 1]));
        assert_eq!(chosen([20, 4, 1]), (WorkItemLayout::Rows, [16, 1, 1]));
        assert_eq!(chosen([8, 8, 1]), (WorkItemLayout::Rows, [8, 1, 1]));
        assert_eq!(chosen([9, 8, 1]), (WorkItemLayout::Rows, [16, 1, 1]));
        assert_eq!(chosen([4, 8, 1]), (WorkItemLayout::Rows, [4, 4, 1]));
        assert_eq!(chosen([8, 1, 1]), (WorkItemLayout::Rows, [8, 1, 1]));
        assert_eq!(chosen([3, 2, 9]), (WorkItemLayout::Rows, [4, 2, 2]));
        assert_eq!(chosen([4, 1, 4]), (WorkItemLayout::Rows, [4, 1, 4]));
        assert_eq!(chosen([1, 1, 1]), (WorkItemLayout::Rows, [1, 1, 1]));
        assert_eq!(choose_brush([8, 8, 1], 16, true, true), (WorkItemLayout::Linear, [16, 1, 1]));
        assert_eq!(choose_brush([32, 8, 1], 16, true, true), (WorkItemLayout::Rows, [16, 1, 1]));
        assert_eq!(choose_brush([20, 1, 1], 16, true, true), (WorkItemLayout::Rows, [16, 1, 1]));
        assert_eq!(choose_brush([20, 4, 1], 12, false, true), (WorkItemLayout::Rows, [12, 1, 1]));
        assert_eq!(choose_brush([2, 4, 1], 12, false, true), (WorkItemLayout::Rows, [2, 4, 1]));
    }

    #[test]
    fn sizes_are_constants_where_all_groups_have_them() {
        let request = LayoutRequest {
            local: [4, 8, 1],
            axes: AxisOrder::ALL[2],
            lanes: 16,
            observes_brush: false,
            is_uniform: true,
            gains_by_size: GainsBySize::ForSeveralRows,
        };
        let fixed = |request| group_layout(&request).local.is_some();
        // Rows along dimension 1 fill half of the lanes.
        assert!(!fixed(request));
        assert!(fixed(LayoutRequest { axes: AxisOrder::WORK_ITEMS, ..request }));
        assert!(!fixed(LayoutRequest { axes: AxisOrder::WORK_ITEMS, is_uniform: false, ..request }));
        assert!(fixed(LayoutRequest { gains_by_size: GainsBySize::Always, ..request }));
        assert!(fixed(LayoutRequest { observes_brush: true, ..request }));
    }
}
