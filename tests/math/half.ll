; Functions of 16-bit floats are those of f32, rounded once more.
declare half @llvm.sin.f16(half)
declare bfloat @llvm.exp.bf16(bfloat)
declare half @llvm.pow.f16(half, half)

define half @f(half %x) {
  %sin = call half @llvm.sin.f16(half %x)
  %power = call half @llvm.pow.f16(half %sin, half 1.0)
  ret half %power
}

define bfloat @g(bfloat %x) {
  %exp = call bfloat @llvm.exp.bf16(bfloat %x)
  ret bfloat %exp
}
