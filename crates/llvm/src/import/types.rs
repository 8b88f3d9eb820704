//! Decomposition of LLVM types into scalars.

use super::refusal::{ImportRefusal, ImportResult};
use crate::view::{DataLayout, LlvmModule, Ty};
use heddle_ir::{Scalar, Space};
use llvm_sys::LLVMTypeKind as Kind;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Start of the types of pipes, queues and events of the device.
pub(super) const DEVICE_OBJECT: &str = "target(\"spirv.";

/// Refuses pipes and device-side enqueue.
pub(super) fn refuse_device_objects() -> ImportRefusal {
    ImportRefusal::new(
        "pipes and queues of the device are not supported",
        "use buffers, and launch kernels from the host",
    )
}

/// Maximum number of scalars in a value.
const MAX_LEAVES: u64 = 4096;
/// Maximum nesting depth of types.
const MAX_DEPTH: u32 = 64;

/// Scalar leaf of a decomposed type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leaf {
    pub(crate) scalar: Scalar,
    /// Byte offset from the start of the aggregate.
    pub(crate) offset: u64,
    /// Width of LLVM's integer; bits of the container above it are zero.
    pub(crate) bits: u32,
}

impl Leaf {
    /// True for an integer narrower than its container.
    pub(crate) fn has_odd_width(&self) -> bool {
        self.bits != self.scalar.bits()
    }
}

/// Address space numbering of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressSpaceMap {
    /// A single address space.
    Host,
    /// nvptx and amdgcn numbering.
    Gpu,
    /// SPIR-V numbering.
    Spir,
}

impl AddressSpaceMap {
    pub(crate) fn of_triple(triple: &str) -> AddressSpaceMap {
        match triple.split('-').next().unwrap_or_default() {
            "nvptx64" | "amdgcn" => AddressSpaceMap::Gpu,
            "spir64" | "spirv64" => AddressSpaceMap::Spir,
            _ => AddressSpaceMap::Host,
        }
    }

    pub(crate) fn space(self, number: u32) -> ImportResult<Space> {
        Ok(match (self, number) {
            (AddressSpaceMap::Host | AddressSpaceMap::Gpu, 0) | (AddressSpaceMap::Spir, 4) => Space::Generic,
            (AddressSpaceMap::Gpu | AddressSpaceMap::Spir, 1) => Space::Global,
            (AddressSpaceMap::Gpu, 3) | (AddressSpaceMap::Spir, 3) => Space::Local,
            (AddressSpaceMap::Gpu, 4) | (AddressSpaceMap::Spir, 2) => Space::Constant,
            (AddressSpaceMap::Gpu, 5) | (AddressSpaceMap::Spir, 0) => Space::Private,
            _ => {
                let reason = format!("unknown address space {number} on this target");
                return Err(ImportRefusal::new(reason, "use generic, global, local or private memory"));
            }
        })
    }
}

/// Decomposed types of a module, cached.
pub(crate) struct TypeTable<'m> {
    pub(crate) layout: DataLayout<'m>,
    pub(crate) spaces: AddressSpaceMap,
    has_triple: bool,
    known: RefCell<FxHashMap<Ty<'m>, ImportResult<Rc<[Leaf]>>>>,
}

impl<'m> TypeTable<'m> {
    pub(crate) fn new(module: &'m LlvmModule) -> TypeTable<'m> {
        TypeTable {
            layout: module.layout(),
            spaces: AddressSpaceMap::of_triple(&module.triple()),
            has_triple: !module.triple().is_empty(),
            known: RefCell::default(),
        }
    }

    /// Maps an address space number to a memory space.
    pub(crate) fn space(&self, number: u32) -> ImportResult<Space> {
        self.spaces.space(number).map_err(|why| match self.has_triple {
            true => why,
            false => ImportRefusal::new(
                format!("unknown address space {number}: the file has no target"),
                "write its `target triple`",
            ),
        })
    }

    /// Returns the scalars of a type, in order; empty for `void`.
    pub(crate) fn leaves(&self, ty: Ty<'m>) -> ImportResult<Rc<[Leaf]>> {
        if let Some(known) = self.known.borrow().get(&ty) {
            return known.clone();
        }
        let mut leaves = Vec::new();
        let taken = self.collect(ty, 0, 0, &mut leaves).map(|()| Rc::from(leaves));
        self.known.borrow_mut().insert(ty, taken.clone());
        taken
    }

    /// Returns the width of the type's integers if it differs from their containers'.
    pub(crate) fn odd_bits(&self, ty: Ty<'m>) -> Option<u32> {
        self.leaves(ty).ok()?.iter().find(|leaf| leaf.has_odd_width()).map(|leaf| leaf.bits)
    }

    /// True for an integer of a native width of at least 8 bits.
    pub(crate) fn is_whole_int(&self, ty: Ty<'m>) -> bool {
        matches!(self.leaves(ty).as_deref(), Ok([leaf]) if leaf.scalar.is_int() && leaf.scalar.bits() >= 8 && !leaf.has_odd_width())
    }

    /// Returns the scalar of a scalar type.
    pub(crate) fn scalar(&self, ty: Ty<'m>) -> ImportResult<Scalar> {
        let text = || ty.text();
        Ok(match ty.kind() {
            Kind::LLVMIntegerTypeKind => match container(ty.int_bits()) {
                Some(scalar) => scalar,
                None => {
                    let reason = format!("integers of {} bits, more than 128", ty.int_bits());
                    return Err(ImportRefusal::new(reason, "split them in the source"));
                }
            },
            Kind::LLVMHalfTypeKind => Scalar::F16,
            Kind::LLVMBFloatTypeKind => Scalar::BF16,
            Kind::LLVMFloatTypeKind => Scalar::F32,
            Kind::LLVMDoubleTypeKind => Scalar::F64,
            Kind::LLVMPointerTypeKind => {
                let number = ty.address_space();
                let space = self.space(number)?;
                if self.layout.pointer_bytes(number) != 8 && !matches!(space, Space::Local | Space::Private) {
                    return Err(ImportRefusal::new(
                        "pointers of other than 64 bits",
                        "compile for a 64-bit target",
                    ));
                }
                Scalar::Ptr(space)
            }
            Kind::LLVMX86_FP80TypeKind | Kind::LLVMFP128TypeKind | Kind::LLVMPPC_FP128TypeKind => {
                let reason = format!("floats of type {}, wider than 64 bits", text());
                return Err(ImportRefusal::new(reason, "use `double` instead of `long double`"));
            }
            Kind::LLVMScalableVectorTypeKind => {
                let reason = format!("vector type {} without a fixed size", text());
                return Err(ImportRefusal::new(reason, "compile without SVE and RVV intrinsics"));
            }
            Kind::LLVMTargetExtTypeKind if text().starts_with(DEVICE_OBJECT) => {
                return Err(refuse_device_objects());
            }
            Kind::LLVMX86_AMXTypeKind | Kind::LLVMTargetExtTypeKind => {
                return Err(ImportRefusal::new(format!("type {} of one machine", text()), "write it in C"));
            }
            Kind::LLVMTokenTypeKind | Kind::LLVMMetadataTypeKind | Kind::LLVMLabelTypeKind => {
                return Err(ImportRefusal::new(
                    format!("{} as a value", text()),
                    "compile without the feature that needs it",
                ));
            }
            _ => {
                return Err(ImportRefusal::new(
                    format!("type {} is not a scalar", text()),
                    "split it in the source",
                ));
            }
        })
    }

    fn collect(&self, ty: Ty<'m>, offset: u64, depth: u32, leaves: &mut Vec<Leaf>) -> ImportResult<()> {
        if depth > MAX_DEPTH {
            return Err(ImportRefusal::new(
                format!("types nested deeper than {MAX_DEPTH}"),
                "pass a pointer to it",
            ));
        }
        let many =
            || ImportRefusal::new(format!("value with more than {MAX_LEAVES} parts"), "pass a pointer to it");
        match ty.kind() {
            Kind::LLVMVoidTypeKind => {}
            Kind::LLVMStructTypeKind => {
                if !ty.is_sized() {
                    return Err(ImportRefusal::new(
                        format!("type {} without a size", ty.text()),
                        "define it in the source",
                    ));
                }
                for index in 0..ty.count() as u32 {
                    let at = offset.saturating_add(self.layout.field_offset(ty, index));
                    self.collect(ty.field(index), at, depth + 1, leaves)?;
                }
            }
            Kind::LLVMArrayTypeKind | Kind::LLVMVectorTypeKind => {
                let (count, element) = (ty.count(), ty.element());
                if count > MAX_LEAVES {
                    return Err(many());
                }
                let mut one = Vec::new();
                self.collect(element, 0, depth + 1, &mut one)?;
                if count.saturating_mul(one.len() as u64) + leaves.len() as u64 > MAX_LEAVES {
                    return Err(many());
                }
                // Vectors are packed, arrays pad elements to their alignment.
                let step =
                    if ty.is_vector() { self.layout.store_size(element) } else { self.layout.size(element) };
                for index in 0..count {
                    let at = offset.saturating_add(index.saturating_mul(step));
                    leaves.extend(one.iter().map(|leaf| Leaf { offset: at + leaf.offset, ..*leaf }));
                }
            }
            _ => {
                let scalar = self.scalar(ty)?;
                let bits = if scalar.is_int() { ty.int_bits() } else { scalar.bits() };
                leaves.push(Leaf { scalar, offset, bits });
            }
        }
        if leaves.len() as u64 > MAX_LEAVES { Err(many()) } else { Ok(()) }
    }

    /// Returns the index of the first scalar that a path selects in an aggregate, and the selected type.
    pub(crate) fn part(&self, ty: Ty<'m>, path: &[u32]) -> ImportResult<(usize, Ty<'m>)> {
        let (mut first, mut ty) = (0, ty);
        for &index in path {
            if ty.is_struct() {
                for before in 0..index {
                    first += self.leaves(ty.field(before))?.len();
                }
                ty = ty.field(index);
            } else {
                ty = ty.element();
                first += self.leaves(ty)?.len() * index as usize;
            }
        }
        Ok((first, ty))
    }

    /// Returns the allocation size of a type, including tail padding.
    pub(crate) fn size(&self, ty: Ty<'m>) -> ImportResult<u64> {
        match ty.kind() {
            Kind::LLVMScalableVectorTypeKind | Kind::LLVMVoidTypeKind => Err(no_size(ty)),
            _ if !ty.is_sized() => Err(no_size(ty)),
            _ => Ok(self.layout.size(ty)),
        }
    }
}

/// Returns the narrowest integer type with at least this many bits.
fn container(bits: u32) -> Option<Scalar> {
    [Scalar::I1, Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::I128]
        .into_iter()
        .find(|scalar| scalar.bits() >= bits)
}

fn no_size(ty: Ty<'_>) -> ImportRefusal {
    ImportRefusal::new(format!("type {} without a fixed size", ty.text()), "use a type of a fixed size")
}
