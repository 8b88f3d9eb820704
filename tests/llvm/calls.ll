; Calls of what is not defined here: what may ask other lanes is refused by name, as is what nobody could receive.
; run: @fine(3) lanes=1 -> 4
; refused: @asks: `%r = call i32 @ask(i32 %x)`: unknown `convergent` function @ask: it may observe other lanes
; refused: @gives: kernel with a result
target triple = "x86_64-pc-linux-gnu"
define i32 @fine(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @asks(i32 %x) {
  %r = call i32 @ask(i32 %x)
  ret i32 %r
}
define ptx_kernel i32 @gives() {
  ret i32 1
}
define i32 @answers(i32 %x) convergent {
  %r = call i32 @fine(i32 %x)
  ret i32 %r
}
declare i32 @ask(i32) convergent
