// Streaming step of a lattice with nine directions, whose edges wrap.
//! extent 256 256
//! input f:589824 global const float *a
//! output float F
//! top constant int2 directions[9] = {(int2)(0, 0), (int2)(1, 0), (int2)(0, 1), (int2)(-1, 0), (int2)(0, -1), (int2)(1, 1), (int2)(-1, 1), (int2)(-1, -1), (int2)(1, -1)};
//! top constant float shares[9] = {0.44f, 0.11f, 0.11f, 0.11f, 0.11f, 0.03f, 0.03f, 0.03f, 0.03f};
//! variant array
#ifdef ARRAY
float values[9];
for (int k = 0; k < 9; k++) {
  INDEX column = (x - directions[k].x + w) % w, row = (y - directions[k].y + h) % h;
  values[k] = a[k * w * h + row * w + column];
}
r = 0.0f;
for (int k = 0; k < 9; k++)
  r += shares[k] * values[k];
#else
r = 0.0f;
for (int k = 0; k < 9; k++) {
  INDEX column = (x - directions[k].x + w) % w, row = (y - directions[k].y + h) % h;
  r += shares[k] * a[k * w * h + row * w + column];
}
#endif
