; heddle vectorize FILE --func asks --lanes 4 --target avx2 -o OUT/f.ll
; What may ask other lanes is known, or refused.
define i32 @asks(i32 %x) {
  %r = call i32 @vote_of_another_library(i32 %x)
  ret i32 %r
}

declare i32 @vote_of_another_library(i32) convergent

; output
; error: @asks: `%r = call i32 @vote_of_another_library(i32 %x)`: unknown `convergent` function @vote_of_another_library: it may observe other lanes [not-imported]
;   help: use the functions of <heddle.h>, or define it in the same module
; exit code 1
