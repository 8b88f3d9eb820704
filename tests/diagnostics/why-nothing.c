// heddle analyze FILE --lanes 8 --why speed
int twice(int x) { return 2 * x; }
