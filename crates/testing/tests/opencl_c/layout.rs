//! Programs in OpenCL C and their hosts agree on data layout: by spir64 and by x86-64.

use crate::{by_oracle, compiled, folder};

#[test]
fn both_lay_out_the_same() {
    let path = folder().join("layout.c");
    let of_host = heddle_llvm::compile(&path, 1, &["--target=x86_64-linux-gnu"]).expect("it compiles");
    let of_host = heddle_llvm::import(&of_host).module;
    let source = std::fs::read_to_string(path).expect("it can be read");
    let of_device = compiled(&source);
    let numbers: Vec<u64> = (0..24).collect();
    let host = &by_oracle(&of_host, "probe", std::slice::from_ref(&numbers))[0];
    let device = &by_oracle(&of_device, "probe", &[numbers])[0];
    assert_eq!(host, device);
    assert_eq!((host[2], host[6], host[23]), (16, 8, 0xffff_ffff));
}

/// A struct that is passed by value has its bytes.
#[test]
fn structs_by_value() {
    let first = "struct pair { char c; float3 v; }; \
                 float first(struct pair p) { return p.v.z + p.c; } ";
    let function = "float f(float x) { struct pair p = {2, (float3)(x)}; p.v.z *= 2; return first(p); }";
    let found =
        by_oracle(&compiled(&format!("{first}{function}")), "f", &[vec![u64::from(1.5f32.to_bits())]]);
    assert_eq!(found, [[u64::from(5f32.to_bits())]]);
    let module =
        compiled(&format!("{first}kernel void k(struct pair p, global float *out) {{ out[0] = first(p); }}"));
    let kernel = module.function("k").expect("it is taken");
    assert_eq!(kernel.signature.params.len(), 2, "a struct is passed by its address");
}
