//! Typing: checks operand types and computes result types by the ops table.
//!
//! The parser, the builder and the verifier share these functions, so they agree.

use crate::inst::{ALLOCA_SPACE, Detail, InstData};
use crate::module::{Declaration, DeclaredShape};
use crate::ops::{InstFormat, Op, OperandConstraint, ResultConstraint, TypeClass};
use crate::types::{MAX_DIMENSIONS, MAX_LANES, Scalar, Type};
use crate::words::Rmw;
use smallvec::{SmallVec, smallvec};
use thiserror::Error;

/// Types of an instruction's results.
pub type ResultTypes = SmallVec<[Type; 2]>;

/// Type error of an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TypeError {
    /// The number of operands is wrong.
    #[error("`{op}` takes {expected}, not {found}")]
    Count {
        /// The op.
        op: Op,
        /// Expected number of operands, in words.
        expected: String,
        /// Actual number of operands.
        found: usize,
    },
    /// An operand is of the wrong type.
    #[error("operand {index} of `{op}` must be {expected}, not {found}")]
    Operand {
        /// The op.
        op: Op,
        /// Operand number, from 1.
        index: usize,
        /// Expected type, in words.
        expected: String,
        /// Actual type.
        found: Type,
    },
    /// The written type is missing, superfluous or wrong.
    #[error("the type of `{op}` must be {expected}{}", found.map_or(String::new(), |ty| format!(", not {ty}")))]
    Result {
        /// The op.
        op: Op,
        /// Expected type, in words.
        expected: String,
        /// The written type, if any.
        found: Option<Type>,
    },
    /// The detail does not fit the op or contradicts the operands.
    #[error("`{op}`: {reason}")]
    Detail {
        /// The op.
        op: Op,
        /// Reason.
        reason: String,
    },
}

impl TypeClass {
    /// True if the class contains the type.
    pub fn contains(self, ty: Type) -> bool {
        let scalar = ty.scalar();
        match self {
            TypeClass::Any => true,
            TypeClass::Int => scalar.is_int(),
            TypeClass::WideInt => scalar.is_int() && scalar != Scalar::I1,
            TypeClass::Float => scalar.is_float(),
            TypeClass::Ptr => scalar.is_ptr(),
            TypeClass::IntOrPtr => scalar.is_int() || scalar.is_ptr(),
            TypeClass::Bool => scalar == Scalar::I1,
            TypeClass::Vector => ty.is_vector(),
            TypeClass::Scalar => !ty.is_vector(),
            TypeClass::ScalarInt => !ty.is_vector() && scalar.is_int(),
            TypeClass::ScalarPtr => !ty.is_vector() && scalar.is_ptr(),
            TypeClass::VectorPtr => ty.is_vector() && scalar.is_ptr(),
        }
    }

    /// Describes the class for messages.
    pub fn describe(self) -> &'static str {
        match self {
            TypeClass::Any => "a value",
            TypeClass::Int => "an integer",
            TypeClass::WideInt => "an integer of at least 8 bits",
            TypeClass::Float => "a float",
            TypeClass::Ptr => "a pointer",
            TypeClass::IntOrPtr => "an integer or a pointer",
            TypeClass::Bool => "i1 or a mask",
            TypeClass::Vector => "a vector or a mask",
            TypeClass::Scalar => "a scalar",
            TypeClass::ScalarInt => "a scalar integer",
            TypeClass::ScalarPtr => "a scalar pointer",
            TypeClass::VectorPtr => "a vector of pointers",
        }
    }
}

/// Returns the type that the `T` operands share, if the op has such operands and enough are given.
pub fn controlling_type(op: Op, operands: &[Type]) -> Option<Type> {
    let index = op.info().operands.iter().position(|operand| matches!(operand, OperandConstraint::T(_)))?;
    operands.get(index).copied()
}

/// Checks an instruction's operands and computes its result types.
///
/// `written` is the type after the op, for ops that need one and for φs.
pub fn result_types(
    data: &InstData,
    operands: &[Type],
    written: Option<Type>,
    callee: Option<&Declaration>,
) -> Result<ResultTypes, TypeError> {
    check_detail(data)?;
    match data.op.info().format {
        InstFormat::Phi => phi(data, operands, written),
        InstFormat::Branch | InstFormat::Switch | InstFormat::Return => {
            terminator(data, operands)?;
            Ok(smallvec![])
        }
        InstFormat::Call | InstFormat::Launch => call(data, operands, callee),
        _ => by_table(data, operands, written),
    }
}

fn wrong_detail(op: Op, reason: impl Into<String>) -> TypeError {
    TypeError::Detail { op, reason: reason.into() }
}

fn check_detail(data: &InstData) -> Result<(), TypeError> {
    use InstFormat as F;
    let belongs = matches!(
        (data.op.info().format, &data.detail),
        (F::Plain | F::Cast | F::Return, Detail::None)
            | (F::IntCompare, Detail::IntCompare(_))
            | (F::FloatCompare, Detail::FloatCompare(_))
            | (F::Dimension, Detail::Dimension(_))
            | (F::Access, Detail::Access(_))
            | (F::Transfer, Detail::Transfer(_))
            | (F::Rmw, Detail::Rmw(..))
            | (F::CompareExchange, Detail::CompareExchange(..))
            | (F::Fence, Detail::Fence(..))
            | (F::Barrier, Detail::Barrier(_))
            | (F::Alloca, Detail::Alloca { .. })
            | (F::Reduce, Detail::Reduce(_))
            | (F::Scan, Detail::Scan { .. })
            | (F::Permute, Detail::Permute(_))
            | (F::FloatClass, Detail::FloatClass(_))
            | (F::Phi, Detail::Phi(_))
            | (F::Branch, Detail::Branch(..))
            | (F::Switch, Detail::Switch(_))
            | (F::Call, Detail::Call(_))
            | (F::Launch, Detail::Launch(_))
    );
    if belongs {
        Ok(())
    } else {
        Err(wrong_detail(data.op, format!("detail {:?} does not belong to this op", data.detail)))
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Checks the number of operands, if the table or the callee fixes it.
pub fn check_count(data: &InstData, found: usize, callee: Option<&Declaration>) -> Result<(), TypeError> {
    let count = match (data.op.info().format, callee) {
        (InstFormat::Phi | InstFormat::Branch | InstFormat::Switch | InstFormat::Return, _) => return Ok(()),
        (InstFormat::Call | InstFormat::Launch, callee) => {
            let masked = matches!(&data.detail, Detail::Launch(launch) if launch.masked);
            match callee {
                Some(callee) => callee.signature.params.len() + usize::from(masked),
                None => return Ok(()),
            }
        }
        _ => data.op.info().operands.len(),
    };
    if found == count {
        return Ok(());
    }
    Err(TypeError::Count { op: data.op, expected: plural(count, "operand"), found })
}

fn by_table(data: &InstData, operands: &[Type], written: Option<Type>) -> Result<ResultTypes, TypeError> {
    let op = data.op;
    let info = op.info();
    check_count(data, operands.len(), None)?;
    let controlling = controlling_type(op, operands);
    let result = written_type(op, info.gives, written)?;
    for (index, (&expected, &found)) in info.operands.iter().zip(operands).enumerate() {
        check_operand(expected, found, controlling, result).map_err(|expected| TypeError::Operand {
            op,
            index: index + 1,
            expected,
            found,
        })?;
    }
    check_relation(data, operands, controlling, result)?;
    Ok(table_result_types(info.gives, controlling, result))
}

/// Computes the result types from the table, given controlling and written type. Gives nothing for a call.
pub fn table_result_types(
    gives: ResultConstraint,
    controlling: Option<Type>,
    written: Option<Type>,
) -> ResultTypes {
    match gives {
        ResultConstraint::Nothing | ResultConstraint::Callee => smallvec![],
        ResultConstraint::T => controlling.into_iter().collect(),
        ResultConstraint::BoolOfT => controlling.map(|ty| ty.with_scalar(Scalar::I1)).into_iter().collect(),
        ResultConstraint::Bool => smallvec![Type::I1],
        ResultConstraint::LaneOfT => controlling.map(|ty| Type::Scalar(ty.scalar())).into_iter().collect(),
        ResultConstraint::Written(_) => written.into_iter().collect(),
        ResultConstraint::PrivatePtr => smallvec![Type::ptr(ALLOCA_SPACE)],
        ResultConstraint::TAndBool => controlling.into_iter().chain([Type::I1]).collect(),
    }
}

/// Computes the type that a caller sees of a parameter or result. A launch of `launched` lanes turns a varying one
/// into a vector with one lane for each; a call leaves it as it is.
pub fn caller_type(ty: Type, shape: Option<&DeclaredShape>, launched: Option<u16>) -> Type {
    match (launched, shape) {
        (Some(lanes), None | Some(DeclaredShape::Varying)) => Type::Vector(ty.scalar(), lanes),
        _ => ty,
    }
}

fn written_type(op: Op, gives: ResultConstraint, written: Option<Type>) -> Result<Option<Type>, TypeError> {
    match (gives, written) {
        (ResultConstraint::Written(class), Some(ty)) if class.contains(ty) => Ok(Some(ty)),
        (ResultConstraint::Written(class), found) => {
            Err(TypeError::Result { op, expected: class.describe().into(), found })
        }
        (_, None) => Ok(None),
        (_, Some(ty)) => {
            Err(TypeError::Result { op, expected: "left to its operands".into(), found: Some(ty) })
        }
    }
}

fn check_operand(
    expected: OperandConstraint,
    found: Type,
    controlling: Option<Type>,
    result: Option<Type>,
) -> Result<(), String> {
    let mask_of = |ty: Option<Type>| ty.map(|ty| ty.with_scalar(Scalar::I1));
    let exactly = |ty: Option<Type>| match ty {
        Some(ty) if ty != found => Err(ty.to_string()),
        _ => Ok(()),
    };
    let in_class = |class: TypeClass| match class.contains(found) {
        true => Ok(()),
        false => Err(class.describe().to_string()),
    };
    match expected {
        OperandConstraint::T(class) => in_class(class).and_then(|()| exactly(controlling)),
        OperandConstraint::Free(class) => in_class(class),
        OperandConstraint::BoolOfT => exactly(mask_of(controlling)),
        OperandConstraint::Choice if found == Type::I1 => Ok(()),
        OperandConstraint::Choice => exactly(mask_of(controlling)),
        OperandConstraint::SameLanes(class) => {
            in_class(class)?;
            exactly(controlling.map(|ty| ty.with_scalar(found.scalar())))
        }
        OperandConstraint::LaneOfT => exactly(controlling.map(|ty| Type::Scalar(ty.scalar()))),
        OperandConstraint::MaskOfResult => exactly(mask_of(result)),
        OperandConstraint::SameAsResult => exactly(result),
    }
}

/// Checks relations that the table does not express, between operands, result and detail.
fn check_relation(
    data: &InstData,
    operands: &[Type],
    controlling: Option<Type>,
    result: Option<Type>,
) -> Result<(), TypeError> {
    let op = data.op;
    let wrong_result = |expected: String| Err(TypeError::Result { op, expected, found: result });
    match (&data.detail, result) {
        (Detail::None, Some(to)) if op.info().format == InstFormat::Cast => {
            let from = operands[0];
            if from.lanes() != to.lanes() {
                return wrong_result(format!("a type with the lanes of {from}"));
            }
            let (from_bits, to_bits) = (from.scalar().bits(), to.scalar().bits());
            match op {
                Op::Trunc | Op::Fptrunc if to_bits >= from_bits => {
                    return wrong_result(format!("narrower than {from}"));
                }
                Op::Zext | Op::Sext | Op::Fpext if to_bits <= from_bits => {
                    return wrong_result(format!("wider than {from}"));
                }
                _ => {}
            }
        }
        (Detail::None, Some(to)) if op == Op::Bitcast => {
            let bits = |ty: Type| ty.scalar().bits() * u32::from(ty.lanes().unwrap_or(1));
            if bits(operands[0]) != bits(to) || to.scalar().is_ptr() != operands[0].scalar().is_ptr() {
                return wrong_result(format!("of as many bits as {}", operands[0]));
            }
        }
        (Detail::None, Some(to)) if op == Op::Splat && to.scalar() != operands[0].scalar() => {
            return wrong_result(format!("a vector of {}", operands[0]));
        }
        (Detail::None, Some(to)) if op == Op::Ballot => {
            let lanes = operands[0].lanes().unwrap_or(1);
            if to.scalar().bits() < u32::from(lanes) {
                return wrong_result(format!("an integer of at least {lanes} bits"));
            }
        }
        (Detail::Access(_), Some(to)) if op == Op::Gather && to.lanes() != operands[0].lanes() => {
            return wrong_result(format!("a vector with the lanes of {}", operands[0]));
        }
        (Detail::Access(_), _) if op == Op::Memset && operands[1] != Type::I8 => {
            return Err(TypeError::Operand { op, index: 2, expected: "i8".into(), found: operands[1] });
        }
        (Detail::Permute(indices), Some(to)) => {
            let Some(Type::Vector(scalar, lanes)) = controlling else { return Ok(()) };
            if to != Type::Vector(scalar, indices.len() as u16) || indices.len() > MAX_LANES as usize {
                return wrong_result(format!("a vector of {} x {scalar}", indices.len()));
            }
            let both = 2 * u32::from(lanes);
            if let Some(index) = indices.iter().find(|&&index| u32::from(index) >= both) {
                return Err(wrong_detail(op, format!("index {index} is not below {both}")));
            }
        }
        (Detail::Reduce(by) | Detail::Scan { by, .. }, _) => {
            let class = if by.is_float() { TypeClass::Float } else { TypeClass::Int };
            let found = controlling.unwrap_or(Type::I1);
            if !class.contains(found) {
                return Err(TypeError::Operand { op, index: 1, expected: class.describe().into(), found });
            }
        }
        (Detail::Rmw(rmw, _), _) => {
            let found = operands[1];
            let expected = match rmw {
                Rmw::Exchange => TypeClass::Scalar,
                rmw if rmw.is_float() => TypeClass::Float,
                _ => TypeClass::ScalarInt,
            };
            if !expected.contains(found) {
                return Err(TypeError::Operand { op, index: 2, expected: expected.describe().into(), found });
            }
        }
        (Detail::CompareExchange(..), _) if operands[1].scalar().is_float() => {
            let expected = TypeClass::IntOrPtr.describe().into();
            return Err(TypeError::Operand { op, index: 2, expected, found: operands[1] });
        }
        (Detail::Dimension(dimension), _) => match dimension {
            // Work-groups have three dimensions; brushes may have four.
            Some(dimension @ 3) if !matches!(op, Op::Lane | Op::Width) => {
                return Err(wrong_detail(op, format!("dimension {dimension} is not 0, 1 or 2")));
            }
            Some(dimension) if usize::from(*dimension) >= MAX_DIMENSIONS => {
                let text = format!("dimension {dimension} is not below {MAX_DIMENSIONS}");
                return Err(wrong_detail(op, text));
            }
            None if !matches!(op, Op::Lane | Op::Width | Op::WorkDim) => {
                return Err(wrong_detail(op, "a dimension is missing"));
            }
            Some(_) if op == Op::WorkDim => {
                return Err(wrong_detail(op, "no dimension to name"));
            }
            _ => {}
        },
        _ => {}
    }
    Ok(())
}

fn phi(data: &InstData, operands: &[Type], written: Option<Type>) -> Result<ResultTypes, TypeError> {
    let op = data.op;
    let Some(ty) = written else {
        return Err(TypeError::Result { op, expected: "written".into(), found: None });
    };
    let Detail::Phi(blocks) = &data.detail else { return Ok(smallvec![ty]) };
    if operands.len() < blocks.len() || operands.len() > blocks.len() + 1 {
        let expected = plural(blocks.len(), "incoming value");
        return Err(TypeError::Count { op, expected, found: operands.len() });
    }
    match operands.iter().position(|&operand| operand != ty) {
        Some(index) => {
            Err(TypeError::Operand { op, index: index + 1, expected: ty.to_string(), found: operands[index] })
        }
        None => Ok(smallvec![ty]),
    }
}

fn terminator(data: &InstData, operands: &[Type]) -> Result<(), TypeError> {
    let op = data.op;
    match &data.detail {
        Detail::Branch(targets, _) => match (targets.len(), operands) {
            (1, []) | (2, [Type::I1]) => Ok(()),
            (2, &[found]) => Err(TypeError::Operand { op, index: 1, expected: Type::I1.to_string(), found }),
            (1 | 2, _) => {
                let expected = plural(targets.len() - 1, "condition");
                Err(TypeError::Count { op, expected, found: operands.len() })
            }
            (count, _) => Err(wrong_detail(op, format!("a branch has 1 or 2 targets, not {count}"))),
        },
        Detail::Switch(switch) => {
            let &[found] = operands else {
                return Err(TypeError::Count { op, expected: "1 operand".into(), found: operands.len() });
            };
            if !TypeClass::ScalarInt.contains(found) {
                let expected = TypeClass::ScalarInt.describe().into();
                return Err(TypeError::Operand { op, index: 1, expected, found });
            }
            if switch.targets.len() != switch.cases.len() + 1 {
                return Err(wrong_detail(op, "each case needs one block"));
            }
            if let Some(case) = switch.cases.iter().find(|&&case| case & !found.scalar().bit_mask() != 0) {
                return Err(wrong_detail(op, format!("case {case} does not fit {found}")));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn call(data: &InstData, operands: &[Type], callee: Option<&Declaration>) -> Result<ResultTypes, TypeError> {
    let op = data.op;
    let Some(callee) = callee else { return Err(wrong_detail(op, "the callee is not declared")) };
    let launch = match &data.detail {
        Detail::Launch(launch) => Some(&**launch),
        _ => None,
    };
    let params = &callee.signature.params;
    let masked = usize::from(launch.is_some_and(|launch| launch.masked));
    check_count(data, operands.len(), Some(callee))?;
    let lanes = match launch {
        Some(launch) if launch.brush.is_empty() || launch.brush.len() > MAX_DIMENSIONS => {
            return Err(wrong_detail(op, format!("a brush has 1 to {MAX_DIMENSIONS} dimensions")));
        }
        Some(launch) if launch.lanes() == 0 || launch.lanes() > MAX_LANES => {
            return Err(wrong_detail(op, format!("a brush has 1 to {MAX_LANES} lanes")));
        }
        Some(launch) => Some(launch.lanes() as u16),
        None => None,
    };
    let outside = |ty: Type, shape: &Option<DeclaredShape>| caller_type(ty, shape.as_ref(), lanes);
    for (index, (param, &found)) in params.iter().zip(operands).enumerate() {
        let expected = outside(param.ty, &param.shape);
        if expected != found {
            let expected = expected.to_string();
            return Err(TypeError::Operand { op, index: index + 1, expected, found });
        }
    }
    if let (Some(lanes), 1) = (lanes, masked) {
        let found = operands[params.len()];
        if found != Type::mask(lanes) {
            let expected = Type::mask(lanes).to_string();
            return Err(TypeError::Operand { op, index: operands.len(), expected, found });
        }
    }
    Ok(callee.signature.results.iter().map(|result| outside(result.ty, &result.shape)).collect())
}
