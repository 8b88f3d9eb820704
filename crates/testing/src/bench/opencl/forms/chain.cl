// Repeated mixing of a block of five words, as a key derivation repeats a hash.
//! extent 8192
//! input i:8192:2147483647 global const uint *a
//! output uint I
uint state[5], block[5];
for (int i = 0; i < 5; i++)
  state[i] = a[x] + i;
for (int round = 0; round < 32; round++) {
  for (int i = 0; i < 5; i++)
    block[i] = state[i];
  for (int step = 0; step < 20; step++) {
    uint next = rotate(block[0], 5u) + (block[1] ^ block[2] ^ block[3]) + block[4] + 0x6ed9eba1u;
    block[4] = block[3];
    block[3] = block[2];
    block[2] = rotate(block[1], 30u);
    block[1] = block[0];
    block[0] = next;
  }
  for (int i = 0; i < 5; i++)
    state[i] ^= block[i];
}
r = state[0] ^ state[1] ^ state[2] ^ state[3] ^ state[4];
