// Mathematical functions where lanes part: in arms, after exits, and with arguments that lanes share.
#include <math.h>

float arms(float x, float y) {
  if (x > 1.0f) return sinf(x) + expf(-y);
  if (x < -1.0f) return powf(-x, y) - cosf(y);
  return x * expf(2.0f);
}

// Lanes leave after different numbers of rounds.
float rounds(float x, float y) {
  float sum = 0.0f;
  for (int i = 0; i < 20 && sum < y; i++) sum += expf(sinf(x + (float)i)) + logf(2.0f + (float)i);
  return sum;
}

// One lane's angle is so great that it takes the long way.
float angles(float x, float y) { return sinf(x * 1e30f) + cosf(y) * powf(2.0f, sinf(x)); }
