// Made by derive/coefficients.py. Polynomials for Horner's rule, lowest power last; `_F` is of f32.
#define TWO_OVER_PI_WORDS_F 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu
#define TWO_OVER_PI_WORDS 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du, 0xa9e39161u, 0x5ee61b08u, 0x6599855fu
#define HALF_PI_OVER_2_64_0 0x1.921fb54442d18p-64
#define HALF_PI_OVER_2_64_1 0x1.1a62633145c07p-118
#define HALF_LN2_F 0x1.62e43p-2f
#define TWICE_LOG2E_F 0x1.715476p+1f
#define LN2_F 0x1.62e43p-1f
#define PER_PI_F 0x1.45f306p-2f
#define PI_0_F 0x1.921fb4p+1f
#define PI_1_F 0x1.444p-23f
#define PI_2_F 0x1.68c234p-38f
#define LOG2E_F 0x1.715476p+0f
#define LOG2_10_F 0x1.a934fp+1f
#define LN2_0_F 0x1.62e4p-1f
#define LN2_1_F 0x1.7f7d1cp-20f
#define LOG10_2_0_F 0x1.344p-2f
#define LOG10_2_1_F 0x1.3509f8p-18f
#define LOG2E_SPLIT_0_F 0x1.715476p+0f
#define LOG2E_SPLIT_1_F 0x1.4ae0cp-26f
#define LOG10E_SPLIT_0_F 0x1.bcb7b2p-2f
#define LOG10E_SPLIT_1_F -0x1.5b235ep-27f
#define TWO_OVER_PI_F 0x1.45f306p-1f
#define HALF_PI_0_F 0x1.921fb6p+0f
#define HALF_PI_1_F -0x1.7778p-25f
#define HALF_PI_2_F -0x1.2e7b96p-40f
#define PI_SPLIT_0_F 0x1.921fb6p+1f
#define PI_SPLIT_1_F -0x1.777a5cp-24f
#define RIGHT_ANGLE_0_F 0x1.921fb6p+0f
#define RIGHT_ANGLE_1_F -0x1.777a5cp-25f
// EXP_POLY_F: error -28.25 as a power of 2
#define EXP_POLY_F(z) FMAF(FMAF(FMAF(FMAF(0x1.6a4f1ap-10f, z, 0x1.123982p-7f), z, 0x1.5558aep-5f), z, 0x1.555492p-3f), z, 0x1.fffffcp-2f)
// TANH_QUICK_F: error -26.12 as a power of 2
#define TANH_QUICK_F(z) FMAF(FMAF(FMAF(FMAF(0x1.6b731ap-5f, z, 0x1.122668p-3f), z, 0x1.555716p-2f), z, 0x1.5554b2p-1f), z, 0x1.fffffep-1f)
// EXP2_POLY_F: error -28.32 as a power of 2
#define EXP2_POLY_F(z) FMAF(FMAF(FMAF(FMAF(FMAF(0x1.417834p-13f, z, 0x1.5f0952p-10f), z, 0x1.3b2dd4p-7f), z, 0x1.c6af7ap-5f), z, 0x1.ebfbdcp-3f), z, 0x1.62e43p-1f)
// EXP10_POLY_F: error -28.51 as a power of 2
#define EXP10_POLY_F(z) FMAF(FMAF(FMAF(FMAF(FMAF(0x1.a63ed6p-3f, z, 0x1.156a28p-1f), z, 0x1.2bd9fcp+0f), z, 0x1.046f9cp+1f), z, 0x1.53524ap+1f), z, 0x1.26bb1cp+1f)
// LOG_POLY_F: error -27.83 as a power of 2
#define LOG_POLY_F(z) FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(-0x1.3794e4p-4f, z, 0x1.082c8cp-3f), z, -0x1.0f4706p-3f), z, 0x1.22755cp-3f), z, -0x1.5425f2p-3f), z, 0x1.99a3dap-3f), z, -0x1.00043p-2f), z, 0x1.55555p-2f), z, -0x1.fffff8p-2f)
// SIN_POLY_F: error -27.89 as a power of 2
#define SIN_POLY_F(z) FMAF(FMAF(-0x1.9951eap-13f, z, 0x1.110774p-7f), z, -0x1.555546p-3f)
// COS_POLY_F: error -32.99 as a power of 2
#define COS_POLY_F(z) FMAF(FMAF(0x1.99e80cp-16f, z, -0x1.6c0c28p-10f), z, 0x1.55554ap-5f)
// SIN_QUICK_F: error -27.25 as a power of 2
#define SIN_QUICK_F(z) FMAF(FMAF(FMAF(0x1.5dc54cp-19f, z, -0x1.9f7036p-13f), z, 0x1.110ecap-7f), z, -0x1.55554cp-3f)
// ATAN_POLY_F: error -28.65 as a power of 2
#define ATAN_POLY_F(z) FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(0x1.2968b2p-10f, z, -0x1.e6a148p-8f), z, 0x1.75307ap-6f), z, -0x1.7080dep-5f), z, 0x1.150a0cp-4f), z, -0x1.6953cp-4f), z, 0x1.c5117p-4f), z, -0x1.24762p-3f), z, 0x1.99981cp-3f), z, -0x1.555552p-2f)
// ASIN_POLY_F: error -27.62 as a power of 2
#define ASIN_POLY_F(z) FMAF(FMAF(FMAF(FMAF(0x1.595c78p-5f, z, 0x1.8c3e34p-6f), z, 0x1.747bbap-5f), z, 0x1.330204p-4f), z, 0x1.5555c8p-3f)
// SINH_POLY_F: error -34.31 as a power of 2
#define SINH_POLY_F(z) FMAF(FMAF(0x1.a2e332p-13f, z, 0x1.110fbep-7f), z, 0x1.555556p-3f)
// COSH_POLY_F: error -33.24 as a power of 2
#define COSH_POLY_F(z) FMAF(FMAF(0x1.6d4f1p-10f, z, 0x1.5554e6p-5f), z, 0x1p-1f)
#define HALF_LN2 0x1.62e42fefa39efp-2
#define TWICE_LOG2E 0x1.71547652b82fep+1
#define LN2 0x1.62e42fefa39efp-1
#define PER_PI 0x1.45f306dc9c883p-2
#define PI_0 0x1.921fb54442d18p+1
#define PI_1 0x1.1a626331p-53
#define PI_2 0x1.1701b839a252p-87
#define LOG2E 0x1.71547652b82fep+0
#define LOG2_10 0x1.a934f0979a371p+1
#define LN2_0 0x1.62e42fefa4p-1
#define LN2_1 -0x1.8432a1b0e2634p-43
#define LOG10_2_0 0x1.34413509f8p-2
#define LOG10_2_1 -0x1.80433b83b532ap-44
#define LOG2E_SPLIT_0 0x1.71547652b82fep+0
#define LOG2E_SPLIT_1 0x1.777d0ffda0d24p-56
#define LOG10E_SPLIT_0 0x1.bcb7b1526e50ep-2
#define LOG10E_SPLIT_1 0x1.95355baaafad3p-57
#define TWO_OVER_PI 0x1.45f306dc9c883p-1
#define HALF_PI_0 0x1.921fb54442d18p+0
#define HALF_PI_1 0x1.1a626331p-54
#define HALF_PI_2 0x1.1701b839a252p-88
#define PI_SPLIT_0 0x1.921fb54442d18p+1
#define PI_SPLIT_1 0x1.1a62633145c07p-53
#define RIGHT_ANGLE_0 0x1.921fb54442d18p+0
#define RIGHT_ANGLE_1 0x1.1a62633145c07p-54
// EXP_POLY: error -57.9 as a power of 2
#define EXP_POLY(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.ada844fc6375dp-26, z, 0x1.28ae0797f37d3p-22), z, 0x1.71df0ac65510cp-19), z, 0x1.a0199954ce9f9p-16), z, 0x1.a01a0136ac56ep-13), z, 0x1.6c16c1847a0f7p-10), z, 0x1.11111111255a3p-7), z, 0x1.55555555506b3p-5), z, 0x1.5555555555504p-3), z, 0x1.000000000000ap-1)
// TANH_QUICK: error -55.54 as a power of 2
#define TANH_QUICK(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.ae8f5224bc25ap-16, z, 0x1.28a28bd82bb74p-13), z, 0x1.71de715d9c741p-11), z, 0x1.a019a6a662a79p-9), z, 0x1.a01a017f48203p-7), z, 0x1.6c16c17f2d08dp-5), z, 0x1.111111111716ap-3), z, 0x1.5555555552114p-2), z, 0x1.5555555555541p-1), z, 0x1.0000000000005p+0)
// EXP2_POLY: error -57.75 as a power of 2
#define EXP2_POLY(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.e826ce88c9a5fp-32, z, 0x1.e61308187df59p-28), z, 0x1.b525fea04a1b3p-24), z, 0x1.62bfccfccfa18p-20), z, 0x1.ffcbfbff53ae5p-17), z, 0x1.4309130c6412bp-13), z, 0x1.5d87fe78b295dp-10), z, 0x1.3b2ab6fba0fc5p-7), z, 0x1.c6b08d704a0d8p-5), z, 0x1.ebfbdff82c59dp-3), z, 0x1.62e42fefa39efp-1)
// EXP10_POLY: error -57.68 as a power of 2
#define EXP10_POLY(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.f85cab165a016p-13, z, 0x1.2f6bf3892331ep-10), z, 0x1.489962872f3bcp-8), z, 0x1.4116665b8d59bp-6), z, 0x1.16e4df1a488dcp-4), z, 0x1.a7ed709c95872p-3), z, 0x1.1429ffd210f13p-1), z, 0x1.2bd7609fd6667p+0), z, 0x1.0470591de2b7bp+1), z, 0x1.53524c73cea6fp+1), z, 0x1.26bb1bbb55516p+1)
// LOG_POLY: error -56.72 as a power of 2
#define LOG_POLY(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.ac4b15462eb9ap-6, z, -0x1.eb828e74e95b3p-5), z, 0x1.0b54d8e5a110dp-4), z, -0x1.d141e6ef9d0dbp-5), z, 0x1.cfb14fe4ba89p-5), z, -0x1.fb724461de38ap-5), z, 0x1.11d8d434b169dp-4), z, -0x1.24dc20a0b7bf2p-4), z, 0x1.3b0ab59ec2906p-4), z, -0x1.555076662c19fp-4), z, 0x1.745d465b79dc7p-4), z, -0x1.9999c8fc55686p-4), z, 0x1.c71c71cc73b8p-4), z, -0x1.fffffef6caa1p-4), z, 0x1.249249226663ap-3), z, -0x1.55555556e2787p-3), z, 0x1.99999999a124bp-3), z, -0x1.fffffffffdedcp-3), z, 0x1.555555555551fp-2), z, -0x1.0000000000003p-1)
// SIN_POLY: error -57.89 as a power of 2
#define SIN_POLY(z) FMA(FMA(FMA(FMA(FMA(0x1.5d8b723b5291bp-33, z, -0x1.ae5e4bd29787fp-26), z, 0x1.71de3555779b4p-19), z, -0x1.a01a019be95ep-13), z, 0x1.111111110f731p-7), z, -0x1.5555555555548p-3)
// COS_POLY: error -63.91 as a power of 2
#define COS_POLY(z) FMA(FMA(FMA(FMA(FMA(-0x1.8fa557a50bdcbp-37, z, 0x1.1ee9d9cc83cefp-29), z, -0x1.27e4f7ef130f3p-22), z, 0x1.a01a019c8c80fp-16), z, -0x1.6c16c16c15005p-10), z, 0x1.555555555554bp-5)
// SIN_QUICK: error -61.55 as a power of 2
#define SIN_QUICK(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.8832179cd9c7bp-49, z, -0x1.ae437f9cf10bcp-41), z, 0x1.6123ccf6c55dap-33), z, -0x1.ae6454d43b14cp-26), z, 0x1.71de3a52a0377p-19), z, -0x1.a01a01a014d0ep-13), z, 0x1.11111111110cp-7), z, -0x1.5555555555555p-3)
// ATAN_POLY: error -57.04 as a power of 2
#define ATAN_POLY(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.b9d00d01794efp-17, z, -0x1.3deb8d01d1afdp-13), z, 0x1.b28543179fc4dp-11), z, -0x1.7936dfb46723cp-9), z, 0x1.d6c33bc817091p-8), z, -0x1.c6e5d0e9b30a2p-7), z, 0x1.67e46c06c87e7p-6), z, -0x1.e9b393411d49bp-6), z, 0x1.2c189035a6abep-5), z, -0x1.59997da1a5f6bp-5), z, 0x1.82d6e6c129ad7p-5), z, -0x1.ae5d4e0009187p-5), z, 0x1.e1bb6573c26c8p-5), z, -0x1.110e4bbc60b02p-4), z, 0x1.3b1365f0e7a29p-4), z, -0x1.745d119fe2889p-4), z, 0x1.c71c717ef91b5p-4), z, -0x1.249249237b91dp-3), z, 0x1.9999999995495p-3), z, -0x1.5555555555525p-2)
// ASIN_POLY: error -55.9 as a power of 2
#define ASIN_POLY(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.056c12958fd22p-5, z, -0x1.09ced3b2c7ee8p-6), z, 0x1.3ff19a67cd846p-6), z, 0x1.abd45f2bdb3acp-8), z, 0x1.8ec254993f423p-7), z, 0x1.c6fddf1729f6p-7), z, 0x1.1c6bdfe855794p-6), z, 0x1.6e89f4639309p-6), z, 0x1.f1c72c37244f3p-6), z, 0x1.6db6db4281d75p-5), z, 0x1.333333336e6fep-4), z, 0x1.5555555555391p-3)
// SINH_POLY: error -61.69 as a power of 2
#define SINH_POLY(z) FMA(FMA(FMA(FMA(0x1.af5ff4bb793c6p-26, z, 0x1.71ddf7af83148p-19), z, 0x1.a01a01b0205a8p-13), z, 0x1.111111110f62ap-7), z, 0x1.5555555555559p-3)
// COSH_POLY: error -70.0 as a power of 2
#define COSH_POLY(z) FMA(FMA(FMA(FMA(FMA(0x1.1f8bef494ef76p-29, z, 0x1.27e4cc08f896dp-22), z, 0x1.a01a01ad8107cp-16), z, 0x1.6c16c16c14ffap-10), z, 0x1.5555555555558p-5), z, 0x1p-1)
// LOG_QUICK_F: error -24.97 as a power of 2
#define LOG_QUICK_F(z) FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(0x1.65db7p-4f, z, -0x1.25100cp-3f), z, 0x1.31846cp-3f), z, -0x1.535a9ap-3f), z, 0x1.98d2a8p-3f), z, -0x1.0004bp-2f), z, 0x1.5556f4p-2f), z, -0x1.fffffap-2f)
// ATAN_QUICK_F: error -25.81 as a power of 2
#define ATAN_QUICK_F(z) FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(FMAF(0x1.7e8bfep-9f, z, -0x1.0c0dfep-6f), z, 0x1.61e956p-5f), z, -0x1.354f96p-4f), z, 0x1.b4de78p-4f), z, -0x1.230a94p-3f), z, 0x1.9978ecp-3f), z, -0x1.5554dcp-2f)
// LOG_TAIL_F: error -35.23 as a power of 2
#define LOG_TAIL_F(z) FMAF(FMAF(FMAF(0x1.f13b22p-3f, z, 0x1.23d3ep-2f), z, 0x1.999c26p-2f), z, 0x1.555554p-1f)
// CBRT_STEP_F: error -18.5 as a power of 2
#define CBRT_STEP_F(z) FMAF(FMAF(0x1.661034p-3f, z, 0x1.c9ab9ep-3f), z, 0x1.5553ecp-2f)
#define CBRT_GUESS_F 0x1.5287a6p+30f
#define THIRD_F 0x1.555556p-2f
// LOG2_33: error -33.19 as a power of 2
#define LOG2_33(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(-0x1.619559c587703p-4, z, 0x1.3d1e04db5e753p-3), z, -0x1.4181475cbe3cap-3), z, 0x1.45a44aea6d141p-3), z, -0x1.6eb032f77cea3p-3), z, 0x1.a615aa38b7959p-3), z, -0x1.ec8d71b91393bp-3), z, 0x1.2777334bad977p-2), z, -0x1.715435f44501dp-2), z, 0x1.ec709bffe389p-2), z, -0x1.7154767ba6bedp-1), z, 0x1.71547652ef6e8p+0)
// ERF_30: error -29.62 as a power of 2
#define ERF_30(z) FMA(FMA(FMA(FMA(FMA(FMA(0x1.49696f2ff1f9cp-14, z, -0x1.a3f6adb75174bp-11), z, 0x1.5405a48e67ae7p-8), z, -0x1.b7f90b0104738p-6), z, 0x1.ce2cf71a6d5a3p-4), z, -0x1.81273de845aedp-2), z, 0x1.20dd74fe4795cp+0)
// ERF_TAIL: error -30.82 as a power of 2
#define ERF_TAIL(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.91d12f835e1cap-28, z, -0x1.7a69781b05994p-22), z, 0x1.c19f88d34d19bp-21), z, 0x1.d205e612e508bp-19), z, -0x1.047e8df584878p-16), z, 0x1.033040a270787p-17), z, 0x1.529f03c2e50dap-14), z, -0x1.09ad41ca9895ep-12), z, 0x1.0fb4495aab479p-12), z, 0x1.1d774a9eae47cp-11), z, -0x1.6eb5ce896e9fp-9), z, 0x1.90dbb665b336p-8), z, -0x1.1a8b1f8663598p-7), z, 0x1.119e9c86719dfp-7), z, -0x1.64e39b7624dc8p-8), z, 0x1.1d82e8751ea49p-9), z, 0x1.ffcaa8f2caff2p-1)
#define TWO_THIRDS_0 0x1.5555555555555p-1
#define TWO_THIRDS_1 0x1.5555555555555p-55
// LOG_RATIO: error -73.48 as a power of 2
#define LOG_RATIO(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.eac5ca6fd5138p-4, z, 0x1.de3d6f5492a01p-4), z, 0x1.11206f347f8d5p-3), z, 0x1.3b1364c928d3ep-3), z, 0x1.745d182956d5bp-3), z, 0x1.c71c71c5968f4p-3), z, 0x1.2492492492f51p-2), z, 0x1.9999999999996p-2)
// INVERSE_CBRT: error -25.41 as a power of 2
#define INVERSE_CBRT(z) FMA(FMA(FMA(FMA(FMA(FMA(FMA(FMA(0x1.0a1a01eb978ccp-8, z, -0x1.a3f941bb88f74p-8), z, 0x1.0f98db5eda0f2p-7), z, -0x1.ce4f19e5eaa8bp-7), z, 0x1.978f21fc3620dp-6), z, -0x1.6ea30a49484e1p-5), z, 0x1.6165ea84398d3p-4), z, -0x1.8d935269ed89fp-3), z, 0x1.bf45f06efb1cdp-1)
#define INVERSE_CBRT_2 0x1.965fea53d6e3dp-1
#define INVERSE_CBRT_4 0x1.428a2f98d728bp-1
#define THIRD 0x1.5555555555555p-2
