// Hashes, ciphers, checksums and random numbers.

static uint rotl(uint x, int n) { return (x << n) | (x >> (32 - n)); }

//! global=16384 local=64 args=i:262144:2147483647,I:65536
kernel void md5_block(global const uint *in, global uint *out) {
  const uint shift[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  uint w[16], a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
  size_t at = get_global_id(0);
  for (int i = 0; i < 16; i++)
    w[i] = in[at * 16 + i];
  for (int i = 0; i < 64; i++) {
    uint f, g;
    if (i < 16) {
      f = (b & c) | (~b & d);
      g = i;
    } else if (i < 32) {
      f = (d & b) | (~d & c);
      g = (5 * i + 1) & 15;
    } else if (i < 48) {
      f = b ^ c ^ d;
      g = (3 * i + 5) & 15;
    } else {
      f = c ^ (b | ~d);
      g = (7 * i) & 15;
    }
    uint next = d;
    d = c;
    c = b;
    b += rotl(a + f + w[g] + 0x9e3779b9u * (uint)(i + 1), shift[(i / 16) * 4 + i % 4]);
    a = next;
  }
  out[at * 4] = a;
  out[at * 4 + 1] = b;
  out[at * 4 + 2] = c;
  out[at * 4 + 3] = d;
}

//! global=8192 local=64 args=i:131072:2147483647,I:8192
kernel void sha256_rounds(global const uint *in, global uint *out) {
  uint w[16], s[8];
  for (int i = 0; i < 16; i++)
    w[i] = in[get_global_id(0) * 16 + i];
  for (int i = 0; i < 8; i++)
    s[i] = 0x6a09e667u * (i + 1);
  for (int i = 0; i < 64; i++) {
    if (i >= 16) {
      uint x = w[(i + 1) & 15], y = w[(i + 14) & 15];
      w[i & 15] += (rotl(x, 25) ^ rotl(x, 14) ^ (x >> 3)) + w[(i + 9) & 15] + (rotl(y, 15) ^ rotl(y, 13) ^ (y >> 10));
    }
    uint t = s[7] + (rotl(s[4], 26) ^ rotl(s[4], 21) ^ rotl(s[4], 7)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + w[i & 15] + 0x428a2f98u * (uint)i;
    uint u = (rotl(s[0], 30) ^ rotl(s[0], 19) ^ rotl(s[0], 10)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
    for (int k = 7; k > 0; k--)
      s[k] = s[k - 1];
    s[4] += t;
    s[0] = t + u;
  }
  out[get_global_id(0)] = s[0] ^ s[7];
}

//! global=32768 local=128 args=i:65536:2147483647,I:65536,u=1,u=2,u=3,u=4
kernel void xtea(global const uint2 *in, global uint2 *out, uint k0, uint k1, uint k2, uint k3) {
  const uint key[4] = {k0, k1, k2, k3};
  uint2 v = in[get_global_id(0)];
  uint sum = 0;
  for (int i = 0; i < 32; i++) {
    v.x += (((v.y << 4) ^ (v.y >> 5)) + v.y) ^ (sum + key[sum & 3]);
    sum += 0x9e3779b9;
    v.y += (((v.x << 4) ^ (v.x >> 5)) + v.x) ^ (sum + key[(sum >> 11) & 3]);
  }
  out[get_global_id(0)] = v;
}

//! global=4096 local=64 args=b:1048576,i:256:2147483647,I:4096,n=256
kernel void crc_table(global const uchar *data, constant uint *table, global uint *out, int length) {
  global const uchar *own = data + get_global_id(0) * length;
  uint crc = ~0u;
  for (int i = 0; i < length; i++)
    crc = table[(crc ^ own[i]) & 255] ^ (crc >> 8);
  out[get_global_id(0)] = ~crc;
}

//! global=65536 args=I:65536,u=12345,n=32
kernel void xorshift(global uint *out, uint seed, int rounds) {
  uint x = seed + get_global_id(0) * 747796405u + 1;
  for (int i = 0; i < rounds; i++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  out[get_global_id(0)] = x;
}

//! global=2048 local=64 args=b:32768,B:131072
kernel void rc4_stream(global const uchar *key, global uchar *out) {
  uchar s[256];
  size_t at = get_global_id(0);
  for (int i = 0; i < 256; i++)
    s[i] = i;
  for (int i = 0, j = 0; i < 256; i++) {
    uchar t = s[i];
    j = (j + t + key[at * 16 + (i & 15)]) & 255;
    s[i] = s[j];
    s[j] = t;
  }
  for (int k = 0, i = 0, j = 0; k < 64; k++) {
    i = (i + 1) & 255;
    uchar t = s[i];
    j = (j + t) & 255;
    s[i] = s[j];
    s[j] = t;
    out[at * 64 + k] = s[(s[i] + t) & 255];
  }
}
