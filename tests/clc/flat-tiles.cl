// A group of one dimension as a tile of 16 x 16: the places in a row are computed again after each barrier.
kernel void product(global const float *a, global const float *b, global float *out, int w) {
    local float left[256], right[256];
    int index = get_local_id(0), column = index % 16, row = index / 16;
    int x = get_group_id(0) % (w / 16) * 16 + column, y = get_group_id(0) / (w / 16) * 16 + row;
    float sum = 0;
    for (int t = 0; t < w; t += 16) {
        left[row * 16 + column] = a[y * w + t + column];
        right[row * 16 + column] = b[(t + row) * w + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++) sum += left[row * 16 + k] * right[k * 16 + column];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[y * w + x] = sum;
}
