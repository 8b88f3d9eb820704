//! Functions: instruction data, values and constants (data flow), separate from their order (layout).

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
    /// A callee of a function, by its index in the function's table.
    pub Callee, "callee"
}

crate::entity! {
    /// Origin of an instruction: an entry of the function's table of origins.
    pub Origin, "origin"
}

impl Origin {
    /// The origin of which nothing is known.
    pub const NONE: Origin = Origin::from_u32(0);
}

/// Source location of an instruction.
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
    /// Kind of metadata that a front end attaches to an instruction.
    MetadataKind {
        /// Type of an access in the source, for type-based alias analysis.
        Tbaa = "tbaa",
        /// Allowed error of a floating-point result.
        Fpmath = "fpmath",
        /// Hints for the loop that this branch closes.
        Loop = "loop",
        /// Bounds of an integer that is loaded or returned.
        Range = "range",
        /// Alias scopes that an access belongs to. An access in fewer scopes makes the stronger promise.
        AliasScope = "alias_scope",
        /// Alias scopes whose accesses do not alias this one.
        NoAlias = "noalias",
        /// Access group that a loop declares free of loop-carried dependences.
        AccessGroup = "access_group",
        /// Promises about the iterations of the loop that this branch closes.
        Iterations = "iterations",
    }
}

impl MetadataKind {
    /// True if instructions of this op may carry it.
    pub fn applies_to(self, op: Op) -> bool {
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

    /// True if it describes a single lane and does not hold between lanes.
    pub fn is_per_lane(self) -> bool {
        matches!(
            self,
            MetadataKind::AliasScope
                | MetadataKind::NoAlias
                | MetadataKind::AccessGroup
                | MetadataKind::Iterations
        )
    }
}

/// Source location and metadata of an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct OriginData {
    /// The source location.
    pub loc: Option<SourceLoc>,
    /// Metadata nodes of the module, sorted by kind.
    pub tags: SmallVec<[(MetadataKind, MetadataNode); 2]>,
}

impl OriginData {
    /// Computes the origin of one instruction that replaces two.
    #[must_use]
    pub fn merged(&self, other: &OriginData) -> OriginData {
        OriginData {
            loc: self.loc.filter(|_| self.loc == other.loc),
            tags: self.tags.iter().filter(|tag| other.tags.contains(tag)).copied().collect(),
        }
    }

    /// Computes the origin for code in which one thread executes all lanes.
    #[must_use]
    pub fn without_per_lane_metadata(&self) -> OriginData {
        let tags = self.tags.iter().filter(|(tag, _)| !tag.is_per_lane());
        OriginData { loc: self.loc, tags: tags.copied().collect() }
    }
}

/// Definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueDef {
    /// Parameter of this index.
    Param(u32),
    /// Result of an instruction, by index.
    Result(Inst, u32),
    /// A constant.
    Const,
    /// None: the number is unused.
    None,
}

crate::entity! {
    /// An interned constant, in use or not.
    ConstantId, "constant"
}

/// Definition of a value, with the constant's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ValueDefData {
    Param(u32),
    Result(Inst, u32),
    Const(ConstantId),
    None,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ConstantData {
    constant: Constant,
    value: Value,
    /// Next constant of equal hash.
    other: Option<ConstantId>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ValueData {
    ty: Type,
    def: ValueDefData,
}

crate::entity! {
    /// Results of an instruction that has several.
    ResultList, "results"
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum InstResults {
    None,
    One(Value),
    Several(ResultList),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct InstEntry {
    data: InstData,
    results: InstResults,
}

/// An instruction fills one cache line, which passes over the function fetch.
const _: () = assert!(size_of::<InstEntry>() == 64);

/// Private array of the source whose elements are values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterArray {
    /// Name of the variable.
    pub name: Arc<str>,
    /// Location of its declaration, if known.
    pub loc: Option<SourceLoc>,
    /// Size in bytes.
    pub bytes: u64,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name, without `@`.
    pub name: String,
    /// The kind.
    pub kind: FunctionKind,
    /// Types, shapes and effects.
    pub signature: Signature,
    /// The order of blocks and instructions.
    pub layout: Layout,
    /// Declarations of the callees.
    pub callees: PrimaryMap<Callee, Arc<Declaration>>,
    /// Private arrays that front end or passes have promoted to values, for reports. The text does not hold them.
    pub register_arrays: Vec<RegisterArray>,
    predicates: SecondaryMap<Block, Option<Value>>,
    params: Vec<Value>,
    values: PrimaryMap<Value, ValueData>,
    insts: PrimaryMap<Inst, InstEntry>,
    several: PrimaryMap<ResultList, Vec<Value>>,
    constants: PrimaryMap<ConstantId, ConstantData>,
    /// Latest constant of each hash.
    constant_ids: FxHashMap<u32, ConstantId>,
    origins: PrimaryMap<Origin, OriginData>,
    origin_ids: FxHashMap<OriginData, Origin>,
    callee_ids: FxHashMap<String, Callee>,
    names: SecondaryMap<Value, Option<Arc<str>>>,
    block_count: u32,
}

impl Function {
    /// Creates a function without blocks; its parameters are `v0`, `v1`, ….
    pub fn new(name: impl Into<String>, signature: Signature) -> Function {
        let mut func = Function::without_params(name, signature);
        for index in 0..func.signature.params.len() {
            let value = func.values.next_key();
            func.define_param(index as u32, value);
        }
        func
    }

    /// Creates a function whose parameters get their numbers from [`define_param`](Self::define_param).
    pub fn without_params(name: impl Into<String>, signature: Signature) -> Function {
        Function {
            name: name.into(),
            kind: FunctionKind::Function,
            signature,
            layout: Layout::default(),
            callees: PrimaryMap::new(),
            register_arrays: Vec::new(),
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

    /// Gives the next parameter a value number; `index` must be the number of parameters defined so far.
    pub fn define_param(&mut self, index: u32, value: Value) {
        assert_eq!(self.params.len(), index as usize, "parameters are named in order");
        let ty = self.signature.params[index as usize].ty;
        self.define(value, ty, ValueDefData::Param(index));
        self.params.push(value);
    }

    /// Appends a parameter.
    pub fn add_param(&mut self, param: crate::module::Param) -> Value {
        let ty = param.ty;
        let index = self.params.len() as u32;
        self.signature.params.push(param);
        let value = self.values.push(ValueData { ty, def: ValueDefData::Param(index) });
        self.params.push(value);
        value
    }

    /// Gives a parameter another type. Returns its new value; the old one has no definition any more.
    pub fn retype_param(&mut self, index: usize, ty: Type) -> Value {
        let old = self.params[index];
        self.values[old].def = ValueDefData::None;
        self.signature.params[index].ty = ty;
        let value = self.values.push(ValueData { ty, def: ValueDefData::Param(index as u32) });
        self.names[value] = self.names[old].clone();
        self.params[index] = value;
        value
    }

    /// Returns a value's source name, for messages.
    pub fn name_of(&self, value: Value) -> Option<&str> {
        self.names[value].as_deref()
    }

    /// Sets a value's source name.
    pub fn set_name(&mut self, value: Value, name: impl Into<Arc<str>>) {
        self.names[value] = Some(name.into());
    }

    /// Copies the source name of a value in another function, unless the target is named or constant.
    pub fn copy_name(&mut self, value: Value, other: &Function, from: Value) {
        if let Some(name) = &other.names[from]
            && self.names[value].is_none()
            && self.constant(value).is_none()
        {
            self.names[value] = Some(Arc::clone(name));
        }
    }

    /// The parameters, as values.
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    // Blocks.

    /// Number of the next new block; an upper bound of all block numbers.
    pub fn block_count(&self) -> usize {
        self.block_count as usize
    }

    /// Creates a block outside of the layout.
    pub fn new_block(&mut self) -> Block {
        let block = Block::from_u32(self.block_count);
        self.block_count += 1;
        block
    }

    /// Creates a block at the end of the layout.
    pub fn append_block(&mut self) -> Block {
        let block = self.new_block();
        self.layout.append_block(block);
        block
    }

    /// Creates a block after another in the layout.
    pub fn insert_block_after(&mut self, before: Block) -> Block {
        let block = self.new_block();
        self.layout.insert_block_after(block, before);
        block
    }

    /// Reserves block numbers up to this one.
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

    /// The φs of a block: its leading instructions.
    pub fn phis(&self, block: Block) -> impl Iterator<Item = Inst> + '_ {
        self.layout.insts(block).take_while(|&inst| self.inst(inst).op == Op::Phi)
    }

    /// The first instruction of a block after its φs.
    pub fn first_non_phi(&self, block: Block) -> Option<Inst> {
        self.layout.insts(block).find(|&inst| self.inst(inst).op != Op::Phi)
    }

    /// The terminator of a block, if the block is complete.
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.layout.last_inst(block).filter(|&inst| self.inst(inst).op.is_terminator())
    }

    /// The successors of a block, in order; a block may occur twice.
    pub fn successors(&self, block: Block) -> &[Block] {
        self.terminator(block).map_or(&[], |inst| self.inst(inst).targets())
    }

    /// The predicate of a block; none means `true`.
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

    /// Number of value numbers, unused ones included.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Returns the type of a value.
    #[inline]
    pub fn value_type(&self, value: Value) -> Type {
        self.values[value].ty
    }

    /// Returns the definition of a value.
    #[inline]
    pub fn value_def(&self, value: Value) -> ValueDef {
        match self.values.get(value).map(|data| data.def) {
            Some(ValueDefData::Param(index)) => ValueDef::Param(index),
            Some(ValueDefData::Result(inst, index)) => ValueDef::Result(inst, index),
            Some(ValueDefData::Const(_)) => ValueDef::Const,
            Some(ValueDefData::None) | None => ValueDef::None,
        }
    }

    /// Returns the instruction that defines a value, if one does.
    pub fn def_inst(&self, value: Value) -> Option<Inst> {
        match self.value_def(value) {
            ValueDef::Result(inst, _) => Some(inst),
            _ => None,
        }
    }

    /// True for the address of an object: a parameter, a global or an `alloca`.
    pub fn is_object(&self, value: Value) -> bool {
        let is_defined = match self.value_def(value) {
            ValueDef::Param(_) => true,
            ValueDef::Const => matches!(self.constant(value), Some(Constant::Address(..))),
            ValueDef::Result(inst, _) => self.inst(inst).op == Op::Alloca,
            ValueDef::None => false,
        };
        is_defined && matches!(self.value_type(value), Type::Scalar(Scalar::Ptr(_)))
    }

    /// Removes the base hints of an instruction's accesses that `keeps` refuses.
    pub fn retain_bases(&mut self, inst: Inst, keeps: impl Fn(&Function, Value) -> bool) {
        let is_lost = |base: &Value| !keeps(self, *base);
        let lost: SmallVec<[Value; 2]> =
            self.inst(inst).accesses().filter_map(|access| access.base).filter(is_lost).collect();
        for access in self.inst_mut(inst).accesses_mut().filter(|_| !lost.is_empty()) {
            access.base = access.base.filter(|base| !lost.contains(base));
        }
    }

    /// Returns the constant of a constant value.
    pub fn constant(&self, value: Value) -> Option<&Constant> {
        match self.values.get(value)?.def {
            ValueDefData::Const(id) => Some(&self.constants[id].constant),
            _ => None,
        }
    }

    /// Returns the number of an integer constant, read as unsigned; of a vector, that of all lanes.
    pub fn unsigned_constant(&self, value: Value) -> Option<u128> {
        self.constant(value)?.splat_bits().filter(|_| self.value_type(value).scalar().is_int())
    }

    /// Returns the number of an integer constant, read as signed; of a vector, that of all lanes.
    pub fn signed_constant(&self, value: Value) -> Option<i128> {
        let bits = self.unsigned_constant(value)?;
        let unused = 128 - self.value_type(value).scalar().bits();
        Some((bits << unused) as i128 >> unused)
    }

    /// Returns the number of an integer constant, read as signed, if 64 bits hold it.
    pub fn i64_constant(&self, value: Value) -> Option<i64> {
        i64::try_from(self.signed_constant(value)?).ok()
    }

    /// Interns a constant and returns its value.
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
        let def = ValueDefData::Const(self.constants.next_key());
        let value = self.values.push(ValueData { ty: constant.ty(), def });
        let id = self.constants.push(ConstantData { constant, value, other });
        self.constant_ids.insert(hash, id);
        value
    }

    /// Interns an `i1` constant.
    pub fn make_bool(&mut self, value: bool) -> Value {
        self.make_const(Constant::bool(value))
    }

    /// Interns an integer constant.
    pub fn make_int(&mut self, scalar: Scalar, value: i128) -> Value {
        self.make_const(Constant::int(scalar, value))
    }

    /// Interns the poison constant of a type.
    pub fn make_poison(&mut self, ty: Type) -> Value {
        self.make_const(Constant::Poison(ty))
    }

    /// Reserves value numbers below `count`, so that a parser can assign them.
    pub fn reserve_values(&mut self, count: usize) {
        while self.values.len() < count {
            self.values.push(ValueData { ty: Type::I1, def: ValueDefData::None });
        }
    }

    fn define(&mut self, value: Value, ty: Type, def: ValueDefData) {
        use crate::entity::Entity as _;
        self.reserve_values(value.index() + 1);
        let data = &mut self.values[value];
        assert_eq!(data.def, ValueDefData::None, "{value} has a definition already");
        *data = ValueData { ty, def };
    }

    // Instructions.

    /// Number of instruction numbers, removed instructions included.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Returns an instruction's data.
    #[inline]
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.insts[inst].data
    }

    /// Returns an instruction's data, mutably. The types of its results do not change.
    #[inline]
    pub fn inst_mut(&mut self, inst: Inst) -> &mut InstData {
        &mut self.insts[inst].data
    }

    /// Returns the results of an instruction.
    #[inline]
    pub fn results(&self, inst: Inst) -> &[Value] {
        match &self.insts[inst].results {
            InstResults::None => &[],
            InstResults::One(value) => std::slice::from_ref(value),
            InstResults::Several(several) => &self.several[*several],
        }
    }

    /// Returns the result of an instruction that has exactly one.
    pub fn result(&self, inst: Inst) -> Option<Value> {
        match self.results(inst) {
            [value] => Some(*value),
            _ => None,
        }
    }

    /// Creates an instruction outside of the layout, with new values as results.
    pub fn make_inst(&mut self, data: InstData, results: &[Type]) -> Inst {
        let inst = self.insts.next_key();
        let values = (0..)
            .zip(results)
            .map(|(index, &ty)| self.values.push(ValueData { ty, def: ValueDefData::Result(inst, index) }));
        let results = match results {
            [] => InstResults::None,
            [_] => values.last().map_or(InstResults::None, InstResults::One),
            _ => InstResults::Several(self.several.push(values.collect())),
        };
        self.insts.push(InstEntry { data, results })
    }

    /// Creates an instruction outside of the layout that defines these reserved values.
    pub fn make_inst_named(&mut self, data: InstData, results: &[(Value, Type)]) -> Inst {
        let inst = self.insts.next_key();
        for (index, &(value, ty)) in (0..).zip(results) {
            self.define(value, ty, ValueDefData::Result(inst, index));
        }
        let results = match results {
            [] => InstResults::None,
            [(value, _)] => InstResults::One(*value),
            _ => InstResults::Several(self.several.push(results.iter().map(|&(value, _)| value).collect())),
        };
        self.insts.push(InstEntry { data, results })
    }

    /// Removes an instruction from its block and frees the numbers of its results.
    pub fn remove_inst(&mut self, inst: Inst) {
        if self.layout.block_of(inst).is_some() {
            self.layout.remove_inst(inst);
        }
        match std::mem::replace(&mut self.insts[inst].results, InstResults::None) {
            InstResults::None => {}
            InstResults::One(value) => self.values[value].def = ValueDefData::None,
            InstResults::Several(several) => {
                let values = std::mem::take(&mut self.several[several]);
                values.into_iter().for_each(|value| self.values[value].def = ValueDefData::None);
            }
        }
    }

    /// Removes a block and its instructions.
    pub fn remove_block(&mut self, block: Block) {
        while let Some(inst) = self.layout.first_inst(block) {
            self.remove_inst(inst);
        }
        self.layout.remove_block(block);
        self.predicates[block] = None;
    }

    /// Replaces values in all instructions, hints and predicates, in one pass over the function.
    pub fn map_values(&mut self, mut map: impl FnMut(Value) -> Value) {
        let mut block = self.layout.entry();
        while let Some(here) = block {
            self.map_values_of_block(here, &mut map);
            block = self.layout.next_block(here);
        }
    }

    /// Replaces values in a block's instructions, hints and predicate.
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

    /// Interns an origin.
    pub fn make_origin(&mut self, data: OriginData) -> Origin {
        *self.origin_ids.entry(data).or_insert_with_key(|data| self.origins.push(data.clone()))
    }

    /// Number of origins in the function's table.
    pub fn origin_count(&self) -> usize {
        self.origins.len()
    }

    /// Returns the data of an origin.
    pub fn origin(&self, origin: Origin) -> &OriginData {
        &self.origins[origin]
    }

    /// Returns the source location of an instruction.
    pub fn loc(&self, inst: Inst) -> Option<SourceLoc> {
        self.origins[self.inst(inst).origin].loc
    }

    // Callees.

    /// Adds a declaration to the callees, unless one of its name is there.
    pub fn make_callee(&mut self, declaration: &Arc<Declaration>) -> Callee {
        if let Some(&callee) = self.callee_ids.get(&declaration.name) {
            return callee;
        }
        let callee = self.callees.push(Arc::clone(declaration));
        self.callee_ids.insert(declaration.name.clone(), callee);
        callee
    }

    /// Redirects all calls of a callee to another one of the same type.
    pub fn rename_callee(&mut self, callee: Callee, declaration: Arc<Declaration>) {
        self.callee_ids.remove(&self.callees[callee].name);
        self.callee_ids.insert(declaration.name.clone(), callee);
        self.callees[callee] = declaration;
    }

    /// Removes callees that no instruction calls or launches.
    pub fn remove_unused_callees(&mut self) {
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

    /// Returns the declaration of the function that an instruction calls or launches.
    pub fn callee_of(&self, data: &InstData) -> Option<&Arc<Declaration>> {
        match &data.detail {
            Detail::Call(callee) => self.callees.get(*callee),
            Detail::Launch(launch) => self.callees.get(launch.callee),
            _ => None,
        }
    }

    /// Returns the function's own declaration.
    pub fn declaration(&self) -> Declaration {
        Declaration { name: self.name.clone(), kind: self.kind, signature: self.signature.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interns enough random constants for hash collisions.
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
