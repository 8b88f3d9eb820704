// Filters on images, most with the same on buffers. A line that begins with `//!` names the kernel that follows; a
// program is what stands before all of them and one kernel. WIDTH and HEIGHT are the sizes of all planes.
#define AT (int2)(get_global_id(0), get_global_id(1))
const sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
const sampler_t edge_linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
const sampler_t smooth = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
const sampler_t bordered = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR;

float4 texel(global const uchar4 *from, int x, int y) {
  return convert_float4(from[clamp(y, 0, HEIGHT - 1) * WIDTH + clamp(x, 0, WIDTH - 1)]) * (1 / 255.0f);
}
uchar4 packed(float4 color) { return convert_uchar4_sat_rte(color * 255.0f); }

//! blur_nearest
kernel void blur_nearest(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  float4 sum = 0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++) sum += read_imagef(from, edge, at + (int2)(x, y)) * ((2 - abs(x)) * (2 - abs(y)) / 16.0f);
  write_imagef(to, at, sum);
}

kernel void blur_nearest_buffer(global const uchar4 *from, global uchar4 *to) {
  int2 at = AT;
  float4 sum = 0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++) sum += texel(from, at.x + x, at.y + y) * ((2 - abs(x)) * (2 - abs(y)) / 16.0f);
  to[at.y * WIDTH + at.x] = packed(sum);
}

//! blur_linear: the same weights by four samples between texels.
kernel void blur_linear(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  float2 center = convert_float2(at) + 0.5f;
  float4 sum = read_imagef(from, edge_linear, center + (float2)(-0.5f, -0.5f)) + read_imagef(from, edge_linear, center + (float2)(0.5f, -0.5f)) +
               read_imagef(from, edge_linear, center + (float2)(-0.5f, 0.5f)) + read_imagef(from, edge_linear, center + (float2)(0.5f, 0.5f));
  write_imagef(to, at, sum * 0.25f);
}

//! resize
kernel void resize(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  float2 place = (convert_float2(at) * 0.6f + 0.5f) * (float2)(1.0f / WIDTH, 1.0f / HEIGHT);
  write_imagef(to, at, read_imagef(from, smooth, place));
}
kernel void resize_buffer(global const uchar4 *from, global uchar4 *to) {
  int2 at = AT;
  float2 place = convert_float2(at) * 0.6f;
  int2 low = convert_int2(floor(place));
  float2 w = place - floor(place);
  float4 top = texel(from, low.x, low.y) * (1 - w.x) + texel(from, low.x + 1, low.y) * w.x;
  float4 bottom = texel(from, low.x, low.y + 1) * (1 - w.x) + texel(from, low.x + 1, low.y + 1) * w.x;
  to[at.y * WIDTH + at.x] = packed(top * (1 - w.y) + bottom * w.y);
}

//! warp
kernel void warp(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  float2 p = convert_float2(at) - (float2)(WIDTH / 2, HEIGHT / 2);
  float2 place = (float2)(0.8f * p.x - 0.3f * p.y, 0.3f * p.x + 0.8f * p.y) + (float2)(WIDTH / 2, HEIGHT / 2);
  write_imagef(to, at, read_imagef(from, bordered, place));
}

//! to_float
kernel void to_float(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  write_imagef(to, at, read_imagef(from, at));
}
kernel void to_float_buffer(global const uchar4 *from, global float4 *to) {
  int index = get_global_id(1) * WIDTH + get_global_id(0);
  to[index] = convert_float4(from[index]) * (1 / 255.0f);
}
//! from_float
kernel void from_float(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  write_imagef(to, at, read_imagef(from, at));
}
kernel void from_float_buffer(global const float4 *from, global uchar4 *to) {
  int index = get_global_id(1) * WIDTH + get_global_id(0);
  to[index] = packed(from[index]);
}

//! median
#define SORT(a, b) t = min(a, b); b = max(a, b); a = t;
#define MEDIAN(P) \
  float t, a0 = P(-1, -1), a1 = P(0, -1), a2 = P(1, -1), a3 = P(-1, 0), a4 = P(0, 0), a5 = P(1, 0), a6 = P(-1, 1), \
           a7 = P(0, 1), a8 = P(1, 1); \
  SORT(a1, a2) SORT(a4, a5) SORT(a7, a8) SORT(a0, a1) SORT(a3, a4) SORT(a6, a7) SORT(a1, a2) SORT(a4, a5) SORT(a7, a8) \
  SORT(a0, a3) SORT(a5, a8) SORT(a4, a7) SORT(a3, a6) SORT(a1, a4) SORT(a2, a5) SORT(a4, a7) SORT(a4, a2) SORT(a6, a4) \
  SORT(a4, a2)
kernel void median(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
#define P(dx, dy) read_imagef(from, edge, at + (int2)(dx, dy)).x
  MEDIAN(P)
#undef P
  write_imagef(to, at, a4);
}
kernel void median_buffer(global const float *from, global float *to) {
  int2 at = AT;
#define P(dx, dy) from[clamp(at.y + dy, 0, HEIGHT - 1) * WIDTH + clamp(at.x + dx, 0, WIDTH - 1)]
  MEDIAN(P)
#undef P
  to[at.y * WIDTH + at.x] = a4;
}

//! convolve
constant float weights[9] = {0.02f, 0.06f, 0.12f, 0.18f, 0.24f, 0.18f, 0.12f, 0.06f, 0.02f};
kernel void convolve(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  float sum = 0;
  for (int i = -4; i <= 4; i++) sum += weights[i + 4] * read_imagef(from, edge, at + (int2)(i, 0)).x;
  write_imagef(to, at, sum);
}
kernel void convolve_buffer(global const float *from, global float *to) {
  int2 at = AT;
  float sum = 0;
  for (int i = -4; i <= 4; i++) sum += weights[i + 4] * from[at.y * WIDTH + clamp(at.x + i, 0, WIDTH - 1)];
  to[at.y * WIDTH + at.x] = sum;
}

//! pyramid
kernel void pyramid(read_only image2d_t from, write_only image2d_t to) {
  int2 at = AT;
  write_imagef(to, at, read_imagef(from, edge_linear, convert_float2(at * 2) + 1.0f));
}

//! raycast: rays through a volume of 128³ texels.
kernel void raycast(read_only image3d_t from, write_only image2d_t to, sampler_t s) {
  int2 at = AT;
  float2 p = convert_float2(at) * (float2)(1.0f / WIDTH, 1.0f / HEIGHT);
  float light = 0, left = 1;
  for (int i = 0; i < 64 && left > 0.02f; i++) {
    float depth = i / 64.0f;
    float density = read_imagef(from, s, (float4)(p.x * (0.7f + 0.3f * depth), p.y, depth, 0)).x;
    light += left * density * 0.1f;
    left *= 1 - density * 0.1f;
  }
  write_imagef(to, at, light);
}
