//! What asks for the place in a launch, and barriers: OpenCL C's functions by their mangled names.

use super::body::{Body, Leaves};
use super::refusal::{Take, Why};
use super::types::Spaces;
use crate::view::Val;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::Scope;
use heddle_ir::{Op, Type, Value};

/// OpenCL C's functions, by their names as clang mangles them.
const QUERIES: [(&str, Op); 9] = [
    ("_Z13get_global_idj", Op::GlobalId),
    ("_Z12get_local_idj", Op::LocalId),
    ("_Z12get_group_idj", Op::GroupId),
    ("_Z14get_num_groupsj", Op::NumGroups),
    ("_Z14get_local_sizej", Op::LocalSize),
    ("_Z23get_enqueued_local_sizej", Op::LocalSize),
    ("_Z15get_global_sizej", Op::GlobalSize),
    ("_Z17get_global_offsetj", Op::GlobalOffset),
    ("_Z12get_work_dimv", Op::WorkDim),
];

impl<'m> Body<'_, 'm> {
    /// A call of one of OpenCL C's work-item functions or barriers, if it is one.
    pub(super) fn work_item_function(&mut self, inst: Val<'m>, callee: Val<'m>) -> Take<Option<Leaves>> {
        if self.module.types.spaces != Spaces::Spir || !callee.is_declaration() {
            return Ok(None);
        }
        let name = callee.name();
        if name == "_Z7barrierj" || name.starts_with("_Z18work_group_barrierj") {
            self.barrier()?;
            return Ok(Some(Leaves::new()));
        }
        let Some(&(_, op)) = QUERIES.iter().find(|(known, _)| *known == name) else { return Ok(None) };
        self.check_query(inst, &name)?;
        let dimension = match inst.arguments().first() {
            None => None,
            Some(&argument) => {
                let argument = self.leaf(argument)?;
                match self.constant_int(argument) {
                    Some(dimension @ 0..=2) => Some(dimension as u8),
                    _ => {
                        let reason = "the dimension is no constant of 0, 1 or 2";
                        return Err(Why::new(reason, "write one call for each dimension"));
                    }
                }
            }
        };
        let value = self.query(inst, op, dimension)?;
        Ok(Some(Leaves::from_slice(&[value])))
    }

    /// Refuses a declaration that is not OpenCL C's: the last letter of the name says what it takes.
    fn check_query(&self, inst: Val<'m>, name: &str) -> Take<()> {
        let types = &self.module.types;
        let wanted = usize::from(name.ends_with('j'));
        let arguments = inst.arguments();
        let fits = arguments.len() == wanted
            && arguments.iter().all(|argument| types.is_whole_int(argument.ty()))
            && types.is_whole_int(inst.ty());
        if fits {
            return Ok(());
        }
        let takes = if wanted == 1 { "one number, the dimension," } else { "nothing" };
        let reason = format!(
            "@{name} is declared in another way than OpenCL C does: it takes {takes} and gives a number"
        );
        Err(Why::new(reason, "declare it as OpenCL C does"))
    }

    /// A question about the place in the launch, as wide as the instruction's result.
    pub(super) fn query(&mut self, inst: Val<'m>, op: Op, dimension: Option<u8>) -> Take<Value> {
        let scalar = self.module.types.scalar(inst.ty())?;
        self.put(InstData::new(op, [], Detail::Dimension(dimension)), Some(Type::Scalar(scalar)))
    }

    /// A barrier of the work-group.
    pub(super) fn barrier(&mut self) -> Take<()> {
        self.put_inst(InstData::new(Op::Barrier, [], Detail::Barrier(Scope::Group)), None)?;
        Ok(())
    }
}
