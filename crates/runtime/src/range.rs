//! The work-items of a launch, and how they lie in work-groups.

use crate::launch::CHUNK;
use heddle_transform::AxisOrder;
pub use heddle_transform::kernels::MAX_WORK_ITEMS;
use heddle_transform::kernels::{GROUP_DESCRIPTOR_WORDS, GroupDescriptorField, SMALL_LAUNCH};
use thiserror::Error;

/// The work-items of a launch: up to three dimensions, an offset, and the size of a work-group, which may be left open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdRange {
    dimensions: u8,
    offset: [u64; 3],
    global: [u64; 3],
    local: Option<[u32; 3]>,
}

/// Why there is no such range.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RangeError {
    /// There are 1 to 3 dimensions.
    #[error("a launch has 1 to 3 dimensions, not {0}")]
    Dimensions(usize),
    /// Offset or group size has another number of dimensions than the range.
    #[error("{what} has {found} numbers for {expected} dimensions")]
    Numbers {
        /// The offset, or the size of work-groups.
        what: &'static str,
        /// Actual number of arguments.
        found: usize,
        /// Number of dimensions of the range.
        expected: usize,
    },
    /// A work-group has work-items.
    #[error(
        "work-group size {size} along dimension {dimension}: a work-group has 1 to {MAX_WORK_ITEMS} work-items"
    )]
    Local {
        /// Along this dimension.
        dimension: usize,
        /// The size.
        size: u64,
    },
    /// Global indices are numbers of 64 bits.
    #[error("offset plus size along dimension {0} exceeds 2^63")]
    Global(usize),
}

impl NdRange {
    /// So many work-items along each dimension.
    pub fn new(global: &[u64]) -> Result<NdRange, RangeError> {
        if !(1..=3).contains(&global.len()) {
            return Err(RangeError::Dimensions(global.len()));
        }
        let mut range =
            NdRange { dimensions: global.len() as u8, offset: [0; 3], global: [1; 3], local: None };
        range.global[..global.len()].copy_from_slice(global);
        range.checked()
    }

    /// Returns the range with the least global index along each dimension.
    pub fn with_offset(mut self, offset: &[u64]) -> Result<NdRange, RangeError> {
        self.fits("the offset", offset.len())?;
        self.offset[..offset.len()].copy_from_slice(offset);
        self.checked()
    }

    /// Returns the range in work-groups of this size. Those at the end of a dimension may be smaller.
    pub fn with_local(mut self, local: &[u64]) -> Result<NdRange, RangeError> {
        self.fits("the size of a work-group", local.len())?;
        let (mut sizes, mut items) = ([1; 3], 1u64);
        for (dimension, &size) in local.iter().enumerate() {
            items = items.saturating_mul(size);
            if size == 0 || items > MAX_WORK_ITEMS {
                return Err(RangeError::Local { dimension, size });
            }
            sizes[dimension] = size as u32;
        }
        self.local = Some(sizes);
        Ok(self)
    }

    fn fits(&self, what: &'static str, found: usize) -> Result<(), RangeError> {
        let expected = self.dimensions.into();
        if found == expected { Ok(()) } else { Err(RangeError::Numbers { what, found, expected }) }
    }

    fn checked(self) -> Result<NdRange, RangeError> {
        let ends = |along: &usize| {
            self.offset[*along].checked_add(self.global[*along]).is_none_or(|end| end >> 63 != 0)
        };
        (0..3).find(ends).map_or(Ok(self), |along| Err(RangeError::Global(along)))
    }

    /// Size of a work-group, if the launch gives it.
    pub fn local(&self) -> Option<[u32; 3]> {
        self.local
    }

    /// The number of work-items along each dimension.
    pub fn global(&self) -> [u64; 3] {
        self.global
    }

    /// Minimum of the indices along each dimension.
    pub(crate) fn offset(&self) -> [u64; 3] {
        self.offset
    }

    /// True if indices begin with 0.
    pub(crate) fn has_no_offset(&self) -> bool {
        self.offset == [0; 3]
    }

    /// The number of work-items.
    pub(crate) fn items(&self) -> u64 {
        self.global.iter().fold(1, |items: u64, &size| items.saturating_mul(size))
    }

    /// True if all sizes and indices are below [`SMALL_LAUNCH`].
    pub(crate) fn is_small(&self) -> bool {
        (0..3).all(|along| self.offset[along] + self.global[along] < SMALL_LAUNCH)
    }

    /// The range in work-groups of this size, whose innermost dimension is that of `axes`.
    pub(crate) fn groups(&self, local: [u32; 3], axes: AxisOrder) -> Groups {
        let local = local.map(u64::from);
        let counts = [0, 1, 2].map(|along| self.global[along].div_ceil(local[along]));
        Groups { range: *self, local, counts, axes }
    }

    /// The range with its dimensions in the order of `axes`.
    fn along(&self, axes: AxisOrder) -> NdRange {
        let local = self.local.map(|local| axes.to_axes(local));
        NdRange { dimensions: 3, offset: axes.to_axes(self.offset), global: axes.to_axes(self.global), local }
    }
}

/// A range cut into work-groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    range: NdRange,
    local: [u64; 3],
    counts: [u64; 3],
    axes: AxisOrder,
}

impl Groups {
    /// Number of groups; none if it exceeds 64 bits.
    pub(crate) fn count(&self) -> Option<u64> {
        self.counts.iter().try_fold(1u64, |product, &count| product.checked_mul(count))
    }

    /// Writes down what is the same for all groups.
    pub(crate) fn place_all(&self, words: &mut [u64; GROUP_DESCRIPTOR_WORDS]) {
        let mut set = |field: GroupDescriptorField, word| words[field.word()] = word;
        for along in 0..3u8 {
            let at = usize::from(along);
            set(GroupDescriptorField::NumGroups(along), self.counts[at]);
            set(GroupDescriptorField::EnqueuedSize(along), self.local[at]);
            set(GroupDescriptorField::GlobalSize(along), self.range.global[at]);
            set(GroupDescriptorField::GlobalOffset(along), self.range.offset[at]);
        }
        set(GroupDescriptorField::WorkDim, self.range.dimensions.into());
    }

    /// Index of a group along each dimension. The innermost axis is counted fastest, so that a thread walks memory in order.
    pub(crate) fn index(&self, number: u64) -> [u64; 3] {
        let [x, y, _] = self.axes.to_axes(self.counts);
        self.axes.to_dimensions([number % x, number / x % y, number / x / y])
    }

    /// Moves on to the next group.
    pub(crate) fn advance(&self, index: &mut [u64; 3]) {
        for dimension in self.axes.to_axes([0, 1, 2]) {
            index[dimension] += 1;
            if index[dimension] < self.counts[dimension] {
                return;
            }
            index[dimension] = 0;
        }
    }

    /// Writes down where a group is.
    pub(crate) fn place(&self, index: &[u64; 3], words: &mut [u64; GROUP_DESCRIPTOR_WORDS]) {
        let mut set = |field: GroupDescriptorField, word| words[field.word()] = word;
        for (along, &group) in (0u8..).zip(index) {
            let at = usize::from(along);
            let first = group * self.local[at];
            set(GroupDescriptorField::GroupId(along), group);
            set(GroupDescriptorField::LocalSize(along), self.local[at].min(self.range.global[at] - first));
            set(GroupDescriptorField::FirstId(along), self.range.offset[at] + first);
        }
    }

    /// The number of work-items.
    pub(crate) fn items(&self) -> u64 {
        self.range.items()
    }

    /// The size of a group.
    pub(crate) fn local(&self) -> [u64; 3] {
        self.local
    }

    /// True if all groups have the same size.
    pub(crate) fn is_uniform(&self) -> bool {
        (0..3).all(|along| self.range.global[along].is_multiple_of(self.local[along]))
    }
}

/// Form of the groups of a launch that leaves their size open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupForm {
    /// All of the same size: the kernel sees them.
    Seen,
    /// Long rows, unless threads or tiles need shorter ones.
    Rows,
    /// Short rows, for work-items that access columns along the second axis. A row's columns are as many cache lines, which should stay in
    /// the first-level cache from one row to the next: where their distance is a power of two, it has room for few.
    Columns,
}

/// Width and height of groups of [`GroupForm::Columns`].
const COLUMNS: [u32; 2] = [16, 64];

impl GroupForm {
    /// Extents of groups in a range that is large along both axes.
    pub(crate) fn usual_extents(self) -> [u32; 2] {
        match self {
            GroupForm::Seen | GroupForm::Rows => [1 << 10, 1],
            GroupForm::Columns => COLUMNS,
        }
    }
}

/// Returns the size of work-groups for a launch that leaves it open.
pub(crate) fn choose_local(range: &NdRange, axes: AxisOrder, lanes: u32, form: GroupForm) -> [u32; 3] {
    let along = range.along(axes);
    axes.to_dimensions(match form {
        GroupForm::Seen => choose_rows(&along, lanes, true),
        GroupForm::Rows => choose_rows(&along, lanes, false),
        GroupForm::Columns => choose_columns(&along),
    })
}

/// [`choose_local`] for columns, in the order of axes. A group in a range that is short along one axis is longer along the other one.
fn choose_columns(range: &NdRange) -> [u32; 3] {
    let [width, height, _] = range.global.map(|size| size.max(1));
    let [columns, rows] = COLUMNS.map(u64::from);
    let [row, column] = [columns.max(columns * rows / height), rows.max(columns * rows / width)];
    [row.min(width) as u32, column.min(height) as u32, 1]
}

/// [`choose_local`] for rows, in the order of axes.
fn choose_rows(range: &NdRange, lanes: u32, sees_groups: bool) -> [u32; 3] {
    let [width, height, _] = range.global.map(|size| size.max(1));
    const WANTED: u64 = 1024;
    if !sees_groups {
        let row = width.min(WANTED);
        return [row as u32, height.min(WANTED / row) as u32, 1];
    }
    // The divisor that wastes the fewest lanes, of those the largest; then as many rows as there is room for.
    let lanes = u64::from(lanes.max(1));
    let used = |size: u64| size * 1024 / size.next_multiple_of(lanes);
    let divisors = |size: u64, most: u64| (1..=most.min(size)).filter(move |it| size.is_multiple_of(*it));
    let row = divisors(width, WANTED).max_by_key(|&size| (used(size), size)).unwrap_or(1);
    let rows = divisors(height, WANTED / row).max().unwrap_or(1);
    [row as u32, rows as u32, 1]
}

/// The most rows of a brush that is a tile.
pub(crate) const TILE_ROWS: u64 = 4;
/// Minimum nanoseconds of a work-item that is not bound by memory.
const BUSY: f64 = 1.0;

/// Groups of a launch whose kernel does not see them, by how many nanoseconds a work-item takes, if that is known. Rows are long where
/// memory may be what counts, else they leave room for brushes that are tiles. Groups are small enough that each of some threads has
/// several that are worth beginning, but have as many work-items as there are lanes. Work-items of unknown time may take long, so all
/// threads get some.
pub(crate) fn share_groups(
    local: [u32; 3],
    range: &NdRange,
    axes: AxisOrder,
    threads: u64,
    pace: Option<f64>,
    lanes: Option<u32>,
    form: GroupForm,
) -> [u32; 3] {
    const GROUPS: u64 = 16;
    const LEAST: u64 = 32;
    // As long as codes are tried, more lanes do not pay where there are so few work-items for each thread.
    let least = lanes.map_or(LEAST, u64::from);
    // Where few lanes are best, work-items differ much.
    let groups = if least < LEAST / 2 { 4 * GROUPS } else { GROUPS };
    let (local, range) = (axes.to_axes(local), range.along(axes));
    let [width, height, _] = local.map(u64::from);
    let items: u64 = local.iter().map(|&size| u64::from(size)).product();
    let has_columns = form == GroupForm::Columns;
    let rows = if pace.is_some_and(|pace| pace >= BUSY) && !has_columns {
        range.global[1].clamp(1, TILE_ROWS).max(height)
    } else {
        height
    };
    let width = (width * height / rows).clamp(1, width);
    let enough = range.items() / threads.saturating_mul(groups).max(1);
    let worth_beginning = pace.map_or(0, |pace| (CHUNK / pace.max(0.001)) as u64);
    let wanted = enough.max(worth_beginning).max(least);
    if threads == 1 || wanted >= items {
        return axes.to_dimensions([width as u32, rows as u32, local[2]]);
    }
    if has_columns {
        let rows = wanted.div_ceil(width).max(COLUMNS[0].into()).min(height);
        return axes.to_dimensions([width as u32, rows as u32, local[2]]);
    }
    let tile = rows.min(TILE_ROWS);
    let step = if tile == 1 { least } else { least.div_ceil(2) };
    let row = width.min((wanted / tile).next_multiple_of(step));
    axes.to_dimensions([row as u32, rows.min((wanted / row).max(tile)) as u32, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: AxisOrder = AxisOrder::WORK_ITEMS;

    /// The orders of axes whose innermost dimension is 1 and 2.
    fn columns_and_planes() -> [AxisOrder; 2] {
        [1, 2].map(|dimension| {
            let axes = AxisOrder::ALL.into_iter().find(|axes| axes.dimension(0) == dimension);
            axes.expect("each dimension is innermost in some order")
        })
    }

    #[test]
    fn open_groups_are_long_along_the_innermost_axis() {
        let range = NdRange::new(&[300, 4096, 64]).expect("a range");
        let [columns, planes] = columns_and_planes();
        assert_eq!(choose_local(&range, columns, 16, GroupForm::Rows), [1, 1024, 1]);
        assert_eq!(choose_local(&range, planes, 16, GroupForm::Rows), [1, 16, 64]);
        assert_eq!(share_groups([1, 1024, 1], &range, columns, 2, Some(90.0), None, GroupForm::Rows)[1], 256);
    }

    #[test]
    fn groups_with_columns_are_short_rows() {
        let [columns, _] = columns_and_planes();
        let chosen = |global: [u64; 2]| {
            choose_local(&NdRange::new(&global).expect("a range"), ROWS, 16, GroupForm::Columns)
        };
        assert_eq!(chosen([512, 512]), [16, 64, 1]);
        assert_eq!((chosen([4, 512]), chosen([512, 4])), ([4, 256, 1], [256, 4, 1]));
        let range = NdRange::new(&[512, 512]).expect("a range");
        assert_eq!(choose_local(&range, columns, 16, GroupForm::Columns), [64, 16, 1]);
        let shared =
            |threads| share_groups([16, 64, 1], &range, ROWS, threads, Some(500.0), None, GroupForm::Columns);
        assert_eq!((shared(1), shared(2), shared(1000)), ([16, 64, 1], [16, 64, 1], [16, 16, 1]));
    }

    #[test]
    fn groups_are_walked_along_the_innermost_axis() {
        let range = NdRange::new(&[4, 6, 2]).expect("a range");
        for axes in AxisOrder::ALL {
            let groups = range.groups([2, 2, 1], axes);
            let mut index = groups.index(0);
            for number in 0..groups.count().expect("a few") {
                assert_eq!(index, groups.index(number), "{axes:?}");
                groups.advance(&mut index);
            }
            assert_eq!(groups.index(1)[usize::from(axes.dimension(0))], 1);
        }
    }

    #[test]
    fn threads_find_groups() {
        let share = |global: &[u64], threads, pace| {
            let range = NdRange::new(global).expect("a range");
            share_groups(
                choose_local(&range, ROWS, 16, GroupForm::Rows),
                &range,
                ROWS,
                threads,
                Some(pace),
                None,
                GroupForm::Rows,
            )
        };
        assert_eq!(share(&[704], 1, 1600.0), [704, 1, 1]);
        let range = NdRange::new(&[1024]).expect("a range");
        let unknown = share_groups([1024, 1, 1], &range, ROWS, 2, None, Some(16), GroupForm::Rows);
        assert_eq!(unknown, [32, 1, 1], "work-items of unknown time are shared");
        assert_eq!(share(&[704], 2, 1600.0), [32, 1, 1]);
        assert_eq!(share(&[704], 2, 1.0), [704, 1, 1]);
        let range = NdRange::new(&[704]).expect("a range");
        let settled =
            |lanes| share_groups([704, 1, 1], &range, ROWS, 2, Some(1600.0), Some(lanes), GroupForm::Rows);
        assert_eq!([1, 16, 64].map(settled), [[5, 1, 1], [32, 1, 1], [64, 1, 1]]);
        assert_eq!(share(&[4096], 2, 90.0), [128, 1, 1]);
        assert_eq!(share(&[1 << 20], 2, 90.0), [1024, 1, 1]);
        assert_eq!(share(&[128, 32], 2, 90.0), [32, 4, 1]);
        assert_eq!(share(&[2048, 2048], 2, 90.0), [256, 4, 1]);
        assert_eq!(share(&[2048, 2048], 1, 90.0), [256, 4, 1]);
        assert_eq!(share(&[2048, 2048], 2, 0.2), [1024, 1, 1]);
        assert_eq!(share(&[2048, 2], 2, 90.0), [64, 2, 1]);
        assert_eq!(share(&[64, 64], 16, 1000.0), [16, 4, 1]);
        assert_eq!(share(&[8, 512], 2, 90.0), [8, 16, 1]);
        assert_eq!(share(&[1, 1], 2, 0.0), [1, 1, 1]);
    }

    #[test]
    fn open_groups_fill_brushes_and_divide_the_launch() {
        let chosen =
            |global: &[u64], sees| choose_local(&NdRange::new(global).expect("a range"), ROWS, 16, sees);
        assert_eq!(chosen(&[4096], GroupForm::Seen), [1024, 1, 1]);
        assert_eq!(chosen(&[48], GroupForm::Seen), [48, 1, 1]);
        assert_eq!(chosen(&[7], GroupForm::Seen), [7, 1, 1]);
        assert_eq!(chosen(&[1, 4096], GroupForm::Seen), [1, 1024, 1]);
        assert_eq!(chosen(&[1000, 3], GroupForm::Seen), [1000, 1, 1]);
        assert_eq!(chosen(&[5000, 3], GroupForm::Rows), [1024, 1, 1]);
        assert_eq!(chosen(&[8, 100_000], GroupForm::Rows), [8, 128, 1]);
        assert_eq!(chosen(&[0, 0], GroupForm::Rows), [1, 1, 1]);
    }
}
