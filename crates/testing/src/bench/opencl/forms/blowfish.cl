// Sixteen rounds of a Feistel network over four tables of 256 words, 32 times, as in bcrypt.
//! extent 2048
//! input i:2048:2147483647 global const uint *a
//! input i:1042:2147483647 global const uint *table
//! output uint I
//! variant own
#ifdef OWN
uint boxes[1024];
for (int i = 0; i < 1024; i++)
  boxes[i] = table[18 + i] ^ a[x];
#define BOX(number, byte) boxes[number * 256 + (byte)]
#else
#define BOX(number, byte) (table[18 + number * 256 + (byte)] ^ a[x])
#endif
uint left = a[x], right = x;
for (int turn = 0; turn < 32; turn++) {
  for (int i = 0; i < 16; i++) {
    left ^= table[i];
    uint mixed = ((BOX(0, left >> 24) + BOX(1, left >> 16 & 255)) ^ BOX(2, left >> 8 & 255)) + BOX(3, left & 255);
    uint kept = left;
    left = right ^ mixed;
    right = kept;
  }
  uint kept = left;
  left = right ^ table[17];
  right = kept ^ table[16];
}
r = left ^ right;
#undef BOX
