// Differences of unsigned indices: after a comparison that says that they do not wrap around, saturated, and without either.
kernel void compared(global const uint *a, global uint *out, uint step) {
    uint x = get_local_id(0);
    uint other = x >= step ? a[x - step] : 0;
    out[x] = a[x] + other;
}

kernel void saturated(global const float *a, global float *out, uint w) {
    uint x = get_global_id(0), y = get_global_id(1);
    uint left = x > 0 ? x - 1 : x;
    out[y * w + x] = a[y * w + left];
}

kernel void open(global const uint *a, global uint *out, uint step) {
    uint x = get_local_id(0);
    out[x] = a[x - step];
}
