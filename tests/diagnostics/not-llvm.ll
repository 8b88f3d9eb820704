; heddle vectorize FILE --func f -o OUT/f.o
This was meant to be LLVM IR.

; output
; error: not-llvm.ll: this is no LLVM IR that LLVM 22.1.X reads: not-llvm.ll:2:1: error: expected top-level entity; write it with clang-22, or with a rustc of that LLVM [unreadable]
; exit code 2
