//! Names and signatures of wide functions.

use heddle_ir::module::{Declaration, DeclaredShape, FunctionKind, Param, ReturnValue, Signature};
use heddle_ir::types::Type;

/// Name of the wide form of a function for a brush.
pub fn wide_name(name: &str, brush: &[u32]) -> String {
    let dimensions = brush.iter().rposition(|&extent| extent != 1).map_or(1, |last| last + 1);
    let extents: Vec<String> = brush.iter().take(dimensions).map(u32::to_string).collect();
    format!("{name}.w{}", extents.join("x"))
}

/// True if a parameter of this declared shape is one scalar for all lanes.
pub(super) fn is_one_scalar(shape: Option<&DeclaredShape>, kind: FunctionKind) -> bool {
    match (shape, kind) {
        (Some(DeclaredShape::Uniform | DeclaredShape::Linear(_)), _) | (None, FunctionKind::Kernel(_)) => {
            true
        }
        (None | Some(DeclaredShape::Varying), _) => false,
    }
}

/// Signature of the wide form.
pub(super) fn wide_signature(signature: &Signature, kind: FunctionKind, lanes: u16) -> Signature {
    let params = signature.params.iter().map(|param| match is_one_scalar(param.shape.as_ref(), kind) {
        true => Param { shape: None, ..param.clone() },
        false => Param::new(Type::Vector(param.ty.scalar(), lanes)),
    });
    let results = signature.results.iter().map(|result| {
        let is_one = result.shape == Some(DeclaredShape::Uniform);
        let ty = if is_one { result.ty } else { Type::Vector(result.ty.scalar(), lanes) };
        ReturnValue { ty, shape: None }
    });
    Signature { params: params.collect(), results: results.collect(), effects: signature.effects }
}

/// Declaration of the wide form of a function for a brush.
pub fn wide_declaration(declaration: &Declaration, brush: &[u32]) -> Declaration {
    let lanes = brush.iter().product::<u32>() as u16;
    Declaration {
        name: wide_name(&declaration.name, brush),
        kind: declaration.kind,
        signature: wide_signature(&declaration.signature, declaration.kind, lanes),
    }
}
