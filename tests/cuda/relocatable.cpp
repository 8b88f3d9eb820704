// An image of two translation units that are linked when it is loaded, packed by hand as `nvcc -rdc=true` packs it: a wrapper of
// version 2 with an empty container, and a list of containers with the PTX of each unit.

#include "require.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <vector>

extern "C" {
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, void *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
}

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char *const calls = HEAD R"(
.global .align 4 .u32 own = 1;
.extern .func (.param .b32 r) scale (.param .b32 x);
.extern .global .align 8 .u64 chosen;
.extern .const .align 4 .b8 table[16];
.visible .entry k (.param .u64 out) {
  .reg .b32 %r<9>;
  .reg .b64 %a<5>;
  ld.param.u64 %a1, [out];
  mov.u32 %r1, %tid.x;
  { .param .b32 x; st.param.b32 [x], %r1; .param .b32 r; call (r), scale, (x); ld.param.b32 %r2, [r]; }
  ld.global.u64 %a2, [chosen];
  { .param .b32 x; st.param.b32 [x], %r2; .param .b32 r;
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %a2, (x), prototype; ld.param.b32 %r3, [r]; }
  ld.const.u32 %r4, [table+8];
  ld.global.u32 %r5, [own];
  add.u32 %r3, %r3, %r4;
  add.u32 %r3, %r3, %r5;
  mul.wide.u32 %a3, %r1, 4;
  add.u64 %a4, %a1, %a3;
  st.global.u32 [%a4], %r3;
  ret;
}
)";

static const char *const defines = HEAD R"(
.global .align 4 .u32 own = 10;
.func (.param .b32 r) minus (.param .b32 x);
.visible .global .align 8 .u64 chosen = minus;
.visible .const .align 4 .b8 table[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
.visible .func (.param .b32 r) scale (.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  ld.global.u32 %r2, [own];
  mul.lo.u32 %r1, %r1, %r2;
  st.param.b32 [r], %r1;
  ret;
}
.func (.param .b32 r) minus (.param .b32 x) {
  .reg .b32 %r<2>;
  ld.param.b32 %r1, [x];
  neg.s32 %r1, %r1;
  st.param.b32 [r], %r1;
  ret;
}
)";

// The unit of `libcudadevrt.a`: the driver does not read it.
static const char *const device_runtime = HEAD ".extern .func __cuda_syscall_CGS_sync; nothing that PTX has";

static const char *const nested = HEAD R"(
.extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 a, .param .b64 b);
.visible .entry parent () {
  { .param .b64 a; st.param.b64 [a], 0; .param .b64 b; st.param.b64 [b], 0; .param .b32 r;
    call (r), cudaLaunchDeviceV2, (a, b); }
  ret;
}
)";

template <class T> static void put(std::vector<char> &bytes, T value) {
  const char *start = reinterpret_cast<const char *>(&value);
  bytes.insert(bytes.end(), start, start + sizeof value);
}

static std::vector<char> container(std::string text) {
  std::vector<char> bytes;
  text.resize((text.size() + 8) / 8 * 8);
  put<unsigned>(bytes, 0xba55ed50), put<unsigned short>(bytes, 1), put<unsigned short>(bytes, 16);
  put<unsigned long long>(bytes, 24 + text.size());
  put<unsigned short>(bytes, 1), put<unsigned short>(bytes, 0x101), put<unsigned>(bytes, 24);
  put<unsigned long long>(bytes, text.size()), put<unsigned long long>(bytes, 0);
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

struct Wrapper {
  unsigned mark, version;
  const void *container;
  const void *units;
};

static unsigned char k_stub, parent_stub;
static int table_stub[4];

static void **load(const std::vector<const char *> &texts) {
  static const unsigned long long empty[2] = {0x00100001ba55ed50, 0};
  auto *units = new std::vector<std::vector<char>>;
  auto *list = new std::vector<const void *>;
  for (const char *text : texts) units->push_back(container(text));
  for (const auto &unit : *units) list->push_back(unit.data());
  list->push_back(nullptr);
  void **image = __cudaRegisterFatBinary(new Wrapper{0x466243b1, 2, empty, list->data()});
  auto kernel = [&](unsigned char *stub, const char *name) {
    __cudaRegisterFunction(image, (const char *)stub, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  };
  kernel(&k_stub, "k"), kernel(&parent_stub, "parent");
  __cudaRegisterVar(image, (char *)table_stub, nullptr, "table", 0, sizeof table_stub, 1, 0);
  __cudaRegisterFatBinaryEnd(image);
  return image;
}

static cudaError_t launch(unsigned char *stub, void **values) {
  cudaError_t code = cudaLaunchKernel(stub, dim3(1), dim3(64), values, 0, 0);
  return code ? code : cudaDeviceSynchronize();
}

int main() {
  int *out;
  REQUIRE(!cudaMallocManaged(&out, 64 * sizeof(int)));
  void *values[] = {&out};
  void **image = load({calls, device_runtime, defines, nested});
  REQUIRE(!launch(&k_stub, values));
  for (int i = 0; i < 64; ++i) REQUIRE(out[i] == -10 * i + 256 + 1);
  // Constants of another unit are written like those of the same.
  const int other[4] = {0, 0, 7, 0};
  REQUIRE(!cudaMemcpyToSymbol(table_stub, other, sizeof other) && !launch(&k_stub, values) && out[2] == -20 + 7 + 1);
  REQUIRE(launch(&parent_stub, nullptr) == cudaErrorNotSupported);
  __cudaUnregisterFatBinary(image);
  // A function that no unit defines refuses its kernel, and two definitions the image.
  image = load({calls, nested});
  REQUIRE(launch(&k_stub, values) == cudaErrorNotSupported);
  __cudaUnregisterFatBinary(image);
  image = load({calls, defines, defines});
  REQUIRE(launch(&k_stub, values) == cudaErrorInvalidPtx);
  __cudaUnregisterFatBinary(image);
  image = load({device_runtime});
  REQUIRE(launch(&k_stub, values) == cudaErrorNoKernelImageForDevice);
  std::printf("passed\n");
}
