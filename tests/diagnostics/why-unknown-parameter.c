// heddle analyze FILE --lanes 8 --param speed=varying
int twice(int x) { return 2 * x; }
