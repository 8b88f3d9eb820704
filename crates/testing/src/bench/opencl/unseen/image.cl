// Filters of images. A line that begins with `//!` describes a launch of the kernel behind it.

typedef struct { float r, g, b; } Color;

//! global=512,512 local=16,16 args=b:1048576,B:262144,n=512,n=512
kernel void grayscale(global const uchar4 *in, global uchar *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  uchar4 p = in[y * width + x];
  out[y * width + x] = (uchar)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z);
}

static int clamp_index(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

//! global=512,512 local=16,16 args=f:262144,F:262144,n=512,n=512
kernel void box5(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0.0f;
  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++)
      sum += in[clamp_index(y + dy, height) * width + clamp_index(x + dx, width)];
  out[y * width + x] = sum / 25.0f;
}

//! global=512,512 args=b:262144,B:262144,n=512,n=512
kernel void sobel(global const uchar *in, global uchar *out, int width, int height) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  if (x == 0 || y == 0 || x >= width - 1 || y >= height - 1)
    return;
  int gx = 0, gy = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++) {
      int value = in[(y + j) * width + x + i];
      gx += i * (2 - abs(j)) * value;
      gy += j * (2 - abs(i)) * value;
    }
  float magnitude = sqrt((float)(gx * gx + gy * gy));
  out[y * width + x] = convert_uchar_sat(magnitude);
}

//! global=256,256 local=8,8 args=f:65536,F:65536,n=256,n=256,x=2.0,x=0.1
kernel void bilateral(global const float *in, global float *out, int width, int height, float space, float range) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float center = in[at.y * width + at.x], sum = 0.0f, weights = 0.0f;
  for (int dy = -3; dy <= 3; dy++) {
    for (int dx = -3; dx <= 3; dx++) {
      int2 p = clamp(at + (int2)(dx, dy), (int2)(0, 0), (int2)(width - 1, height - 1));
      float value = in[p.y * width + p.x];
      float d = value - center;
      float w = native_exp(-(dx * dx + dy * dy) / (2 * space * space) - d * d / (2 * range * range));
      sum += w * value;
      weights += w;
    }
  }
  out[at.y * width + at.x] = sum / weights;
}

static void order(float *a, float *b) {
  float low = fmin(*a, *b), high = fmax(*a, *b);
  *a = low;
  *b = high;
}

//! global=512,512 local=16,16 args=f:262144,F:262144,n=512,n=512
kernel void median3(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  float v[9];
  int k = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++)
      v[k++] = in[clamp_index(y + j, height) * width + clamp_index(x + i, width)];
  for (int i = 0; i < 5; i++)
    for (int j = i + 1; j < 9; j++)
      order(&v[i], &v[j]);
  out[y * width + x] = v[4];
}

//! global=512,512 local=32,4 args=b:1048576,F:786432,n=512
kernel void to_planes(global const uchar4 *in, global float *out, int width) {
  size_t x = get_global_id(0), y = get_global_id(1), plane = get_global_size(0) * get_global_size(1);
  float4 p = convert_float4(in[y * width + x]) / 255.0f;
  out[y * width + x] = p.x;
  out[plane + y * width + x] = p.y;
  out[2 * plane + y * width + x] = p.z;
}

//! global=400,300 args=f:262144,F:120000,n=512,n=512,n=400,n=300
kernel void resize_bilinear(global const float *in, global float *out, int iw, int ih, int ow, int oh) {
  int ox = get_global_id(0), oy = get_global_id(1);
  if (ox >= ow || oy >= oh)
    return;
  float fx = (ox + 0.5f) * iw / ow - 0.5f, fy = (oy + 0.5f) * ih / oh - 0.5f;
  int x0 = max((int)floor(fx), 0), y0 = max((int)floor(fy), 0);
  int x1 = min(x0 + 1, iw - 1), y1 = min(y0 + 1, ih - 1);
  float ax = fx - x0, ay = fy - y0;
  float top = mix(in[y0 * iw + x0], in[y0 * iw + x1], ax), bottom = mix(in[y1 * iw + x0], in[y1 * iw + x1], ax);
  out[oy * ow + ox] = mix(top, bottom, ay);
}

//! global=256,1024 local=1,64 args=f:786432,F:262144,n=1024
kernel void gamma_rows(global const Color *in, global float *out, int rows) {
  int column = get_global_id(0), row = get_global_id(1);
  Color c = in[row * get_global_size(0) + column];
  float luma = 0.2126f * c.r + 0.7152f * c.g + 0.0722f * c.b;
  out[row * get_global_size(0) + column] = luma <= 0.0031308f ? 12.92f * luma : 1.055f * powr(luma, 1.0f / 2.4f) - 0.055f;
}

//! global=512,512 local=16,16 args=f:262144,F:262144,l:1296,n=512
kernel void tiled_blur(global const float *in, global float *out, local float *tile, int width) {
  int lx = get_local_id(0), ly = get_local_id(1), gx = get_group_id(0) * 16, gy = get_group_id(1) * 16;
  for (int i = ly * 16 + lx; i < 18 * 18; i += 256) {
    int sx = clamp_index(gx + i % 18 - 1, width), sy = clamp_index(gy + i / 18 - 1, width);
    tile[i] = in[sy * width + sx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      sum += tile[(ly + j) * 18 + lx + i] * (float)((2 - abs(j - 1)) * (2 - abs(i - 1)));
  out[(gy + ly) * width + gx + lx] = sum / 16.0f;
}
