// heddle vectorize FILE --func k -o OUT/k.o
kernel void k(global int *o) { o[get_global_id(0)] = sinn(1.0f); }

// output
// error: kernel-syntax.cl: clang reports errors [front-end]
//   kernel-syntax.cl:2:54: error: use of undeclared identifier 'sinn'
//       2 | kernel void k(global int *o) { o[get_global_id(0)] = sinn(1.0f); }
//         |                                                      ^~~~
//   1 error generated.
// exit code 1
