//! Kernels shaped as those of the papers' benchmarks, of as many lanes as there are, 32 at most. Arguments: `v0` is what they read, `v1` what they write, 4096
//! numbers of 32 bits each; numbers that are read are below 64.

/// A kernel: its name, and its text, where HALF is half of the lanes.
pub(super) type Kernel = (&'static str, &'static str);

/// The text of a kernel for so many lanes.
pub(super) fn text_of(text: &str, lanes: u32) -> String {
    text.replace("HALF", &(lanes / 2).to_string())
}

/// Kernels that load again what they have loaded.
pub(super) const SCALARS: &[Kernel] = &[
    (
        // A search down a tree: the key is loaded again at each level, and on both sides of a comparison.
        "tree",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  br block1
block1:
  v6 = phi i32 [block0: 0], [block4: v18]
  v7 = phi i64 [block0: 64], [block4: v20]
  v8 = load i32, v4
  v9 = shl v7, 2
  v10 = ptradd v0, v9
  v11 = load i32, v10
  v12 = icmp ult v8, v11
  br v12, block2, block3
block2:
  v13 = load i32, v4
  v14 = load i32, v10
  v15 = sub v14, v13
  br block4
block3:
  v16 = load i32, v4
  v21 = load i32, v10
  v17 = sub v16, v21
  br block4
block4:
  v19 = phi i32 [block2: v15], [block3: v17]
  v22 = zext i64, v19
  v23 = add v7, v22
  v20 = add v23, 1
  store v19, v5
  v18 = add v6, 1
  v24 = icmp ult v18, 12
  br v24, block1, block5
block5:
  ret
}",
    ),
    (
        // Neighbours of a node: its level and its bounds are loaded again for each.
        "graph",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v4, i64 128
  br block1
block1:
  v6 = phi i32 [block0: 0], [block4: v20]
  v7 = zext i64, v6
  v8 = shl v7, 7
  v9 = ptradd v4, v8
  v10 = ptradd v9, i64 256
  v11 = load i32, v10
  v12 = icmp ugt v11, 31
  br v12, block2, block3
block2:
  v13 = load i32, v5
  v14 = add v13, 1
  v15 = zext i64, v11
  v16 = shl v15, 7
  v17 = ptradd v1, v16
  v30 = ptradd v17, v3
  store v14, v30
  br block4
block3:
  br block4
block4:
  v18 = load i32, v4
  v19 = add nuw v6, 1
  v20 = and v19, 255
  v21 = add v18, 4
  v22 = icmp ult v20, v21
  br v22, block1, block5
block5:
  ret
}",
    ),
    (
        // Each lane walks along a row of its own, and reads three neighbours of three rows.
        "stencil",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 6
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  br block1
block1:
  v6 = phi i64 [block0: 0], [block4: v40]
  v7 = shl v6, 2
  v8 = ptradd v4, v7
  v9 = load i32, v8
  v10 = ptradd v8, i64 4
  v11 = load i32, v10
  v12 = ptradd v8, i64 8
  v13 = load i32, v12
  v14 = ptradd v8, i64 4096
  v15 = load i32, v14
  v16 = ptradd v8, i64 4100
  v17 = load i32, v16
  v18 = ptradd v8, i64 4104
  v19 = load i32, v18
  v20 = sub v9, v13
  v21 = shl v11, 1
  v22 = add v20, v21
  v23 = sub v15, v19
  v24 = shl v17, 1
  v25 = add v23, v24
  v26 = add v22, v25
  v27 = ptradd v5, v7
  v28 = icmp sgt v26, 90
  br v28, block2, block3
block2:
  v29 = load i32, v10
  v30 = add v26, v29
  store v30, v27
  br block4
block3:
  store v26, v27
  br block4
block4:
  v40 = add v6, 1
  v41 = icmp ult v40, 16
  br v41, block1, block5
block5:
  ret
}",
    ),
    (
        // Distances of points to centres: both sides of a comparison load the centre, one loads the best again.
        "k-means",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  br block1
block1:
  v6 = phi i64 [block0: 0], [block7: v40]
  v8 = shl v6, 4
  v9 = ptradd v0, v8
  v10 = ptradd v9, i64 512
  v12 = ptradd v4, i64 1024
  v13 = load i32, v12
  v14 = icmp ult v13, 32
  br v14, block2, block3
block2:
  v15 = load i32, v10
  v16 = load i32, v4
  v17 = sub v16, v15
  v18 = mul v17, v17
  br block4
block3:
  v19 = load i32, v10
  v20 = load i32, v4
  v21 = sub v19, v20
  v22 = mul v21, 3
  br block4
block4:
  v23 = phi i32 [block2: v18], [block3: v22]
  v24 = load i32, v5
  v25 = icmp sgt v24, v23
  br v25, block5, block6
block5:
  v26 = add v23, 1
  store v26, v5
  br block7
block6:
  br block7
block7:
  v40 = add v6, 1
  v41 = icmp ult v40, 24
  br v41, block1, block8
block8:
  ret
}",
    ),
];

/// Kernels whose branches do alike on both sides.
pub(super) const FUSION: &[Kernel] = &[
    (
        "bitonic",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v3 = lane i32
  v4 = xor v3, 1
  v5 = icmp ugt v4, v3
  br v5, block1, block9
block1:
  v6 = and v3, 2
  v7 = icmp eq v6, 0
  v10 = zext i64, v3
  v11 = shl v10, 2
  v12 = ptradd v1, v11
  v13 = zext i64, v4
  v14 = shl v13, 2
  v15 = ptradd v1, v14
  br v7, block2, block4
block2:
  v20 = load i32, v12
  v21 = load i32, v15
  v22 = icmp sgt v20, v21
  br v22, block3, block8
block3:
  store v21, v12
  store v20, v15
  br block8
block4:
  v30 = load i32, v12
  v31 = load i32, v15
  v32 = icmp slt v30, v31
  br v32, block5, block8
block5:
  store v31, v12
  store v30, v15
  br block8
block8:
  br block9
block9:
  ret
}",
    ),
    (
        // Each number goes to the front or to the back.
        "quicksort partition",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = shl v2, 7
  v6 = ptradd v1, v5
  br block1
block1:
  v7 = phi i64 [block0: 0], [block4: v30]
  v8 = phi i64 [block0: 0], [block4: v26]
  v9 = phi i64 [block0: 31], [block4: v27]
  v10 = shl v7, 7
  v11 = ptradd v4, v10
  v12 = load i32, v11
  v13 = icmp ult v12, 32
  br v13, block2, block3
block2:
  v14 = shl v8, 2
  v15 = ptradd v6, v14
  v16 = mul v12, 3
  store v16, v15
  v17 = add v8, 1
  br block4
block3:
  v18 = shl v9, 2
  v19 = ptradd v6, v18
  v20 = mul v12, 5
  store v20, v19
  v21 = sub v9, 1
  br block4
block4:
  v26 = phi i64 [block2: v17], [block3: v8]
  v27 = phi i64 [block2: v9], [block3: v21]
  v30 = add v7, 1
  v31 = icmp ult v30, 24
  br v31, block1, block5
block5:
  ret
}",
    ),
    (
        // Coefficients of diffusion, by the sign of what flows.
        "srad",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  v6 = load i32, v4
  v7 = uitofp f32, v6
  v8 = fadd v7, 1.0
  v9 = and v6, 1
  v10 = icmp eq v9, 0
  br v10, block1, block2
block1:
  v11 = fmul v8, v8
  v12 = fmul v11, 0.25
  v13 = fadd v12, 1.0
  v14 = fdiv v11, v13
  v15 = sqrt v14
  store v15, v5
  br block3
block2:
  v21 = fmul v8, v7
  v22 = fmul v21, 0.5
  v23 = fadd v22, 2.0
  v24 = fdiv v21, v23
  v25 = sqrt v24
  v26 = fadd v25, 3.0
  store v26, v5
  br block3
block3:
  ret
}",
    ),
    (
        // A point of a template: its place in either half of the window.
        "heartwall",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  br block1
block1:
  v6 = phi i64 [block0: 0], [block4: v40]
  v7 = phi i32 [block0: 0], [block4: v39]
  v8 = shl v6, 7
  v9 = ptradd v4, v8
  v10 = load i32, v9
  v11 = icmp ugt v10, 30
  br v11, block2, block3
block2:
  v12 = ptradd v9, i64 4
  v13 = load i32, v12
  v14 = ptradd v9, i64 128
  v15 = load i32, v14
  v16 = mul v13, v15
  v17 = add v16, v10
  v18 = udiv v17, 7
  br block4
block3:
  v22 = ptradd v9, i64 8
  v23 = load i32, v22
  v24 = ptradd v9, i64 256
  v25 = load i32, v24
  v26 = mul v23, v25
  v27 = add v26, 5
  v28 = udiv v27, 9
  br block4
block4:
  v38 = phi i32 [block2: v18], [block3: v28]
  v39 = add v7, v38
  v40 = add v6, 1
  v41 = icmp ult v40, 16
  br v41, block1, block5
block5:
  v42 = phi i32 [block4: v39]
  store v42, v5
  ret
}",
    ),
    (
        // The perimeter of a block: half of the lanes do rows, the others columns, which they divide.
        "lu",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = icmp ult v2, HALF
  v4 = shl v2, 2
  v5 = ptradd v1, v4
  v6 = ptradd v0, i64 8192
  v7 = shl v2, 6
  v8 = ptradd v0, v7
  v9 = ptradd v0, v4
  br v3, block1, block5
block1:
  v10 = phi i64 [block0: 1], [block3: v30]
  v11 = phi i32 [block0: 1], [block3: v29]
  v12 = shl v10, 6
  v13 = ptradd v6, v12
  br block2
block2:
  v14 = phi i64 [block1: 0], [block2: v24]
  v15 = phi i32 [block1: v11], [block2: v23]
  v16 = shl v14, 2
  v17 = ptradd v13, v16
  v18 = load i32, v17
  v19 = shl v14, 7
  v20 = ptradd v9, v19
  v21 = load i32, v20
  v22 = mul v18, v21
  v23 = sub v15, v22
  v24 = add v14, 1
  v25 = icmp ult v24, v10
  br v25, block2, block3
block3:
  v26 = phi i32 [block2: v23]
  v27 = shl v10, 7
  v28 = ptradd v5, v27
  store v26, v28
  v29 = add v26, 1
  v30 = add v10, 1
  v31 = icmp ult v30, 12
  br v31, block1, block4
block4:
  br block9
block5:
  v40 = phi i64 [block0: 1], [block7: v60]
  v41 = phi i32 [block0: 3], [block7: v59]
  v42 = shl v40, 2
  v43 = ptradd v6, v42
  br block6
block6:
  v44 = phi i64 [block5: 0], [block6: v54]
  v45 = phi i32 [block5: v41], [block6: v53]
  v46 = shl v44, 6
  v47 = ptradd v43, v46
  v48 = load i32, v47
  v49 = shl v44, 2
  v50 = ptradd v8, v49
  v51 = load i32, v50
  v52 = mul v48, v51
  v53 = sub v45, v52
  v54 = add v44, 1
  v55 = icmp ult v54, v40
  br v55, block6, block7
block7:
  v56 = phi i32 [block6: v53]
  v62 = shl v40, 6
  v63 = ptradd v43, v62
  v64 = load i32, v63
  v65 = or v64, 1
  v66 = udiv v56, v65
  v57 = shl v40, 7
  v58 = ptradd v5, v57
  store v66, v58
  v59 = add v66, 1
  v60 = add v40, 1
  v61 = icmp ult v60, 12
  br v61, block5, block8
block8:
  br block9
block9:
  ret
}",
    ),
    (
        // Two sorted rows become one: what is next comes from either.
        "merge",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 6
  v4 = ptradd v0, v3
  v5 = ptradd v4, i64 4096
  v6 = ptradd v1, v3
  br block1
block1:
  v7 = phi i64 [block0: 0], [block4: v40]
  v8 = phi i64 [block0: 0], [block4: v38]
  v9 = phi i64 [block0: 0], [block4: v39]
  v10 = shl v8, 2
  v11 = ptradd v4, v10
  v12 = load i32, v11
  v13 = shl v9, 2
  v14 = ptradd v5, v13
  v15 = load i32, v14
  v16 = shl v7, 2
  v17 = icmp ult v12, v15
  br v17, block2, block3
block2:
  v18 = ptradd v6, v16
  store v12, v18
  v19 = add v8, 1
  br block4
block3:
  v28 = ptradd v6, v16
  store v15, v28
  v29 = add v9, 1
  br block4
block4:
  v38 = phi i64 [block2: v19], [block3: v8]
  v39 = phi i64 [block2: v9], [block3: v29]
  v40 = add v7, 1
  v41 = icmp ult v40, 15
  br v41, block1, block5
block5:
  ret
}",
    ),
    (
        "equal sides",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  v6 = load i32, v4
  v7 = and v6, 1
  v8 = icmp eq v7, 0
  br v8, block1, block2
block1:
  v10 = mul v6, 3
  v11 = add v10, 7
  v12 = udiv v11, 5
  v13 = mul v12, v12
  store v13, v5
  br block3
block2:
  v20 = mul v6, 11
  v21 = add v20, 2
  v22 = udiv v21, 3
  v23 = mul v22, v22
  store v23, v5
  br block3
block3:
  ret
}",
    ),
    (
        "permuted sides",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  v6 = load i32, v4
  v7 = and v6, 1
  v8 = icmp eq v7, 0
  br v8, block1, block2
block1:
  v10 = udiv v6, 3
  v11 = xor v6, 85
  v12 = mul v11, v6
  v13 = add v10, v12
  store v13, v5
  br block3
block2:
  v21 = xor v6, 51
  v22 = mul v21, v6
  v20 = udiv v6, 5
  v23 = add v20, v22
  store v23, v5
  br block3
block3:
  ret
}",
    ),
    (
        "nested sides",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  v6 = load i32, v4
  v7 = and v6, 1
  v8 = icmp eq v7, 0
  v9 = icmp ugt v6, 20
  br v8, block1, block4
block1:
  v10 = udiv v6, 3
  br v9, block2, block3
block2:
  v11 = mul v10, v6
  v12 = udiv v11, 7
  br block3
block3:
  v13 = phi i32 [block1: v10], [block2: v12]
  store v13, v5
  br block7
block4:
  v20 = udiv v6, 5
  br v9, block5, block6
block5:
  v21 = mul v20, v6
  v22 = udiv v21, 9
  br block6
block6:
  v23 = phi i32 [block4: v20], [block5: v22]
  store v23, v5
  br block7
block7:
  ret
}",
    ),
    (
        "sides with loops",
        "func @f(v0: ptr(global) uniform noalias, v1: ptr(global) uniform noalias) {
block0:
  v2 = lane i64
  v3 = shl v2, 2
  v4 = ptradd v0, v3
  v5 = ptradd v1, v3
  v6 = load i32, v4
  v7 = and v6, 1
  v8 = icmp eq v7, 0
  br v8, block1, block3
block1:
  v10 = phi i32 [block0: 0], [block1: v13]
  v11 = phi i32 [block0: 5], [block1: v12]
  v14 = mul v11, 3
  v12 = add v14, v6
  v13 = add v10, 1
  v15 = icmp ult v13, 12
  br v15, block1, block2
block2:
  v16 = phi i32 [block1: v12]
  store v16, v5
  br block7
block3:
  v20 = phi i32 [block0: 0], [block3: v23]
  v21 = phi i32 [block0: 9], [block3: v22]
  v24 = mul v21, 5
  v22 = add v24, v6
  v23 = add v20, 1
  v25 = icmp ult v23, 10
  br v25, block3, block4
block4:
  v26 = phi i32 [block3: v22]
  store v26, v5
  br block7
block7:
  ret
}",
    ),
];
