; heddle vectorize FILE --func asks --lanes 4 --target avx2 -o OUT/f.ll
; What may ask other lanes is known, or refused.
define i32 @asks(i32 %x) {
  %r = call i32 @vote_of_another_library(i32 %x)
  ret i32 %r
}

declare i32 @vote_of_another_library(i32) convergent

; output
; error: @asks: `%r = call i32 @vote_of_another_library(i32 %x)`: @vote_of_another_library may ask other lanes (it is `convergent`), and is not known; ask by the functions of <heddle.h>, or define it in the same module [not-imported]
; exit code 1
