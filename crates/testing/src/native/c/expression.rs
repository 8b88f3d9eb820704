//! Expressions of generated C: none has undefined behaviour, whatever its operands are.

use super::generate::CFunctionGenerator;
use super::tree::{CNode, CNodeKind, CPiece};

/// Types of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CType {
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
}

impl CType {
    pub(super) const INTS: [CType; 8] =
        [CType::S8, CType::U8, CType::S16, CType::U16, CType::S32, CType::U32, CType::S64, CType::U64];

    pub(super) const fn name(self) -> &'static str {
        match self {
            CType::S8 => "int8_t",
            CType::U8 => "uint8_t",
            CType::S16 => "int16_t",
            CType::U16 => "uint16_t",
            CType::S32 => "int32_t",
            CType::U32 => "uint32_t",
            CType::S64 => "int64_t",
            CType::U64 => "uint64_t",
            CType::F32 => "float",
            CType::F64 => "double",
        }
    }

    pub(super) const fn is_float(self) -> bool {
        matches!(self, CType::F32 | CType::F64)
    }
}

fn int(template: &str, places: Vec<CNode>) -> CNode {
    CNode::of(CNodeKind::Int, template, places.into_iter().map(CPiece::Node))
}

fn float(template: &str, places: Vec<CNode>) -> CNode {
    CNode::of(CNodeKind::Float, template, places.into_iter().map(CPiece::Node))
}

impl CFunctionGenerator<'_> {
    pub(super) fn expression(&mut self, ty: CType, depth: u32) -> CNode {
        if ty.is_float() { self.float(depth) } else { self.int(depth) }
    }

    pub(super) fn int(&mut self, depth: u32) -> CNode {
        if depth == 0 || self.random.chance(20) {
            return self.int_leaf();
        }
        let deep = depth - 1;
        match self.random.below(22) {
            0..5 => {
                let ty = self.random.pick(&["uint32_t", "uint32_t", "uint64_t", "uint8_t", "uint16_t"]);
                let op = self.random.pick(&["+", "-", "*", "&", "|", "^"]);
                // Narrow types are multiplied as `int`, where the product of two may not fit.
                let wide = if ty == "uint64_t" { ty } else { "uint32_t" };
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("(({ty})(({wide})#{op}({wide})#))"), vec![a, b])
            }
            5..7 => {
                let op = self.random.pick(&["+", "-", "*"]);
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("((int16_t)#{op}(int16_t)#)"), vec![a, b])
            }
            7 => {
                let op = self.random.pick(&["+", "-", "*"]);
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("((int64_t)(int32_t)#{op}(int32_t)#)"), vec![a, b])
            }
            8..10 => {
                let (ty, most) = self.random.pick(&[
                    ("(uint32_t", 31),
                    ("(uint64_t", 63),
                    ("(uint8_t", 7),
                    ("(uint32_t)(uint16_t", 15),
                ]);
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("({ty})#<<((uint32_t)#&{most}))"), vec![a, b])
            }
            10..12 => {
                let (ty, most) = self.random.pick(&[
                    ("int32_t", 31),
                    ("uint32_t", 31),
                    ("int64_t", 63),
                    ("uint64_t", 63),
                    ("int8_t", 7),
                    ("uint16_t", 15),
                ]);
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("(({ty})#>>((uint32_t)#&{most}))"), vec![a, b])
            }
            12..14 => {
                self.feature("guarded divisions");
                let op = self.random.pick(&["div", "rem"]);
                let ty = self.random.pick(&["s32", "u32", "u32", "s64", "u64"]);
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("{op}_{ty}(#,#)"), vec![a, b])
            }
            14..16 => self.condition(deep),
            16..18 => {
                let (c, a, b) = (self.condition(deep), self.int(deep), self.int(deep));
                int("(#?#:#)", vec![c, a, b])
            }
            18 => {
                let name =
                    self.random.pick(&["__builtin_popcount(", "__builtin_clz(1|", "__builtin_bswap32("]);
                let a = self.int(deep);
                int(&format!("{name}(uint32_t)#)"), vec![a])
            }
            19 => {
                let a = self.float(deep);
                let to = self.random.pick(&["to_s32(#)", "(uint32_t)to_u64(#)", "bits32(#)", "bits64(#)"]);
                int(to, vec![a])
            }
            20 => {
                let ty = self.random.pick(&CType::INTS).name();
                let a = self.int(deep);
                int(&format!("(({ty})#)"), vec![a])
            }
            _ => self.call_of_int_helper(deep),
        }
    }

    fn int_leaf(&mut self) -> CNode {
        let literal = |number: i64| CNode::text(CNodeKind::Int, format!("({number})"));
        match self.random.below(16) {
            0..2 => literal(i64::from(self.random.between(0, 16)) - 4),
            2 => CNode::text(
                CNodeKind::Int,
                self.random.pick(&[
                    "0x7fffffff",
                    "(-128)",
                    "255u",
                    "65535",
                    "0x80000000u",
                    "0x123456789abcull",
                ]),
            ),
            3..9 => match self.random_int_variable() {
                Some(name) => CNode::text(CNodeKind::Int, name),
                None => literal(3),
            },
            9 => CNode::text(CNodeKind::Int, self.random.pick(&["id", "n", "u"])),
            10 if !self.is_helper => {
                let index = self.int(0);
                int("in[(uint32_t)#&31]", vec![index])
            }
            11 if !self.is_helper => {
                let index = self.int(0);
                int("m[(uint32_t)#&15]", vec![index])
            }
            _ => match self.random_place(false) {
                Some(place) => {
                    let index = self.int(0);
                    int(&place, vec![index])
                }
                None => literal(5),
            },
        }
    }

    /// 0 or 1, mostly.
    pub(super) fn condition(&mut self, depth: u32) -> CNode {
        let deep = depth.saturating_sub(1);
        match self.random.below(12) {
            0..6 => {
                let ty = self.random.pick(&["int32_t", "uint32_t", "int64_t", "uint8_t", "int16_t"]);
                let op = self.random.pick(&["<", "<=", "==", "!=", ">", ">="]);
                let (a, b) = (self.int(deep), self.int(deep));
                int(&format!("(({ty})#{op}({ty})#)"), vec![a, b])
            }
            6 => {
                let op = self.random.pick(&["<", ">", "==", "!=", ">="]);
                let (a, b) = (self.float(deep), self.float(deep));
                int(&format!("(#{op}#)"), vec![a, b])
            }
            7..9 => {
                let bit = self.random.pick(&["1", "2", "3", "4", "6"]);
                let a = self.int(deep);
                int(&format!("(((uint32_t)#&{bit})!=0)"), vec![a])
            }
            9 if depth > 0 => {
                let op = self.random.pick(&["&&", "||"]);
                self.feature("short-circuit operators");
                let (a, b) = (self.condition(deep), self.condition(deep));
                int(&format!("(#{op}#)"), vec![a, b])
            }
            10 if depth > 0 => {
                let a = self.condition(deep);
                int("(!#)", vec![a])
            }
            _ => {
                let bound = self.random.pick(&["2", "3", "5", "7"]);
                let a = self.int(deep);
                int(&format!("((uint32_t)#%{bound}==1)"), vec![a])
            }
        }
    }

    pub(super) fn float(&mut self, depth: u32) -> CNode {
        if depth == 0 || self.random.chance(20) {
            return self.float_leaf();
        }
        let deep = depth - 1;
        self.feature("floating point");
        match self.random.below(12) {
            0..5 => {
                let ty = self.random.pick(&["float", "float", "double"]);
                let op = self.random.pick(&["+", "-", "*", "/"]);
                let (a, b) = (self.float(deep), self.float(deep));
                float(&format!("(({ty})#{op}({ty})#)"), vec![a, b])
            }
            5 => {
                self.feature("mathematical functions");
                let name = self.random.pick(&[
                    "sqrtf(fabsf(#))",
                    "sqrt(fabs(#))",
                    "fabsf(#)",
                    "fabs(#)",
                    "sqrtf(#)",
                ]);
                let a = self.float(deep);
                float(name, vec![a])
            }
            6 => {
                self.feature("mathematical functions");
                let name = self.random.pick(&["fmaf(#,#,#)", "fma(#,#,#)"]);
                let [a, b, c] = [(); 3].map(|()| self.float(deep));
                float(name, vec![a, b, c])
            }
            7 => {
                // Addend of a product, which the compiler may contract.
                let ty = self.random.pick(&["float", "double"]);
                let [a, b, c] = [(); 3].map(|()| self.float(deep));
                float(&format!("(({ty})#*({ty})#+({ty})#)"), vec![a, b, c])
            }
            8 => {
                let ty = self.random.pick(&["float", "double"]);
                let from = self.random.pick(&["int32_t", "uint32_t", "int64_t", "uint8_t", "int16_t"]);
                let a = self.int(deep);
                float(&format!("(({ty})({from})#)"), vec![a])
            }
            9 => {
                let (c, a, b) = (self.condition(deep), self.float(deep), self.float(deep));
                float("(#?#:#)", vec![c, a, b])
            }
            10 => {
                let a = self.float(deep);
                float("(-#)", vec![a])
            }
            _ => self.call_of_float_helper(deep),
        }
    }

    fn float_leaf(&mut self) -> CNode {
        match self.random.below(8) {
            0 => CNode::text(
                CNodeKind::Float,
                self.random.pick(&["1.5f", "0.1", "(-3.25f)", "1e10f", "0.0f", "(-0.0)", "1e-40f"]),
            ),
            1 if !self.is_helper => {
                let index = self.int(0);
                float("fin[(uint32_t)#&15]", vec![index])
            }
            2 if !self.is_helper => {
                let index = self.int(0);
                float("g[(uint32_t)#&7]", vec![index])
            }
            3 => match self.random_place(true) {
                Some(place) => {
                    let index = self.int(0);
                    float(&place, vec![index])
                }
                None => CNode::text(CNodeKind::Float, "2.5f"),
            },
            _ => match self.random_float_variable() {
                Some(name) => CNode::text(CNodeKind::Float, name),
                None => CNode::text(CNodeKind::Float, "0.75"),
            },
        }
    }
}
