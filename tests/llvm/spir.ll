; What OpenCL C declares, declared in another way; functions of work-groups that are not known; writes to constant memory.
; run: @fine() lanes=1 -> 0
; refused: @no_dimension: `%r = call i64 @_Z12get_local_idj()`: @_Z12get_local_idj is not declared as in OpenCL C: it takes one number, the dimension and returns a number
; refused: @reduces: `%r = call i32 @_Z21work_group_reduce_addi(i32 %x)`: undefined function @_Z21work_group_reduce_addi
; refused: @writes: `store i32 1, ptr addrspace(2) %p, align 4`: write to constant memory
; refused: @fills:
target triple = "spir64-unknown-unknown"
declare i64 @_Z12get_local_idj() convergent
declare i32 @_Z21work_group_reduce_addi(i32) convergent memory(none)
declare i32 @_Z3absi(i32) convergent memory(none)
declare void @llvm.memset.p2.i64(ptr addrspace(2), i8, i64, i1)
define i64 @no_dimension() {
  %r = call i64 @_Z12get_local_idj()
  ret i64 %r
}
define i32 @reduces(i32 %x) {
  %r = call i32 @_Z21work_group_reduce_addi(i32 %x)
  ret i32 %r
}
define i32 @computes(i32 %x) {
  %r = call i32 @_Z3absi(i32 %x)
  ret i32 %r
}
define void @writes(ptr addrspace(2) %p) {
  store i32 1, ptr addrspace(2) %p, align 4
  ret void
}
define void @fills(ptr addrspace(2) %p) {
  call void @llvm.memset.p2.i64(ptr addrspace(2) %p, i8 0, i64 4, i1 false)
  ret void
}
define i32 @fine() {
  ret i32 0
}
