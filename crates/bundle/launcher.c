/* The program `heddle` of packages: its code is in libheddle.so, next to LLVM. */
int heddle_command(void);

int main(void) { return heddle_command(); }
