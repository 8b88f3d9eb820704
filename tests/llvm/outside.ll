; Calls through pointers ask which function it is; what is called as it is says so by its name.
; run: @chosen([0, 1, 0, 1], 5) lanes=4 -> [6, 10, 6, 10]
; run: @known(3) lanes=2 -> [4, 4]
; refused: @by_value:
target triple = "x86_64-pc-linux-gnu"
%pair = type { i32, i32 }
@both = constant [2 x ptr] [ptr @next, ptr @twice]
define i32 @next(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @twice(i32 %x) {
  %y = shl i32 %x, 1
  ret i32 %y
}
define i32 @chosen(i64 %i, i32 %x) {
  %at = getelementptr ptr, ptr @both, i64 %i
  %f = load ptr, ptr %at, align 8
  %r = call i32 %f(i32 %x)
  ret i32 %r
}
define i32 @known(i32 %x) {
  %is = icmp eq ptr @next, @twice
  %f = select i1 %is, ptr @twice, ptr @next
  %r = call i32 %f(i32 %x)
  ret i32 %r
}
define i32 @prints(ptr %p, i32 %x) {
  %r = call i32 (ptr, ...) @printf(ptr %p, i32 %x, double 1.0)
  ret i32 %r
}
define <4 x float> @vectors(<4 x float> %x, i8 %n) {
  %r = call <4 x float> @outer(<4 x float> %x, i8 signext %n)
  ret <4 x float> %r
}
define i32 @by_value(ptr %f, ptr %p) {
  %r = call i32 %f(ptr byval(%pair) %p)
  ret i32 %r
}
declare i32 @printf(ptr, ...)
declare <4 x float> @outer(<4 x float>, i8 signext)
