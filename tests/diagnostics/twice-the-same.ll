; heddle vectorize FILE --func f --lanes 4 --target avx2 -o OUT/f.ll
; The module has a function of the name that the wide form gets.
define i32 @f(i32 %x) {
  %r = mul i32 %x, %x
  ret i32 %r
}

define <4 x i32> @_ZGVdN4v_f(<4 x i32> %x) {
  ret <4 x i32> %x
}

; output
; error: @_ZGVdN4v_f: the module defines it already [not-linked]
;   help: write an object (`.o`), or remove it from the source
; exit code 1
