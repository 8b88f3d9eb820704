// Runs each loop as rustc compiles it and as the plugin does, and says where they differ.
mod plain {
    include!("independent.rs");
}

unsafe extern "C" {
    fn collatz(out: *mut u32, from: *const u32, count: usize);
    fn roots(out: *mut f32, from: *const f32, count: usize) -> u64;
    fn powers(out: *mut u32, from: *const u32, count: usize);
    fn checked(out: *mut u32, from: *const u32, count: usize);
}

type Words = unsafe extern "C" fn(*mut u32, *const u32, usize);

fn main() {
    let from: Vec<u32> = (0..100).map(|i| i * 37 % 101).collect();
    let floats: Vec<f32> = from.iter().map(|&number| number as f32 / 16.0).collect();
    let pairs: [(&str, Words, Words); 3] = [
        ("collatz", collatz, plain::collatz),
        ("powers", powers, plain::powers),
        ("checked", checked, plain::checked),
    ];
    for count in 0..from.len() {
        for (name, one, other) in pairs {
            let (mut found, mut expected) = (vec![7; 100], vec![7; 100]);
            if name == "checked" && count < 80 {
                continue;
            }
            unsafe { one(found.as_mut_ptr(), from.as_ptr(), count) };
            unsafe { other(expected.as_mut_ptr(), from.as_ptr(), count) };
            assert!(found == expected, "{name} of {count}: {found:?} instead of {expected:?}");
        }
        let (mut found, mut expected) = (vec![7.0; 100], vec![7.0; 100]);
        let above = unsafe { roots(found.as_mut_ptr(), floats.as_ptr(), count) };
        let also = unsafe { plain::roots(expected.as_mut_ptr(), floats.as_ptr(), count) };
        assert!(found == expected && above == also, "roots of {count}");
    }
    println!("all alike");
}
