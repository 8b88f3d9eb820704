//! Import of `heddle.h` functions as horizontal operations.

use super::body::{BodyImporter, Leaves};
use super::refusal::{ImportRefusal, ImportResult};
use super::types::AddressSpaceMap;
use crate::view::Val;
use heddle_ir::inst::{Detail, InstData};
use heddle_ir::words::Reduction;
use heddle_ir::{Op, Scalar, Type};

const FUNCTION: u32 = u32::MAX;

/// Prefix of `heddle.h` names.
pub(super) const PREFIX: &str = "heddle_";
/// Prefix of the same functions in Heddle's OpenCL C library, where programs may use `heddle_` themselves.
const OWN_PREFIX: &str = "heddle.";

/// Operation, parameter and result types of a horizontal function.
#[derive(PartialEq, Debug)]
struct HorizontalIntrinsic {
    op: Op,
    detail: Detail,
    params: Vec<Scalar>,
    result: Scalar,
}

/// Type suffixes: scalar, and whether it is signed.
const TYPES: [(&str, Scalar, bool); 6] = [
    ("i32", Scalar::I32, true),
    ("u32", Scalar::I32, false),
    ("i64", Scalar::I64, true),
    ("u64", Scalar::I64, false),
    ("f32", Scalar::F32, true),
    ("f64", Scalar::F64, true),
];

fn reduction(word: &str, is_float: bool, is_signed: bool) -> Option<Reduction> {
    use Reduction::*;
    Some(match (word, is_float, is_signed) {
        ("add", true, _) => Fadd,
        ("mul", true, _) => Fmul,
        ("min", true, _) => Fmin,
        ("max", true, _) => Fmax,
        ("add", ..) => Add,
        ("mul", ..) => Mul,
        ("min", _, true) => Smin,
        ("min", ..) => Umin,
        ("max", _, true) => Smax,
        ("max", ..) => Umax,
        ("and", false, _) => And,
        ("or", false, _) => Or,
        ("xor", false, _) => Xor,
        _ => return None,
    })
}

/// Parses a name without its prefix.
fn meaning(name: &str) -> Option<HorizontalIntrinsic> {
    use Scalar::{I1, I32, I64};
    let plain = |op, detail, params: &[Scalar], result| HorizontalIntrinsic {
        op,
        detail,
        params: params.into(),
        result,
    };
    let one = match name {
        "any" => plain(Op::Any, Detail::None, &[I1], I1),
        "all" => plain(Op::All, Detail::None, &[I1], I1),
        "popcount" => plain(Op::Popcount, Detail::None, &[I1], I32),
        "ballot" => plain(Op::Ballot, Detail::None, &[I1], I64),
        "mask" => plain(Op::Ballot, Detail::None, &[], I64),
        "lane" => plain(Op::Lane, Detail::Dimension(None), &[], I32),
        "width" => plain(Op::Width, Detail::Dimension(None), &[], I32),
        _ => {
            let (word, suffix) = name.rsplit_once('_')?;
            let &(_, scalar, is_signed) = TYPES.iter().find(|(known, ..)| *known == suffix)?;
            let by = |word| reduction(word, scalar.is_float(), is_signed);
            match word {
                "shuffle" => plain(Op::Shuffle, Detail::None, &[scalar, I32], scalar),
                "broadcast" => plain(Op::Broadcast, Detail::None, &[scalar, I32], scalar),
                "first" => plain(Op::First, Detail::None, &[scalar], scalar),
                _ => {
                    let (op, detail) = if let Some(word) = word.strip_prefix("reduce_") {
                        (Op::Reduce, Detail::Reduce(by(word)?))
                    } else if let Some(word) = word.strip_prefix("scan_before_") {
                        (Op::Scan, Detail::Scan { by: by(word)?, before: true })
                    } else {
                        (Op::Scan, Detail::Scan { by: by(word.strip_prefix("scan_")?)?, before: false })
                    };
                    plain(op, detail, &[scalar], scalar)
                }
            }
        }
    };
    Some(one)
}

fn list(types: &[Scalar]) -> String {
    types.iter().map(Scalar::to_string).collect::<Vec<_>>().join(", ")
}

impl<'m> BodyImporter<'_, 'm> {
    /// Imports a call of a `heddle.h` function; none for other callees.
    pub(super) fn horizontal(&mut self, inst: Val<'m>, callee: Val<'m>) -> ImportResult<Option<Leaves>> {
        let name = callee.name();
        let spaces = self.module.types.spaces;
        let prefix = if spaces == AddressSpaceMap::Spir { OWN_PREFIX } else { PREFIX };
        let Some(known) = name.strip_prefix(prefix).filter(|_| callee.is_declaration()) else {
            return Ok(None);
        };
        if spaces == AddressSpaceMap::Gpu {
            return Ok(None);
        }
        let Some(meaning) = meaning(known) else {
            if spaces == AddressSpaceMap::Spir {
                return Ok(None);
            }
            let reason = format!("<heddle.h> has no @{name}, and names with `{PREFIX}` are reserved for it");
            let help = "the functions are `any all popcount ballot mask lane width`, and `shuffle broadcast first reduce_… scan_… scan_before_…` with `_i32 _u32 _i64 _u64 _f32 _f64`";
            return Err(ImportRefusal::new(reason, help));
        };
        let convergent = self.module.kinds.convergent;
        let stays = callee.attribute(FUNCTION, convergent).is_some()
            || inst.call_attribute(FUNCTION, convergent).is_some();
        if !stays && !matches!(meaning.op, Op::Lane | Op::Width) {
            let reason = format!("@{name} is not `convergent`, so it may have been moved");
            let help = "include <heddle.h>, or declare it `convergent` before any pass runs";
            return Err(ImportRefusal::new(reason, help));
        }
        let mut args = Leaves::new();
        for argument in inst.arguments() {
            args.extend(self.leaves(argument)?);
        }
        let found: Vec<Scalar> = args.iter().map(|&arg| self.scalar(arg)).collect();
        let given = self.module.types.leaves(inst.ty())?;
        let gives_it = matches!(&given[..], [one] if one.scalar == meaning.result);
        if found != meaning.params || !gives_it {
            let given: Vec<Scalar> = given.iter().map(|leaf| leaf.scalar).collect();
            let reason = format!(
                "@{name} has type ({}) -> ({}); in <heddle.h> it has type ({}) -> ({})",
                list(&found),
                list(&given),
                list(&meaning.params),
                meaning.result
            );
            return Err(ImportRefusal::new(reason, "include <heddle.h> instead of declaring it"));
        }
        if known == "mask" {
            args.push(self.func.make_bool(true));
        }
        let is_written = matches!(meaning.op, Op::Ballot | Op::Popcount | Op::Lane | Op::Width);
        let written = is_written.then_some(Type::Scalar(meaning.result));
        let value = self.emit(InstData::new(meaning.op, args, meaning.detail), written)?;
        Ok(Some(Leaves::from_slice(&[value])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each header function parses with the declared types.
    #[test]
    fn the_header_and_the_table_agree() {
        let by = ["add", "mul", "min", "max", "and", "or", "xor"];
        let mut names = 0;
        for (suffix, scalar, _) in TYPES {
            let count = if scalar.is_float() { 4 } else { 7 };
            for (index, by) in by.into_iter().enumerate() {
                for kind in ["reduce", "scan", "scan_before"] {
                    let name = format!("{kind}_{by}_{suffix}");
                    let found = meaning(&name);
                    assert_eq!(found.is_some(), index < count, "{name}");
                    let fits = found.is_none_or(|it| it.params == [scalar] && it.result == scalar);
                    assert!(fits, "{name}");
                    names += 1;
                }
            }
        }
        assert_eq!(names, 126);
        for name in ["", "any_i32", "shuffle", "shuffle_i16", "reduce_u32", "scan_before_u32", "min_u32"] {
            assert_eq!(meaning(name), None, "{name}");
        }
        assert_ne!(meaning("reduce_min_i32"), meaning("reduce_min_u32"));
    }
}
