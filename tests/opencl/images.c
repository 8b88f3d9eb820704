#include "check.h"
static const char *source =
"const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;"
"kernel void k(read_only image2d_t a, write_only image2d_t b, sampler_t t) {"
"  int2 p = (int2)(get_global_id(0), get_global_id(1));"
"  float4 v = read_imagef(a, s, p) + read_imagef(a, t, (float2)(p.x+1.5f,p.y+0.5f));"
"  write_imagef(b, p, v);"
"}";
int main(void){
  struct setting s = start(0); cl_int e;
  cl_program p = build(s, source, "");
  cl_kernel k = clCreateKernel(p, "k", &e); CHECK(e);
  cl_image_format f = {CL_RGBA, CL_FLOAT}, g = {CL_RGBA, CL_UNORM_INT8};
  cl_image_desc d = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 16};
  static float out[16][64][4]; static unsigned char in[16][64][4];
  for (int i = 0; i < 16*64*4; i++) (&in[0][0][0])[i] = i*7;
  cl_mem a = clCreateImage(s.context, CL_MEM_READ_ONLY|CL_MEM_COPY_HOST_PTR, &g, &d, in, &e); CHECK(e);
  cl_mem b = clCreateImage(s.context, CL_MEM_WRITE_ONLY, &f, &d, NULL, &e); CHECK(e);
  cl_sampler t = clCreateSampler(s.context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &e); CHECK(e);
  CHECK(clSetKernelArg(k, 0, sizeof a, &a)); CHECK(clSetKernelArg(k, 1, sizeof b, &b)); CHECK(clSetKernelArg(k, 2, sizeof t, &t));
  size_t n[2] = {64, 16};
  CHECK(clEnqueueNDRangeKernel(s.queue, k, 2, NULL, n, NULL, 0, NULL, NULL));
  size_t o[3] = {0,0,0}, r[3] = {64,16,1};
  CHECK(clEnqueueReadImage(s.queue, b, CL_TRUE, o, r, 0, 0, out, 0, NULL, NULL));
  for (int y = 0; y < 16; y++) for (int x = 0; x < 64; x++) for (int c = 0; c < 4; c++) {
    float w = in[y][x][c]*(1/255.f) + (x == 63 ? 0 : in[y][x+1][c]*(1/255.f));
    if (out[y][x][c] != w) { printf("%d %d %d: %g %g\n", x, y, c, out[y][x][c], w); return 1; }
  }
  return passed();
}
