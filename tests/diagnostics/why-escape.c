// heddle analyze FILE --func escape --lanes 8 --param cx=varying --why 6 --why 8 --why n --why most
// Which branch diverges, on what, because of what, what it costs, and the help.
int escape(float cx, float cy, int most) {
  float x = 0, y = 0;
  int n = 0;
  while (n < most) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = 2 * x * y + cy;
    x = xx - yy + cx;
    n++;
  }
  return n;
}

// output
// func @escape(v0: f32, v1: f32, v2: i32) -> i32 {  ; v0 `cx` varying, v1 `cy` uniform, v2 `most` uniform
// block0:                                 ; all lanes
//   br block1 at file0:6:3
// block1:                                 ; some lanes; a divergent loop
//   v3 = phi i32 [block0: 0], [block4: v19]  ; `n` varying
//   v4 = phi f32 [block0: 0.0], [block4: v20]  ; `y` varying
//   v5 = phi f32 [block0: 0.0], [block4: v21]  ; `x` varying
//   v6 = icmp slt v3, v2 at file0:6:12    ; varying
//   br v6, block2, block5 at file0:6:3    ; divergent
// block2:                                 ; some lanes
//   v7 = fmul v5, v5 at file0:7:18        ; `xx` varying
//   v8 = fmul v4, v4 at file0:7:30        ; `yy` varying
//   v9 = fadd v8, v7 at file0:8:12        ; varying
//   v11 = fcmp ule v9, 4.0 at file0:8:17  ; varying
//   br v11, block3, block4 at file0:8:17  ; divergent
// block3:                                 ; some lanes
//   v13 = fmul v5, 2.0 at file0:9:11      ; varying
//   v14 = fmuladd v13, v4, v1 at file0:9:19  ; `y` varying
//   v15 = fsub v7, v8 at file0:10:12      ; varying
//   v16 = fadd v0, v15 at file0:10:17     ; `x` varying
//   v18 = add nsw v3, 1 at file0:11:6     ; `n` varying
//   br block4 at file0:12:3
// block4:                                 ; some lanes
//   v19 = phi i32 [block3: v18], [block2: v3]  ; `n` varying
//   v20 = phi f32 [block3: v14], [block2: v4]  ; `y` varying
//   v21 = phi f32 [block3: v16], [block2: v5]  ; `x` varying
//   br v11, block1, block5                ; divergent
// block5:                                 ; all lanes
//   v22 = phi i32 [block4: v19], [block1: v3]  ; `n` varying
//   ret v22 at file0:13:3
// }
// ; control-uniform: block0, block5
//
// why-escape.c:6:3: this branch diverges: `n < most` differs between lanes
//   because `n < most` (line 6) depends on `n`, `n` is a φ of lanes that diverge at the branch on `!(yy + xx > 4.0)` (line 8), the branch on `!(yy + xx > 4.0)` depends on `!(yy + xx > 4.0)`, `!(yy + xx > 4.0)` on `yy + xx`, `yy + xx` on `xx`, `xx` on `x`, `x` on `cx`, and `cx` is a parameter that differs between lanes
//   cost: the loop runs until its last lane leaves it; lanes that have left wait under a mask
//   if `cx` is the same for all lanes, declare it `uniform`
//
// why-escape.c:8:17: this branch diverges: `!(yy + xx > 4.0)` differs between lanes
//   because `!(yy + xx > 4.0)` (line 8) depends on `yy + xx`, `yy + xx` on `xx`, `xx` on `x`, `x` on `cx`, and `cx` is a parameter that differs between lanes
//   cost: both sides run, one after the other, each under the mask of the lanes that take it
//   if `cx` is the same for all lanes, declare it `uniform`
//
// `n` differs between lanes
//   because `n` is a φ of lanes that diverge at the branch on `!(yy + xx > 4.0)` (line 8), the branch on `!(yy + xx > 4.0)` depends on `!(yy + xx > 4.0)`, `!(yy + xx > 4.0)` on `yy + xx`, `yy + xx` on `xx`, `xx` on `x`, `x` on `cx`, and `cx` is a parameter that differs between lanes
//   if `cx` is the same for all lanes, declare it `uniform`
//
// `most` is uniform
// exit code 0
