// heddle vectorize FILE --func weight -o OUT/f.o
// The function is defined in another file.
float weight(float distance);
float force(float distance) { return weight(distance) / distance; }

// output
// error: @weight: it is only declared here; give the file that defines it [unknown-function]
// exit code 1
