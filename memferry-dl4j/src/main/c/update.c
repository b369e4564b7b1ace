/*
 * MemFerry's native update kernel: one pass over parameters, gradients and updater state for each of DL4J's rules, with the
 * numbers of ND4J's own operations. Called from Java threads on ranges; keeps no state, starts no threads, allocates nothing.
 * Needs libc and libm only.
 */
#include <jni.h>
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The oldest symbol does for all: later versions differ in errno alone, and old systems have no later one. */
__asm__(".symver pow,pow@GLIBC_2.2.5");
__asm__(".symver powf,powf@GLIBC_2.2.5");

/* As in UpdateRule.java. */
enum {ADAM, AMSGRAD, ADAMAX, NADAM, NESTEROVS, RMSPROP, ADAGRAD, ADADELTA, ADABELIEF, SGD, NOOP, RULES};
static const int STATES[RULES] = {2, 3, 2, 2, 1, 1, 1, 2, 2, 0, 0};

/* As in UpdatePass.java. */
enum {RULE_SCALARS = 8, MAX_TERMS = 4};
enum {
    DIVIDE = 1, WRITE_UPDATE = 2, RULE_FUSED = 4, AXPY_FUSED = 8,
    SCALING_SHIFT = 4, BEFORE_SHIFT = 8, AFTER_SHIFT = 12, L1_SHIFT = 16
};
enum {SCALE_MULTIPLY = 1, SCALE_DIVIDE = 2, SCALE_CLIP = 3};

/* 512 was the best of 0, 512, 1024 and 2048 on Zen 3, by a few per cent; 2048 costs ten. */
enum {PREFETCH_BYTES = 512};

struct pass {
    int rule_number;
    int flags;
    double rule[RULE_SCALARS];
    double divisor, scaling;
    double before[MAX_TERMS], after[MAX_TERMS];
};

/* ---- baseline: SSE2, which every x86-64 has ---- */

static inline __attribute__((always_inline)) __m128 fma_lanes_f(__m128 a, __m128 b, __m128 c) {
    for (int i = 0; i < 4; i++) {
        c[i] = fmaf(a[i], b[i], c[i]);
    }
    return c;
}

static inline __attribute__((always_inline)) __m128d fma_lanes_d(__m128d a, __m128d b, __m128d c) {
    for (int i = 0; i < 2; i++) {
        c[i] = fma(a[i], b[i], c[i]);
    }
    return c;
}

typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef int64_t i64x2 __attribute__((vector_size(16)));
typedef double f64x4 __attribute__((vector_size(32)));
typedef double f64x2 __attribute__((vector_size(16)));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef int64_t i64x4 __attribute__((vector_size(32)));
typedef double f64x8 __attribute__((vector_size(64)));
typedef int32_t i32x16 __attribute__((vector_size(64)));
typedef int64_t i64x8 __attribute__((vector_size(64)));
typedef double f64x16 __attribute__((vector_size(128)));

#define T float
#define V __m128
#define VI i32x4
#define VD f64x4
#define NAME(x) baseline_f_##x
#define GROUP 4
#define SQRT(v) _mm_sqrt_ps(v)
#define FMA(a, b, c) fma_lanes_f(a, b, c)
#include "update_rules.h"

#define T double
#define V __m128d
#define VI i64x2
#define VD f64x2
#define NAME(x) baseline_d_##x
#define GROUP 4
#define SQRT(v) _mm_sqrt_pd(v)
#define FMA(a, b, c) fma_lanes_d(a, b, c)
#include "update_rules.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma")

#define T float
#define V __m256
#define VI i32x8
#define VD f64x8
#define NAME(x) avx2_f_##x
#define GROUP 4
#define SQRT(v) _mm256_sqrt_ps(v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#include "update_rules.h"

#define T double
#define V __m256d
#define VI i64x4
#define VD f64x4
#define NAME(x) avx2_d_##x
#define GROUP 4
#define SQRT(v) _mm256_sqrt_pd(v)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#include "update_rules.h"

#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,fma")

#define T float
#define V __m512
#define VI i32x16
#define VD f64x16
#define NAME(x) avx512_f_##x
#define GROUP 2
#define SQRT(v) _mm512_sqrt_ps(v)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#include "update_rules.h"

#define T double
#define V __m512d
#define VI i64x8
#define VD f64x8
#define NAME(x) avx512_d_##x
#define GROUP 2
#define SQRT(v) _mm512_sqrt_pd(v)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#include "update_rules.h"

#pragma GCC pop_options

/* As in NativeLevel.java. */
enum {BASELINE, AVX2, AVX512, LEVELS};

typedef int (*float_range)(const struct pass *, float *, float *, float *, float *, float *, long);
typedef int (*double_range)(const struct pass *, double *, double *, double *, double *, double *, long);
typedef void (*float_stream)(int, float *, const float *, float *, float *, float *, long);
typedef void (*double_stream)(int, double *, const double *, double *, double *, double *, long);

static const float_range FLOAT_RANGES[LEVELS] = {baseline_f_range, avx2_f_range, avx512_f_range};
static const double_range DOUBLE_RANGES[LEVELS] = {baseline_d_range, avx2_d_range, avx512_d_range};
static const float_stream FLOAT_STREAMS[LEVELS] = {baseline_f_stream, avx2_f_stream, avx512_f_stream};
static const double_stream DOUBLE_STREAMS[LEVELS] = {baseline_d_stream, avx2_d_stream, avx512_d_stream};

#define ARRAY(T, address, from) ((address) ? (T *) (intptr_t) (address) + (from) : (T *) 0)

/* The best level that this CPU and its operating system run. */
JNIEXPORT jint JNICALL Java_org_memferry_update_NativeKernel_bestLevel(JNIEnv *env, jclass type) {
    (void) env;
    (void) type;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return BASELINE;
    }
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? AVX512 : AVX2;
}

/* True if all gradients, as they came, and all updated parameters are finite. */
JNIEXPORT jboolean JNICALL Java_org_memferry_update_NativeKernel_update(JNIEnv *env, jclass type, jint level, jint rule, jboolean wide,
        jint flags, jdoubleArray numbers, jlong p, jlong g, jlong x, jlong y, jlong z, jlong from, jlong to) {
    (void) type;
    struct pass pass;
    pass.rule_number = rule;
    pass.flags = flags;
    (*env)->GetDoubleArrayRegion(env, numbers, 0, RULE_SCALARS + 2 + 2 * MAX_TERMS, pass.rule);
    if ((*env)->ExceptionCheck(env)) {
        return JNI_TRUE;
    }
    if (wide) {
        return DOUBLE_RANGES[level](&pass, ARRAY(double, p, from), ARRAY(double, g, from), ARRAY(double, x, from), ARRAY(double, y, from),
                ARRAY(double, z, from), to - from);
    }
    return FLOAT_RANGES[level](&pass, ARRAY(float, p, from), ARRAY(float, g, from), ARRAY(float, x, from), ARRAY(float, y, from),
            ARRAY(float, z, from), to - from);
}

JNIEXPORT void JNICALL Java_org_memferry_update_NativeKernel_stream(JNIEnv *env, jclass type, jint level, jint states, jboolean wide,
        jlong p, jlong g, jlong x, jlong y, jlong z, jlong from, jlong to) {
    (void) env;
    (void) type;
    if (wide) {
        DOUBLE_STREAMS[level](states, ARRAY(double, p, from), ARRAY(double, g, from), ARRAY(double, x, from), ARRAY(double, y, from),
                ARRAY(double, z, from), to - from);
    } else {
        FLOAT_STREAMS[level](states, ARRAY(float, p, from), ARRAY(float, g, from), ARRAY(float, x, from), ARRAY(float, y, from),
                ARRAY(float, z, from), to - from);
    }
}

JNIEXPORT jfloat JNICALL Java_org_memferry_update_NativeKernel_powf(JNIEnv *env, jclass type, jfloat base, jfloat exponent) {
    (void) env;
    (void) type;
    return powf(base, exponent);
}

JNIEXPORT jdouble JNICALL Java_org_memferry_update_NativeKernel_pow(JNIEnv *env, jclass type, jdouble base, jdouble exponent) {
    (void) env;
    (void) type;
    return pow(base, exponent);
}
