// SHA-512 of a block of two words and padding.
//! extent 8192
//! input i:8192:2147483647 global const uint *a
//! output uint I
//! top constant ulong ROUNDS[80] = {
//! top   0x428a2f98d728ae22ul, 0x7137449123ef65cdul, 0xb5c0fbcfec4d3b2ful, 0xe9b5dba58189dbbcul,
//! top   0x3956c25bf348b538ul, 0x59f111f1b605d019ul, 0x923f82a4af194f9bul, 0xab1c5ed5da6d8118ul,
//! top   0xd807aa98a3030242ul, 0x12835b0145706fbeul, 0x243185be4ee4b28cul, 0x550c7dc3d5ffb4e2ul,
//! top   0x72be5d74f27b896ful, 0x80deb1fe3b1696b1ul, 0x9bdc06a725c71235ul, 0xc19bf174cf692694ul,
//! top   0xe49b69c19ef14ad2ul, 0xefbe4786384f25e3ul, 0xfc19dc68b8cd5b5ul, 0x240ca1cc77ac9c65ul,
//! top   0x2de92c6f592b0275ul, 0x4a7484aa6ea6e483ul, 0x5cb0a9dcbd41fbd4ul, 0x76f988da831153b5ul,
//! top   0x983e5152ee66dfabul, 0xa831c66d2db43210ul, 0xb00327c898fb213ful, 0xbf597fc7beef0ee4ul,
//! top   0xc6e00bf33da88fc2ul, 0xd5a79147930aa725ul, 0x6ca6351e003826ful, 0x142929670a0e6e70ul,
//! top   0x27b70a8546d22ffcul, 0x2e1b21385c26c926ul, 0x4d2c6dfc5ac42aedul, 0x53380d139d95b3dful,
//! top   0x650a73548baf63deul, 0x766a0abb3c77b2a8ul, 0x81c2c92e47edaee6ul, 0x92722c851482353bul,
//! top   0xa2bfe8a14cf10364ul, 0xa81a664bbc423001ul, 0xc24b8b70d0f89791ul, 0xc76c51a30654be30ul,
//! top   0xd192e819d6ef5218ul, 0xd69906245565a910ul, 0xf40e35855771202aul, 0x106aa07032bbd1b8ul,
//! top   0x19a4c116b8d2d0c8ul, 0x1e376c085141ab53ul, 0x2748774cdf8eeb99ul, 0x34b0bcb5e19b48a8ul,
//! top   0x391c0cb3c5c95a63ul, 0x4ed8aa4ae3418acbul, 0x5b9cca4f7763e373ul, 0x682e6ff3d6b2b8a3ul,
//! top   0x748f82ee5defb2fcul, 0x78a5636f43172f60ul, 0x84c87814a1f0ab72ul, 0x8cc702081a6439ecul,
//! top   0x90befffa23631e28ul, 0xa4506cebde82bde9ul, 0xbef9a3f7b2c67915ul, 0xc67178f2e372532bul,
//! top   0xca273eceea26619cul, 0xd186b8c721c0c207ul, 0xeada7dd6cde0eb1eul, 0xf57d4f7fee6ed178ul,
//! top   0x6f067aa72176fbaul, 0xa637dc5a2c898a6ul, 0x113f9804bef90daeul, 0x1b710b35131c471bul,
//! top   0x28db77f523047d84ul, 0x32caab7b40c72493ul, 0x3c9ebe0a15c9bebcul, 0x431d67c49c100d4cul,
//! top   0x4cc5d4becb3e42b6ul, 0x597f299cfc657e2aul, 0x5fcb6fab3ad6faecul, 0x6c44198c4a475817ul
//! top };
//! top constant ulong FIRST[8] = {
//! top   0x6a09e667f3bcc908ul, 0xbb67ae8584caa73bul, 0x3c6ef372fe94f82bul, 0xa54ff53a5f1d36f1ul,
//! top   0x510e527fade682d1ul, 0x9b05688c2b3e6c1ful, 0x1f83d9abfb41bd6bul, 0x5be0cd19137e2179ul
//! top };
//! variant schedule
ulong state[8];
for (int k = 0; k < 8; k++)
  state[k] = FIRST[k];
#ifdef SCHEDULE
ulong words[80] = {a[x], x, 1ul << 63};
words[15] = 128;
for (int i = 16; i < 80; i++) {
  ulong early = words[i - 15], late = words[i - 2];
  words[i] = words[i - 16] + words[i - 7] + (rotate(early, (ulong)63) ^ rotate(early, (ulong)56) ^ (early >> 7)) +
             (rotate(late, (ulong)45) ^ rotate(late, (ulong)3) ^ (late >> 6));
}
#else
ulong words[16] = {a[x], x, 1ul << 63};
words[15] = 128;
#endif
for (int i = 0; i < 80; i++) {
#ifdef SCHEDULE
  ulong word = words[i];
#else
  if (i >= 16) {
    ulong early = words[(i + 1) % 16], late = words[(i + 14) % 16];
    words[i % 16] += words[(i + 9) % 16] + (rotate(early, (ulong)63) ^ rotate(early, (ulong)56) ^ (early >> 7)) +
                     (rotate(late, (ulong)45) ^ rotate(late, (ulong)3) ^ (late >> 6));
  }
  ulong word = words[i % 16];
#endif
  ulong chosen = (state[4] & state[5]) ^ (~state[4] & state[6]);
  ulong most = (state[0] & state[1]) ^ (state[0] & state[2]) ^ (state[1] & state[2]);
  ulong one = state[7] + (rotate(state[4], (ulong)50) ^ rotate(state[4], (ulong)46) ^ rotate(state[4], (ulong)23)) + chosen + ROUNDS[i] + word;
  ulong two = (rotate(state[0], (ulong)36) ^ rotate(state[0], (ulong)30) ^ rotate(state[0], (ulong)25)) + most;
  for (int k = 7; k > 0; k--)
    state[k] = state[k - 1];
  state[4] += one;
  state[0] = one + two;
}
r = 0;
for (int k = 0; k < 8; k++) {
  ulong sum = state[k] + FIRST[k];
  r = r * 31 + (uint)sum + (uint)(sum >> 32);
}
