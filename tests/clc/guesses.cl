// The first launch of a kernel, guessed from its source.

// Groups of a row of work-items each, as nothing asks for a work-item's row in its group: lanes cannot run along dimension 1.
kernel void block_sums(global const int *in, int pitch, global int *out) {
    int column = get_group_id(0) * 8, row = get_group_id(1) * 8, item = get_local_id(0);
    int sum = 0;
    for (int k = 0; k < 8; k++) sum += in[(row + k) * pitch + column * item];
    out[(get_group_id(1) * get_num_groups(0) + get_group_id(0)) * 64 + item * 3] = sum;
}

// Rows are those of groups, and not next to each other.
kernel void rotated(global const uint *in, int pitch, global uint *out) {
    int row = get_group_id(0) * 16 + get_local_id(1);
    out[get_global_id(1) * 1024 + get_global_id(0)] = in[row * pitch + get_local_id(0) * 16];
}

// Cells of a coarse grid: neighbours mostly have the same one.
kernel void shaded(global const uchar *in, global const uchar *table, int pitch, float scale, global uchar *out) {
    size_t i = get_global_id(0);
    int cell = (int)(i * scale);
    out[i] = table[cell * pitch + in[i]];
}
