// heddle vectorize FILE --func area -o OUT/f.o
// C++ mangles names: the symbol is another one.
float area(float width, float height) { return width * height; }

// output
// error: there is no function @area; C++ calls it @_Z4areaff: declare it `extern "C"`, or ask for that name [unknown-function]
// exit code 1
