// Products of matrices by a library with CBLAS, on one thread.
#pragma once
struct nest_data;

/// Loads OpenBLAS, and prints its version; where it cannot be loaded, there is no such library.
void open_library(const char *path);
int has_library(void);
void library_product(int is_double, struct nest_data *data);
