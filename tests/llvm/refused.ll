; What is not taken is named, with the way out, and the rest is taken.
; run: @fine(3) lanes=1 -> 4
; refused: @assembly: `call void asm "nop", ""()`: inline assembly does what only one machine knows; write it in C
; refused: @exceptions: `invoke void @may_throw()`: `invoke` is refused (exceptions); compile with -fno-exceptions
; refused: @jumps_back: `%r = call i32 @setjmp(ptr %p)`: @setjmp may return twice; do without setjmp
; refused: placed.c:7:3: @is_placed: `va_arg` is refused (any number of arguments)
; refused: @scalable: the vector type <vscale x 4 x i32> has no fixed size
; refused: @too_wide: integers of 256 bits have more than 128; take them apart in the source
; refused: @extended: floats of type x86_fp80 are wider than 64 bits; use `double` instead of `long double`
; refused: @many: it takes any number of arguments
; refused: @computed: `indirectbr ptr %p, [label %a]`: `indirectbr` is refused (a computed goto); use a switch
; refused: @sized: `%p = alloca i8, i32 %n, align 1`: the size of this object is not known before the program runs
; refused: @own: each thread has its own
; refused: @uses_own: `%v = load i32, ptr @own, align 4`: it uses @own: each thread has its own
; refused: @masked: `%v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %m, <4 x i32> zeroinitializer)`: llvm.masked.load is refused (each lane would need a branch); compile with -fno-vectorize
; refused: @machine: `%v = call i32 @llvm.x86.flags.read.u32()`: llvm.x86.flags.read.u32 is refused (it belongs to one machine); write it in plain C
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
