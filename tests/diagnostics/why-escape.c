// heddle analyze FILE --func escape --lanes 8 --param cx=varying --why 6 --why 8 --why n --why most
// Which branch diverges, on what, because of what, what it costs, and what could be said.
int escape(float cx, float cy, int most) {
  float x = 0, y = 0;
  int n = 0;
  while (n < most) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = 2 * x * y + cy;
    x = xx - yy + cx;
    n++;
  }
  return n;
}
