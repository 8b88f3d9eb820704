// heddle vectorize FILE --func place -o OUT/k.o
int place(global int *o) { return o[get_global_id(0)]; }

// output
// error: kernel-helper.cl:2:37: @place: work-item index in a function that nothing launches [needs-launch]
//     int place(global int *o) { return o[get_global_id(0)]; }
//                                         ^^^^^^^^^^^^^
//   help: pass the index as a parameter
// exit code 1
