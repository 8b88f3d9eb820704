//! Syntax tree to module: names get their meanings, literals their types, instructions their results.
//!
//! A value may be used above its definition, so types are found by demand: what an instruction gives depends on at
//! most one operand's type, so that demands form chains, which are followed without recursion.

use super::context::{self, Context};
use super::errors::{Errors, Reported, short};
use super::lexer::{Text, TokenKind};
use super::literal::{read_scalar, vector};
use super::names::read_name;
use super::syntax::*;
use crate::constant::Constant;
use crate::function::{Function, OriginData};
use crate::inst::{Access, Detail, InstData, LaunchDetail, SwitchDetail};
use crate::module::{Declaration, Module, Signature};
use crate::ops::{Op, ResultConstraint};
use crate::types::{Scalar, Space, Type};
use crate::typing::{ResultTypes, TypeError, check_count, given_by_table, result_types, seen_from_outside};
use crate::{Block, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// Makes the module, or reports why not.
pub(super) fn resolve(text: &Text<'_>, tree: &Tree, errors: &mut Errors) -> Module {
    let mut module = Module {
        files: tree.files.iter().cloned().collect(),
        facts: tree.facts.iter().cloned().collect(),
        ..Module::default()
    };
    for used in &tree.file_uses {
        if used.number as usize >= tree.files.len() {
            errors.push(text.span(used.token), format!("there is no file{}", used.number));
        }
    }
    for used in &tree.fact_uses {
        if used.number as usize >= tree.facts.len() {
            errors.push(text.span(used.token), format!("there is no fact{}", used.number));
        }
    }
    let names = Names::new(text, tree, errors);
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
                    slots: vec![Slot::Free; body.value_bound as usize],
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

/// What the module's names mean. None is something broken, of which no more is said.
struct Names<'t> {
    globals: FxHashMap<&'t str, Option<Space>>,
    callees: FxHashMap<&'t str, Option<Arc<Declaration>>>,
}

impl<'t> Names<'t> {
    fn new(text: &Text<'_>, tree: &'t Tree, errors: &mut Errors) -> Names<'t> {
        let mut first: FxHashMap<&str, u32> = FxHashMap::default();
        let mut names = Names { globals: FxHashMap::default(), callees: FxHashMap::default() };
        let functions = tree.functions.iter().map(|item| (&*item.name, item.token));
        let globals = tree.globals.iter().map(|item| (&*item.name, item.token));
        let mut items: Vec<_> = functions.chain(globals).collect();
        items.sort_by_key(|&(_, token)| token);
        for (name, token) in items {
            let earlier = *first.entry(name).or_insert(token);
            if earlier != token && !errors.is_full() {
                let shown = short(text.text(token));
                let message = format!("{shown} is there already, on line {}", text.line(earlier));
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

    fn global(&self, text: &Text<'_>, errors: &mut Errors, name: &str, token: u32) -> Option<Space> {
        if let Some(&space) = self.globals.get(name) {
            return space;
        }
        let shown = short(text.text(token));
        let message = match self.callees.contains_key(name) {
            true => format!("{shown} is a function: it has no address"),
            false => format!("there is no global {shown}"),
        };
        errors.push(text.span(token), message);
        None
    }
}

/// What is known of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Nothing defines it.
    Free,
    /// An instruction defines it, by index.
    Pending(u32),
    /// The same, and its type is being looked for.
    Sought,
    /// It has this type.
    Typed(Type),
    /// Its definition is wrong, which is reported already.
    Broken,
}

/// What an instruction gives, as far as it is known.
enum Given {
    Types(ResultTypes),
    /// First the type of this value must be known.
    After(u32),
    Broken,
}

struct Resolver<'p, 's> {
    text: &'p Text<'s>,
    names: &'p Names<'p>,
    errors: &'p mut Errors,
    signature: &'p Signature,
    body: &'p Body,
    slots: Vec<Slot>,
    /// Values that were reported as undefined.
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
        // Constants get names above all that are written.
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
                // What is wrong is reported; the other instructions are checked nevertheless.
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
            is_complete &= self.define(*numbered, Slot::Typed(param.ty));
            if is_complete {
                self.func.define_param(index as u32, Value::from_u32(numbered.number));
            }
        }
        for (index, item) in body.insts.iter().enumerate() {
            for &numbered in &item.results {
                let slot = if item.what.is_some() { Slot::Pending(index as u32) } else { Slot::Broken };
                self.define(numbered, slot);
            }
        }
    }

    fn define(&mut self, defined: Numbered, slot: Slot) -> bool {
        let here = &mut self.slots[defined.number as usize];
        if *here == Slot::Free {
            *here = slot;
            return true;
        }
        *here = Slot::Broken;
        if self.errors.is_full() {
            return false;
        }
        let body = self.body;
        let results = body.insts.iter().flat_map(|item| &item.results);
        let earlier = body.params.iter().chain(results).find(|other| other.number == defined.number);
        let line = earlier.map_or(0, |earlier| self.text.line(earlier.token));
        self.error(defined.token, format!("v{} is defined already, on line {line}", defined.number));
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
                    self.error(item.token, format!("{} is there already, on line {line}", item.block));
                }
            }
        }
        if body.is_partial {
            return;
        }
        for used in &body.block_uses {
            if !matches!(places.get(used.number as usize), Some(Some(_))) {
                self.error(used.token, format!("there is no block{}", used.number));
            }
        }
    }

    // Types.

    /// The type of a value, if it is known; what is wrong with it is not said here.
    fn value_type(&mut self, value: u32) -> Option<Type> {
        let mut chain: SmallVec<[u32; 8]> = SmallVec::new();
        match self.slots.get(value as usize) {
            Some(&Slot::Typed(ty)) => return Some(ty),
            Some(&Slot::Pending(inst)) => self.seek(inst, &mut chain),
            _ => return None,
        }
        while let Some(&inst) = chain.last() {
            match self.given(inst) {
                Given::Types(types) => {
                    self.settle(inst, &types);
                    chain.pop();
                }
                Given::Broken => {
                    self.settle(inst, &[]);
                    chain.pop();
                }
                Given::After(next) => match self.slots.get(next as usize) {
                    Some(&Slot::Pending(next)) => self.seek(next, &mut chain),
                    Some(Slot::Sought) => {
                        let token = self.body.insts[inst as usize].token;
                        self.error(
                            token,
                            format!("the type of v{next} follows from itself: write it before an operand"),
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
            Slot::Typed(ty) => Some(ty),
            _ => None,
        }
    }

    fn seek(&mut self, inst: u32, chain: &mut SmallVec<[u32; 8]>) {
        chain.push(inst);
        self.replace_slots(inst, |_, slot| match slot {
            Slot::Pending(_) => Slot::Sought,
            slot => slot,
        });
    }

    fn settle(&mut self, inst: u32, types: &[Type]) {
        self.replace_slots(inst, |index, slot| match slot {
            Slot::Sought => types.get(index).map_or(Slot::Broken, |&ty| Slot::Typed(ty)),
            slot => slot,
        });
    }

    fn replace_slots(&mut self, inst: u32, replace: impl Fn(usize, Slot) -> Slot) {
        let body = self.body;
        for (index, result) in body.insts[inst as usize].results.iter().enumerate() {
            let slot = &mut self.slots[result.number as usize];
            *slot = replace(index, *slot);
        }
    }

    /// What the instruction gives, by its text alone: whether the operands are right is checked later.
    fn given(&self, inst: u32) -> Given {
        let Some(what) = &self.body.insts[inst as usize].what else { return Given::Broken };
        let gives = what.op.info().gives;
        let controlling = match gives {
            ResultConstraint::Callee => return self.given_by_callee(what),
            gives if context::follows_from_t(gives) => {
                let Some(operand) = anchor(what) else { return Given::Broken };
                match (operand.ty, operand.what) {
                    (Some(ty), _) => Some(ty),
                    (None, OperandItem::Value(value)) => match self.slots.get(value as usize) {
                        Some(&Slot::Typed(ty)) => Some(ty),
                        Some(Slot::Pending(_) | Slot::Sought) => return Given::After(value),
                        _ => return Given::Broken,
                    },
                    (None, OperandItem::Global(token)) => {
                        let name = read_name(self.text.text(token)).unwrap_or_default();
                        match self.names.globals.get(&*name) {
                            Some(&Some(space)) => Some(Type::ptr(space)),
                            _ => return Given::Broken,
                        }
                    }
                    (None, OperandItem::Literal(_)) => return Given::Broken,
                }
            }
            _ => None,
        };
        Given::Types(given_by_table(gives, controlling, what.written))
    }

    fn given_by_callee(&self, what: &What) -> Given {
        let (callee, lanes) = match &what.detail {
            DetailItem::Call(callee) => (*callee, None),
            DetailItem::Launch { callee, brush, .. } => {
                let lanes = brush.iter().fold(1u32, |lanes, &dim| lanes.saturating_mul(dim));
                (*callee, Some(lanes.try_into().unwrap_or(u16::MAX)))
            }
            _ => return Given::Broken,
        };
        let name = read_name(self.text.text(callee)).unwrap_or_default();
        match self.names.callees.get(&*name) {
            Some(Some(callee)) => {
                let results = callee.signature.results.iter();
                Given::Types(
                    results.map(|one| seen_from_outside(one.ty, one.shape.as_ref(), lanes)).collect(),
                )
            }
            _ => Given::Broken,
        }
    }

    // Operands.

    /// The type of an operand that is no bare literal.
    fn operand_type(&mut self, operand: &Operand) -> Resolved<Type> {
        let found = match operand.what {
            OperandItem::Value(value) => match self.value_type(value) {
                Some(ty) => ty,
                None => {
                    let is_free = self.slots.get(value as usize).is_none_or(|&slot| slot == Slot::Free);
                    if is_free && !self.body.is_partial && self.unknown.insert(value) {
                        self.error(operand.token, format!("there is no v{value}"));
                    }
                    return Err(Reported);
                }
            },
            OperandItem::Global(token) => {
                let name = read_name(self.text.text(token)).unwrap_or_default();
                let space = self.names.global(self.text, self.errors, &name, token);
                Type::ptr(space.ok_or(Reported)?)
            }
            OperandItem::Literal(_) => return operand.ty.ok_or(Reported),
        };
        match operand.ty {
            Some(ty) if ty != found => {
                Err(self.error(operand.token, format!("the operand is {found}, not {ty}")))
            }
            _ => Ok(found),
        }
    }

    /// The value of an operand; `context` is the type of a bare literal.
    fn operand(&mut self, operand: &Operand, context: Option<Type>) -> Resolved<Value> {
        match operand.what {
            OperandItem::Value(value) => {
                self.operand_type(operand)?;
                Ok(Value::from_u32(value))
            }
            OperandItem::Global(token) => {
                let ty = self.operand_type(operand)?;
                let Scalar::Ptr(space) = ty.scalar() else { return Err(Reported) };
                let name = read_name(self.text.text(token)).unwrap_or_default();
                Ok(self.func.make_const(Constant::Address(space, name.into())))
            }
            OperandItem::Literal(token) => match operand.ty.or(context) {
                Some(ty) => {
                    let constant = self.literal(token, ty)?;
                    Ok(self.func.make_const(constant))
                }
                None => {
                    let message = "nothing around this literal fixes its type: write the type before it";
                    Err(self.errors.push_expecting(self.text.span(operand.token), message, ["a type"]))
                }
            },
        }
    }

    /// The constant of this type that the tokens from this one on write.
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
        let what = item.what.as_deref().ok_or(Reported)?;
        let callee = match &what.detail {
            DetailItem::Call(token) | DetailItem::Launch { callee: token, .. } => Some(self.callee(*token)?),
            _ => None,
        };
        let mut data = InstData::new(what.op, [], Detail::None);
        let mut lanes = None;
        if let (DetailItem::Launch { brush, masked, .. }, Some(callee)) = (&what.detail, &callee) {
            let callee = self.func.make_callee(callee);
            let launch = LaunchDetail { callee, brush: brush.clone(), masked: *masked };
            lanes = Some(launch.lanes().try_into().unwrap_or(u16::MAX));
            data.detail = Detail::Launch(Box::new(launch));
        }
        if let Err(error) = check_count(&data, what.operands.len(), callee.as_deref()) {
            return Err(self.error(item.token, error.to_string()));
        }

        let controlling = match anchor(what) {
            Some(operand) => Some(self.operand_type(operand)?),
            None => None,
        };
        let context = Context::new(
            what.op,
            controlling,
            what.written,
            callee.as_deref(),
            lanes,
            &self.signature.results,
        );
        let mut is_broken = false;
        for (index, operand) in what.operands.iter().enumerate() {
            if what.op == Op::Ret && is_bare(operand) && context.operand(index).is_none() {
                let gives = count_values(self.signature.results.len());
                return Err(self.error(operand.token, format!("the function gives {gives}")));
            }
            match self.operand(operand, context.operand(index)) {
                Ok(value) => data.args.push(value),
                // One literal without a type is enough: what fixes it may fix the others.
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
            what.operands.iter().zip(&data.args).map(|(operand, &arg)| self.type_of(operand, arg)).collect();
        self.detail(what, &mut data, callee.as_ref(), &types)?;
        data.flags = what.flags;
        if what.loc.is_some() || !what.tags.is_empty() {
            data.origin = self.func.make_origin(OriginData { loc: what.loc, tags: what.tags.clone() });
        }

        let given = match result_types(&data, &types, what.written, callee.as_deref()) {
            Ok(given) => given,
            Err(error) => {
                let token = match &error {
                    TypeError::Operand { index, .. } => what.operands.get(index - 1).map(|one| one.token),
                    _ => None,
                };
                return Err(self.error(token.unwrap_or(item.token), error.to_string()));
            }
        };
        if given.len() != item.results.len() {
            let token = item.results.first().map_or(item.token, |result| result.token);
            let message = format!(
                "`{}` gives {}, but {} named here",
                what.op,
                count_values(given.len()),
                match item.results.len() {
                    0 => "none is".to_string(),
                    1 => "1 is".to_string(),
                    count => format!("{count} are"),
                }
            );
            return Err(self.error(token, message));
        }
        if item.results.iter().any(|result| self.slots[result.number as usize] == Slot::Broken) {
            return Err(Reported);
        }
        let named: SmallVec<[(Value, Type); 1]> = item
            .results
            .iter()
            .zip(&given)
            .map(|(result, &ty)| (Value::from_u32(result.number), ty))
            .collect();
        let inst = self.func.make_inst_named(data, &named);
        self.func.layout.append_inst(inst, block);
        Ok(())
    }

    /// The type of an operand that is known to have one.
    fn type_of(&self, operand: &Operand, arg: Value) -> Type {
        match operand.what {
            OperandItem::Value(value) => match self.slots[value as usize] {
                Slot::Typed(ty) => ty,
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
            false => self.error(token, format!("there is no function {shown}")),
        })
    }

    fn detail(
        &mut self,
        what: &What,
        data: &mut InstData,
        callee: Option<&Arc<Declaration>>,
        types: &[Type],
    ) -> Resolved<()> {
        let natural = context::natural_align(what.op, types, what.written);
        data.detail = match &what.detail {
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

/// The operand that fixes the type which the instruction's operands share.
fn anchor(what: &What) -> Option<&Operand> {
    let anchor = context::anchor(what.op, |index| what.operands.get(index).is_some_and(is_bare));
    what.operands.get(anchor?)
}

fn is_bare(operand: &Operand) -> bool {
    matches!(operand.what, OperandItem::Literal(_)) && operand.ty.is_none()
}
