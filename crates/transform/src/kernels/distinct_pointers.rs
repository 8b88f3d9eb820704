//! Kernels whose code is faster if their pointers lead to different objects.
//!
//! ```text
//!     for (k = 0; k < n; k++) c[i] += a[k] * b[k];
//! ```
//!
//! A store to `c` may change what `a` leads to, so `c[i]` stays in memory. Mostly the pointers of a launch lead to different objects, which is known
//! at the launch; code for these launches has `noalias` parameters.
//!
//! Requires: Stage::Source.  Ensures: where no instruction [`has_unknown_base`], a kernel accesses objects in global memory through its parameters alone, or
//! objects of the program's own.

use super::insts_of;
use heddle_analysis::address::object_and_offset;
use heddle_analysis::{Cfg, CycleForest};
use heddle_ir::function::ValueDef;
use heddle_ir::module::{FunctionKind, Param};
use heddle_ir::ops::Effect;
use heddle_ir::{Function, Inst, Op, Scalar, Space, Type, Value};
use rustc_hash::FxHashSet;

/// Parameter of a kernel that leads to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectParameter {
    /// Its number.
    pub number: usize,
    /// True if the kernel may write the object.
    pub is_written: bool,
}

/// True if a type is a pointer to an object that a launch may name twice.
fn is_pointer_to_object(ty: Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Ptr(Space::Global | Space::Constant | Space::Generic)))
}

/// Returns the numbers of integer parameters that are addresses, with the types of their pointers; none if one is also a number, or has
/// pointers of two types.
fn address_parameters(func: &Function) -> Option<Vec<(usize, Type)>> {
    let pointer_of = |inst: Inst| {
        let data = func.inst(inst);
        let pointer = func.result(inst).map(|pointer| func.value_type(pointer));
        pointer.filter(|_| data.op == Op::Inttoptr)
    };
    let mut found: Vec<(usize, Type)> = Vec::new();
    let insts = insts_of(func);
    for &inst in &insts {
        let Some(pointer) = pointer_of(inst) else { continue };
        let ValueDef::Param(number) = func.value_def(func.inst(inst).args[0]) else { continue };
        match found.iter().find(|&&(known, _)| known == number as usize) {
            None => found.push((number as usize, pointer)),
            Some(&(_, ty)) if ty == pointer => {}
            Some(_) => return None,
        }
    }
    let is_address = |arg: &Value| found.iter().any(|&(number, _)| func.params()[number] == *arg);
    let is_number = |&inst: &Inst| func.inst(inst).args.iter().any(is_address) && pointer_of(inst).is_none();
    (!insts.iter().any(is_number)).then_some(found)
}

/// Returns the parameters of a kernel that lead to objects of a launch; none if one of them is also a number.
pub fn object_parameters(func: &Function) -> Vec<ObjectParameter> {
    let Some(addresses) = address_parameters(func) else { return Vec::new() };
    let params = func.signature.params.iter().enumerate();
    let of_objects = params.filter(|&(number, param)| {
        is_pointer_to_object(param.ty) || addresses.iter().any(|&(address, _)| address == number)
    });
    let parameter = |(number, param): (usize, &Param)| {
        let is_written = !param.readonly && param.ty.scalar() != Scalar::Ptr(Space::Constant);
        ObjectParameter { number, is_written }
    };
    of_objects.map(parameter).collect()
}

/// True if an instruction gives a pointer that is not based on the kernel's parameters: it may lead to any object.
pub fn has_unknown_base(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    let is_pointer = |value: &Value| matches!(func.value_type(*value).scalar(), Scalar::Ptr(_));
    let is_kernel = matches!(func.kind, FunctionKind::Kernel(_));
    let is_based = match (data.op.info().effect, data.op) {
        (Effect::Reads | Effect::ReadsWrites | Effect::Callee, _) => false,
        (_, Op::Inttoptr) => is_kernel && matches!(func.value_def(data.args[0]), ValueDef::Param(_)),
        _ => true,
    };
    !is_based && func.results(inst).iter().any(is_pointer)
}

/// True if the function has a loop in which it stores to memory that is not a work-item's own, or calls another function; or if all work-items store
/// to one place, which the loop over the work-items of a group does again and again.
pub fn repeats_stores(func: &Function) -> bool {
    let stored_to = |inst: Inst| {
        let data = func.inst(inst);
        let address = *data.args.get(1).filter(|_| data.op == Op::Store)?;
        (func.value_type(address) != Type::ptr(Space::Private)).then_some(address)
    };
    let is_one_place = |address: Value| {
        let (object, offset) = object_and_offset(func, address);
        offset.is_some() && matches!(func.value_def(object), ValueDef::Param(_))
    };
    let stores =
        |inst: &Inst| stored_to(*inst).is_some() || func.inst(*inst).op.info().effect == Effect::Callee;
    let insts = insts_of(func);
    if insts.iter().filter_map(|&inst| stored_to(inst)).any(is_one_place) {
        return true;
    }
    if !insts.iter().any(stores) {
        return false;
    }
    let forest = CycleForest::new(&Cfg::new(func));
    let mut looped = func.blocks().filter(|&block| forest.innermost(block).is_some());
    looped.any(|block| func.block_insts(block).any(|inst| stores(&inst)))
}

/// Notes that the parameters which lead to objects lead to different ones. Addresses become pointers.
pub(super) fn assume_distinct_pointers(func: &mut Function) {
    for (number, ty) in address_parameters(func).unwrap_or_default() {
        let address = func.params()[number];
        let pointers =
            insts_of(func).into_iter().filter(|&inst| func.inst(inst).args.first() == Some(&address));
        let pointers: Vec<Inst> = pointers.collect();
        let results: FxHashSet<Value> = pointers.iter().filter_map(|&inst| func.result(inst)).collect();
        let pointer = func.retype_param(number, ty);
        func.map_values(|value| if results.contains(&value) { pointer } else { value });
        pointers.into_iter().for_each(|inst| func.remove_inst(inst));
    }
    for ObjectParameter { number, .. } in object_parameters(func) {
        func.signature.params[number].noalias = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_ir::parse_module;

    fn kernel(body: &str) -> Function {
        let text = format!(
            "kernel @k(v0: ptr(global), v1: ptr(global) readonly, v2: i64, v3: ptr(private)) {{\nblock0:\n{body}}}\n"
        );
        parse_module(&text).expect("a kernel").functions.remove(0)
    }

    fn has_unknown(body: &str) -> bool {
        let func = kernel(body);
        insts_of(&func).into_iter().any(|inst| has_unknown_base(&func, inst))
    }

    #[test]
    fn pointers_from_memory_and_sums_lead_anywhere() {
        let use_of =
            |pointer: &str| format!(" v10 = {pointer}\n v11 = load i32, v10\n store v11, v0\n ret\n");
        assert!(!has_unknown(&use_of("ptradd v1, v2")));
        assert!(!has_unknown(&use_of("inttoptr ptr(global), v2")));
        let chosen =
            " v9 = icmp eq v2, 0\n v10 = select v9, v0, v1\n v11 = load i32, v10\n store v11, v0\n ret\n";
        assert!(!has_unknown(chosen));
        assert!(has_unknown(&use_of("load ptr(global), v1")));
        assert!(has_unknown(&use_of("load ptr(global), v3")));
        let sum = format!(" v8 = add v2, 8\n{}", use_of("inttoptr ptr(global), v8"));
        assert!(has_unknown(&sum));
    }

    #[test]
    fn stores_in_loops_and_of_all_work_items_to_one_place_gain() {
        let looped = |inside: &str, after: &str| {
            let test = " v9 = icmp eq v2, 0\n br v9, block1, block2\n";
            let body =
                format!(" v7 = ptradd v0, v2\n br block1\nblock1:\n{inside}{test}block2:\n{after} ret\n");
            repeats_stores(&kernel(&body))
        };
        assert!(looped(" store i32 1, v7\n", ""));
        assert!(!looped(" store i32 1, v3\n", ""));
        assert!(!looped(" v8 = load i32, v1\n", " store i32 1, v7\n"));
        assert!(looped("", " store i32 1, v0\n"));
        assert!(looped("", " v8 = ptradd v0, i64 4\n store i32 1, v8\n"));
        assert!(!looped("", " store i32 1, v3\n"));
    }

    fn parameters(body: &str) -> Vec<(usize, bool)> {
        let parameters = object_parameters(&kernel(body));
        parameters.into_iter().map(|it| (it.number, it.is_written)).collect()
    }

    #[test]
    fn objects_are_led_to_by_pointers_and_addresses() {
        assert_eq!(parameters(" ret\n"), [(0, true), (1, false)]);
        let address = " v8 = inttoptr ptr, v2\n v9 = inttoptr ptr, v2\n store i32 1, v8\n store i32 2, v9\n";
        assert_eq!(parameters(&format!("{address} ret\n")), [(0, true), (1, false), (2, true)]);
        // A number as well; pointers of two types.
        assert_eq!(parameters(&format!("{address} v10 = add v2, 8\n ret\n")), []);
        assert_eq!(parameters(&format!("{address} v10 = inttoptr ptr(global), v2\n ret\n")), []);
        let mut func = kernel(&format!("{address} ret\n"));
        assume_distinct_pointers(&mut func);
        let aliases: Vec<bool> = func.signature.params.iter().map(|param| param.noalias).collect();
        assert_eq!(aliases, [true, true, true, false]);
        assert_eq!(insts_of(&func).len(), 3);
        assert_eq!(func.inst(insts_of(&func)[0]).args[1], func.params()[2]);
    }
}
