//! Points-to analysis of private objects, with offsets.
//!
//! Each `alloca` makes a private object per lane. Pointers are tracked through `ptradd`, casts, `select`, `freeze` and φ.
//! An object *escapes* where its address flows elsewhere: into memory, a call, a number, another lane, a result. Only
//! instructions whose pointer is known to point to it can access an object that does not escape. Shared memory (global,
//! local, constant) is not modelled.

use heddle_ir::entity::{Entity, SecondaryMap};
use heddle_ir::{Constant, Function, Inst, Op, Scalar, Space, Value};
use smallvec::SmallVec;

use crate::control_tables::ControlTables;
use crate::uses::UseLists;

heddle_ir::entity! {
    /// Private object, made by an `alloca`.
    pub PrivateObject, "object"
}

/// Object with an offset into it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PointsToTarget {
    /// The object.
    pub object: PrivateObject,
    /// Byte offset from the start of the object; none if any offset is possible.
    pub offset: Option<i64>,
}

/// Points-to set of a pointer, without shared memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PointsToSet {
    /// Objects of this function that do not escape, sorted.
    pub known: SmallVec<[PointsToTarget; 2]>,
    /// True if the pointer may point to other, unknown private memory.
    pub unknown: bool,
}

/// Properties of a private object.
#[derive(Clone, Debug)]
pub struct PrivateObjectInfo {
    /// Its `alloca`.
    pub alloca: Inst,
    /// Size in bytes.
    pub bytes: u64,
    /// True if its address flows to an untracked use.
    pub escapes: bool,
    /// True if all pointers to it point to the object of the last execution of the `alloca`.
    pub is_single: bool,
}

/// Private objects and points-to sets of a function.
#[derive(Clone, Debug)]
pub struct PointsTo {
    objects: Vec<PrivateObjectInfo>,
    targets: SecondaryMap<Value, PointsToSet>,
}

/// Limits per points-to set: distinct offsets into one object, and targets in total.
const MAX_OFFSETS: usize = 4;
const MAX_TARGETS: usize = 16;

impl PointsTo {
    /// Tracks all pointers of a function.
    pub(crate) fn new(func: &Function, control: &ControlTables, uses: &UseLists) -> Self {
        let mut this = Self { objects: Vec::new(), targets: SecondaryMap::new() };
        let mut follows: SecondaryMap<Value, bool> = SecondaryMap::new();
        let mut work = Vec::new();
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                let data = func.inst(inst);
                for &result in func.results(inst) {
                    if !may_be_private(func, result) {
                        continue;
                    }
                    match data.op {
                        Op::Alloca => {
                            let heddle_ir::Detail::Alloca { bytes, .. } = data.detail else { continue };
                            let target = PointsToTarget {
                                object: PrivateObject::new(this.objects.len()),
                                offset: Some(0),
                            };
                            this.objects.push(PrivateObjectInfo {
                                alloca: inst,
                                bytes,
                                escapes: false,
                                is_single: true,
                            });
                            this.targets[result].known.push(target);
                            work.push(result);
                        }
                        Op::PtrAdd | Op::SpaceCast | Op::Select | Op::Freeze | Op::Phi => {
                            follows[result] = true
                        }
                        Op::Bitcast if may_be_private(func, data.args[0]) => follows[result] = true,
                        _ => this.targets[result].unknown = true,
                    }
                    if this.targets[result].unknown {
                        work.push(result);
                    }
                }
            }
        }
        for (&param, declared) in func.params().iter().zip(&func.signature.params) {
            if may_be_private(func, param) && !declared.is_shared_pointer(func.kind) {
                this.targets[param].unknown = true;
                work.push(param);
            }
        }
        // A constant that is not the address of a global is a plain number.
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                for &arg in &func.inst(inst).args {
                    let is_unknown = match func.constant(arg) {
                        Some(Constant::Scalar(_, bits)) => *bits != 0,
                        Some(Constant::Address(space, _)) => *space == Space::Private,
                        _ => false,
                    };
                    if is_unknown && may_be_private(func, arg) && !this.targets[arg].unknown {
                        this.targets[arg].unknown = true;
                        work.push(arg);
                    }
                }
            }
        }
        while let Some(value) = work.pop() {
            for &user in uses.of(value) {
                let Some(result) = func.result(user).filter(|&result| follows[result]) else { continue };
                if this.flow(func, value, user, result) {
                    work.push(result);
                }
            }
        }
        this.find_escapes(func, control, uses);
        this
    }

    /// Returns all objects, by number.
    pub fn objects(&self) -> &[PrivateObjectInfo] {
        &self.objects
    }

    /// Returns the points-to set of a pointer.
    pub fn targets(&self, pointer: Value) -> &PointsToSet {
        &self.targets[pointer]
    }

    /// Adds the targets of `value` to those of its user's result; true if that changed them.
    fn flow(&mut self, func: &Function, value: Value, user: Inst, result: Value) -> bool {
        let data = func.inst(user);
        let shift = match data.op {
            Op::PtrAdd if data.args[0] == value => {
                func.signed_constant(data.args[1]).map(|number| number as i64)
            }
            Op::PtrAdd => return false,
            _ => Some(0),
        };
        let from = self.targets[value].clone();
        let mut to = self.targets[result].clone();
        to.unknown |= from.unknown;
        for target in from.known {
            let offset = target.offset.zip(shift).and_then(|(offset, shift)| offset.checked_add(shift));
            add(&mut to.known, PointsToTarget { offset, ..target });
        }
        if to.known.len() > MAX_TARGETS {
            to.known.drain(..).for_each(|target| self.objects[target.object.index()].escapes = true);
            to.unknown = true;
        }
        let is_new = to != self.targets[result];
        self.targets[result] = to;
        is_new
    }

    fn find_escapes(&mut self, func: &Function, control: &ControlTables, uses: &UseLists) {
        for &block in control.index.order() {
            for inst in func.block_insts(block) {
                let data = func.inst(inst);
                for (index, &arg) in data.args.iter().enumerate() {
                    if !is_followed(data.op, index) {
                        let known = &self.targets[arg].known;
                        known.iter().for_each(|target| self.objects[target.object.index()].escapes = true);
                    }
                }
            }
        }
        // An `alloca` in a loop makes one object per iteration. Only one is live at a time if no φ carries its address.
        for number in 0..self.objects.len() {
            let alloca = self.objects[number].alloca;
            let block = func.layout.block_of(alloca).expect("the alloca was found in a block");
            if control.cycles.innermost(block).is_some() {
                let is_carried =
                    self.is_carried(func, uses, PrivateObject::new(number), func.results(alloca));
                self.objects[number].is_single = !is_carried;
            }
        }
        let objects = &self.objects;
        let values: Vec<Value> = self.targets.iter().map(|(value, _)| value).collect();
        for value in values {
            if self.targets[value].known.iter().any(|target| objects[target.object.index()].escapes) {
                let targets = &mut self.targets[value];
                targets.known.retain(|target| !objects[target.object.index()].escapes);
                targets.unknown = true;
            }
        }
    }

    /// True if a φ has an address in this object as operand.
    fn is_carried(&self, func: &Function, uses: &UseLists, object: PrivateObject, first: &[Value]) -> bool {
        let mut work = first.to_vec();
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(value) = work.pop() {
            for &user in uses.of(value) {
                if func.inst(user).op == Op::Phi {
                    return true;
                }
                let Some(result) = func.result(user) else { continue };
                let points_there = self.targets[result].known.iter().any(|target| target.object == object);
                if points_there && seen.insert(result) {
                    work.push(result);
                }
            }
        }
        false
    }
}

/// True if a value of this type may be the address of private memory.
fn may_be_private(func: &Function, value: Value) -> bool {
    matches!(func.value_type(value).scalar(), Scalar::Ptr(Space::Private | Space::Generic))
}

/// True if the address stays tracked, or is only accessed, as this operand.
fn is_followed(op: Op, index: usize) -> bool {
    match op {
        Op::PtrAdd | Op::Load | Op::AtomicRmw | Op::CompareExchange | Op::Memset => index == 0,
        Op::Store => index == 1,
        Op::Memcpy | Op::Memmove => index < 2,
        Op::SpaceCast | Op::Freeze | Op::Bitcast | Op::Phi | Op::Icmp | Op::Select => true,
        _ => false,
    }
}

fn add(known: &mut SmallVec<[PointsToTarget; 2]>, target: PointsToTarget) {
    if known.contains(&target) || known.contains(&PointsToTarget { offset: None, ..target }) {
        return;
    }
    let same = known.iter().filter(|other| other.object == target.object).count();
    let target = if same >= MAX_OFFSETS { PointsToTarget { offset: None, ..target } } else { target };
    if target.offset.is_none() {
        known.retain(|other| other.object != target.object);
    }
    known.push(target);
    known.sort_unstable();
}
