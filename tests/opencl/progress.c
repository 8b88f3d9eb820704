// Sub-groups and work-items of a group wait in loops for what others of the group write, before and between barriers.
#include "check.h"

static const char *source =
    // Each sub-group in turn, last one first; one work-item of each waits.
    "kernel void turns(global uint *out) {\n"
    "  local atomic_uint turn;\n"
    "  uint n = get_num_sub_groups(), own = get_sub_group_id();\n"
    "  if (get_local_id(0) == 0) atomic_init(&turn, 0);\n"
    "  work_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (get_sub_group_local_id() == 0) {\n"
    "    while (atomic_load_explicit(&turn, memory_order_relaxed, memory_scope_work_group) != n - 1 - own) {}\n"
    "    out[own] = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed, memory_scope_work_group);\n"
    "  }\n"
    "  work_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (get_local_id(0) == get_local_size(0) - 1)\n"
    "    out[n] = atomic_load_explicit(&turn, memory_order_relaxed, memory_scope_work_group);\n"
    "}\n"
    // Two sub-groups send a number to and fro, and all lanes see what came back.
    "kernel void letters(global uint *out, uint rounds) {\n"
    "  local volatile uint box[2];\n"
    "  uint own = get_sub_group_id();\n"
    "  if (get_local_id(0) == 0) box[0] = box[1] = 0;\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  uint last = 0;\n"
    "  for (uint i = 1; i <= rounds && own < 2; i++) {\n"
    "    if (get_sub_group_local_id() == 0) {\n"
    "      if (own == 0) { box[0] = i; while (box[1] != 3 * i) {} last = box[1]; }\n"
    "      else { while (box[0] != i) {} box[1] = 3 * i; last = i; }\n"
    "    }\n"
    "    last = sub_group_broadcast(last, 0);\n"
    "  }\n"
    "  out[get_local_id(0)] = last;\n"
    "}\n"
    // The first work-item waits for the last one, which comes in a later brush; no barrier.
    "kernel void first(volatile global uint *flag, global uint *out) {\n"
    "  size_t i = get_local_id(0), n = get_local_size(0);\n"
    "  if (i == 0) { while (flag[0] == 0) {} out[0] = flag[0]; }\n"
    "  if (i == n - 1) flag[0] = n;\n"
    "}\n";

enum { MOST = 512 };
static cl_uint out[MOST], zeros[MOST];

static void launch(struct setting s, cl_kernel kernel, cl_mem memory, size_t items) {
  CHECK(clEnqueueWriteBuffer(s.queue, memory, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL));
  CHECK(clEnqueueNDRangeKernel(s.queue, kernel, 1, NULL, &items, &items, 0, NULL, NULL));
  CHECK(clEnqueueReadBuffer(s.queue, memory, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL));
}

int main(void) {
  struct setting s = start(0);
  cl_int error;
  cl_program program = build(s, source, "-cl-std=CL3.0");
  cl_kernel kernels[3];
  const char *names[] = {"turns", "letters", "first"};
  for (int i = 0; i < 3; i++) {
    kernels[i] = clCreateKernel(program, names[i], &error);
    CHECK(error);
  }
  cl_mem memory = clCreateBuffer(s.context, 0, sizeof out, NULL, &error);
  CHECK(error);
  cl_mem flag = clCreateBuffer(s.context, 0, sizeof(cl_uint), NULL, &error);
  CHECK(error);
  for (int i = 0; i < 2; i++) CHECK(clSetKernelArg(kernels[i], 0, sizeof memory, &memory));
  size_t sizes[] = {256, 7, 100, 1};
  for (int i = 0; i < 4; i++) {
    size_t items = sizes[i], lanes;
    CHECK(clGetKernelSubGroupInfo(kernels[0], s.device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof items, &items, sizeof lanes,
                                  &lanes, NULL));
    size_t groups = (items + lanes - 1) / lanes;
    launch(s, kernels[0], memory, items);
    for (size_t j = 0; j < groups; j++) EXPECT(out[j] == groups - 1 - j);
    EXPECT(out[groups] == groups);
    if (groups < 2) continue;
    cl_uint rounds = 5;
    CHECK(clSetKernelArg(kernels[1], 1, sizeof rounds, &rounds));
    launch(s, kernels[1], memory, items);
    for (size_t j = 0; j < items; j++) EXPECT(out[j] == (j < lanes ? 15u : j < 2 * lanes ? 5u : 0u));
  }
  CHECK(clSetKernelArg(kernels[2], 0, sizeof flag, &flag));
  CHECK(clSetKernelArg(kernels[2], 1, sizeof memory, &memory));
  for (int i = 0; i < 3; i++) {
    CHECK(clEnqueueWriteBuffer(s.queue, flag, CL_TRUE, 0, sizeof(cl_uint), zeros, 0, NULL, NULL));
    launch(s, kernels[2], memory, sizes[i]);
    EXPECT(out[0] == sizes[i]);
  }
  for (int i = 0; i < 3; i++) CHECK(clReleaseKernel(kernels[i]));
  CHECK(clReleaseMemObject(memory));
  CHECK(clReleaseMemObject(flag));
  CHECK(clReleaseProgram(program));
  end(s);
  return passed();
}
