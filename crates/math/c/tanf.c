// tan r, or -1 / tan r where x is an odd number of quarter turns away; in f64 from the reduced angle on.
#define SINGLE
#include "trig_parts.h"

float tanf(float x) {
  struct angle angle = reduced(x);
  double r = (double)angle.r + (double)angle.low;
  double z = r * r;
  double tan = FMA(r * z, TAN_30(z), r);
  int is_odd = angle.n & 1;
  float result = (float)((is_odd ? -1.0 : tan) / (is_odd ? tan : 1.0));
  return x == 0.0f ? x : result;
}
