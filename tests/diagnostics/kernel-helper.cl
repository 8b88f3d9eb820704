// heddle vectorize FILE --func place -o OUT/k.o
int place(global int *o) { return o[get_global_id(0)]; }

// output
// error: kernel-helper.cl:2:37: @place: it asks for a place in a launch, and nothing launches this function; pass it as a parameter [needs-launch]
//     int place(global int *o) { return o[get_global_id(0)]; }
//                                         ^^^^^^^^^^^^^
// exit code 1
