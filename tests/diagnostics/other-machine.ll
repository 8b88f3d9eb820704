; heddle vectorize FILE --func f --lanes 4 --target avx2 -o OUT/f.ll
target triple = "aarch64-unknown-linux-gnu"

define i32 @f(i32 %x) {
  ret i32 %x
}

; output
; error: LLVM IR for another machine, aarch64-unknown-linux-gnu [wrong-target]
;   help: compile for this machine, or select that one with `--target`
; exit code 1
