; heddle vectorize FILE --func f --lanes 8 --target avx2 --report -o OUT/f.ll
; A loop that only counts goes before the function is read: no branch is left.
define i32 @f(i32 %n, i32 %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add nuw nsw i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %loop, label %done
done:
  %r = mul i32 %x, %x
  ret i32 %r
}

; output
; note: @f: vectorized for 8 lanes [code-shape]
;   branches: 0 in the source, 0 in the vector code
;   instructions: 2 vector, 0 scalar
;   loads and stores: 0 contiguous, 0 gathered or scattered, 0 scalar
; exit code 0
