// Arrays with strides, in launches whose arrays are dense.
kernel void axpy(int n, float a, global const float *x, int incx, global float *y, int incy) {
    int i = get_global_id(0);
    if (i < n) y[i * incy] += a * x[i * incx];
}

// The distance between rows is no stride: columns are next to each other.
kernel void scale(global float *a, int lda, float by) {
    size_t row = get_global_id(1), column = get_global_id(0);
    a[row * lda + column] *= by;
}

// Elements of a row are next to each other from one iteration to the next.
kernel void row_sums(global const float *a, int lda, int columns, global float *out) {
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < columns; k++) sum += a[row * lda + k];
    out[row] = sum;
}

// Strides in bytes, as libraries of arrays have them.
kernel void add(global const char *a, global const char *b, global char *out, long xa, long ya, long xb, long yb, long xout, long yout) {
    long x = get_global_id(0), y = get_global_id(1);
    *(global double *)(out + x * xout + y * yout) = *(global const double *)(a + x * xa + y * ya) + *(global const double *)(b + x * xb + y * yb);
}

typedef struct { float x, y, z; } point;

// The stride counts structures.
kernel void lengths(global const point *points, uint stride, global float *out) {
    uint i = get_global_id(0);
    point p = points[i * stride];
    out[i] = p.x * p.x + p.y * p.y + p.z * p.z;
}
