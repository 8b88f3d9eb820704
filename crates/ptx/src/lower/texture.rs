//! Lowering of textures and surfaces, which are addresses of descriptors.
//!
//! Textures are read by functions of `crates/builtins/cl/texture.cl`, which the driver provides. A surface access is a load
//! or store at an address that such a function computes: outside of the surface it faults, is within it, or of memory that is
//! there for this, by the mode.

use super::body::FunctionLowering;
use super::{LowerResult, layout, refuse};
use crate::check::{ResolvedInst, ResolvedOperand};
use crate::words::Word;
use heddle_ir::inst::Access;
use heddle_ir::module::{Declaration, Effects, FunctionKind, Signature};
use heddle_ir::words::Flags;
use heddle_ir::{Scalar, Space, Type, Value};
use std::sync::Arc;

/// Modes of `heddle.surface.address`.
const TRAP: i128 = 0;
const CLAMP: i128 = 1;
const READ_ZERO: i128 = 2;
const WRITE_NOTHING: i128 = 3;

/// Coordinates of a texel: along three dimensions, and the layer.
struct TexelPosition {
    object: Value,
    at: [Value; 3],
    layer: Value,
}

/// Number of dimensions of a geometry, and whether a layer precedes the coordinates.
fn geometry_of(words: &[Word]) -> (usize, bool) {
    words
        .iter()
        .find_map(|word| {
            Some(match word {
                Word::Line => (1, false),
                Word::Plane => (2, false),
                Word::Volume => (3, false),
                Word::LineArray => (1, true),
                Word::PlaneArray => (2, true),
                _ => return None,
            })
        })
        .unwrap_or((1, false))
}

impl FunctionLowering<'_, '_, '_> {
    /// Calls a function that reads descriptors and texels.
    fn texture_call(&mut self, name: String, args: &[Value], results: &[Type]) -> Vec<Value> {
        let params: Vec<Type> = args.iter().map(|&arg| self.emit.func.value_type(arg)).collect();
        let effects = Effects { reads: true, traps: true, ..Effects::PURE };
        let signature = Signature { effects, ..Signature::new(&params, results) };
        self.emit.call(&Arc::new(Declaration { name, kind: FunctionKind::Function, signature }), args)
    }

    fn object(&mut self, arg: &ResolvedOperand) -> LowerResult<Value> {
        match arg {
            ResolvedOperand::Reg(_) => self.read(arg, Word::B64),
            _ => refuse(
                "texture and surface references",
                "pass texture and surface objects (`cudaCreateTextureObject`)",
            ),
        }
    }

    /// Reads the operand `[object, {coordinates}]`; coordinates are of type `ty`.
    fn position(
        &mut self,
        inst: &ResolvedInst,
        arg: &ResolvedOperand,
        ty: Word,
    ) -> LowerResult<TexelPosition> {
        let ResolvedOperand::Vector(parts) = arg else {
            return refuse("no coordinates", "write them in braces");
        };
        let (dims, is_layered) = geometry_of(&inst.words);
        let object = self.object(&parts[0])?;
        let mut coordinates = &parts[1..];
        let mut layer = self.emit.int32(0);
        if is_layered && let Some((first, rest)) = coordinates.split_first() {
            layer = self.read(first, Word::U32)?;
            coordinates = rest;
        }
        if coordinates.len() < dims {
            return refuse("too few coordinates", "give one for each dimension");
        }
        let zero = self.emit.bits(layout::scalar(ty), 0);
        let mut at = [zero; 3];
        for (value, coordinate) in at.iter_mut().zip(&coordinates[..dims]) {
            *value = self.read(coordinate, ty)?;
        }
        Ok(TexelPosition { object, at, layer })
    }

    /// Lowers `txq` and `suq`.
    pub(super) fn texture_size(&mut self, inst: &ResolvedInst) -> LowerResult<()> {
        let ResolvedOperand::Address { base, .. } = &inst.args[1] else {
            return refuse("not a texture", "write it in brackets");
        };
        let object = self.object(base)?;
        let field = [Word::Height, Word::Depth].into_iter().find(|field| inst.words.contains(field));
        let field = field.unwrap_or(Word::Width).text();
        for value in self.texture_call(format!("heddle.texture.{field}"), &[object], &[Type::I32]) {
            self.write(&inst.args[0], value, false);
        }
        Ok(())
    }

    /// Lowers `tex`, and `tld4`, which gathers one component.
    pub(super) fn texture(&mut self, inst: &ResolvedInst, is_gather: bool) -> LowerResult<()> {
        let ty = inst.words.last().copied().unwrap_or(Word::F32);
        let ty = if ty == Word::F32 { Word::F32 } else { Word::B32 };
        let position = self.position(inst, &inst.args[1], ty)?;
        let TexelPosition { object, at: [x, y, z], layer } = position;
        let (function, args) = if is_gather {
            let components = [Word::R, Word::G, Word::B];
            let component = components.iter().position(|&of| inst.words[0] == of).unwrap_or(3);
            let component = self.emit.int32(component as i128);
            ("gather".to_string(), vec![object, x, y, component])
        } else {
            // There are no mipmaps, so the level of detail does not matter.
            let way = if ty == Word::F32 { "sample" } else { "fetch" };
            let (dims, _) = geometry_of(&inst.words);
            (format!("{way}_{dims}d"), vec![object, x, y, z, layer])
        };
        let values = self.texture_call(format!("heddle.texture.{function}"), &args, &[Type::I32; 4]);
        let ResolvedOperand::Vector(parts) = &inst.args[0] else {
            return refuse(
                "the destination of a texture access is a vector",
                "write four registers in braces",
            );
        };
        for (part, value) in parts.iter().zip(values) {
            self.write(part, value, false);
        }
        Ok(())
    }

    pub(super) fn surface(&mut self, inst: &ResolvedInst, is_store: bool, ty: Word) -> LowerResult<()> {
        let (place, data) = if is_store { (0, 1) } else { (1, 0) };
        let parts: &[ResolvedOperand] = match &inst.args[data] {
            ResolvedOperand::Vector(parts) => parts,
            one => std::slice::from_ref(one),
        };
        let width = ty.bits().unwrap_or(8) / 8;
        let bytes = width * parts.len() as u32;
        let mode = match inst.words.last() {
            Some(Word::Clamp) => CLAMP,
            Some(Word::Zero) if is_store => WRITE_NOTHING,
            Some(Word::Zero) => READ_ZERO,
            _ => TRAP,
        };
        let TexelPosition { object, at: [x, y, z], layer } =
            self.position(inst, &inst.args[place], Word::B32)?;
        let [size, mode] = [i128::from(bytes), mode].map(|number| self.emit.int32(number));
        let args = [object, x, y, z, layer, size, mode];
        let found = self.texture_call("heddle.surface.address".into(), &args, &[Type::Scalar(Scalar::I64)]);
        let Some(&address) = found.first() else { return refuse("surface access", "read a buffer instead") };
        let pointer = self.pointer_of(address, Space::Global);
        // Programs may compute any byte offset: nothing is known of the alignment.
        let access = Access::aligned(1);
        let mut loaded = Vec::new();
        for (index, part) in (0i64..).zip(parts) {
            let here = self.emit.add_bytes(pointer, index * i64::from(width));
            if is_store {
                let value = self.read(part, ty)?;
                self.emit.store(value, here, access, Flags::NONE);
            } else {
                loaded.push(self.emit.load(layout::scalar(ty), here, access, Flags::NONE));
            }
        }
        for (part, value) in parts.iter().zip(loaded) {
            self.write(part, value, false);
        }
        Ok(())
    }
}
