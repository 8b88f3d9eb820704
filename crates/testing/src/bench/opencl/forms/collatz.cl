// Steps of a sequence that takes differently long.
//! extent 32768
//! output uint I
uint value = x + 1;
r = 0;
while (value != 1 && r < 512) {
  value = value & 1 ? 3 * value + 1 : value / 2;
  r++;
}
