//! A function: what its instructions are (data flow), and where they stand (layout).

use crate::constant::Constant;
use crate::entity::{PrimaryMap, SecondaryMap};
use crate::inst::{Detail, InstData};
use crate::layout::Layout;
use crate::module::{Declaration, FunctionKind, MetadataNode, Signature};
use crate::ops::{Effect, Op};
use crate::types::{Scalar, Type};
use crate::words::Flag;
use crate::{Block, Inst, Value};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::BuildHasher as _;
use std::sync::Arc;

crate::entity! {
    /// A function that this function calls.
    pub Callee, "callee"
}

crate::entity! {
    /// Where an instruction came from: an entry of the function's table of origins.
    pub Origin, "origin"
}

impl Origin {
    /// Nothing is known.
    pub const NONE: Origin = Origin::from_u32(0);
}

/// A place in a source file of the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SourceLoc {
    /// The file, by its number in the module.
    pub file: crate::module::File,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}

crate::words::words! {
    /// A kind of fact that a front end attached to an instruction and its back end wants back.
    MetadataKind {
        /// The type that an access has in the source: what accesses other types is elsewhere.
        Tbaa = "tbaa",
        /// Allowed error of a floating-point result.
        Fpmath = "fpmath",
        /// What is wanted of the loop that a branch closes.
        Loop = "loop",
        /// Bounds of an integer that is loaded or returned.
        Range = "range",
        /// The alias scopes that an access belongs to, as a list: one that leaves some of them out promises more.
        AliasScope = "alias_scope",
        /// An alias scope whose accesses touch other memory.
        NoAlias = "noalias",
        /// A group of accesses that a loop names as independent between its iterations.
        AccessGroup = "access_group",
        /// What is promised of the iterations of the loop that a branch closes.
        Iterations = "iterations",
    }
}

impl MetadataKind {
    /// Whether it can be said of such an instruction.
    pub fn is_said_of(self, op: Op) -> bool {
        let info = op.info();
        let accesses = matches!(info.effect, Effect::Reads | Effect::Writes | Effect::ReadsWrites);
        match self {
            MetadataKind::Tbaa => accesses,
            MetadataKind::Fpmath => info.effect == Effect::Pure && info.flags.has(Flag::Arcp),
            MetadataKind::Loop | MetadataKind::Iterations => op == Op::Br,
            MetadataKind::Range => matches!(op, Op::Load | Op::Call),
            MetadataKind::AliasScope | MetadataKind::NoAlias | MetadataKind::AccessGroup => {
                accesses || op == Op::Call
            }
        }
    }

    /// Whether it says what one lane does by itself, which does not hold between lanes.
    pub fn is_of_one_lane(self) -> bool {
        matches!(
            self,
            MetadataKind::AliasScope
                | MetadataKind::NoAlias
                | MetadataKind::AccessGroup
                | MetadataKind::Iterations
        )
    }
}

/// Where an instruction came from, and what its front end said of it.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct OriginData {
    /// The place in the source.
    pub loc: Option<SourceLoc>,
    /// Facts of the module, sorted by kind.
    pub tags: SmallVec<[(MetadataKind, MetadataNode); 2]>,
}

impl OriginData {
    /// What still holds for one instruction that stands for both.
    #[must_use]
    pub fn merged(&self, other: &OriginData) -> OriginData {
        OriginData {
            loc: self.loc.filter(|_| self.loc == other.loc),
            tags: self.tags.iter().filter(|tag| other.tags.contains(tag)).copied().collect(),
        }
    }

    /// What still holds where lanes act together, as one thread.
    #[must_use]
    pub fn of_all_lanes(&self) -> OriginData {
        let tags = self.tags.iter().filter(|(tag, _)| !tag.is_of_one_lane());
        OriginData { loc: self.loc, tags: tags.copied().collect() }
    }
}

/// What defines a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// The function's parameter of this index.
    Param(u32),
    /// This result of an instruction.
    Result(Inst, u32),
    /// A constant.
    Const,
    /// Nothing: the name is free.
    None,
}

crate::entity! {
    /// A constant that this function uses, or once did.
    ConstantId, "constant"
}

/// What defines a value, and which constant it is if it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Definition {
    Param(u32),
    Result(Inst, u32),
    Const(ConstantId),
    None,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ConstantData {
    constant: Constant,
    value: Value,
    /// Another one of the same hash.
    other: Option<ConstantId>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ValueData {
    ty: Type,
    def: Definition,
}

crate::entity! {
    /// The results of an instruction that has several.
    Several, "results"
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Results {
    None,
    One(Value),
    Several(Several),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct InstNode {
    data: InstData,
    results: Results,
}

/// What a pass over a function fetches for each instruction is one line of a cache.
const _: () = assert!(size_of::<InstNode>() == 64);

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, without `@`.
    pub name: String,
    /// Function or kernel.
    pub kind: FunctionKind,
    /// Types, shapes and effects.
    pub signature: Signature,
    /// The order of blocks and instructions.
    pub layout: Layout,
    /// The functions that it calls.
    pub callees: PrimaryMap<Callee, Arc<Declaration>>,
    predicates: SecondaryMap<Block, Option<Value>>,
    params: Vec<Value>,
    values: PrimaryMap<Value, ValueData>,
    insts: PrimaryMap<Inst, InstNode>,
    several: PrimaryMap<Several, Vec<Value>>,
    constants: PrimaryMap<ConstantId, ConstantData>,
    /// By the hash of a constant the latest one that has it.
    constant_ids: FxHashMap<u32, ConstantId>,
    origins: PrimaryMap<Origin, OriginData>,
    origin_ids: FxHashMap<OriginData, Origin>,
    callee_ids: FxHashMap<String, Callee>,
    names: SecondaryMap<Value, Option<Arc<str>>>,
    block_count: u32,
}

impl Function {
    /// A function without blocks; its parameters are `v0`, `v1`, ….
    pub fn new(name: impl Into<String>, signature: Signature) -> Function {
        let mut func = Function::without_params(name, signature);
        for index in 0..func.signature.params.len() {
            let value = func.values.next_key();
            func.define_param(index as u32, value);
        }
        func
    }

    /// A function whose parameters get their names from [`define_param`](Self::define_param).
    pub fn without_params(name: impl Into<String>, signature: Signature) -> Function {
        Function {
            name: name.into(),
            kind: FunctionKind::Function,
            signature,
            layout: Layout::default(),
            callees: PrimaryMap::new(),
            predicates: SecondaryMap::new(),
            params: Vec::new(),
            values: PrimaryMap::new(),
            insts: PrimaryMap::new(),
            several: PrimaryMap::new(),
            constants: PrimaryMap::new(),
            constant_ids: FxHashMap::default(),
            origins: [OriginData::default()].into_iter().collect(),
            origin_ids: std::iter::once((OriginData::default(), Origin::NONE)).collect(),
            callee_ids: FxHashMap::default(),
            names: SecondaryMap::new(),
            block_count: 0,
        }
    }

    /// Names the next parameter; `index` must be the number of those named already.
    pub fn define_param(&mut self, index: u32, value: Value) {
        assert_eq!(self.params.len(), index as usize, "parameters are named in order");
        let ty = self.signature.params[index as usize].ty;
        self.define(value, ty, Definition::Param(index));
        self.params.push(value);
    }

    /// One more parameter, the last.
    pub fn add_param(&mut self, param: crate::module::Param) -> Value {
        let ty = param.ty;
        let index = self.params.len() as u32;
        self.signature.params.push(param);
        let value = self.values.push(ValueData { ty, def: Definition::Param(index) });
        self.params.push(value);
        value
    }

    /// What the source calls a value, for messages.
    pub fn name_of(&self, value: Value) -> Option<&str> {
        self.names[value].as_deref()
    }

    /// Says what the source calls a value.
    pub fn set_name(&mut self, value: Value, name: impl Into<Arc<str>>) {
        self.names[value] = Some(name.into());
    }

    /// Gives a value the name of one in another function, unless it has a name or is a constant.
    pub fn take_name(&mut self, value: Value, other: &Function, from: Value) {
        if let Some(name) = &other.names[from]
            && self.names[value].is_none()
            && self.constant(value).is_none()
        {
            self.names[value] = Some(Arc::clone(name));
        }
    }

    /// The values of the parameters.
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    // Blocks.

    /// The number that the next new block will have: blocks are numbered below it.
    pub fn block_count(&self) -> usize {
        self.block_count as usize
    }

    /// A new block that stands nowhere yet.
    pub fn new_block(&mut self) -> Block {
        let block = Block::from_u32(self.block_count);
        self.block_count += 1;
        block
    }

    /// A new block at the end of the function.
    pub fn append_block(&mut self) -> Block {
        let block = self.new_block();
        self.layout.append_block(block);
        block
    }

    /// A new block behind another.
    pub fn insert_block_after(&mut self, before: Block) -> Block {
        let block = self.new_block();
        self.layout.insert_block_after(block, before);
        block
    }

    /// Makes sure that blocks up to this number are names of this function.
    pub fn reserve_block(&mut self, block: Block) {
        self.block_count = self.block_count.max(block.as_u32() + 1);
    }

    /// The entry block. A complete function has one.
    pub fn entry(&self) -> Block {
        self.layout.entry().expect("a function has an entry block")
    }

    /// All blocks, in layout order.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        self.layout.blocks()
    }

    /// The instructions of a block, in order.
    pub fn block_insts(&self, block: Block) -> impl Iterator<Item = Inst> + '_ {
        self.layout.insts(block)
    }

    /// The φs of a block: the run at its start.
    pub fn phis(&self, block: Block) -> impl Iterator<Item = Inst> + '_ {
        self.layout.insts(block).take_while(|&inst| self.inst(inst).op == Op::Phi)
    }

    /// The first instruction of a block that is no φ.
    pub fn first_non_phi(&self, block: Block) -> Option<Inst> {
        self.layout.insts(block).find(|&inst| self.inst(inst).op != Op::Phi)
    }

    /// The terminator of a block, if it is complete.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.layout.last_inst(block).filter(|&inst| self.inst(inst).op.is_terminator())
    }

    /// The blocks that control may go to behind this one, in order; a block may occur twice.
    pub fn successors(&self, block: Block) -> &[Block] {
        self.terminator(block).map_or(&[], |inst| self.inst(inst).targets())
    }

    /// The predicate of a block; none is `true`.
    pub fn predicate(&self, block: Block) -> Option<Value> {
        self.predicates[block]
    }

    /// Sets the predicate of a block.
    pub fn set_predicate(&mut self, block: Block, predicate: Option<Value>) {
        if predicate != self.predicates[block] {
            self.predicates[block] = predicate;
        }
    }

    // Values.

    /// The number of value names, free ones included.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The type of a value.
    #[inline]
    pub fn value_type(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// What defines a value.
    #[inline]
    pub fn value_def(&self, value: Value) -> ValueDef {
        match self.values.get(value).map(|data| data.def) {
            Some(Definition::Param(index)) => ValueDef::Param(index),
            Some(Definition::Result(inst, index)) => ValueDef::Result(inst, index),
            Some(Definition::Const(_)) => ValueDef::Const,
            Some(Definition::None) | None => ValueDef::None,
        }
    }

    /// The instruction that defines a value, if one does.
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.value_def(value) {
            ValueDef::Result(inst, _) => Some(inst),
            _ => None,
        }
    }

    /// The constant that a value is, if it is one.
    pub fn constant(&self, value: Value) -> Option<&Constant> {
        match self.values.get(value)?.def {
            Definition::Const(id) => Some(&self.constants[id].constant),
            _ => None,
        }
    }

    /// The value of a constant.
    pub fn make_const(&mut self, constant: Constant) -> Value {
        let hash = FxBuildHasher.hash_one(&constant) as u32;
        let other = self.constant_ids.get(&hash).copied();
        let mut next = other;
        while let Some(known) = next.map(|id| &self.constants[id]) {
            if known.constant == constant {
                return known.value;
            }
            next = known.other;
        }
        let def = Definition::Const(self.constants.next_key());
        let value = self.values.push(ValueData { ty: constant.ty(), def });
        let id = self.constants.push(ConstantData { constant, value, other });
        self.constant_ids.insert(hash, id);
        value
    }

    /// The truth value.
    pub fn make_bool(&mut self, value: bool) -> Value {
        self.make_const(Constant::bool(value))
    }

    /// The integer of this type.
    pub fn make_int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.make_const(Constant::int(scalar, value))
    }

    /// ⊤ of this type.
    pub fn make_poison(&mut self, ty: Type) -> Value {
        self.make_const(Constant::Poison(ty))
    }

    /// Takes names up to this number out of use for new values, so that a parser can give them out itself.
    pub fn reserve_values(&mut self, count: usize) {
        while self.values.len() < count {
            self.values.push(ValueData { ty: Type::I1, def: Definition::None });
        }
    }

    fn define(&mut self, value: Value, ty: Type, def: Definition) {
        use crate::entity::Entity as _;
        self.reserve_values(value.index() + 1);
        let data = &mut self.values[value];
        assert_eq!(data.def, Definition::None, "{value} has a definition already");
        *data = ValueData { ty, def };
    }

    // Instructions.

    /// The number of instruction names, removed ones included.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// What an instruction is.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst].data
    }

    /// The same, to change it. The types of its results stay as they are.
    #[inline]
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst].data
    }

    /// The results of an instruction.
    #[inline]
    pub fn results(&self, inst: Inst) -> &[Value] {
        match &self.insts[inst].results {
            Results::None => &[],
            Results::One(value) => std::slice::from_ref(value),
            Results::Several(several) => &self.several[*several],
        }
    }

    /// The result of an instruction that has just one.
    pub fn result(&self, inst: Inst) -> Option<Value> {
        match self.results(inst) {
            [value] => Some(*value),
            _ => None,
        }
    }

    /// A new instruction that stands nowhere yet, with new names for results of these types.
    pub fn make_inst(&mut self, data: InstData, results: &[Type]) -> Inst {
        let inst = self.insts.next_key();
        let values = (0..)
            .zip(results)
            .map(|(index, &ty)| self.values.push(ValueData { ty, def: Definition::Result(inst, index) }));
        let results = match results {
            [] => Results::None,
            [_] => values.last().map_or(Results::None, Results::One),
            _ => Results::Several(self.several.push(values.collect())),
        };
        self.insts.push(InstNode { data, results })
    }

    /// A new instruction that stands nowhere yet and defines these free names.
    pub fn make_inst_named(&mut self, data: InstData, results: &[(Value, Type)]) -> Inst {
        let inst = self.insts.next_key();
        for (index, &(value, ty)) in (0..).zip(results) {
            self.define(value, ty, Definition::Result(inst, index));
        }
        let results = match results {
            [] => Results::None,
            [(value, _)] => Results::One(*value),
            _ => Results::Several(self.several.push(results.iter().map(|&(value, _)| value).collect())),
        };
        self.insts.push(InstNode { data, results })
    }

    /// Takes an instruction out of its block and frees the names of its results.
    pub fn remove_inst(&mut self, inst: Inst) {
        if self.layout.block_of(inst).is_some() {
            self.layout.remove_inst(inst);
        }
        match std::mem::replace(&mut self.insts[inst].results, Results::None) {
            Results::None => {}
            Results::One(value) => self.values[value].def = Definition::None,
            Results::Several(several) => {
                let values = std::mem::take(&mut self.several[several]);
                values.into_iter().for_each(|value| self.values[value].def = Definition::None);
            }
        }
    }

    /// Takes a block out of the function and frees what it defines.
    pub fn remove_block(&mut self, block: Block) {
        while let Some(inst) = self.layout.first_inst(block) {
            self.remove_inst(inst);
        }
        self.layout.remove_block(block);
        self.predicates[block] = None;
    }

    /// Replaces values everywhere: in instructions, hints and predicates. One pass over the function.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        let mut block = self.layout.entry();
        while let Some(here) = block {
            self.map_values_of_block(here, &mut map);
            block = self.layout.next_block(here);
        }
    }

    /// Replaces values in a block: in its instructions, hints and predicate.
    pub fn map_values_of_block(&mut self, block: Block, mut map: impl FnMut(Value) -> Value) {
        if let Some(predicate) = self.predicates[block] {
            self.predicates[block] = Some(map(predicate));
        }
        let mut inst = self.layout.first_inst(block);
        while let Some(at) = inst {
            self.insts[at].data.map_values(&mut map);
            inst = self.layout.next_inst(at);
        }
    }

    // Origins.

    /// The name of an origin.
    pub fn make_origin(&mut self, data: OriginData) -> Origin {
        *self.origin_ids.entry(data).or_insert_with_key(|data| self.origins.push(data.clone()))
    }

    /// The number of origins in the function's table.
    pub fn origin_count(&self) -> usize {
        self.origins.len()
    }

    /// What an origin says.
    pub fn origin(&self, origin: Origin) -> &OriginData {
        &self.origins[origin]
    }

    /// Where in the source an instruction came from.
    pub fn loc(&self, inst: Inst) -> Option<SourceLoc> {
        self.origins[self.inst(inst).origin].loc
    }

    // Callees.

    /// The name of a function to call.
    pub fn make_callee(&mut self, declaration: &Arc<Declaration>) -> Callee {
        if let Some(&callee) = self.callee_ids.get(&declaration.name) {
            return callee;
        }
        let callee = self.callees.push(Arc::clone(declaration));
        self.callee_ids.insert(declaration.name.clone(), callee);
        callee
    }

    /// Lets all calls of one function be calls of another one, of the same types.
    pub fn rename_callee(&mut self, callee: Callee, declaration: Arc<Declaration>) {
        self.callee_ids.remove(&self.callees[callee].name);
        self.callee_ids.insert(declaration.name.clone(), callee);
        self.callees[callee] = declaration;
    }

    /// Forgets the functions that are not called or launched any more.
    pub fn forget_unused_callees(&mut self) {
        let known = std::mem::take(&mut self.callees);
        self.callee_ids.clear();
        let insts: Vec<Inst> = self.blocks().flat_map(|block| self.block_insts(block)).collect();
        for inst in insts {
            let old = match &self.insts[inst].data.detail {
                Detail::Call(callee) => *callee,
                Detail::Launch(launch) => launch.callee,
                _ => continue,
            };
            let new = self.make_callee(&known[old]);
            match &mut self.insts[inst].data.detail {
                Detail::Call(callee) => *callee = new,
                Detail::Launch(launch) => launch.callee = new,
                _ => {}
            }
        }
    }

    /// What an instruction calls or launches, if it does.
    pub fn callee_of(&self, data: &InstData) -> Option<&Arc<Declaration>> {
        match &data.detail {
            Detail::Call(callee) => self.callees.get(*callee),
            Detail::Launch(launch) => self.callees.get(launch.callee),
            _ => None,
        }
    }

    /// The function's declaration, for those that call it.
    pub fn declaration(&self) -> Declaration {
        Declaration { name: self.name.clone(), kind: self.kind, signature: self.signature.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many by lot that some have hashes of others.
    #[test]
    fn each_constant_is_one_value() {
        let mut random = 1i64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i128::from(random)
        };
        let numbers: Vec<i128> = (0..300_000).map(|_| next()).collect();
        let mut func = Function::new("f", Signature::new(&[], &[]));
        let values: Vec<Value> = numbers.iter().map(|&number| func.make_int(Scalar::I64, number)).collect();
        for (&number, &value) in numbers.iter().zip(&values) {
            assert_eq!(func.make_int(Scalar::I64, number), value);
            assert_eq!(func.constant(value), Some(&Constant::int(Scalar::I64, number)));
        }
        assert_eq!(func.value_count(), numbers.len());
        assert!(func.constant_ids.len() < numbers.len(), "no two hashes are equal, so this tests nothing");
    }
}
