// MD5 of a block of two words and padding.
//! extent 16384
//! input i:16384:2147483647 global const uint *a
//! output uint I
//! top constant uint SINES[64] = {
//! top   0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u,
//! top   0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u,
//! top   0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau, 0xd62f105du, 0x2441453u, 0xd8a1e681u, 0xe7d3fbc8u,
//! top   0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au,
//! top   0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u,
//! top   0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x4881d05u, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u,
//! top   0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u,
//! top   0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u
//! top };
//! top constant uint TURNS[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
//! variant array
uint words[16] = {a[x], x, 0x80};
words[14] = 64;
#ifdef ARRAY
uint state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
for (int i = 0; i < 64; i++) {
  uint mixed = i < 16   ? (state[1] & state[2]) | (~state[1] & state[3])
               : i < 32 ? (state[3] & state[1]) | (~state[3] & state[2])
               : i < 48 ? state[1] ^ state[2] ^ state[3]
                        : state[2] ^ (state[1] | ~state[3]);
  int word = i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i;
  uint sum = state[0] + mixed + SINES[i] + words[word % 16];
  uint next[4] = {state[3], state[1] + rotate(sum, TURNS[i / 16 * 4 + i % 4]), state[1], state[2]};
  for (int k = 0; k < 4; k++)
    state[k] = next[k];
}
r = (state[0] + 0x67452301u) ^ (state[1] + 0xefcdab89u) ^ (state[2] + 0x98badcfeu) ^ (state[3] + 0x10325476u);
#else
uint s0 = 0x67452301u, s1 = 0xefcdab89u, s2 = 0x98badcfeu, s3 = 0x10325476u;
for (int i = 0; i < 64; i++) {
  uint mixed = i < 16 ? (s1 & s2) | (~s1 & s3) : i < 32 ? (s3 & s1) | (~s3 & s2) : i < 48 ? s1 ^ s2 ^ s3 : s2 ^ (s1 | ~s3);
  int word = i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i;
  uint sum = s0 + mixed + SINES[i] + words[word % 16];
  s0 = s3;
  s3 = s2;
  s2 = s1;
  s1 += rotate(sum, TURNS[i / 16 * 4 + i % 4]);
}
r = (s0 + 0x67452301u) ^ (s1 + 0xefcdab89u) ^ (s2 + 0x98badcfeu) ^ (s3 + 0x10325476u);
#endif
