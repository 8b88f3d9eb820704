// heddle vectorize FILE --func k -o OUT/k.o
kernel void k(global int *o) { o[get_global_id(0)] = 1; }

// output
// error: kernel-object.cl:2:34: @k: it is a kernel, whose work-items are told their places by a launch; run the program on Heddle's OpenCL driver (`./x install`), which launches it, or write a function that is no kernel and takes the index as a parameter [needs-launch]
//     kernel void k(global int *o) { o[get_global_id(0)] = 1; }
//                                      ^^^^^^^^^^^^^
// exit code 1
