//! Mangled names of OpenCL C's builtins, by the Itanium rules as clang applies them for `spir64`.

use crate::types::{NumberKind, SpirvImage};

/// Type of a parameter in a mangled name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum MangledType {
    /// Number or vector.
    Number(MangledNumber),
    /// Pointer to numbers in an address space.
    Pointer { space: u32, is_const: bool, pointee: MangledNumber },
    /// `event_t`.
    Event,
    /// Generic pointer to events.
    GenericEvents,
    /// Image.
    Image(SpirvImage),
    /// `sampler_t`.
    Sampler,
}

/// Number type with its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MangledNumber {
    pub(crate) kind: NumberKind,
    pub(crate) is_signed: bool,
    /// Number of elements; 1 for a scalar.
    pub(crate) count: u32,
}

impl MangledNumber {
    fn letter(self) -> &'static str {
        match (self.kind, self.is_signed) {
            (NumberKind::Bool, _) => "b",
            (NumberKind::Int(8), true) => "c",
            (NumberKind::Int(8), false) => "h",
            (NumberKind::Int(16), true) => "s",
            (NumberKind::Int(16), false) => "t",
            (NumberKind::Int(32), true) => "i",
            (NumberKind::Int(32), false) => "j",
            (NumberKind::Int(_), true) => "l",
            (NumberKind::Int(_), false) => "m",
            (NumberKind::Float(16), _) => "Dh",
            (NumberKind::Float(32), _) => "f",
            (NumberKind::Float(_), _) => "d",
            (NumberKind::BFloat, _) => "DF16b",
        }
    }
}

/// Components that later ones refer to, by their full text.
#[derive(Default)]
struct Substitutions {
    known: Vec<String>,
}

impl Substitutions {
    /// Writes a component as a reference if it is known; otherwise by `write`, and remembers it.
    fn component(&mut self, out: &mut String, full: String, write: impl FnOnce(&mut Self, &mut String)) {
        if let Some(index) = self.known.iter().position(|known| *known == full) {
            match index {
                0 => out.push_str("S_"),
                1..=10 => out.push_str(&format!("S{}_", index - 1)),
                _ => out
                    .push_str(&format!("S{}_", char::from(b'A' + (index as u8).saturating_sub(11).min(25)))),
            }
            return;
        }
        write(self, out);
        self.known.push(full);
    }

    fn number(&mut self, out: &mut String, number: MangledNumber) {
        let full = number_text(number);
        match number.count {
            1 => out.push_str(&full),
            _ => self.component(out, full.clone(), |_, out| out.push_str(&full)),
        }
    }

    /// Writes a pointer to a type with qualifiers; `write` writes the plain type, whose text is `full`.
    fn pointer(
        &mut self,
        out: &mut String,
        qualifiers: &str,
        full: &str,
        write: impl FnOnce(&mut Self, &mut String),
    ) {
        let qualified = format!("{qualifiers}{full}");
        self.component(out, format!("P{qualified}"), |this, out| {
            out.push('P');
            match qualifiers {
                "" => write(this, out),
                _ => this.component(out, qualified, |this, out| {
                    out.push_str(qualifiers);
                    write(this, out);
                }),
            }
        });
    }
}

fn number_text(number: MangledNumber) -> String {
    match number.count {
        1 => number.letter().into(),
        count => format!("Dv{count}_{}", number.letter()),
    }
}

/// Returns the mangled name of a function.
pub(crate) fn mangle(name: &str, params: &[MangledType]) -> String {
    const EVENT: &str = "9ocl_event";
    const SAMPLER: &str = "11ocl_sampler";
    let mut out = format!("_Z{}{name}", name.len());
    let mut known = Substitutions::default();
    for param in params {
        match *param {
            MangledType::Number(number) => known.number(&mut out, number),
            MangledType::Pointer { space, is_const, pointee } => {
                let space = if space == 0 { String::new() } else { format!("U3AS{space}") };
                let qualifiers = format!("{space}{}", if is_const { "K" } else { "" });
                known.pointer(&mut out, &qualifiers, &number_text(pointee), |known, out| {
                    known.number(out, pointee);
                });
            }
            MangledType::Image(image) => {
                let name = format!("ocl_{}_{}", image.name, image.access);
                let text = format!("{}{name}", name.len());
                known.component(&mut out, text.clone(), |_, out| out.push_str(&text));
            }
            MangledType::Sampler => {
                known.component(&mut out, SAMPLER.into(), |_, out| out.push_str(SAMPLER));
            }
            MangledType::Event => known.component(&mut out, EVENT.into(), |_, out| out.push_str(EVENT)),
            MangledType::GenericEvents => known.pointer(&mut out, "U3AS4", EVENT, |known, out| {
                known.component(out, EVENT.into(), |_, out| out.push_str(EVENT));
            }),
        }
    }
    if params.is_empty() {
        out.push('v');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(kind: NumberKind, is_signed: bool, count: u32) -> MangledNumber {
        MangledNumber { kind, is_signed, count }
    }

    #[test]
    fn names_are_those_of_clang() {
        let float4 = number(NumberKind::Float(32), true, 4);
        let (float, int) = (number(NumberKind::Float(32), true, 1), number(NumberKind::Int(32), true, 1));
        let long = number(NumberKind::Int(64), false, 1);
        let plain = MangledType::Number;
        let pointer = |space, is_const, pointee| MangledType::Pointer { space, is_const, pointee };
        assert_eq!(mangle("fma", &[plain(float4), plain(float4), plain(float4)]), "_Z3fmaDv4_fS_S_");
        assert_eq!(mangle("fract", &[plain(float4), pointer(1, false, float4)]), "_Z5fractDv4_fPU3AS1S_");
        assert_eq!(mangle("vload4", &[plain(long), pointer(1, true, float)]), "_Z6vload4mPU3AS1Kf");
        assert_eq!(mangle("frexp", &[plain(float), pointer(0, false, int)]), "_Z5frexpfPi");
        assert_eq!(mangle("get_work_dim", &[]), "_Z12get_work_dimv");
        let copy = [pointer(3, false, float4), pointer(1, true, float4), plain(long), MangledType::Event];
        assert_eq!(
            mangle("async_work_group_copy", &copy),
            "_Z21async_work_group_copyPU3AS3Dv4_fPU3AS1KS_m9ocl_event"
        );
        let name = "image3d";
        let image =
            SpirvImage { name, access: "wo", dims: 3, components: 3, is_array: false, is_depth: false };
        let int4 = number(NumberKind::Int(32), true, 4);
        let write = [MangledType::Image(image), plain(int4), plain(int4)];
        assert_eq!(mangle("write_imagei", &write), "_Z12write_imagei14ocl_image3d_woDv4_iS0_");
        let wait = [plain(int), MangledType::GenericEvents];
        assert_eq!(mangle("wait_group_events", &wait), "_Z17wait_group_eventsiPU3AS49ocl_event");
    }
}
