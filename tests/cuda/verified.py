"""`HEDDLE_VERIFY=1`: launches next to the oracle; one that leaves its allocation, one whose access is not aligned.

Findings are errors that later calls return, too, until the context is reset. A kernel that asserts is not verified; others of its
module are."""

import numpy as np
from cuda.bindings import driver


def check(result):
    code, *values = result
    assert int(code) == 0, code
    return values[0] if len(values) == 1 else tuple(values) or None


PTX = b"""
.version 7.5
.target sm_75
.address_size 64
.visible .global .align 4 .u32 offset = 3;
.extern .shared .align 4 .b8 space[];
.visible .entry shifted(.param .u64 out, .param .u64 in, .param .u32 more) {
  .reg .u32 %r<4>;
  .reg .u64 %a<3>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r0, %r1, 64, %r0;
  mul.wide.u32 %a2, %r0, 4;
  ld.param.u64 %a0, [out];
  ld.param.u64 %a1, [in];
  add.u64 %a0, %a0, %a2;
  add.u64 %a1, %a1, %a2;
  ld.global.u32 %r1, [%a1];
  ld.global.u32 %r2, [offset];
  ld.param.u32 %r3, [more];
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r3;
  mov.u32 %r2, %tid.x;
  shl.b32 %r2, %r2, 2;
  mov.u32 %r3, space;
  add.u32 %r3, %r3, %r2;
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [%r3];
  st.global.u32 [%a0], %r1;
  ret;
}
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.visible .entry checked(.param .u64 out) {
  .reg .u64 %a;
  .reg .u32 %r;
  .reg .pred %p;
  ld.param.u64 %a, [out];
  ld.global.u32 %r, [%a];
  setp.ne.u32 %p, %r, 4711;
  @%p bra done;
  { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    call.uni __assertfail, (a, b, c, d, e); }
done:
  ret;
}
.visible .entry other(.param .u64 out) {
  .reg .v4 .f32 %v;
  ret;
}
.visible .entry crooked(.param .u64 out) {
  .reg .u64 %a;
  ld.param.u64 %a, [out];
  st.global.u32 [%a + 2], 1;
  ret;
}
"""

check(driver.cuInit(0))
context = check(driver.cuDevicePrimaryCtxRetain(0))
check(driver.cuCtxSetCurrent(context))
module = check(driver.cuModuleLoadData(PTX + b"\0"))
shifted = check(driver.cuModuleGetFunction(module, b"shifted"))
# A function that is not understood does not affect the others.
assert int(driver.cuModuleGetFunction(module, b"other")[0]) != 0
there, out = check(driver.cuMemAlloc(4 * 128)), check(driver.cuMemAlloc(4 * 128))
values = np.arange(128, dtype=np.uint32)
check(driver.cuMemcpyHtoD(there, values, values.nbytes))
start, _ = check(driver.cuModuleGetGlobal(module, b"offset"))
check(driver.cuMemcpyHtoD(start, np.array([5], np.uint32), 4))


def launch(blocks):
    arguments = [np.array([int(out)], np.uint64), np.array([int(there)], np.uint64), np.array([100], np.uint32)]
    pointers = np.array([argument.ctypes.data for argument in arguments], np.uint64)
    return int(driver.cuLaunchKernel(shifted, blocks, 1, 1, 64, 1, 1, 256, 0, pointers.ctypes.data, 0)[0])


assert launch(2) == 0
found = np.zeros(128, np.uint32)
check(driver.cuMemcpyDtoH(found, out, found.nbytes))
assert (found == values + 105).all()
# The third block is after both allocations.
assert launch(3) == 700
# The error stays.
assert launch(2) == 700


def fresh():
    check(driver.cuDevicePrimaryCtxReset(0))
    check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(0))))
    module = check(driver.cuModuleLoadData(PTX + b"\0"))
    return module, check(driver.cuMemAlloc(4 * 128))


def launch_on_memory(module, out, name):
    function = check(driver.cuModuleGetFunction(module, name))
    argument = np.array([int(out)], np.uint64)
    pointers = np.array([argument.ctypes.data], np.uint64)
    return int(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, pointers.ctypes.data, 0)[0])


module, out = fresh()
check(driver.cuMemsetD32(out, 0, 128))
assert launch_on_memory(module, out, b"checked") == 0
assert launch_on_memory(module, out, b"crooked") == 716
assert launch_on_memory(module, out, b"checked") == 716
print("passed")
