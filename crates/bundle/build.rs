//! Linker arguments of the library.

fn main() {
    // Other libraries of the process may export the same names: this one calls its own.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libheddle.so");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_STATIC").is_some() {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--gc-sections,-z,pack-relative-relocs");
        // Linkers that read archives once have passed crates/llvm/shim/extensions.cpp when LLVM asks for it.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-u,_Z18getPollyPluginInfov");
    }
}
