// Sixteen iterations of PBKDF2 with SHA-1 over a password of two words; the result is the exclusive or of all five words.
//! extent 4096
//! input i:4096:2147483647 global const uint *a
//! output uint I
//! top static void compress(uint *state, const uint *block) {
//! top   uint words[16], s0 = state[0], s1 = state[1], s2 = state[2], s3 = state[3], s4 = state[4];
//! top   for (int i = 0; i < 16; i++)
//! top     words[i] = block[i];
//! top   for (int i = 0; i < 80; i++) {
//! top     if (i >= 16)
//! top       words[i % 16] = rotate(words[(i + 13) % 16] ^ words[(i + 8) % 16] ^ words[(i + 2) % 16] ^ words[i % 16], 1u);
//! top     uint mixed = i < 20 ? (s1 & s2) | (~s1 & s3) : i < 40 ? s1 ^ s2 ^ s3 : i < 60 ? (s1 & s2) | (s1 & s3) | (s2 & s3) : s1 ^ s2 ^ s3;
//! top     uint key = i < 20 ? 0x5a827999u : i < 40 ? 0x6ed9eba1u : i < 60 ? 0x8f1bbcdcu : 0xca62c1d6u;
//! top     uint next = rotate(s0, 5u) + mixed + s4 + key + words[i % 16];
//! top     s4 = s3, s3 = s2, s2 = rotate(s1, 30u), s1 = s0, s0 = next;
//! top   }
//! top   state[0] += s0, state[1] += s1, state[2] += s2, state[3] += s3, state[4] += s4;
//! top }
//! top static void start(uint *state, uint pad, uint first, uint second) {
//! top   uint block[16] = {first ^ pad, second ^ pad};
//! top   for (int i = 2; i < 16; i++)
//! top     block[i] = pad;
//! top   state[0] = 0x67452301u, state[1] = 0xefcdab89u, state[2] = 0x98badcfeu, state[3] = 0x10325476u, state[4] = 0xc3d2e1f0u;
//! top   compress(state, block);
//! top }
uint inner[5], outer[5], block[16] = {0x73616c74u, 1, 0x80000000u}, all[5] = {0};
start(inner, 0x36363636u, a[x], x);
start(outer, 0x5c5c5c5cu, a[x], x);
block[15] = 512 + 64;
for (int round = 0; round < 16; round++) {
  uint state[5];
  for (int k = 0; k < 5; k++)
    state[k] = inner[k];
  compress(state, block);
  for (int k = 0; k < 16; k++)
    block[k] = k < 5 ? state[k] : k == 5 ? 0x80000000u : k == 15 ? 512 + 160 : 0;
  for (int k = 0; k < 5; k++)
    state[k] = outer[k];
  compress(state, block);
  for (int k = 0; k < 5; k++) {
    all[k] ^= state[k];
    block[k] = state[k];
  }
}
r = all[0] ^ all[1] ^ all[2] ^ all[3] ^ all[4];
