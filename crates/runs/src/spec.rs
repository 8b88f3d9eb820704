//! Runs in words: the arguments, memory and options that `heddle exec` and the `; run:` lines of file tests take.
//!
//! ```text
//! argument   5  -3  1.5  true  null  poison          the same in all lanes
//!            &a  &a+8                                 the address of an object of the memory
//!            [9, 1, 6, 2]                             one for each lane
//!            linear(0, 4)  linear(&a, 4, 64)          a base, and a stride along each brush dimension
//!            <1, 2, 3, 4>                             a vector
//! memory     a: i32 [9, 1, 6, 2]                      an object in global memory, by its values
//!            b: local f32 zero 16                     another space; 16 values of 0
//!            c: i8 poison 64                          64 values of poison
//!            e: f32 random 64                         64 numbers, always the same; floats from -1 to 1
//!            f: i32 below 9 64                        64 whole numbers of 0 to 8, always the same
//!            g: i32 step 4 64                         0, 4, 8, …
//!            d: i64 [&a, &a+4]                        addresses of objects named before
//! ```

use heddle_interp::{Argument, Datum, LimitKind, Memory, MemoryObject};
use heddle_ir::module::Signature;
use heddle_ir::text::{read_scalar, write_scalar};
use heddle_ir::{Scalar, Space, Type};
use thiserror::Error;

/// Why a run cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SpecError {
    /// A value of this type was expected.
    #[error("`{text}` is not a value of type {ty}: {reason}")]
    Value {
        /// Text of the argument.
        text: String,
        /// The type that it should have.
        ty: Type,
        /// Reason.
        reason: String,
    },
    /// An object of the memory is not described as it should be.
    #[error(
        "`{text}` does not describe an object: {reason}; write `a: i32 [1, 2]`, `a: local f32 zero 16` or `a: i8 poison 64`"
    )]
    Object {
        /// Text of the argument.
        text: String,
        /// Reason.
        reason: String,
    },
    /// The number of arguments is wrong.
    #[error("@{func} takes {expected} arguments, not {found}")]
    Count {
        /// The function.
        func: String,
        /// Number of parameters.
        expected: usize,
        /// Number of arguments.
        found: usize,
    },
}

/// An object of the memory, by what its values are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectSpec {
    /// Its name.
    pub name: String,
    /// Address space.
    pub space: Space,
    /// The type of its values.
    pub element: Scalar,
}

/// Cuts a list at its commas, those inside brackets left alone.
pub fn split_list(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            c if c == separator && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() || !parts.is_empty() {
        parts.push(last);
    }
    parts
}

/// A type by its word, `ptr` for a pointer of any space.
pub fn parse_scalar_type(word: &str) -> Option<Scalar> {
    Scalar::ALL.into_iter().find(|scalar| scalar.to_string() == word)
}

/// One value; `&name` and `&name+8` are addresses.
pub fn parse_datum(text: &str, scalar: Scalar, memory: &Memory) -> Result<Datum, SpecError> {
    let error = |reason: String| SpecError::Value { text: text.into(), ty: scalar.into(), reason };
    if text == "poison" {
        return Ok(Datum::Poison);
    }
    let Some(place) = text.strip_prefix('&') else {
        return read_scalar(text, scalar).map(Datum::Bits).map_err(error);
    };
    let (name, offset) = match place.split_once('+') {
        Some((name, offset)) => (name.trim(), offset.trim().parse().ok()),
        None => (place.trim(), Some(0u64)),
    };
    let object = memory.object(name).ok_or_else(|| {
        let known: Vec<&str> = memory.objects().filter_map(|object| object.name.as_deref()).collect();
        error(match known[..] {
            [] => "no objects in memory".into(),
            _ => format!("no object `{name}` (the objects are {})", known.join(", ")),
        })
    })?;
    if !scalar.is_ptr() && scalar != Scalar::I64 {
        return Err(error("an address is a pointer or an i64".into()));
    }
    let offset = offset.ok_or_else(|| error("the offset is not a number".into()))?;
    Ok(Datum::Bits(object.address.wrapping_add(offset).into()))
}

fn inside<'t>(text: &'t str, open: &str, close: char) -> Option<&'t str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// One argument.
pub fn parse_argument(text: &str, ty: Type, memory: &Memory) -> Result<Argument, SpecError> {
    let scalar = ty.scalar();
    let data = |list: &str| -> Result<Vec<Datum>, SpecError> {
        split_list(list, ',').into_iter().map(|item| parse_datum(item, scalar, memory)).collect()
    };
    if let Some(list) = inside(text, "[", ']') {
        let lanes = split_list(list, ',');
        // Vectors lie lane by lane.
        let flat: Vec<&str> = lanes
            .into_iter()
            .flat_map(|lane| inside(lane, "<", '>').map_or(vec![lane], |v| split_list(v, ',')))
            .collect();
        return flat
            .into_iter()
            .map(|item| parse_datum(item, scalar, memory))
            .collect::<Result<_, _>>()
            .map(Argument::Varying);
    }
    if let Some(list) = inside(text, "<", '>') {
        return data(list).map(Argument::Vector);
    }
    if let Some(list) = inside(text, "linear(", ')') {
        let error = |reason: &str| SpecError::Value { text: text.into(), ty, reason: reason.into() };
        let parts = split_list(list, ',');
        let Some((base, strides)) = parts.split_first() else { return Err(error("no base")) };
        let Datum::Bits(base) = parse_datum(base, scalar, memory)? else {
            return Err(error("the base is poison"));
        };
        let strides: Option<Vec<i64>> = strides.iter().map(|stride| stride.parse().ok()).collect();
        return match strides {
            Some(strides) => Ok(Argument::Linear { base, strides }),
            None => Err(error("a stride is not a number")),
        };
    }
    parse_datum(text, scalar, memory).map(Argument::Uniform)
}

/// The arguments of a function.
pub fn parse_arguments<S: AsRef<str>>(
    func: &str,
    signature: &Signature,
    texts: &[S],
    memory: &Memory,
) -> Result<Vec<Argument>, SpecError> {
    if texts.len() != signature.params.len() {
        let expected = signature.params.len();
        return Err(SpecError::Count { func: func.into(), expected, found: texts.len() });
    }
    let pairs = texts.iter().zip(&signature.params);
    pairs.map(|(text, param)| parse_argument(text.as_ref().trim(), param.ty, memory)).collect()
}

/// Adds an object to the memory, which must not take more bytes than the limit.
pub fn parse_object(text: &str, memory: &mut Memory, limit: u64) -> Result<ObjectSpec, SpecError> {
    let error = |reason: String| SpecError::Object { text: text.into(), reason };
    let (name, rest) = text.split_once(':').ok_or_else(|| error("no name before a colon".into()))?;
    let (name, mut rest) = (name.trim(), rest.trim());
    if name.is_empty() || memory.object(name).is_some() {
        return Err(error("no name, or a name that exists already".into()));
    }
    let mut space = Space::Global;
    for known in [Space::Global, Space::Local, Space::Constant] {
        if let Some(tail) = rest.strip_prefix(known.name()) {
            (space, rest) = (known, tail.trim());
        }
    }
    let (word, values) = rest.split_once(char::is_whitespace).ok_or_else(|| error("no values".into()))?;
    let element = parse_scalar_type(word).ok_or_else(|| error(format!("unknown type `{word}`")))?;
    let values = values.trim();
    let count = |word: &str| values.strip_prefix(word)?.trim().parse::<u64>().ok();
    let (count, filled_with, data) = if let Some(list) = inside(values, "[", ']') {
        let items = split_list(list, ',').into_iter();
        let data: Vec<Datum> =
            items.map(|item| parse_datum(item, element, memory)).collect::<Result<_, _>>()?;
        (data.len() as u64, Datum::Bits(0), data)
    } else if let Some(count) = count("zero") {
        (count, Datum::Bits(0), Vec::new())
    } else if let Some(count) = count("poison") {
        (count, Datum::Poison, Vec::new())
    } else if let Some((_, count)) = made(values) {
        (count, Datum::Bits(0), Vec::new())
    } else {
        let words = "`zero N`, `poison N`, `random N`, `below K N` or `step K N`";
        return Err(error(format!("the values are neither a list nor one of {words}")));
    };
    let size = element.bytes() as usize;
    let bytes = count.saturating_mul(size as u64);
    if memory.cost().saturating_add(MemoryObject::cost(bytes)) > limit {
        let option = LimitKind::Memory.option();
        return Err(error(format!(
            "all objects together take more than {limit} bytes; `--{option}` raises it"
        )));
    }
    // Allocate only after the size check.
    let data = match made(values) {
        Some((numbers, count)) => {
            let seed = name.bytes().fold(0u64, |seed, byte| mixed(seed ^ u64::from(byte)));
            (0..count).map(|index| numbers.at(seed, index, element)).collect()
        }
        None => data,
    };
    memory.add(space, Some(name), 64, vec![0; bytes as usize]);
    if let Some(object) = memory.object_mut(name) {
        object.poison.fill(filled_with == Datum::Poison);
        for (index, datum) in data.iter().enumerate() {
            object.write(index * size, size, datum.bits());
        }
    }
    Ok(ObjectSpec { name: name.into(), space, element })
}

/// Rule that generates numbers.
#[derive(Clone, Copy)]
enum NumberRule {
    Random,
    Below(u64),
    Step(u64),
}

/// `random N`, `below K N`, `step K N`: the rule, and how many numbers.
fn made(values: &str) -> Option<(NumberRule, u64)> {
    let words: Vec<&str> = values.split_whitespace().collect();
    Some(match words[..] {
        ["random", count] => (NumberRule::Random, count.parse().ok()?),
        ["below", below, count] => {
            (NumberRule::Below(below.parse().ok().filter(|&below| below > 0)?), count.parse().ok()?)
        }
        ["step", step, count] => (NumberRule::Step(step.parse().ok()?), count.parse().ok()?),
        _ => return None,
    })
}

/// A number that looks like any.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl NumberRule {
    fn at(self, seed: u64, index: u64, scalar: Scalar) -> Datum {
        let any = mixed(seed.wrapping_add(mixed(index)));
        let whole = match self {
            NumberRule::Random => any,
            NumberRule::Below(below) => any % below,
            NumberRule::Step(step) => index.wrapping_mul(step),
        };
        let is_random = matches!(self, NumberRule::Random);
        // 23 bits are exact in a single.
        let float = if is_random { (any >> 40) as f64 / f64::from(1 << 23) - 1.0 } else { whole as f64 };
        let bits = match scalar {
            Scalar::F32 => u128::from((float as f32).to_bits()),
            Scalar::F64 => u128::from(float.to_bits()),
            Scalar::BF16 => u128::from((float as f32).to_bits() >> 16),
            Scalar::F16 => read_scalar(&format!("{float:?}"), scalar).unwrap_or_default(),
            _ => u128::from(whole) & scalar.bit_mask(),
        };
        Datum::Bits(bits)
    }
}

/// The values of an object, as its description has them.
pub fn object_values(spec: &ObjectSpec, memory: &Memory) -> Vec<Datum> {
    let size = spec.element.bytes() as usize;
    let object = memory.object(&spec.name);
    let count = object.map_or(0, |object| object.bytes.len() / size);
    (0..count).filter_map(|index| object.map(|object| object.read(index * size, size).into())).collect()
}

/// A value as text.
pub fn show_datum(datum: Datum, scalar: Scalar) -> String {
    match datum {
        Datum::Poison => "poison".into(),
        Datum::Bits(bits) => {
            let mut text = String::new();
            write_scalar(&mut text, scalar, bits);
            text
        }
    }
}

/// Values as a list.
pub fn show_data(data: &[Datum], scalar: Scalar) -> String {
    let items: Vec<String> = data.iter().map(|&datum| show_datum(datum, scalar)).collect();
    format!("[{}]", items.join(", "))
}

/// A result lane by lane; one value where all lanes agree and there is more than one.
pub fn show_result(data: &[Datum], ty: Type, lanes: usize) -> String {
    let elements = usize::from(ty.lanes().unwrap_or(1));
    let lane_texts: Vec<String> = data
        .chunks(elements)
        .take(lanes)
        .map(|lane| match ty {
            Type::Scalar(scalar) => show_datum(lane[0], scalar),
            Type::Vector(scalar, _) => {
                let list = show_data(lane, scalar);
                format!("<{}>", &list[1..list.len() - 1])
            }
        })
        .collect();
    match lane_texts.split_first() {
        Some((first, rest)) if lanes == 1 && rest.is_empty() => first.clone(),
        _ => format!("[{}]", lane_texts.join(", ")),
    }
}
