//! docs/ops.md is the ops table; `HEDDLE_BLESS=1` rewrites it.

use heddle_ir::Op;
use heddle_ir::ops::{Effect, InstFormat, Observed, OperandConstraint, ResultConstraint, TypeClass};
use heddle_ir::words::Flags;
use std::fmt::Write as _;
use std::path::PathBuf;

const HEAD: &str = "\
# The ops

This list is made from the ops table (`crates/ir/src/ops.rs`) by `HEDDLE_BLESS=1 cargo test -p heddle-ir --test
ops_doc`. [text.md](text.md) is the grammar, [ir.md](ir.md) the meaning.

`T` is a type that the operands of an op share; what stands after a colon is the class that it must be in. `R` is the
type that is written after the op. `mask of T` is `i1` where `T` is a scalar, and the mask with the lanes of `T` where
it is a vector; `lane of T` is what one of its lanes holds; `with lanes of T` says that there are as many lanes.
`fast` is any of the fast-math flags. Every op but φs, terminators and `mask` may be `total`.

An op observes what its result or effect depends on besides operands and memory: the `lanes` of its brush and which of them are
active, its own `position`, the `group`, the `launch`, the `order` of other lanes' accesses, their `progress`. Scopes and attributes
add to that: a barrier of the brush observes the lanes, an atomic or volatile access the order.
";

fn class(class: TypeClass) -> &'static str {
    match class {
        TypeClass::Any => "any",
        TypeClass::Int => "integer",
        TypeClass::WideInt => "integer of 8 bits or more",
        TypeClass::Float => "float",
        TypeClass::Ptr => "pointer",
        TypeClass::IntOrPtr => "integer or pointer",
        TypeClass::Bool => "i1 or mask",
        TypeClass::Vector => "vector",
        TypeClass::Scalar => "scalar",
        TypeClass::ScalarInt => "scalar integer",
        TypeClass::ScalarPtr => "scalar pointer",
        TypeClass::VectorPtr => "vector of pointers",
    }
}

fn operands(op: Op) -> String {
    let info = op.info();
    let mut is_first_of_t = true;
    let operands = info.operands.iter().map(|operand| match operand {
        OperandConstraint::T(of) if std::mem::take(&mut is_first_of_t) => format!("T: {}", class(*of)),
        OperandConstraint::T(_) => "T".into(),
        OperandConstraint::BoolOfT => "mask of T".into(),
        OperandConstraint::Choice => "i1 or mask of T".into(),
        OperandConstraint::SameLanes(of) => format!("{} with lanes of T", class(*of)),
        OperandConstraint::LaneOfT => "lane of T".into(),
        OperandConstraint::Free(of) => class(*of).into(),
        OperandConstraint::MaskOfResult => "mask of R".into(),
        OperandConstraint::SameAsResult => "R".into(),
    });
    let operands: Vec<String> = operands.collect();
    operands.join(", ")
}

fn result(op: Op) -> String {
    match op.info().gives {
        ResultConstraint::Nothing => "".into(),
        ResultConstraint::T => "T".into(),
        ResultConstraint::BoolOfT => "mask of T".into(),
        ResultConstraint::Bool => "i1".into(),
        ResultConstraint::LaneOfT => "lane of T".into(),
        ResultConstraint::Written(of) => format!("R: {}", class(of)),
        ResultConstraint::PrivatePtr => "ptr(private)".into(),
        ResultConstraint::TAndBool => "T, i1".into(),
        ResultConstraint::Callee => "what the callee gives".into(),
    }
}

/// Detail of an op's syntax, besides types and operands.
fn detail(op: Op) -> &'static str {
    match op.info().format {
        InstFormat::Plain | InstFormat::Cast => "",
        InstFormat::IntCompare | InstFormat::FloatCompare => "predicate first",
        InstFormat::Dimension if op == Op::WorkDim => "",
        InstFormat::Dimension if matches!(op, Op::Lane | Op::Width) => "dimension or none",
        InstFormat::Dimension => "dimension",
        InstFormat::Access => "access",
        InstFormat::Transfer => "two accesses",
        InstFormat::Rmw => "operation first, ordering",
        InstFormat::CompareExchange => "two orderings",
        InstFormat::Fence => "ordering, scope",
        InstFormat::Barrier => "scope",
        InstFormat::Alloca => "bytes, alignment",
        InstFormat::Reduce | InstFormat::Scan => "reduction first",
        InstFormat::Permute => "lane indices",
        InstFormat::FloatClass => "class mask",
        InstFormat::Phi => "values by block, shadow",
        InstFormat::Branch => "condition, blocks, weights",
        InstFormat::Switch => "value, default, cases",
        InstFormat::Return => "values",
        InstFormat::Call => "callee, arguments",
        InstFormat::Launch => "brush, callee, arguments, mask",
    }
}

fn effect(op: Op) -> &'static str {
    match op.info().effect {
        Effect::Pure => "",
        Effect::Traps => "traps",
        Effect::Reads => "reads",
        Effect::Writes => "writes",
        Effect::ReadsWrites => "reads, writes",
        Effect::Allocates => "allocates",
        Effect::Horizontal => "horizontal",
        Effect::Synchronizes => "synchronizes",
        Effect::Assumes => "assumes",
        Effect::Callee => "the callee's",
        Effect::Terminator => "ends a block",
        Effect::Joins => "joins",
    }
}

fn observes(op: Op) -> String {
    let words = op.info().observes.iter().map(|what| match what {
        Observed::Lanes => "lanes",
        Observed::Position => "position",
        Observed::Group => "group",
        Observed::Launch => "launch",
        Observed::Order => "order",
        Observed::Progress => "progress",
    });
    words.collect::<Vec<_>>().join(", ")
}

fn flags(op: Op) -> String {
    let flags = op.info().flags;
    let is_fast = flags.intersection(Flags::FAST) == Flags::FAST;
    let rest = if is_fast { flags.without(Flags::FAST) } else { flags };
    let words = rest.iter().map(|flag| flag.name()).chain(is_fast.then_some("fast"));
    words.collect::<Vec<_>>().join(" ")
}

fn list() -> String {
    let mut out = format!("{HEAD}\n| op | operands | gives | detail | effect | observes | flags | |\n");
    out.push_str("|---|---|---|---|---|---|---|---|\n");
    for &op in Op::ALL {
        let name = match op {
            Op::Scan => "`scan` `scan_before`".to_string(),
            op => format!("`{op}`"),
        };
        let (operands, result, observes, flags) = (operands(op), result(op), observes(op), flags(op));
        let (detail, effect, doc) = (detail(op), effect(op), op.info().doc.trim());
        writeln!(
            out,
            "| {name} | {operands} | {result} | {detail} | {effect} | {observes} | {flags} | {doc} |"
        )
        .unwrap();
    }
    out
}

#[test]
fn the_list_of_ops_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops.md");
    if std::env::var_os("HEDDLE_BLESS").is_some() {
        std::fs::write(&path, list()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == list(), "docs/ops.md is not the ops table: HEDDLE_BLESS=1 rewrites it");
}
