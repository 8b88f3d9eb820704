// How many steps each point of the complex plane takes to leave the circle of radius 2.
kernel void mandelbrot(global uint *image, float left, float top, float step, uint limit) {
  uint column = get_global_id(0), row = get_global_id(1);
  float cx = left + step * column, cy = top + step * row;
  float x = 0.0f, y = 0.0f;
  uint n = 0;
  while (n < limit) {
    float xx = x * x, yy = y * y;
    if (xx + yy > 4.0f)
      break;
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    n++;
  }
  image[row * get_global_size(0) + column] = n;
}
