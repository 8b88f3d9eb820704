//! OpenCL C's `printf`.
//!
//! Each call makes its whole text before it adds it to what is to be written, so texts of several threads do not mix.
//! That is written to the C library's standard output, after what the application itself has put there, when a launch
//! ends or when it has become much. Numbers are written by the C library, one conversion at a time, as what they are: a
//! conversion that does not fit its argument gives odd text, and no more.

use crate::faults::outside_kernel;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Printed text that is not written yet.
static TEXT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
/// More than this is written before a launch ends.
const MOST: usize = 1 << 20;

// SAFETY: as the C library defines it.
unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

fn text() -> MutexGuard<'static, Vec<u8>> {
    TEXT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(text: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
    // SAFETY: the C library's own stream, and the stated number of bytes.
    unsafe {
        libc::fwrite(text.as_ptr().cast::<c_void>(), 1, text.len(), stdout);
        libc::fflush(stdout);
    }
    text.clear();
}

/// Writes what was printed.
pub(crate) fn flush() {
    write(&mut text());
}

/// The address of what compiled code calls.
pub(crate) fn address() -> usize {
    let function: unsafe extern "C" fn(*const c_char, *const c_char, *const u64) -> c_int = print;
    function as usize
}

/// Prints one call's text; 0 if it could.
///
/// # Safety
/// Format and types end in zero bytes, and there are as many words as the types say; words that are pointers and that the
/// format takes for text lead to bytes that end in a zero.
unsafe extern "C" fn print(format: *const c_char, types: *const c_char, words: *const u64) -> c_int {
    // SAFETY: the caller says so.
    outside_kernel(|| unsafe { add_text(format, types, words) })
}

/// Adds one call's text; 0 if it could.
///
/// # Safety
/// As for [`print`].
unsafe fn add_text(format: *const c_char, types: *const c_char, words: *const u64) -> c_int {
    if format.is_null() || types.is_null() {
        return -1;
    }
    // SAFETY: the caller says so.
    let (format, types) = unsafe { (CStr::from_ptr(format), CStr::from_ptr(types)) };
    let Some(types) = types.to_str().ok().and_then(PrintTypes::parse) else { return -1 };
    // SAFETY: the caller says so; there is at least one word.
    let words = unsafe { std::slice::from_raw_parts(words, types.words()) };
    let made = render(format.to_bytes(), &types.values(words), |pointer| {
        // SAFETY: the caller says so.
        let text = unsafe { CStr::from_ptr(pointer as usize as *const c_char) };
        text.to_bytes().to_vec()
    });
    let mut text = text();
    text.extend(made);
    if text.len() >= MOST {
        write(&mut text);
    }
    0
}

/// A number that is printed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum PrintScalar {
    /// An integer of so many bits.
    Integer(u64, u32),
    Float(f64),
    Pointer(u64),
}

/// Argument of a conversion: one number, or those of a vector.
type PrintValue = Vec<PrintScalar>;

/// The types of a call's arguments after its format.
struct PrintTypes(Vec<(usize, String)>);

impl PrintTypes {
    /// As the importer writes them: `.i32.4xf32`.
    fn parse(text: &str) -> Option<PrintTypes> {
        let one = |word: &str| match word.split_once('x') {
            Some((count, ty)) => Some((count.parse().ok()?, ty.to_string())),
            None => Some((1, word.to_string())),
        };
        text.split('.').skip(1).map(one).collect::<Option<Vec<_>>>().map(PrintTypes)
    }

    fn words(&self) -> usize {
        self.0.iter().map(|(count, _)| count).sum()
    }

    fn values(&self, mut words: &[u64]) -> Vec<PrintValue> {
        let number = |ty: &str, word: u64| match ty {
            "f64" => PrintScalar::Float(f64::from_bits(word)),
            "f32" => PrintScalar::Float(f32::from_bits(word as u32).into()),
            "f16" => PrintScalar::Float(half(word as u16)),
            _ => match ty.strip_prefix('i').and_then(|bits| bits.parse().ok()) {
                Some(bits @ 1..=63) => PrintScalar::Integer(word & ((1 << bits) - 1), bits),
                Some(bits) => PrintScalar::Integer(word, bits),
                None => PrintScalar::Pointer(word),
            },
        };
        let mut values = Vec::new();
        for (count, ty) in &self.0 {
            let (mine, rest) = words.split_at((*count).min(words.len()));
            values.push(mine.iter().map(|&word| number(ty, word)).collect());
            words = rest;
        }
        values
    }
}

fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// A conversion of a format: `%-08.3v4hlf`.
struct Conversion<'a> {
    flags: &'a [u8],
    /// Width and precision, with its dot.
    sizes: &'a [u8],
    /// The elements of a vector.
    elements: Option<usize>,
    length: &'a [u8],
    letter: u8,
}

impl<'a> Conversion<'a> {
    /// Reads one, after its `%`, and says how long it is. None if it is none.
    fn parse(text: &'a [u8]) -> Option<(Conversion<'a>, usize)> {
        let mut at = 0;
        let mut take = |is_one: &dyn Fn(u8) -> bool| {
            let start = at;
            while text.get(at).is_some_and(|&byte| is_one(byte)) {
                at += 1;
            }
            &text[start..at]
        };
        let flags = take(&|byte| b"-+ #0".contains(&byte));
        let sizes = take(&|byte| byte.is_ascii_digit() || byte == b'.');
        let vector = take(&|byte| byte == b'v');
        let elements = if vector.is_empty() { &b""[..] } else { take(&|byte| byte.is_ascii_digit()) };
        let length = take(&|byte| b"hlzt".contains(&byte));
        let &letter = text.get(at)?;
        let elements = match vector {
            b"" => None,
            _ => Some(
                std::str::from_utf8(elements)
                    .ok()?
                    .parse()
                    .ok()
                    .filter(|count| [2, 3, 4, 8, 16].contains(count))?,
            ),
        };
        // No number needs more places; so large ones are mistakes.
        let is_small = |size: &[u8]| size.len() <= 4;
        let sized = sizes.split(|&byte| byte == b'.').all(is_small)
            && sizes.iter().filter(|&&it| it == b'.').count() <= 1;
        let known = b"diouxXfFeEgGaAcsp%".contains(&letter) && sized && length.len() <= 2;
        known.then_some((Conversion { flags, sizes, elements, length, letter }, at + 1))
    }

    /// Returns the conversion of one number for the C library.
    fn spec(&self, length: &str) -> CString {
        let mut spec = vec![b'%'];
        spec.extend_from_slice(self.flags);
        spec.extend_from_slice(self.sizes);
        spec.extend_from_slice(length.as_bytes());
        spec.push(self.letter);
        // There is no zero byte in what was read.
        CString::new(spec).unwrap_or_default()
    }

    fn one(&self, number: PrintScalar, text_at: &impl Fn(u64) -> Vec<u8>, out: &mut Vec<u8>) {
        let as_float = match number {
            PrintScalar::Float(value) => value,
            PrintScalar::Integer(bits, size) => extended(bits, size) as f64,
            PrintScalar::Pointer(address) => address as f64,
        };
        let as_word = match number {
            PrintScalar::Float(value) => value as i64 as u64,
            PrintScalar::Integer(bits, _) | PrintScalar::Pointer(bits) => bits,
        };
        let size = match (number, self.length) {
            (PrintScalar::Float(_), _) => 64,
            (_, b"hh") => 8,
            (_, b"h") => 16,
            (PrintScalar::Integer(_, size), _) => size,
            (PrintScalar::Pointer(_), _) => 64,
        };
        match self.letter {
            b'd' | b'i' => self.c_text(&self.spec("ll"), Given::Word(extended(as_word, size) as u64), out),
            b'o' | b'u' | b'x' | b'X' => {
                let word = if size < 64 { as_word & ((1 << size) - 1) } else { as_word };
                self.c_text(&self.spec("ll"), Given::Word(word), out);
            }
            b'c' => self.c_text(&self.spec(""), Given::Letter(as_word as u8), out),
            b'p' => self.c_text(&self.spec(""), Given::Word(as_word), out),
            b's' => match number {
                PrintScalar::Pointer(0) => out.extend_from_slice(b"(null)"),
                PrintScalar::Pointer(address) => {
                    let text = CString::new(text_at(address)).unwrap_or_default();
                    self.c_text(&self.spec(""), Given::Text(&text), out);
                }
                _ => out.extend_from_slice(b"(no text)"),
            },
            _ => self.c_text(&self.spec(""), Given::Float(as_float), out),
        }
    }

    fn c_text(&self, spec: &CStr, given: Given<'_>, out: &mut Vec<u8>) {
        let mut buffer = vec![0u8; 128];
        loop {
            let (start, size, spec) = (buffer.as_mut_ptr().cast::<c_char>(), buffer.len(), spec.as_ptr());
            // SAFETY: the buffer has as many bytes, and the conversion is one of what is given.
            let length = unsafe {
                match given {
                    Given::Word(word) => libc::snprintf(start, size, spec, word),
                    Given::Letter(letter) => libc::snprintf(start, size, spec, c_int::from(letter)),
                    Given::Float(value) => libc::snprintf(start, size, spec, value),
                    Given::Text(text) => libc::snprintf(start, size, spec, text.as_ptr()),
                }
            };
            match usize::try_from(length) {
                Ok(length) if length >= size => buffer.resize(length + 1, 0),
                Ok(length) => return out.extend_from_slice(&buffer[..length]),
                Err(_) => return,
            }
        }
    }
}

/// Number that the C library converts.
#[derive(Clone, Copy)]
enum Given<'a> {
    Word(u64),
    Letter(u8),
    Float(f64),
    Text(&'a CStr),
}

/// An integer with its sign.
fn extended(bits: u64, size: u32) -> i64 {
    let unused = 64 - size.clamp(1, 64);
    (bits << unused) as i64 >> unused
}

/// The text of a call.
fn render(format: &[u8], values: &[PrintValue], text_at: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut values = values.iter();
    let mut rest = format;
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((conversion, length)) = Conversion::parse(rest) else {
            out.push(b'%');
            continue;
        };
        if conversion.letter == b'%' {
            out.push(b'%');
        } else if let Some(value) = values.next() {
            // A vector of three may come as one of four.
            let elements = conversion.elements.unwrap_or(1).min(value.len());
            for (index, &number) in value[..elements].iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                conversion.one(number, &text_at, &mut out);
            }
        } else {
            out.push(b'%');
            out.extend_from_slice(&rest[..length]);
        }
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(format: &str, types: &str, words: &[u64]) -> String {
        let types = PrintTypes::parse(types).expect("they are types");
        let made = render(format.as_bytes(), &types.values(words), |_| b"text".to_vec());
        String::from_utf8(made).expect("it is text")
    }

    #[test]
    fn conversions_are_those_of_the_c_library() {
        assert_eq!(
            rendered("100%% of %d|%5u|%-4x|", ".i32.i32.i32", &[-3i32 as u32 as u64, 7, 255]),
            "100% of -3|    7|ff  |"
        );
        assert_eq!(rendered("%ld %lu", ".i64.i64", &[-1i64 as u64, u64::MAX]), "-1 18446744073709551615");
        assert_eq!(
            rendered("%zu %td %zx", ".i64.i64.i64", &[u64::MAX, -5i64 as u64, 255]),
            "18446744073709551615 -5 ff"
        );
        assert_eq!(rendered("%hhd %hu", ".i32.i32", &[0x180, 0x1_ffff]), "-128 65535");
        assert_eq!(
            rendered(
                "%+.2f %e %g",
                ".f64.f64.f32",
                &[1.5f64.to_bits(), 1e10f64.to_bits(), u64::from(0.5f32.to_bits())]
            ),
            "+1.50 1.000000e+10 0.5"
        );
        assert_eq!(rendered("%c%s%10s|", ".i32.constant.constant", &[65, 1, 1]), "Atext      text|");
        assert_eq!(rendered("%s %p", ".constant.global", &[0, 16]), "(null) 0x10");
    }

    #[test]
    fn vectors_have_commas_between() {
        let two = |value: f32| u64::from(value.to_bits());
        assert_eq!(
            rendered("%v4hlf", ".4xf32", &[two(1.0), two(2.0), two(3.0), two(-4.5)]),
            "1.000000,2.000000,3.000000,-4.500000"
        );
        assert_eq!(rendered("%2.1v3hlf", ".4xf32", &[two(1.0), two(2.0), two(3.0), 0]), "1.0,2.0,3.0");
        assert_eq!(rendered("%v2hhd|%#v2hx", ".2xi8.2xi16", &[0xff, 1, 0xffff, 16]), "-1,1|0xffff,0x10");
        assert_eq!(rendered("%v2hf", ".2xf16", &[0x3c00, 0xc500]), "1.000000,-5.000000");
    }

    #[test]
    fn what_does_not_fit_is_text_all_the_same() {
        assert_eq!(rendered("%d %f", ".f64.i32", &[2.5f64.to_bits(), 7]), "2 7.000000");
        assert_eq!(rendered("%d %d %s", ".i32", &[1]), "1 %d %s");
        assert_eq!(rendered("%s", ".i32", &[1]), "(no text)");
        assert_eq!(rendered("%q %99999d %v5d %", ".i32", &[1]), "%q %99999d %v5d %");
    }
}
