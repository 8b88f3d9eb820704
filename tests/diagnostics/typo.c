// heddle vectorize FILE --func blend -o OUT/f.o
float blend_colors(float a, float b, float t) { return a + (b - a) * t; }
float brighten(float a) { return a * 1.5f; }

// output
// error: there is no function @blend; there are @blend_colors, @brighten [unknown-function]
// exit code 1
