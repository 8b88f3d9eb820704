; Masks that live in several blocks, made of each other in all ways.
define void @heddle.entry.f(ptr %in, ptr %out) {
entry:
  %a = load <8 x float>, ptr %in
  %far = getelementptr i8, ptr %in, i64 32
  %b = load <8 x float>, ptr %far
  %less = fcmp olt <8 x float> %a, %b
  %close = fcmp ult <8 x float> %a, splat (float 4.000000e+00)
  %chosen = select <8 x i1> %less, <8 x i1> %close, <8 x i1> %less
  %either = or <8 x i1> %less, %close
  %first = extractelement <8 x float> %a, i64 0
  %is.great = fcmp ogt float %first, 2.000000e+00
  %turned = shufflevector <8 x i1> %either, <8 x i1> %chosen, <8 x i32> <i32 9, i32 1, i32 12, i32 3, i32 poison, i32 5, i32 0, i32 8>
  %whole = insertelement <8 x i1> %turned, i1 %is.great, i64 4
  %frozen = freeze <8 x i1> %whole
  br i1 %is.great, label %then, label %else

then:
  %one = and <8 x i1> %frozen, %either
  br label %join

else:
  %other = select i1 %is.great, <8 x i1> %less, <8 x i1> %whole
  br label %join

join:
  %mask = phi <8 x i1> [ %one, %then ], [ %other, %else ]
  %seldom = phi <8 x i1> [ splat (i1 true), %then ], [ <i1 true, i1 false, i1 true, i1 true, i1 false, i1 false, i1 true, i1 false>, %else ]
  %general = select <8 x i1> %mask, <8 x i1> %seldom, <8 x i1> %less
  %sum = fadd <8 x float> %a, %b
  %blend = select <8 x i1> %mask, <8 x float> %sum, <8 x float> %a
  call void @llvm.masked.store.v8f32.p0(<8 x float> %blend, ptr align 4 %out, <8 x i1> %general)
  %next = getelementptr i8, ptr %out, i64 32
  %bits = bitcast <8 x i1> %mask to i8
  %wide.bits = zext i8 %bits to i32
  store i32 %wide.bits, ptr %next
  %any.bits = bitcast <8 x i1> %general to i8
  %any = icmp ne i8 %any.bits, 0
  %any.int = zext i1 %any to i32
  %last = getelementptr i8, ptr %out, i64 36
  store i32 %any.int, ptr %last
  %all.bits = bitcast <8 x i1> %seldom to i8
  %all = icmp eq i8 %all.bits, -1
  %all.int = zext i1 %all to i32
  %behind = getelementptr i8, ptr %out, i64 40
  store i32 %all.int, ptr %behind
  %ones = zext <8 x i1> %seldom to <8 x i32>
  %end = getelementptr i8, ptr %out, i64 64
  store <8 x i32> %ones, ptr %end
  ret void
}

declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
