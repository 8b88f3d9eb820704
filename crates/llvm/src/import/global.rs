//! Import of globals, with initializers as runs of values.

use super::refusal::{ImportRefusal, ImportResult};
use super::types::{AddressSpaceMap, TypeTable};
use crate::native_call::address_name;
use crate::view::{LlvmModule, Ty, Val};
use heddle_ir::module::{Global, GlobalInit};
use heddle_ir::{Diagnostic, Scalar, Space};
use llvm_sys::{LLVMOpcode, LLVMTypeKind, LLVMValueKind as Kind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Maximum size in bytes of a nonzero initializer.
const MAX_BYTES: u64 = 1 << 24;
const MAX_DEPTH: u32 = 64;

/// Name and space of each global, or the reason for its refusal.
pub(super) type GlobalNames<'m> = FxHashMap<Val<'m>, ImportResult<(Space, Arc<str>)>>;

/// Imports all globals. Refuses globals that hold the address of a refused one.
pub(super) fn import_globals<'m>(
    llvm: &'m LlvmModule,
    types: &TypeTable<'m>,
    refused: &mut Vec<Diagnostic>,
) -> (Vec<Global>, GlobalNames<'m>) {
    let mut names = GlobalNames::default();
    let mut taken_names = FxHashSet::default();
    let all: Vec<Val<'m>> = llvm.globals().filter(|global| !global.name().starts_with("llvm.")).collect();
    let mut unnamed = 0;
    for &global in &all {
        let mut name = global.name();
        while name.is_empty() || !taken_names.insert(name.clone()) {
            name = format!("global.{unnamed}");
            unnamed += 1;
        }
        names.insert(global, space_of(global, types).map(|space| (space, Arc::from(name))));
    }
    if types.spaces == AddressSpaceMap::Host {
        for func in llvm.functions().filter(|func| func.intrinsic_id() == 0 && !func.name().is_empty()) {
            names.insert(func, Ok((Space::Constant, address_name(&func.name()).into())));
        }
    }
    let mut contents = Vec::new();
    let mut users: FxHashMap<Val<'m>, Vec<Val<'m>>> = FxHashMap::default();
    for &global in &all {
        let mut writer =
            InitializerWriter { types, names: &names, runs: Vec::new(), at: 0, mentions: Vec::new() };
        let written = match &names[&global] {
            Ok(_) => writer.global(global),
            Err(why) => Err(why.clone()),
        };
        for mentioned in std::mem::take(&mut writer.mentions) {
            users.entry(mentioned).or_default().push(global);
        }
        contents.push(written.map(|()| writer.runs));
    }
    let mut worklist = Vec::new();
    for (&global, written) in all.iter().zip(&contents) {
        if let Err(why) = written {
            names.insert(global, Err(why.clone()));
            worklist.push(global);
        }
    }
    while let Some(global) = worklist.pop() {
        for &user in users.get(&global).map_or(&[][..], |users| users) {
            if names[&user].is_ok() {
                let reason = format!("address of @{}, which was refused", global.name());
                names.insert(user, Err(ImportRefusal::new(reason, "")));
                worklist.push(user);
            }
        }
    }
    let mut globals = Vec::new();
    for (&global, written) in all.iter().zip(contents) {
        match (names[&global].clone(), written) {
            (Ok((space, name)), Ok(init)) => {
                let align = match global.alignment() {
                    0 if !global.value_type().is_sized() => 1,
                    0 => types.layout.align(global.value_type()),
                    align => align,
                };
                globals.push(Global { name, space, align: align.max(1), init });
            }
            (Err(why), _) | (_, Err(why)) => refused.push(why.of(&global.name())),
        }
    }
    (globals, names)
}

fn space_of<'m>(global: Val<'m>, types: &TypeTable<'m>) -> ImportResult<Space> {
    if global.is_thread_local() {
        return Err(ImportRefusal::new("thread-local variable", "pass its address"));
    }
    let declared = types.space(global.ty().address_space())?;
    Ok(match declared {
        Space::Generic | Space::Private if global.is_global_constant() => Space::Constant,
        Space::Generic | Space::Private => Space::Global,
        other => other,
    })
}

/// Writer of an initializer as runs of values.
struct InitializerWriter<'t, 'm> {
    types: &'t TypeTable<'m>,
    names: &'t GlobalNames<'m>,
    runs: Vec<GlobalInit>,
    at: u64,
    mentions: Vec<Val<'m>>,
}

impl<'m> InitializerWriter<'_, 'm> {
    fn global(&mut self, global: Val<'m>) -> ImportResult<()> {
        let ty = global.value_type();
        // An opaque struct has no size.
        let size = if ty.is_sized() { self.types.size(ty)? } else { 0 };
        match global.initializer() {
            None if self.is_elsewhere(global) => {
                self.runs.push(GlobalInit::Extern(size));
                return Ok(());
            }
            Some(initial) if initial.kind() == Kind::LLVMConstantAggregateZeroValueKind => {}
            Some(_) if size > MAX_BYTES => {
                return Err(ImportRefusal::new(
                    format!("{size} bytes of initial values exceed the limit"),
                    "initialize it at run time",
                ));
            }
            Some(initial) => self.value(initial, 0, 0)?,
            None => {}
        }
        self.pad(size);
        Ok(())
    }

    /// True for globals that another module defines. Local memory has no initializer and is defined here.
    fn is_elsewhere(&self, global: Val<'m>) -> bool {
        !matches!(self.types.space(global.ty().address_space()), Ok(Space::Local))
    }

    /// Pads with zeros up to an offset.
    fn pad(&mut self, to: u64) {
        if to > self.at {
            match self.runs.last_mut() {
                Some(GlobalInit::Zero(bytes)) => *bytes += to - self.at,
                _ => self.runs.push(GlobalInit::Zero(to - self.at)),
            }
            self.at = to;
        }
    }

    fn scalar(&mut self, scalar: Scalar, bits: u128, offset: u64) {
        self.pad(offset);
        match self.runs.last_mut() {
            Some(GlobalInit::Values(known, values)) if *known == scalar => values.push(bits),
            _ => self.runs.push(GlobalInit::Values(scalar, vec![bits])),
        }
        self.at = offset + u64::from(scalar.bytes());
    }

    fn value(&mut self, value: Val<'m>, offset: u64, depth: u32) -> ImportResult<()> {
        if depth > MAX_DEPTH {
            return Err(ImportRefusal::new("initial values are nested too deeply", "flatten it"));
        }
        let ty = value.ty();
        match value.kind() {
            // Undefined bytes become zeros.
            Kind::LLVMConstantAggregateZeroValueKind
            | Kind::LLVMUndefValueValueKind
            | Kind::LLVMPoisonValueKind
            | Kind::LLVMConstantPointerNullValueKind => Ok(()),
            Kind::LLVMConstantIntValueKind | Kind::LLVMConstantFPValueKind if !ty.is_vector() => {
                let scalar = self.types.scalar(ty)?;
                if self.types.odd_bits(ty).is_some() {
                    return Err(ImportRefusal::new(
                        "integers of odd widths in memory",
                        "use the next wider type",
                    ));
                }
                let unknown = || ImportRefusal::new("unknown constant", "");
                self.scalar(scalar, value.bits().ok_or_else(unknown)?, offset);
                Ok(())
            }
            Kind::LLVMConstantArrayValueKind
            | Kind::LLVMConstantStructValueKind
            | Kind::LLVMConstantVectorValueKind
            | Kind::LLVMConstantDataArrayValueKind
            | Kind::LLVMConstantDataVectorValueKind => self.parts(value, ty, offset, depth),
            // All address spaces have the same null pointer.
            Kind::LLVMConstantExprValueKind if is_null(value) => Ok(()),
            _ => {
                let (global, addend) = self.address(value, 0, 0)?;
                self.mentions.push(global);
                let Some(Ok((_, name))) = self.names.get(&global) else {
                    return Err(ImportRefusal::new(
                        format!("address of @{}, which was refused", global.name()),
                        "",
                    ));
                };
                self.pad(offset);
                self.runs.push(GlobalInit::Address(name.clone(), addend));
                self.at = offset + 8;
                Ok(())
            }
        }
    }

    fn parts(&mut self, value: Val<'m>, ty: Ty<'m>, offset: u64, depth: u32) -> ImportResult<()> {
        if ty.is_vector()
            && ty.element().kind() == LLVMTypeKind::LLVMIntegerTypeKind
            && ty.element().int_bits() == 1
        {
            return Err(ImportRefusal::new("vector of bits in memory", "store an integer instead"));
        }
        for index in 0..ty.count() as u32 {
            let at = match ty.is_struct() {
                true => self.types.layout.field_offset(ty, index),
                false if ty.is_vector() => self.types.layout.store_size(ty.element()) * u64::from(index),
                false => self.types.layout.size(ty.element()) * u64::from(index),
            };
            if let Some(part) = value.aggregate_element(index) {
                self.value(part, offset + at, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Returns the base global and offset of a constant address.
    fn address(&self, value: Val<'m>, addend: i64, depth: u32) -> ImportResult<(Val<'m>, i64)> {
        if depth > MAX_DEPTH {
            return Err(ImportRefusal::new("an address is nested too deeply", ""));
        }
        match value.kind() {
            Kind::LLVMGlobalVariableValueKind => Ok((value, addend)),
            Kind::LLVMGlobalAliasValueKind => self.address(value.aliasee(), addend, depth + 1),
            Kind::LLVMFunctionValueKind if self.names.contains_key(&value) => Ok((value, addend)),
            Kind::LLVMFunctionValueKind => Err(ImportRefusal::new(
                format!("address of the function @{}", value.name()),
                "call it by its name",
            )),
            Kind::LLVMConstantExprValueKind => match value.const_opcode() {
                LLVMOpcode::LLVMGetElementPtr => {
                    let offset = constant_offset(value, self.types)?;
                    self.address(value.operand(0), addend.wrapping_add(offset), depth + 1)
                }
                LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMPtrToInt | LLVMOpcode::LLVMIntToPtr
                    if self.types.leaves(value.ty())?.iter().all(|leaf| leaf.scalar.bytes() == 8) =>
                {
                    self.address(value.operand(0), addend, depth + 1)
                }
                _ => Err(ImportRefusal::new(
                    format!("`{}` as initial value", value.text()),
                    "compute it at run time",
                )),
            },
            _ => Err(ImportRefusal::new(
                format!("`{}` as initial value", value.text()),
                "compute it at run time",
            )),
        }
    }
}

/// True for casts of a null pointer.
fn is_null(value: Val<'_>) -> bool {
    let mut value = value;
    for _ in 0..MAX_DEPTH {
        let is_cast = value.kind() == Kind::LLVMConstantExprValueKind
            && matches!(
                value.const_opcode(),
                LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMIntToPtr | LLVMOpcode::LLVMPtrToInt
            );
        match is_cast {
            true => value = value.operand(0),
            false => {
                return value.kind() == Kind::LLVMConstantPointerNullValueKind
                    || value.kind() == Kind::LLVMConstantIntValueKind && value.bits() == Some(0);
            }
        }
    }
    false
}

/// Returns the byte offset of a `getelementptr` with constant indices.
fn constant_offset<'m>(gep: Val<'m>, types: &TypeTable<'m>) -> ImportResult<i64> {
    let mut ty = gep.gep_type();
    let mut offset = 0i64;
    for number in 1..gep.operand_count() {
        let index = gep.operand(number);
        let unknown = || ImportRefusal::new(format!("unknown index of `{}`", gep.text()), "");
        let bits =
            index.bits().or_else(|| (index.kind() == Kind::LLVMConstantAggregateZeroValueKind).then_some(0));
        let width = index.ty().int_bits().min(64);
        let value = ((bits.ok_or_else(unknown)? as i64) << (64 - width)) >> (64 - width);
        if number > 1 && ty.is_struct() {
            offset = offset.wrapping_add(types.layout.field_offset(ty, value as u32) as i64);
            ty = ty.field(value as u32);
        } else {
            let element = if number == 1 { ty } else { ty.element() };
            offset = offset.wrapping_add(value.wrapping_mul(types.size(element)? as i64));
            ty = element;
        }
    }
    Ok(offset)
}
