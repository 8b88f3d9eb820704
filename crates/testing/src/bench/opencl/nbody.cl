// One step of bodies that attract each other; `w` is the mass.
#define GROUP 256

kernel void advance(global const float4 *places, global float4 *new_places, global float4 *speeds, int bodies, float time,
                    float softening) {
  local float4 tile[GROUP];
  int i = get_global_id(0), item = get_local_id(0);
  float4 place = places[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int first = 0; first < bodies; first += GROUP) {
    tile[item] = places[first + item];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < GROUP; j++) {
      float4 other = tile[j];
      float dx = other.x - place.x, dy = other.y - place.y, dz = other.z - place.z;
      float inverse = 1.0f / sqrt(dx * dx + dy * dy + dz * dz + softening);
      float pull = other.w * inverse * inverse * inverse;
      ax += pull * dx;
      ay += pull * dy;
      az += pull * dz;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 speed = speeds[i];
  new_places[i] = (float4)(place.x + speed.x * time + ax * 0.5f * time * time,
                           place.y + speed.y * time + ay * 0.5f * time * time,
                           place.z + speed.z * time + az * 0.5f * time * time, place.w);
  speeds[i] = (float4)(speed.x + ax * time, speed.y + ay * time, speed.z + az * time, 0.0f);
}
