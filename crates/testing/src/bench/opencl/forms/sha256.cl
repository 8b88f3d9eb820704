// SHA-256 of a block of two words and padding.
//! extent 16384
//! input i:16384:2147483647 global const uint *a
//! output uint I
//! top constant uint ROUNDS[64] = {
//! top   0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
//! top   0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
//! top   0xe49b69c1u, 0xefbe4786u, 0xfc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
//! top   0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x6ca6351u, 0x14292967u,
//! top   0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
//! top   0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
//! top   0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
//! top   0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u
//! top };
//! top constant uint FIRST[8] = {
//! top   0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
//! top   0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u
//! top };
//! variant schedule
uint state[8];
for (int k = 0; k < 8; k++)
  state[k] = FIRST[k];
#ifdef SCHEDULE
uint words[64] = {a[x], x, 0x80000000u};
words[15] = 64;
for (int i = 16; i < 64; i++) {
  uint early = words[i - 15], late = words[i - 2];
  words[i] = words[i - 16] + words[i - 7] + (rotate(early, (uint)25) ^ rotate(early, (uint)14) ^ (early >> 3)) +
             (rotate(late, (uint)15) ^ rotate(late, (uint)13) ^ (late >> 10));
}
#else
uint words[16] = {a[x], x, 0x80000000u};
words[15] = 64;
#endif
for (int i = 0; i < 64; i++) {
#ifdef SCHEDULE
  uint word = words[i];
#else
  if (i >= 16) {
    uint early = words[(i + 1) % 16], late = words[(i + 14) % 16];
    words[i % 16] += words[(i + 9) % 16] + (rotate(early, (uint)25) ^ rotate(early, (uint)14) ^ (early >> 3)) +
                     (rotate(late, (uint)15) ^ rotate(late, (uint)13) ^ (late >> 10));
  }
  uint word = words[i % 16];
#endif
  uint chosen = (state[4] & state[5]) ^ (~state[4] & state[6]);
  uint most = (state[0] & state[1]) ^ (state[0] & state[2]) ^ (state[1] & state[2]);
  uint one = state[7] + (rotate(state[4], (uint)26) ^ rotate(state[4], (uint)21) ^ rotate(state[4], (uint)7)) + chosen + ROUNDS[i] + word;
  uint two = (rotate(state[0], (uint)30) ^ rotate(state[0], (uint)19) ^ rotate(state[0], (uint)10)) + most;
  for (int k = 7; k > 0; k--)
    state[k] = state[k - 1];
  state[4] += one;
  state[0] = one + two;
}
r = 0;
for (int k = 0; k < 8; k++) {
  uint sum = state[k] + FIRST[k];
  r = r * 31 + (uint)sum;
}
