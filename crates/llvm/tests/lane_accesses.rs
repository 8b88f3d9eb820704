//! Gathers and scatters by indices of 32 bits become an access for each lane where LLVM splits them anyway.

use heddle_ir::text::parse_module;
use heddle_llvm::{
    CodeFormat, CodegenLevel, Cpu, EmitOptions, Jit, LlvmModule, OptimizeOptions, emit, generate, optimize,
};

const LANES: usize = 8;
/// Elements before and behind the one that index 0 reads.
const REACH: i32 = 100;

/// Address of the elements of an access as instructions, which define `v9`: `v0` is the array, and `v4` has the indices.
struct AddressForm {
    address: &'static str,
    /// Element that the index of a lane reads.
    element: fn(i32, i32) -> i32,
}

const ZERO_EXTENDED: AddressForm = AddressForm {
    address: "v5 = and v4, splat 63\n  v6 = zext <8 x i64>, v5\n  v7 = shl v6, splat 2\n  v8 = splat <8 x ptr>, v0\n  v9 = ptradd v8, v7",
    element: |index, _| index & 63,
};
const SIGN_EXTENDED: AddressForm = AddressForm {
    address: "v6 = sext <8 x i64>, v4\n  v7 = shl v6, splat 2\n  v8 = splat <8 x ptr>, v0\n  v9 = ptradd v8, v7",
    element: |index, _| index,
};
const DISPLACED: AddressForm = AddressForm {
    address: "v6 = sext <8 x i64>, v4\n  v7 = shl v6, splat 2\n  v10 = ptradd v0, i64 8\n  v8 = splat <8 x ptr>, v10\n  \
              v11 = ptradd v8, v7\n  v9 = ptradd v11, <8 x i64> <0, 4, 0, 4, 0, 4, 0, 4>",
    element: |index, lane| index + 2 + lane % 2,
};
/// Indices of 64 bits.
const WIDE: AddressForm = AddressForm {
    address: "v6 = sext <8 x i64>, v4\n  v12 = mul v6, v6\n  v8 = splat <8 x ptr>, v0\n  v9 = ptradd v8, v12",
    element: |index, _| index,
};

/// Compiles `f(array, indices, out)`, which gathers, and `g(array, indices, in)`, which scatters.
fn compiled(cpu: &str, form: &AddressForm, mask: &str) -> LlvmModule {
    let address = form.address;
    let scatters = format!(
        "func @g(v0: ptr, v1: ptr, v2: ptr) {{\nblock0:\n  v4 = load <8 x i32>, v1 align 4\n  v20 = icmp sgt v4, splat 0\n  {address}\n  \
         v13 = load <8 x i32>, v2 align 4\n  scatter v13, v9, {mask} align 4\n  ret\n}}\n"
    );
    let gathers = format!(
        "func @f(v0: ptr, v1: ptr, v2: ptr) {{\nblock0:\n  v4 = load <8 x i32>, v1 align 4\n  v20 = icmp sgt v4, splat 0\n  {address}\n  \
         v13 = gather <8 x i32>, v9, {mask}, splat -1 align 4\n  store v13, v2 align 4\n  ret\n}}\n"
    );
    let text = gathers + &scatters;
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
    let cpu = Cpu::named(cpu).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, &cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    llvm
}

/// True if gathers are split, and true if scatters are.
fn are_split(cpu: &str, form: &AddressForm, mask: &str) -> [bool; 2] {
    let text = compiled(cpu, form, mask).text();
    ["= call <8 x i32> @llvm.masked.gather", "call void @llvm.masked.scatter"]
        .map(|call| !text.contains(call))
}

#[test]
fn accesses_by_narrow_indices_are_split_where_they_are_slow() {
    for cpu in ["sse4.2", "x86-64-v3", "haswell", "znver3"] {
        for form in [&ZERO_EXTENDED, &SIGN_EXTENDED, &DISPLACED] {
            assert_eq!(are_split(cpu, form, "splat true"), [true; 2], "{cpu}: {}", form.address);
        }
        assert_eq!(are_split(cpu, &WIDE, "splat true"), [false; 2], "{cpu}: an index of 64 bits");
        assert_eq!(are_split(cpu, &ZERO_EXTENDED, "v20"), [false; 2], "{cpu}: a mask");
    }
    for cpu in ["skylake", "alderlake"] {
        assert_eq!(are_split(cpu, &ZERO_EXTENDED, "splat true"), [false, true], "{cpu}");
    }
    for cpu in ["x86-64-v4", "znver4"] {
        assert_eq!(are_split(cpu, &ZERO_EXTENDED, "splat true"), [false; 2], "{cpu}");
    }
}

#[test]
fn indices_are_taken_out_instead_of_addresses() {
    let cpu = Cpu::named("znver3").unwrap_or_else(|error| panic!("{error}"));
    let assembly = generate(&compiled("znver3", &ZERO_EXTENDED, "splat true"), &cpu, CodeFormat::Assembly);
    let assembly = String::from_utf8_lossy(&assembly.unwrap_or_else(|error| panic!("{error}"))).into_owned();
    assert!(!assembly.contains("vpaddq") && !assembly.contains("vpextrq"), "{assembly}");
}

#[test]
fn each_lane_accesses_its_element() {
    if !Cpu::host().is_x86() {
        return;
    }
    let cpus = ["sse4.2", "x86-64-v3"]
        .into_iter()
        .filter(|&cpu| cpu == "sse4.2" || Cpu::host().vector_bits() >= 256);
    let cells: Vec<i32> = (-REACH..=REACH).map(|at| at * 3 + 1).collect();
    let indices: [i32; LANES] = [0, 5, -1, 63, -64, 17, 2, 5];
    for cpu in cpus {
        for form in [&ZERO_EXTENDED, &SIGN_EXTENDED, &DISPLACED] {
            let jit = Jit::new(compiled(cpu, form, "splat true"), CodegenLevel::Default, &[]);
            let jit = jit.unwrap_or_else(|error| panic!("{error}"));
            let [gathers, scatters] =
                ["f", "g"].map(|name| jit.entry(name).unwrap_or_else(|error| panic!("{error}")));
            let mut out = [0i32; LANES];
            let array = cells.as_ptr().wrapping_add(REACH as usize);
            let places = [array.addr(), indices.as_ptr().addr(), out.as_mut_ptr().expose_provenance()];
            let arguments = places.map(|place| (place as u128).to_le_bytes()).concat();
            // SAFETY: all indices are within reach, and both vectors are there.
            unsafe { gathers.call(&arguments, &mut []) };
            let element = |(index, lane)| (form.element)(index, lane) * 3 + 1;
            let wanted: Vec<i32> = indices.into_iter().zip(0..).map(element).collect();
            assert_eq!(out[..], wanted, "{cpu}: {}", form.address);
            // Two lanes have one element: the last one stays.
            let (mut stored, mut expected) = (cells.clone(), cells.clone());
            let array = stored.as_mut_ptr().wrapping_add(REACH as usize);
            let values: [i32; LANES] = std::array::from_fn(|lane| 1000 + lane as i32);
            let places = [array.expose_provenance(), indices.as_ptr().addr(), values.as_ptr().addr()];
            let arguments = places.map(|place| (place as u128).to_le_bytes()).concat();
            // SAFETY: as above.
            unsafe { scatters.call(&arguments, &mut []) };
            for ((index, lane), value) in indices.into_iter().zip(0..).zip(values) {
                expected[(REACH + (form.element)(index, lane)) as usize] = value;
            }
            assert_eq!(stored, expected, "{cpu}: {}", form.address);
        }
    }
}
