//! Linker arguments of the driver.

fn main() {
    if std::env::var_os("CARGO_FEATURE_SONAME").is_some() {
        // Applications look for this name.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
    // Another library may export the same names: the driver calls its own.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rerun-if-changed=build.rs");
}
