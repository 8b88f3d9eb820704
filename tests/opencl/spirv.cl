// Kernels that the test compiles to SPIR-V. With LIBRARY, the function that they call in another module.
int twice(int x);
#ifdef LIBRARY
int twice(int x) { return 2 * x; }
#else
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
float __attribute__((overloadable)) __spirv_SpecConstant(int, float);
bool __attribute__((overloadable)) __spirv_SpecConstant(int, bool);

typedef struct {
  char tag;
  float4 weights;
  short list[3];
} item;
constant int table[4] = {3, 1, 4, 1};
global int counter = 5;

kernel __attribute__((reqd_work_group_size(4, 1, 1))) void many(global const int *restrict in, global int *out, item thing,
                                                                local int *scratch, int4 added, uchar small) {
  local int tile[4];
  int i = get_global_id(0), l = get_local_id(0);
  tile[l] = in[i];
  scratch[l] = thing.list[1] + (int)thing.weights.z + added.w + small;
  barrier(CLK_LOCAL_MEM_FENCE);
  int picked = tile[3 - l] + scratch[l];
  switch (i & 3) {
  case 0: picked += 100; break;
  case 2:
  case 3: picked += table[l]; break;
  }
  for (int j = 0; j < l; j++) picked = max(picked, picked * 3 - j);
  out[i] = picked + work_group_reduce_add(l) + counter;
}

kernel void specialized(global int *out) {
  out[0] = __spirv_SpecConstant(7, 42) * 2;
  out[1] = (int)(4 * __spirv_SpecConstant(9, 1.5f));
  out[2] = __spirv_SpecConstant(10, (bool)true);
}

kernel void calls(global int *out) { out[get_global_id(0)] = twice(get_global_id(0)) + 1; }
#endif
