// heddle opt FILE -p kernels:8
__attribute__((noinline)) int paths(int n) { return n > 1 ? paths(n - 1) * 3 + paths(n - 2) : (int)get_local_id(0); }
kernel void k(global int *o, int n) { o[get_global_id(0)] = paths(n); }

// output
// error: kernel-recursion.cl:2:61: @k: `call`: @paths is recursive and depends on the work-item [kernel-form]
//     __attribute__((noinline)) int paths(int n) { return n > 1 ? paths(n - 1) * 3 + paths(n - 2) : (int)g…
//                                                                 ^^^^^
//   in pass `kernels`
//   help: write a loop; kernels have no recursion
// exit code 1
