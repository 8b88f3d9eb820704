; 32-bit numbers that are extended by shifts of 64 bits, and shifts that extend nothing.
; run: @signed(6442450949) lanes=1 -> -2147483643
; run: @signed(5) lanes=1 -> 5
; run: @scaled(8589934591) lanes=1 -> -4
; run: @next(4294967295) lanes=1 -> 0
; run: @next(2147483647) lanes=1 -> -8589934592
; run: @unsigned(8589934591) lanes=1 -> 8589934590
; run: @doubled(1073741825) lanes=1 -> -2147483646
; run: @shifted(33554431) lanes=1 -> -256
; run: @tripled(1431655766) lanes=1 -> 8
; run: @tripled(-1) lanes=1 -> -12
; run: @odd_factor(1431655766) lanes=1 -> 3
; run: @other_amount(33554431) lanes=1 -> 131071
; run: @more_bits(8589934591) lanes=1 -> -1
; run: @lower_bits(-1) lanes=1 -> -1
; run: @lower_bits(0) lanes=1 -> 0
; run: @below(4294967295) lanes=1 -> -2
; run: @narrow(98304) lanes=1 -> -32768
; run: @compared(4294967295, 0) lanes=1 -> true, false
; run: @compared(2147483647, 4294967295) lanes=1 -> false, true
; run: @compared_unsigned(4294967295, 0) lanes=1 -> false
; run: @compared_lower(12884901895) lanes=1 -> true, true, false
; run: @compared_lower(8) lanes=1 -> false, false, true
define i64 @signed(i64 %x) {
  %up = shl i64 %x, 32
  %down = ashr exact i64 %up, 32
  ret i64 %down
}
define i64 @scaled(i64 %x) {
  %up = shl i64 %x, 32
  %down = ashr i64 %up, 30
  ret i64 %down
}
define i64 @next(i64 %x) {
  %up = shl i64 %x, 32
  %sum = add i64 %up, 4294967296
  %down = ashr exact i64 %sum, 30
  ret i64 %down
}
define i64 @unsigned(i64 %x) {
  %up = shl i64 %x, 32
  %down = lshr i64 %up, 31
  ret i64 %down
}
define i64 @doubled(i64 %x) {
  %up = shl i64 %x, 33
  %down = ashr i64 %up, 32
  ret i64 %down
}
; 24 bits, shifted by 8 more.
define i64 @shifted(i64 %x) {
  %up = shl i64 %x, 40
  %down = ashr i64 %up, 32
  ret i64 %down
}
define i64 @tripled(i64 %x) {
  %up = mul i64 %x, 12884901888
  %down = ashr exact i64 %up, 30
  ret i64 %down
}
; The lower half of the factor is not 0.
define i64 @odd_factor(i64 %x) {
  %up = mul i64 %x, 12884901892
  %down = ashr i64 %up, 32
  ret i64 %down
}
; The amounts differ: the lower half is not 0.
define i64 @other_amount(i64 %x) {
  %up = shl i64 %x, 24
  %down = ashr i64 %up, 32
  ret i64 %down
}
; Bits of the number are lost.
define i64 @more_bits(i64 %x) {
  %up = shl i64 %x, 32
  %down = ashr i64 %up, 40
  ret i64 %down
}
; The lower half is not 0.
define i64 @lower_bits(i64 %x) {
  %up = shl i64 %x, 31
  %down = ashr i64 %up, 31
  ret i64 %down
}
define i64 @below(i64 %x) {
  %up = shl i64 %x, 32
  %less = sub i64 %up, 1
  %down = ashr i64 %less, 32
  ret i64 %down
}
define i32 @narrow(i32 %x) {
  %up = shl i32 %x, 16
  %down = ashr i32 %up, 16
  ret i32 %down
}
define { i1, i1 } @compared(i64 %x, i64 %y) {
  %a = shl i64 %x, 32
  %b = ashr i64 %a, 32
  %c = shl i64 %y, 32
  %d = ashr i64 %c, 32
  %less = icmp slt i64 %b, %d
  %below = icmp ult i64 %b, %d
  %r = insertvalue { i1, i1 } poison, i1 %less, 0
  %s = insertvalue { i1, i1 } %r, i1 %below, 1
  ret { i1, i1 } %s
}
; The extensions differ.
define i1 @compared_unsigned(i64 %x, i64 %y) {
  %a = shl i64 %x, 32
  %b = lshr i64 %a, 32
  %c = shl i64 %y, 32
  %d = ashr i64 %c, 32
  %less = icmp slt i64 %b, %d
  ret i1 %less
}
; The lower halves are compared for equality, and the masked number in order.
define { i1, i1, i1 } @compared_lower(i64 %x) {
  %lower = and i64 %x, 4294967295
  %a = icmp eq i64 %lower, 7
  %b = icmp ult i64 %lower, 8
  %c = icmp ne i64 %lower, 7
  %r = insertvalue { i1, i1, i1 } poison, i1 %a, 0
  %s = insertvalue { i1, i1, i1 } %r, i1 %b, 1
  %t = insertvalue { i1, i1, i1 } %s, i1 %c, 2
  ret { i1, i1, i1 } %t
}
