//! Reads, writes and fills of images in kernels, each format with each type of image, filter and addressing mode, against
//! the specification's formulas.
// covers: cl_khr_3d_image_writes cl_khr_depth_images

mod host;
mod reference;

use heddle_opencl::core::image_format::ImageFormat;
use host::{Description, Handle, Host};
use reference::*;
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

/// Type of an image.
struct Type {
    name: &'static str,
    object_type: u32,
    /// Dimensions of a layer.
    dims: usize,
    is_array: bool,
    /// Component expressions of coordinates.
    coordinates: &'static str,
}

const TYPES: [Type; 5] = [
    Type { name: "image1d_t", object_type: 0x10f4, dims: 1, is_array: false, coordinates: "x" },
    Type { name: "image2d_t", object_type: 0x10f1, dims: 2, is_array: false, coordinates: "xy" },
    Type { name: "image3d_t", object_type: 0x10f2, dims: 3, is_array: false, coordinates: "xyzw" },
    Type { name: "image1d_array_t", object_type: 0x10f5, dims: 1, is_array: true, coordinates: "xy" },
    Type { name: "image2d_array_t", object_type: 0x10f3, dims: 2, is_array: true, coordinates: "xyzw" },
];

const KINDS: [Kind; 3] = [Kind::Float, Kind::Int, Kind::Uint];
/// Rows are longer than brushes and no multiple of them: some lanes are in one row, some in two.
const SIZE: [usize; 3] = [75, 7, 5];
const LAYERS: usize = 4;
const POINTS: usize = 203;

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}

impl Type {
    fn size(&self) -> [usize; 3] {
        std::array::from_fn(|way| if way < self.dims { SIZE[way] } else { 1 })
    }

    fn layers(&self) -> usize {
        if self.is_array { LAYERS } else { 1 }
    }

    /// Texels along the dimensions of regions.
    fn region(&self) -> [usize; 3] {
        let mut region = self.size();
        if self.is_array {
            region[self.dims] = LAYERS;
        }
        region
    }

    fn description(&self) -> Description {
        Description {
            object_type: self.object_type,
            size: self.size(),
            layers: self.layers(),
            row_pitch: 0,
            slice_pitch: 0,
            levels: 0,
            samples: 0,
            source: null_mut(),
        }
    }
}

/// Random texels; floats are finite and of moderate size.
fn texels(random: &mut Random, format: Format, count: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..count * format.bytes()).map(|_| random.next() as u8).collect();
    match format.0[1] {
        0x10dd => bytes.chunks_exact_mut(2).for_each(|half| half[1] &= 0xbf),
        0x10de => bytes.chunks_exact_mut(4).for_each(|word| {
            let value = (random.unit() - 0.5) * 8.0;
            word.copy_from_slice(&value.to_le_bytes());
        }),
        _ => {}
    }
    bytes
}

/// Coordinates inside, at edges, at centers, and outside.
fn points(random: &mut Random, ty: &Type, normalized: bool) -> Vec<[f32; 4]> {
    let point = |random: &mut Random| {
        let mut at = [0.0f32; 4];
        for way in 0..ty.dims {
            let size = SIZE[way] as f32;
            let u = match random.below(6) {
                0 => random.below(SIZE[way] + 5) as f32 - 2.0,
                1 => random.below(SIZE[way] + 5) as f32 - 1.5,
                2 => (random.unit() - 0.5) * 100.0,
                _ => random.unit() * (size + 2.0) - 1.0,
            };
            at[way] = if normalized { u / size } else { u };
        }
        if ty.is_array {
            at[ty.dims] = random.unit() * (LAYERS as f32 + 3.0) - 1.5;
        }
        at
    };
    (0..POINTS).map(|_| point(random)).collect()
}

fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "f",
        Kind::Int => "i",
        Kind::Uint => "ui",
    }
}

/// Kernels for a type of image: reads with a sampler, reads and writes at whole coordinates. Only those with a prefix.
fn source(ty: &Type, prefixes: &[&str], kinds: &[Kind]) -> CString {
    let mut text = String::from(
        "#ifdef MODES\nconst sampler_t s = MODES;\n#define S\n#else\n#define S sampler_t s,\n#endif\n",
    );
    let (name, at) = (ty.name, ty.coordinates);
    for &kind in kinds {
        let letter = letter(kind);
        let vector = match kind {
            Kind::Float => "float4",
            Kind::Int => "int4",
            Kind::Uint => "uint4",
        };
        let of_access = |access: &str, sampler: &str, place: &str| {
            format!("{access} {name} a, {sampler} global const {place} *at, global {vector} *out")
        };
        let read = |sampler: &str| format!("out[i] = read_image{letter}(a, {sampler}at[i].{at})");
        let kernels = [
            ("sample", of_access("read_only", "S", "float4"), read("s, ")),
            ("fetch", of_access("read_only", "S", "int4"), read("s, ")),
            ("plain", of_access("read_only", "", "int4"), read("")),
            ("both", of_access("read_write", "", "int4"), read("")),
            (
                "write",
                of_access("write_only", "", "int4"),
                format!("write_image{letter}(a, at[i].{at}, out[i])"),
            ),
        ];
        for (prefix, params, body) in kernels.iter().filter(|(prefix, ..)| prefixes.contains(prefix)) {
            text.push_str(&format!(
                "kernel void {prefix}_{letter}({params}) {{ size_t i = get_global_id(0); {body}; }}\n"
            ));
        }
    }
    CString::new(text).unwrap()
}

/// A host whose compiled kernels are kept in the test's folder.
fn host() -> Host {
    // SAFETY: all threads set the same value, before their first call of the driver.
    unsafe { std::env::set_var("HEDDLE_CACHE_DIR", env!("CARGO_TARGET_TMPDIR")) };
    Host::new()
}

fn formats() -> impl Iterator<Item = Format> {
    let is_depth = |format: &Format| format.0[0] == DEPTH;
    ImageFormat::all()
        .map(|(format, _)| Format([format.order, format.data_type]))
        .filter(move |format| !is_depth(format))
}

/// Modes that the specification defines.
fn all_modes() -> Vec<Modes> {
    let mut all = Vec::new();
    for linear in [false, true] {
        for normalized in [false, true] {
            let last = if normalized { MIRRORED_REPEAT } else { CLAMP };
            all.extend((CLAMP_TO_EDGE..=last).map(|addressing| Modes { normalized, addressing, linear }));
        }
    }
    all
}

fn values(host: &Host, out: &host::Memory, kind: Kind, count: usize) -> Vec<[f64; 4]> {
    match kind {
        Kind::Float => {
            host.read::<[f32; 4]>(out, count).into_iter().map(|value| value.map(f64::from)).collect()
        }
        Kind::Int => {
            host.read::<[i32; 4]>(out, count).into_iter().map(|value| value.map(f64::from)).collect()
        }
        Kind::Uint => {
            host.read::<[u32; 4]>(out, count).into_iter().map(|value| value.map(f64::from)).collect()
        }
    }
}

/// The specification allows 1.5 units in the last place for a texel.
fn is_near(got: f64, want: f64, is_exact: bool, linear_size: Option<f64>) -> bool {
    match linear_size {
        // Weights are rounded to floats, after coordinates are.
        Some(largest) => (got - want).abs() <= largest * 4e-5 + 1e-30,
        None if is_exact => got == want,
        None => (got - want).abs() <= want.abs() * 1.5 * f64::from(f32::EPSILON),
    }
}

fn compare_samples(
    host: &Host,
    program: Handle,
    ty: &Type,
    format: Format,
    modes: Modes,
    with_argument: bool,
    random: &mut Random,
) {
    let kind = format.kind();
    let contents = texels(random, format, ty.region().iter().product());
    let picture = Picture { format, size: ty.size(), layers: ty.layers(), texels: &contents };
    let image = host.image(format.0, &ty.description(), &contents);
    let points = points(random, ty, modes.normalized);
    let at = host.buffer(&points);
    let out = host.buffer(&vec![[7u32; 4]; POINTS]);
    let sampler =
        host.sampler(modes.normalized, modes.addressing, if modes.linear { 0x1141 } else { 0x1140 });
    let name = CString::new(format!("sample_{}", letter(kind))).unwrap();
    let arguments = [image.0, sampler.0, at.0, out.0];
    let arguments = if with_argument { arguments.to_vec() } else { vec![image.0, at.0, out.0] };
    host.run(program, &name, &arguments, POINTS);
    for (point, got) in points.iter().zip(values(host, &out, kind, POINTS)) {
        let layer = picture.layer(if ty.is_array { point[ty.dims] } else { 0.0 });
        let (want, largest) = picture.sample(modes, [point[0], point[1], point[2]], ty.dims, layer);
        let exact = format.is_exact() && !format.is_srgb();
        let fits = (0..4).all(|way| is_near(got[way], want[way], exact, modes.linear.then_some(largest)));
        assert!(fits, "{} {:x?} {modes:x?} at {point:?}: {got:?}, not {want:?}", ty.name, format.0);
    }
}

/// Each format with each sampler, which is an argument.
#[test]
fn samples_of_all_formats_are_those_of_the_specification() {
    let (host, mut random) = (host(), Random(0x9e37_79b9_7f4a_7c15));
    let mut count = 0;
    for ty in &TYPES {
        let program = host.build(&source(ty, &["sample"], &KINDS), c"-cl-std=CL3.0");
        for format in formats() {
            for modes in all_modes().into_iter().filter(|modes| !modes.linear || format.kind() == Kind::Float)
            {
                compare_samples(&host, program, ty, format, modes, true, &mut random);
                count += 1;
            }
        }
        host.release_program(program);
    }
    assert!(count > 5000, "{count}");
}

/// Samplers that the program states take another way through the library.
#[test]
fn samplers_of_programs_are_those_of_the_host() {
    let (host, mut random) = (host(), Random(7));
    for ty in &TYPES[1..3] {
        for modes in all_modes() {
            let bits = (modes.addressing - 0x1130) << 1
                | if modes.linear { 0x20 } else { 0x10 }
                | u32::from(modes.normalized);
            let options = CString::new(format!("-cl-std=CL3.0 -DMODES={bits}")).unwrap();
            let program = host.build(&source(ty, &["sample"], &[Kind::Float, Kind::Uint]), &options);
            for format in [[0x10b5, 0x10d2], [0x10b0, 0x10de], [0x10b6, 0x10d2], [0x10b5, 0x10dc]].map(Format)
            {
                if !modes.linear || format.kind() == Kind::Float {
                    compare_samples(&host, program, ty, format, modes, false, &mut random);
                }
            }
            host.release_program(program);
        }
    }
}

/// Reads at whole coordinates with and without a sampler, writes, and fills.
#[test]
fn texels_at_whole_coordinates_are_read_and_written() {
    let (host, mut random) = (host(), Random(99));
    let line_of_buffer =
        Type { name: "image1d_buffer_t", object_type: 0x10f6, dims: 1, is_array: false, coordinates: "x" };
    for ty in TYPES.iter().chain([&line_of_buffer]) {
        let is_of_buffer = ty.object_type == 0x10f6;
        // Images of buffers have no samplers.
        let prefixes = ["plain", "both", "write", "fetch"];
        let prefixes = if is_of_buffer { &prefixes[..3] } else { &prefixes };
        let program = host.build(&source(ty, prefixes, &KINDS), c"-cl-std=CL3.0");
        for format in formats() {
            let kind = format.kind();
            let count: usize = ty.region().iter().product();
            let contents = texels(&mut random, format, count);
            let source_buffer = host.buffer(&contents);
            let mut description = ty.description();
            let image = if is_of_buffer {
                description.source = source_buffer.0;
                host.image(format.0, &description, &[])
            } else {
                host.image(format.0, &description, &contents)
            };
            let picture = Picture { format, size: ty.size(), layers: ty.layers(), texels: &contents };
            let points: Vec<[i32; 4]> = (0..POINTS)
                .map(|index| {
                    let mut at = [0; 4];
                    for (way, place) in at.iter_mut().enumerate().take(ty.dims) {
                        *place = random.below(SIZE[way]) as i32;
                    }
                    if ty.is_array {
                        at[ty.dims] = random.below(LAYERS) as i32;
                    }
                    // The first ones are a row, then a diagonal.
                    if index < 2 * SIZE[0] {
                        at = [(index % SIZE[0]) as i32, 0, 0, 0];
                        if index >= SIZE[0] && ty.region()[1] > 1 {
                            at[1] = (index % ty.region()[1]) as i32;
                        }
                    }
                    at
                })
                .collect();
            let out = host.buffer(&vec![[7u32; 4]; POINTS]);
            let inside = Modes { normalized: false, addressing: CLAMP_TO_EDGE, linear: false };
            let at = host.buffer(&points);
            let check = |what: &str, points: &[[i32; 4]], modes: Modes| {
                for (point, got) in points.iter().zip(values(&host, &out, kind, POINTS)) {
                    let layer = picture.layer(if ty.is_array { point[ty.dims] as f32 } else { 0.0 });
                    let place = [point[0] as f32, point[1] as f32, point[2] as f32];
                    let (want, _) = picture.sample(modes, place, ty.dims, layer);
                    let exact = format.is_exact() && !format.is_srgb();
                    let fits = (0..4).all(|way| is_near(got[way], want[way], exact, None));
                    assert!(fits, "{what} {} {:x?} at {point:?}: {got:?}, not {want:?}", ty.name, format.0);
                }
            };
            let named = |what: &str| CString::new(format!("{what}_{}", letter(kind))).unwrap();
            host.run(program, &named("plain"), &[image.0, at.0, out.0], POINTS);
            check("plain", &points, inside);
            if !is_of_buffer {
                for addressing in [CLAMP, CLAMP_TO_EDGE] {
                    let outside: Vec<[i32; 4]> = points
                        .iter()
                        .map(|point| [point[0] * 2 - 30, point[1] * 3 - 4, point[2] * 3 - 4, point[3]])
                        .collect();
                    let at = host.buffer(&outside);
                    let sampler = host.sampler(false, addressing, 0x1140);
                    host.run(program, &named("fetch"), &[image.0, sampler.0, at.0, out.0], POINTS);
                    check("fetch", &outside, Modes { addressing, ..inside });
                }
            }
            if format.is_srgb() {
                continue;
            }
            host.run(program, &named("both"), &[image.0, at.0, out.0], POINTS);
            check("both", &points, inside);
            check_writes(&host, program, (ty, format, &image, &named("write")), &mut random);
        }
        host.release_program(program);
    }
}

/// Writes a color to each texel, and fills with the first one.
fn check_writes(
    host: &Host,
    program: Handle,
    (ty, format, image, kernel): (&Type, Format, &host::Memory, &CStr),
    random: &mut Random,
) {
    let kind = format.kind();
    let region = ty.region();
    let count: usize = region.iter().product();
    let mut points = Vec::new();
    for z in 0..region[2] {
        for y in 0..region[1] {
            points.extend((0..region[0]).map(|x| [x as i32, y as i32, z as i32, 0]));
        }
    }
    let colors: Vec<[u32; 4]> = (0..count)
        .map(|_| {
            std::array::from_fn(|_| match (kind, random.below(3)) {
                (Kind::Float, _) => (random.unit() * 3.0 - 1.5).to_bits(),
                (_, 0) => random.next() as u32,
                (_, 1) => (random.next() as i8) as u32,
                _ => (random.next() as i16 as i32 + 100) as u32,
            })
        })
        .collect();
    let number = |bits: u32| match kind {
        Kind::Float => f64::from(f32::from_bits(bits)),
        Kind::Int => f64::from(bits as i32),
        Kind::Uint => f64::from(bits),
    };
    let (at, from) = (host.buffer(&points), host.buffer(&colors));
    host.run(program, kernel, &[image.0, at.0, from.0], count);
    let written = host.read_image(image, region, format.bytes());
    for (texel, color) in written.chunks_exact(format.bytes()).zip(&colors) {
        let checked = format.check_written(texel, color.map(number));
        checked.unwrap_or_else(|reason| panic!("{} {:x?} {color:x?}: {reason}", ty.name, format.0));
    }
    host.fill(image, colors[0], region);
    let filled = host.read_image(image, region, format.bytes());
    for texel in filled.chunks_exact(format.bytes()) {
        assert_eq!(
            texel,
            &written[..format.bytes()],
            "{} {:x?} filled with {:x?}",
            ty.name,
            format.0,
            colors[0]
        );
    }
}

/// Depth images, and arrays of them, give and take single floats.
#[test]
fn depth_images_hold_floats() {
    depth_images_of(&TYPES[1], "image2d_depth_t");
    depth_images_of(&TYPES[4], "image2d_array_depth_t");
}

fn depth_images_of(ty: &Type, name: &str) {
    let (host, mut random) = (host(), Random(5));
    let coordinates = ty.coordinates;
    let text = format!(
        "kernel void sample(read_only {name} a, sampler_t s, global const float4 *at, global float *out) {{\
        size_t i = get_global_id(0); out[i] = read_imagef(a, s, at[i].{coordinates}); }}\
        kernel void write(write_only {name} a, global const int4 *at, global const float *from) {{\
        size_t i = get_global_id(0); write_imagef(a, at[i].{coordinates}, from[i]); }}"
    );
    let text = CString::new(text).expect("no zero byte");
    let program = host.build(&text, c"-cl-std=CL3.0");
    let count = SIZE[0] * SIZE[1] * ty.layers();
    for format in [[DEPTH, 0x10d3], [DEPTH, 0x10de]].map(Format) {
        let contents = texels(&mut random, format, count);
        let image = host.image(format.0, &ty.description(), &contents);
        let picture = Picture { format, size: ty.size(), layers: ty.layers(), texels: &contents };
        for modes in all_modes() {
            let points = points(&mut random, ty, modes.normalized);
            let (at, out) = (host.buffer(&points), host.buffer(&[0f32; POINTS]));
            let sampler =
                host.sampler(modes.normalized, modes.addressing, if modes.linear { 0x1141 } else { 0x1140 });
            host.run(program, c"sample", &[image.0, sampler.0, at.0, out.0], POINTS);
            for (point, got) in points.iter().zip(host.read::<f32>(&out, POINTS)) {
                let layer = picture.layer(point[2]);
                let (want, largest) = picture.sample(modes, [point[0], point[1], 0.0], 2, layer);
                let fits = is_near(got.into(), want[0], format.is_exact(), modes.linear.then_some(largest));
                assert!(fits, "{name}: {modes:?} at {point:?}: {got}, not {}", want[0]);
            }
        }
        let points: Vec<[i32; 4]> = (0..count)
            .map(|index| [index % SIZE[0], index / SIZE[0] % SIZE[1], index / (SIZE[0] * SIZE[1]), 0])
            .map(|point| point.map(|it| it as i32))
            .collect();
        let depths: Vec<f32> = (0..count).map(|_| random.unit()).collect();
        let (at, from) = (host.buffer(&points), host.buffer(&depths));
        host.run(program, c"write", &[image.0, at.0, from.0], count);
        let written = host.read_image(&image, [SIZE[0], SIZE[1], ty.layers()], format.bytes());
        for (texel, &depth) in written.chunks_exact(format.bytes()).zip(&depths) {
            format.check_written(texel, [depth.into(), 0.0, 0.0, 1.0]).unwrap();
        }
    }
    host.release_program(program);
}

/// Integers that are read from images of floats, or written to them, are the bits, as on GPUs: programs keep doubles in two channels.
#[test]
fn integers_of_float_images_are_bits() {
    let host = host();
    let text = c"kernel void sums(read_only image2d_t a, global double *out) {\
        const sampler_t s = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST; int i = get_global_id(0); int2 at = {i % 75, i / 75};\
        out[i] = 2 * as_double2(read_imagei(a, s, at)).x; }\
        kernel void numbers(write_only image2d_t a) {\
        int i = get_global_id(0); write_imageui(a, (int2)(i % 75, i / 75), as_uint4((double2)(1.0 / i, 0))); }";
    let program = host.build(text, c"");
    let count = SIZE[0] * SIZE[1];
    let doubles: Vec<f64> = (0..count).map(|it| 1.0 / (it as f64 + 0.5)).collect();
    let contents: Vec<u8> = doubles.iter().flat_map(|it| it.to_le_bytes()).collect();
    let image = host.image([0x10b2, 0x10de], &TYPES[1].description(), &contents);
    let out = host.buffer(&doubles);
    host.run(program, c"sums", &[image.0, out.0], count);
    let twice: Vec<f64> = doubles.iter().map(|it| 2.0 * it).collect();
    assert_eq!(host.read::<f64>(&out, count), twice);
    host.run(program, c"numbers", &[image.0], count);
    let written = host.read_image(&image, [SIZE[0], SIZE[1], 1], 8);
    for (index, texel) in written.chunks_exact(8).enumerate() {
        assert_eq!(texel, (1.0 / index as f64).to_le_bytes(), "{index}");
    }
    host.release_program(program);
}
