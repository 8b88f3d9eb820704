// heddle opt FILE -p kernels:8
__attribute__((noinline)) int paths(int n) { return n > 1 ? paths(n - 1) * 3 + paths(n - 2) : (int)get_local_id(0); }
kernel void k(global int *o, int n) { o[get_global_id(0)] = paths(n); }

// output
// error: kernel-recursion.cl:2:61: @k: `call`: @paths calls itself and asks for its place in the launch; write a loop: a kernel has no recursion [kernel-form]
//     __attribute__((noinline)) int paths(int n) { return n > 1 ? paths(n - 1) * 3 + paths(n - 2) : (int)g…
//                                                                 ^^^^^
//   said by `kernels`
// exit code 1
