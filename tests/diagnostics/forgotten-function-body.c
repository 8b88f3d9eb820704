// heddle vectorize FILE --func weight -o OUT/f.o
// The function is defined in another file.
float weight(float distance);
float force(float distance) { return weight(distance) / distance; }

// output
// error: @weight: declared, but not defined [unknown-function]
//   help: add the file that defines it
// exit code 1
