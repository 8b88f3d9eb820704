// Eighty rounds of SHA-1 over a word and its index.
//! extent 16384
//! input i:16384:2147483647 global const uint *a
//! output uint I
//! variant array
uint words[80];
words[0] = a[x];
words[1] = x;
for (int i = 2; i < 16; i++)
  words[i] = i == 15 ? 64 : i == 2 ? 0x80000000u : 0;
for (int i = 16; i < 80; i++)
  words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1u);
#ifdef ARRAY
uint state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}, old[5];
for (int i = 0; i < 80; i++) {
  for (int k = 0; k < 5; k++)
    old[k] = state[k];
  uint b = old[1], c = old[2], e = old[3];
  uint mixed = i < 20 ? (b & c) | (~b & e) : i < 40 ? b ^ c ^ e : i < 60 ? (b & c) | (b & e) | (c & e) : b ^ c ^ e;
  uint key = i < 20 ? 0x5a827999u : i < 40 ? 0x6ed9eba1u : i < 60 ? 0x8f1bbcdcu : 0xca62c1d6u;
  state[0] = rotate(old[0], 5u) + mixed + old[4] + key + words[i];
  state[1] = old[0];
  state[2] = rotate(old[1], 30u);
  state[3] = old[2];
  state[4] = old[3];
}
r = state[0] ^ state[1] ^ state[2] ^ state[3] ^ state[4];
#else
uint s0 = 0x67452301u, s1 = 0xefcdab89u, s2 = 0x98badcfeu, s3 = 0x10325476u, s4 = 0xc3d2e1f0u;
for (int i = 0; i < 80; i++) {
  uint mixed = i < 20 ? (s1 & s2) | (~s1 & s3) : i < 40 ? s1 ^ s2 ^ s3 : i < 60 ? (s1 & s2) | (s1 & s3) | (s2 & s3) : s1 ^ s2 ^ s3;
  uint key = i < 20 ? 0x5a827999u : i < 40 ? 0x6ed9eba1u : i < 60 ? 0x8f1bbcdcu : 0xca62c1d6u;
  uint next = rotate(s0, 5u) + mixed + s4 + key + words[i];
  s4 = s3;
  s3 = s2;
  s2 = rotate(s1, 30u);
  s1 = s0;
  s0 = next;
}
r = s0 ^ s1 ^ s2 ^ s3 ^ s4;
#endif
