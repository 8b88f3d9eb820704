; Refused definitions are reported with a help; the rest is imported.
; run: @fine(3) lanes=1 -> 4
; refused: @assembly: `call void asm "nop", ""()`: inline assembly
; refused: @exceptions: `invoke void @may_throw()`: unsupported instruction `invoke`: exceptions
; refused: @jumps_back: `%r = call i32 @setjmp(ptr %p)`: @setjmp may return twice
; refused: placed.c:7:3: @is_placed: unsupported instruction `va_arg`: variable number of arguments
; refused: @scalable: vector type <vscale x 4 x i32> without a fixed size
; refused: @too_wide: integers of 256 bits, more than 128
; refused: @extended: floats of type x86_fp80, wider than 64 bits
; refused: @many: variable number of arguments
; refused: @computed: `indirectbr ptr %p, [label %a]`: unsupported instruction `indirectbr`: a computed goto
; refused: @sized: `%p = alloca i8, i32 %n, align 1`: variable-length array: its size is not known before the program runs
; refused: @own: thread-local variable
; refused: @uses_own: `%v = load i32, ptr @own, align 4`: use of @own: thread-local variable
; refused: @masked: `%v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %m, <4 x i32> zeroinitializer)`: unsupported intrinsic llvm.masked.load: a branch per lane
; refused: @machine: `%v = call i32 @llvm.x86.flags.read.u32()`: unsupported intrinsic llvm.x86.flags.read.u32: intrinsic of one machine
; refused: @environment:
target triple = "x86_64-pc-linux-gnu"
@own = thread_local global i32 0
@handlers = global [1 x ptr] [ptr @fine]
define i32 @fine(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define void @assembly() {
  call void asm "nop", ""()
  ret void
}
define void @exceptions() personality ptr @personality {
  invoke void @may_throw() to label %a unwind label %b
a:
  ret void
b:
  %l = landingpad { ptr, i32 } cleanup
  ret void
}
define i32 @jumps_back(ptr %p) {
  %r = call i32 @setjmp(ptr %p)
  ret i32 %r
}
define i32 @is_placed(ptr %p) !dbg !4 {
  %x = va_arg ptr %p, i32, !dbg !6
  ret i32 %x
}
define void @scalable(<vscale x 4 x i32> %v) {
  ret void
}
define void @too_wide(i256 %x) {
  ret void
}
define void @extended(x86_fp80 %x) {
  ret void
}
define void @many(...) {
  ret void
}
define i32 @prints(ptr %p) {
  %r = call i32 (ptr, ...) @printf(ptr %p)
  ret i32 %r
}
define i32 @indirect(ptr %f) {
  %r = call i32 %f(i32 1)
  ret i32 %r
}
define void @computed(ptr %p) {
  indirectbr ptr %p, [label %a]
a:
  ret void
}
define void @sized(i32 %n) {
  %p = alloca i8, i32 %n, align 1
  ret void
}
define i32 @uses_own() {
  %v = load i32, ptr @own, align 4
  ret i32 %v
}
define <4 x i32> @masked(ptr %p, <4 x i1> %m) {
  %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %m, <4 x i32> zeroinitializer)
  ret <4 x i32> %v
}
define i32 @machine() {
  %v = call i32 @llvm.x86.flags.read.u32()
  ret i32 %v
}
define float @environment(float %x) strictfp {
  %y = call float @llvm.experimental.constrained.fadd.f32(float %x, float %x, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  ret float %y
}
declare i32 @personality(...)
declare void @may_throw()
declare i32 @setjmp(ptr) returns_twice
declare i32 @printf(ptr, ...)
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)
declare i32 @llvm.x86.flags.read.u32()
declare float @llvm.experimental.constrained.fadd.f32(float, float, metadata, metadata)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "placed.c", directory: "")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "is_placed", file: !1, line: 6, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !7)
!6 = !DILocation(line: 7, column: 3, scope: !4)
!7 = !{null}
