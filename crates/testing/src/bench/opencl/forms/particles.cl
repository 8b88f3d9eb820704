// Kinetic energy of particles, structures of eight values or arrays.
//! extent 32768
//! input f:262144 global const float *a
//! output float F
//! top typedef struct { float position[3], mass, speed[3], charge; } particle;
//! layout structure
//! layout apart
#ifdef STRUCTURE
particle p = ((global const particle *)a)[x];
r = 0.5f * p.mass * (p.speed[0] * p.speed[0] + p.speed[1] * p.speed[1] + p.speed[2] * p.speed[2]);
#elif defined APART
r = 0.5f * a[3 * w + x] * (a[4 * w + x] * a[4 * w + x] + a[5 * w + x] * a[5 * w + x] + a[6 * w + x] * a[6 * w + x]);
#else
r = 0.5f * a[x * 8 + 3] * (a[x * 8 + 4] * a[x * 8 + 4] + a[x * 8 + 5] * a[x * 8 + 5] + a[x * 8 + 6] * a[x * 8 + 6]);
#endif
