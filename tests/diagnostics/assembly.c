// heddle vectorize FILE --func ticks --report -o OUT/f.o
unsigned ticks(unsigned start) {
  unsigned now;
  __asm__ volatile("rdtsc" : "=a"(now) : : "edx");
  return now - start;
}

// output
// error: assembly.c:4:3: @ticks: inline assembly [not-imported]
//       __asm__ volatile("rdtsc" : "=a"(now) : : "edx");
//       ^^^^^^^
//   in LLVM IR: `%2 = tail call i32 asm sideeffect "rdtsc", "={ax},~{edx},~{dirflag},~{fpsr},~{flags}"()`
//   help: write it in C, or move it out of this function
// exit code 1
