/*
 * The update of a range, for one element type and one instruction set. Included once for each pair, with
 *   T        element type
 *   V        vector of T, VI the vector of integers as wide, VD the vector of doubles with as many elements
 *   NAME(x)  x with the suffix of the pair
 *   GROUP    vectors of one array that are loaded together: two cache lines
 *   SQRT(v), FMA(a, b, c)
 *
 * Everything is written as ND4J computes it. The compiler contracts nothing (-ffp-contract=off); where ND4J's build
 * does, 'fused' is set and the multiplication that its compiler chose is fused here by hand.
 */

typedef T NAME(unaligned) __attribute__((vector_size(sizeof(V)), aligned(sizeof(T)), may_alias));

#define LANES ((long) (sizeof(V) / sizeof(T)))
#define BLOCK (GROUP * LANES)
#define EACH _Pragma("GCC unroll 8") for (int k = 0; k < GROUP; k++)
#define INLINE static inline __attribute__((always_inline))
#define LOAD(a) (*(const NAME(unaligned) *) (a))
#define STORE(a, v) (*(NAME(unaligned) *) (a) = (v))

/* 'struct pass' with its numbers in the element type. */
typedef struct {
    T rule[RULE_SCALARS];
    T divisor, scaling;
    T before[MAX_TERMS], after[MAX_TERMS];
    int flags;
} NAME(pass);

INLINE V NAME(muladd)(int fused, V a, V b, V c) {
    if (fused) {
        return FMA(a, b, c);
    }
    return a * b + c;
}

INLINE V NAME(splat)(T x) {
    return x - (V) {0};
}

INLINE V NAME(select)(VI mask, V yes, V no) {
    return (V) (((VI) yes & mask) | ((VI) no & ~mask));
}

/* -1, 0 or 1; 0 for a NaN, like ND4J's sign op. */
INLINE V NAME(sign)(V x) {
    V zero = {0};
    V one = NAME(splat)(1);
    return (V) ((VI) one & (VI) (x > zero)) - (V) ((VI) one & (VI) (x < zero));
}

INLINE V NAME(larger)(V a, V b) {
    return NAME(select)((VI) (a > b), a, b);
}

INLINE V NAME(absolute)(V x) {
    V minus = NAME(splat)(-(T) 0);
    return (V) ((VI) x & ~(VI) minus);
}

/* ND4J adds AdaMax's 1e-32 in double precision, whatever the type of the array. */
INLINE V NAME(plus_tiny)(V x) {
    return __builtin_convertvector(__builtin_convertvector(x, VD) + 1e-32, V);
}

/* No bit where x is finite: a finite number less itself is +0, anything else gives a NaN. */
INLINE VI NAME(not_finite)(V x) {
    return (VI) (x - x);
}

/* Divide by the minibatch, scale or clip, add l1 and l2. */
INLINE void NAME(before)(const NAME(pass) *a, const V *p, V *g) {
    int flags = a->flags;
    if (flags & DIVIDE) {
        V divisor = NAME(splat)(a->divisor);
        EACH g[k] = g[k] / divisor;
    }
    int scaling = (flags >> SCALING_SHIFT) & 3;
    if (scaling) {
        V s = NAME(splat)(a->scaling);
        if (scaling == SCALE_MULTIPLY) {
            EACH g[k] = g[k] * s;
        } else if (scaling == SCALE_DIVIDE) {
            EACH g[k] = g[k] / s;
        } else {
            EACH g[k] = NAME(select)((VI) (g[k] > s), s, NAME(select)((VI) (g[k] < -s), -s, g[k]));
        }
    }
    int terms = (flags >> BEFORE_SHIFT) & 7;
    for (int t = 0; t < terms; t++) {
        V c = NAME(splat)(a->before[t]);
        if ((flags >> (L1_SHIFT + t)) & 1) {
            EACH g[k] = c * NAME(sign)(p[k]) + g[k];  /* The product is exact: fused or not is the same. */
        } else if (flags & AXPY_FUSED) {
            EACH g[k] = FMA(c, p[k], g[k]);
        } else {
            EACH g[k] = c * p[k] + g[k];
        }
    }
}

/* Add the weight decay to the update. */
INLINE void NAME(after)(const NAME(pass) *a, const V *p, V *u) {
    int flags = a->flags;
    int terms = (flags >> AFTER_SHIFT) & 7;
    for (int t = 0; t < terms; t++) {
        V c = NAME(splat)(a->after[t]);
        if (flags & AXPY_FUSED) {
            EACH u[k] = FMA(c, p[k], u[k]);
        } else {
            EACH u[k] = c * p[k] + u[k];
        }
    }
}

/* Turns gradients g into updates, in place, and moves the state x, y, z on. */
INLINE void NAME(rule)(int rule, int fused, const NAME(pass) *a, V *g, V *x, V *y, V *z) {
    V c0 = NAME(splat)(a->rule[0]), c1 = NAME(splat)(a->rule[1]), c2 = NAME(splat)(a->rule[2]), c3 = NAME(splat)(a->rule[3]);
    V c4 = NAME(splat)(a->rule[4]), c5 = NAME(splat)(a->rule[5]), c6 = NAME(splat)(a->rule[6]);
    switch (rule) {
        case ADAM:  /* beta1, 1-beta1, beta2, 1-beta2, alpha, epsilon */
            EACH {
                x[k] = NAME(muladd)(fused, c0, x[k], g[k] * c1);
                y[k] = NAME(muladd)(fused, c2, y[k], g[k] * g[k] * c3);
                g[k] = x[k] * c4 / (SQRT(y[k]) + c5);
            }
            break;
        case AMSGRAD:
            EACH {
                x[k] = NAME(muladd)(fused, c0, x[k], g[k] * c1);
                y[k] = NAME(muladd)(fused, c2, y[k], g[k] * g[k] * c3);
                z[k] = NAME(larger)(z[k], y[k]);
                g[k] = c4 * x[k] / (SQRT(z[k]) + c5);
            }
            break;
        case ADABELIEF:
            EACH {
                x[k] = NAME(muladd)(fused, c0, x[k], g[k] * c1);
                V d = g[k] - x[k];
                y[k] = NAME(muladd)(fused, c2, y[k], d * d * c3) + c5;
                g[k] = x[k] * c4 / (SQRT(y[k]) + c5);
            }
            break;
        case ADAMAX:
            EACH {
                x[k] = NAME(muladd)(fused, c0, x[k], g[k] * c1);
                y[k] = NAME(plus_tiny)(NAME(larger)(c2 * y[k], NAME(absolute)(g[k])));
                g[k] = x[k] * c4 / y[k];
            }
            break;
        case NADAM:  /* like Adam, with the learning rate for alpha, and 1-beta1^t; the other product is the fused one */
            EACH {
                V m = NAME(muladd)(fused, g[k], c1, x[k] * c0);
                V n = NAME(muladd)(fused, g[k], c1, m * c0);
                x[k] = m;
                y[k] = NAME(muladd)(fused, c2, y[k], g[k] * g[k] * c3);
                g[k] = c4 * (n / c6) / (SQRT(y[k]) + c5);
            }
            break;
        case NESTEROVS:  /* momentum, -momentum-1, learning rate */
            EACH {
                V previous = x[k];
                x[k] = NAME(muladd)(fused, c0, previous, -(c2 * g[k]));
                g[k] = NAME(muladd)(fused, c0, previous, c1 * x[k]);
            }
            break;
        case RMSPROP:  /* learning rate, decay, 1-decay, epsilon */
            EACH {
                x[k] = NAME(muladd)(fused, x[k], c1, g[k] * g[k] * c2);
                g[k] = c0 * g[k] / (SQRT(x[k]) + c3);
            }
            break;
        case ADAGRAD:  /* learning rate, epsilon */
            EACH {
                x[k] = NAME(muladd)(fused, g[k], g[k], x[k]);
                g[k] = c0 * g[k] / (SQRT(x[k]) + c1);
            }
            break;
        case ADADELTA:  /* rho, 1-rho, epsilon */
            EACH {
                x[k] = NAME(muladd)(fused, c0, x[k], g[k] * g[k] * c1);
                g[k] = g[k] * (SQRT(y[k] + c2) / SQRT(x[k] + c2));
                y[k] = NAME(muladd)(fused, c0, y[k], g[k] * g[k] * c1);
            }
            break;
        case SGD:  /* learning rate */
            EACH g[k] = g[k] * c0;
            break;
        default:  /* NOOP: the gradient is the update */
            break;
    }
}

INLINE void NAME(prefetch)(const T *a) {
    for (int line = 0; line < (int) (BLOCK * sizeof(T) / 64); line++) {
        __builtin_prefetch((const char *) a + PREFETCH_BYTES + 64 * line);
    }
}

/*
 * n is a multiple of BLOCK. Each array is read in whole cache lines before the next one is. True if all gradients, as they came, and
 * all updated parameters are finite.
 */
INLINE int NAME(blocks)(int rule, int fused, int states, const NAME(pass) *a, T *p, T *g, T *x, T *y, T *z, long n) {
    VI odd = {0};
    for (long i = 0; i < n; i += BLOCK) {
        V vp[GROUP], vg[GROUP], vx[GROUP], vy[GROUP], vz[GROUP];
        NAME(prefetch)(p + i);
        NAME(prefetch)(g + i);
        EACH vp[k] = LOAD(p + i + k * LANES);
        EACH {
            vg[k] = LOAD(g + i + k * LANES);
            odd |= NAME(not_finite)(vg[k]);
        }
        if (states > 0) {
            NAME(prefetch)(x + i);
            EACH vx[k] = LOAD(x + i + k * LANES);
        }
        if (states > 1) {
            NAME(prefetch)(y + i);
            EACH vy[k] = LOAD(y + i + k * LANES);
        }
        if (states > 2) {
            NAME(prefetch)(z + i);
            EACH vz[k] = LOAD(z + i + k * LANES);
        }
        NAME(before)(a, vp, vg);
        NAME(rule)(rule, fused, a, vg, vx, vy, vz);
        NAME(after)(a, vp, vg);
        EACH {
            vp[k] = vp[k] - vg[k];
            odd |= NAME(not_finite)(vp[k]);
            STORE(p + i + k * LANES, vp[k]);
        }
        if (states > 0) {
            EACH STORE(x + i + k * LANES, vx[k]);
        }
        if (states > 1) {
            EACH STORE(y + i + k * LANES, vy[k]);
        }
        if (states > 2) {
            EACH STORE(z + i + k * LANES, vz[k]);
        }
        if (a->flags & WRITE_UPDATE) {
            EACH STORE(g + i + k * LANES, vg[k]);
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        if (odd[lane]) {
            return 0;
        }
    }
    return 1;
}

typedef int (*NAME(blocks_of))(const NAME(pass) *, T *, T *, T *, T *, T *, long);

#define INSTANCE(RULE, FUSED, STATES) \
    static int NAME(RULE##_##FUSED)(const NAME(pass) *a, T *p, T *g, T *x, T *y, T *z, long n) { \
        return NAME(blocks)(RULE, FUSED, STATES, a, p, g, x, y, z, n); \
    }
#define BOTH(RULE, STATES) INSTANCE(RULE, 0, STATES) INSTANCE(RULE, 1, STATES)
BOTH(ADAM, 2)
BOTH(AMSGRAD, 3)
BOTH(ADAMAX, 2)
BOTH(NADAM, 2)
BOTH(NESTEROVS, 1)
BOTH(RMSPROP, 1)
BOTH(ADAGRAD, 1)
BOTH(ADADELTA, 2)
BOTH(ADABELIEF, 2)
INSTANCE(SGD, 0, 0)
INSTANCE(NOOP, 0, 0)

/* In the order of the enum in update.c. */
static const NAME(blocks_of) NAME(table)[RULES][2] = {
#define ROW(RULE) {NAME(RULE##_0), NAME(RULE##_1)}
    ROW(ADAM), ROW(AMSGRAD), ROW(ADAMAX), ROW(NADAM), ROW(NESTEROVS), ROW(RMSPROP), ROW(ADAGRAD), ROW(ADADELTA), ROW(ADABELIEF),
    {NAME(SGD_0), NAME(SGD_0)}, {NAME(NOOP_0), NAME(NOOP_0)}
};

static int NAME(finite)(const T *a, long n) {
    for (long i = 0; i < n; i++) {
        if (!(a[i] - a[i] == 0)) {
            return 0;
        }
    }
    return 1;
}

/* Fewer elements than a block, through a block of our own: nothing outside the range is read or written. */
static int NAME(few)(NAME(blocks_of) blocks, const NAME(pass) *a, T *const *arrays, int count, long from, long n) {
    T own[5][BLOCK] __attribute__((aligned(64)));
    memset(own, 0, sizeof own);
    for (int j = 0; j < count; j++) {
        memcpy(own[j], arrays[j] + from, n * sizeof(T));
    }
    int finite = NAME(finite)(own[1], n);
    /* What it returns counts the lanes that are padded, too: 0 / 0 where epsilon is 0. */
    blocks(a, own[0], own[1], own[2], own[3], own[4], BLOCK);
    finite &= NAME(finite)(own[0], n);
    for (int j = 0; j < count; j++) {
        if (j != 1 || (a->flags & WRITE_UPDATE)) {
            memcpy(arrays[j] + from, own[j], n * sizeof(T));
        }
    }
    return finite;
}

static int NAME(range)(const struct pass *pass, T *p, T *g, T *x, T *y, T *z, long n) {
    NAME(pass) a;
    for (int i = 0; i < RULE_SCALARS; i++) {
        a.rule[i] = (T) pass->rule[i];
    }
    for (int i = 0; i < MAX_TERMS; i++) {
        a.before[i] = (T) pass->before[i];
        a.after[i] = (T) pass->after[i];
    }
    a.divisor = (T) pass->divisor;
    a.scaling = (T) pass->scaling;
    a.flags = pass->flags;
    NAME(blocks_of) blocks = NAME(table)[pass->rule_number][(pass->flags & RULE_FUSED) != 0];
    T *const arrays[5] = {p, g, x, y, z};
    int count = 2 + STATES[pass->rule_number];

    /* Parameters are written by whole vectors from an aligned address on. */
    long head = (long) (-(uintptr_t) p & (sizeof(V) - 1)) / (long) sizeof(T);
    head = head < n ? head : n;
    long whole = (n - head) / BLOCK * BLOCK;
    int finite = 1;
    if (head > 0) {
        finite &= NAME(few)(blocks, &a, arrays, count, 0, head);
    }
    if (whole > 0) {
        finite &= blocks(&a, p + head, g + head, count > 2 ? x + head : 0, count > 3 ? y + head : 0, count > 4 ? z + head : 0, whole);
    }
    if (head + whole < n) {
        finite &= NAME(few)(blocks, &a, arrays, count, head + whole, n - head - whole);
    }
    return finite;
}

/* The yardstick: reads parameters, gradients and state, writes parameters and state, one multiplication and addition for each. */
static void NAME(stream)(int states, T *p, const T *g, T *x, T *y, T *z, long n) {
    V c = NAME(splat)((T) 1e-3);
    for (long i = 0; i + LANES <= n; i += LANES) {
        V u = LOAD(g + i);
        STORE(p + i, u * c + LOAD(p + i));
        if (states > 0) {
            STORE(x + i, u * c + LOAD(x + i));
        }
        if (states > 1) {
            STORE(y + i, u * c + LOAD(y + i));
        }
        if (states > 2) {
            STORE(z + i, u * c + LOAD(z + i));
        }
    }
}

#undef LANES
#undef BLOCK
#undef EACH
#undef INLINE
#undef LOAD
#undef STORE
#undef INSTANCE
#undef BOTH
#undef ROW
#undef T
#undef V
#undef VI
#undef VD
#undef NAME
#undef GROUP
#undef SQRT
#undef FMA
