// Nothing, to see what a launch costs.
kernel void nothing(global int *memory) {}

// Next to nothing.
kernel void little(global int *memory) { memory[get_global_id(0)] += 1; }
