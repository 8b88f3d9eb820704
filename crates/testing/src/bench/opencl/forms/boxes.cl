// Rounds of look-ups in four tables, as block ciphers make.
//! extent 16384
//! input i:16384:2147483647 global const uint *a
//! input i:1024:2147483647 global const uint *boxes
//! output uint I
uint left = a[x], right = a[x] ^ x;
for (int i = 0; i < 16; i++) {
  left ^= boxes[i];
  uint mixed = ((boxes[left >> 24] + boxes[256 + (left >> 16 & 255)]) ^ boxes[512 + (left >> 8 & 255)]) + boxes[768 + (left & 255)];
  uint next = right ^ mixed;
  right = left;
  left = next;
}
r = left ^ right;
