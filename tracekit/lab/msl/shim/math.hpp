// Metal's functions on numbers. What takes a half or a bfloat computes in float and rounds once;
// `fast::` and `precise::` are the same functions: the rounding of fast math is not modelled.
#pragma once
#include "vec.hpp"

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define MAXFLOAT 3.402823466e+38f
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define HALF_MAX (half)65504.0f
#define HALF_MIN (half)6.103515625e-5f
#define HALF_EPSILON (half)9.765625e-4f
#define MAXHALF HALF_MAX
#define MAXBFLOAT numeric_limits<bfloat>::max()
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f

namespace metal {

// Said name by name, so that a text that declares more of them in `fast` hides none.
#define TRACEKIT_MODES(name)                                                      \
  namespace fast { using metal::name; }                                           \
  namespace precise { using metal::name; }

#define TRACEKIT_FUNCTION1(name, formula)                                         \
  inline float name(float a) { return formula; }                                  \
  inline half name(half from) { float a = from; return half(formula); }           \
  template <class = void>                                                         \
  inline bfloat name(bfloat from) { float a = from; return bfloat(formula); }     \
  template <class T, int N>                                                       \
  inline vec<T, N> name(const vec<T, N>& a) {                                     \
    vec<T, N> made;                                                               \
    for (int i = 0; i < N; ++i) made.data[i] = name(a.data[i]);                   \
    return made;                                                                  \
  }                                                                               \
  TRACEKIT_MODES(name)
TRACEKIT_FUNCTION1(exp, __builtin_expf(a))
TRACEKIT_FUNCTION1(exp2, __builtin_exp2f(a))
TRACEKIT_FUNCTION1(exp10, float(__builtin_pow(10.0, a)))
TRACEKIT_FUNCTION1(log, __builtin_logf(a))
TRACEKIT_FUNCTION1(log2, __builtin_log2f(a))
TRACEKIT_FUNCTION1(log10, __builtin_log10f(a))
TRACEKIT_FUNCTION1(sqrt, __builtin_sqrtf(a))
TRACEKIT_FUNCTION1(rsqrt, 1.0f / __builtin_sqrtf(a))
TRACEKIT_FUNCTION1(sin, __builtin_sinf(a))
TRACEKIT_FUNCTION1(cos, __builtin_cosf(a))
TRACEKIT_FUNCTION1(tan, __builtin_tanf(a))
TRACEKIT_FUNCTION1(asin, __builtin_asinf(a))
TRACEKIT_FUNCTION1(acos, __builtin_acosf(a))
TRACEKIT_FUNCTION1(atan, __builtin_atanf(a))
TRACEKIT_FUNCTION1(sinh, __builtin_sinhf(a))
TRACEKIT_FUNCTION1(cosh, __builtin_coshf(a))
TRACEKIT_FUNCTION1(tanh, __builtin_tanhf(a))
TRACEKIT_FUNCTION1(asinh, __builtin_asinhf(a))
TRACEKIT_FUNCTION1(acosh, __builtin_acoshf(a))
TRACEKIT_FUNCTION1(atanh, __builtin_atanhf(a))
TRACEKIT_FUNCTION1(floor, __builtin_floorf(a))
TRACEKIT_FUNCTION1(ceil, __builtin_ceilf(a))
TRACEKIT_FUNCTION1(round, __builtin_roundf(a))
TRACEKIT_FUNCTION1(rint, __builtin_rintf(a))
TRACEKIT_FUNCTION1(trunc, __builtin_truncf(a))
TRACEKIT_FUNCTION1(fabs, __builtin_fabsf(a))
TRACEKIT_FUNCTION1(fract, __builtin_fminf(a - __builtin_floorf(a), 0x1.fffffep-1f))
TRACEKIT_FUNCTION1(saturate, __builtin_fminf(__builtin_fmaxf(a, 0.0f), 1.0f))
TRACEKIT_FUNCTION1(sinpi, float(__builtin_sin(3.14159265358979323846 * a)))
TRACEKIT_FUNCTION1(cospi, float(__builtin_cos(3.14159265358979323846 * a)))
TRACEKIT_FUNCTION1(tanpi, float(__builtin_tan(3.14159265358979323846 * a)))
TRACEKIT_FUNCTION1(sign, a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a == 0.0f ? a : 0.0f)
#undef TRACEKIT_FUNCTION1

// A vector beside a number, which Metal makes a vector of as well: `fmax(v, 0.0f)`.
template <class A>
constexpr bool tracekit_is_vector = false;
template <class T, int N>
constexpr bool tracekit_is_vector<vec<T, N>> = is_floating_point_v<T>;
template <class A>
constexpr bool tracekit_is_number = std::is_arithmetic_v<A> || is_floating_point_v<A>;
template <class A, class... Rest>
struct tracekit_first_vector : tracekit_first_vector<Rest...> {};
template <class T, int N, class... Rest>
struct tracekit_first_vector<vec<T, N>, Rest...> { using type = vec<T, N>; };
template <class... A>
concept TracekitMixed = (tracekit_is_vector<A> || ...) && (tracekit_is_number<A> || ...) &&
    ((tracekit_is_vector<A> || tracekit_is_number<A>) && ...);
template <class V, class A>
inline V tracekit_widened(const A& from) {
  if constexpr (tracekit_is_vector<A>) {
    return from;
  } else {
    return V(std::remove_cvref_t<decltype(V().data[0])>(from));
  }
}

#define TRACEKIT_FUNCTION2(name, formula)                                         \
  inline float name(float a, float b) { return formula; }                         \
  inline half name(half x, half y) { float a = x, b = y; return half(formula); }  \
  template <class = void>                                                         \
  inline bfloat name(bfloat x, bfloat y) { float a = x, b = y; return bfloat(formula); } \
  template <class T, int N>                                                       \
  inline vec<T, N> name(const vec<T, N>& a, const vec<T, N>& b) {                 \
    vec<T, N> made;                                                               \
    for (int i = 0; i < N; ++i) made.data[i] = name(a.data[i], b.data[i]);        \
    return made;                                                                  \
  }                                                                               \
  template <class A, class B>                                                     \
    requires TracekitMixed<A, B>                                                  \
  inline auto name(const A& a, const B& b) {                                      \
    using V = typename tracekit_first_vector<A, B>::type;                         \
    return name(tracekit_widened<V>(a), tracekit_widened<V>(b));                  \
  }                                                                               \
  TRACEKIT_MODES(name)
TRACEKIT_FUNCTION2(pow, __builtin_powf(a, b))
TRACEKIT_FUNCTION2(powr, __builtin_powf(a, b))
TRACEKIT_FUNCTION2(fmod, __builtin_fmodf(a, b))
TRACEKIT_FUNCTION2(atan2, __builtin_atan2f(a, b))
TRACEKIT_FUNCTION2(copysign, __builtin_copysignf(a, b))
TRACEKIT_FUNCTION2(fmin, __builtin_fminf(a, b))
TRACEKIT_FUNCTION2(fmax, __builtin_fmaxf(a, b))
TRACEKIT_FUNCTION2(fdim, __builtin_fdimf(a, b))
TRACEKIT_FUNCTION2(step, b < a ? 0.0f : 1.0f)
TRACEKIT_FUNCTION2(max, __builtin_fmaxf(a, b))
TRACEKIT_FUNCTION2(min, __builtin_fminf(a, b))
TRACEKIT_FUNCTION2(divide, a / b)
TRACEKIT_FUNCTION2(nextafter, __builtin_nextafterf(a, b))
#undef TRACEKIT_FUNCTION2

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return a * b + c; }

inline double middle(double a, double b, double c) {
  const double low = __builtin_fmin(a, b), high = __builtin_fmax(a, b);
  return __builtin_fmax(low, __builtin_fmin(high, c));
}
inline double smooth(double at) {
  const double t = __builtin_fmin(__builtin_fmax(at, 0.0), 1.0);
  return t * t * (3.0 - 2.0 * t);
}

#define TRACEKIT_FUNCTION3(name, formula)                                         \
  inline float name(float a, float b, float c) { return formula; }                \
  inline half name(half x, half y, half z) {                                      \
    double a = x, b = y, c = z;                                                   \
    return half(formula);                                                         \
  }                                                                               \
  template <class = void>                                                         \
  inline bfloat name(bfloat x, bfloat y, bfloat z) {                              \
    float a = x, b = y, c = z;                                                    \
    return bfloat(float(formula));                                                \
  }                                                                               \
  template <class T, int N>                                                       \
  inline vec<T, N> name(const vec<T, N>& a, const vec<T, N>& b, const vec<T, N>& c) { \
    vec<T, N> made;                                                               \
    for (int i = 0; i < N; ++i) made.data[i] = name(a.data[i], b.data[i], c.data[i]); \
    return made;                                                                  \
  }                                                                               \
  template <class A, class B, class C>                                            \
    requires TracekitMixed<A, B, C>                                               \
  inline auto name(const A& a, const B& b, const C& c) {                          \
    using V = typename tracekit_first_vector<A, B, C>::type;                      \
    return name(tracekit_widened<V>(a), tracekit_widened<V>(b), tracekit_widened<V>(c)); \
  }                                                                               \
  TRACEKIT_MODES(name)
TRACEKIT_FUNCTION3(fma, fused(a, b, c))
TRACEKIT_FUNCTION3(mix, a + (b - a) * c)
TRACEKIT_FUNCTION3(smoothstep, smooth((c - a) / (b - a)))
TRACEKIT_FUNCTION3(fmax3, __builtin_fmax(__builtin_fmax(a, b), c))
TRACEKIT_FUNCTION3(fmin3, __builtin_fmin(__builtin_fmin(a, b), c))
TRACEKIT_FUNCTION3(fmedian3, middle(a, b, c))
TRACEKIT_FUNCTION3(max3, __builtin_fmax(__builtin_fmax(a, b), c))
TRACEKIT_FUNCTION3(min3, __builtin_fmin(__builtin_fmin(a, b), c))
TRACEKIT_FUNCTION3(median3, middle(a, b, c))
TRACEKIT_FUNCTION3(clamp, __builtin_fmin(__builtin_fmax(a, b), c))
#undef TRACEKIT_FUNCTION3

}  // namespace metal
