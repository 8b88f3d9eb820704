//! Import of OpenCL C work-item functions, barriers and printf, by mangled name.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::AddressSpaceMap;
use crate::view::Val;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{Declaration, FunctionKind, Signature};
use heddle_ir::words::{IntPredicate, SyncScope};
use heddle_ir::{Op, Scalar, Type, Value};
use std::sync::Arc;

/// OpenCL C work-item functions, by mangled name.
const QUERIES: [(&str, Op); 9] = [
    ("_Z13get_global_idj", Op::GlobalId),
    ("_Z12get_local_idj", Op::LocalId),
    ("_Z12get_group_idj", Op::GroupId),
    ("_Z14get_num_groupsj", Op::NumGroups),
    ("_Z14get_local_sizej", Op::LocalSize),
    ("_Z23get_enqueued_local_sizej", Op::EnqueuedSize),
    ("_Z15get_global_sizej", Op::GlobalSize),
    ("_Z17get_global_offsetj", Op::GlobalOffset),
    ("_Z12get_work_dimv", Op::WorkDim),
];

/// True for mangled names of OpenCL C builtins that the importer translates.
pub fn is_imported_builtin(name: &str) -> bool {
    is_barrier(name) || name == PRINTF || QUERIES.iter().any(|(known, _)| *known == name)
}

/// The variadic builtin, which is not mangled.
const PRINTF: &str = "printf";

/// True for the mangled names of the functions that wait for the whole work-group.
pub(crate) fn is_barrier(name: &str) -> bool {
    name == "_Z7barrierj" || name.starts_with("_Z18work_group_barrierj")
}

impl<'m> BodyImporter<'_, 'm> {
    /// Imports a call of a work-item function, barrier or printf; none for other callees.
    pub(super) fn work_item_function(
        &mut self,
        inst: Val<'m>,
        callee: Val<'m>,
    ) -> ImportResult<Option<Leaves>> {
        if self.module.types.spaces != AddressSpaceMap::Spir || !callee.is_declaration() {
            return Ok(None);
        }
        let name = callee.name();
        if is_barrier(&name) {
            self.barrier()?;
            return Ok(Some(Leaves::new()));
        }
        if name == PRINTF && callee.value_type().is_var_arg() {
            return self.printf(inst).map(Some);
        }
        let Some(&(_, op)) = QUERIES.iter().find(|(known, _)| *known == name) else { return Ok(None) };
        self.check_query(inst, &name)?;
        let Some(&argument) = inst.arguments().first() else {
            return Ok(Some(Leaves::from_slice(&[self.query(inst, op, None)?])));
        };
        let argument = self.leaf(argument)?;
        if let Some(dimension @ 0..=2) = self.constant_int(argument) {
            return Ok(Some(Leaves::from_slice(&[self.query(inst, op, Some(dimension as u8))?])));
        }
        // Out-of-range dimensions have size 1 and id 0.
        let is_size = matches!(op, Op::NumGroups | Op::LocalSize | Op::EnqueuedSize | Op::GlobalSize);
        let scalar = self.module.types.scalar(inst.ty())?;
        let mut value = self.int(scalar, is_size.into());
        for dimension in 0..3 {
            let here = self.query(inst, op, Some(dimension))?;
            let number = self.int(self.scalar(argument), dimension.into());
            let is_it = self.icmp(IntPredicate::Eq, argument, number)?;
            value = self.emit(InstData::new(Op::Select, [is_it, here, value], Detail::None), None)?;
        }
        Ok(Some(Leaves::from_slice(&[value])))
    }

    /// Refuses declarations with another type than OpenCL C's. A trailing `j` in the name is the `uint` parameter.
    fn check_query(&self, inst: Val<'m>, name: &str) -> ImportResult<()> {
        let types = &self.module.types;
        let wanted = usize::from(name.ends_with('j'));
        let arguments = inst.arguments();
        let fits = arguments.len() == wanted
            && arguments.iter().all(|argument| types.is_whole_int(argument.ty()))
            && types.is_whole_int(inst.ty());
        if fits {
            return Ok(());
        }
        let takes = if wanted == 1 { "one number, the dimension" } else { "nothing" };
        let reason = format!("@{name} is not declared as in OpenCL C: it takes {takes} and returns a number");
        Err(ImportRefusal::new(reason, "declare it as OpenCL C does"))
    }

    /// Imports printf as a call of `heddle.printf` with the argument types in its name, vectors with their element
    /// count: `heddle.printf.i32.4xf32`.
    fn printf(&mut self, inst: Val<'m>) -> ImportResult<Leaves> {
        let mut args = Leaves::new();
        let mut name = String::from("heddle.printf");
        for (index, argument) in inst.arguments().into_iter().enumerate() {
            let leaves = self.leaves(argument)?;
            if let (1.., Some(&first)) = (index, leaves.first()) {
                name.push('.');
                if leaves.len() > 1 {
                    name.push_str(&format!("{}x", leaves.len()));
                }
                name.push_str(&match self.scalar(first) {
                    Scalar::Ptr(space) => format!("{space:?}").to_lowercase(),
                    scalar => scalar.to_string(),
                });
            }
            args.extend(leaves);
        }
        let types: Vec<Type> = args.iter().map(|&arg| Type::Scalar(self.scalar(arg))).collect();
        let signature = Signature::new(&types, &[Type::Scalar(Scalar::I32)]);
        let declaration = Arc::new(Declaration { name, kind: FunctionKind::Function, signature });
        self.call_declared(&declaration, &args)
    }

    /// Emits a launch query of the instruction's result type.
    pub(super) fn query(&mut self, inst: Val<'m>, op: Op, dimension: Option<u8>) -> ImportResult<Value> {
        let scalar = self.module.types.scalar(inst.ty())?;
        self.emit(InstData::new(op, [], Detail::Dimension(dimension)), Some(Type::Scalar(scalar)))
    }

    /// Emits a work-group barrier.
    pub(super) fn barrier(&mut self) -> ImportResult<()> {
        self.emit_inst(InstData::new(Op::Barrier, [], Detail::Barrier(SyncScope::Group)), None)?;
        Ok(())
    }
}
