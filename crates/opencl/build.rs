//! How the driver is linked.

fn main() {
    // The loader exports functions of the same names: without this the driver's calls of its own would go to the loader,
    // which would hand them back.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rerun-if-changed=build.rs");
}
