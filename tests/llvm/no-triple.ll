; A file that names no target says nothing of address spaces.
; run: @fine() lanes=1 -> 0
; refused: @global: unknown address space 1: the file has no target
define void @global(ptr addrspace(1) %p) {
  ret void
}
define i32 @fine() {
  ret i32 0
}
