; heddle vectorize FILE --func f -o OUT/f.o
This was meant to be LLVM IR.

; output
; error: not-llvm.ll: not LLVM IR of LLVM 22.1.X: not-llvm.ll:2:1: error: expected top-level entity [unreadable]
;   help: write it with clang-22, or with a rustc of that LLVM
; exit code 2
