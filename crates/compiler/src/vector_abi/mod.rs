//! Vector variants of functions by the x86 Vector Function ABI: names and calling conventions.
//!
//! A wide function takes whole vectors of any width, and a mask of bits. The ABI passes a vector register by register, bools as
//! bytes, and a mask as bits (AVX-512) or as lanes of all ones (AVX2, SSE). A result that fills several registers is stored
//! through a pointer that precedes the arguments. Adapters convert between the two: `incoming` makes those that foreign code
//! calls, `outgoing` those through which wide code calls foreign variants.
//!
//! ```text
//! double f(double)            double f(double)                       as wide functions have it
//! _ZGVbN4v_f                  _ZGVbM4v_f                             f.w4, f.masked.w4
//! (ptr, <2 x f64>, <2 x f64>) (ptr, 2 × <2 x f64>, 2 × <2 x i64>)    (<4 x f64>), (<4 x f64>, mask<4>)
//! ```

mod incoming;
mod outgoing;

pub use incoming::add_abi_variant;
pub use outgoing::declare_variants;

pub(crate) use outgoing::{declared_variants, define_call_adapters};

use heddle_ir::builder::Builder;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Param, Signature};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Code, Constant, Diagnostic, Op, Scalar, Space, Type, Value};
use std::fmt;

/// Instruction set of a variant, which determines its vector registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorIsa {
    /// SSE, 128 bits.
    Sse,
    /// AVX2, 256 bits.
    Avx2,
    /// AVX-512, 512 bits, with mask registers.
    Avx512,
}

impl VectorIsa {
    /// Returns the instruction set with registers of this many bits.
    pub fn of_bits(bits: u32) -> VectorIsa {
        match bits {
            512.. => VectorIsa::Avx512,
            256..512 => VectorIsa::Avx2,
            _ => VectorIsa::Sse,
        }
    }

    fn bits(self) -> u32 {
        match self {
            VectorIsa::Sse => 128,
            VectorIsa::Avx2 => 256,
            VectorIsa::Avx512 => 512,
        }
    }

    fn of_letter(letter: char) -> Option<VectorIsa> {
        [VectorIsa::Sse, VectorIsa::Avx2, VectorIsa::Avx512].into_iter().find(|isa| isa.letter() == letter)
    }

    fn letter(self) -> char {
        match self {
            VectorIsa::Sse => 'b',
            VectorIsa::Avx2 => 'd',
            VectorIsa::Avx512 => 'e',
        }
    }
}

/// Vector variant of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AbiVariant<'a> {
    /// Name of the scalar function.
    pub name: &'a str,
    /// Number of lanes.
    pub lanes: u32,
    /// Shapes of the parameters.
    pub shapes: &'a [DeclaredShape],
    /// Instruction set.
    pub isa: VectorIsa,
    /// True if the variant takes a mask of the active lanes.
    pub is_masked: bool,
}

impl AbiVariant<'_> {
    /// Returns the mangled name: `_ZGVeN16uv_f` is `f` for 16 lanes on AVX-512, with a uniform and a varying parameter; `M` in
    /// place of `N` adds a mask.
    pub fn mangled_name(&self) -> String {
        let letters = self.shapes.iter().map(|shape| match shape {
            DeclaredShape::Uniform => "u".to_string(),
            DeclaredShape::Varying => "v".to_string(),
            DeclaredShape::Linear(strides) => match strides.first().copied().unwrap_or(1) {
                1 => "l".into(),
                stride if stride < 0 => format!("ln{}", stride.unsigned_abs()),
                stride => format!("l{stride}"),
            },
        });
        let masked = if self.is_masked { 'M' } else { 'N' };
        let letters: String = letters.collect();
        format!("_ZGV{}{masked}{}{letters}_{}", self.isa.letter(), self.lanes, self.name)
    }
}

/// Split of a vector into registers.
#[derive(Clone, Copy, Debug)]
struct VectorParts {
    /// Type of an element in a register.
    element: Scalar,
    /// Lanes of each part.
    lanes: u16,
    count: u16,
}

impl VectorParts {
    fn ty(self) -> Type {
        Type::Vector(self.element, self.lanes)
    }
}

impl AbiVariant<'_> {
    /// Returns the error that the ABI has no such variant.
    fn refuse<T>(&self, reason: impl fmt::Display) -> Result<T, Diagnostic> {
        let text = format!("the x86 vector ABI has no signature for {} lanes: {reason}", self.lanes);
        let diagnostic = Diagnostic::error(Code::NoAbiForm, text).of_func(self.name);
        Err(diagnostic.help("write LLVM IR (`.ll`), which keeps Heddle's own signature"))
    }

    fn parts(&self, scalar: Scalar) -> Result<VectorParts, Diagnostic> {
        let element = if scalar == Scalar::I1 { Scalar::I8 } else { scalar };
        if matches!(element, Scalar::F16 | Scalar::BF16 | Scalar::I128) {
            return self.refuse(format!("it has no vectors of {element}"));
        }
        let all = element.bits() * self.lanes;
        if all < 64 {
            return self.refuse(format!(
                "{element} values fill no 64-bit register; use {} lanes",
                64 / element.bits()
            ));
        }
        let count = (all / self.isa.bits()).max(1);
        Ok(VectorParts { element, lanes: (self.lanes / count) as u16, count: count as u16 })
    }

    /// Returns the characteristic data type, which sets the element size of masks: the type of the result, or of the first
    /// varying parameter.
    fn characteristic(&self, signature: &Signature) -> Scalar {
        let of_vector = |ty: Type| ty.is_vector().then(|| ty.scalar());
        let result_types = signature.results.iter().find_map(|result| of_vector(result.ty));
        let params = self.params_without_mask(signature);
        result_types.or_else(|| params.iter().find_map(|param| of_vector(param.ty))).unwrap_or(Scalar::I32)
    }

    /// Returns the representation of the mask: an integer of bits or a vector for each register of the characteristic type.
    fn mask(&self, signature: &Signature) -> Result<AbiMask, Diagnostic> {
        let scalar = self.characteristic(signature);
        let parts = self.parts(scalar)?;
        if self.isa != VectorIsa::Avx512 {
            let element = Scalar::int(parts.element.bits()).unwrap_or(Scalar::I32);
            return Ok(AbiMask::Lanes(VectorParts { element, ..parts }));
        }
        let scalar = if parts.element.bits() == 8 { Scalar::I64 } else { Scalar::I32 };
        Ok(AbiMask::Bits(scalar, parts))
    }
}

/// Signature of a variant, and how it maps to that of the wide function.
struct AbiLayout {
    /// Types of the parameters.
    params: Vec<Type>,
    /// Types of the results.
    result_types: Vec<Type>,
    /// Split of each parameter of the wide function except the mask; none for scalars.
    param_parts: Vec<Option<VectorParts>>,
    mask: Option<AbiMask>,
    /// Split of the result, if it is a vector.
    result: Option<VectorParts>,
    /// True if the result is returned through memory.
    in_memory: bool,
}

impl AbiVariant<'_> {
    /// Returns the parameters of a wide function without the mask.
    fn params_without_mask<'s>(&self, signature: &'s Signature) -> &'s [Param] {
        &signature.params[..signature.params.len().saturating_sub(usize::from(self.is_masked))]
    }

    /// Computes the layout for a wide function's signature.
    fn layout(&self, signature: &Signature) -> Result<AbiLayout, Diagnostic> {
        if !self.lanes.is_power_of_two() || self.lanes < 2 {
            return self.refuse("the number of lanes is not a power of two");
        }
        if signature.results.len() > 1 {
            return self.refuse("the function returns several values");
        }
        let pointer = Type::ptr(Space::Generic);
        let result = match signature.results.first().map(|result| result.ty) {
            Some(ty) if ty.is_vector() => Some(self.parts(ty.scalar())?),
            _ => None,
        };
        let in_memory = result.is_some_and(|parts| parts.count > 1);
        let mut params: Vec<Type> = in_memory.then_some(pointer).into_iter().collect();
        let mut param_parts = Vec::new();
        for param in self.params_without_mask(signature) {
            let parts = if param.ty.is_vector() { Some(self.parts(param.ty.scalar())?) } else { None };
            match parts {
                Some(parts) => params.extend(std::iter::repeat_n(parts.ty(), parts.count.into())),
                None => params.push(param.ty),
            }
            param_parts.push(parts);
        }
        let mask = if self.is_masked { Some(self.mask(signature)?) } else { None };
        match mask {
            Some(AbiMask::Bits(scalar, parts)) => {
                params.extend(std::iter::repeat_n(Type::Scalar(scalar), parts.count.into()));
            }
            Some(AbiMask::Lanes(parts)) => params.extend(std::iter::repeat_n(parts.ty(), parts.count.into())),
            None => {}
        }
        let result_types = match (result, signature.results.first()) {
            (Some(_), _) if in_memory => vec![pointer],
            (Some(parts), _) => vec![parts.ty()],
            (None, Some(one)) => vec![one.ty],
            (None, None) => Vec::new(),
        };
        Ok(AbiLayout { params, result_types, param_parts, mask, result, in_memory })
    }
}

/// Representation of a mask.
#[derive(Clone, Copy, Debug)]
enum AbiMask {
    /// One bit a lane, in an integer for each part.
    Bits(Scalar, VectorParts),
    /// Lanes of all ones or zero.
    Lanes(VectorParts),
}

/// Selects lanes of two concatenated vectors.
fn permute(builder: &mut Builder<'_>, vectors: [Value; 2], lanes: impl IntoIterator<Item = u16>) -> Value {
    let lanes: Box<[u16]> = lanes.into_iter().collect();
    let ty = Type::Vector(builder.func.value_type(vectors[0]).scalar(), lanes.len() as u16);
    builder.value(InstData::new(Op::Permute, vectors, Detail::Permute(lanes)), Some(ty))
}

/// Returns the mask of the lanes that are not zero.
fn is_set(builder: &mut Builder<'_>, vector: Value) -> Value {
    let ty = builder.func.value_type(vector);
    let zero = builder.func.make_const(Constant::splat(ty, 0));
    builder.icmp(IntPredicate::Ne, vector, zero)
}
