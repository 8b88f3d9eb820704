// Kernels that read and write images.
constant sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void halved(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(to, at, read_imagef(from, linear, convert_float2(2 * at) + 1.0f));
}

kernel void inverted(read_only image2d_t from, global float *to, int w) {
    int x = get_global_id(0), y = get_global_id(1);
    to[y * w + x] = 1.0f - read_imagef(from, (int2)(x, y)).x;
}
