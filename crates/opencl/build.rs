//! Linker arguments of the driver.

fn main() {
    // The loader exports the same names: without this, the driver's internal calls would resolve to the loader, which
    // would call back into the driver.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rerun-if-changed=build.rs");
}
