// A kernel that the driver refuses, and one that it takes.
kernel void picture(read_only image2d_t from, global float4 *out) { out[0] = read_imagef(from, (int2)(0, 0)); }
kernel void plain(global int *out) { out[get_global_id(0)] = 7; }
