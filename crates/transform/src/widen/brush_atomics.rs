//! Lowers atomic operations of brush scope to plain code: one thread runs all lanes that can observe them.
//!
//! ```text
//!     v1 = atomic_rmw add v0, v2 relaxed brush          v1 = load v0;  v3 = add v1, v2;  store v3, v0
//! ```

use super::widener::Widener;
use heddle_ir::inst::{Access, Detail, InstData};
use heddle_ir::words::{Flag, IntPredicate, Rmw, SyncScope};
use heddle_ir::{Op, Type, Value};

impl Widener<'_> {
    /// Emits an atomic operation on scalars as load, operation and store; returns its results. None if its scope is wider
    /// than the brush, or if it takes more than one operation.
    pub(super) fn plain_update(&mut self, data: &InstData) -> Option<Vec<Value>> {
        let access = *data.access()?;
        let is_own = access.atomic.is_some_and(|(_, scope)| scope <= SyncScope::Brush);
        if !is_own || data.flags.has(Flag::Volatile) {
            return None;
        }
        let op = match &data.detail {
            Detail::Rmw(rmw, _) => Some(plain_op(*rmw)?),
            Detail::CompareExchange(..) => None,
            _ => return None,
        };
        let plain = Detail::Access(Access { atomic: None, ..access });
        let (address, ty) = (data.args[0], self.new.value_type(data.args[1]));
        let old = self.emit(InstData::new(Op::Load, [address], plain.clone()), Some(ty));
        let (new, results) = match op {
            Some(PlainUpdate::Set) => (data.args[1], vec![old]),
            Some(PlainUpdate::By(op)) => {
                (self.emit(InstData::plain(op, [old, data.args[1]]), None), vec![old])
            }
            None => {
                if !matches!(ty, Type::Scalar(scalar) if scalar.is_int() || scalar.is_ptr()) {
                    return None;
                }
                let is_same = self.compare(IntPredicate::Eq, old, data.args[1]);
                let new = self.emit(InstData::plain(Op::Select, [is_same, data.args[2], old]), None);
                (new, vec![old, is_same])
            }
        };
        self.insert(InstData::new(Op::Store, [new, address], plain), None);
        Some(results)
    }
}

/// New value of an update.
enum PlainUpdate {
    /// The operand.
    Set,
    /// An operation on the old value and the operand.
    By(Op),
}

/// Lowering of an update to one operation; none if it takes more.
fn plain_op(rmw: Rmw) -> Option<PlainUpdate> {
    Some(PlainUpdate::By(match rmw {
        Rmw::Exchange => return Some(PlainUpdate::Set),
        Rmw::Add => Op::Add,
        Rmw::Sub => Op::Sub,
        Rmw::And => Op::And,
        Rmw::Or => Op::Or,
        Rmw::Xor => Op::Xor,
        Rmw::Umin => Op::Umin,
        Rmw::Umax => Op::Umax,
        Rmw::Smin => Op::Smin,
        Rmw::Smax => Op::Smax,
        Rmw::Fadd => Op::Fadd,
        Rmw::Fsub => Op::Fsub,
        Rmw::Nand | Rmw::Fmin | Rmw::Fmax | Rmw::IncWrap | Rmw::DecWrap => return None,
    }))
}
