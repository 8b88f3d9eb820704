// heddle vectorize no-such-file.c --func f

// output
// error: no-such-file.c: No such file or directory (os error 2) [unreadable]
// exit code 2
