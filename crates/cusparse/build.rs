//! Linker arguments of the library.

fn main() {
    // Programs of CUDA 12 and 13 ask for this name, and for symbols of a version that is called the same.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcusparse.so.12");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    // Not every linker can name versions after the library.
    println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    println!("cargo::rerun-if-changed=build.rs");
}
