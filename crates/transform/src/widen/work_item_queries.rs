//! Widens queries of positions in brush, group and launch. A wide function is one thread that queries lane 0's position.

use super::value_reps::{ValueRep, steps_in_order};
use super::widener::Widener;
use heddle_analysis::shape::Steps;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::{Constant, Inst, Op, Scalar, Type, Value};

impl Widener<'_> {
    pub(super) fn work_item_query(&mut self, inst: Inst) {
        let data = self.old.inst(inst).clone();
        let result = self.old.result(inst).expect("a query gives a value");
        let ty = self.old.value_type(result);
        let scalar = ty.scalar();
        let dimension = match data.detail {
            Detail::Dimension(dimension) => dimension.map(usize::from),
            _ => None,
        };
        let extent = |along: usize| self.brush.get(along).copied().unwrap_or(1);
        // A group has three dimensions: the last two of a four-dimensional brush map to the third.
        let tile = |along: usize| if along == 2 { extent(2) * extent(3) } else { extent(along) };
        let known = match (data.op, dimension) {
            (Op::Width, None) => Some(self.lanes.into()),
            (Op::Width, Some(along)) => Some(extent(along)),
            (Op::LocalSize | Op::EnqueuedSize | Op::GlobalSize, along) if self.context.is_region => {
                Some(tile(along.unwrap_or(0)))
            }
            (Op::NumGroups, _) if self.context.is_region => Some(1),
            (Op::GroupId | Op::GlobalOffset, _) if self.context.is_region => Some(0),
            (Op::WorkDim, _) if self.context.is_region => Some(
                self.brush.iter().rposition(|&extent| extent != 1).map_or(1, |last| (last as u32 + 1).min(3)),
            ),
            _ => None,
        };
        let value = match data.op {
            _ if known.is_some() => self.new.make_int(scalar, known.unwrap_or(0).into()),
            Op::Lane => self.coordinates(result, self.lane_steps(dimension)),
            Op::LocalId | Op::GlobalId if self.context.is_region => {
                let mut steps = self.lane_steps(Some(dimension.unwrap_or(0)));
                if dimension == Some(2) {
                    steps[3] = extent(2).into();
                }
                self.coordinates(result, steps)
            }
            Op::LocalId | Op::GlobalId if self.reps.of(result) == ValueRep::Vector => {
                self.ids_in_group(&data, ty, dimension.unwrap_or(0))
            }
            _ => self.emit(data, Some(ty)),
        };
        self.define(inst, value);
    }

    /// Steps of the lane index in the brush, linear or along a dimension.
    fn lane_steps(&self, dimension: Option<usize>) -> Steps<i64> {
        match dimension {
            Some(along) => std::array::from_fn(|at| i64::from(at == along)),
            None => steps_in_order(self.brush),
        }
    }

    /// Lane indices with these steps, from 0.
    fn coordinates(&mut self, result: Value, steps: Steps<i64>) -> Value {
        let scalar = self.old.value_type(result).scalar();
        if self.reps.of(result) != ValueRep::Vector {
            return self.new.make_int(scalar, 0);
        }
        let all = self.offsets(steps).into_iter().map(|index| index as u128 & scalar.bit_mask()).collect();
        self.new.make_const(Constant::Vector(scalar, all))
    }

    /// Local or global id of each lane, where a brush follows the group's linear order across the ends of its rows.
    fn ids_in_group(&mut self, data: &InstData, ty: Type, along: usize) -> Value {
        let number = if ty.scalar().bits() < 32 { Scalar::I32 } else { ty.scalar() };
        let [x, y, z] = [0, 1, 2].map(|along| self.query(Op::LocalId, along, number));
        let [size_x, size_y] = [0, 1].map(|along| self.query(Op::LocalSize, along, number));
        let rows = self.binary(Op::Mul, z, size_y);
        let row = self.binary(Op::Add, rows, y);
        let before = self.binary(Op::Mul, row, size_x);
        let first = self.binary(Op::Add, before, x);
        let wide = Type::Vector(number, self.lanes);
        let linear = self.strided_vector(first, self.lane_steps(None), wide);
        let [size_x, size_y] = [size_x, size_y].map(|size| self.strided_vector(size, Steps::default(), wide));
        let mut index = match along {
            0 => self.binary(Op::Urem, linear, size_x),
            _ => self.binary(Op::Udiv, linear, size_x),
        };
        if along == 1 {
            index = self.binary(Op::Urem, index, size_y);
        } else if along == 2 {
            index = self.binary(Op::Udiv, index, size_y);
        }
        if data.op == Op::GlobalId {
            let [global, local] = [Op::GlobalId, Op::LocalId].map(|op| self.query(op, along, number));
            let corner = self.binary(Op::Sub, global, local);
            let corner = self.strided_vector(corner, Steps::default(), wide);
            index = self.binary(Op::Add, index, corner);
        }
        match number == ty.scalar() {
            true => index,
            false => self.emit(InstData::plain(Op::Trunc, [index]), Some(self.wide_type(ty))),
        }
    }

    fn query(&mut self, op: Op, along: usize, scalar: Scalar) -> Value {
        self.emit(InstData::new(op, [], Detail::Dimension(Some(along as u8))), Some(scalar.into()))
    }

    fn binary(&mut self, op: Op, a: Value, b: Value) -> Value {
        self.emit(InstData::plain(op, [a, b]), None)
    }
}
