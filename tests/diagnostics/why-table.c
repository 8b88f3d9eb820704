// heddle analyze FILE --func pick --lanes 8 --param i=linear:1 --why value --why 7
int outside(int x);
void report(int x);
int pick(const int *table, int i, int limit) {
  int value = outside(table[i]);
  report(i);
  if (value > limit + 1) report(value);
  return value;
}

// output
// func @pick(v0: ptr readonly, v1: i32, v2: i32) -> i32 {  ; v0 `table` uniform, v1 `i` strided 1, v2 `limit` uniform
// block0:                                 ; all lanes
//   v3 = sext i64, v1 at file0:5:23       ; varying
//   v5 = shl nsw v3, 2 at file0:5:23      ; varying align 4
//   v6 = ptradd inbounds v0, v5 at file0:5:23  ; varying
//   v7 = load i32, v6 at file0:5:23 !{tbaa fact3}  ; varying
//   v8 = call @outside(v7) at file0:5:15  ; `value` varying
//   call @report(v1) at file0:6:3
//   v10 = add nsw v2, 1 at file0:7:21     ; uniform
//   v11 = icmp sgt v8, v10 at file0:7:13  ; varying
//   br v11, block1, block2 at file0:7:13  ; divergent
// block1:                                 ; some lanes
//   call @report(v8) at file0:7:26
//   br block2 at file0:7:26
// block2:                                 ; all lanes
//   ret v8 at file0:8:3
// }
// ; control-uniform: block0, block2
// ; contiguous from `table`: load v7 at +0; if `i` <= 2147483640 in lane 0 (signed)
//
// why-table.c:5:15: `value` differs between lanes
//   because `value` (line 5) depends on v7, v7 on v6, v6 on `i << 2`, `i << 2` on `i`, and `i` is a parameter that differs between lanes
//   if `i` is the same for all lanes, declare it `uniform`
//
// why-table.c:7:13: this branch diverges: `value > limit + 1` differs between lanes
//   because `value > limit + 1` (line 7) depends on `value`, `value` on v7, v7 on v6, v6 on `i << 2`, `i << 2` on `i`, and `i` is a parameter that differs between lanes
//   cost: both sides run, one after the other, each under the mask of the lanes that take it
//   if `i` is the same for all lanes, declare it `uniform`
// exit code 0
