; Eight lanes halve their number until it is small enough or ten rounds are over; each lane keeps the round.
define void @heddle.entry.f(ptr %in, ptr %out) {
entry:
  %start = load <8 x float>, ptr %in
  %far = getelementptr i8, ptr %in, i64 32
  %limit = load <8 x float>, ptr %far
  br label %header

header:
  %live = phi <8 x i1> [ splat (i1 true), %entry ], [ %stay, %latch ]
  %x = phi <8 x float> [ %start, %entry ], [ %next, %latch ]
  %left = phi <8 x i32> [ zeroinitializer, %entry ], [ %kept, %latch ]
  %round = phi i32 [ 0, %entry ], [ %following, %latch ]
  %next = fmul <8 x float> %x, splat (float 5.000000e-01)
  %following = add i32 %round, 1
  %small = fcmp olt <8 x float> %next, %limit
  %over = icmp uge i32 %following, 10
  %over.first = insertelement <8 x i1> poison, i1 %over, i64 0
  %over.all = shufflevector <8 x i1> %over.first, <8 x i1> poison, <8 x i32> zeroinitializer
  %done = select <8 x i1> %small, <8 x i1> splat (i1 true), <8 x i1> %over.all
  %leaves = select <8 x i1> %live, <8 x i1> %done, <8 x i1> zeroinitializer
  %not.done = xor <8 x i1> %done, splat (i1 true)
  %stay = select <8 x i1> %live, <8 x i1> %not.done, <8 x i1> zeroinitializer
  %number.first = insertelement <8 x i32> poison, i32 %following, i64 0
  %number = shufflevector <8 x i32> %number.first, <8 x i32> poison, <8 x i32> zeroinitializer
  %kept = select <8 x i1> %leaves, <8 x i32> %number, <8 x i32> %left
  br label %latch

latch:
  %bits = bitcast <8 x i1> %stay to i8
  %nobody = icmp eq i8 %bits, 0
  br i1 %nobody, label %exit, label %header

exit:
  store <8 x i32> %kept, ptr %out
  ret void
}
