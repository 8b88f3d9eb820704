//! Kernels shaped as those of the papers' benchmarks, of as many lanes as there are, 32 at most. Arguments: `v0` is what they
//! read, `v1` what they write, 4096 numbers of 32 bits each; numbers that are read are below 64.

/// A kernel: its name, and its text, where HALF is half of the lanes.
pub(crate) type KernelTemplate = (&'static str, &'static str);

/// Returns a kernel's text for this number of lanes.
pub(super) fn text_of(text: &str, lanes: u32) -> String {
    text.replace("HALF", &(lanes / 2).to_string())
}

/// Kernels that load again what they have loaded.
pub(super) const SCALARS: &[KernelTemplate] = &[
    ("tree", include_str!("kernels/tree.hed")),
    ("graph", include_str!("kernels/graph.hed")),
    ("stencil", include_str!("kernels/stencil.hed")),
    ("k-means", include_str!("kernels/k-means.hed")),
];

/// Kernels whose branches do alike on both sides.
pub(super) const FUSION: &[KernelTemplate] = &[
    ("bitonic", include_str!("kernels/bitonic.hed")),
    ("quicksort partition", include_str!("kernels/quicksort-partition.hed")),
    ("srad", include_str!("kernels/srad.hed")),
    ("heartwall", include_str!("kernels/heartwall.hed")),
    ("lu", include_str!("kernels/lu.hed")),
    ("merge", include_str!("kernels/merge.hed")),
    ("equal sides", include_str!("kernels/equal-sides.hed")),
    ("permuted sides", include_str!("kernels/permuted-sides.hed")),
    ("nested sides", include_str!("kernels/nested-sides.hed")),
    ("sides with loops", include_str!("kernels/sides-with-loops.hed")),
];
