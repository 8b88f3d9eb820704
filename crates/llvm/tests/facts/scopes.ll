; An access in two groups, one of which a loop names; scopes that one lane keeps apart; bounds of what is loaded.
define void @f(ptr %p, ptr %q, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %x = load i32, ptr %at, align 4, !range !0, !alias.scope !1, !noalias !2, !llvm.access.group !3
  %to = getelementptr i32, ptr %q, i32 %i
  store i32 %x, ptr %to, align 4, !llvm.access.group !6
  %i1 = add i32 %i, 1
  %more = icmp slt i32 %i1, %n
  br i1 %more, label %loop, label %end, !llvm.loop !8
end:
  ret void
}

!0 = !{i32 0, i32 100}
!1 = !{!4}
!2 = !{!5}
!3 = !{!6, !7}
!4 = distinct !{!4, !9}
!5 = distinct !{!5, !9}
!6 = distinct !{}
!7 = distinct !{}
!8 = distinct !{!8, !10}
!9 = distinct !{!9}
!10 = !{!"llvm.loop.parallel_accesses", !6}
