//! Masked accesses that the CPU lacks become whole accesses where that is safe, and loops over the active lanes.

use heddle_ir::text::parse_module;
use heddle_llvm::{CodegenLevel, Cpu, EmitOptions, Jit, OptimizeOptions, emit, optimize};

/// Lanes of the accesses: masks of one to eight bytes.
const LANES: [usize; 4] = [8, 16, 32, 64];
/// Bytes of a page.
const PAGE: usize = 4096;

/// Two pages, of which the second one must not be accessed.
struct GuardedPage(*mut u8);

impl GuardedPage {
    fn new() -> GuardedPage {
        // SAFETY: new pages; the second one is there, and loses its rights.
        unsafe {
            let (rights, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let pages = libc::mmap(std::ptr::null_mut(), 2 * PAGE, rights, kind, -1, 0);
            assert_ne!(pages, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(pages.add(PAGE), PAGE, libc::PROT_NONE), 0);
            GuardedPage(pages.cast())
        }
    }

    /// The first page.
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the page is there as long as this, and nothing else refers to it.
        unsafe { std::slice::from_raw_parts_mut(self.0, PAGE) }
    }
}

impl Drop for GuardedPage {
    fn drop(&mut self) {
        // SAFETY: both pages are there, and nothing refers to them any more.
        unsafe { libc::munmap(self.0.cast(), 2 * PAGE) };
    }
}

/// Compiles `f(from, to, mask)`, which copies active lanes, and `g`, which fills the others with `9`.
fn compiled(cpu: &str, element: &str, lanes: usize) -> (Jit, String) {
    let nine = if element.starts_with('f') { "9.0" } else { "9" };
    let copies = |name: &str, otherwise: &str| {
        format!(
            "func @{name}(v0: ptr, v1: ptr, v2: ptr) {{
block0:
  v3 = load <{lanes} x i8>, v2 align 1
  v4 = icmp ne v3, splat 0
  v5 = masked_load <{lanes} x {element}>, v0, v4, {otherwise} align 1
  {}
  ret
}}
",
            match name {
                "f" => "masked_store v5, v1, v4 align 1",
                _ => "store v5, v1 align 1",
            }
        )
    };
    let text = copies("f", "poison") + &copies("g", &format!("splat {nine}"));
    let module = parse_module(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = EmitOptions { entries: true, ..EmitOptions::default() };
    let llvm = emit(&module, options).unwrap_or_else(|error| panic!("{error}"));
    let cpu = Cpu::named(cpu).unwrap_or_else(|error| panic!("{error}"));
    optimize(&llvm, &cpu, OptimizeOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let text = llvm.text();
    (Jit::new(llvm, CodegenLevel::Default, &[]).unwrap_or_else(|error| panic!("{error}")), text)
}

/// True if masked accesses to an element are lowered for a CPU.
fn is_lowered(cpu: &str, element: &str) -> bool {
    let (_, text) = compiled(cpu, element, 32);
    assert!(!text.contains("@heddle.load"), "it is inlined: {text}");
    !text.contains("@llvm.masked")
}

#[test]
fn cpus_without_masks_have_whole_accesses() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let of = |cpu| ["i8", "i16", "f32", "i64"].map(|element| is_lowered(cpu, element));
    assert_eq!(of("x86-64-v2"), [true; 4]);
    assert_eq!(of("x86-64-v3"), [true, true, false, false]);
    assert_eq!(of("x86-64-v4"), [false; 4]);
}

/// Masks: all, none, single lanes, the two ends, every third lane.
fn masks(lanes: usize) -> Vec<Vec<u8>> {
    let of = |is_active: &dyn Fn(usize) -> bool| (0..lanes).map(|lane| is_active(lane).into()).collect();
    vec![
        of(&|_| true),
        of(&|_| false),
        of(&|lane| lane == 0),
        of(&|lane| lane == lanes - 1),
        of(&|lane| lane < 5),
        of(&|lane| lane > lanes / 2 + 1),
        of(&|lane| lane % 3 == 0),
    ]
}

#[test]
fn active_lanes_alone_are_accessed() {
    let host = Cpu::host();
    if !host.is_x86() {
        return;
    }
    let cpus = ["x86-64-v2", "x86-64-v3"].iter().filter(|_| host.vector_bits() >= 256);
    let elements = [("i8", 1), ("i16", 2), ("f32", 4), ("i64", 8)];
    for (cpu, (element, size), lanes) in cpus
        .flat_map(|cpu| elements.iter().flat_map(move |element| LANES.map(|lanes| (cpu, *element, lanes))))
    {
        let (jit, _) = compiled(cpu, element, lanes);
        let [copies, fills] =
            ["f", "g"].map(|name| jit.entry(name).unwrap_or_else(|error| panic!("{error}")));
        let (mut from, mut to) = (GuardedPage::new(), GuardedPage::new());
        for (at, byte) in from.bytes().iter_mut().enumerate() {
            *byte = (at % 251) as u8;
        }
        for mask in masks(lanes) {
            let last = mask.iter().rposition(|&it| it != 0).map_or(0, |lane| lane + 1);
            // The whole vector within the page, or only its active lanes.
            for start in [64, 65, PAGE - lanes * size, PAGE - last * size] {
                to.bytes().fill(0xee);
                let places = [from.0.wrapping_add(start), to.0.wrapping_add(start), mask.as_ptr().cast_mut()];
                let arguments = places.map(|place| (place.addr() as u128).to_le_bytes()).concat();
                // SAFETY: active lanes are within the pages.
                unsafe { copies.call(&arguments, &mut []) };
                for at in 0..PAGE {
                    let lane = at.checked_sub(start).map(|offset| offset / size).filter(|&it| it < lanes);
                    let is_active = lane.is_some_and(|lane| mask[lane] != 0);
                    let expected = if is_active { from.bytes()[at] } else { 0xee };
                    assert_eq!(to.bytes()[at], expected, "{cpu} {element} {mask:?} from {start}: {at}");
                }
                let mut filled = vec![0u8; lanes * size];
                let places = [places[0], filled.as_mut_ptr(), places[2]];
                let arguments = places.map(|place| (place.addr() as u128).to_le_bytes()).concat();
                // SAFETY: as above; the result has all lanes.
                unsafe { fills.call(&arguments, &mut []) };
                let nine =
                    if element == "f32" { 9f32.to_le_bytes().to_vec() } else { 9u64.to_le_bytes().to_vec() };
                for (lane, found) in filled.chunks(size).enumerate() {
                    let offset = start + lane * size;
                    let expected = match mask[lane] {
                        0 => nine[..size].to_vec(),
                        _ => from.bytes()[offset..offset + size].to_vec(),
                    };
                    assert_eq!(found, expected, "{cpu} {element} {mask:?} from {start}: lane {lane}");
                }
            }
        }
    }
}
