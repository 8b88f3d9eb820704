; Globals, constant expressions, addresses of all kinds, memory intrinsics, atomics.
; run: @tables(2) lanes=1 -> 30
; run: @tables(3) lanes=1 -> 40
; run: @address(&a) with a: i32 [0, 0, 0, 7] -> 7
; run: @moved(&a) with a: i8 [1, 2, 3, 4, 5, 6, 7, 8] -> ; a: [1, 1, 2, 3, 9, 9, 7, 8]
; run: @atomics(&a) lanes=1 with a: i32 [5, 6] -> 5, 6, true; a: [8, 42]
; run: @counter() lanes=1 -> 3
; run: @pointers(&a) lanes=1 with a: i64 [0] -> true
; run: @several(1) lanes=1 -> 6
%pair = type { i32, [3 x i16] }
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
@last = internal global ptr getelementptr inbounds ([4 x i32], ptr @table, i64 0, i64 3)
@number = global i32 2
@pairs = global [2 x %pair] [%pair { i32 1, [3 x i16] [i16 2, i16 3, i16 4] }, %pair { i32 5, [3 x i16] [i16 6, i16 7, i16 8] }]
@other = alias i32, ptr @number
define i32 @tables(i64 %i) {
  %p = getelementptr inbounds [4 x i32], ptr @table, i64 0, i64 %i
  %v = load i32, ptr %p
  %q = load ptr, ptr @last
  %l = load i32, ptr %q
  %e = icmp eq i32 %v, %l
  %r = select i1 %e, i32 40, i32 %v
  ret i32 %r
}
define i16 @several(i64 %i) {
  %p = getelementptr inbounds nuw [2 x %pair], ptr @pairs, i64 0, i64 %i, i32 1, i32 0
  %v = load i16, ptr %p
  ret i16 %v
}
define i32 @address(ptr %a) {
  %p = getelementptr nusw i8, ptr %a, i8 12
  %v = load i32, ptr %p, align 4
  ret i32 %v
}
define void @moved(ptr %a) {
  %b = getelementptr i8, ptr %a, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %b, ptr %a, i64 3, i1 false)
  %c = getelementptr i8, ptr %a, i64 4
  call void @llvm.memset.p0.i32(ptr align 1 %c, i8 9, i32 2, i1 false)
  ret void
}
define { i32, i32, i1 } @atomics(ptr %a) {
  %old = atomicrmw add ptr %a, i32 3 seq_cst
  %b = getelementptr i32, ptr %a, i64 1
  %x = cmpxchg weak ptr %b, i32 6, i32 42 acq_rel monotonic
  fence syncscope("singlethread") release
  %v = extractvalue { i32, i1 } %x, 0
  %d = extractvalue { i32, i1 } %x, 1
  %r = insertvalue { i32, i32, i1 } poison, i32 %old, 0
  %s = insertvalue { i32, i32, i1 } %r, i32 %v, 1
  %t = insertvalue { i32, i32, i1 } %s, i1 %d, 2
  ret { i32, i32, i1 } %t
}
define i32 @counter() {
  %v = load i32, ptr @other
  %w = add i32 %v, 1
  store i32 %w, ptr @number
  %r = load atomic i32, ptr @number acquire, align 4
  ret i32 %r
}
define i1 @pointers(ptr %a) {
  %i = ptrtoint ptr %a to i64
  %j = add i64 %i, 8
  %p = inttoptr i64 %j to ptr
  store ptr %p, ptr %a
  %q = load ptr, ptr %a
  %e = icmp eq ptr %p, %q
  ret i1 %e
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)
