//! Vectors of the lanes of one row, and loads that rows share.
//!
//! A mask that depends on a lane's place in its row alone, such as that of the last columns of a nest, is one vector for all rows. Of a
//! stencil, the load one row up and the load one row down read the same elements, two rows apart: each row of memory is loaded once. Moll's
//! thesis calls the set of these accesses an access group (11.4).
//!
//! ```text
//!     a[(y - 1) * n + x], a[(y + 1) * n + x]   for y, …, y + 3: six loads of rows instead of eight
//! ```

use super::address_polynomial::AddressPolynomial;
use super::value_reps::ValueRep;
use super::widener::Widener;
use heddle_ir::inst::InstData;
use heddle_ir::ops::ResultConstraint;
use heddle_ir::words::{Flag, Flags};
use heddle_ir::{Block, Constant, Inst, Type, Value};
use rustc_hash::FxHashMap;

/// A load of a row: where, how many elements of which type, and for which lanes.
type RowLoad = (AddressPolynomial, Type, Option<Value>);

/// Rows that were loaded in the current block since it last wrote memory.
#[derive(Debug, Default)]
pub(super) struct LoadedRows {
    block: Option<Block>,
    rows: FxHashMap<RowLoad, Value>,
}

impl LoadedRows {
    /// Forgets all rows, as after a write.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
    }
}

impl Widener<'_> {
    /// Loads a row, or returns the row if it is loaded already.
    pub(super) fn load_row(&mut self, data: &InstData, start: Value, mask: Option<Value>, ty: Type) -> Value {
        let is_shared = !self.cursor.is_conditional && !data.flags.has(Flag::Volatile);
        if !is_shared {
            return self.load_vector(data.clone(), start, mask, ty);
        }
        let here = Some(self.current_block());
        if self.loaded_rows.block != here {
            self.loaded_rows = LoadedRows { block: here, rows: FxHashMap::default() };
        }
        let key = (AddressPolynomial::new(&self.new, start), ty, mask);
        if let Some(&loaded) = self.loaded_rows.rows.get(&key) {
            return loaded;
        }
        let loaded = self.load_vector(data.clone(), start, mask, ty);
        self.loaded_rows.rows.insert(key, loaded);
        loaded
    }

    /// Mask of a row; none if all lanes run the instruction.
    pub(super) fn row_mask(&mut self, inst: Inst, row: u32) -> Option<Value> {
        let predicate = self.predicate_of(inst)?;
        if !self.row_facts().is_recomputable(predicate) {
            let mask = self.vector(predicate);
            return Some(self.row_of(mask, row));
        }
        let row = if self.row_facts().varies_between_rows(predicate) { row } else { 0 };
        if let Some(mask) = self.available(self.row_masks.get(&(predicate, row))) {
            return Some(mask);
        }
        let (block, mask) = self.in_preheader(predicate, |widener| widener.row_vector(predicate, row));
        if !self.cursor.is_conditional {
            self.row_masks.entry((predicate, row)).or_default().push((block, mask));
        }
        Some(mask)
    }

    /// Computes a row of a recomputable value.
    fn row_vector(&mut self, value: Value, row: u32) -> Value {
        let length = self.row_extents().length;
        let ty = Type::Vector(self.old.value_type(value).scalar(), length as u16);
        if let Some(&Constant::Scalar(_, bits)) = self.old.constant(value) {
            return self.new.make_const(Constant::splat(ty, bits));
        }
        if let ValueRep::Scalar(steps) = self.reps.of(value) {
            let scalar = self.scalar(value);
            let from = (row * length) as usize;
            let offsets: Vec<i128> = self.offsets(steps)[from..from + length as usize].to_vec();
            return self.scalar_plus_offsets(scalar, &offsets, ty);
        }
        let inst = self.old.def_inst(value).expect("it is recomputable");
        let mut data = self.old.inst(inst).clone();
        for arg in &mut data.args {
            *arg = self.row_vector(*arg, row);
        }
        data.flags = data.flags.without(Flags::POISON);
        let written = matches!(data.op.info().gives, ResultConstraint::Written(_));
        self.emit(data, written.then_some(ty))
    }
}
