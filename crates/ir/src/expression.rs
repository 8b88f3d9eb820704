//! Source-level expressions of values: a name, or a C expression over names and literals, for messages.
//!
//! Most comparisons have no name in the source, but their operands do: `xx + yy > 4` says more than `v13`.

use crate::inst::Detail;
use crate::text::print_operand;
use crate::words::{FloatPredicate, IntPredicate};
use crate::{Constant, Function, Inst, Op, Value, ValueDef};

/// Maximum depth of an expression, which bounds work and length.
const DEPTH: u32 = 4;
/// Maximum number of steps from an address to the object it points into.
const MAX_STEPS: u32 = 16;
/// Maximum length of an expression in characters.
const LENGTH: usize = 72;

/// C precedence of an expression's outermost operator, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Bits,
    Compares,
    Shifts,
    Adds,
    Multiplies,
    Whole,
}

/// Text of a subexpression, with its precedence; `is_named` if it contains a source name.
struct ExprText {
    text: String,
    binds: Precedence,
    is_named: bool,
}

impl Function {
    /// Renders a value by its source name or as an expression over such names; none without any source name in it.
    pub fn expression(&self, value: Value) -> Option<String> {
        let term = self.term(value, DEPTH)?;
        (term.is_named && term.text.chars().count() <= LENGTH).then_some(term.text)
    }

    /// Renders the object that an address points into, in quotes: the name of a pointer or a global.
    pub fn describe_object(&self, address: Value) -> Option<String> {
        let mut at = address;
        for _ in 0..MAX_STEPS {
            if let Some(name) = self.name_of(at) {
                return Some(format!("`{name}`"));
            }
            at = match (self.value_def(at), self.constant(at)) {
                (_, Some(Constant::Address(_, name))) => return Some(format!("`{name}`")),
                (ValueDef::Result(inst, 0), _)
                    if matches!(self.inst(inst).op, Op::PtrAdd | Op::SpaceCast) =>
                {
                    self.inst(inst).args[0]
                }
                _ => return None,
            };
        }
        None
    }

    fn term(&self, value: Value, depth: u32) -> Option<ExprText> {
        let whole = |text: String, is_named| Some(ExprText { text, binds: Precedence::Whole, is_named });
        if let Some(name) = self.name_of(value) {
            return whole(name.into(), true);
        }
        match self.value_def(value) {
            ValueDef::Const => {
                let text = print_operand(self, value);
                whole(text.rsplit(' ').next().unwrap_or_default().into(), false)
            }
            ValueDef::Result(inst, 0) if depth > 0 => self.operation(inst, depth - 1),
            _ => None,
        }
    }

    fn operation(&self, inst: Inst, depth: u32) -> Option<ExprText> {
        let data = self.inst(inst);
        let args = &data.args;
        let dimension = || match data.detail {
            Detail::Dimension(dimension) => Some(dimension.map_or(0, u32::from)),
            _ => None,
        };
        let called = |name: &str| {
            let text = format!("{name}({})", dimension()?);
            Some(ExprText { text, binds: Precedence::Whole, is_named: true })
        };
        let (operator, binds) = match (data.op, &data.detail) {
            (Op::GlobalId, _) => return called("get_global_id"),
            (Op::LocalId, _) => return called("get_local_id"),
            (Op::GroupId, _) => return called("get_group_id"),
            (
                Op::Zext
                | Op::Sext
                | Op::Trunc
                | Op::Fpext
                | Op::Fptrunc
                | Op::Sitofp
                | Op::Uitofp
                | Op::Freeze,
                _,
            ) => return self.term(*args.first()?, depth),
            (Op::Fneg, _) => {
                let of = self.term(*args.first()?, depth)?;
                let text = format!("-{}", bracketed(&of, Precedence::Whole));
                return Some(ExprText { text, binds: Precedence::Whole, is_named: of.is_named });
            }
            (Op::Fmuladd | Op::Fma, _) => {
                let [left, right, plus] = args[..] else { return None };
                let product = [self.term(left, depth)?, self.term(right, depth)?];
                let plus = self.term(plus, depth)?;
                let [left, right] = &product;
                let (of_left, of_right) = (
                    operand(left, Precedence::Multiplies, false),
                    operand(right, Precedence::Multiplies, true),
                );
                let text = format!("{of_left} * {of_right} + {}", operand(&plus, Precedence::Adds, true));
                let is_named = left.is_named || right.is_named || plus.is_named;
                return Some(ExprText { text, binds: Precedence::Adds, is_named });
            }
            (Op::Icmp, Detail::IntCompare(predicate)) => (int_operator(*predicate), Precedence::Compares),
            (Op::Fcmp, Detail::FloatCompare(predicate)) => {
                let (operator, is_negated) = float_operator(*predicate)?;
                let compared = self.binary(args, operator, Precedence::Compares, depth)?;
                // Unordered predicates are written as the negation of an ordered one.
                let text = if is_negated { format!("!({})", compared.text) } else { compared.text };
                let binds = if is_negated { Precedence::Whole } else { Precedence::Compares };
                return Some(ExprText { text, binds, is_named: compared.is_named });
            }
            (Op::Add | Op::Fadd, _) => ("+", Precedence::Adds),
            (Op::Sub | Op::Fsub, _) => ("-", Precedence::Adds),
            (Op::Mul | Op::Fmul, _) => ("*", Precedence::Multiplies),
            (Op::Sdiv | Op::Udiv | Op::Fdiv, _) => ("/", Precedence::Multiplies),
            (Op::Srem | Op::Urem, _) => ("%", Precedence::Multiplies),
            (Op::Shl, _) => ("<<", Precedence::Shifts),
            (Op::Lshr | Op::Ashr, _) => (">>", Precedence::Shifts),
            (Op::And, _) => ("&", Precedence::Bits),
            (Op::Or, _) => ("|", Precedence::Bits),
            (Op::Xor, _) => ("^", Precedence::Bits),
            _ => return None,
        };
        self.binary(args, operator, binds, depth)
    }

    fn binary(&self, args: &[Value], operator: &str, binds: Precedence, depth: u32) -> Option<ExprText> {
        let &[left, right] = args else { return None };
        let (left, right) = (self.term(left, depth)?, self.term(right, depth)?);
        // Right operands of equal precedence and all mixed bit operations are parenthesized.
        let text = format!("{} {operator} {}", operand(&left, binds, false), operand(&right, binds, true));
        (text.chars().count() <= LENGTH).then_some(ExprText {
            text,
            binds,
            is_named: left.is_named || right.is_named,
        })
    }
}

fn operand(of: &ExprText, around: Precedence, is_right: bool) -> String {
    let is_loose = of.binds < around || of.binds == around && (is_right || around == Precedence::Compares);
    let is_mixed = of.binds != Precedence::Whole && matches!(around, Precedence::Bits | Precedence::Shifts);
    if is_loose || is_mixed { format!("({})", of.text) } else { of.text.clone() }
}

fn bracketed(of: &ExprText, least: Precedence) -> String {
    if of.binds < least { format!("({})", of.text) } else { of.text.clone() }
}

fn int_operator(predicate: IntPredicate) -> &'static str {
    use IntPredicate::*;
    match predicate {
        Eq => "==",
        Ne => "!=",
        Ult | Slt => "<",
        Ule | Sle => "<=",
        Ugt | Sgt => ">",
        Uge | Sge => ">=",
    }
}

/// The C operator of a predicate; true if the result is its negation.
fn float_operator(predicate: FloatPredicate) -> Option<(&'static str, bool)> {
    use FloatPredicate::*;
    Some(match predicate {
        Oeq => ("==", false),
        Une => ("!=", false),
        Ogt => (">", false),
        Oge => (">=", false),
        Olt => ("<", false),
        Ole => ("<=", false),
        Ugt => ("<=", true),
        Uge => ("<", true),
        Ult => (">=", true),
        Ule => (">", true),
        One | Ueq | False | True | Ord | Uno => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::parse_bytes;

    /// The last result of a function whose parameters have these names.
    fn last(names: &[&str], body: &str) -> Option<String> {
        let params: Vec<String> = (0..names.len()).map(|index| format!("v{index}: i32")).collect();
        let text = format!("func @f({}) {{\nblock0:\n{body}  ret\n}}\n", params.join(", "));
        let mut module = parse_bytes(text.as_bytes()).expect("it is well-formed");
        let func = &mut module.functions[0];
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            func.set_name(func.params()[index], *name);
        }
        let block = func.entry();
        let values: Vec<_> = func.block_insts(block).filter_map(|inst| func.result(inst)).collect();
        func.expression(*values.last().expect("it has a result"))
    }

    #[test]
    fn conditions_are_written_as_in_c() {
        let sum = "  v2 = mul v0, v0\n  v3 = mul v1, v1\n  v4 = add v2, v3\n  v5 = icmp sgt v4, 4\n";
        assert_eq!(last(&["x", "y"], sum).as_deref(), Some("x * x + y * y > 4"));
        let bits = "  v2 = add v0, 1\n  v3 = and v2, v1\n  v4 = icmp eq v3, 0\n";
        assert_eq!(last(&["x", "mask"], bits).as_deref(), Some("((x + 1) & mask) == 0"));
        let differences = "  v2 = sub v0, v1\n  v3 = sub v0, v2\n";
        assert_eq!(last(&["a", "b"], differences).as_deref(), Some("a - (a - b)"));
    }

    #[test]
    fn what_has_no_words_has_no_expression() {
        assert_eq!(last(&["x", ""], "  v2 = add v0, v1\n"), None);
        assert_eq!(last(&["", ""], "  v2 = add 3, i32 4\n"), None);
        let deep: String =
            (2..12).map(|at| format!("  v{at} = mul v{}, v0\n", if at == 2 { 1 } else { at - 1 })).collect();
        assert_eq!(last(&["x", "y"], &deep), None);
    }
}
