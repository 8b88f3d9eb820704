// heddle vectorize FILE --func blend -o OUT/f.o
float blend_colors(float a, float b, float t) { return a + (b - a) * t; }
float brighten(float a) { return a * 1.5f; }

// output
// error: no function @blend [unknown-function]
//   help: the functions are @blend_colors, @brighten
// exit code 1
