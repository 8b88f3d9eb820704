/* A file system without locks, as NFS is where its lock service is away: `flock` fails in programs that load this first. */
#include <errno.h>

int flock(int file, int operation) {
  (void)file;
  (void)operation;
  errno = ENOLCK;
  return -1;
}
