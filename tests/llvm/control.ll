; Control flow: blocks that nothing leads to, several edges between two blocks, φs of aggregates, weights.
; run: @edges([0, 1, 2, 9]) lanes=4 -> [10, 10, 20, 30]
; run: @pairs([3, 0]) lanes=2 -> [8, 5]
; run: @dead(4) lanes=1 -> 4
; run: @weighted(true) lanes=1 -> 1
define i32 @edges(i32 %x) {
entry:
  switch i32 %x, label %other [
    i32 0, label %join
    i32 1, label %join
    i32 2, label %two
  ]
two:
  br i1 true, label %join, label %join
other:
  br label %join
join:
  %r = phi i32 [ 10, %entry ], [ 10, %entry ], [ 20, %two ], [ 20, %two ], [ 30, %other ]
  ret i32 %r
}
define i32 @pairs(i32 %n) {
entry:
  br label %loop
loop:
  %p = phi { i32, i32 } [ { i32 0, i32 5 }, %entry ], [ %q, %body ]
  %i = extractvalue { i32, i32 } %p, 0
  %s = extractvalue { i32, i32 } %p, 1
  %c = icmp ult i32 %i, %n
  br i1 %c, label %body, label %out
body:
  %j = add i32 %i, 1
  %t = add i32 %s, 1
  %a = insertvalue { i32, i32 } poison, i32 %j, 0
  %q = insertvalue { i32, i32 } %a, i32 %t, 1
  br label %loop
out:
  ret i32 %s
}
define i32 @dead(i32 %x) {
entry:
  br label %out
gone:
  %y = add i32 %y, 1
  br label %out
out:
  %r = phi i32 [ %x, %entry ], [ %y, %gone ]
  ret i32 %r
}
define i32 @weighted(i1 %c) {
  br i1 %c, label %a, label %b, !prof !0
a:
  ret i32 1
b:
  ret i32 2
}
!0 = !{!"branch_weights", i32 2000, i32 1}
