//! Calls through addresses of functions.
//!
//! The functions whose address is taken are numbered in source order, and an address is a number, not a location in memory. A
//! call through a register calls the *dispatcher* of its prototype, which branches to the function:
//!
//! ```text
//!     func @ptx.dispatch.i64.i32.to.i32(i64 v0, i64 v1, i32 v2) -> i32
//!     block0:  switch v0, block3 [0xf000000000000010: block1, 0xf000000000000020: block2]
//!     block1:  v3 = call @f(v1, v2);  ret v3
//!     block2:  v4 = call @g(v1, v2);  ret v4
//!     block3:  call @heddle_no_function(v0);  ret 0
//! ```
//!
//! So lanes that agree call together, others one function after the other, by the divergence of an ordinary branch.
//! Decision: one dispatcher a prototype instead of a switch at each call, so code grows by calls plus functions, not by their
//! product.

use super::{LowerOptions, LowerResult, LoweringContext, layout};
use crate::check::{CallPrototype, GlobalRef, GlobalScope};
use crate::module::{PtxInitializer, PtxInstruction, PtxItem, PtxModule, PtxOperand, PtxStatement};
use crate::names::Symbol;
use heddle_ir::builder::{Builder, InsertPoint};
use heddle_ir::inst::{Detail, InstData, SwitchDetail};
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use heddle_ir::{Block, Constant, Function, Op, Scalar, Type, Value};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Address before the first function's: no machine maps memory there, so access through a function pointer faults.
const BASE: u64 = 0xf000_0000_0000_0000;
/// Distance between addresses, as the alignment of code.
const STEP: u64 = 16;
/// Prefix of the names of dispatchers.
const DISPATCHER: &str = "ptx.dispatch";
/// Function of the driver that ends a launch which calls through an address of no function.
pub const NO_FUNCTION: &str = "heddle_no_function";

/// Numbers of the functions whose address is taken.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct FunctionAddresses {
    /// Item of each function, in order of number.
    items: Vec<usize>,
    numbers: FxHashMap<usize, u64>,
}

impl FunctionAddresses {
    /// Collects the functions that instructions and initial values name other than as a callee.
    pub(crate) fn new(module: &PtxModule<'_>, globals: &GlobalScope) -> FunctionAddresses {
        let mut addresses = FunctionAddresses::default();
        let mut take = |name: Symbol| {
            if let Some(&GlobalRef::Function(index)) = globals.by_name.get(&name) {
                let next = addresses.items.len() as u64 + 1;
                addresses.numbers.entry(index).or_insert_with(|| {
                    addresses.items.push(index);
                    next
                });
            }
        };
        for item in &module.items {
            match item {
                PtxItem::Variable(variable) => {
                    for part in variable.init.iter().flatten() {
                        if let PtxInitializer::Address { name, .. } = part {
                            take(*name);
                        }
                    }
                }
                PtxItem::Function(function) => {
                    for statement in function.body.iter().flatten() {
                        if let PtxStatement::Instruction(instruction) = statement {
                            take_operands(module, instruction, &mut take);
                        }
                    }
                }
                _ => {}
            }
        }
        addresses
    }

    /// Returns the address of a function.
    pub(crate) fn of_item(&self, index: usize) -> u64 {
        self.numbers.get(&index).map_or(0, |number| BASE + number * STEP)
    }
}

fn take_operands(module: &PtxModule<'_>, instruction: &PtxInstruction<'_>, take: &mut impl FnMut(Symbol)) {
    let mut operands: Vec<&PtxOperand<'_>> = instruction.operands.iter().collect();
    if module.names.text(instruction.mnemonic) == "call" {
        let has_results = matches!(operands[..], [PtxOperand::List(_), _, ..]);
        operands.remove(usize::from(has_results).min(operands.len().saturating_sub(1)));
    }
    // Operands nest in vectors and lists by the parser's limit at most.
    while let Some(operand) = operands.pop() {
        match operand {
            PtxOperand::Name(name) => take(*name),
            PtxOperand::Vector(parts) | PtxOperand::List(parts) => operands.extend(parts),
            _ => {}
        }
    }
}

/// Declares the dispatcher of a prototype: the address, the parameters, the results.
pub(crate) fn dispatcher_declaration(prototype: CallPrototype<'_, '_>) -> LowerResult<Declaration> {
    let mut signature = layout::signature_of(prototype.params, prototype.returns, false)?;
    let mut name = DISPATCHER.to_string();
    for param in &signature.params {
        let _ = write!(name, ".{}", param.ty);
    }
    name.push_str(".to");
    for result in &signature.results {
        let _ = write!(name, ".{}", result.ty);
    }
    signature.params.insert(0, heddle_ir::module::Param::new(Type::Scalar(Scalar::I64)));
    Ok(Declaration { name, kind: FunctionKind::Function, signature })
}

/// Defines the dispatchers that the lowered functions call, among the functions that were lowered.
pub(crate) fn define_dispatchers(
    context: &LoweringContext<'_, '_>,
    options: LowerOptions,
    module: &mut heddle_ir::Module,
) {
    let mut called: Vec<Arc<Declaration>> = Vec::new();
    for callee in module.functions.iter().flat_map(|func| func.callees.values()) {
        if callee.name.starts_with(DISPATCHER) && called.iter().all(|known| known.name != callee.name) {
            called.push(Arc::clone(callee));
        }
    }
    if called.is_empty() {
        return;
    }
    let is_defined = |item: usize| {
        let PtxItem::Function(function) = &context.module.items[item] else { return false };
        let name = context.module.names.text(function.name);
        !function.is_kernel && module.functions.iter().any(|func| func.name == name)
    };
    let targets: Vec<(u64, &Arc<Declaration>)> = context
        .addresses
        .items
        .iter()
        .filter(|&&item| is_defined(item))
        .filter_map(|&item| {
            let declaration = context.declarations.get(&item)?.as_ref().ok()?;
            Some((context.addresses.of_item(item), declaration))
        })
        .collect();
    let dispatchers: Vec<Function> = called
        .iter()
        .map(|declaration| {
            let of_prototype = targets.iter().filter(|(_, target)| is_target(declaration, target));
            dispatcher(declaration, of_prototype.copied(), options)
        })
        .collect();
    module.functions.extend(dispatchers);
}

/// True if a function has the prototype of a dispatcher.
fn is_target(dispatcher: &Declaration, target: &Declaration) -> bool {
    let (own, its) = (&dispatcher.signature, &target.signature);
    let params = own.params.iter().skip(1).map(|param| param.ty);
    let results = own.results.iter().map(|result| result.ty);
    params.eq(its.params.iter().map(|param| param.ty))
        && results.eq(its.results.iter().map(|result| result.ty))
}

fn dispatcher<'a>(
    declaration: &Declaration,
    targets: impl Iterator<Item = (u64, &'a Arc<Declaration>)>,
    options: LowerOptions,
) -> Function {
    let mut func = Function::new(declaration.name.clone(), declaration.signature.clone());
    let params = func.params().to_vec();
    let (address, args) = (params[0], &params[1..]);
    let (entry, default) = (func.append_block(), func.new_block());
    let mut switch = SwitchDetail { cases: Vec::new(), targets: vec![default] };
    for (number, target) in targets {
        let block = func.append_block();
        switch.cases.push(number.into());
        switch.targets.push(block);
        let results = call(&mut func, block, target, args);
        end(&mut func, block, InstData::plain(Op::Ret, results));
    }
    func.layout.append_block(default);
    end(&mut func, entry, InstData::new(Op::Switch, [address], Detail::Switch(Box::new(switch))));
    let (name, given) = match options.launch_objects {
        true => (NO_FUNCTION, &params[..1]),
        false => ("llvm.trap", &params[..0]),
    };
    let types: Vec<Type> = given.iter().map(|&value| func.value_type(value)).collect();
    let signature = Signature { effects: Effects::ANY, ..Signature::new(&types, &[]) };
    let handler = Declaration { name: name.into(), kind: FunctionKind::Function, signature };
    call(&mut func, default, &Arc::new(handler), given);
    let results = declaration.signature.results.iter().map(|result| result.ty.scalar());
    let nothing: Vec<Value> = results.map(|scalar| func.make_const(Constant::Scalar(scalar, 0))).collect();
    end(&mut func, default, InstData::plain(Op::Ret, nothing));
    func
}

fn call(func: &mut Function, block: Block, callee: &Arc<Declaration>, args: &[Value]) -> Vec<Value> {
    let number = func.make_callee(callee);
    let data = InstData::new(Op::Call, args.iter().copied(), Detail::Call(number));
    let inst = Builder::new(func, InsertPoint::End(block)).try_inst(data, None);
    inst.map(|inst| func.results(inst).to_vec()).unwrap_or_default()
}

fn end(func: &mut Function, block: Block, data: InstData) {
    let inst = func.make_inst(data, &[]);
    func.layout.append_inst(inst, block);
}
