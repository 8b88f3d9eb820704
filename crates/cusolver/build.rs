//! Linker arguments and version of the library.

fn main() {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let major = if package.ends_with("11") { 11 } else { 12 };
    // Programs ask for this name, and for symbols of a version that is called the same.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcusolver.so.{major}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    // Not every linker can name versions after the library.
    println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rustc-env=HEDDLE_CUSOLVER={major}");
    // Both packages have this file as their build script, and find it by this path.
    println!("cargo::rerun-if-changed=../cusolver/build.rs");
}
