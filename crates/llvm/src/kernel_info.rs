//! Kernel metadata from clang: parameters and attributes as declared in the source.

use crate::import::{Leaf, TypeTable};
use crate::view::{LlvmModule, Val, attribute_kind};
use heddle_ir::{Scalar, Space};
use llvm_sys::LLVMTypeKind;

/// Scalar of an argument passed by value: one parameter of the imported kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArgumentPiece {
    /// Scalar type.
    pub scalar: Scalar,
    /// Byte offset in the argument.
    pub offset: usize,
}

/// Passing mode of a kernel parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamPassing {
    /// A pointer into this space.
    Pointer(Space),
    /// A value.
    Value {
        /// Its size in bytes.
        bytes: usize,
        /// The parameters of the imported kernel that it becomes.
        pieces: Vec<ArgumentPiece>,
    },
    /// The address of a copy of a value, in private memory.
    Copy {
        /// Its size in bytes.
        bytes: usize,
        /// Its alignment in bytes.
        align: usize,
    },
    /// The address of an image's descriptor.
    Image(ImageType),
    /// The bits of a sampler, of 32 bits.
    Sampler,
    /// Neither memory nor number: a pipe, an event, a queue.
    Opaque,
}

/// Image type of a kernel parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageType {
    /// `image1d_t`.
    Line,
    /// `image1d_buffer_t`.
    LineOfBuffer,
    /// `image1d_array_t`.
    LineArray,
    /// `image2d_t`.
    Plane,
    /// `image2d_array_t`.
    PlaneArray,
    /// `image2d_depth_t`.
    DepthPlane,
    /// `image2d_array_depth_t`.
    DepthPlaneArray,
    /// `image3d_t`.
    Volume,
}

impl ImageType {
    /// Returns the type of a name, as clang's metadata writes it.
    fn of_name(name: &str) -> Option<ImageType> {
        // Older versions of the language put the access in front.
        let name = name.rsplit(' ').next().unwrap_or_default();
        Some(match name {
            "image1d_t" => ImageType::Line,
            "image1d_buffer_t" => ImageType::LineOfBuffer,
            "image1d_array_t" => ImageType::LineArray,
            "image2d_t" => ImageType::Plane,
            "image2d_array_t" => ImageType::PlaneArray,
            "image2d_depth_t" => ImageType::DepthPlane,
            "image2d_array_depth_t" => ImageType::DepthPlaneArray,
            "image3d_t" => ImageType::Volume,
            _ => return None,
        })
    }
}

/// Kernel parameter as declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelParam {
    /// Passing mode.
    pub passing: ParamPassing,
    /// Name, if clang kept it.
    pub name: Option<String>,
    /// Type as written in the source.
    pub type_name: String,
    /// Qualifiers among `const`, `restrict`, `volatile`, `pipe`.
    pub qualifiers: String,
    /// `read_only`, `write_only`, `read_write` or `none`.
    pub access: String,
}

/// Metadata of kernels with a required number of sub-groups.
const REQUIRED_SUB_GROUPS: &str = "heddle.sub_groups";

/// Kernel as declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<KernelParam>,
    /// `reqd_work_group_size`.
    pub required_size: Option<[u32; 3]>,
    /// `intel_reqd_sub_group_size`.
    pub required_lanes: Option<u32>,
    /// Number of sub-groups of a work-group, which SPIR-V may require.
    pub required_sub_groups: Option<u32>,
    /// Attributes as in `__attribute__((…))`, separated by spaces.
    pub attributes: String,
    /// Bytes of statically declared local memory.
    pub local_bytes: usize,
}

fn number(func: Val<'_>, kind: u32) -> Option<u32> {
    let parts = func.function_metadata(kind)?.metadata_parts();
    Some(parts.first().copied().flatten()?.bits()? as u32)
}

fn numbers(func: Val<'_>, kind: u32) -> Option<[u32; 3]> {
    let parts = func.function_metadata(kind)?.metadata_parts();
    let number = |index: usize| parts.get(index).copied().flatten().and_then(Val::bits);
    Some([number(0)? as u32, number(1)? as u32, number(2)? as u32])
}

/// Returns the type of `vec_type_hint`, as the source writes it.
fn hinted_type(func: Val<'_>, kind: u32) -> Option<String> {
    let parts = func.function_metadata(kind)?.metadata_parts();
    let ty = parts.first().copied().flatten()?.ty();
    let is_unsigned = parts.get(1).copied().flatten().and_then(Val::bits) == Some(0);
    let (scalar, lanes) =
        if ty.is_vector() { (ty.element(), ty.count().to_string()) } else { (ty, String::new()) };
    let name = match scalar.kind() {
        LLVMTypeKind::LLVMHalfTypeKind => "half",
        LLVMTypeKind::LLVMFloatTypeKind => "float",
        LLVMTypeKind::LLVMDoubleTypeKind => "double",
        LLVMTypeKind::LLVMIntegerTypeKind => match scalar.int_bits() {
            8 => "char",
            16 => "short",
            32 => "int",
            64 => "long",
            _ => return None,
        },
        _ => return None,
    };
    let sign = if is_unsigned && scalar.kind() == LLVMTypeKind::LLVMIntegerTypeKind { "u" } else { "" };
    Some(format!("{sign}{name}{lanes}"))
}

/// LLVM's number of the calling convention of kernels.
pub(crate) const SPIR_KERNEL: u32 = 76;
/// Calling convention of functions.
pub(crate) const SPIR_FUNCTION: u32 = 75;

/// Returns the kernels of a module in order.
pub fn kernels(module: &LlvmModule) -> Vec<KernelInfo> {
    let types = TypeTable::new(module);
    let kind = |name: &str| module.metadata_kind(name);
    let mut found = Vec::new();
    for func in module.functions().filter(|func| !func.is_declaration() && func.call_conv() == SPIR_KERNEL) {
        let texts = |name: &str| -> Vec<String> {
            let node = func.function_metadata(kind(name));
            let parts = node.map(Val::metadata_parts).unwrap_or_default();
            parts.into_iter().map(|part| part.and_then(Val::metadata_text).unwrap_or_default()).collect()
        };
        let (type_names, names) = (texts("kernel_arg_type"), texts("kernel_arg_name"));
        let base_types = texts("kernel_arg_base_type");
        let (qualifiers, accesses) = (texts("kernel_arg_type_qual"), texts("kernel_arg_access_qual"));
        let text = |list: &[String], index: usize| list.get(index).cloned().unwrap_or_default();
        let mut params = Vec::new();
        for (index, param) in func.params().into_iter().enumerate() {
            let byval = func.type_attribute(index as u32 + 1, attribute_kind("byval"));
            let base_type = base_types.get(index).map_or("", |name| name);
            let passing = match (byval, types.leaves(param.ty())) {
                (Some(ty), _) => {
                    let align = func.attribute(index as u32 + 1, attribute_kind("align"));
                    let align = align.unwrap_or_else(|| types.layout.align(ty).into()) as usize;
                    ParamPassing::Copy { bytes: types.layout.size(ty) as usize, align }
                }
                (None, Err(_)) => ParamPassing::Opaque,
                (None, Ok(leaves)) => match (&leaves[..], ImageType::of_name(base_type)) {
                    ([Leaf { scalar: Scalar::Ptr(_), .. }], Some(ty)) => ParamPassing::Image(ty),
                    ([Leaf { scalar: Scalar::Ptr(space), .. }], None) => ParamPassing::Pointer(*space),
                    ([Leaf { scalar: Scalar::I32, .. }], None) if base_type == "sampler_t" => {
                        ParamPassing::Sampler
                    }
                    (leaves, _) => {
                        let piece =
                            |leaf: &Leaf| ArgumentPiece { scalar: leaf.scalar, offset: leaf.offset as usize };
                        let pieces = leaves.iter().map(piece).collect();
                        ParamPassing::Value { bytes: types.layout.size(param.ty()) as usize, pieces }
                    }
                },
            };
            params.push(KernelParam {
                passing,
                name: names.get(index).cloned(),
                type_name: text(&type_names, index),
                qualifiers: text(&qualifiers, index),
                access: text(&accesses, index),
            });
        }
        let mut attributes = Vec::new();
        let required_size = numbers(func, kind("reqd_work_group_size"));
        let sizes = [
            ("reqd_work_group_size", required_size),
            ("work_group_size_hint", numbers(func, kind("work_group_size_hint"))),
        ];
        for (name, size) in sizes {
            if let Some([x, y, z]) = size {
                attributes.push(format!("{name}({x},{y},{z})"));
            }
        }
        let required_lanes = number(func, kind("intel_reqd_sub_group_size"));
        let required_sub_groups = number(func, kind(REQUIRED_SUB_GROUPS));
        attributes.extend(required_lanes.map(|lanes| format!("intel_reqd_sub_group_size({lanes})")));
        attributes.extend(hinted_type(func, kind("vec_type_hint")).map(|ty| format!("vec_type_hint({ty})")));
        let name = func.name();
        // clang names a kernel's local variables after the kernel.
        let prefix = format!("{name}.");
        let local = module.globals().filter(|global| {
            global.name().strip_prefix(&prefix).is_some()
                && types.spaces.space(global.ty().address_space()).is_ok_and(|space| space == Space::Local)
        });
        let local_bytes = local.map(|global| types.layout.size(global.value_type()) as usize).sum();
        let attributes = attributes.join(" ");
        found.push(KernelInfo {
            name,
            params,
            required_size,
            required_lanes,
            required_sub_groups,
            attributes,
            local_bytes,
        });
    }
    found
}
