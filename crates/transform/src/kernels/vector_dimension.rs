//! Chooses the work-item dimension that the lanes of a brush span.
//!
//! Neighbouring work-items along one dimension access neighbouring elements; the source's indexing decides along which:
//! `a[r * n + c]` is contiguous along the dimension of `c`. A brush along another dimension gathers and scatters.
//!
//! The choice compares the costs of accesses and branches with the brush along each dimension. Each case has an analysis of its
//! own, since `r * n + c` with an unknown `n` is strided along a single dimension only. Accesses that cost as much along both dimensions
//! do not count: where a filter gathers along each of them, the dimension of its contiguous store decides.
//!
//! Where some accesses are contiguous along the chosen dimension and others along another one (a transposition), that one is the second
//! axis: a launch runs short rows below each other, so that the cache holds the lines of the others. Otherwise the second axis is the
//! dimension along which more loads are uniform: the rows of a tile share them (a row of a matrix, for several rows of the product).
//!
//! The choice affects speed only: any order is correct. So the estimate may assume that index arithmetic does not wrap,
//! and that the lanes of a brush are in one block of a remainder.

use super::{KernelOptions, extensions, inline, insts_of, launch_params, observes_lanes};
use heddle_analysis::shape::Geometry;
use heddle_analysis::{ControlTables, InitialShapes, divergence};
use heddle_ir::inst::Detail;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Function, Module, Op, Space, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::fmt;

/// Work-item dimensions that the dimensions of a brush span, innermost first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AxisOrder([u8; 3]);

impl Default for AxisOrder {
    fn default() -> AxisOrder {
        AxisOrder::WORK_ITEMS
    }
}

impl AxisOrder {
    /// The order of work-item ids: dimension 0 is innermost.
    pub const WORK_ITEMS: AxisOrder = AxisOrder([0, 1, 2]);

    /// All orders, by their innermost dimension.
    pub const ALL: [AxisOrder; 6] = [
        AxisOrder([0, 1, 2]),
        AxisOrder([0, 2, 1]),
        AxisOrder([1, 0, 2]),
        AxisOrder([1, 2, 0]),
        AxisOrder([2, 1, 0]),
        AxisOrder([2, 0, 1]),
    ];

    /// Returns the work-item dimension that an axis of the brush spans.
    pub fn dimension(self, axis: usize) -> u8 {
        self.0[axis]
    }

    /// Returns the axis of the brush that spans a work-item dimension.
    pub fn axis_of(self, dimension: u8) -> usize {
        self.0.iter().position(|&it| it == dimension).unwrap_or(0)
    }

    /// Reorders elements per work-item dimension to elements per axis.
    pub fn to_axes<T: Copy>(self, of_dimensions: [T; 3]) -> [T; 3] {
        self.0.map(|dimension| of_dimensions[usize::from(dimension)])
    }

    /// Reorders elements per axis to elements per work-item dimension.
    pub fn to_dimensions<T: Copy>(self, of_axes: [T; 3]) -> [T; 3] {
        [0, 1, 2].map(|dimension| of_axes[self.axis_of(dimension)])
    }
}

/// Chosen order of axes, with the estimated cost of a kernel for each dimension.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VectorDimension {
    /// The chosen order.
    pub axes: AxisOrder,
    /// Cost of the kernel's accesses and branches with lanes along each dimension; 0 where not estimated.
    pub costs: [u64; 3],
    /// Number of contiguous or uniform accesses along each dimension, and of all counted accesses.
    pub together: [(u32, u32); 3],
    /// True if accesses that are gathered along the first axis are contiguous along the second one.
    pub has_columns: bool,
}

impl fmt::Display for VectorDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen = usize::from(self.axes.dimension(0));
        let (together, all) = self.together[chosen];
        write!(f, "lanes along dimension {chosen}: {together} of {all} accesses are contiguous or uniform")?;
        if chosen != 0 {
            let (others, _) = self.together[0];
            write!(f, ", {others} along dimension 0")?;
        }
        write!(f, "; estimated cost {} instead of {}", self.costs[chosen], self.costs[0])
    }
}

/// Number of lanes for the estimate.
const LANES: u32 = 8;
/// Costs of accesses, in contiguous accesses of one vector.
const CONTIGUOUS: u64 = 1;
const GATHERED: u64 = 8;
const SCATTERED: u64 = 12;
/// Elements from lane to lane per additional unit of a strided access: the fields of a structure are loaded together.
const ELEMENTS_PER_UNIT: u64 = 2;
/// Cost of a divergent branch: both sides execute, predicated.
const DIVERGENT_BRANCH: u64 = 2;
/// Assumed trip count of a loop.
const ITERATIONS: u64 = 8;
const MAX_DEPTH: u32 = 6;
/// Maximum size of a kernel whose axes may be reordered.
const MAX_INSTRUCTIONS: usize = 20_000;

/// Chooses the order of axes of a kernel. Kernels that observe their brush, and those that index along dimension 0 only, keep the order
/// of work-item ids.
pub fn vector_dimension(module: &Module, kernel: &str) -> VectorDimension {
    let mut choice = VectorDimension::default();
    let Some(func) = module.function(kernel) else { return choice };
    let mut inlined = func.clone();
    let bound = inline::functions_to_inline(module);
    if inline::inline_calls(&mut inlined, module, &bound).is_err() {
        return choice;
    }
    let insts = insts_of(&inlined);
    let used = dimensions_used(&inlined);
    if used == [true, false, false] || insts.len() > MAX_INSTRUCTIONS || observes_lanes(&inlined) {
        return choice;
    }
    extensions::split_extensions(&mut inlined);
    assume_one_block(&mut inlined);
    assume_no_wrap(&mut inlined);
    let mut estimates: [DimensionEstimate; 3] = Default::default();
    for dimension in (0..3u8).filter(|&it| it == 0 || used[usize::from(it)]) {
        let Some(estimated) = estimate(&inlined, module, dimension) else {
            return VectorDimension::default();
        };
        choice.costs[usize::from(dimension)] = sum(estimated.costs.iter().copied());
        choice.together[usize::from(dimension)] = estimated.together;
        estimates[usize::from(dimension)] = estimated;
    }
    // Only a clear gain counts: group and tile sizes are tuned for dimension 0.
    let best = (1..3u8).filter(|&it| used[usize::from(it)]).min_by_key(|&it| choice.costs[usize::from(it)]);
    if let Some(best) = best
        && estimates[usize::from(best)].is_clearly_below(&estimates[0])
    {
        choice.axes = match best {
            1 => AxisOrder([1, 0, 2]),
            _ => AxisOrder([2, 1, 0]),
        };
    }
    let first = usize::from(choice.axes.dimension(0));
    let columns = (0..3).find(|&it| it != first && estimates[it].has_rows_of(&estimates[first]));
    choice.has_columns = columns.is_some();
    let [_, second, third] = choice.axes.0.map(usize::from);
    let shared = |it: usize| estimates[it].shared_loads(&estimates[first]);
    // Equal numbers keep the order of the dimensions.
    let second = columns.unwrap_or(if shared(third) > shared(second) { third } else { second });
    choice.axes = AxisOrder([first, second, 3 - first - second].map(|it| it as u8));
    choice
}

/// Neighbours of an access along a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Neighbours {
    Uniform,
    /// A store of all lanes to one address, where one lane counts, as under a condition.
    Overwritten,
    Contiguous,
    Near,
    Apart,
}

/// Costs of a kernel with lanes along a dimension.
#[derive(Default)]
struct DimensionEstimate {
    /// Costs of accesses and branches, in the kernel's order.
    costs: Vec<u64>,
    /// Number of contiguous or uniform accesses, and of all counted accesses.
    together: (u32, u32),
    /// Neighbours of each counted access.
    neighbours: Vec<Neighbours>,
}

impl DimensionEstimate {
    /// True if accesses that are apart along the other dimension are contiguous along this one.
    fn has_rows_of(&self, other: &DimensionEstimate) -> bool {
        let is_alike = self.neighbours.len() == other.neighbours.len();
        let mut pairs = self.neighbours.iter().zip(&other.neighbours);
        is_alike && pairs.any(|it| it == (&Neighbours::Contiguous, &Neighbours::Apart))
    }

    /// Number of loads that are uniform along this dimension, and not along the other one: rows of a tile share what they load.
    fn shared_loads(&self, other: &DimensionEstimate) -> usize {
        let is_alike = self.neighbours.len() == other.neighbours.len();
        let pairs = self.neighbours.iter().zip(&other.neighbours);
        let is_shared = |(own, of_other): &(&Neighbours, &Neighbours)| {
            **own == Neighbours::Uniform && **of_other != Neighbours::Uniform
        };
        if is_alike { pairs.filter(is_shared).count() } else { 0 }
    }

    /// True if the costs are below four fifths of the other ones, without what costs as much there.
    fn is_clearly_below(&self, other: &DimensionEstimate) -> bool {
        // Queries are lowered alike along each dimension, so the costs are of the same instructions.
        let is_alike = self.costs.len() == other.costs.len();
        let pairs = self.costs.iter().zip(&other.costs).filter(|(one, other)| !is_alike || one != other);
        let (own, others): (Vec<u64>, Vec<u64>) = pairs.unzip();
        sum(own.into_iter()).saturating_mul(5) < sum(others.into_iter()).saturating_mul(4)
    }
}

/// Saturating sum.
fn sum(costs: impl Iterator<Item = u64>) -> u64 {
    costs.fold(0, u64::saturating_add)
}

/// Returns the dimensions along which a kernel queries its index. Where it only queries that of its group, groups have one work-item along the
/// dimension, or several would do the same.
fn dimensions_used(func: &Function) -> [bool; 3] {
    let used_by = |is_query: fn(Op) -> bool| {
        let mut used = [false; 3];
        for inst in insts_of(func) {
            let data = func.inst(inst);
            if let Detail::Dimension(Some(along)) = data.detail
                && is_query(data.op)
            {
                used[usize::from(along.min(2))] = true;
            }
        }
        used
    };
    let by_items = used_by(|op| matches!(op, Op::GlobalId | Op::LocalId));
    // Groups of one work-item are merged: their index is that of the work-item.
    let used = if by_items == [false; 3] { used_by(|op| op == Op::GroupId) } else { by_items };
    [true, used[1], used[2]]
}

/// Replaces `x % n` and `x & (n - 1)` by `x` where n is two brushes or more, in a copy for the estimate: few brushes span a multiple of n.
fn assume_one_block(func: &mut Function) {
    let least = u128::from(2 * LANES);
    let mut replaced: FxHashMap<Value, Value> = FxHashMap::default();
    for inst in insts_of(func) {
        let data = func.inst(inst);
        let &[of, by] = &data.args[..] else { continue };
        let known = func.unsigned_constant(by);
        let is_replaced = match data.op {
            Op::Urem | Op::Srem => known.is_some_and(|by| by >= least),
            Op::And => known.is_some_and(|mask| mask & mask.wrapping_add(1) == 0 && mask >= least - 1),
            _ => false,
        };
        if let Some(result) = func.result(inst).filter(|_| is_replaced) {
            let of = replaced.get(&of).copied().unwrap_or(of);
            replaced.insert(result, of);
        }
    }
    if !replaced.is_empty() {
        func.map_values(|value| replaced.get(&value).copied().unwrap_or(value));
    }
}

/// Adds no-wrap flags to index arithmetic, in a copy for the estimate.
fn assume_no_wrap(func: &mut Function) {
    for inst in insts_of(func) {
        let data = func.inst_mut(inst);
        match data.op {
            Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::Trunc => {
                data.flags = Flags::of(&[Flag::Nuw, Flag::Nsw])
            }
            Op::Zext => data.flags = Flags::of(&[Flag::Nneg]),
            _ => {}
        }
    }
}

/// Estimates a kernel with lanes along a dimension. None for irreducible control flow.
fn estimate(kernel: &Function, module: &Module, dimension: u8) -> Option<DimensionEstimate> {
    let axes = *AxisOrder::ALL.iter().find(|axes| axes.dimension(0) == dimension)?;
    let options = KernelOptions { axes, ..KernelOptions::rows(smallvec![LANES]) };
    let mut func = kernel.clone();
    launch_params::lower_launch_queries(&mut func, module, &options);
    assume_no_wrap(&mut func);
    let control = ControlTables::new(&func);
    if !control.cycles.is_graph_reducible() {
        return None;
    }
    let facts = divergence(&func, &control, &InitialShapes::declared(&func, Geometry::brush(&options.brush)));
    let mut estimate = DimensionEstimate::default();
    for block in func.blocks() {
        let depth = (control.cycles.depth_of_block(block) as u32).min(MAX_DEPTH);
        let weight = ITERATIONS.pow(depth);
        let branch = if facts.is_divergent_branch(block) { DIVERGENT_BRANCH } else { 0 };
        estimate.costs.push(branch.saturating_mul(weight));
        for inst in func.block_insts(block) {
            let data = func.inst(inst);
            let (address, ty) = match (data.op, &data.args[..]) {
                (Op::Load, &[address]) => (address, func.value_type(func.result(inst)?)),
                (Op::Store, &[stored, address]) => (address, func.value_type(stored)),
                _ => continue,
            };
            if is_private(&func, address) {
                continue;
            }
            let step = facts.shape(address).strides().map(|strides| strides.along(0).unsigned_abs());
            let bytes = u64::from(ty.bytes()).max(1);
            let neighbours = match step {
                Some(0) if data.op == Op::Load => Neighbours::Uniform,
                Some(0) => Neighbours::Overwritten,
                Some(step @ 1..) if step <= bytes => Neighbours::Contiguous,
                Some(step @ 1..) if step / bytes / ELEMENTS_PER_UNIT < GATHERED => Neighbours::Near,
                _ => Neighbours::Apart,
            };
            let units = match (neighbours, step) {
                (Neighbours::Uniform | Neighbours::Contiguous, _) => CONTIGUOUS,
                (Neighbours::Near, Some(step)) => {
                    (CONTIGUOUS + step / bytes / ELEMENTS_PER_UNIT).min(GATHERED)
                }
                _ if data.op == Op::Store => SCATTERED,
                _ => GATHERED,
            };
            estimate.together.1 += 1;
            estimate.together.0 +=
                u32::from(matches!(neighbours, Neighbours::Uniform | Neighbours::Contiguous));
            estimate.neighbours.push(neighbours);
            estimate.costs.push(units.saturating_mul(weight));
        }
    }
    Some(estimate)
}

/// True if an address is in private memory: its layout follows the lanes.
fn is_private(func: &Function, address: Value) -> bool {
    func.value_type(address) == Type::ptr(Space::Private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::parse_module;

    /// A copy in rows of `n` elements: `row` and `column` are the dimensions of the indices. `further` stands before the return.
    fn copy(row: u8, column: u8, further: &str) -> Module {
        let text = format!(
            "kernel @k(v0: ptr(global), v1: ptr(global), v2: i32) {{
block0:
  v3 = global_id i32, {row}
  v4 = global_id i32, {column}
  v5 = mul v3, v2
  v6 = add v5, v4
  v7 = sext i64, v6
  v8 = shl v7, 2
  v9 = ptradd v1, v8
  v10 = load i32, v9
  v11 = ptradd v0, v8
{further}  store v10, v11
  ret
}}
"
        );
        parse_module(&text).unwrap_or_else(|error| panic!("{error:?}"))
    }

    fn innermost(module: &Module) -> u8 {
        vector_dimension(module, "k").axes.dimension(0)
    }

    #[test]
    fn lanes_span_the_contiguous_dimension() {
        assert_eq!(
            [(1, 0), (0, 1), (0, 2), (1, 2)].map(|(row, column)| innermost(&copy(row, column, ""))),
            [0, 1, 2, 2]
        );
        let choice = vector_dimension(&copy(0, 1, ""), "k");
        assert_eq!((choice.together[0], choice.together[1]), ((0, 2), (2, 2)));
        assert_eq!(
            choice.to_string(),
            "lanes along dimension 1: 2 of 2 accesses are contiguous or uniform, 0 along dimension 0; \
             estimated cost 2 instead of 20"
        );
    }

    #[test]
    fn remainders_of_more_than_a_brush_are_contiguous() {
        let with = |remainder: &str| {
            let column = format!("  v20 = add v4, 1\n  v21 = {remainder}\n  v6 = add v5, v21\n");
            let text = copy(0, 1, "").to_string().replace("  v6 = add v5, v4\n", &column);
            innermost(&parse_module(&text).unwrap_or_else(|error| panic!("{error:?}")))
        };
        assert_eq!(["and v20, 127", "urem v20, 100"].map(with), [1, 1]);
        assert_eq!(["and v20, 7", "urem v20, 5", "and v20, 120"].map(with), [0, 0, 0]);
    }

    #[test]
    fn observers_of_the_brush_keep_dimension_0() {
        assert_eq!(innermost(&copy(0, 1, "  v12 = reduce add v10\n")), 0);
        assert_eq!(innermost(&copy(0, 1, "  v12 = lane i32\n")), 0);
    }

    #[test]
    fn a_transpose_stores_rows() {
        // The load is contiguous along dimension 1 and the store along dimension 0: a scatter costs more than a gather.
        let store = "  v12 = mul v4, v2
  v13 = add v12, v3
  v14 = sext i64, v13
  v15 = shl v14, 2
  v16 = ptradd v0, v15
  store v10, v16
";
        let choice = |row, column| {
            let text = copy(row, column, store).to_string().replace("  store v10, v11\n", "");
            vector_dimension(&parse_module(&text).unwrap_or_else(|error| panic!("{error:?}")), "k")
        };
        // The axes are those of tiles.
        let found = [(0, 1), (1, 0), (0, 2), (2, 0)].map(|(row, column)| choice(row, column).axes);
        let axes = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 0, 1]];
        assert_eq!(found, axes.map(AxisOrder));
        assert!(choice(0, 1).has_columns && !vector_dimension(&copy(0, 1, ""), "k").has_columns);
    }

    #[test]
    fn rows_of_tiles_share_loads() {
        // `to[z][y][x] = from[z][x]`: rows along the dimension of y load the same elements, those along the dimension of z do not.
        let axes = |[x, y, z]: [u8; 3]| {
            let text = format!(
                "kernel @k(v0: ptr(global), v1: ptr(global), v2: i32) {{
block0:
  v3 = global_id i32, {x}
  v4 = global_id i32, {y}
  v5 = global_id i32, {z}
  v6 = mul v5, v2
  v7 = add v6, v3
  v8 = sext i64, v7
  v9 = shl v8, 2
  v10 = ptradd v1, v9
  v11 = load i32, v10
  v12 = add v6, v4
  v13 = mul v12, v2
  v14 = add v13, v3
  v15 = sext i64, v14
  v16 = shl v15, 2
  v17 = ptradd v0, v16
  store v11, v17
  ret
}}
"
            );
            let module = parse_module(&text).unwrap_or_else(|error| panic!("{error:?}"));
            vector_dimension(&module, "k").axes
        };
        for order in AxisOrder::ALL {
            assert_eq!(axes(order.0), order);
        }
    }

    #[test]
    fn one_store_per_row_makes_no_columns() {
        // Lanes along dimension 1 store to one address, lanes along dimension 0 to a row.
        let store = "  v12 = zext i64, v3
  v13 = shl v12, 2
  v14 = ptradd v0, v13
  store v10, v14
";
        let choice = vector_dimension(&copy(0, 1, store), "k");
        assert_eq!((choice.axes.dimension(0), choice.has_columns), (1, false), "{choice}");
    }

    #[test]
    fn what_costs_as_much_along_both_dimensions_does_not_count() {
        // Ten elements at addresses that are loaded: gathers along each dimension. The store alone is contiguous along dimension 1.
        let mut gathers = String::new();
        for at in 0..10 {
            let [index, offset, address, value] = [0, 1, 2, 3].map(|it| 20 + at * 4 + it);
            gathers += &format!(
                "  v{index} = mul v{}, v10\n  v{offset} = sext i64, v{index}\n  v{address} = ptradd v1, v{offset}\n  v{value} = load i32, v{address}\n",
                if at == 0 { 10 } else { index - 1 }
            );
        }
        let module = copy(0, 1, &gathers);
        let choice = vector_dimension(&module, "k");
        assert!(choice.costs[1] * 5 >= choice.costs[0] * 4, "{choice}");
        assert_eq!(choice.axes.dimension(0), 1);
    }

    #[test]
    fn fields_of_structures_cost_less_than_columns() {
        // Along dimension 1, work-items load every fourth element of a row.
        let text = copy(0, 1, "").to_string().replace("store v10, v11", "store v2, v0");
        let text = text.replace("v6 = add v5, v4\n", "v12 = shl v4, 2\n  v6 = add v5, v12\n");
        let module = parse_module(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let choice = vector_dimension(&module, "k");
        assert_eq!((choice.costs[0], choice.costs[1], choice.axes.dimension(0)), (20, 15, 1));
    }

    #[test]
    fn orders_of_axes_are_permutations() {
        for axes in AxisOrder::ALL {
            assert_eq!(axes.to_dimensions(axes.to_axes([5, 6, 7])), [5, 6, 7]);
            assert!((0..3).all(|dimension| axes.dimension(axes.axis_of(dimension)) == dimension));
        }
    }
}
