// What hyperbolic functions share, in f64: for x = n log 2 + r, with c = cosh r, s = sinh r, P and Q half of 2^n and 2^-n,
// sinh x = s (P + Q) + c (P - Q) and cosh x = c (P + Q) + s (P - Q).
#define SINGLE
#include "common.h"

struct hyperbolic {
  double sinh, cosh;
};

INLINE struct hyperbolic hyperbolic(float x) {
  double wide = x;
  double shifted = FMA(wide, LOG2E, ROUNDER_D);
  double n = shifted - ROUNDER_D;
  double r = FMA(n, -LN2_1, FMA(n, -LN2_0, wide));
  double z = r * r;
  double s = FMA(r * z, SINH_34(z), r), c = FMA(z, COSH_34(z), 1.0);
  u64 whole = bits_d(shifted);
  double p = double_of((whole + 1022) << 52), q = double_of((1022 - whole) << 52);
  struct hyperbolic both = {FMA(s, p + q, c * (p - q)), FMA(c, p + q, s * (p - q))};
  return both;
}
