//! Faults planted into specializations of functions, one for each rule: the harness catches every one.
//!
//! They are planted after `specialize`, at all sites of a kind simultaneously, and pass through the later passes.

use heddle_ir::module::{Declaration, DeclaredShape, FunctionKind};
use heddle_ir::{Detail, Function, Inst, Module, Op, Type};
use heddle_testing::caught::all_are_caught;
use heddle_testing::generate::{GeneratorProfile, generate};
use heddle_testing::wide::{WideningFaults, widens_with};
use std::sync::Arc;

type Fault = (&'static str, fn(&mut Module));

const FAULTS: &[Fault] = &[
    ("everyone comes along to a call", |module| {
        for func in &mut module.functions {
            for call in calls(func) {
                let Some(&mask) = func.inst(call).args.last() else { continue };
                if func.def_inst(mask).is_some_and(|it| func.inst(it).op == Op::Mask) {
                    let last = func.inst(call).args.len() - 1;
                    func.inst_mut(call).args[last] = func.make_bool(true);
                }
            }
        }
    }),
    ("a lane that does not come along runs all the same", |module| {
        masked_forms(module).for_each(|func| {
            enter_by(func, |func, branch| {
                func.inst_mut(branch).args[0] = func.make_bool(true);
            })
        });
    }),
    ("a lane that comes along goes to the end", |module| {
        masked_forms(module).for_each(|func| {
            enter_by(func, |func, branch| {
                func.inst_mut(branch).targets_mut().swap(0, 1);
            })
        });
    }),
    ("work-items that the group does not have run", |module| {
        let kernels = module.functions.iter_mut().filter(|func| matches!(func.kind, FunctionKind::Kernel(_)));
        kernels.for_each(|func| {
            enter_by(func, |func, branch| {
                if asks_for_places(func, branch) {
                    func.inst_mut(branch).args[0] = func.make_bool(true);
                }
            })
        });
    }),
    ("a form for what lanes share is called with what they do not", |module| {
        let forms = forms(module);
        let share = |name: &str, params: &mut [heddle_ir::module::Param]| {
            let varying = params.iter_mut().filter(|param| param.shape == Some(DeclaredShape::Varying));
            if forms.iter().any(|form| form == name) {
                // The mask stays what it is: another fault is about it.
                varying
                    .filter(|param| param.ty != Type::I1)
                    .for_each(|param| param.shape = Some(DeclaredShape::Uniform));
            }
        };
        change_signatures(module, |name, declared| share(name, &mut declared.params));
    }),
    ("a form for lanes that step is called with other steps", |module| {
        let forms = forms(module);
        change_signatures(module, |name, declared| {
            for param in declared.params.iter_mut().filter(|_| forms.iter().any(|form| form == name)) {
                if let Some(DeclaredShape::Linear(strides)) = &mut param.shape {
                    strides.iter_mut().for_each(|stride| *stride *= 2);
                }
            }
        });
    }),
    ("a strided argument is declared aligned", |module| {
        let forms = forms(module);
        change_signatures(module, |name, declared| {
            for param in declared.params.iter_mut().filter(|_| forms.iter().any(|form| form == name)) {
                if matches!(param.shape, Some(DeclaredShape::Linear(_))) {
                    param.align = 64;
                }
            }
        });
    }),
    ("a result is taken for shared", |module| {
        let forms = forms(module);
        change_signatures(module, |name, declared| {
            if forms.iter().any(|form| form == name) {
                declared.results.iter_mut().for_each(|result| result.shape = Some(DeclaredShape::Uniform));
            }
        });
    }),
];

/// The forms that lock-step code calls; what is launched gives and gets vectors, which the verifier tells from scalars.
fn forms(module: &Module) -> Vec<String> {
    let callees = |func: &Function, op: Op| -> Vec<String> {
        let all = func.blocks().flat_map(|block| func.block_insts(block));
        let asking = all.filter(|&inst| func.inst(inst).op == op);
        asking.filter_map(|inst| Some(func.callee_of(func.inst(inst))?.name.clone())).collect()
    };
    let launched: Vec<String> = module.functions.iter().flat_map(|func| callees(func, Op::Launch)).collect();
    let called = module.functions.iter().flat_map(|func| callees(func, Op::Call));
    called.filter(|name| module.function(name).is_some() && !launched.contains(name)).collect()
}

fn masked_forms(module: &mut Module) -> impl Iterator<Item = &mut Function> {
    let forms = forms(module);
    let is_masked = move |func: &&mut Function| forms.contains(&func.name) && func.name.ends_with('m');
    module.functions.iter_mut().filter(is_masked)
}

fn change_signatures(module: &mut Module, mut change: impl FnMut(&str, &mut heddle_ir::module::Signature)) {
    for func in &mut module.functions {
        change(&func.name, &mut func.signature);
        for declaration in func.callees.values_mut() {
            let Declaration { name, signature, .. } = Arc::make_mut(declaration);
            change(name, signature);
        }
    }
}

fn calls(func: &Function) -> Vec<Inst> {
    let all = func.blocks().flat_map(|block| func.block_insts(block));
    all.filter(|&inst| matches!(func.inst(inst).detail, Detail::Call(_))).collect()
}

/// Does something to the branch at the start of a function.
fn enter_by(func: &mut Function, spoil: impl FnOnce(&mut Function, Inst)) {
    let branch = func.terminator(func.entry());
    if let Some(branch) =
        branch.filter(|&it| func.inst(it).op == Op::Br && func.inst(it).targets().len() == 2)
    {
        spoil(func, branch);
    }
}

/// True if a branch queries the number of remaining work-items of the group.
fn asks_for_places(func: &Function, branch: Inst) -> bool {
    let mut work = func.inst(branch).args.to_vec();
    while let Some(value) = work.pop() {
        let Some(inst) = func.def_inst(value) else { continue };
        match func.inst(inst).op {
            Op::Broadcast => return true,
            Op::And | Op::Icmp | Op::Sub | Op::Add | Op::Mul => work.extend(&func.inst(inst).args),
            _ => {}
        }
    }
    false
}

/// Maximum number of programs until a fault must show.
const MOST_PROGRAMS: u64 = 20_000;

/// Programs that show rare faults.
const KNOWN: &[(&str, u64)] = &[];

#[test]
fn every_fault_is_caught() {
    all_are_caught(FAULTS.iter().copied(), KNOWN, MOST_PROGRAMS, |seed, specialized| {
        let faults = WideningFaults { specialized, ..WideningFaults::NONE };
        widens_with(&generate(seed, &GeneratorProfile::default()), &faults).is_err()
    });
}
