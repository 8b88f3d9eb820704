// Iterations until a point leaves the circle.
//! extent 256 256
//! output uint I
float real = x * (3.0f / 256.0f) - 2.0f, imaginary = y * (2.5f / 256.0f) - 1.25f, u = 0.0f, v = 0.0f;
r = 0;
while (r < 128 && u * u + v * v < 4.0f) {
  float next = u * u - v * v + real;
  v = 2.0f * u * v + imaginary;
  u = next;
  r++;
}
