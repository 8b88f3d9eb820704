// One pass of a bitonic sort: pairs `distance` apart come into the order of their run of `length`.
kernel void exchange(global uint *keys, uint distance, uint length) {
  uint here = get_global_id(0);
  uint there = here ^ distance;
  if (there > here) {
    uint a = keys[here], b = keys[there];
    bool ascends = (here & length) == 0;
    if ((a > b) == ascends) {
      keys[here] = b;
      keys[there] = a;
    }
  }
}
