// heddle vectorize FILE --func area -o OUT/f.o
// C++ mangles names: the symbol is another one.
float area(float width, float height) { return width * height; }

// output
// error: no function @area [unknown-function]
//   help: its mangled name is @_Z4areaff: declare it `extern "C"`, or use that name
// exit code 1
