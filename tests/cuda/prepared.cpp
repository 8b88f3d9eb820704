// Gets the kernels of a module on CUDA's driver interface. With `launch` it launches them, too. With `load` it only loads the module, and
// waits until a file is in a folder.

#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#define CHECK(call) require((call) == CUDA_SUCCESS, #call, __LINE__)

static void require(bool holds, const char *text, int line) {
  if (!holds) {
    std::printf("%d: not %s\n", line, text);
    std::exit(1);
  }
}

static bool has_object(const char *folder) {
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".o") return true;
  return false;
}

int main(int, char **arguments) {
  const int width = 64;
  const std::string mode = arguments[2];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, arguments[1]));
  if (mode == "load") {
    while (!has_object(arguments[3])) usleep(1000);
  } else {
    CUfunction scale, shift, turn;
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    CHECK(cuModuleGetFunction(&shift, module, "shift"));
    CHECK(cuModuleGetFunction(&turn, module, "turn"));
    if (mode == "launch") {
      std::vector<float> values(width * width);
      for (int i = 0; i < width * width; ++i) values[i] = i;
      CUdeviceptr memory;
      CHECK(cuMemAlloc(&memory, values.size() * sizeof(float)));
      CHECK(cuMemcpyHtoD(memory, values.data(), values.size() * sizeof(float)));
      int count = width * width, row = width;
      void *of_scale[] = {&memory, &count}, *of_rows[] = {&memory, &row};
      CHECK(cuLaunchKernel(scale, width * width / 128, 1, 1, 128, 1, 1, 0, nullptr, of_scale, nullptr));
      CHECK(cuLaunchKernel(shift, width / 32, width / 8, 1, 32, 8, 1, 0, nullptr, of_rows, nullptr));
      CHECK(cuLaunchKernel(turn, width / 16, width / 16, 1, 16, 16, 1, 0, nullptr, of_rows, nullptr));
      CHECK(cuMemcpyDtoH(values.data(), memory, values.size() * sizeof(float)));
      for (int y = 0; y < width; ++y)
        for (int x = 0; x < width; ++x) {
          int from = (y / 16 * 16 + x % 16) * width + x / 16 * 16 + y % 16;
          require(values[y * width + x] == 2.0f * from + 1, "the value of its source", y * width + x);
        }
      CHECK(cuMemFree(memory));
    }
  }
  CHECK(cuModuleUnload(module));
  std::printf("passed\n");
}
