; What front ends say in metadata.

define float @accesses(ptr %p, ptr %q, float %a, i32 %n) {
entry:
  %i = load i32, ptr %p, align 4, !tbaa !2, !alias.scope !20, !noalias !21, !llvm.access.group !25
  %x = sitofp i32 %i to float
  %d = fdiv float %x, %a, !fpmath !10
  store float %d, ptr %q, align 4, !tbaa !5
  %v = load ptr, ptr %q, align 8, !tbaa !8
  %old = atomicrmw add ptr %v, i32 1 seq_cst, !tbaa !2
  %both = cmpxchg ptr %v, i32 1, i32 2 seq_cst seq_cst, !tbaa !2
  %was = extractvalue { i32, i1 } %both, 0
  %sum = add i32 %old, %was
  %back = sitofp i32 %sum to float
  ret float %back
}

define void @loops(ptr %p, i32 %n) {
entry:
  br label %first
first:
  %i = phi i32 [ 0, %entry ], [ %i1, %first ]
  %i1 = add i32 %i, 1
  %more = icmp slt i32 %i1, %n
  br i1 %more, label %first, label %second, !llvm.loop !12
second:
  %j = phi i32 [ 0, %first ], [ %j1, %second ]
  %j1 = add i32 %j, 1
  %again = icmp slt i32 %j1, %n
  br i1 %again, label %second, label %third, !llvm.loop !13
third:
  %k = phi i32 [ 0, %second ], [ %k1, %third ]
  %k1 = add i32 %k, 1
  %still = icmp slt i32 %k1, %n
  br i1 %still, label %third, label %end, !llvm.loop !14
end:
  ret void
}

!0 = !{!"root"}
!1 = !{!"any", !0, i64 0}
!2 = !{!3, !4, i64 4}
!3 = !{!"pair", !6, i64 0, !4, i64 4}
!4 = !{!"int", !1, i64 0}
!5 = !{!6, !6, i64 0}
!6 = !{!"float", !1, i64 0}
!7 = !{!"pointer", !1, i64 0}
!8 = !{!7, !7, i64 0, i64 1}
!10 = !{float 2.500000e+00}
!12 = distinct !{!12, !15, !16}
!13 = distinct !{!13, !16, !17}
!14 = distinct !{!14, !15, !18}
!15 = !{!"llvm.loop.mustprogress"}
!16 = !{!"llvm.loop.unroll.disable"}
!17 = !{!"llvm.loop.vectorize.enable", i1 true}
!18 = !{!"llvm.loop.parallel_accesses", !25}
!20 = !{!22}
!21 = !{!23}
!22 = distinct !{!22, !24, !"one"}
!23 = distinct !{!23, !24, !"other"}
!24 = distinct !{!24, !"domain"}
!25 = distinct !{}
