//! Lowering of calls: parameters are passed word by word.

use super::body::FunctionLowering;
use super::indirect::dispatcher_declaration;
use super::{LowerResult, layout, refuse};
use crate::check::{CallPrototype, ResolvedInst, ResolvedOperand, VarRef};
use crate::module::PtxItem;
use crate::names::Symbol;
use crate::words::Word;
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use std::sync::Arc;

impl FunctionLowering<'_, '_, '_> {
    pub(crate) fn call(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let (results, rest): (&[ResolvedOperand], &[ResolvedOperand]) = match &inst.args[..] {
            [ResolvedOperand::List(results), rest @ ..] if !rest.is_empty() => (results, rest),
            all => (&[], all),
        };
        let Some((target, rest)) = rest.split_first() else {
            return refuse("the callee is missing", "name a function or a register with its address");
        };
        let args: &[ResolvedOperand] = match rest.first() {
            Some(ResolvedOperand::List(args)) => args,
            _ => &[],
        };
        let (mut values, mut lacks_results) = (Vec::new(), false);
        let (name, callee, declaration) = match target {
            ResolvedOperand::Function(index) => {
                let PtxItem::Function(callee) = &self.cx.module.items[*index] else {
                    return refuse("the callee is no function", "call one");
                };
                let text = self.cx.module.names.text(callee.name);
                let name = format!("`{text}`");
                if callee.is_kernel {
                    return refuse(format!("{name} is a kernel, and kernels are launched"), "call a `.func`");
                }
                let declaration = match self.cx.declarations.get(index) {
                    Some(Ok(declaration)) => Arc::clone(declaration),
                    Some(Err(refusal)) => return Err(refusal.clone()),
                    None => return refuse(format!("{name} is not declared"), "declare it"),
                };
                // Some compilers declare a function with a result and define it without: the result is 0.
                lacks_results =
                    callee.returns.is_empty() && self.declares_results(callee.name, results.len());
                (name, CallPrototype { returns: &callee.returns, params: &callee.params }, declaration)
            }
            target => {
                let Some(&ResolvedOperand::Prototype(index)) = rest.last() else {
                    return refuse(
                        "the call through a register has no prototype",
                        "write `.callprototype` in front of it, and its name behind the arguments",
                    );
                };
                let prototype = self.body.prototypes[index];
                values.push(self.read(target, Word::U64)?);
                ("the prototype".to_string(), prototype, Arc::new(dispatcher_declaration(prototype)?))
            }
        };
        if args.len() != callee.params.len() || results.len() != callee.returns.len() && !lacks_results {
            return refuse(
                format!(
                    "{name} takes {} and returns {}, but the call passes {} and expects {}",
                    callee.params.len(),
                    callee.returns.len(),
                    args.len(),
                    results.len()
                ),
                "pass what it declares",
            );
        }
        for (arg, param) in args.iter().zip(callee.params) {
            let (scalar, count) = layout::param_words(param)?;
            match arg {
                ResolvedOperand::Variable(VarRef::Local(var), 0) if self.params.contains_key(var) => {
                    let words = self.params[var];
                    if u64::from(words.scalar.bytes()) * words.count as u64
                        != u64::from(scalar.bytes()) * count
                    {
                        return refuse(
                            format!("an argument of {name} has another size than its parameter"),
                            "pass one of that size",
                        );
                    }
                    let step = u64::from(scalar.bytes());
                    for index in 0..count {
                        let value = self.word_at(words, index * step, scalar);
                        values.push(value);
                    }
                }
                arg => {
                    let value = self.read(arg, param.ty)?;
                    values.push(self.converted(value, scalar, false));
                }
            }
        }
        for (value, param) in values.iter_mut().zip(&declaration.signature.params) {
            *value = self.converted(*value, param.ty.scalar(), false);
        }
        let given = self.emit.call(&declaration, &values);
        let mut given = given.into_iter();
        for dest in results.iter().filter(|_| lacks_results) {
            match dest {
                ResolvedOperand::Variable(VarRef::Local(var), 0) if self.params.contains_key(var) => {
                    let words = self.params[var];
                    for index in 0..words.count {
                        let zero = self.emit.int(words.scalar, 0);
                        self.set(words.first + index, zero);
                    }
                }
                dest => {
                    let zero = self.emit.int32(0);
                    self.write(dest, zero, false);
                }
            }
        }
        for (dest, result) in results.iter().zip(callee.returns) {
            let (scalar, count) = layout::param_words(result)?;
            let values: Vec<_> = given.by_ref().take(count as usize).collect();
            match dest {
                ResolvedOperand::Variable(VarRef::Local(var), 0) if self.params.contains_key(var) => {
                    let words = self.params[var];
                    if words.scalar.bits() != scalar.bits() || words.count as u64 != count {
                        return refuse(
                            format!("what {name} gives has another layout than where it is put"),
                            "declare both alike",
                        );
                    }
                    for (index, value) in values.into_iter().enumerate() {
                        let value = self.converted(value, words.scalar, false);
                        self.set(words.first + index, value);
                    }
                }
                dest => {
                    if let Some(&value) = values.first() {
                        self.write(dest, value, result.ty.is_signed());
                    }
                }
            }
        }
        Ok(())
    }

    /// True if a function of this name is declared with so many results.
    fn declares_results(&self, name: Symbol, count: usize) -> bool {
        self.cx.module.items.iter().any(|item| {
            matches!(item, PtxItem::Function(function)
                if function.name == name && function.body.is_none() && count > 0 && function.returns.len() == count)
        })
    }

    /// Lowers `trap`, which ends the program, to a call of `llvm.trap`; runners and back ends know it.
    pub(crate) fn trap(&mut self) {
        let signature = Signature { effects: Effects::ANY, ..Signature::new(&[], &[]) };
        let declaration = Declaration { name: "llvm.trap".into(), kind: FunctionKind::Function, signature };
        self.emit.call(&Arc::new(declaration), &[]);
    }
}
