// Kernels with images, one that the driver refuses, and one without either.
const sampler_t s = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
kernel void copy(read_only image2d_t from, write_only image2d_t to, sampler_t t) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(to, at, read_imagef(from, t, at) + read_imagef(from, s, convert_float2(at) / 8) + read_imagef(from, at));
}
kernel void sizes(read_only image3d_t a, write_only image2d_array_t b, global int *out) {
  out[0] = get_image_width(a); out[1] = get_image_height(a); out[2] = get_image_depth(a); out[3] = get_image_array_size(b);
  out[4] = get_image_channel_data_type(a); out[5] = get_image_channel_order(a); out[6] = get_image_dim(a).y;
  write_imageui(b, (int4)(1, 2, 1, 0), (uint4)(300, 2, 3, 4));
  out[7] = read_imagei(a, (int4)(1, 1, 1, 0)).x;
}
kernel void pipes(read_only pipe int p, global int *out) { int v = 0; read_pipe(p, &v); out[0] = v; }
kernel void plain(global int *out) { out[get_global_id(0)] = 7; }
