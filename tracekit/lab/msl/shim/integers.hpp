// Metal's functions on integers and bools, choices between values, and geometry.
#pragma once
#include "math.hpp"

namespace metal {

using signed_char = signed char;
using long_long = long long;
using unsigned_long_long = unsigned long long;

#define TRACEKIT_INTEGER(T)                                                       \
  inline T max(T a, T b) { return a < b ? b : a; }                                \
  inline T min(T a, T b) { return b < a ? b : a; }                                \
  inline T clamp(T a, T low, T high) { return min(max(a, low), high); }           \
  inline T abs(T a) { return T(-1) < T(0) && a < T(0) ? T(-a) : a; }              \
  inline T absdiff(T a, T b) { return a < b ? T(b - a) : T(a - b); }              \
  inline T popcount(T a) {                                                        \
    return T(__builtin_popcountll(make_unsigned_t<T>(a)));                        \
  }                                                                               \
  inline T clz(T a) {                                                             \
    return a == 0 ? T(8 * sizeof(T))                                              \
                  : T(__builtin_clzll(make_unsigned_t<T>(a)) - (64 - 8 * int(sizeof(T)))); \
  }                                                                               \
  inline T ctz(T a) {                                                             \
    return a == 0 ? T(8 * sizeof(T)) : T(__builtin_ctzll(make_unsigned_t<T>(a))); \
  }                                                                               \
  inline T reverse_bits(T a) {                                                    \
    T made = 0;                                                                   \
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) made = T(made << 1 | (a >> i & 1)); \
    return made;                                                                  \
  }
TRACEKIT_INTEGER(int) TRACEKIT_INTEGER(uint) TRACEKIT_INTEGER(short) TRACEKIT_INTEGER(ushort)
TRACEKIT_INTEGER(char) TRACEKIT_INTEGER(signed_char) TRACEKIT_INTEGER(uchar)
TRACEKIT_INTEGER(long) TRACEKIT_INTEGER(ulong)
TRACEKIT_INTEGER(long_long) TRACEKIT_INTEGER(unsigned_long_long)
#undef TRACEKIT_INTEGER

inline float abs(float a) { return __builtin_fabsf(a); }
inline half abs(half a) { return fabs(a); }
template <class = void>
inline bfloat abs(bfloat a) { return fabs(a); }
template <class T, int N>
inline vec<T, N> abs(const vec<T, N>& a) {
  vec<T, N> made;
  for (int i = 0; i < N; ++i) made.data[i] = abs(a.data[i]);
  return made;
}

inline int mulhi(int a, int b) { return int(int64_t(a) * b >> 32); }
inline uint mulhi(uint a, uint b) { return uint(uint64_t(a) * b >> 32); }
inline int mad24(int a, int b, int c) { return a * b + c; }
inline uint mad24(uint a, uint b, uint c) { return a * b + c; }
inline int mul24(int a, int b) { return a * b; }
inline uint mul24(uint a, uint b) { return a * b; }
inline float ldexp(float a, int by) { return __builtin_ldexpf(a, by); }
inline half ldexp(half a, int by) { return half(ldexp(float(a), by)); }
inline float frexp(float a, int& exponent) { return __builtin_frexpf(a, &exponent); }
inline half frexp(half a, int& exponent) { return half(frexp(float(a), exponent)); }
inline float modf(float a, float& whole) { return __builtin_modff(a, &whole); }
inline float sincos(float a, float& cosine) {
  cosine = __builtin_cosf(a);
  return __builtin_sinf(a);
}

#define TRACEKIT_QUESTION(name, formula)                                          \
  inline bool name(float a) { return formula; }                                   \
  inline bool name(half a) { return name(float(a)); }                             \
  template <class = void>                                                         \
  inline bool name(bfloat a) { return name(float(a)); }                           \
  template <class T, int N>                                                       \
  inline vec<bool, N> name(const vec<T, N>& a) {                                  \
    vec<bool, N> made;                                                            \
    for (int i = 0; i < N; ++i) made.data[i] = name(a.data[i]);                   \
    return made;                                                                  \
  }
TRACEKIT_QUESTION(isnan, __builtin_isnan(a))
TRACEKIT_QUESTION(isinf, __builtin_isinf(a))
TRACEKIT_QUESTION(isfinite, __builtin_isfinite(a))
TRACEKIT_QUESTION(isnormal, __builtin_isnormal(a))
TRACEKIT_QUESTION(signbit, __builtin_signbit(a))
#undef TRACEKIT_QUESTION

inline bool any(bool a) { return a; }
inline bool all(bool a) { return a; }
template <int N>
inline bool any(const vec<bool, N>& a) {
  for (int i = 0; i < N; ++i) {
    if (a.data[i]) return true;
  }
  return false;
}
template <int N>
inline bool all(const vec<bool, N>& a) { return !any(!a); }

// The second where the condition holds, as in Metal.
template <class T>
inline T select(T a, T b, bool second) { return second ? b : a; }
template <class T, int N>
inline vec<T, N> select(const vec<T, N>& a, const vec<T, N>& b, const vec<bool, N>& second) {
  vec<T, N> made;
  for (int i = 0; i < N; ++i) made.data[i] = second.data[i] ? b.data[i] : a.data[i];
  return made;
}

template <class To, class From>
inline To as_type(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs two types of one size");
  return __builtin_bit_cast(To, from);
}

template <class T, int N>
inline T dot(const vec<T, N>& a, const vec<T, N>& b) {
  T sum = a.data[0] * b.data[0];
  for (int i = 1; i < N; ++i) sum += a.data[i] * b.data[i];
  return sum;
}
template <class T, int N>
inline T length_squared(const vec<T, N>& a) { return dot(a, a); }
template <class T, int N>
inline T length(const vec<T, N>& a) { return sqrt(dot(a, a)); }
template <class T, int N>
inline T distance(const vec<T, N>& a, const vec<T, N>& b) { return length(a - b); }
template <class T, int N>
inline vec<T, N> normalize(const vec<T, N>& a) { return a * rsqrt(dot(a, a)); }
template <class T>
inline vec<T, 3> cross(const vec<T, 3>& a, const vec<T, 3>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

TRACEKIT_MODES(abs) TRACEKIT_MODES(sincos) TRACEKIT_MODES(ldexp) TRACEKIT_MODES(frexp)
TRACEKIT_MODES(isnan) TRACEKIT_MODES(isinf) TRACEKIT_MODES(isfinite) TRACEKIT_MODES(normalize)
TRACEKIT_MODES(length) TRACEKIT_MODES(distance)
#undef TRACEKIT_MODES

}  // namespace metal
