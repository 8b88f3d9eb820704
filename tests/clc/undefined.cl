// One kernel calls what is not there; the other is compiled all the same.
float elsewhere(float x);

kernel void broken(global float *values) {
  values[get_global_id(0)] = elsewhere(values[get_global_id(0)]);
}

kernel void whole(global float *values) {
  values[get_global_id(0)] += 1.0f;
}
