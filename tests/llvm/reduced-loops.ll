; Loops as LLVM's strength reduction leaves them, and loops that look like it. The test also runs each file after
; `restore_indices`; `crates/llvm/tests/indices.rs` has what becomes of these.
; run: @countdown(&a, 0, 4, 0) lanes=1 with a: i32 [1, 2, 3, 4] -> 10
; run: @countdown(&a, 1, 3, 0) lanes=1 with a: i32 [1, 2, 3, 4] -> 5
; run: @countdown(&a, 3, 3, 7) lanes=1 with a: i32 [1, 2, 3, 4] -> 7
; run: @countdown(&a, 3, 1, 7) lanes=1 with a: i32 [1, 2, 3, 4] -> 7
; run: @unsigned(-2, -1) lanes=1 -> 4294967295
; run: @unsigned(3, 3) lanes=1 -> 0
; run: @top(2147483647, 2147483647) lanes=1 -> 2147483648
; run: @top(-3, 2) lanes=1 -> 2
; run: @wide_end(2147483646, -2147483647) lanes=1 -> 2147483649
; run: @unguarded(5, 8) lanes=1 -> 18
; run: @other_guard(-1, 1) lanes=1 -> 4294967296
; run: @truncated(-3, 6) lanes=1 -> 15
; run: @untruncated(8589934589, 6) lanes=1 -> 25769803797
; run: @strided(&a, 2, 3) lanes=1 with a: i32 [1, 2, 3, 4, 5, 6] -> 9
; run: @by_twos(&a) lanes=1 with a: i32 [1, 2, 3, 4, 5, 6] -> 9
; run: @from_one(&a, 3) lanes=1 with a: i8 [1, 2, 3, 4] -> 5
; run: @flags(4294967301, 6) lanes=1 -> 11
; run: @masked(3) lanes=1 -> 3
; run: @masked(-1) lanes=1 -> 7
; run: @masked_sign(-2147483646) lanes=1 -> 2
; run: @switched(4294967303, 1) lanes=1 -> 7
; run: @switched(4294967303, 5) lanes=1 -> 0
; run: @descending(&a, 3, 2) lanes=1 with a: i32 [1, 2, 5, 7] -> 2
; run: @descending(&a, 3, 0) lanes=1 with a: i32 [1, 2, 5, 7] -> 0
; run: @descending(&a, 3, 9) lanes=1 with a: i32 [1, 2, 5, 7] -> 3
; run: @ascending(&a, 2) lanes=1 with a: i32 [4, 5, 6, 1, 0] -> 15
; run: @inserted(&a, 4) lanes=1 with a: i32 [3, 1, 4, 1] -> 1; a: [1, 1, 3, 4]
; run: @inserted(&a, 1) lanes=1 with a: i32 [3, 1, 4, 1] -> 1; a: [3, 1, 4, 1]
; run: @down_to(&a, 3) lanes=1 with a: i32 [1, 2, 3, 4] -> 10
; run: @down_to(&a, -1) lanes=1 with a: i32 [1, 2, 3, 4] -> 0
; run: @tiled(&a, 1, 0) lanes=1 with a: i32 zero 6 -> a: [0, 1, 0, 0, 0, 25]
; run: @tiled(&a, -4, 1) lanes=1 with a: i32 zero 6 -> a: [0, 0, 0, 0, 16, 0]
; run: @tiled(&a, 2, 1) lanes=1 with a: i32 zero 6 -> a: [0, 0, 0, 0, 0, 0]
; run: @tiled_sum(&a, 1, 0) lanes=1 with a: i32 zero 6 -> a: [0, 1, 0, 0, 0, 25]
; run: @tiled_top(&a, 1, 0) lanes=1 with a: i32 zero 6 -> a: [0, 1, 0, 0, 0, 25]
; run: @far_down(&a, 1) lanes=1 with a: i32 [1, 2, 3, 4] -> -2147483649
define i32 @countdown(ptr %a, i32 %first, i32 %last, i32 %none) {
entry:
  %any = icmp slt i32 %first, %last
  br i1 %any, label %before, label %end
before:
  %f = sext i32 %first to i64
  %l = sext i32 %last to i64
  %count = sub nsw i64 %l, %f
  %start = getelementptr i32, ptr %a, i64 %f
  br label %loop
loop:
  %left = phi i64 [ %count, %before ], [ %less, %loop ]
  %p = phi ptr [ %start, %before ], [ %next, %loop ]
  %sum = phi i32 [ 0, %before ], [ %more, %loop ]
  %x = load i32, ptr %p, align 4
  %more = add i32 %sum, %x
  %next = getelementptr i8, ptr %p, i64 4
  %less = add nsw i64 %left, -1
  %done = icmp eq i64 %less, 0
  br i1 %done, label %end, label %loop
end:
  %r = phi i32 [ %none, %entry ], [ %more, %loop ]
  ret i32 %r
}
define i64 @unsigned(i32 %first, i32 %last) {
entry:
  %any = icmp ugt i32 %last, %first
  br i1 %any, label %before, label %end
before:
  %f = zext i32 %first to i64
  %l = zext i32 %last to i64
  br label %loop
loop:
  %i = phi i64 [ %f, %before ], [ %next, %loop ]
  %next = add nuw i64 %i, 1
  %done = icmp eq i64 %next, %l
  br i1 %done, label %end, label %loop
end:
  %r = phi i64 [ 0, %entry ], [ %next, %loop ]
  ret i64 %r
}
; The first value may be the greatest, and the next one needs more bits.
define i64 @top(i32 %first, i32 %last) {
entry:
  %f = sext i32 %first to i64
  %l = sext i32 %last to i64
  br label %loop
loop:
  %i = phi i64 [ %f, %entry ], [ %next, %loop ]
  %next = add nsw i64 %i, 1
  %again = icmp slt i64 %next, %l
  br i1 %again, label %loop, label %end
end:
  ret i64 %next
}
; The end is a number without a sign.
define i64 @wide_end(i32 %first, i32 %last) {
entry:
  %f = sext i32 %first to i64
  %l = zext i32 %last to i64
  br label %loop
loop:
  %i = phi i64 [ %f, %entry ], [ %next, %loop ]
  %next = add nsw i64 %i, 1
  %again = icmp slt i64 %next, %l
  br i1 %again, label %loop, label %end
end:
  ret i64 %next
}
; Nothing says that the loop starts below its end.
define i64 @unguarded(i32 %first, i32 %last) {
entry:
  %f = sext i32 %first to i64
  %l = sext i32 %last to i64
  br label %loop
loop:
  %i = phi i64 [ %f, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %more = add i64 %sum, %i
  %next = add nsw i64 %i, 1
  %done = icmp eq i64 %next, %l
  br i1 %done, label %end, label %loop
end:
  ret i64 %more
}
; The guard compares signed numbers, the loop unsigned ones.
define i64 @other_guard(i32 %first, i32 %last) {
entry:
  %any = icmp slt i32 %first, %last
  br i1 %any, label %before, label %end
before:
  %f = zext i32 %first to i64
  %l = zext i32 %last to i64
  br label %loop
loop:
  %i = phi i64 [ %f, %before ], [ %next, %loop ]
  %next = add nuw i64 %i, 1
  %again = icmp ult i64 %next, %l
  br i1 %again, label %loop, label %end
end:
  %r = phi i64 [ 0, %entry ], [ %next, %loop ]
  ret i64 %r
}
define i32 @truncated(i64 %x, i32 %step) {
entry:
  %s = zext i32 %step to i64
  br label %loop
loop:
  %i = phi i64 [ %x, %entry ], [ %next, %loop ]
  %up = shl nsw i64 %i, 32
  %low = ashr exact i64 %up, 32
  %next = add nsw i64 %low, %s
  %cut = trunc i64 %next to i32
  %again = icmp slt i32 %cut, 10
  br i1 %again, label %loop, label %end
end:
  ret i32 %cut
}
define i64 @untruncated(i64 %x, i32 %step) {
entry:
  %s = zext i32 %step to i64
  br label %loop
loop:
  %i = phi i64 [ %x, %entry ], [ %next, %loop ]
  %twice = add i64 %i, %x
  %next = add i64 %i, %s
  %cut = trunc i64 %next to i32
  %again = icmp slt i32 %cut, 10
  br i1 %again, label %loop, label %end
end:
  %sum = add i64 %twice, %next
  ret i64 %sum
}
define i32 @strided(ptr %a, i32 %stride, i32 %count) {
entry:
  %any = icmp sgt i32 %count, 0
  br i1 %any, label %before, label %end
before:
  %c = zext i32 %count to i64
  %s = sext i32 %stride to i64
  br label %loop
loop:
  %left = phi i64 [ %c, %before ], [ %less, %loop ]
  %p = phi ptr [ %a, %before ], [ %next, %loop ]
  %sum = phi i32 [ 0, %before ], [ %more, %loop ]
  %x = load i32, ptr %p, align 4
  %more = add i32 %sum, %x
  %next = getelementptr i32, ptr %p, i64 %s
  %less = add nsw i64 %left, -1
  %again = icmp ne i64 %less, 0
  br i1 %again, label %loop, label %end
end:
  %r = phi i32 [ 0, %entry ], [ %more, %loop ]
  ret i32 %r
}
define i32 @by_twos(ptr %a) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %up, %loop ]
  %p = phi ptr [ %a, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %x = load i32, ptr %p, align 4
  %more = add i32 %sum, %x
  %next = getelementptr i8, ptr %p, i64 8
  %up = add nuw nsw i64 %i, 2
  %done = icmp eq i64 6, %up
  br i1 %done, label %end, label %loop
end:
  ret i32 %more
}
define i8 @from_one(ptr %a, i32 %last) {
entry:
  %any = icmp slt i32 %last, 2
  br i1 %any, label %end, label %before
before:
  %l = zext i32 %last to i64
  %count = add nsw i64 %l, -1
  br label %loop
loop:
  %left = phi i64 [ %count, %before ], [ %less, %loop ]
  %p = phi ptr [ %a, %before ], [ %next, %loop ]
  %sum = phi i8 [ 0, %before ], [ %more, %loop ]
  %next = getelementptr i8, ptr %p, i64 1
  %x = load i8, ptr %next, align 1
  %more = add i8 %sum, %x
  %less = add nsw i64 %left, -1
  %done = icmp eq i64 %less, 0
  br i1 %done, label %end, label %loop
end:
  %r = phi i8 [ 0, %entry ], [ %more, %loop ]
  ret i8 %r
}
define i64 @masked(i64 %x) {
entry:
  %cut = trunc i64 %x to i32
  %any = icmp sgt i32 %cut, 0
  br i1 %any, label %before, label %end
before:
  %l = and i64 %x, 2147483647
  br label %loop
loop:
  %i = phi i64 [ 0, %before ], [ %next, %loop ]
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %l, %next
  br i1 %done, label %end, label %loop
end:
  %r = phi i64 [ 7, %entry ], [ %next, %loop ]
  ret i64 %r
}
; The mask takes a sign away.
define i64 @masked_sign(i64 %x) {
entry:
  %cut = trunc i64 %x to i32
  %any = icmp ne i32 %cut, 0
  br i1 %any, label %before, label %end
before:
  %l = and i64 %x, 2147483647
  br label %loop
loop:
  %i = phi i64 [ 0, %before ], [ %next, %loop ]
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %l, %next
  br i1 %done, label %end, label %loop
end:
  %r = phi i64 [ 7, %entry ], [ %next, %loop ]
  ret i64 %r
}
; What does not wrap with all bits may wrap without the upper ones.
define i32 @flags(i64 %x, i64 %step) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %x, %entry ], [ %next, %loop ]
  %less = sub nuw i64 %i, 4294967296
  %cut = trunc i64 %less to i32
  %next = add i64 %i, %step
  %again = icmp slt i32 %cut, 10
  br i1 %again, label %loop, label %end
end:
  ret i32 %cut
}
; The test is one of the index that begins the iteration, and the data end the loop, too.
define i64 @descending(ptr %a, i64 %from, i32 %key) {
entry:
  %last = getelementptr i32, ptr %a, i64 %from
  br label %loop
loop:
  %p = phi ptr [ %last, %entry ], [ %before, %lower ]
  %i = phi i64 [ %from, %entry ], [ %next, %lower ]
  %x = load i32, ptr %p, align 4
  %more = icmp sgt i32 %x, %key
  br i1 %more, label %lower, label %end
lower:
  %next = add nsw i64 %i, -1
  %before = getelementptr i8, ptr %p, i64 -4
  %any = icmp sgt i64 %i, 0
  br i1 %any, label %loop, label %out
out:
  ret i64 0
end:
  %j = add i64 %i, 1
  %r = select i1 %more, i64 %i, i64 %j
  %least = call i64 @llvm.smin.i64(i64 %r, i64 %from)
  ret i64 %least
}
declare i64 @llvm.smin.i64(i64, i64)
; The pointer steps along with an index that starts elsewhere, and nothing but the data ends the loop.
define i32 @ascending(ptr %a, i32 %least) {
entry:
  br label %loop
loop:
  %p = phi ptr [ %a, %entry ], [ %after, %loop ]
  %i = phi i64 [ 7, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %more, %loop ]
  %x = load i32, ptr %p, align 4
  %add = icmp uge i32 %x, %least
  %part = select i1 %add, i32 %x, i32 0
  %more = add i32 %sum, %part
  %after = getelementptr i8, ptr %p, i64 4
  %next = add i64 %i, 1
  br i1 %add, label %loop, label %end
end:
  ret i32 %more
}
; Two edges of a switch bring one value, of which the lower bits are used.
define i32 @switched(i64 %x, i32 %which) {
entry:
  switch i32 %which, label %other [
    i32 1, label %end
    i32 2, label %end
  ]
other:
  br label %end
end:
  %p = phi i64 [ %x, %entry ], [ %x, %entry ], [ 0, %other ]
  %r = trunc i64 %p to i32
  ret i32 %r
}
; An insertion sort: the inner loop's pointer goes down with an index that starts with the outer loop's, and whose test is one of
; the value that begins the iteration.
define i64 @inserted(ptr %a, i32 %count) {
entry:
  %n = zext nneg i32 %count to i64
  %some = icmp sgt i32 %count, 1
  br i1 %some, label %before, label %none
before:
  %second = getelementptr i8, ptr %a, i64 4
  br label %outer
outer:
  %p = phi ptr [ %second, %before ], [ %p.next, %placed ]
  %i = phi i64 [ 1, %before ], [ %i.next, %placed ]
  %at = getelementptr inbounds i32, ptr %a, i64 %i
  %key = load i32, ptr %at, align 4
  br label %inner
inner:
  %q = phi ptr [ %p, %outer ], [ %q.next, %shift ]
  %j = phi i64 [ %i, %outer ], [ %j.next, %shift ]
  %below = getelementptr i8, ptr %q, i64 -4
  %x = load i32, ptr %below, align 4
  %more = icmp sgt i32 %x, %key
  br i1 %more, label %shift, label %placed
shift:
  %j.next = add i64 %j, -1
  store i32 %x, ptr %q, align 4
  %again = add i64 %j.next, 1
  %q.next = getelementptr i8, ptr %q, i64 -4
  %goes.on = icmp sgt i64 %again, 1
  br i1 %goes.on, label %inner, label %placed
placed:
  %to = phi i64 [ %j, %inner ], [ 0, %shift ]
  %here = getelementptr inbounds i32, ptr %a, i64 %to
  store i32 %key, ptr %here, align 4
  %i.next = add i64 %i, 1
  %p.next = getelementptr i8, ptr %p, i64 4
  %done = icmp eq i64 %i.next, %n
  br i1 %done, label %end, label %outer
end:
  ret i64 %to
none:
  ret i64 1
}
; A counter that goes down, as its test says.
define i32 @down_to(ptr %a, i32 %from) {
entry:
  %any = icmp sgt i32 %from, -1
  br i1 %any, label %before, label %end
before:
  %f = zext nneg i32 %from to i64
  %last = getelementptr i32, ptr %a, i64 %f
  br label %loop
loop:
  %p = phi ptr [ %last, %before ], [ %p.next, %loop ]
  %i = phi i64 [ %f, %before ], [ %next, %loop ]
  %sum = phi i32 [ 0, %before ], [ %more, %loop ]
  %x = load i32, ptr %p, align 4
  %more = add i32 %sum, %x
  %p.next = getelementptr i8, ptr %p, i64 -4
  %next = add nsw i64 %i, -1
  %done = icmp slt i64 %next, 0
  br i1 %done, label %end, label %loop
end:
  %r = phi i32 [ 0, %entry ], [ %more, %loop ]
  ret i32 %r
}
; The last value needs more than 32 bits.
define i64 @far_down(ptr %a, i32 %from) {
entry:
  %f = zext nneg i32 %from to i64
  br label %loop
loop:
  %i = phi i64 [ %f, %entry ], [ %next, %loop ]
  %next = add nsw i64 %i, -1073741825
  %again = icmp sgt i64 %next, -1073741825
  br i1 %again, label %loop, label %end
end:
  ret i64 %next
}
; The index of 32 bits next to the counter has its values, but for a constant.
define void @tiled(ptr %a, i32 %x, i32 %y) {
entry:
  %row = shl nsw i32 %y, 2
  %first = add nsw i32 %row, %x
  %any = icmp slt i32 %first, 6
  br i1 %any, label %before, label %end
before:
  %r = sext i32 %row to i64
  %c = sext i32 %x to i64
  %sum = add i64 %c, %r
  %both = add i64 %r, %c
  %t = add i64 %both, -4
  %offset = shl i64 %sum, 2
  %start = getelementptr i8, ptr %a, i64 %offset
  br label %loop
loop:
  %p = phi ptr [ %start, %before ], [ %p.next, %loop ]
  %i = phi i32 [ %first, %before ], [ %i.next, %loop ]
  %left = phi i64 [ %t, %before ], [ %left.next, %loop ]
  %square = mul i32 %i, %i
  store i32 %square, ptr %p, align 4
  %left.next = add i64 %left, 4
  %i.next = add i32 %i, 4
  %p.next = getelementptr i8, ptr %p, i64 16
  %again = icmp slt i64 %left.next, 2
  br i1 %again, label %loop, label %end
end:
  ret void
}
; The sum of 32 bits may wrap.
define void @tiled_sum(ptr %a, i32 %x, i32 %y) {
entry:
  %row = shl nsw i32 %y, 2
  %first = add i32 %row, %x
  %any = icmp slt i32 %first, 6
  br i1 %any, label %before, label %end
before:
  %r = sext i32 %row to i64
  %c = sext i32 %x to i64
  %sum = add i64 %c, %r
  %both = add i64 %r, %c
  %t = add i64 %both, -4
  %offset = shl i64 %sum, 2
  %start = getelementptr i8, ptr %a, i64 %offset
  br label %loop
loop:
  %p = phi ptr [ %start, %before ], [ %p.next, %loop ]
  %i = phi i32 [ %first, %before ], [ %i.next, %loop ]
  %left = phi i64 [ %t, %before ], [ %left.next, %loop ]
  %square = mul i32 %i, %i
  store i32 %square, ptr %p, align 4
  %left.next = add i64 %left, 4
  %i.next = add i32 %i, 4
  %p.next = getelementptr i8, ptr %p, i64 16
  %again = icmp slt i64 %left.next, 2
  br i1 %again, label %loop, label %end
end:
  ret void
}
; The index may pass the greatest number.
define void @tiled_top(ptr %a, i32 %x, i32 %y) {
entry:
  %row = shl nsw i32 %y, 2
  %first = add nsw i32 %row, %x
  %any = icmp slt i32 %first, 2147483647
  br i1 %any, label %before, label %end
before:
  %r = sext i32 %row to i64
  %c = sext i32 %x to i64
  %sum = add i64 %c, %r
  %both = add i64 %r, %c
  %t = add i64 %both, -4
  %offset = shl i64 %sum, 2
  %start = getelementptr i8, ptr %a, i64 %offset
  br label %loop
loop:
  %p = phi ptr [ %start, %before ], [ %p.next, %loop ]
  %i = phi i32 [ %first, %before ], [ %i.next, %loop ]
  %left = phi i64 [ %t, %before ], [ %left.next, %loop ]
  %square = mul i32 %i, %i
  store i32 %square, ptr %p, align 4
  %left.next = add i64 %left, 4
  %i.next = add i32 %i, 4
  %p.next = getelementptr i8, ptr %p, i64 16
  %again = icmp slt i64 %left.next, 2
  br i1 %again, label %loop, label %end
end:
  ret void
}
