; Short vectors, taken apart.
; run: @mixed(&a, 1) lanes=1 with a: f32 [1.0, 2.0, 3.0, 4.0] -> 4.0; a: [4.0, 3.0, 2.0, 8.0]
; run: @picked(6) lanes=1 -> 2
; run: @outside(9) lanes=1 -> fault: poison
; run: @bits(0x1234) lanes=1 -> 0x1234, 0x34, 0x12
; run: @masks(&a) lanes=1 with a: i8 [0xa5] -> true; a: [0x5a]
; run: @summed() lanes=1 -> 10, -1.5
; run: @together(3) lanes=1 -> 4
define float @mixed(ptr %a, i32 %i) {
  %v = load <4 x float>, ptr %a, align 4
  %r = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %s = insertelement <4 x float> %r, float 8.0, i32 3
  store <4 x float> %s, ptr %a, align 4
  %m = fmul <4 x float> %v, splat (float 2.0)
  %x = extractelement <4 x float> %m, i32 %i
  ret float %x
}
define i32 @picked(i8 %i) {
  %v = insertelement <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 5, i32 3>, i32 2, i8 %i
  %x = extractelement <8 x i32> %v, i8 %i
  ret i32 %x
}
define i32 @outside(i32 %i) {
  %x = extractelement <2 x i32> <i32 1, i32 2>, i32 %i
  ret i32 %x
}
define { i16, i8, i8 } @bits(i16 %x) {
  %v = bitcast i16 %x to <2 x i8>
  %w = bitcast <2 x i8> %v to i16
  %a = extractelement <2 x i8> %v, i64 0
  %b = extractelement <2 x i8> %v, i64 1
  %r = insertvalue { i16, i8, i8 } poison, i16 %w, 0
  %s = insertvalue { i16, i8, i8 } %r, i8 %a, 1
  %t = insertvalue { i16, i8, i8 } %s, i8 %b, 2
  ret { i16, i8, i8 } %t
}
define i1 @masks(ptr %a) {
  %m = load <8 x i1>, ptr %a
  %n = xor <8 x i1> %m, splat (i1 true)
  store <8 x i1> %n, ptr %a
  %x = extractelement <8 x i1> %m, i64 7
  ret i1 %x
}
define { i32, float } @summed() {
  %a = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> <i32 1, i32 2, i32 3, i32 4>)
  %b = call float @llvm.vector.reduce.fadd.v2f32(float -3.0, <2 x float> <float 1.0, float 0.5>)
  %r = insertvalue { i32, float } poison, i32 %a, 0
  %s = insertvalue { i32, float } %r, float %b, 1
  ret { i32, float } %s
}
define i64 @together(i64 %i) {
  %p = getelementptr i8, <2 x ptr> zeroinitializer, <2 x i64> <i64 1, i64 4>
  %q = ptrtoint <2 x ptr> %p to <2 x i64>
  %x = extractelement <2 x i64> %q, i64 1
  ret i64 %x
}
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)
declare float @llvm.vector.reduce.fadd.v2f32(float, <2 x float>)
