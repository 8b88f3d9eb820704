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

kernel void steps(global const int *wall, global const int *first, global int *last, int n, int rounds, local int *from, local int *to) {
    int size = get_local_size(0), tx = get_local_id(0), left = (size - 2 * rounds) * (int)get_group_id(0) - rounds, x = left + tx;
    int least = left < 0 ? -left : 0, most = left + size > n ? n - left - 1 : size - 1;
    int w = tx - 1 < least ? least : tx - 1, e = tx + 1 > most ? most : tx + 1;
    bool is_inside = tx >= least && tx <= most, is_new = false;
    if (x >= 0 && x < n) from[tx] = first[x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < rounds; i++) {
        is_new = tx > i && tx < size - i - 1 && is_inside;
        if (is_new) to[tx] = min(min(from[w], from[tx]), from[e]) + wall[n * i + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_new) from[tx] = to[tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (is_new) last[x] = to[tx];
}

kernel void lattice(global const float *from, global float *to) {
    uint n = get_global_id(0);
    if (n >= 1u << 18) return;
    uint x = n % 64u, y = n / 64u % 64u, z = n / 4096u, right = (x + 1u) % 64u, below = (y + 63u) % 64u * 64u, behind = (z + 1u) % 64u * 4096u;
    to[n] = from[right + y * 64u + z * 4096u] + from[x + below + z * 4096u] + from[x + y * 64u + behind];
}

kernel void ring(global const float *from, global float *to, int n) {
    int x = get_global_id(0);
    to[x] = from[x == n - 1 ? 0 : x + 1] + from[x == 0 ? n - 1 : x - 1];
}
