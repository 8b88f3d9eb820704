// heddle opt FILE -p params:varying,canonicalize --dump-each
// Shapes are comments next to the instructions, with the names of the source.
int collatz(int start, int most) {
  int n = 0;
  for (int x = start; x > 1 && n < most; n++) x = x & 1 ? 3 * x + 1 : x / 2;
  return n;
}

// output
// ; after params
// file0 = "each-stage.c"
// fact0 = {"llvm.loop.mustprogress"}
// fact1 = {"llvm.loop.unroll.disable"}
// fact2 = {fact1}
// fact3 = {fact0}
//
// func @collatz(v0: i32 varying, v1: i32 varying) -> i32 {  ; v0 `start` varying, v1 `most` varying
// block0:                                 ; all lanes
//   v3 = icmp sgt v0, 1 at file0:5:25     ; varying
//   v5 = icmp sgt v1, 0 at file0:5:29     ; varying
//   v6 = and v3, v5 at file0:5:29         ; varying
//   br v6, block2, block1 at file0:5:3    ; divergent
// block1:                                 ; all lanes
//   v21 = phi i32 [block0: 0], [block2: v16]  ; varying
//   ret v21 at file0:6:3
// block2:                                 ; some lanes; a divergent loop
//   v7 = phi i32 [block2: v15], [block0: v0]  ; `x` varying
//   v8 = phi i32 [block2: v16], [block0: 0]  ; `n` uniform
//   v9 = and v7, 1 at file0:5:53          ; varying
//   v10 = icmp eq v9, 0 at file0:5:53     ; varying
//   v12 = mul nuw nsw v7, 3 at file0:5:51  ; varying
//   v13 = add nuw nsw v12, 1 at file0:5:51  ; varying
//   v14 = lshr exact v7, 1 at file0:5:51  ; varying
//   v15 = select v10, v14, v13 at file0:5:51  ; `x` varying
//   v16 = add nuw nsw v8, 1 at file0:5:43  ; `n` uniform
//   v17 = icmp ugt v15, 1 at file0:5:25   ; varying
//   v18 = icmp slt v16, v1 at file0:5:29  ; varying
//   v20 = select v17, v18, false at file0:5:29  ; varying
//   br v20, block2, block1 at file0:5:3 !{loop fact2, iterations fact3}  ; divergent
// }
// ; control-uniform: block0, block1
//
// ; after canonicalize
// file0 = "each-stage.c"
// fact0 = {"llvm.loop.mustprogress"}
// fact1 = {"llvm.loop.unroll.disable"}
// fact2 = {fact1}
// fact3 = {fact0}
//
// func @collatz(v0: i32 varying, v1: i32 varying) -> i32 {  ; v0 `start` varying, v1 `most` varying
// block0:                                 ; all lanes
//   v3 = icmp sgt v0, 1 at file0:5:25     ; varying
//   v5 = icmp sgt v1, 0 at file0:5:29     ; varying
//   v6 = and v3, v5 at file0:5:29         ; varying
//   br v6, block4, block1 at file0:5:3    ; divergent
// block4:                                 ; some lanes
//   br block2
// block1:                                 ; all lanes
//   v21 = phi i32 [block0: 0], [block3: v22]  ; varying
//   ret v21 at file0:6:3
// block2:                                 ; some lanes; a divergent loop
//   v7 = phi i32 [block2: v15], [block4: v0]  ; `x` varying
//   v8 = phi i32 [block2: v16], [block4: 0]  ; `n` uniform
//   v9 = and v7, 1 at file0:5:53          ; varying
//   v10 = icmp eq v9, 0 at file0:5:53     ; varying
//   v12 = mul nuw nsw v7, 3 at file0:5:51  ; varying
//   v13 = add nuw nsw v12, 1 at file0:5:51  ; varying
//   v14 = lshr exact v7, 1 at file0:5:51  ; varying
//   v15 = select v10, v14, v13 at file0:5:51  ; `x` varying
//   v16 = add nuw nsw v8, 1 at file0:5:43  ; `n` uniform
//   v17 = icmp ugt v15, 1 at file0:5:25   ; varying
//   v18 = icmp slt v16, v1 at file0:5:29  ; varying
//   v20 = select v17, v18, false at file0:5:29  ; varying
//   br v20, block2, block3 at file0:5:3 !{loop fact2, iterations fact3}  ; divergent
// block3:                                 ; some lanes
//   v22 = phi i32 [block2: v16]           ; varying
//   br block1
// }
// ; control-uniform: block0, block1
//
// exit code 0
