//! Use lists of values.

use heddle_ir::entity::Entity;
use heddle_ir::{Function, Inst, Value};

use crate::control_tables::ControlTables;
use crate::lists::Lists;

/// Users of each value in reachable blocks, once per operand.
#[derive(Clone, Debug)]
pub(crate) struct UseLists {
    users: Lists<Inst>,
}

impl UseLists {
    pub(crate) fn new(func: &Function, control: &ControlTables) -> Self {
        let uses: Vec<(usize, Inst)> = control
            .index
            .order()
            .iter()
            .flat_map(|&block| func.block_insts(block))
            .flat_map(|inst| func.inst(inst).args.iter().map(move |arg| (arg.index(), inst)))
            .collect();
        Self { users: Lists::new(func.value_count(), uses.iter().copied()) }
    }

    /// Returns the users of a value, in block-index order.
    pub(crate) fn of(&self, value: Value) -> &[Inst] {
        self.users.get(value.index())
    }
}
