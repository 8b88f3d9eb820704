// The kernels and programs of `./x bench loops` in ISPC's language, for where a compiler of it is at hand.

struct node {
  float key;
  int left, right, unused;
};

struct tree {
  const uniform node *nodes;
  const uniform float *keys;
  const uniform int *lefts, *rights;
  float near;
};

struct data {
  int count;
  float factor;
  uniform float *out;
  const uniform float *a, *b;
  const uniform int *index;
  const uniform float *density;
  tree planted;
};

#define KERNEL(name) export void name##_ispc(const uniform data *uniform d)
#define ROOMS                                                                                                          \
  uniform float *uniform out = d->out;                                                                                 \
  const uniform float *uniform a = d->a;                                                                               \
  const uniform float *uniform b = d->b;

KERNEL(scale_and_add) {
  ROOMS
  foreach (i = 0 ... d->count)
    out[i] = d->factor * a[i] + b[i];
}

KERNEL(dot_product) {
  ROOMS
  float s = 0;
  foreach (i = 0 ... d->count)
    s += a[i] * b[i];
  out[0] = reduce_add(s);
}

KERNEL(stencil) {
  ROOMS
  foreach (i = 1 ... d->count - 2)
    out[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}

KERNEL(mandelbrot) {
  ROOMS
  foreach (i = 0 ... d->count / 16) {
    float cx = a[i] * 3 - 2, cy = b[i] * 2 - 1, x = 0, y = 0;
    int k = 0;
    while (k < 200 && x * x + y * y < 4) {
      float t = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = t;
      k++;
    }
    out[i] = (float)k;
  }
}

static inline float normal(float x) {
  float k = 1 / (1 + 0.2316419f * abs(x));
  float tail = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  float upper = 1 - 0.39894228f * exp(-0.5f * x * x) * tail;
  return x < 0 ? 1 - upper : upper;
}

KERNEL(black_scholes) {
  ROOMS
  foreach (i = 0 ... d->count / 4) {
    float s = a[i] * 25 + 5, x = b[i] * 99 + 1, t = 0.25f + a[i] * 9;
    float root = sqrt(t);
    float first = (log(s / x) + (0.02f + 0.045f) * t) / (0.3f * root);
    float second = first - 0.3f * root;
    out[i] = s * normal(first) - x * exp(-0.02f * t) * normal(second);
  }
}

KERNEL(table_lookup) {
  ROOMS
  foreach (i = 0 ... d->count)
    out[i] = a[d->index[i]] + b[i];
}

KERNEL(cascade) {
  ROOMS
  foreach (i = 0 ... d->count) {
    float v = b[i];
    if (a[i] < 0.1f) {
      v = v * v + sqrt(v);
    } else if (a[i] < 0.4f) {
      v = v / (a[i] + 1);
    } else if (a[i] < 0.8f) {
      v = 1 - v;
      if (v < 0.5f)
        v += a[i] / (v + 2);
    }
    out[i] = v;
  }
}

KERNEL(clamped_sum) {
  int s = 0;
  foreach (i = 0 ... d->count)
    s += clamp(d->index[i] - 100, 0, 3000);
  d->out[0] = (uniform float)((uniform int)reduce_add(s) & 0xffffff);
}

KERNEL(tree_lookup) {
  ROOMS
  const uniform node *uniform nodes = d->planted.nodes;
  foreach (i = 0 ... d->count) {
    float key = a[i];
    int at = 0, depth = 0;
    while (at >= 0 && nodes[at].key != key) {
      at = key < nodes[at].key ? nodes[at].left : nodes[at].right;
      depth++;
    }
    out[i] = (float)depth;
  }
}

KERNEL(column_lookup) {
  ROOMS
  const uniform float *uniform keys = d->planted.keys;
  const uniform int *uniform lefts = d->planted.lefts;
  const uniform int *uniform rights = d->planted.rights;
  foreach (i = 0 ... d->count) {
    float key = a[i];
    int at = 0, depth = 0;
    while (at >= 0 && keys[at] != key) {
      at = key < keys[at] ? lefts[at] : rights[at];
      depth++;
    }
    out[i] = (float)depth;
  }
}

KERNEL(own_stacks) {
  ROOMS
  const uniform node *uniform nodes = d->planted.nodes;
  foreach (i = 0 ... d->count / 4) {
    float low = a[i] - d->planted.near, high = a[i] + d->planted.near;
    int stack[64], top = 0, found = 0;
    stack[top++] = 0;
    while (top > 0) {
      int at = stack[--top];
      float key = nodes[at].key;
      int left = nodes[at].left, right = nodes[at].right;
      found += low <= key && key <= high ? 1 : 0;
      if (left >= 0 && low <= key)
        stack[top++] = left;
      if (right >= 0 && key <= high)
        stack[top++] = right;
    }
    out[i] = (float)found;
  }
}

KERNEL(one_stack) {
  ROOMS
  const uniform node *uniform nodes = d->planted.nodes;
  foreach (i = 0 ... d->count / 4) {
    float low = a[i] - d->planted.near, high = a[i] + d->planted.near;
    uniform int stack[64], top = 0;
    int found = 0;
    stack[top++] = 0;
    while (top > 0) {
      const uniform node *uniform at = &nodes[stack[--top]];
      uniform float key = at->key;
      uniform int left = at->left, right = at->right;
      found += low <= key && key <= high ? 1 : 0;
      if (left >= 0 && any(low <= key))
        stack[top++] = left;
      if (right >= 0 && any(key <= high))
        stack[top++] = right;
    }
    out[i] = (float)found;
  }
}

KERNEL(binomial) {
  ROOMS
  foreach (i = 0 ... d->count / 16) {
    float spot = 20 + 60 * a[i], strike = 20 + 60 * b[i], value[33];
    uniform float up = exp(0.3f * sqrt(1.0f / 32));
    uniform float down = 1 / up, grows = exp(0.02f / 32);
    uniform float chance = (grows - down) / (up - down);
    float price = spot;
    for (uniform int k = 0; k < 32; k++)
      price *= down;
    for (uniform int k = 0; k <= 32; k++) {
      float gain = strike - price;
      value[k] = gain > 0 ? gain : 0;
      price *= up * up;
    }
    for (uniform int step = 32; step > 0; step--)
      for (uniform int k = 0; k < step; k++)
        value[k] = (chance * value[k + 1] + (1 - chance) * value[k]) / grows;
    out[i] = value[0];
  }
}

static inline float faded(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }

static inline float slope(const uniform int *uniform place, int x, int y, float dx, float dy) {
  int which = place[(place[x & 1023] + y) & 1023] & 7;
  float u = which < 4 ? dx : dy, v = which < 4 ? dy : dx;
  return ((which & 1) != 0 ? -u : u) + ((which & 2) != 0 ? -2 * v : 2 * v);
}

KERNEL(perlin) {
  ROOMS
  const uniform int *uniform place = d->index;
  foreach (i = 0 ... d->count / 4) {
    float sum = 0, weight = 0.5f, x = a[i] * 20, y = b[i] * 20;
    int octaves = 1 + (int)(a[i] * 6);
    for (int octave = 0; octave < octaves; octave++) {
      float left = floor(x), low = floor(y);
      float dx = x - left, dy = y - low;
      int u = (int)left, v = (int)low;
      float s = faded(dx), t = faded(dy);
      float one = slope(place, u, v, dx, dy), two = slope(place, u + 1, v, dx - 1, dy);
      float three = slope(place, u, v + 1, dx, dy - 1), four = slope(place, u + 1, v + 1, dx - 1, dy - 1);
      float lower = one + s * (two - one), upper = three + s * (four - three);
      sum += weight * (lower + t * (upper - lower));
      weight *= 0.5f;
      x *= 2;
      y *= 2;
    }
    out[i] = sum;
  }
}

KERNEL(volume) {
  ROOMS
  const uniform float *uniform density = d->density;
  foreach (i = 0 ... d->count / 4) {
    float x = a[i] * 30, y = b[i] * 30, light = 1, seen = 0, dx = 0.3f * b[i], dy = 0.3f * a[i];
    for (uniform int step = 0; step < 100; step++) {
      int place = ((int)x & 31) + 32 * ((int)y & 31) + 1024 * (step & 31);
      float here = density[place];
      if (here > 0.3f) {
        seen += light * here * 0.2f;
        light *= 1 - here * 0.2f;
        if (light < 0.02f)
          break;
      }
      x += dx;
      y += dy;
    }
    out[i] = seen;
  }
}

KERNEL(occlusion) {
  ROOMS
  foreach (i = 0 ... d->count / 8) {
    float px = a[i] * 6 - 3, pz = b[i] * 6 - 3;
    unsigned int drawn = (unsigned int)i * 747796405u + 1;
    int unhit = 0;
    if (px * px + pz * pz < 9) {
      for (uniform int ray = 0; ray < 32; ray++) {
        drawn = drawn * 1664525u + 1013904223u;
        float turn = (float)(drawn >> 8) * (6.2831853f / 16777216);
        uniform float rise = (uniform float)(ray + 1) / 33;
        float flat = sqrt(1 - rise * rise);
        float dx = flat * (1 - turn * 0.3f), dz = flat * (turn * 0.3f - 1);
        bool is_hit = false;
        for (uniform int ball = 0; ball < 3; ball++) {
          if (!is_hit) {
            float ox = px - (uniform float)(ball * 2 - 2), oy = -0.6f, oz = pz;
            float toward = ox * dx + oy * rise + oz * dz, off = ox * ox + oy * oy + oz * oz - 0.36f;
            float inside = toward * toward - off;
            is_hit = inside > 0 && -toward - sqrt(inside) > 0;
          }
        }
        unhit += is_hit ? 0 : 1;
      }
    }
    out[i] = (float)unhit;
  }
}

KERNEL(small_matrices) {
  ROOMS
  foreach (i = 0 ... d->count / 32) {
    float m[4][5];
    for (uniform int r = 0; r < 4; r++)
      for (uniform int c = 0; c < 5; c++)
        m[r][c] = a[i * 16 + (r * 5 + c) % 16] - b[i * 16 + (r * 3 + c * 7) % 16] + (r == c ? 0.1f : 0.0f);
    for (uniform int c = 0; c < 4; c++) {
      int best = c;
      for (uniform int r = c + 1; r < 4; r++)
        if (abs(m[r][c]) > abs(m[best][c]))
          best = r;
      if (best != c)
        for (uniform int k = c; k < 5; k++) {
          float other = m[best][k];
          m[best][k] = m[c][k];
          m[c][k] = other;
        }
      for (uniform int r = c + 1; r < 4; r++) {
        float f = m[r][c] / m[c][c];
        for (uniform int k = c; k < 5; k++)
          m[r][k] -= f * m[c][k];
      }
    }
    out[i] = abs(m[0][0] * m[1][1] * m[2][2] * m[3][3]);
  }
}

KERNEL(bodies) {
  ROOMS
  uniform int n = d->count / 16;
  foreach (i = 0 ... n) {
    float x = a[i], y = b[i], fx = 0, fy = 0;
    for (uniform int j = 0; j < n; j++) {
      float dx = a[j] - x, dy = b[j] - y;
      float square = dx * dx + dy * dy + 0.01f;
      float force = 1 / (square * sqrt(square));
      fx += dx * force;
      fy += dy * force;
    }
    out[i] = fx + fy;
  }
}

KERNEL(biased_cascade) {
  ROOMS
  float sum = 0;
  foreach (i = 0 ... d->count) {
    float chance = a[i], dij = 1 + b[i], sj = 0.5f * b[i] + 0.1f;
    if (chance <= 1 && dij <= 40) {
      float h;
      cif (chance < 0.351f) {
        h = 0.125f / dij * (1 + log(dij / sj));
      } else cif (chance < 0.943f) {
        float t = sj * sj / (dij * dij);
        h = t * sj / (dij * dij) * (0.33f + t * (0.4f + t * (0.43f + t * 0.44f)));
      } else cif (chance < 0.986f) {
        h = 0.5f * (sj / (dij * dij - sj * sj) + 0.5f * log((dij - sj) / (dij + sj)) / dij);
      } else {
        float t = 0.5f * (dij * dij + 4 - sj * sj) / dij;
        h = 0.25f * (2 - t / 4 + log(2 / (dij + sj)) / dij);
      }
      sum += h;
    }
  }
  out[0] = reduce_add(sum) * 1e-3f;
}
