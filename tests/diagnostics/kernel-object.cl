// heddle vectorize FILE --func k -o OUT/k.o
kernel void k(global int *o) { o[get_global_id(0)] = 1; }

// output
// error: kernel-object.cl:2:34: @k: this kernel needs a launch, which defines the indices of its work-items [needs-launch]
//     kernel void k(global int *o) { o[get_global_id(0)] = 1; }
//                                      ^^^^^^^^^^^^^
//   help: run the program on Heddle's OpenCL driver (`./x install`), or write a function that takes the index as a parameter
// exit code 1
