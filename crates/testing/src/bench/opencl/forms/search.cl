// Binary search in an ordered array.
//! extent 65536
//! input i:65536:1048576 global const uint *a
//! input r:65536:16 global const uint *ordered
//! output uint I
uint begin = 0, end = w;
while (begin < end) {
  uint middle = (begin + end) / 2;
  if (ordered[middle] < a[x])
    begin = middle + 1;
  else
    end = middle;
}
r = begin;
