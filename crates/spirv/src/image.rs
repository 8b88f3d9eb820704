//! Images and samplers, as calls of OpenCL C's builtins.
//!
//! The builtins for signed and unsigned integers do the same: the image's format decides. A sampled image is no value
//! in LLVM IR; its uses are calls with its image and its sampler.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::{ANY, FunctionWriter, PURE, SpirvValue};
use crate::mangle::{MangledNumber, MangledType};
use crate::types::{NumberKind, NumberType, SpirvImage, SpirvTypeKind};
use spirv::{ImageOperands, Op};

/// Attributes of functions that read images.
const READS: &str = "convergent nounwind willreturn memory(read)";

/// Distance of the specification's channel types and orders from OpenCL's.
const CHANNEL_TYPES: u32 = 0x10d0;
const CHANNEL_ORDERS: u32 = 0x10b0;

type ImageArgument = (MangledType, (String, String));

/// Returns the numbers that a texel of `of` has in a builtin for `element`.
fn texel(of: &SpirvImage, element: NumberKind) -> NumberType {
    NumberType { kind: element, count: if of.is_depth { 1 } else { 4 }, is_vector: !of.is_depth }
}

fn mangled(number: NumberType) -> MangledType {
    MangledType::Number(MangledNumber { kind: number.kind, is_signed: true, count: number.count })
}

impl FunctionWriter<'_, '_> {
    /// Writes an operation on images; false for other instructions.
    pub(crate) fn image(&mut self, inst: &SpirvInst<'_>, op: Op) -> SpirvResult<bool> {
        match op {
            Op::SampledImage => {
                let (image, _) = self.image_operand(inst, 2)?;
                let sampler = self.operand_of(inst, 3, "i32")?;
                self.sampled.insert(inst.operand(1)?, (image, sampler));
            }
            Op::Image => {
                let ty = self.type_text(inst, inst.operand(0)?)?;
                let (image, _) = self.sampled_operand(inst, 2)?;
                self.expect(inst, &image, &ty)?;
                self.alias(inst.operand(1)?, &ty, &image.text);
            }
            Op::ImageSampleExplicitLod => {
                let (image, sampler) = self.sampled_operand(inst, 2)?;
                self.read(inst, &image, Some(sampler))?;
            }
            Op::ImageRead | Op::ImageFetch => {
                let (image, _) = self.image_operand(inst, 2)?;
                self.read(inst, &image, None)?;
            }
            Op::ImageWrite => self.write_texel(inst)?,
            Op::ImageQuerySizeLod | Op::ImageQuerySize => self.query_size(inst)?,
            Op::ImageQueryFormat => self.query(inst, "get_image_channel_data_type", CHANNEL_TYPES)?,
            Op::ImageQueryOrder => self.query(inst, "get_image_channel_order", CHANNEL_ORDERS)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns an operand that is an image, and its type.
    fn image_operand(&mut self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<(SpirvValue, SpirvImage)> {
        let value = self.operand(inst, index)?;
        let image = self.image_of(inst, &value)?;
        Ok((value, image))
    }

    fn image_of(&self, inst: &SpirvInst<'_>, value: &SpirvValue) -> SpirvResult<SpirvImage> {
        match self.module.types.get(value.ty).map(|ty| &ty.kind) {
            Some(SpirvTypeKind::Image(image)) => Ok(*image),
            _ => Err(inst.invalid(format!("{} is no image", self.module.show(value.id)))),
        }
    }

    /// Returns image and sampler of an operand that is a sampled image of this function.
    fn sampled_operand(
        &mut self,
        inst: &SpirvInst<'_>,
        index: usize,
    ) -> SpirvResult<(SpirvValue, SpirvValue)> {
        let id = inst.operand(index)?;
        self.note_use(inst, id);
        let found = self.sampled.get(&id).cloned();
        found.ok_or_else(|| {
            let reason = format!("{} is no sampled image made before", self.module.show(id));
            inst.unsupported(reason, "make it in the block that uses it")
        })
    }

    /// Refuses operands that need levels of detail but the first, samples, or gradients.
    fn check_image_operands(&self, inst: &SpirvInst<'_>, index: usize) -> SpirvResult<()> {
        let Some(&bits) = inst.words.get(index) else { return Ok(()) };
        let known = ImageOperands::LOD
            | ImageOperands::SIGN_EXTEND
            | ImageOperands::ZERO_EXTEND
            | ImageOperands::NONTEMPORAL;
        // The level is the first of the operands.
        let level = if bits & ImageOperands::LOD.bits() == 0 { Some(0) } else { self.level(inst, index + 1) };
        match (bits & !known.bits(), level) {
            (0, Some(0)) => Ok(()),
            _ => {
                let reason = "levels of detail and other image operands are not supported";
                Err(inst.unsupported(reason, "use the functions of OpenCL C without extensions"))
            }
        }
    }

    fn level(&self, inst: &SpirvInst<'_>, index: usize) -> Option<u64> {
        self.module.constant_bits(*inst.words.get(index)?)
    }

    fn image_argument(image: &SpirvImage, value: &SpirvValue) -> ImageArgument {
        (MangledType::Image(*image), (value.type_text.clone(), value.text.clone()))
    }

    /// Returns coordinates with the number of components that the builtin takes.
    fn coordinates(
        &mut self,
        inst: &SpirvInst<'_>,
        index: usize,
        image: &SpirvImage,
        with_sampler: bool,
    ) -> SpirvResult<ImageArgument> {
        let given = self.operand(inst, index)?;
        let number = self.number_of(inst, &given)?;
        let is_float = number.kind == NumberKind::Float(32);
        if !(number.kind == NumberKind::Int(32) || is_float && with_sampler) {
            return Err(inst.unsupported("coordinates of this type are not supported", "use int or float"));
        }
        if number.count < image.components {
            return Err(inst.invalid(format!(
                "{} has fewer than {} components",
                self.module.show(given.id),
                image.components
            )));
        }
        let wanted = image.coordinates();
        let to = NumberType { count: wanted, is_vector: wanted > 1, ..number };
        let text = match (number.count == wanted, wanted) {
            (true, _) => given.text.clone(),
            (false, 1) => self.temporary(&format!("extractelement {}, i32 0", given.typed())),
            // Missing components are not read.
            (false, _) => {
                let lane = |lane: u32| format!("i32 {}", if lane < number.count { lane } else { 0 });
                let lanes: Vec<String> = (0..wanted).map(lane).collect();
                let mask = format!("<{wanted} x i32> <{}>", lanes.join(", "));
                self.temporary(&format!(
                    "shufflevector {}, {} poison, {mask}",
                    given.typed(),
                    given.type_text
                ))
            }
        };
        Ok((mangled(to), (to.text(), text)))
    }

    /// Returns the name of the builtins that read or write texels of this type.
    fn texel_name(&self, inst: &SpirvInst<'_>, verb: &str, kind: NumberKind) -> SpirvResult<String> {
        match kind {
            NumberKind::Float(32) => Ok(format!("{verb}_imagef")),
            NumberKind::Int(32) => Ok(format!("{verb}_imagei")),
            _ => Err(inst.unsupported("texels of this type are not supported", "use int, uint or float")),
        }
    }

    fn read(
        &mut self,
        inst: &SpirvInst<'_>,
        value: &SpirvValue,
        sampler: Option<SpirvValue>,
    ) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let image = self.image_of(inst, value)?;
        self.check_image_operands(inst, 4)?;
        let number = self.number_type(inst, ty)?;
        let name = self.texel_name(inst, "read", number.kind)?;
        let has_sampler = sampler.is_some();
        let mut arguments = vec![FunctionWriter::image_argument(&image, value)];
        arguments.extend(sampler.map(|sampler| (MangledType::Sampler, (sampler.type_text, sampler.text))));
        arguments.push(self.coordinates(inst, 3, &image, has_sampler)?);
        let result = texel(&image, number.kind);
        let call = self.image_call(&name, &result.text(), arguments, READS);
        match (result.count == number.count, number.count) {
            (true, _) => self.result(id, &call),
            // A depth is the first component.
            (false, 4) if image.is_depth => {
                let depth = self.temporary(&call);
                let text = number.text();
                self.result(id, &format!("insertelement {text} zeroinitializer, float {depth}, i32 0"));
            }
            _ => return Err(inst.invalid("the result has not the components of a texel")),
        }
        Ok(())
    }

    fn write_texel(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (value, image) = self.image_operand(inst, 0)?;
        self.check_image_operands(inst, 3)?;
        let at = self.coordinates(inst, 1, &image, false)?;
        let given = self.operand(inst, 2)?;
        let number = self.number_of(inst, &given)?;
        let name = self.texel_name(inst, "write", number.kind)?;
        let wanted = texel(&image, number.kind);
        let text = match (number.count == wanted.count, image.is_depth) {
            (true, _) => given.text.clone(),
            (false, true) => self.temporary(&format!("extractelement {}, i32 0", given.typed())),
            (false, false) => return Err(inst.invalid("the texel has not four components")),
        };
        let arguments = vec![
            FunctionWriter::image_argument(&image, &value),
            at,
            (mangled(wanted), (wanted.text(), text)),
        ];
        let call = self.image_call(&name, "void", arguments, ANY);
        self.line(&call);
        Ok(())
    }

    fn image_call(
        &mut self,
        name: &str,
        result: &str,
        arguments: Vec<ImageArgument>,
        attributes: &str,
    ) -> String {
        let (mangled, texts): (Vec<MangledType>, Vec<(String, String)>) = arguments.into_iter().unzip();
        self.builtin_call(name, result, &mangled, &texts, attributes)
    }

    fn query_size(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let (ty, id) = (inst.operand(0)?, inst.operand(1)?);
        let (value, image) = self.image_operand(inst, 2)?;
        let number = self.number_type(inst, ty)?;
        let &NumberKind::Int(bits @ (32 | 64)) = &number.kind else {
            return Err(inst.unsupported("sizes of this type are not supported", "use int"));
        };
        let names = ["get_image_width", "get_image_height", "get_image_depth"];
        let mut parts = Vec::new();
        for name in &names[..image.dims as usize] {
            let argument = FunctionWriter::image_argument(&image, &value);
            let call = self.image_call(name, "i32", vec![argument], PURE);
            let size = self.temporary(&call);
            parts.push(self.resized(&size, 32, bits));
        }
        if image.is_array {
            let argument = FunctionWriter::image_argument(&image, &value);
            let call = self.image_call("get_image_array_size", "i64", vec![argument], PURE);
            let layers = self.temporary(&call);
            parts.push(self.resized(&layers, 64, bits));
        }
        if parts.len() != number.count as usize {
            return Err(inst.invalid(format!("the image has {} sizes, not {}", parts.len(), number.count)));
        }
        let mut text = parts[0].clone();
        if number.is_vector {
            text = "poison".into();
            for (index, part) in parts.iter().enumerate() {
                let to = number.text();
                text = self.temporary(&format!("insertelement {to} {text}, i{bits} {part}, i32 {index}"));
            }
        }
        self.alias(id, &number.text(), &text);
        Ok(())
    }

    /// Writes a query whose result is a number of OpenCL above `base`.
    fn query(&mut self, inst: &SpirvInst<'_>, name: &str, base: u32) -> SpirvResult<()> {
        self.check_type(inst, inst.operand(0)?, "i32")?;
        let (value, image) = self.image_operand(inst, 2)?;
        let argument = FunctionWriter::image_argument(&image, &value);
        let call = self.image_call(name, "i32", vec![argument], PURE);
        let number = self.temporary(&call);
        self.result(inst.operand(1)?, &format!("sub i32 {number}, {base}"));
        Ok(())
    }
}
