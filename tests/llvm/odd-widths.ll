; Integers of widths that are not ours lie in the next wider type, the bits above zero.
; run: @closed([0, 1, 5, 100000]) lanes=4 -> [0, 0, 10, 704982704]
; run: @signs([7, 8, 15, 12]) lanes=4 -> [7, -8, -1, -4]
; run: @divided([5, 13]) lanes=2 -> [2, -1]
; run: @compared([3, 4]) lanes=2 -> [false, true]
; run: @around([6, 7]) lanes=2 -> [7, 0]
; run: @memory(&a) lanes=1 with a: i8 [1, 2, 3, 9] -> 0x30201; a: [2, 2, 3, 9]
; run: @chosen(3) lanes=1 -> 24
; run: @floats(-3.0) lanes=1 -> -3.0, 29.0
; run: @shifted(12) lanes=1 -> 14
; run: @far(&a, 3) lanes=1 with a: i8 [1, 2, 3, 4, 5, 6, 7, 8] -> 4
; run: @far(&a, 6) lanes=1 with a: i8 [1, 2, 3, 4, 5, 6, 7, 8] -> fault: lie in no object
; run: @turned([1, 6, 3]) lanes=3 -> [4, 3, 6]
; refused: @taken: integers of 33 bits as parameters or results
; refused: @counted: `%c = call i7 @llvm.ctlz.i7(i7 %t, i1 false)`: llvm.ctlz of integers of an odd width
define i32 @closed(i32 %n) {
  %a = zext i32 %n to i33
  %m = add i33 %a, -1
  %p = mul i33 %a, %m
  %h = lshr i33 %p, 1
  %r = trunc i33 %h to i32
  %z = icmp eq i32 %n, 0
  %s = select i1 %z, i32 0, i32 %r
  ret i32 %s
}
define i32 @signs(i32 %x) {
  %t = trunc i32 %x to i4
  %s = sext i4 %t to i32
  ret i32 %s
}
define i32 @divided(i32 %x) {
  %t = trunc i32 %x to i4
  %d = sdiv i4 %t, 2
  %s = sext i4 %d to i32
  ret i32 %s
}
define i1 @compared(i8 %x) {
  %t = trunc i8 %x to i3
  %c = icmp slt i3 %t, 1
  ret i1 %c
}
define i8 @around(i8 %x) {
  %t = trunc i8 %x to i3
  %a = add i3 %t, 1
  %z = zext i3 %a to i8
  ret i8 %z
}
define i32 @memory(ptr %p) {
  %x = load i24, ptr %p, align 1
  %y = add i24 %x, 1
  store i24 %y, ptr %p, align 1
  %z = zext i24 %x to i32
  ret i32 %z
}
define i32 @chosen(i32 %x) {
  %t = trunc i32 %x to i5
  switch i5 %t, label %other [ i5 3, label %three
                               i5 -1, label %last ]
three:
  br label %join
last:
  br label %join
other:
  br label %join
join:
  %r = phi i5 [ -8, %three ], [ 2, %last ], [ undef, %other ]
  %z = zext i5 %r to i32
  ret i32 %z
}
define { float, float } @floats(float %x) {
  %t = fptosi float %x to i5
  %s = sitofp i5 %t to float
  %u = uitofp i5 %t to float
  %a = insertvalue { float, float } poison, float %s, 0
  %b = insertvalue { float, float } %a, float %u, 1
  ret { float, float } %b
}
define i8 @shifted(i8 %x) {
  %t = trunc i8 %x to i4
  %a = ashr i4 %t, 1
  %z = zext i4 %a to i8
  ret i8 %z
}
define i8 @far(ptr %p, i8 %i) {
  %t = trunc i8 %i to i3
  %q = getelementptr i8, ptr %p, i3 %t
  %v = load i8, ptr %q
  ret i8 %v
}
define i33 @taken(i33 %x) {
  ret i33 %x
}
define i32 @counted(i32 %x) {
  %t = trunc i32 %x to i7
  %c = call i7 @llvm.ctlz.i7(i7 %t, i1 false)
  %z = zext i7 %c to i32
  ret i32 %z
}
declare i7 @llvm.ctlz.i7(i7, i1)
declare i3 @llvm.bitreverse.i3(i3)
define i32 @turned(i32 %x) {
  %t = trunc i32 %x to i3
  %r = call i3 @llvm.bitreverse.i3(i3 %t)
  %z = zext i3 %r to i32
  ret i32 %z
}
