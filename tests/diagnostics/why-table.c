// heddle analyze FILE --func pick --lanes 8 --param i=linear:1 --why value --why 7
int outside(int x);
void report(int x);
int pick(const int *table, int i, int limit) {
  int value = outside(table[i]);
  report(i);
  if (value > limit + 1) report(value);
  return value;
}
