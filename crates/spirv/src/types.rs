//! Types: a checked table with LLVM's text of each, and layouts as LLVM computes them for `spir64`.

use crate::binary::SpirvInst;
use crate::error::SpirvResult;
use crate::function::NO_LOWERING;
use crate::refusal::refusal;
use rustc_hash::FxHashMap;
use spirv::{Dim, Op, StorageClass};

/// Maximum nesting depth of a type.
const MAX_DEPTH: u32 = 64;
/// Maximum size of a type in bytes.
const MAX_BYTES: u64 = 1 << 40;

/// Scalar of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberKind {
    Bool,
    Int(u32),
    Float(u32),
    BFloat,
}

impl NumberKind {
    /// Width in bits.
    pub(crate) fn bits(self) -> u32 {
        match self {
            NumberKind::Bool => 1,
            NumberKind::Int(bits) | NumberKind::Float(bits) => bits,
            NumberKind::BFloat => 16,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, NumberKind::Float(_) | NumberKind::BFloat)
    }

    pub(crate) fn is_int(self) -> bool {
        matches!(self, NumberKind::Int(_))
    }

    /// LLVM's text.
    pub(crate) fn text(self) -> &'static str {
        match self {
            NumberKind::Bool => "i1",
            NumberKind::Int(8) => "i8",
            NumberKind::Int(16) => "i16",
            NumberKind::Int(32) => "i32",
            NumberKind::Int(_) => "i64",
            NumberKind::Float(16) => "half",
            NumberKind::Float(32) => "float",
            NumberKind::Float(_) => "double",
            NumberKind::BFloat => "bfloat",
        }
    }
}

/// Type, with the ids of its parts.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SpirvTypeKind {
    Void,
    Number(NumberKind),
    Vector {
        element: u32,
        count: u32,
    },
    Array {
        element: u32,
        count: u64,
    },
    Struct {
        members: Vec<u32>,
        is_packed: bool,
    },
    Pointer {
        space: u32,
        pointee: u32,
    },
    Function {
        result: u32,
        params: Vec<u32>,
    },
    Event,
    Image(SpirvImage),
    Sampler,
    /// Pipe, queue and the like: values can be passed, not used.
    Opaque,
}

/// Type of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpirvImage {
    /// Name in OpenCL C without `_t`.
    pub(crate) name: &'static str,
    /// `ro`, `wo` or `rw`.
    pub(crate) access: &'static str,
    /// Dimensions of a layer.
    pub(crate) dims: u32,
    /// Components of coordinates, with the layer.
    pub(crate) components: u32,
    pub(crate) is_array: bool,
    pub(crate) is_depth: bool,
}

impl SpirvImage {
    /// Returns the components of the vectors that OpenCL C takes as coordinates.
    pub(crate) fn coordinates(&self) -> u32 {
        self.components.next_power_of_two()
    }

    /// Returns the qualifier in OpenCL C.
    pub(crate) fn qualifier(&self) -> &'static str {
        match self.access {
            "ro" => "read_only",
            "wo" => "write_only",
            _ => "read_write",
        }
    }

    /// Reads the operands of an image type after its id; none if OpenCL C has no such type.
    fn of_operands(words: &[u32]) -> Option<SpirvImage> {
        let &[_sampled_type, dim, depth, arrayed, samples, _sampled, _format, ref access @ ..] = words else {
            return None;
        };
        let (is_array, is_depth) = (arrayed == 1, depth == 1);
        let (name, dims) = match (Dim::from_u32(dim)?, is_array, is_depth) {
            (Dim::Dim1D, false, false) => ("image1d", 1),
            (Dim::Dim1D, true, false) => ("image1d_array", 1),
            (Dim::DimBuffer, false, false) => ("image1d_buffer", 1),
            (Dim::Dim2D, false, false) => ("image2d", 2),
            (Dim::Dim2D, true, false) => ("image2d_array", 2),
            (Dim::Dim2D, false, true) => ("image2d_depth", 2),
            (Dim::Dim2D, true, true) => ("image2d_array_depth", 2),
            (Dim::Dim3D, false, false) => ("image3d", 3),
            _ => return None,
        };
        let access = match access {
            [] | [0] => "ro",
            [1] => "wo",
            [2] => "rw",
            _ => return None,
        };
        let components = dims + u32::from(is_array);
        (samples == 0).then_some(SpirvImage { name, access, dims, components, is_array, is_depth })
    }
}

/// Type with its text and layout.
#[derive(Clone, Debug)]
pub(crate) struct SpirvType {
    pub(crate) kind: SpirvTypeKind,
    /// LLVM's text.
    pub(crate) text: String,
    /// Allocation size in bytes; 0 for types without values in memory.
    pub(crate) bytes: u64,
    /// ABI alignment in bytes.
    pub(crate) align: u64,
    depth: u32,
}

/// Types by id.
#[derive(Default, Debug)]
pub(crate) struct SpirvTypes {
    known: FxHashMap<u32, SpirvType>,
    /// Address spaces of pointer types that are declared ahead.
    forward: FxHashMap<u32, u32>,
    /// Definitions of named struct types.
    pub(crate) definitions: String,
}

/// Number or vector of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberType {
    pub(crate) kind: NumberKind,
    /// Number of elements; 1 for a scalar.
    pub(crate) count: u32,
    pub(crate) is_vector: bool,
}

impl NumberType {
    pub(crate) fn scalar(kind: NumberKind) -> NumberType {
        NumberType { kind, count: 1, is_vector: false }
    }

    /// The type with another kind of elements.
    pub(crate) fn with(self, kind: NumberKind) -> NumberType {
        NumberType { kind, ..self }
    }

    /// LLVM's text.
    pub(crate) fn text(self) -> String {
        match self.is_vector {
            true => format!("<{} x {}>", self.count, self.kind.text()),
            false => self.kind.text().into(),
        }
    }

    /// Text of the constant that has this text in each element.
    pub(crate) fn splat(self, element: &str) -> String {
        match self.is_vector {
            true => {
                let list = vec![format!("{} {element}", self.kind.text()); self.count as usize];
                format!("<{}>", list.join(", "))
            }
            false => element.into(),
        }
    }
}

/// Returns the address space of a storage class as `spir64` numbers it.
pub(crate) fn space_of(inst: &SpirvInst<'_>, class: u32) -> SpirvResult<u32> {
    let named = StorageClass::from_u32(class)
        .ok_or_else(|| inst.invalid(format!("the storage class {class} is unknown")))?;
    Ok(match named {
        StorageClass::UniformConstant => 2,
        StorageClass::Input | StorageClass::Function | StorageClass::Private => 0,
        StorageClass::Workgroup => 3,
        StorageClass::CrossWorkgroup | StorageClass::DeviceOnlyALTERA | StorageClass::HostOnlyALTERA => 1,
        StorageClass::Generic => 4,
        StorageClass::CodeSectionINTEL => {
            let reason = "pointers to functions are not supported";
            return Err(inst.unsupported(reason, "call functions by name"));
        }
        other => {
            let reason = format!("the storage class {other:?} is not one of kernels");
            return Err(inst.unsupported(reason, "write a module for OpenCL"));
        }
    })
}

impl SpirvTypes {
    pub(crate) fn get(&self, id: u32) -> Option<&SpirvType> {
        self.known.get(&id)
    }

    /// Returns the type of a number or a vector of numbers.
    pub(crate) fn number(&self, id: u32) -> Option<NumberType> {
        match self.get(id)?.kind {
            SpirvTypeKind::Number(kind) => Some(NumberType::scalar(kind)),
            SpirvTypeKind::Vector { element, count } => {
                let SpirvTypeKind::Number(kind) = self.get(element)?.kind else { return None };
                Some(NumberType { kind, count, is_vector: true })
            }
            _ => None,
        }
    }

    /// Returns the address space and the pointee of a pointer type.
    pub(crate) fn pointer(&self, id: u32) -> Option<(u32, u32)> {
        match self.get(id)?.kind {
            SpirvTypeKind::Pointer { space, pointee } => Some((space, pointee)),
            _ => None,
        }
    }

    /// Returns the member of an aggregate or vector type; array and vector indices may be any.
    pub(crate) fn member(&self, id: u32, index: Option<u64>) -> Option<u32> {
        match &self.get(id)?.kind {
            SpirvTypeKind::Vector { element, .. } | SpirvTypeKind::Array { element, .. } => Some(*element),
            SpirvTypeKind::Struct { members, .. } => members.get(usize::try_from(index?).ok()?).copied(),
            _ => None,
        }
    }

    /// Returns the number of parts of an aggregate or vector type.
    pub(crate) fn part_count(&self, id: u32) -> Option<u64> {
        match &self.get(id)?.kind {
            SpirvTypeKind::Vector { count, .. } => Some((*count).into()),
            SpirvTypeKind::Array { count, .. } => Some(*count),
            SpirvTypeKind::Struct { members, .. } => Some(members.len() as u64),
            _ => None,
        }
    }

    /// True for types of values in memory.
    pub(crate) fn is_sized(&self, id: u32) -> bool {
        self.get(id).is_some_and(|ty| {
            !matches!(ty.kind, SpirvTypeKind::Void | SpirvTypeKind::Function { .. } | SpirvTypeKind::Opaque)
        })
    }

    /// Declares a pointer type ahead.
    pub(crate) fn declare_pointer(&mut self, inst: &SpirvInst<'_>) -> SpirvResult<()> {
        let space = space_of(inst, inst.operand(1)?)?;
        self.forward.insert(inst.operand(0)?, space);
        Ok(())
    }

    /// Adds a type. `length` reads the constant of an array's length, `is_packed` the decoration of a struct.
    pub(crate) fn add(
        &mut self,
        inst: &SpirvInst<'_>,
        op: Op,
        length: impl Fn(u32) -> Option<u64>,
        is_packed: bool,
    ) -> SpirvResult<()> {
        let mut operands = inst.operands();
        let id = operands.word()?;
        let plain =
            |kind, text: &str, bytes, align| SpirvType { kind, text: text.into(), bytes, align, depth: 1 };
        let number = |kind: NumberKind| {
            let bytes = u64::from(kind.bits().div_ceil(8));
            plain(SpirvTypeKind::Number(kind), kind.text(), bytes, bytes)
        };
        let opaque = |text: &str| plain(SpirvTypeKind::Opaque, text, 0, 1);
        let ty = match op {
            Op::TypeVoid => plain(SpirvTypeKind::Void, "void", 0, 1),
            Op::TypeBool => number(NumberKind::Bool),
            Op::TypeInt => match operands.word()? {
                width @ (8 | 16 | 32 | 64) => number(NumberKind::Int(width)),
                width => {
                    let reason = format!("integers of {width} bits are not supported");
                    return Err(inst.unsupported(reason, "use integers of 8, 16, 32 or 64 bits"));
                }
            },
            Op::TypeFloat => match (operands.word()?, operands.optional()) {
                (width @ (16 | 32 | 64), None) => number(NumberKind::Float(width)),
                (16, Some(0)) => number(NumberKind::BFloat),
                (width, _) => {
                    let reason = format!("this encoding of floats of {width} bits is not supported");
                    return Err(inst.unsupported(reason, "use half, float or double"));
                }
            },
            Op::TypeVector => {
                let (element, count) = (operands.word()?, operands.word()?);
                let of = self.defined(inst, element)?;
                if !matches!(of.kind, SpirvTypeKind::Number(_)) {
                    return Err(inst.invalid(format!("%{element} is no type of numbers")));
                }
                if !matches!(count, 2 | 3 | 4 | 8 | 16) {
                    let reason = format!("vectors of {count} elements are not supported");
                    return Err(inst.unsupported(reason, "use vectors of 2, 3, 4, 8 or 16 elements"));
                }
                // Vectors of bits are packed.
                let bytes = match of.kind {
                    SpirvTypeKind::Number(NumberKind::Bool) => u64::from(count).div_ceil(8),
                    _ => of.bytes * u64::from(count),
                };
                let bytes = bytes.next_power_of_two();
                let text = format!("<{count} x {}>", of.text);
                plain(SpirvTypeKind::Vector { element, count }, &text, bytes, bytes)
            }
            Op::TypeArray => {
                let (element, count) = (operands.word()?, operands.word()?);
                let of = self.sized(inst, element)?;
                let count = length(count)
                    .ok_or_else(|| inst.invalid(format!("%{count} is no constant of an integer type")))?;
                let bytes = of.bytes.saturating_mul(count);
                let (text, align, depth) = (format!("[{count} x {}]", of.text), of.align, of.depth + 1);
                SpirvType { kind: SpirvTypeKind::Array { element, count }, text, bytes, align, depth }
            }
            Op::TypeStruct => {
                let members = operands.rest().to_vec();
                let (mut bytes, mut align, mut depth, mut texts) = (0u64, 1, 1, Vec::new());
                for &member in &members {
                    // A member may be a pointer that is declared ahead.
                    let (text, size, least, level) = match self.forward.get(&member) {
                        Some(&space) if !self.known.contains_key(&member) => (pointer_text(space), 8, 8, 1),
                        _ => {
                            let of = self.sized(inst, member)?;
                            (of.text.clone(), of.bytes, of.align, of.depth)
                        }
                    };
                    let least = if is_packed { 1 } else { least };
                    bytes = bytes.next_multiple_of(least).saturating_add(size).min(MAX_BYTES + 1);
                    align = align.max(least);
                    depth = depth.max(level + 1);
                    texts.push(text);
                }
                bytes = bytes.next_multiple_of(align);
                let list = texts.join(", ");
                let body = if is_packed { format!("<{{ {list} }}>") } else { format!("{{ {list} }}") };
                self.definitions.push_str(&format!("%s{id} = type {body}\n"));
                let kind = SpirvTypeKind::Struct { members, is_packed };
                SpirvType { kind, text: format!("%s{id}"), bytes, align, depth }
            }
            Op::TypePointer => {
                let (space, pointee) = (space_of(inst, operands.word()?)?, operands.word()?);
                plain(SpirvTypeKind::Pointer { space, pointee }, &pointer_text(space), 8, 8)
            }
            // It points to its own type, which no pointer can.
            Op::TypeUntypedPointerKHR => {
                let space = space_of(inst, operands.word()?)?;
                plain(SpirvTypeKind::Pointer { space, pointee: id }, &pointer_text(space), 8, 8)
            }
            Op::TypeFunction => {
                let (result, params) = (operands.word()?, operands.rest().to_vec());
                self.defined(inst, result)?;
                for &param in &params {
                    let of = self.defined(inst, param)?;
                    if matches!(of.kind, SpirvTypeKind::Void | SpirvTypeKind::Function { .. }) {
                        return Err(inst.invalid(format!("%{param} cannot be the type of a parameter")));
                    }
                }
                plain(SpirvTypeKind::Function { result, params }, "", 0, 1)
            }
            Op::TypeEvent => plain(SpirvTypeKind::Event, "target(\"spirv.Event\")", 8, 8),
            Op::TypeImage => match SpirvImage::of_operands(operands.rest()) {
                // The address of a descriptor, and bits, as OpenCL C's are replaced.
                Some(image) => plain(SpirvTypeKind::Image(image), "ptr addrspace(2)", 8, 8),
                None => {
                    let reason = "images of this type are not supported";
                    return Err(inst.unsupported(reason, "use the image types of OpenCL C"));
                }
            },
            Op::TypeSampler => plain(SpirvTypeKind::Sampler, "i32", 4, 4),
            Op::TypeSampledImage => opaque("target(\"spirv.SampledImage\", void, 0, 0, 0, 0, 0, 0, 0)"),
            Op::TypePipe | Op::TypePipeStorage => opaque("target(\"spirv.Pipe\", 0)"),
            Op::TypeQueue => opaque("target(\"spirv.Queue\")"),
            Op::TypeDeviceEvent => opaque("target(\"spirv.DeviceEvent\")"),
            Op::TypeReserveId => opaque("target(\"spirv.ReserveId\")"),
            // Its size is unknown, and nothing can be loaded or stored.
            Op::TypeOpaque => opaque("i8"),
            _ => {
                let (reason, help) =
                    refusal(&inst.name()).unwrap_or((NO_LOWERING, "use the types of OpenCL C"));
                return Err(inst.unsupported(reason, help));
            }
        };
        if ty.bytes > MAX_BYTES || ty.depth > MAX_DEPTH {
            let reason = format!("a type has more than {MAX_BYTES} bytes, or nests deeper than {MAX_DEPTH}");
            return Err(inst.unsupported(reason, "use pointers instead"));
        }
        self.known.insert(id, ty);
        Ok(())
    }

    fn defined(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<&SpirvType> {
        self.known.get(&id).ok_or_else(|| inst.invalid(format!("%{id} is no type that is defined before")))
    }

    fn sized(&self, inst: &SpirvInst<'_>, id: u32) -> SpirvResult<&SpirvType> {
        let ty = self.defined(inst, id)?;
        match ty.kind {
            SpirvTypeKind::Void | SpirvTypeKind::Function { .. } => {
                Err(inst.invalid(format!("%{id} is a type without a size")))
            }
            SpirvTypeKind::Opaque => {
                let reason = format!("%{id} is a type without a size");
                Err(inst.unsupported(reason, "keep images and samplers out of memory"))
            }
            _ => Ok(ty),
        }
    }
}

/// Returns LLVM's text of a pointer type.
pub(crate) fn pointer_text(space: u32) -> String {
    match space {
        0 => "ptr".into(),
        _ => format!("ptr addrspace({space})"),
    }
}
