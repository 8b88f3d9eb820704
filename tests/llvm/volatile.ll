; A volatile access happens in each active lane, once, in the order of lanes: the loads of all before the stores of all.
; run: @counts(&a, [1, 0, 1, 1]) lanes=4 with a: i32 [10] -> [10, 0, 10, 10]; a: [11]
; run: @copies(&a, &b) lanes=1 with a: i32 [1, 2]; b: i32 zero 2 -> b: [1, 2]
; run: @adds(&a) lanes=4 with a: i32 [5] -> [5, 6, 7, 8]; a: [9]
target triple = "x86_64-pc-linux-gnu"
define i32 @counts(ptr %p, i32 %c) {
  %is = icmp ne i32 %c, 0
  br i1 %is, label %yes, label %end
yes:
  %x = load volatile i32, ptr %p, align 4
  %y = add i32 %x, 1
  store volatile i32 %y, ptr %p, align 4
  br label %end
end:
  %r = phi i32 [ 0, %0 ], [ %x, %yes ]
  ret i32 %r
}
define void @copies(ptr %p, ptr %q) {
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %q, ptr align 4 %p, i64 8, i1 true)
  ret void
}
define i32 @adds(ptr %p) {
  %x = atomicrmw volatile add ptr %p, i32 1 seq_cst
  ret i32 %x
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
