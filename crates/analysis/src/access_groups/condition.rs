//! Run-time conditions on uniform values or lane 0's number, under which a stride is known.

use heddle_ir::{Function, Value};

/// Uniform value that bounds the number of all lanes from above or below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UniformBound {
    /// Bounding value.
    pub value: Value,
    /// True for an upper bound, false for a lower bound.
    pub is_upper: bool,
    /// Offset of the lane closest to the bound, relative to lane 0.
    pub reach: i64,
}

/// Purpose of a condition.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConditionPurpose {
    /// No lane of an index wraps around.
    NoWrap,
    /// All lanes of an index are within the bounds that clamp it.
    InBounds,
    /// A comparison has one result in all lanes, so all choose the same of two indices.
    OneArm,
}

/// Range check of a value when the access executes. It applies to the number of lane 0, active or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StrideCondition {
    /// Checked value.
    pub value: Value,
    /// Stride between consecutive lanes, modulo 2^width; 0 for a uniform value.
    pub stride: i64,
    /// Number of low bits that are checked.
    pub width: u32,
    /// True if the value has more bits.
    pub is_truncated: bool,
    /// True if the bits are read as a signed number.
    pub is_signed: bool,
    /// Minimum allowed number.
    pub min: i128,
    /// Maximum allowed number.
    pub max: i128,
    /// Purpose of the check, for the descriptions for users.
    pub purpose: ConditionPurpose,
    /// Uniform bound to compare with. The value plus the bound's reach does not wrap if all conditions of the access hold.
    pub bound: Option<UniformBound>,
}

impl StrideCondition {
    /// True if the condition holds for these bits of a lane and these bits of the bound.
    pub fn holds(&self, bits: u128, lane: usize, of_bound: Option<u128>) -> bool {
        let first = (bits as i128).wrapping_sub(i128::from(self.stride) * lane as i128);
        let number = interpret(first, self.width, self.is_signed);
        let is_within = match (self.bound, of_bound) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(bound), Some(bits)) => {
                let limit = interpret(bits as i128, self.width, self.is_signed);
                let closest = number + i128::from(bound.reach);
                if bound.is_upper { closest <= limit } else { closest >= limit }
            }
        };
        is_within && (self.min..=self.max).contains(&number)
    }

    /// True if the minimum excludes numbers of this width.
    pub fn has_lower_bound(&self) -> bool {
        self.min > range_of(self.width, self.is_signed).0
    }

    /// True if the maximum excludes numbers of this width.
    pub fn has_upper_bound(&self) -> bool {
        self.max < range_of(self.width, self.is_signed).1
    }

    /// True if the condition only says that a value of fewer than 64 bits does not wrap around in a lane: a wider index needs none. Bits that the
    /// source masks wrap around in any width.
    pub fn tests_wrap(&self) -> bool {
        self.purpose == ConditionPurpose::NoWrap
            && self.min != self.max
            && self.width < 64
            && !self.is_truncated
    }

    /// Describes the condition in terms of the source: as a comparison of its expressions, or in words for values without one.
    pub fn describe_for_user(&self, func: &Function) -> String {
        let is_named = |value: Value| func.expression(value).is_some();
        if is_named(self.value) && self.bound.is_none_or(|bound| is_named(bound.value)) {
            let text = self.describe(func);
            return text.replace(" in lane 0", "").replace(" (signed)", "");
        }
        let width = self.width;
        if self.bound.is_none() && self.min == self.max {
            return "an index has one value".into();
        }
        match self.purpose {
            ConditionPurpose::InBounds => format!("the {width}-bit index is within its bounds in all lanes"),
            ConditionPurpose::OneArm => "all lanes choose the same index".into(),
            ConditionPurpose::NoWrap if self.is_truncated => {
                format!("the low {width} bits of the index do not wrap around")
            }
            ConditionPurpose::NoWrap => format!("the {width}-bit index does not wrap around"),
        }
    }

    /// Returns the condition as a comparison of source expressions.
    pub fn describe(&self, func: &Function) -> String {
        let (first, last) = range_of(self.width, self.is_signed);
        let value = func.describe(self.value);
        let value = if self.is_truncated { format!("{value} mod 2^{}", self.width) } else { value };
        let range = match (self.min, self.max) {
            (min, max) if min == max => format!("{value} == {min}"),
            (min, max) if max == last => format!("{value} >= {min}"),
            (min, max) if min == first => format!("{value} <= {max}"),
            (min, max) => format!("{min} <= {value} <= {max}"),
        };
        let lane = if self.stride != 0 { " in lane 0" } else { "" };
        let sign = if self.is_signed { " (signed)" } else { "" };
        let Some(bound) = self.bound else { return format!("{range}{lane}{sign}") };
        let of_bound = func.describe(bound.value);
        let closest = match bound.reach {
            0 => value.clone(),
            reach @ 1.. => format!("{value} + {reach}"),
            reach => format!("{value} - {}", reach.unsigned_abs()),
        };
        let bounds = format!("{closest} {} {of_bound}", if bound.is_upper { "<=" } else { ">=" });
        match self.has_lower_bound() || self.has_upper_bound() {
            true => format!("{range} and {bounds}{lane}{sign}"),
            false => format!("{bounds}{lane}{sign}"),
        }
    }
}

/// Returns the range of the numbers of a width.
pub(super) fn range_of(width: u32, is_signed: bool) -> (i128, i128) {
    let bits = width.clamp(1, 100);
    match is_signed {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// Interprets the low bits as a number.
pub(super) fn interpret(bits: i128, width: u32, is_signed: bool) -> i128 {
    let shift = 128 - width.clamp(1, 128);
    match is_signed {
        true => bits << shift >> shift,
        false => ((bits as u128) << shift >> shift) as i128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_as_numbers_of_their_width() {
        assert_eq!(interpret(0xff, 8, true), -1);
        assert_eq!(interpret(0xff, 8, false), 255);
        assert_eq!(interpret(0x17f, 8, true), 127);
        assert_eq!(interpret(-1, 64, false), (1 << 64) - 1);
        assert_eq!(interpret(1 << 63, 64, true), -(1 << 63));
        assert_eq!((range_of(8, true), range_of(8, false)), ((-128, 127), (0, 255)));
        assert_eq!((range_of(1, true), range_of(1, false)), ((-1, 0), (0, 1)));
    }

    /// A value with stride 2, of which 8 bits are checked, from -3 to 100 in lane 0.
    #[test]
    fn conditions_are_about_lane_0() {
        let module = heddle_ir::parse_bytes(b"func @f() {\nblock0:\n  v4 = lane i32\n  ret\n}\n")
            .expect("it is well-formed");
        let (func, value) = (&module.functions[0], Value::from_u32(4));
        let signed = StrideCondition {
            value,
            stride: 2,
            width: 8,
            is_truncated: true,
            is_signed: true,
            min: -3,
            max: 100,
            purpose: ConditionPurpose::NoWrap,
            bound: None,
        };
        let holds = |bits, lane| signed.holds(bits, lane, None);
        assert!(holds(100, 0) && holds(0x1fd, 0) && holds(106, 3) && holds(3, 3));
        assert!(!holds(101, 0) && !holds(0xfc, 0) && !holds(107, 3) && !holds(2, 3));
        assert!(signed.has_lower_bound() && signed.has_upper_bound());
        assert_eq!(signed.describe(func), "-3 <= v4 mod 2^8 <= 100 in lane 0 (signed)");
        let all = StrideCondition { stride: 0, is_truncated: false, min: -128, max: 127, ..signed };
        assert!(!all.has_lower_bound() && !all.has_upper_bound());
        let below = StrideCondition { is_signed: false, min: 0, max: 7, ..all };
        assert_eq!(below.describe(func), "v4 <= 7");
        assert_eq!(StrideCondition { min: 7, ..below }.describe(func), "v4 == 7");
        assert_eq!(StrideCondition { min: 7, max: 255, ..below }.describe(func), "v4 >= 7");
        // The last lane is 6 above lane 0 and has an upper bound; then 6 below, with a lower bound.
        let bound = UniformBound { value, is_upper: true, reach: 6 };
        let kept = StrideCondition { bound: Some(bound), ..signed };
        assert!(kept.holds(10, 0, Some(16)) && kept.holds(16, 3, Some(16)) && !kept.holds(11, 0, Some(16)));
        assert!(!kept.holds(10, 0, None) && !kept.holds(101, 0, Some(127)) && !kept.holds(10, 0, Some(0xf0)));
        let words = "-3 <= v4 mod 2^8 <= 100 and v4 mod 2^8 + 6 <= v4 in lane 0 (signed)";
        assert_eq!(kept.describe(func), words);
        let above = UniformBound { value, is_upper: false, reach: -6 };
        let kept = StrideCondition { bound: Some(above), stride: -2, ..signed };
        assert!(kept.holds(10, 0, Some(4)) && kept.holds(4, 3, Some(4)) && !kept.holds(9, 0, Some(4)));
        assert_eq!(StrideCondition { bound: Some(above), ..all }.describe(func), "v4 - 6 >= v4 (signed)");
    }
}
