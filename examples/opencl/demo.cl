// Three kernels as programs have them: one work-item says what becomes of one pixel, one body, one option.

// How many steps a point of the complex plane takes to leave the circle of radius 2.
kernel void mandelbrot(global ushort *steps, float left, float top, float pixel, int limit) {
#pragma OPENCL FP_CONTRACT OFF
  int column = get_global_id(0), row = get_global_id(1);
  float cx = left + pixel * column, cy = top + pixel * row;
  float x = 0.0f, y = 0.0f;
  int n = 0;
  while (n < limit && x * x + y * y < 4.0f) {
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    n++;
  }
  steps[row * get_global_size(0) + column] = n;
}

// The acceleration of bodies that attract each other; w is the mass. A work-group takes the others tile by tile.
kernel void attract(global const float4 *bodies, global float4 *accelerations, int count, local float4 *tile) {
  int i = get_global_id(0), own = get_local_id(0), size = get_local_size(0);
  float4 body = bodies[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int first = 0; first < count; first += size) {
    tile[own] = bodies[first + own];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < size; j++) {
      float4 other = tile[j];
      float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
      float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
      float pull = other.w * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  accelerations[i] = (float4)(ax, ay, az, 0.0f);
}

// What a European call is worth, by the formula of Black and Scholes.
float normal(float x) { return 0.5f * erfc(x * -0.70710678f); }

kernel void price(global const float *spots, global const float *strikes, global const float *years, global float *calls,
                  float rate, float volatility) {
  int i = get_global_id(0);
  float spread = volatility * sqrt(years[i]);
  float d1 = (log(spots[i] / strikes[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / spread;
  calls[i] = spots[i] * normal(d1) - strikes[i] * exp(-rate * years[i]) * normal(d1 - spread);
}
