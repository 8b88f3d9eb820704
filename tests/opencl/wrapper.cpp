// The same through the C++ wrapper: exceptions, kernel functors, and what it takes from the driver's answers.
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#define EXPECT(condition) \
  do { \
    if (!(condition)) { \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1); \
    } \
  } while (0)

static const char *source = R"(
kernel void sum(global const float *in, global float *out, local float *part, int n) {
  size_t at = get_local_id(0), size = get_local_size(0);
  float mine = 0;
  for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += in[i];
  part[at] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t step = size / 2; step > 0; step /= 2) {
    if (at < step) part[at] += part[at + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (at == 0) out[get_group_id(0)] = part[0];
}
kernel void transpose(global const float *in, global float *out, int width, int height) {
  local float tile[8][9];
  int x = get_global_id(0), y = get_global_id(1), i = get_local_id(0), j = get_local_id(1);
  if (x < width && y < height) tile[j][i] = in[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 8 + i, y = get_group_id(0) * 8 + j;
  if (x < height && y < width) out[y * height + x] = tile[i][j];
}
kernel void together(global long *out) {
  int sum = work_group_reduce_add((int)get_local_id(0)), before = work_group_scan_exclusive_add(2);
  atom_add(out + get_group_id(0), (long)(sum + before));
}
kernel void rest(global int *sizes) { sizes[get_global_id(0)] = get_local_size(0); }
)";

int main() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  cl::Platform platform;
  for (auto &candidate : platforms)
    if (candidate.getInfo<CL_PLATFORM_NAME>().rfind("Heddle", 0) == 0) platform = candidate;
  EXPECT(platform());
  std::vector<cl::Device> devices;
  platform.getDevices(CL_DEVICE_TYPE_ALL, &devices);
  EXPECT(devices.size() == 1 && devices[0].getInfo<CL_DEVICE_TYPE>() == CL_DEVICE_TYPE_CPU);
  EXPECT(devices[0].getInfo<CL_DEVICE_MAX_WORK_ITEM_SIZES>().size() == 3);
  cl::Context context(devices);
  cl::CommandQueue queue(context, devices[0]);
  cl::Program program(context, source);
  program.build("-cl-std=CL3.0");

  int n = 100000;
  std::vector<float> values(n), parts(16);
  for (int i = 0; i < n; i++) values[i] = float(i % 11);
  cl::Buffer in(context, values.begin(), values.end(), true), out(context, CL_MEM_WRITE_ONLY, 16 * sizeof(float));
  cl::KernelFunctor<cl::Buffer, cl::Buffer, cl::LocalSpaceArg, int> sum(program, "sum");
  sum(cl::EnqueueArgs(queue, cl::NDRange(16 * 64), cl::NDRange(64)), in, out, cl::Local(64 * sizeof(float)), n);
  cl::copy(queue, out, parts.begin(), parts.end());
  EXPECT(std::accumulate(parts.begin(), parts.end(), 0.0f) == std::accumulate(values.begin(), values.end(), 0.0f));

  int width = 37, height = 21;
  std::vector<float> turned(width * height);
  cl::Buffer flat(context, CL_MEM_READ_WRITE, width * height * sizeof(float));
  cl::KernelFunctor<cl::Buffer, cl::Buffer, int, int> transpose(program, "transpose");
  transpose(cl::EnqueueArgs(queue, cl::NDRange(40, 24), cl::NDRange(8, 8)), in, flat, width, height);
  cl::copy(queue, flat, turned.begin(), turned.end());
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) EXPECT(turned[x * height + y] == values[y * width + x]);

  std::vector<long> sums(2);
  cl::Buffer totals(queue, sums.begin(), sums.end(), false);
  cl::KernelFunctor<cl::Buffer> together(program, "together");
  together(cl::EnqueueArgs(queue, cl::NDRange(60), cl::NDRange(30)), totals);
  cl::copy(queue, totals, sums.begin(), sums.end());
  for (long sum : sums) EXPECT(sum == 30 * (29 * 30 / 2) + 2 * (29 * 30 / 2));

  // Groups at the end may be smaller, from OpenCL C 2.0 on.
  std::vector<int> sizes(10);
  cl::Buffer counts(context, CL_MEM_WRITE_ONLY, sizes.size() * sizeof(int));
  cl::KernelFunctor<cl::Buffer> rest(program, "rest");
  rest(cl::EnqueueArgs(queue, cl::NDRange(10), cl::NDRange(4)), counts);
  cl::copy(queue, counts, sizes.begin(), sizes.end());
  for (int i = 0; i < 10; i++) EXPECT(sizes[i] == (i < 8 ? 4 : 2));

  try {
    cl::Program(context, "kernel void broken(global int *a) { a[0] = nothing; }").build("");
    EXPECT(false);
  } catch (const cl::BuildError &error) {
    EXPECT(error.getBuildLog()[0].second.find("nothing") != std::string::npos);
  }
  // Images and samplers: each texel gets that of its left neighbour.
  std::vector<float> texels(64), moved(64);
  for (int i = 0; i < 64; i++) texels[i] = float(i);
  cl::ImageFormat format(CL_R, CL_FLOAT);
  cl::Image2D from(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, format, 8, 8, 0, texels.data());
  cl::Image2D to(context, CL_MEM_WRITE_ONLY, format, 8, 8);
  cl::Sampler sampler(context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
  cl::Program pictures(context, "kernel void left(read_only image2d_t from, sampler_t s, write_only image2d_t to) {"
                                "  int2 at = (int2)(get_global_id(0), get_global_id(1));"
                                "  write_imagef(to, at, read_imagef(from, s, at - (int2)(1, 0))); }");
  pictures.build("");
  cl::KernelFunctor<cl::Image2D, cl::Sampler, cl::Image2D> left(pictures, "left");
  left(cl::EnqueueArgs(queue, cl::NDRange(8, 8)), from, sampler, to);
  queue.enqueueReadImage(to, CL_TRUE, {0, 0, 0}, {8, 8, 1}, 0, 0, moved.data());
  for (int i = 0; i < 64; i++) EXPECT(moved[i] == (i % 8 == 0 ? 0 : i - 1));
  std::puts("passed");
}
