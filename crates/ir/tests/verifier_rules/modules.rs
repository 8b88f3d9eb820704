//! Names, globals, declarations and launches of a module.

use crate::samples::{access, data, launching, put, region};
use heddle_ir::function::{OriginData, SourceLoc};
use heddle_ir::inst::Access;
use heddle_ir::module::{
    Declaration, DeclaredShape, Effects, File, FunctionKind, Global, GlobalInit, Signature,
};
use heddle_ir::{
    Builder, Constant, Detail, Function, InsertPoint, InstData, Module, Op, Scalar, Space, Type, Value,
};
use std::sync::Arc;

/// A kernel that calls, sequential code that launches it, a declared function, and globals.
pub(crate) fn module() -> Module {
    let mut module = Module::default();
    module.files.push("a.cl".into());
    let table = vec![
        GlobalInit::Values(Scalar::I16, vec![1, 2]),
        GlobalInit::Zero(4),
        GlobalInit::Address("hidden".into(), 8),
    ];
    module.globals.push(Global { name: "table".into(), space: Space::Constant, align: 8, init: table });
    module.globals.push(Global {
        name: "hidden".into(),
        space: Space::Global,
        align: 1,
        init: vec![GlobalInit::Poison(16)],
    });
    let declared = Arc::new(Declaration {
        name: "sin".into(),
        kind: FunctionKind::Function,
        signature: Signature { effects: Effects::PURE, ..Signature::new(&[Type::F32], &[Type::F32]) },
    });
    module.declarations.push(declared.clone());
    let mut region = region();
    let callee = region.make_callee(&declared);
    let half = region.make_const(Constant::Scalar(Scalar::F32, 0x3f00_0000));
    put(&mut region, 0, 0, InstData::new(Op::Call, [half], Detail::Call(callee)), None);
    let table = region.make_const(Constant::Address(Space::Constant, "table".into()));
    put(&mut region, 0, 0, access(Op::Load, &[table], Access::aligned(2)), Some(Type::I16));
    let loc = Some(SourceLoc { file: File::from_u32(0), line: 3, column: 1 });
    data(&mut region, 0, 0).origin = region.make_origin(OriginData { loc, ..OriginData::default() });
    module.functions.push(launching());
    module.functions.push(region);
    module
}

/// The instruction at this place of the region.
pub(crate) fn in_region(module: &mut Module, index: usize) -> &mut InstData {
    data(&mut module.functions[1], 0, index)
}

/// Adds a function that calls another.
pub(crate) fn add_caller(module: &mut Module, name: &str, kind: FunctionKind, callee: usize) {
    let declaration = Arc::new(module.functions[callee].declaration());
    let mut func = Function::new(name, Signature::new(&[], &[]));
    func.kind = kind;
    let entry = func.append_block();
    let callee = func.make_callee(&declaration);
    let args: Vec<Value> =
        declaration.signature.params.iter().map(|param| func.make_poison(param.ty)).collect();
    let mut b = Builder::new(&mut func, InsertPoint::End(entry));
    b.inst(InstData::new(Op::Call, args, Detail::Call(callee)), None);
    b.ret(&[]);
    module.functions.push(func);
}

/// The region's declaration of its callee, mutably.
pub(crate) fn known(module: &mut Module) -> &mut Declaration {
    Arc::make_mut(module.functions[1].callees.values_mut().next().unwrap())
}

pub(crate) type ModuleCase = (&'static [&'static str], fn(&mut Module));

#[rustfmt::skip]
pub(crate) const CASES: &[ModuleCase] = &[
    (&["NameTwice"], |m| m.globals.push(Global { name: "main".into(), ..m.globals[1].clone() })),
    (&["NameTwice"], |m| { m.declarations.push(m.declarations[0].clone()); m.declarations.push(m.declarations[0].clone()) }),
    (&["NoName"], |m| m.functions[0].name.clear()),
    (&["UnknownFunction"], |m| m.declarations.clear()),
    (&["UnknownFunction"], |m| known(m).name = "cos".into()),
    (&["Differs"], |m| known(m).kind = FunctionKind::Kernel(None)),
    (&["Differs"], |m| known(m).signature.params[0].shape = Some(DeclaredShape::Uniform)),
    (&["Differs"], |m| known(m).signature.results[0].shape = Some(DeclaredShape::Uniform)),
    (&["Differs"], |m| known(m).signature.effects = Effects::ANY),
    (&["Declaration"], |m| m.declarations.push(Arc::new(Declaration {
        name: "k".into(), kind: FunctionKind::Kernel(None), signature: Signature::new(&[], &[Type::I32]),
    }))),
    (&["UnknownGlobal"], |m| {
        in_region(m, 0).args[0] = m.functions[1].make_const(Constant::Address(Space::Constant, "nothing".into()));
    }),
    (&["GlobalSpace"], |m| m.globals[0].space = Space::Global),
    (&["Global"], |m| m.globals[0].align = 3),
    (&["Global"], |m| m.globals[0].init[0] = GlobalInit::Values(Scalar::I16, vec![1 << 16])),
    (&["Global"], |m| m.globals[0].init[1] = GlobalInit::Zero(u64::MAX)),
    (&["Global"], |m| m.globals[0].init[2] = GlobalInit::Address("nothing".into(), 0)),
    (&["UnknownFile"], |m| {
        let loc = Some(SourceLoc { file: File::from_u32(1), line: 3, column: 1 });
        in_region(m, 0).origin = m.functions[1].make_origin(OriginData { loc, ..OriginData::default() });
    }),
    (&["Convergent"], |m| {
        add_caller(m, "between", FunctionKind::Function, 1);
        m.functions.last_mut().unwrap().signature.effects.convergent = false;
    }),
    (&["NestedLaunch"], |m| { add_caller(m, "between", FunctionKind::Function, 0); add_caller(m, "k", FunctionKind::Kernel(None), 2) }),
    (&["NestedLaunch"], |m| {
        // A launched function that itself launches.
        let mut func = launching();
        func.name = "region".into();
        func.signature.params.truncate(2);
        m.functions[1] = func;
    }),
];
