; What is undefined becomes some value that stays the same, not poison: bits that do not matter do not spread.
; run: @masked() lanes=2 -> [0, 0]
; run: @same() lanes=2 -> [0, 0]
; run: @fresh() lanes=1 -> 8
; run: @field(5) lanes=1 -> 5
define i32 @masked() {
  %x = and i32 undef, 0
  ret i32 %x
}
define i32 @same() {
  %x = xor i32 undef, 0
  %y = sub i32 %x, %x
  ret i32 %y
}
define i8 @fresh() {
  %p = alloca i8
  %old = load i8, ptr %p
  %low = and i8 %old, -16
  %new = or i8 %low, 8
  %cut = and i8 %new, 15
  ret i8 %cut
}
define i32 @field(i32 %x) {
  %p = alloca [4 x i32]
  store i32 %x, ptr %p
  %q = load i64, ptr %p
  %t = trunc i64 %q to i32
  ret i32 %t
}
