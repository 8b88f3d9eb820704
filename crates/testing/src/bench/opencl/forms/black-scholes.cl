// Prices of options with an approximation of the normal distribution.
//! extent 65536
//! input f:65536 global const float *a
//! input f:65536 global const float *b
//! output float F
float price = 10.0f + 20.0f * a[x], strike = 10.0f + 20.0f * b[x], root = 0.3f;
float d1 = (log(price / strike) + 0.065f) / root, d2 = d1 - root;
float t1 = 1.0f / (1.0f + 0.2316419f * fabs(d1)), t2 = 1.0f / (1.0f + 0.2316419f * fabs(d2));
float n1 = 0.39894228f * exp(-0.5f * d1 * d1) * t1 * (0.31938153f + t1 * (-0.356563782f + t1 * 1.781477937f));
float n2 = 0.39894228f * exp(-0.5f * d2 * d2) * t2 * (0.31938153f + t2 * (-0.356563782f + t2 * 1.781477937f));
r = price * (d1 > 0.0f ? 1.0f - n1 : n1) - strike * 0.98f * (d2 > 0.0f ? 1.0f - n2 : n2);
