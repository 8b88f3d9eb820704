// Finds a pattern in a text: a thread compares at one position. Counts the positions, and adds them up.
extern "C" __global__ void match(const char *text, int length, const char *pattern, int size, unsigned *found) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at + size > length) return;
  int i = 0;
  while (i < size && text[at + i] == pattern[i]) i++;
  if (i == size) {
    atomicAdd(&found[0], 1);
    atomicAdd(&found[1], at);
  }
}
