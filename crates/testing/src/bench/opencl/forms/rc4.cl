// Key schedule of RC4 in a private array, and some of its stream.
//! extent 1024
//! input i:1024:2147483647 global const uint *a
//! output uint I
uchar state[256];
for (int i = 0; i < 256; i++)
  state[i] = i;
uint key = a[x];
uchar j = 0;
for (int i = 0; i < 256; i++) {
  j += state[i] + (uchar)(key >> (i % 4 * 8));
  uchar kept = state[i];
  state[i] = state[j];
  state[j] = kept;
}
r = 0;
uchar k = 0;
j = 0;
for (int step = 0; step < 16; step++) {
  k++;
  j += state[k];
  uchar kept = state[k];
  state[k] = state[j];
  state[j] = kept;
  r = r * 31 + state[(uchar)(state[k] + state[j])];
}
