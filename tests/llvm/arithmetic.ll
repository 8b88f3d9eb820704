; Integers with all their flags, comparisons, casts.
; run: @flags(7, 5) lanes=1 -> 15
; run: @flags(-128, 1) lanes=1 -> fault: poison
; run: @casts(200) lanes=1 -> -56, 200, -0.5, 200.0
; run: @wide(1) lanes=1 -> 170141183460469231731687303715884105727
; run: @compare(-1, 1) lanes=1 -> 5
define i8 @flags(i8 %a, i8 %b) {
  %s = add nsw i8 %a, %b
  %d = sub nsw i8 %s, 2
  %m = mul nuw i8 %d, 3
  %h = lshr exact i8 %m, 1
  %o = or disjoint i8 %h, 0
  ret i8 %o
}
define { i8, i32, float, double } @casts(i32 %x) {
  %t = trunc i32 %x to i8
  %z = zext i8 %t to i32
  %p = zext nneg i32 %x to i64
  %f = uitofp nneg i64 %p to float
  %g = fdiv float %f, -4.000000e+02
  %d = sitofp i32 %z to double
  %a = insertvalue { i8, i32, float, double } poison, i8 %t, 0
  %b = insertvalue { i8, i32, float, double } %a, i32 %z, 1
  %c = insertvalue { i8, i32, float, double } %b, float %g, 2
  %e = insertvalue { i8, i32, float, double } %c, double %d, 3
  ret { i8, i32, float, double } %e
}
define i128 @wide(i128 %x) {
  %l = lshr i128 -1, %x
  ret i128 %l
}
define i32 @compare(i32 %a, i32 %b) {
  %u = icmp ugt i32 %a, %b
  %s = icmp sgt i32 %a, %b
  %x = zext i1 %u to i32
  %y = select i1 %u, i32 4, i32 8
  %r = add i32 %x, %y
  ret i32 %r
}
