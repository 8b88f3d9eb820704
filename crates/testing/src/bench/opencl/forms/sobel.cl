// Gradient of an image of bytes.
//! extent 512 512
//! input b:262144 global const uchar *a
//! output uchar B
r = 0;
if (x > 0 && y > 0 && x + 1 < w && y + 1 < h) {
  int across = 0, along = 0;
  for (int i = -1; i <= 1; i++) {
    int weight = i == 0 ? 2 : 1;
    across += weight * (a[(y + i) * w + x + 1] - a[(y + i) * w + x - 1]);
    along += weight * (a[(y + 1) * w + x + i] - a[(y - 1) * w + x + i]);
  }
  r = convert_uchar_sat(abs(across) + abs(along));
}
