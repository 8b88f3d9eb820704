; Variables that another module defines are symbols; a run may say what they hold.
; run: @next(&a, 3) lanes=1 with a: i32 zero 4; n: i32 [6] -> a: [0, 0, 0, 7]; n: [7]
; run: @third() lanes=2 with table: i32 [1, 2, 3] -> [3, 3]
target triple = "x86_64-pc-linux-gnu"
%unknown = type opaque
@n = external global i32, align 4
@table = external global [0 x i32], align 4
@opaque = external global %unknown
@where = global ptr @opaque
define void @next(ptr %p, i64 %i) {
  %old = load i32, ptr @n, align 4
  %new = add i32 %old, 1
  store i32 %new, ptr @n, align 4
  %at = getelementptr i32, ptr %p, i64 %i
  store i32 %new, ptr %at, align 4
  ret void
}
define i32 @third() {
  %x = load i32, ptr getelementptr (i8, ptr @table, i64 8), align 4
  ret i32 %x
}
