// Sequences, strings and compression.

//! global=4096 local=64 args=b:262144,b:64,I:4096,n=64,n=64
kernel void edit_distance(global const uchar *words, global const uchar *pattern, global int *out, int length, int m) {
  int row[65];
  global const uchar *word = words + get_global_id(0) * length;
  for (int j = 0; j <= m; j++)
    row[j] = j;
  for (int i = 1; i <= 16; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      int cost = diagonal + ((word[i] & 3) != (pattern[j - 1] & 3));
      diagonal = row[j];
      row[j] = min(min(row[j] + 1, row[j - 1] + 1), cost);
    }
  }
  out[get_global_id(0)] = row[m];
}

//! global=65536 args=b:65600,I:65536,n=32
kernel void longest_run(global const uchar *text, global int *out, int window) {
  int i = get_global_id(0), best = 0, now = 0;
  for (int k = 1; k < window; k++) {
    now = (text[i + k] & 1) == (text[i + k - 1] & 1) ? now + 1 : 0;
    best = max(best, now);
  }
  out[i] = best;
}

//! global=8192 local=64 args=b:262144,I:8192,n=32
kernel void hash_words(global const char *words, global uint *out, int pitch) {
  global const char *p = words + get_global_id(0) * pitch;
  uint hash = 2166136261u;
  int i = 0;
  while (i < pitch && p[i] != 0) {
    hash = (hash ^ (uchar)p[i]) * 16777619u;
    i++;
  }
  out[get_global_id(0)] = hash;
}

//! global=65536 args=i:65536:2147483647,B:327680
kernel void varint_encode(global const uint *in, global uchar *out) {
  uint v = in[get_global_id(0)] >> (get_global_id(0) % 28);
  global uchar *to = out + get_global_id(0) * 5;
  while (v >= 128) {
    *to++ = v | 128;
    v >>= 7;
  }
  *to = v;
}

//! global=65536 local=64 args=b:524288,I:131072
kernel void bit_planes(global const uchar *in, global uint *out) {
  size_t i = get_global_id(0);
  uint low = 0, high = 0;
  for (int k = 0; k < 8; k++) {
    uchar byte = in[i * 8 + k];
    low |= (uint)(byte & 15) << (k * 4);
    high |= (uint)(byte >> 4) << (k * 4);
  }
  out[2 * i] = low;
  out[2 * i + 1] = popcount(high) + clz(high | 1);
}

//! global=2048 local=32 args=b:131072,b:131072,I:2048,n=64
kernel void smith_waterman(global const uchar *a, global const uchar *b, global int *out, int n) {
  short h[65] = {0};
  int best = 0;
  for (int i = 0; i < 24; i++) {
    short diagonal = 0;
    for (int j = 1; j <= n; j++) {
      short score = diagonal + ((a[get_global_id(0) * n + i] & 3) == (b[get_global_id(0) * n + j - 1] & 3) ? 2 : -1);
      diagonal = h[j];
      h[j] = max(max((short)0, score), max((short)(h[j] - 1), (short)(h[j - 1] - 1)));
      best = max(best, (int)h[j]);
    }
  }
  out[get_global_id(0)] = best;
}
