// Game of life on a torus.
//! extent 512 512
//! input i:262144:2 global const int *a
//! output int I
INDEX left = (x + w - 1) % w, right = (x + 1) % w, above = (y + h - 1) % h, below = (y + 1) % h;
int count = a[above * w + left] + a[above * w + x] + a[above * w + right] + a[y * w + left] + a[y * w + right] +
            a[below * w + left] + a[below * w + x] + a[below * w + right];
r = count == 3 || (count == 2 && a[y * w + x]);
