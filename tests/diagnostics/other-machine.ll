; heddle vectorize FILE --func f --lanes 4 --target avx2 -o OUT/f.ll
target triple = "aarch64-unknown-linux-gnu"

define i32 @f(i32 %x) {
  ret i32 %x
}

; output
; error: it is LLVM IR for aarch64-unknown-linux-gnu, which is another kind of machine; let clang make it for this machine, or ask for code for that one [wrong-target]
; exit code 1
