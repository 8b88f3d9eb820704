//! Stores whose lanes write cells of a few lines of memory, as tiles that are contiguous have them.
//!
//! ```text
//!     tiles of 2 x 2, lanes (x, y) of a brush of 8 x 2     16 cells side by side: one permutation and one store
//!     the same from odd x and y on                          two lines with gaps: stores under constant masks
//! ```
//!
//! A cell has the value of its last lane. Lines are stored in the order of their lanes, so that the last lane's value stays where lines are the same
//! memory, too.

use super::access_plan::{AccessPlan, AccessPlanner, LaneAccess};
use super::address_polynomial::AddressPolynomial;
use super::cell_layouts::permutations;
use super::lane_lines::CommonParts;
use super::widener::Widener;
use super::{Remark, RemarkKind};
use crate::target::AccessLanes;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::{Constant, Inst, Scalar, Type};

/// Cells of one line.
#[derive(Clone, Debug)]
struct StoredLine {
    /// Lane of each cell, from the first one of the line on; none in gaps.
    lanes: Vec<Option<u16>>,
    /// Place of the first lane among the cells.
    first_place: usize,
    first_lane: u32,
}

/// Store of cells.
#[derive(Clone, Debug)]
pub(super) struct CellStore {
    lines: Vec<StoredLine>,
}

impl StoredLine {
    /// Length of the vector that is stored.
    fn length(&self) -> usize {
        self.lanes.len().next_power_of_two()
    }

    /// True if the vector is stored under a mask.
    fn has_gaps(&self) -> bool {
        self.length() != self.lanes.len() || self.lanes.contains(&None)
    }

    /// Lane of each element of the vector.
    fn order(&self) -> Vec<u16> {
        let lanes = self.lanes.iter().map(|lane| lane.unwrap_or(0));
        lanes.chain(std::iter::repeat(0)).take(self.length()).collect()
    }
}

impl AccessPlanner<'_> {
    /// Plans a store of cells, if that is cheaper than an address for each lane; adds a remark with the costs.
    pub(super) fn cell_store(&self, access: &LaneAccess, remarks: &mut Vec<Remark>) -> Option<AccessPlan> {
        let [row, others @ ..] = self.brush;
        let has_rows = row > 1 && others.iter().any(|&extent| extent > 1);
        // Lanes have objects of their own at the addresses of private ones.
        let is_rebased = self.reps.is_rebased(access.address);
        if !has_rows || is_rebased || access.active == AccessLanes::Masked || access.scalar == Scalar::I1 {
            return None;
        }
        let store = self.stored_cells(access)?;
        let target = &self.options.target;
        let bits = access.element_bits();
        let mut together = 0;
        for line in &store.lines {
            let length = line.length() as u32;
            let active = AccessLanes::under(line.has_gaps());
            together += target.contiguous_cost(access.direction, active, length, bits);
            let permutes = permutations(&line.order(), access.scalar, target)?;
            together += permutes * target.cost(target.permute, 1, target.vector_bits);
        }
        let alone = self.scattered_cost(access, AccessLanes::All);
        let cells = store.lines.iter().map(|line| line.lanes.len()).max()?;
        let text = match store.lines.len() {
            1 => format!("{cells} cells stored together"),
            lines => format!("{cells} cells stored together on each of {lines} lines"),
        };
        let pays = self.pays(access, RemarkKind::Cells, text, [together, alone], remarks);
        pays.then(|| AccessPlan::CellStore(Box::new(store)))
    }

    /// Lines of a store, whose lanes are one behind the other; none if cells are far apart.
    fn stored_cells(&self, access: &LaneAccess) -> Option<CellStore> {
        let size = i64::from(access.scalar.bytes());
        let address = AddressPolynomial::new(self.func, access.address);
        let lanes = CommonParts::default().lane_addresses(self, &address)?;
        let mut lines: Vec<(AddressPolynomial, Vec<(i64, u16)>)> = Vec::new();
        for (lane, address) in (0..).zip(lanes) {
            let (root, place) = address.without_constant();
            match lines.iter().position(|(known, _)| *known == root) {
                Some(at) if at + 1 == lines.len() => lines[at].1.push((place, lane)),
                Some(_) => return None,
                None => lines.push((root, vec![(place, lane)])),
            }
        }
        let in_order = |(_, cells): &(AddressPolynomial, Vec<(i64, u16)>)| {
            let lowest = cells.iter().map(|&(place, _)| place).min()?;
            let mut lanes = vec![None; 2 * cells.len()];
            for &(place, lane) in cells {
                let distance = place.checked_sub(lowest).filter(|distance| distance % size == 0)?;
                let cell = lanes.get_mut(usize::try_from(distance / size).ok()?)?;
                *cell = Some(lane);
            }
            let length = lanes.iter().rposition(Option::is_some)? + 1;
            lanes.truncate(length);
            let (place, lane) = cells[0];
            Some(StoredLine {
                lanes,
                first_place: ((place - lowest) / size) as usize,
                first_lane: lane.into(),
            })
        };
        Some(CellStore { lines: lines.iter().map(in_order).collect::<Option<_>>()? })
    }
}

impl Widener<'_> {
    /// Emits a store of cells.
    pub(super) fn store_cells(&mut self, inst: Inst, store: &CellStore) {
        let mut data = self.old.inst(inst).clone();
        let [stored, address] = [data.args[0], data.args[1]];
        let scalar = self.old.value_type(stored).scalar();
        let size = scalar.bytes();
        let access = data.access().copied().unwrap_or(Access::aligned(1));
        data.detail = Detail::Access(self.wide_access(access, access.align.min(size)));
        let value = self.vector(stored);
        for line in &store.lines {
            let lane = self.lane_start(address, line.first_lane);
            let start = self.offset_address(lane, -(line.first_place as i64 * i64::from(size)));
            let ty = Type::Vector(scalar, line.length() as u16);
            let order = Detail::Permute(line.order().into());
            let cells = self.emit(InstData::new(heddle_ir::Op::Permute, [value, value], order), Some(ty));
            let mask = line.has_gaps().then(|| {
                let cell = |at: usize| u128::from(line.lanes.get(at).is_some_and(Option::is_some));
                let bits = (0..line.length()).map(cell).collect();
                self.new.make_const(Constant::Vector(Scalar::I1, bits))
            });
            self.store_vector(data.clone(), cells, start, mask);
        }
    }
}
