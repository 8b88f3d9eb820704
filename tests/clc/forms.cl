// Kernels with forms for some launches: at guards of two dimensions, of an index that is taken apart, in a loop over the grid.
kernel void guarded(global float *out, int w, int h) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h) return;
    out[y * w + x] *= 2.0f;
}

kernel void filled(global const uint *a, global uint *out, int n, int k) {
    int x = get_global_id(0);
    uint words[8] = {0};
    words[k & 7] = a[0];
    if (x < n) out[x] = words[x & 7];
}

kernel void rows(global float *out, int w, int n) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) out[i % (w + 1) * 64 + i / (w + 1)] = i;
}

kernel void part(global float *out, int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = get_local_id(0);
}

kernel void eliminated(global float *a, global const float *m, int n, int t) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x < n - 1 - t && y < n - t) a[n * (x + 1 + t) + y + t] -= m[n * (x + 1 + t) + t] * a[n * t + y + t];
}
