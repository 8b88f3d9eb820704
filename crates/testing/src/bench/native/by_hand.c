// The kernel `mandelbrot` by intrinsics, two vectors in flight, and how many elements a call does: 0 where there are none.
#include <immintrin.h>

#if defined(__AVX512F__)
enum { LANES = 16 };
typedef __m512 Vector;
typedef __mmask16 Mask;
#define OP(name) _mm512_##name
static Mask is_near(Mask live, Vector x, Vector y) {
  return _mm512_mask_cmp_ps_mask(live, _mm512_fmadd_ps(x, x, _mm512_mul_ps(y, y)), _mm512_set1_ps(4), _CMP_LT_OQ);
}
static Vector count(Vector counts, Mask live) { return _mm512_mask_add_ps(counts, live, counts, _mm512_set1_ps(1)); }
static int any(Mask a, Mask b) { return (a | b) != 0; }
static Mask all(void) { return (Mask)-1; }
#elif defined(__AVX2__)
enum { LANES = 8 };
typedef __m256 Vector;
typedef __m256 Mask;
#define OP(name) _mm256_##name
static Mask is_near(Mask live, Vector x, Vector y) {
  Vector square = _mm256_fmadd_ps(x, x, _mm256_mul_ps(y, y));
  return _mm256_and_ps(live, _mm256_cmp_ps(square, _mm256_set1_ps(4), _CMP_LT_OQ));
}
static Vector count(Vector counts, Mask live) { return _mm256_add_ps(counts, _mm256_and_ps(live, _mm256_set1_ps(1))); }
static int any(Mask a, Mask b) { return _mm256_movemask_ps(_mm256_or_ps(a, b)); }
static Mask all(void) { return _mm256_castsi256_ps(_mm256_set1_epi32(-1)); }
#endif

#if defined(__AVX2__)
const int by_hand_lanes = 2 * LANES;

void mandelbrot_by_hand(long i, const float *restrict a, const float *restrict b, float *restrict c, int n) {
  Vector cx0 = OP(loadu_ps)(a + i), cx1 = OP(loadu_ps)(a + i + LANES);
  Vector cy0 = OP(loadu_ps)(b + i), cy1 = OP(loadu_ps)(b + i + LANES);
  Vector x0 = OP(setzero_ps)(), y0 = x0, x1 = x0, y1 = x0, k0 = x0, k1 = x0;
  Mask live0 = all(), live1 = all();
  for (int k = 0; k < n; k++) {
    live0 = is_near(live0, x0, y0);
    live1 = is_near(live1, x1, y1);
    if (!any(live0, live1)) break;
    Vector t0 = OP(add_ps)(OP(fmsub_ps)(x0, x0, OP(mul_ps)(y0, y0)), cx0);
    Vector t1 = OP(add_ps)(OP(fmsub_ps)(x1, x1, OP(mul_ps)(y1, y1)), cx1);
    y0 = OP(fmadd_ps)(OP(add_ps)(x0, x0), y0, cy0);
    y1 = OP(fmadd_ps)(OP(add_ps)(x1, x1), y1, cy1);
    x0 = t0;
    x1 = t1;
    k0 = count(k0, live0);
    k1 = count(k1, live1);
  }
  OP(storeu_ps)(c + i, k0);
  OP(storeu_ps)(c + i + LANES, k1);
}
#else
const int by_hand_lanes = 0;

void mandelbrot_by_hand(long i, const float *restrict a, const float *restrict b, float *restrict c, int n) {}
#endif
