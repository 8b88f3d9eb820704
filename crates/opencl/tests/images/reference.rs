//! Images by the formulas of the specification, one texel at a time, in double precision where it asks for no other.
//! Shares nothing with the driver: formats are numbers of the C interface.

/// Kinds of results of the read functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Float,
    Int,
    Uint,
}

const R: u32 = 0x10b0;
const A: u32 = 0x10b1;
const RG: u32 = 0x10b2;
const RA: u32 = 0x10b3;
const RGB: u32 = 0x10b4;
const RGBA: u32 = 0x10b5;
const BGRA: u32 = 0x10b6;
const ARGB: u32 = 0x10b7;
const INTENSITY: u32 = 0x10b8;
const LUMINANCE: u32 = 0x10b9;
const RX: u32 = 0x10ba;
const RGX: u32 = 0x10bb;
const RGBX: u32 = 0x10bc;
pub(crate) const DEPTH: u32 = 0x10bd;
const SRGBA: u32 = 0x10c1;
const SBGRA: u32 = 0x10c2;
const ABGR: u32 = 0x10c3;

/// Width of a channel and its encoding.
fn encoding(data_type: u32) -> (u32, char) {
    match data_type {
        0x10d0 => (8, 's'),
        0x10d1 => (16, 's'),
        0x10d2 => (8, 'u'),
        0x10d3 => (16, 'u'),
        0x10d7 => (8, 'i'),
        0x10d8 => (16, 'i'),
        0x10d9 => (32, 'i'),
        0x10da => (8, 'n'),
        0x10db => (16, 'n'),
        0x10dc => (32, 'n'),
        0x10dd => (16, 'h'),
        0x10de => (32, 'f'),
        _ => (0, 'p'),
    }
}

/// Positions of packed channels, red first: lowest bit and width. Empty if the type is not packed.
fn packed(data_type: u32) -> (&'static [(u32, u32)], u32) {
    match data_type {
        0x10d4 => (&[(11, 5), (5, 6), (0, 5)], 2),
        0x10d5 => (&[(10, 5), (5, 5), (0, 5)], 2),
        0x10d6 => (&[(20, 10), (10, 10), (0, 10)], 4),
        0x10e0 => (&[(22, 10), (12, 10), (2, 10), (0, 2)], 4),
        _ => (&[], 0),
    }
}

/// Components of a color in the order of memory: 0 to 3 for red to alpha.
fn components(order: u32) -> &'static [usize] {
    match order {
        R | RX | INTENSITY | LUMINANCE | DEPTH => &[0],
        A => &[3],
        RG | RGX => &[0, 1],
        RA => &[0, 3],
        RGB | RGBX => &[0, 1, 2],
        RGBA | SRGBA => &[0, 1, 2, 3],
        BGRA | SBGRA => &[2, 1, 0, 3],
        ARGB => &[3, 0, 1, 2],
        ABGR => &[3, 2, 1, 0],
        _ => unreachable!("{order:x}"),
    }
}

/// A format by its numbers in the C interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format(pub(crate) [u32; 2]);

impl Format {
    pub(crate) fn kind(self) -> Kind {
        match encoding(self.0[1]).1 {
            'i' => Kind::Int,
            'n' => Kind::Uint,
            _ => Kind::Float,
        }
    }

    pub(crate) fn bytes(self) -> usize {
        let (width, _) = encoding(self.0[1]);
        match packed(self.0[1]).1 {
            0 => width as usize / 8 * components(self.0[0]).len(),
            bytes => bytes as usize,
        }
    }

    pub(crate) fn is_srgb(self) -> bool {
        matches!(self.0[0], SRGBA | SBGRA)
    }

    /// True if texels are exact: no scaling.
    pub(crate) fn is_exact(self) -> bool {
        !matches!(encoding(self.0[1]).1, 's' | 'u' | 'p')
    }

    /// The number that the bits of a component stand for.
    fn channel(self, bits: u32, component: usize) -> f64 {
        let (width, letter) = encoding(self.0[1]);
        let signed = ((bits << (32 - width)) as i32 >> (32 - width)) as f64;
        let scale = (1u64 << (width - 1)) as f64;
        match letter {
            'u' if self.is_srgb() && component < 3 => {
                let curved = f64::from(bits) / 255.0;
                if curved <= 0.04045 { curved / 12.92 } else { ((curved + 0.055) / 1.055).powf(2.4) }
            }
            'u' => f64::from(bits) / (2.0 * scale - 1.0),
            's' => (signed / (scale - 1.0)).max(-1.0),
            'i' => signed,
            'n' => f64::from(bits),
            'h' => half(bits as u16),
            'f' => f32::from_bits(bits).into(),
            _ => unreachable!(),
        }
    }

    /// The color of a texel.
    pub(crate) fn decode(self, texel: &[u8]) -> [f64; 4] {
        let word = |at: usize, bytes: usize| {
            texel[at..at + bytes].iter().rev().fold(0u32, |word, &byte| word << 8 | u32::from(byte))
        };
        let mut color = [0.0, 0.0, 0.0, 1.0];
        let (places, bytes) = packed(self.0[1]);
        if bytes != 0 {
            let bits = word(0, bytes as usize);
            for (index, (low, width)) in places.iter().enumerate() {
                color[index] = f64::from(bits >> low & ((1 << width) - 1)) / f64::from((1 << width) - 1);
            }
            return color;
        }
        let bytes = encoding(self.0[1]).0 as usize / 8;
        if self.0[0] == A {
            color = [0.0; 4];
        }
        for (index, &component) in components(self.0[0]).iter().enumerate() {
            color[component] = self.channel(word(index * bytes, bytes), component);
        }
        match self.0[0] {
            INTENSITY => [color[0]; 4],
            LUMINANCE => [color[0], color[0], color[0], 1.0],
            _ => color,
        }
    }

    pub(crate) fn border(self) -> [f64; 4] {
        let is_opaque = matches!(self.0[0], R | RG | RGB | LUMINANCE | DEPTH);
        [0.0, 0.0, 0.0, if is_opaque { 1.0 } else { 0.0 }]
    }

    /// Checks a stored texel against the color that was written.
    pub(crate) fn check_written(self, texel: &[u8], color: [f64; 4]) -> Result<(), String> {
        let (width, letter) = encoding(self.0[1]);
        let (places, _) = packed(self.0[1]);
        let raw = |low: u32, width: u32| {
            let bits = texel.iter().rev().fold(0u128, |word, &byte| word << 8 | u128::from(byte));
            (bits >> low & ((1u128 << width) - 1)) as u32
        };
        let near = |stored: f64, value: f64, maximum: f64, least: f64| {
            let exact = (value * maximum).max(least).min(maximum);
            // The product is rounded before it is: by up to 2^-9 for 16 bits.
            (stored - exact).abs() <= 0.502
        };
        let all: Vec<(usize, u32, u32)> = match places.is_empty() {
            false => places.iter().enumerate().map(|(index, &(low, width))| (index, low, width)).collect(),
            true => {
                let order = components(self.0[0]).iter().enumerate();
                order.map(|(index, &component)| (component, index as u32 * width, width)).collect()
            }
        };
        for (component, low, width) in all {
            let (bits, value) = (raw(low, width), color[component]);
            let signed = f64::from((bits << (32 - width)) as i32 >> (32 - width));
            let scale = (1u64 << (width - 1)) as f64;
            let fits = match letter {
                'u' | 'p' => near(bits.into(), value, 2.0 * scale - 1.0, 0.0),
                's' => near(signed, value, scale - 1.0, -scale),
                'i' => signed == value.clamp(-scale, scale - 1.0),
                'n' => f64::from(bits) == value.clamp(0.0, 2.0 * scale - 1.0),
                'f' => f64::from(f32::from_bits(bits)) == value,
                _ => {
                    let stored = half(bits as u16);
                    let spacing = if value.abs() < 2f64.powi(-14) {
                        2f64.powi(-24)
                    } else {
                        value.abs() * 2f64.powi(-10)
                    };
                    (stored - value).abs() <= spacing * 0.5001
                }
            };
            if !fits {
                return Err(format!("component {component}: {bits:#x} for {value}"));
            }
        }
        Ok(())
    }
}

fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Modes of a sampler, as numbers of the C interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) normalized: bool,
    pub(crate) addressing: u32,
    pub(crate) linear: bool,
}

pub(crate) const CLAMP_TO_EDGE: u32 = 0x1131;
pub(crate) const CLAMP: u32 = 0x1132;
pub(crate) const REPEAT: u32 = 0x1133;
pub(crate) const MIRRORED_REPEAT: u32 = 0x1134;

impl Modes {
    fn address(self, index: i64, size: i64) -> i64 {
        match self.addressing {
            CLAMP => index.clamp(-1, size),
            _ => index.clamp(0, size - 1),
        }
    }

    /// The texels along one dimension and their weights.
    fn along(self, s: f32, size: usize) -> Vec<(i64, f64)> {
        let (w, size) = (size as f32, size as i64);
        let u = match self.addressing {
            REPEAT => (s - s.floor()) * w,
            MIRRORED_REPEAT => (s - 2.0 * (0.5 * s).round_ties_even()).abs() * w,
            _ if self.normalized => s * w,
            _ => s,
        };
        if !self.linear {
            let index = u.floor() as i64;
            let index = match self.addressing {
                REPEAT if index > size - 1 => index - size,
                REPEAT => index,
                _ => self.address(index, size),
            };
            return vec![(index, 1.0)];
        }
        let low = f64::from(u - 0.5).floor();
        let weight = f64::from(u) - 0.5 - low;
        let place = |index: i64| match self.addressing {
            REPEAT => index.rem_euclid(size),
            _ => self.address(index, size),
        };
        vec![(place(low as i64), 1.0 - weight), (place(low as i64 + 1), weight)]
    }
}

/// An image of up to three dimensions, or an array of layers.
pub(crate) struct Picture<'a> {
    pub(crate) format: Format,
    pub(crate) size: [usize; 3],
    pub(crate) layers: usize,
    pub(crate) texels: &'a [u8],
}

impl Picture<'_> {
    fn at(&self, index: [i64; 3], layer: usize) -> [f64; 4] {
        if (0..3).any(|way| index[way] < 0 || index[way] >= self.size[way] as i64) {
            return self.format.border();
        }
        let [x, y, z] = index.map(|index| index as usize);
        let slice = z + layer;
        let place = ((slice * self.size[1] + y) * self.size[0] + x) * self.format.bytes();
        self.format.decode(&self.texels[place..place + self.format.bytes()])
    }

    /// The layer that a coordinate selects.
    pub(crate) fn layer(&self, coordinate: f32) -> usize {
        coordinate.round_ties_even().clamp(0.0, (self.layers - 1) as f32) as usize
    }

    /// The color at coordinates in `dims` dimensions, and the size of the largest texel that it is made of.
    pub(crate) fn sample(&self, modes: Modes, at: [f32; 3], dims: usize, layer: usize) -> ([f64; 4], f64) {
        let lists: Vec<Vec<(i64, f64)>> = (0..3)
            .map(|way| if way < dims { modes.along(at[way], self.size[way]) } else { vec![(0, 1.0)] })
            .collect();
        let (mut sum, mut largest) = ([0.0; 4], 0f64);
        for &(x, a) in &lists[0] {
            for &(y, b) in &lists[1] {
                for &(z, c) in &lists[2] {
                    let color = self.at([x, y, z], layer);
                    for way in 0..4 {
                        sum[way] += color[way] * a * b * c;
                        largest = largest.max(color[way].abs());
                    }
                }
            }
        }
        (sum, largest)
    }
}
