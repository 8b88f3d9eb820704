//! Vector forms as other compilers call them: names and calling conventions of the x86 Vector Function ABI.
//!
//! A wide function takes whole vectors, however wide, and a mask of bits. The ABI hands a vector over register by
//! register, bools as bytes, and a mask as bits (AVX-512) or as lanes of all ones (before it); a result that fills several
//! registers goes to memory, whose address comes before all arguments. The form that is made here takes all of that
//! apart and puts it together again, and calls the wide function.
//!
//! ```text
//! double f(double)            double f(double)               as the wide function has it
//! _ZGVbN4v_f                  _ZGVbM4v_f                     f.w4, f.masked.w4
//! (ptr, <2 x f64>, <2 x f64>) (ptr, 2 × <2 x f64>, 2 × <2 x i64>)    (<4 x f64>), (<4 x f64>, mask<4>)
//! ```

use heddle_ir::builder::{At, Builder};
use heddle_ir::function::OriginData;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::module::{DeclaredShape, Signature};
use heddle_ir::words::IntPredicate;
use heddle_ir::{Constant, Function, Module, Op, Scalar, Space, Type, Value};
use std::sync::Arc;
use thiserror::Error;

/// The vector registers that a form is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isa {
    /// Of 128 bits: SSE.
    Sse,
    /// Of 256 bits: AVX2.
    Avx2,
    /// Of 512 bits, with masks of their own: AVX-512.
    Avx512,
}

impl Isa {
    /// By the bits of the registers.
    pub fn of_bits(bits: u32) -> Isa {
        match bits {
            512.. => Isa::Avx512,
            256..512 => Isa::Avx2,
            _ => Isa::Sse,
        }
    }

    fn bits(self) -> u32 {
        match self {
            Isa::Sse => 128,
            Isa::Avx2 => 256,
            Isa::Avx512 => 512,
        }
    }

    fn letter(self) -> char {
        match self {
            Isa::Sse => 'b',
            Isa::Avx2 => 'd',
            Isa::Avx512 => 'e',
        }
    }
}

/// A vector form that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form<'a> {
    /// The function.
    pub name: &'a str,
    /// How many lanes.
    pub lanes: u32,
    /// What lanes share of each parameter.
    pub shapes: &'a [DeclaredShape],
    /// The registers.
    pub isa: Isa,
    /// Whether a mask says which lanes are there.
    pub is_masked: bool,
}

impl Form<'_> {
    /// Its name: `_ZGVeN16uv_f` is `f` for sixteen lanes, its first parameter the same for all, the second different,
    /// on AVX-512; with `M` instead of `N` it takes a mask.
    pub fn abi_name(&self) -> String {
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

/// Why a function has no form in the vector ABI.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "@{name} has no form in the x86 vector ABI for {lanes} lanes: {reason}; LLVM IR of it (`.ll`) keeps the form that Heddle makes"
)]
pub struct AbiError {
    name: String,
    lanes: u32,
    reason: String,
}

/// How the elements of a vector are handed over.
#[derive(Clone, Copy, Debug)]
struct Parts {
    /// The type as which an element lies in a register.
    element: Scalar,
    /// Lanes of each part.
    lanes: u16,
    count: u16,
}

impl Parts {
    fn ty(self) -> Type {
        Type::Vector(self.element, self.lanes)
    }
}

impl Form<'_> {
    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, AbiError> {
        Err(AbiError { name: self.name.into(), lanes: self.lanes, reason: reason.into() })
    }

    fn parts(&self, scalar: Scalar) -> Result<Parts, AbiError> {
        let element = if scalar == Scalar::I1 { Scalar::I8 } else { scalar };
        if matches!(element, Scalar::F16 | Scalar::BF16 | Scalar::I128) {
            return self.refuse(format!("it has no vectors of {element}"));
        }
        let all = element.bits() * self.lanes;
        if all < 64 {
            return self.refuse(format!(
                "so few {element} fill no register of 64 bits, ask for {} lanes",
                64 / element.bits()
            ));
        }
        let count = (all / self.isa.bits()).max(1);
        Ok(Parts { element, lanes: (self.lanes / count) as u16, count: count as u16 })
    }

    /// The type whose size masks have: that of the result, or of the first parameter that varies.
    fn characteristic(&self, signature: &Signature) -> Scalar {
        let of_vector = |ty: Type| ty.is_vector().then(|| ty.scalar());
        let given = signature.results.iter().find_map(|result| of_vector(result.ty));
        let params = &signature.params[..signature.params.len() - usize::from(self.is_masked)];
        given.or_else(|| params.iter().find_map(|param| of_vector(param.ty))).unwrap_or(Scalar::I32)
    }

    /// What a mask comes as: for each register that the characteristic type fills, an integer of bits, or a vector.
    fn mask(&self, signature: &Signature) -> Result<Mask, AbiError> {
        let scalar = self.characteristic(signature);
        let parts = self.parts(scalar)?;
        if self.isa != Isa::Avx512 {
            let element = Scalar::int(parts.element.bits()).unwrap_or(Scalar::I32);
            return Ok(Mask::Lanes(Parts { element, ..parts }));
        }
        let scalar = if parts.element.bits() == 8 { Scalar::I64 } else { Scalar::I32 };
        Ok(Mask::Bits(scalar, parts))
    }
}

/// What a mask comes as.
#[derive(Clone, Copy, Debug)]
enum Mask {
    /// A bit for each lane, in an integer for each part.
    Bits(Scalar, Parts),
    /// Lanes that are all ones, or zero.
    Lanes(Parts),
}

/// Adds the form to a module that has the wide function, and gives its name.
pub fn add_abi_form(module: &mut Module, wide: &str, form: &Form<'_>) -> Result<String, AbiError> {
    if !form.lanes.is_power_of_two() || form.lanes < 2 {
        return form.refuse("the number of lanes is no power of two");
    }
    let Some(wide) = module.function(wide) else { return form.refuse(format!("there is no @{wide}")) };
    let insts = wide.blocks().flat_map(|block| wide.block_insts(block));
    let loc = insts.into_iter().find_map(|inst| wide.loc(inst));
    let wide = wide.declaration();
    let signature = &wide.signature;
    if signature.results.len() > 1 {
        return form.refuse("it gives several values");
    }
    let pointer = Type::ptr(Space::Generic);
    let result = match signature.results.first().map(|result| result.ty) {
        Some(ty) if ty.is_vector() => Some(form.parts(ty.scalar())?),
        _ => None,
    };
    let in_memory = result.is_some_and(|parts| parts.count > 1);
    let mut params: Vec<Type> = in_memory.then_some(pointer).into_iter().collect();
    let (last, plain) = match form.is_masked {
        true => (Some(form.mask(signature)?), &signature.params[..signature.params.len() - 1]),
        false => (None, &signature.params[..]),
    };
    let mut taken = Vec::new();
    for param in plain {
        let parts = if param.ty.is_vector() { Some(form.parts(param.ty.scalar())?) } else { None };
        match parts {
            Some(parts) => params.extend(std::iter::repeat_n(parts.ty(), parts.count.into())),
            None => params.push(param.ty),
        }
        taken.push(parts);
    }
    match last {
        Some(Mask::Bits(scalar, parts)) => {
            params.extend(std::iter::repeat_n(Type::Scalar(scalar), parts.count.into()));
        }
        Some(Mask::Lanes(parts)) => params.extend(std::iter::repeat_n(parts.ty(), parts.count.into())),
        None => {}
    }
    let given: Vec<Type> = match (result, signature.results.first()) {
        (Some(_), _) if in_memory => vec![pointer],
        (Some(parts), _) => vec![parts.ty()],
        (None, Some(one)) => vec![one.ty],
        (None, None) => Vec::new(),
    };

    let name = form.abi_name();
    let mut func = Function::new(name.clone(), Signature::new(&params, &given));
    let mut incoming = func.params().to_vec().into_iter();
    let block = func.append_block();
    let target = in_memory.then(|| incoming.next()).flatten();
    let origin = func.make_origin(OriginData { loc, ..OriginData::default() });
    let mut builder = Builder::new(&mut func, At::End(block));
    builder.set_origin(origin);
    let mut args = Vec::new();
    for (parts, param) in taken.iter().zip(plain) {
        let values: Vec<Value> =
            incoming.by_ref().take(parts.map_or(1, |parts| parts.count.into())).collect();
        let whole = join(&mut builder, values);
        args.push(if param.ty.scalar() == Scalar::I1 && param.ty.is_vector() {
            is_set(&mut builder, whole)
        } else {
            whole
        });
    }
    match last {
        Some(Mask::Lanes(_)) => {
            let whole = join(&mut builder, incoming.collect());
            args.push(is_set(&mut builder, whole));
        }
        Some(Mask::Bits(_, parts)) => {
            let bits: Vec<Value> = incoming.collect();
            let masks = bits.into_iter().map(|bits| mask_of_bits(&mut builder, bits, parts.lanes)).collect();
            args.push(join(&mut builder, masks));
        }
        None => {}
    }
    let callee = builder.func.make_callee(&Arc::new(wide));
    let call = builder.inst(InstData::new(Op::Call, args, Detail::Call(callee)), None);
    let mut value = builder.func.result(call);
    if let (Some(whole), Some(parts)) = (value, result) {
        if builder.func.value_type(whole).scalar() == Scalar::I1 {
            value = Some(builder.op_to(Op::Zext, Type::Vector(Scalar::I8, form.lanes as u16), &[whole]));
        }
        if let (Some(whole), Some(target)) = (value, target) {
            builder.store(whole, target, parts.ty().bytes());
            value = Some(target);
        }
    }
    builder.ret(&value.into_iter().collect::<Vec<_>>());
    module.functions.push(func);
    Ok(name)
}

/// Vectors side by side as one.
fn join(builder: &mut Builder<'_>, mut parts: Vec<Value>) -> Value {
    while parts.len() > 1 {
        parts = parts
            .chunks(2)
            .map(|pair| {
                let ty = builder.func.value_type(pair[0]);
                let lanes = ty.lanes().unwrap_or(1) * 2;
                let data = InstData::new(
                    Op::Permute,
                    [pair[0], pair[pair.len() - 1]],
                    Detail::Permute((0..lanes).collect()),
                );
                builder.value(data, Some(Type::Vector(ty.scalar(), lanes)))
            })
            .collect();
    }
    parts[0]
}

/// The lanes that are not zero.
fn is_set(builder: &mut Builder<'_>, vector: Value) -> Value {
    let ty = builder.func.value_type(vector);
    let zero = builder.func.make_const(Constant::splat(ty, 0));
    builder.icmp(IntPredicate::Ne, vector, zero)
}

/// The lanes whose bits are set.
fn mask_of_bits(builder: &mut Builder<'_>, bits: Value, lanes: u16) -> Value {
    let width = lanes.max(8);
    let int = Scalar::int(width.into()).unwrap_or(Scalar::I64);
    let cut = match builder.func.value_type(bits) == Type::Scalar(int) {
        true => bits,
        false => builder.op_to(Op::Trunc, int.into(), &[bits]),
    };
    let all = builder.op_to(Op::Bitcast, Type::Vector(Scalar::I1, width), &[cut]);
    if width == lanes {
        return all;
    }
    let data = InstData::new(Op::Permute, [all, all], Detail::Permute((0..lanes).collect()));
    builder.value(data, Some(Type::Vector(Scalar::I1, lanes)))
}
