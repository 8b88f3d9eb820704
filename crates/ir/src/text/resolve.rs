//! Resolver: syntax tree to module. Binds names, types literals and creates instructions.
//!
//! A use may precede its definition in the text, so types are computed on demand. A result type depends on at most
//! one operand's type, so demands form chains, which are followed without recursion.

use super::context::{self, LiteralContext};
use super::errors::{Reported, SyntaxErrors, short};
use super::lexer::{TokenKind, TokenizedText};
use super::literal::{read_scalar, vector};
use super::names::read_name;
use super::syntax::*;
use crate::constant::Constant;
use crate::function::{Function, OriginData};
use crate::inst::{Access, Detail, InstData, LaunchDetail, SwitchDetail};
use crate::module::{Declaration, Module, Signature};
use crate::ops::{Op, ResultConstraint};
use crate::types::{Scalar, Space, Type};
use crate::typing::{ResultTypes, TypeError, caller_type, check_count, result_types, table_result_types};
use crate::{Block, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// Builds the module; errors are reported and leave gaps.
pub(super) fn resolve(text: &TokenizedText<'_>, tree: &SyntaxTree, errors: &mut SyntaxErrors) -> Module {
    let mut module = Module {
        files: tree.files.iter().cloned().collect(),
        facts: tree.facts.iter().cloned().collect(),
        ..Module::default()
    };
    for used in &tree.file_uses {
        if used.number as usize >= tree.files.len() {
            errors.push(text.span(used.token), format!("no file{}", used.number));
        }
    }
    for used in &tree.fact_uses {
        if used.number as usize >= tree.facts.len() {
            errors.push(text.span(used.token), format!("no fact{}", used.number));
        }
    }
    let names = SymbolTable::new(text, tree, errors);
    for item in &tree.globals {
        for (name, token) in &item.uses {
            names.global(text, errors, name, *token);
        }
        module.globals.extend(item.global.clone());
    }
    for item in &tree.functions {
        if errors.is_full() {
            break;
        }
        match (&item.body, &item.signature) {
            (Some(body), Some(signature)) => {
                let mut func = Function::without_params(&item.name, signature.clone());
                func.kind = item.kind;
                let resolver = Resolver {
                    text,
                    names: &names,
                    errors: &mut *errors,
                    signature,
                    body,
                    slots: vec![ValueTyping::Free; body.value_bound as usize],
                    unknown: FxHashSet::default(),
                    func,
                };
                module.functions.push(resolver.function());
            }
            (None, Some(_)) => module.declarations.extend(names.callees[&*item.name].clone()),
            _ => {}
        }
    }
    module
}

/// Symbols of the module. None is an item with a syntax error, about which nothing more is reported.
struct SymbolTable<'t> {
    globals: FxHashMap<&'t str, Option<Space>>,
    callees: FxHashMap<&'t str, Option<Arc<Declaration>>>,
}

impl<'t> SymbolTable<'t> {
    fn new(text: &TokenizedText<'_>, tree: &'t SyntaxTree, errors: &mut SyntaxErrors) -> SymbolTable<'t> {
        let mut first: FxHashMap<&str, u32> = FxHashMap::default();
        let mut names = SymbolTable { globals: FxHashMap::default(), callees: FxHashMap::default() };
        let functions = tree.functions.iter().map(|item| (&*item.name, item.token));
        let globals = tree.globals.iter().map(|item| (&*item.name, item.token));
        let mut items: Vec<_> = functions.chain(globals).collect();
        items.sort_by_key(|&(_, token)| token);
        for (name, token) in items {
            let earlier = *first.entry(name).or_insert(token);
            if earlier != token && !errors.is_full() {
                let shown = short(text.text(token));
                let message = format!("{shown} is already defined on line {}", text.line(earlier));
                errors.push(text.span(token), message);
            }
        }
        for item in &tree.globals {
            names.globals.insert(&item.name, item.global.as_ref().map(|global| global.space));
        }
        for item in &tree.functions {
            let declare = |signature: &Signature| {
                Arc::new(Declaration {
                    name: item.name.clone(),
                    kind: item.kind,
                    signature: signature.clone(),
                })
            };
            names.callees.insert(&item.name, item.signature.as_ref().map(declare));
        }
        names
    }

    fn global(
        &self,
        text: &TokenizedText<'_>,
        errors: &mut SyntaxErrors,
        name: &str,
        token: u32,
    ) -> Option<Space> {
        if let Some(&space) = self.globals.get(name) {
            return space;
        }
        let shown = short(text.text(token));
        let message = match self.callees.contains_key(name) {
            true => format!("{shown} is a function: it has no address"),
            false => format!("no global {shown}"),
        };
        errors.push(text.span(token), message);
        None
    }
}

/// State of a value's type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueTyping {
    /// Undefined.
    Free,
    /// Defined by the instruction of this index; the type is not computed yet.
    Pending(u32),
    /// Pending, with the computation under way.
    Sought,
    /// Known.
    Typed(Type),
    /// Unknown because of an error that is already reported.
    Broken,
}

/// Result types of an instruction, if they can be computed yet.
enum ResultTyping {
    Types(ResultTypes),
    /// Depends on the type of this value, which must be computed first.
    After(u32),
    Broken,
}

struct Resolver<'p, 's> {
    text: &'p TokenizedText<'s>,
    names: &'p SymbolTable<'p>,
    errors: &'p mut SyntaxErrors,
    signature: &'p Signature,
    body: &'p BodyItem,
    slots: Vec<ValueTyping>,
    /// Values already reported as undefined.
    unknown: FxHashSet<u32>,
    func: Function,
}

type Resolved<T> = Result<T, Reported>;

impl Resolver<'_, '_> {
    fn error(&mut self, token: u32, message: impl Into<String>) -> Reported {
        self.errors.push(self.text.span(token), message)
    }

    fn function(mut self) -> Function {
        let body = self.body;
        self.define_values();
        self.define_blocks();
        // Constants get numbers above all that occur in the text.
        self.func.reserve_values(self.slots.len());
        for item in &body.blocks {
            if let Some(predicate) = &item.predicate
                && let Ok(value) = self.operand(predicate, Some(Type::I1))
            {
                self.func.set_predicate(item.block, Some(value));
            }
            for index in item.insts.clone() {
                if self.errors.is_full() {
                    return self.func;
                }
                // An error is reported already; the remaining instructions are still checked.
                let _ = self.instruction(index, item.block);
            }
        }
        self.func
    }

    // Definitions.

    fn define_values(&mut self) {
        let body = self.body;
        let mut is_complete = true;
        for (index, (numbered, param)) in body.params.iter().zip(&self.signature.params).enumerate() {
            is_complete &= self.define(*numbered, ValueTyping::Typed(param.ty));
            if is_complete {
                self.func.define_param(index as u32, Value::from_u32(numbered.number));
            }
        }
        for (index, item) in body.insts.iter().enumerate() {
            for &numbered in &item.results {
                let slot = if item.spec.is_some() {
                    ValueTyping::Pending(index as u32)
                } else {
                    ValueTyping::Broken
                };
                self.define(numbered, slot);
            }
        }
    }

    fn define(&mut self, defined: EntityToken, slot: ValueTyping) -> bool {
        let here = &mut self.slots[defined.number as usize];
        if *here == ValueTyping::Free {
            *here = slot;
            return true;
        }
        *here = ValueTyping::Broken;
        if self.errors.is_full() {
            return false;
        }
        let body = self.body;
        let results = body.insts.iter().flat_map(|item| &item.results);
        let earlier = body.params.iter().chain(results).find(|other| other.number == defined.number);
        let line = earlier.map_or(0, |earlier| self.text.line(earlier.token));
        self.error(defined.token, format!("v{} is already defined on line {line}", defined.number));
        false
    }

    fn define_blocks(&mut self) {
        let body = self.body;
        let mut places: Vec<Option<u32>> = vec![None; body.block_bound as usize];
        for item in &body.blocks {
            let place = &mut places[item.block.as_u32() as usize];
            match *place {
                None => {
                    *place = Some(item.token);
                    self.func.reserve_block(item.block);
                    self.func.layout.append_block(item.block);
                }
                Some(_) if self.errors.is_full() => return,
                Some(earlier) => {
                    let line = self.text.line(earlier);
                    self.error(item.token, format!("{} is already defined on line {line}", item.block));
                }
            }
        }
        if body.is_partial {
            return;
        }
        for used in &body.block_uses {
            if !matches!(places.get(used.number as usize), Some(Some(_))) {
                self.error(used.token, format!("no block{}", used.number));
            }
        }
    }

    // Types.

    /// Returns the type of a value, if it can be computed; does not report undefined values.
    fn value_type(&mut self, value: u32) -> Option<Type> {
        let mut chain: SmallVec<[u32; 8]> = SmallVec::new();
        match self.slots.get(value as usize) {
            Some(&ValueTyping::Typed(ty)) => return Some(ty),
            Some(&ValueTyping::Pending(inst)) => self.seek(inst, &mut chain),
            _ => return None,
        }
        while let Some(&inst) = chain.last() {
            match self.known_result_types(inst) {
                ResultTyping::Types(types) => {
                    self.settle(inst, &types);
                    chain.pop();
                }
                ResultTyping::Broken => {
                    self.settle(inst, &[]);
                    chain.pop();
                }
                ResultTyping::After(next) => match self.slots.get(next as usize) {
                    Some(&ValueTyping::Pending(next)) => self.seek(next, &mut chain),
                    Some(ValueTyping::Sought) => {
                        let token = self.body.insts[inst as usize].token;
                        self.error(
                            token,
                            format!("the type of v{next} depends on itself: write it before an operand"),
                        );
                        self.settle(inst, &[]);
                        chain.pop();
                    }
                    _ => {
                        self.settle(inst, &[]);
                        chain.pop();
                    }
                },
            }
        }
        match self.slots[value as usize] {
            ValueTyping::Typed(ty) => Some(ty),
            _ => None,
        }
    }

    fn seek(&mut self, inst: u32, chain: &mut SmallVec<[u32; 8]>) {
        chain.push(inst);
        self.replace_slots(inst, |_, slot| match slot {
            ValueTyping::Pending(_) => ValueTyping::Sought,
            slot => slot,
        });
    }

    fn settle(&mut self, inst: u32, types: &[Type]) {
        self.replace_slots(inst, |index, slot| match slot {
            ValueTyping::Sought => types.get(index).map_or(ValueTyping::Broken, |&ty| ValueTyping::Typed(ty)),
            slot => slot,
        });
    }

    fn replace_slots(&mut self, inst: u32, replace: impl Fn(usize, ValueTyping) -> ValueTyping) {
        let body = self.body;
        for (index, result) in body.insts[inst as usize].results.iter().enumerate() {
            let slot = &mut self.slots[result.number as usize];
            *slot = replace(index, *slot);
        }
    }

    /// Computes the result types from the syntax alone; operands are checked later.
    fn known_result_types(&self, inst: u32) -> ResultTyping {
        let Some(spec) = &self.body.insts[inst as usize].spec else { return ResultTyping::Broken };
        let gives = spec.op.info().gives;
        let controlling = match gives {
            ResultConstraint::Callee => return self.callee_result_types(spec),
            gives if context::depends_on_t(gives) => {
                let Some(operand) = anchor(spec) else { return ResultTyping::Broken };
                match (operand.ty, operand.form) {
                    (Some(ty), _) => Some(ty),
                    (None, OperandForm::Value(value)) => match self.slots.get(value as usize) {
                        Some(&ValueTyping::Typed(ty)) => Some(ty),
                        Some(ValueTyping::Pending(_) | ValueTyping::Sought) => {
                            return ResultTyping::After(value);
                        }
                        _ => return ResultTyping::Broken,
                    },
                    (None, OperandForm::Global(token)) => {
                        let name = read_name(self.text.text(token)).unwrap_or_default();
                        match self.names.globals.get(&*name) {
                            Some(&Some(space)) => Some(Type::ptr(space)),
                            _ => return ResultTyping::Broken,
                        }
                    }
                    (None, OperandForm::Literal(_)) => return ResultTyping::Broken,
                }
            }
            _ => None,
        };
        ResultTyping::Types(table_result_types(gives, controlling, spec.written))
    }

    fn callee_result_types(&self, spec: &InstSpec) -> ResultTyping {
        let (callee, lanes) = match &spec.detail {
            DetailItem::Call(callee) => (*callee, None),
            DetailItem::Launch { callee, brush, .. } => {
                let lanes = brush.iter().fold(1u32, |lanes, &dim| lanes.saturating_mul(dim));
                (*callee, Some(lanes.try_into().unwrap_or(u16::MAX)))
            }
            _ => return ResultTyping::Broken,
        };
        let name = read_name(self.text.text(callee)).unwrap_or_default();
        match self.names.callees.get(&*name) {
            Some(Some(callee)) => {
                let results = callee.signature.results.iter();
                ResultTyping::Types(
                    results.map(|one| caller_type(one.ty, one.shape.as_ref(), lanes)).collect(),
                )
            }
            _ => ResultTyping::Broken,
        }
    }

    // Operands.

    /// Returns the type of an operand that is not a bare literal.
    fn operand_type(&mut self, operand: &OperandItem) -> Resolved<Type> {
        let found = match operand.form {
            OperandForm::Value(value) => match self.value_type(value) {
                Some(ty) => ty,
                None => {
                    let is_free =
                        self.slots.get(value as usize).is_none_or(|&slot| slot == ValueTyping::Free);
                    if is_free && !self.body.is_partial && self.unknown.insert(value) {
                        self.error(operand.token, format!("no value v{value}"));
                    }
                    return Err(Reported);
                }
            },
            OperandForm::Global(token) => {
                let name = read_name(self.text.text(token)).unwrap_or_default();
                let space = self.names.global(self.text, self.errors, &name, token);
                Type::ptr(space.ok_or(Reported)?)
            }
            OperandForm::Literal(_) => return operand.ty.ok_or(Reported),
        };
        match operand.ty {
            Some(ty) if ty != found => {
                Err(self.error(operand.token, format!("the operand is {found}, not {ty}")))
            }
            _ => Ok(found),
        }
    }

    /// Resolves an operand; `context` is the type of a bare literal.
    fn operand(&mut self, operand: &OperandItem, context: Option<Type>) -> Resolved<Value> {
        match operand.form {
            OperandForm::Value(value) => {
                self.operand_type(operand)?;
                Ok(Value::from_u32(value))
            }
            OperandForm::Global(token) => {
                let ty = self.operand_type(operand)?;
                let Scalar::Ptr(space) = ty.scalar() else { return Err(Reported) };
                let name = read_name(self.text.text(token)).unwrap_or_default();
                Ok(self.func.make_const(Constant::Address(space, name.into())))
            }
            OperandForm::Literal(token) => match operand.ty.or(context) {
                Some(ty) => {
                    let constant = self.literal(token, ty)?;
                    Ok(self.func.make_const(constant))
                }
                None => {
                    let message =
                        "the context does not fix the type of this literal: write the type before it";
                    Err(self.errors.push_expecting(self.text.span(operand.token), message, ["a type"]))
                }
            },
        }
    }

    /// Parses a literal of this type that starts at a token.
    fn literal(&mut self, token: u32, ty: Type) -> Resolved<Constant> {
        let scalar = ty.scalar();
        let text = self.text;
        let read = |resolver: &mut Self, token: u32| {
            read_scalar(text.text(token), scalar).map_err(|message| resolver.error(token, message))
        };
        match (text.text(token), ty.lanes()) {
            ("poison", _) => Ok(Constant::Poison(ty)),
            ("splat", Some(_)) => Ok(Constant::splat(ty, read(self, token + 1)?)),
            ("<", Some(lanes)) => {
                let mut bits = Vec::new();
                let mut next = token + 1;
                while text.kind(next) != TokenKind::Sign(b'>') {
                    if !matches!(text.kind(next), TokenKind::Sign(_) | TokenKind::Newline) {
                        bits.push(read(self, next)?);
                    }
                    next += 1;
                }
                if bits.len() != usize::from(lanes) {
                    return Err(self.error(token, format!("{ty} has {lanes} lanes, not {}", bits.len())));
                }
                Ok(vector(ty, &bits))
            }
            ("splat" | "<", None) => {
                Err(self.error(token, format!("a literal of type {ty} is expected, not of a vector")))
            }
            (_, None) => Ok(Constant::Scalar(scalar, read(self, token)?)),
            (_, Some(_)) => {
                let message = format!("a literal of type {ty} is written `splat …` or `<…>`");
                Err(self.errors.push_expecting(text.span(token), message, ["`splat`", "`<`"]))
            }
        }
    }

    // Instructions.

    fn instruction(&mut self, index: usize, block: Block) -> Resolved<()> {
        let body = self.body;
        let item = &body.insts[index];
        let spec = item.spec.as_deref().ok_or(Reported)?;
        let callee = match &spec.detail {
            DetailItem::Call(token) | DetailItem::Launch { callee: token, .. } => Some(self.callee(*token)?),
            _ => None,
        };
        let mut data = InstData::new(spec.op, [], Detail::None);
        let mut lanes = None;
        if let (DetailItem::Launch { brush, masked, .. }, Some(callee)) = (&spec.detail, &callee) {
            let callee = self.func.make_callee(callee);
            let launch = LaunchDetail { callee, brush: brush.clone(), masked: *masked };
            lanes = Some(launch.lanes().try_into().unwrap_or(u16::MAX));
            data.detail = Detail::Launch(Box::new(launch));
        }
        if let Err(error) = check_count(&data, spec.operands.len(), callee.as_deref()) {
            return Err(self.error(item.token, error.to_string()));
        }

        let controlling = match anchor(spec) {
            Some(operand) => Some(self.operand_type(operand)?),
            None => None,
        };
        let context = LiteralContext::new(
            spec.op,
            controlling,
            spec.written,
            callee.as_deref(),
            lanes,
            &self.signature.results,
        );
        let mut is_broken = false;
        for (index, operand) in spec.operands.iter().enumerate() {
            if spec.op == Op::Ret && is_bare(operand) && context.operand(index).is_none() {
                let gives = count_values(self.signature.results.len());
                return Err(self.error(operand.token, format!("the function returns {gives}")));
            }
            match self.operand(operand, context.operand(index)) {
                Ok(value) => data.args.push(value),
                // One report of a literal without type suffices: its fix may type the others as well.
                Err(Reported) if is_bare(operand) && context.operand(index).is_none() => {
                    return Err(Reported);
                }
                Err(Reported) => is_broken = true,
            }
        }
        if is_broken {
            return Err(Reported);
        }
        let types: SmallVec<[Type; 4]> =
            spec.operands.iter().zip(&data.args).map(|(operand, &arg)| self.type_of(operand, arg)).collect();
        self.detail(spec, &mut data, callee.as_ref(), &types)?;
        data.flags = spec.flags;
        if spec.loc.is_some() || !spec.tags.is_empty() {
            data.origin = self.func.make_origin(OriginData { loc: spec.loc, tags: spec.tags.clone() });
        }

        let results = match result_types(&data, &types, spec.written, callee.as_deref()) {
            Ok(results) => results,
            Err(error) => {
                let token = match &error {
                    TypeError::Operand { index, .. } => spec.operands.get(index - 1).map(|one| one.token),
                    _ => None,
                };
                return Err(self.error(token.unwrap_or(item.token), error.to_string()));
            }
        };
        if results.len() != item.results.len() {
            let token = item.results.first().map_or(item.token, |result| result.token);
            let message = format!(
                "`{}` gives {}, but {} named here",
                spec.op,
                count_values(results.len()),
                match item.results.len() {
                    0 => "none is".to_string(),
                    1 => "1 is".to_string(),
                    count => format!("{count} are"),
                }
            );
            return Err(self.error(token, message));
        }
        if item.results.iter().any(|result| self.slots[result.number as usize] == ValueTyping::Broken) {
            return Err(Reported);
        }
        let named: SmallVec<[(Value, Type); 1]> = item
            .results
            .iter()
            .zip(&results)
            .map(|(result, &ty)| (Value::from_u32(result.number), ty))
            .collect();
        let inst = self.func.make_inst_named(data, &named);
        self.func.layout.append_inst(inst, block);
        Ok(())
    }

    /// Returns the type of a resolved operand.
    fn type_of(&self, operand: &OperandItem, arg: Value) -> Type {
        match operand.form {
            OperandForm::Value(value) => match self.slots[value as usize] {
                ValueTyping::Typed(ty) => ty,
                _ => unreachable!("{arg} was typed when it became an operand"),
            },
            _ => self.func.value_type(arg),
        }
    }

    fn callee(&mut self, token: u32) -> Resolved<Arc<Declaration>> {
        let name = read_name(self.text.text(token)).unwrap_or_default();
        if let Some(callee) = self.names.callees.get(&*name) {
            return callee.clone().ok_or(Reported);
        }
        let shown = short(self.text.text(token));
        Err(match self.names.globals.contains_key(&*name) {
            true => self.error(token, format!("{shown} is a global: it cannot be called")),
            false => self.error(token, format!("no function {shown}")),
        })
    }

    fn detail(
        &mut self,
        spec: &InstSpec,
        data: &mut InstData,
        callee: Option<&Arc<Declaration>>,
        types: &[Type],
    ) -> Resolved<()> {
        let natural = context::natural_align(spec.op, types, spec.written);
        data.detail = match &spec.detail {
            DetailItem::Known(detail) => detail.clone(),
            DetailItem::Access(access) => Detail::Access(self.access(access, natural)?),
            DetailItem::Transfer([write, read]) => {
                Detail::Transfer(Box::new((self.access(write, natural)?, self.access(read, natural)?)))
            }
            DetailItem::Rmw(rmw, access) => Detail::Rmw(*rmw, self.access(access, natural)?),
            DetailItem::CompareExchange(access, failure) => {
                Detail::CompareExchange(self.access(access, natural)?, *failure)
            }
            DetailItem::Switch(cases, targets) => {
                let scalar = types.first().ok_or(Reported)?.scalar();
                let mut bits = Vec::with_capacity(cases.len());
                for &case in cases {
                    match read_scalar(self.text.text(case), scalar) {
                        Ok(case) => bits.push(case),
                        Err(message) => return Err(self.error(case, message)),
                    }
                }
                Detail::Switch(Box::new(SwitchDetail { cases: bits, targets: targets.clone() }))
            }
            DetailItem::Call(_) => Detail::Call(self.func.make_callee(callee.ok_or(Reported)?)),
            DetailItem::Launch { .. } => return Ok(()),
        };
        Ok(())
    }

    fn access(&mut self, item: &AccessItem, natural: u32) -> Resolved<Access> {
        let base = match &item.base {
            Some(base) => Some(self.operand(base, None)?),
            None => None,
        };
        Ok(Access {
            align: item.align.unwrap_or(natural),
            dereferenceable: item.dereferenceable,
            base,
            atomic: item.atomic,
        })
    }
}

fn count_values(count: usize) -> String {
    match count {
        0 => "no value".to_string(),
        1 => "1 value".to_string(),
        count => format!("{count} values"),
    }
}

/// Returns the operand that fixes `T`.
fn anchor(spec: &InstSpec) -> Option<&OperandItem> {
    let anchor = context::anchor(spec.op, |index| spec.operands.get(index).is_some_and(is_bare));
    spec.operands.get(anchor?)
}

fn is_bare(operand: &OperandItem) -> bool {
    matches!(operand.form, OperandForm::Literal(_)) && operand.ty.is_none()
}
