"""`ptx_run` of libgpuocelot.so: values of all sizes, shared memory, errors."""

import ctypes

import numpy as np

library = ctypes.CDLL("libgpuocelot.so")
library.ptx_run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)] + [ctypes.c_int] * 7


def run(text, values, block, grid, shared=0):
    arguments = (ctypes.c_void_p * len(values))(*values)
    return library.ptx_run(text.encode(), len(values), arguments, *block, *grid, shared)


HEAD = ".version 7.5\n.target sm_75\n.address_size 64\n"
AXPY = HEAD + """
.visible .entry axpy(.param .u64 out, .param .u64 in, .param .f32 factor, .param .u32 count) {
  .reg .pred %p;
  .reg .u32 %i<3>;
  .reg .u64 %a<3>;
  .reg .f32 %x<3>;
  mov.u32 %i0, %ctaid.x;
  mov.u32 %i1, %ntid.x;
  mov.u32 %i2, %tid.x;
  mad.lo.u32 %i0, %i0, %i1, %i2;
  ld.param.u32 %i1, [count];
  setp.ge.u32 %p, %i0, %i1;
  @%p ret;
  mul.wide.u32 %a2, %i0, 4;
  ld.param.u64 %a0, [out];
  ld.param.u64 %a1, [in];
  ld.param.f32 %x0, [factor];
  add.u64 %a0, %a0, %a2;
  add.u64 %a1, %a1, %a2;
  ld.global.f32 %x1, [%a1];
  ld.global.f32 %x2, [%a0];
  fma.rn.f32 %x2, %x0, %x1, %x2;
  st.global.f32 [%a0], %x2;
  ret;
}
"""
x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
factor = int(np.float32(2.5).view(np.uint32))
for _ in range(3):
    y[:] = 1
    assert run(AXPY, [y.ctypes.data, x.ctypes.data, factor, 1000], (128, 1, 1), (8, 1, 1)) == 0
    assert (y == 1 + np.float32(2.5) * x).all()

REVERSE = HEAD + """
.extern .shared .align 4 .b8 space[];
.visible .entry reverse(.param .u64 values) {
  .reg .u32 %i;
  .reg .u32 %n;
  .reg .u32 %at;
  .reg .u32 %v;
  .reg .u64 %p;
  .reg .u64 %o;
  mov.u32 %i, %tid.x;
  mov.u32 %n, %ntid.x;
  ld.param.u64 %p, [values];
  mul.wide.u32 %o, %i, 4;
  add.u64 %p, %p, %o;
  ld.global.u32 %v, [%p];
  mov.u32 %at, space;
  mad.lo.u32 %at, %i, 4, %at;
  st.shared.u32 [%at], %v;
  bar.sync 0;
  sub.u32 %n, %n, %i;
  sub.u32 %n, %n, 1;
  mov.u32 %at, space;
  mad.lo.u32 %at, %n, 4, %at;
  ld.shared.u32 %v, [%at];
  st.global.u32 [%p], %v;
  ret;
}
"""
values = np.arange(96, dtype=np.uint32)
assert run(REVERSE, [values.ctypes.data], (96, 1, 1), (1, 1, 1), 4 * 96) == 0
assert (values == np.arange(96)[::-1]).all()

# Errors are numbers of cuda.h: a text that is none, sizes that are none, too few values.
assert run("nothing", [], (1, 1, 1), (1, 1, 1)) == 218
assert run(REVERSE, [values.ctypes.data], (0, 1, 1), (1, 1, 1)) == 1
assert run(REVERSE, [values.ctypes.data], (2048, 1, 1), (1, 1, 1)) == 1
assert run(REVERSE, [values.ctypes.data], (1, 1, 1), (1, 1, 1), 1 << 30) == 1
assert run(AXPY, [y.ctypes.data], (1, 1, 1), (1, 1, 1)) == 1
print("passed")
