//! Linear form of addresses: a base, values times constants, and a constant.

use heddle_ir::words::Flag;
use heddle_ir::{Constant, Op, Value};
use smallvec::SmallVec;

use super::AccessGroupFinder;
use super::condition::interpret;
use crate::cycles::Cycle;

/// Maximum number of address parts that are visited.
pub(super) const MAX_PARTS: usize = 32;
/// Width of an address in bits.
pub(super) const ADDRESS: u32 = 64;

/// Extension of a number to the width of an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Extension {
    Signed,
    Unsigned,
}

/// Value, extended to the width of an address, times a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct LinearTerm {
    pub(super) value: Value,
    pub(super) extension: Extension,
    /// True if a no-wrap flag keeps the value within half of its range: a multiple of it does not wrap.
    pub(super) keeps_half_range: bool,
    pub(super) factor: i64,
}

pub(super) struct LinearAddress {
    pub(super) root: Value,
    pub(super) terms: SmallVec<[LinearTerm; 4]>,
    pub(super) offset: i64,
}

/// Common part of the addresses of a group.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct AccessGroupKey {
    pub(super) root: Value,
    pub(super) terms: SmallVec<[LinearTerm; 4]>,
    pub(super) enclosing: Option<Cycle>,
}

impl AccessGroupFinder<'_> {
    pub(super) fn width(&self, value: Value) -> u32 {
        self.func.value_type(value).scalar().bits()
    }

    pub(super) fn constant(&self, value: Value, extension: Extension) -> Option<i128> {
        match self.func.constant(value) {
            Some(Constant::Scalar(_, bits)) => {
                Some(interpret(*bits as i128, self.width(value), extension == Extension::Signed))
            }
            _ => None,
        }
    }

    /// Splits an address into base, terms and constant, all modulo 2^64.
    pub(super) fn address(&self, pointer: Value) -> Option<LinearAddress> {
        let mut root = pointer;
        let mut parts: Vec<LinearTerm> = Vec::new();
        while let Some(inst) = self.func.def_inst(root).filter(|&inst| self.func.inst(inst).op == Op::PtrAdd)
        {
            let data = self.func.inst(inst);
            if parts.len() == MAX_PARTS || self.width(data.args[1]) > ADDRESS {
                break;
            }
            let offset = LinearTerm {
                value: data.args[1],
                extension: Extension::Signed,
                keeps_half_range: false,
                factor: 1,
            };
            parts.push(offset);
            root = data.args[0];
        }
        if self.width(root) != ADDRESS {
            return None;
        }
        let mut terms: SmallVec<[LinearTerm; 4]> = SmallVec::new();
        let mut offset = 0i64;
        let mut seen = 0;
        while let Some(part) = parts.pop() {
            seen += 1;
            let LinearTerm { value, extension, keeps_half_range, factor } = part;
            if let Some(constant) = self.constant(value, extension) {
                offset = offset.wrapping_add(factor.wrapping_mul(constant as i64));
            } else if seen > MAX_PARTS || !self.push_operands(part, &mut parts) {
                // At this width both extensions are the identity.
                let extension = if self.width(value) == ADDRESS { Extension::Signed } else { extension };
                terms.push(LinearTerm { value, extension, keeps_half_range, factor });
            }
        }
        terms.sort_unstable();
        let mut merged: SmallVec<[LinearTerm; 4]> = SmallVec::new();
        for term in terms {
            match merged.last_mut() {
                Some(last) if (last.value, last.extension) == (term.value, term.extension) => {
                    last.factor = last.factor.wrapping_add(term.factor);
                    last.keeps_half_range |= term.keeps_half_range;
                }
                _ => merged.push(term),
            }
        }
        merged.retain(|term| term.factor != 0);
        Some(LinearAddress { root, terms: merged, offset })
    }

    /// Pushes the operands of a sum or a multiple, modulo 2^64; false if the value is neither.
    fn push_operands(&self, part: LinearTerm, parts: &mut Vec<LinearTerm>) -> bool {
        let LinearTerm { value, extension, factor, .. } = part;
        let Some(inst) = self.func.def_inst(value) else { return false };
        let data = self.func.inst(inst);
        // A violated flag makes the address poison, about which any claim holds.
        let keeps = self.width(value) == ADDRESS
            || match extension {
                Extension::Signed => data.flags.has(Flag::Nsw),
                Extension::Unsigned => data.flags.has(Flag::Nuw),
            };
        let mut push_half = |value: Value, factor: i64, keeps_half_range: bool| {
            parts.push(LinearTerm { value, extension, keeps_half_range, factor });
        };
        let mut push = |value: Value, factor: i64| push_half(value, factor, false);
        match data.op {
            Op::Add if keeps => {
                push(data.args[0], factor);
                push(data.args[1], factor);
            }
            Op::Or if data.flags.has(Flag::Disjoint) || self.are_disjoint(data.args[0], data.args[1]) => {
                push(data.args[0], factor);
                push(data.args[1], factor);
            }
            Op::Sub if keeps => {
                push(data.args[0], factor);
                push(data.args[1], factor.wrapping_neg());
            }
            Op::Mul if keeps => {
                let [Some(left), None] = [1, 0].map(|arg| self.constant(data.args[arg], extension)) else {
                    return false;
                };
                push_half(data.args[0], factor.wrapping_mul(left as i64), left.unsigned_abs() > 1);
            }
            Op::Shl if keeps => match self.constant(data.args[1], Extension::Unsigned) {
                Some(amount @ 0..63) => {
                    push_half(data.args[0], factor.wrapping_shl(amount as u32), amount > 0);
                }
                _ => return false,
            },
            Op::Sext if extension == Extension::Signed || self.width(value) == ADDRESS => {
                parts.push(LinearTerm {
                    value: data.args[0],
                    extension: Extension::Signed,
                    keeps_half_range: false,
                    factor,
                });
            }
            Op::Zext => {
                parts.push(LinearTerm {
                    value: data.args[0],
                    extension: Extension::Unsigned,
                    keeps_half_range: false,
                    factor,
                });
            }
            _ => return false,
        }
        true
    }

    /// True if the value is known to have zeros where the constant has ones.
    fn are_disjoint(&self, value: Value, constant: Value) -> bool {
        let Some(constant) = self.constant(constant, Extension::Unsigned) else { return false };
        let zeros = self.divergence.shape(value).each().zeros();
        constant < 1 << zeros.min(ADDRESS)
    }
}
