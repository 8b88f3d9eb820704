// Made by derive/special.py.
// erf(x) / x of x^2 from 0 to 1: off by 3.3e-23.
#define ERF_NEAR(X) \
  X(0x1.3c01fd3a74542p-42) \
  X(-0x1.b40e7abf9f000p-38) \
  X(0x1.9a0fcb5e22c5bp-34) \
  X(-0x1.517ce02f1265fp-30) \
  X(0x1.fcbb312b48443p-27) \
  X(-0x1.5f73c3bf14b91p-23) \
  X(0x1.b9e6c38e5cf3dp-20) \
  X(-0x1.f4d25bf9af03ap-17) \
  X(0x1.f9a326f7ac5b1p-14) \
  X(-0x1.c02db40035f1ep-11) \
  X(0x1.565bcd0e6a2eep-8) \
  X(-0x1.b82ce31288b47p-6) \
  X(0x1.ce2f21a042be2p-4) \
  X(-0x1.812746b0379e7p-2) \
  X(0x1.20dd750429b6dp+0)
// (1 + 2x) exp(x^2) erfc(x) of (x - 3) / (x + 3), x from 0.5 to 28: off by 1.0e-20.
#define ERFC_FAR(X) \
  X(-0x1.104db837dd6abp-32) \
  X(0x1.d277ee71c4929p-30) \
  X(0x1.caef001c275f9p-30) \
  X(-0x1.92ecd12b45cd4p-27) \
  X(-0x1.e44010383f500p-27) \
  X(0x1.98e21b7f71d50p-25) \
  X(0x1.b77e534c859bap-24) \
  X(-0x1.3d41f0f1bc2fcp-23) \
  X(-0x1.4b2798ff00b64p-21) \
  X(0x1.83aa8d801c0f3p-22) \
  X(0x1.d211b608f7846p-19) \
  X(-0x1.89c2f3091b500p-21) \
  X(-0x1.513b750dd9121p-16) \
  X(0x1.4c31ab5d26377p-18) \
  X(0x1.065a3694dc0fcp-13) \
  X(-0x1.b9129a45f6cc6p-14) \
  X(-0x1.98db51028d046p-11) \
  X(0x1.ef1bdd8d60db5p-10) \
  X(0x1.4b884e43954a4p-9) \
  X(-0x1.8574c40c19a4bp-6) \
  X(0x1.17ca2877f1465p-4) \
  X(-0x1.e88b803a488d4p-4) \
  X(0x1.098366a5b46b7p-3) \
  X(-0x1.85a15c58aa614p-5) \
  X(-0x1.15c084bb9e8f3p-3) \
  X(0x1.40c522d7e4987p+0)
// (x + 3) exp(x^2) erfc(x) of (x - 3) / (x + 3), x from 0 to 10.1: off by 2.3e-9.
#define ERFC_SINGLE(X) \
  X(-0x1.11e96e0000000p-18f) \
  X(-0x1.61bdf80000000p-12f) \
  X(-0x1.0151a40000000p-11f) \
  X(0x1.9482520000000p-9f) \
  X(-0x1.3fea300000000p-10f) \
  X(-0x1.b7c1840000000p-6f) \
  X(0x1.e995e40000000p-4f) \
  X(-0x1.3deacc0000000p-2f) \
  X(0x1.2e326a0000000p-1f) \
  X(-0x1.c44c480000000p-1f) \
  X(0x1.12f21e0000000p+0f)
// gamma(1.5 + t), t from -0.5 to 0.5: off by 2.5e-20.
#define GAMMA_NEAR(X) \
  X(-0x1.d6e234ed05066p-15) \
  X(0x1.61299793c6990p-14) \
  X(-0x1.264ce0255f55bp-15) \
  X(0x1.b972bb298fec6p-15) \
  X(-0x1.2f0935fdbddc0p-13) \
  X(0x1.c68cdebefd42ap-13) \
  X(-0x1.38238e4f9b707p-12) \
  X(0x1.d43262e9a34f3p-12) \
  X(-0x1.6303f38555fcfp-11) \
  X(0x1.0a3e5d7b5a3a1p-10) \
  X(-0x1.8ef7865b7d7f9p-10) \
  X(0x1.2b2b5f19c211ap-9) \
  X(-0x1.c0a2673e04123p-9) \
  X(0x1.504ed944524fep-8) \
  X(-0x1.f7fc54c1e384dp-8) \
  X(0x1.7991dc39b9179p-7) \
  X(-0x1.1a2c297f2a6a8p-6) \
  X(0x1.a752c6b4833f3p-6) \
  X(-0x1.374fd5cc87da4p-5) \
  X(0x1.e022b7433f843p-5) \
  X(-0x1.3d88cfe50615fp-4) \
  X(0x1.283bd374eb35ep-3) \
  X(-0x1.b77ac1ca2eba4p-4) \
  X(0x1.a8c4dba620d56p-2) \
  X(0x1.08ea88ee561b1p-5) \
  X(0x1.c5bf891b4ef6bp-1)
// The terms of Stirling's series for the logarithm of gamma, the last first.
#define STIRLING(X) \
  X(0x1.6fe96381e0680p-3) \
  X(-0x1.e4286cb0f5398p-6) \
  X(0x1.a41a41a41a41ap-8) \
  X(-0x1.f6ab0d9993c7dp-10) \
  X(0x1.b951e2b18ff23p-11) \
  X(-0x1.3813813813814p-11) \
  X(0x1.a01a01a01a01ap-11) \
  X(-0x1.6c16c16c16c17p-9) \
  X(0x1.5555555555555p-4)
