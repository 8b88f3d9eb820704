; Intrinsics that are ops, and intrinsics that become several.
; run: @sums(100, 100) lanes=1 -> -56, true, 127, 127
; run: @sums(100, 20) lanes=1 -> 120, false, 120, 120
; run: @products(-128, 2) lanes=1 -> true, true, 0
; run: @counts(0x00f0) lanes=1 -> 8, 4, 4, 0xf000
; run: @floats(2.5, nan) lanes=1 -> 2.0, 3.0, 2.5, nan, 3
; run: @parts(-2.25) lanes=1 -> -0.25, -2.0
; run: @parts(inf) lanes=1 -> 0.0, inf
; run: @threeway(-1, 1) lanes=1 -> -1, 1
; run: @shifts(100, 1) lanes=1 -> 127, -56
; run: @class(-0.0) lanes=1 -> true
; run: @rotated(0x1234, 4) lanes=1 -> 0x2341
; run: @sine(0.0) lanes=1 -> 0.0
; run: @dropped(&a) lanes=1 with a: i32 [4] -> 4
define { i8, i1, i8, i8 } @sums(i8 %a, i8 %b) {
  %x = call { i8, i1 } @llvm.sadd.with.overflow.i8(i8 %a, i8 %b)
  %v = extractvalue { i8, i1 } %x, 0
  %o = extractvalue { i8, i1 } %x, 1
  %s = call i8 @llvm.sadd.sat.i8(i8 %a, i8 %b)
  %m = call i8 @llvm.smax.i8(i8 %s, i8 %v)
  %1 = insertvalue { i8, i1, i8, i8 } poison, i8 %v, 0
  %2 = insertvalue { i8, i1, i8, i8 } %1, i1 %o, 1
  %3 = insertvalue { i8, i1, i8, i8 } %2, i8 %s, 2
  %4 = insertvalue { i8, i1, i8, i8 } %3, i8 %m, 3
  ret { i8, i1, i8, i8 } %4
}
define { i1, i1, i8 } @products(i8 %a, i8 %b) {
  %x = call { i8, i1 } @llvm.smul.with.overflow.i8(i8 %a, i8 %b)
  %y = call { i8, i1 } @llvm.umul.with.overflow.i8(i8 %a, i8 %b)
  %o = extractvalue { i8, i1 } %x, 1
  %p = extractvalue { i8, i1 } %y, 1
  %v = extractvalue { i8, i1 } %y, 0
  %1 = insertvalue { i1, i1, i8 } poison, i1 %o, 0
  %2 = insertvalue { i1, i1, i8 } %1, i1 %p, 1
  %3 = insertvalue { i1, i1, i8 } %2, i8 %v, 2
  ret { i1, i1, i8 } %3
}
define { i16, i16, i16, i16 } @counts(i16 %x) {
  %l = call i16 @llvm.ctlz.i16(i16 %x, i1 true)
  %t = call i16 @llvm.cttz.i16(i16 %x, i1 false)
  %p = call i16 @llvm.ctpop.i16(i16 %x)
  %b = call i16 @llvm.bswap.i16(i16 %x)
  %1 = insertvalue { i16, i16, i16, i16 } poison, i16 %l, 0
  %2 = insertvalue { i16, i16, i16, i16 } %1, i16 %t, 1
  %3 = insertvalue { i16, i16, i16, i16 } %2, i16 %p, 2
  %4 = insertvalue { i16, i16, i16, i16 } %3, i16 %b, 3
  ret { i16, i16, i16, i16 } %4
}
define { float, float, float, float, i32 } @floats(float %x, float %y) {
  %r = call float @llvm.rint.f32(float %x)
  %u = call float @llvm.round.f32(float %x)
  %n = call float @llvm.minimumnum.f32(float %x, float %y)
  %m = call float @llvm.minimum.f32(float %x, float %y)
  %l = call i32 @llvm.lround.i32.f32(float %x)
  %1 = insertvalue { float, float, float, float, i32 } poison, float %r, 0
  %2 = insertvalue { float, float, float, float, i32 } %1, float %u, 1
  %3 = insertvalue { float, float, float, float, i32 } %2, float %n, 2
  %4 = insertvalue { float, float, float, float, i32 } %3, float %m, 3
  %5 = insertvalue { float, float, float, float, i32 } %4, i32 %l, 4
  ret { float, float, float, float, i32 } %5
}
define { double, double } @parts(double %x) {
  %r = call { double, double } @llvm.modf.f64(double %x)
  ret { double, double } %r
}
define { i8, i8 } @threeway(i32 %a, i32 %b) {
  %s = call i8 @llvm.scmp.i8.i32(i32 %a, i32 %b)
  %u = call i8 @llvm.ucmp.i8.i32(i32 %a, i32 %b)
  %1 = insertvalue { i8, i8 } poison, i8 %s, 0
  %2 = insertvalue { i8, i8 } %1, i8 %u, 1
  ret { i8, i8 } %2
}
define { i8, i8 } @shifts(i8 %a, i8 %b) {
  %s = call i8 @llvm.sshl.sat.i8(i8 %a, i8 %b)
  %u = call i8 @llvm.ushl.sat.i8(i8 %a, i8 %b)
  %1 = insertvalue { i8, i8 } poison, i8 %s, 0
  %2 = insertvalue { i8, i8 } %1, i8 %u, 1
  ret { i8, i8 } %2
}
define i1 @class(float %x) {
  %c = call i1 @llvm.is.fpclass.f32(float %x, i32 32)
  ret i1 %c
}
define i16 @rotated(i16 %x, i16 %n) {
  %r = call i16 @llvm.fshl.i16(i16 %x, i16 %x, i16 %n)
  ret i16 %r
}
define double @sine(double %x) {
  %r = call double @llvm.sin.f64(double %x)
  ret double %r
}
define i32 @dropped(ptr %a) {
  %p = alloca i32
  call void @llvm.lifetime.start.p0(ptr %p)
  %v = load i32, ptr %a
  store i32 %v, ptr %p
  %e = call i32 @llvm.expect.i32(i32 %v, i32 4)
  %c = icmp eq i32 %e, 4
  call void @llvm.assume(i1 %c)
  call void @llvm.assume(i1 true) [ "align"(ptr %a, i64 4) ]
  %w = load i32, ptr %p
  call void @llvm.lifetime.end.p0(ptr %p)
  ret i32 %w
}
declare { i8, i1 } @llvm.sadd.with.overflow.i8(i8, i8)
declare { i8, i1 } @llvm.smul.with.overflow.i8(i8, i8)
declare { i8, i1 } @llvm.umul.with.overflow.i8(i8, i8)
declare i8 @llvm.sadd.sat.i8(i8, i8)
declare i8 @llvm.smax.i8(i8, i8)
declare i16 @llvm.ctlz.i16(i16, i1)
declare i16 @llvm.cttz.i16(i16, i1)
declare i16 @llvm.ctpop.i16(i16)
declare i16 @llvm.bswap.i16(i16)
declare float @llvm.rint.f32(float)
declare float @llvm.round.f32(float)
declare float @llvm.minimumnum.f32(float, float)
declare float @llvm.minimum.f32(float, float)
declare i32 @llvm.lround.i32.f32(float)
declare { double, double } @llvm.modf.f64(double)
declare i8 @llvm.scmp.i8.i32(i32, i32)
declare i8 @llvm.ucmp.i8.i32(i32, i32)
declare i8 @llvm.sshl.sat.i8(i8, i8)
declare i8 @llvm.ushl.sat.i8(i8, i8)
declare i1 @llvm.is.fpclass.f32(float, i32)
declare i16 @llvm.fshl.i16(i16, i16, i16)
declare double @llvm.sin.f64(double)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare i32 @llvm.expect.i32(i32, i32)
declare void @llvm.assume(i1)
