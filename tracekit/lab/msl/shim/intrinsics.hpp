// What the functions of Metal's own headers call, for texts that add overloads to them.
#pragma once
#include "simd.hpp"

#define __METAL_FAST_MATH__ 1
#define __METAL_PRECISE_MATH__ 0
#define __METAL_MAYBE_FAST_MATH__ 0

// The last argument, where there is one, chooses fast or precise math: the same here.
#define TRACEKIT_1(name)                                                          \
  template <class A>                                                              \
  inline auto __metal_##name(A a, int = 0) { return metal::name(a); }
#define TRACEKIT_2(name)                                                          \
  template <class A, class B>                                                     \
  inline auto __metal_##name(A a, B b, int = 0) { return metal::name(a, b); }
#define TRACEKIT_3(name)                                                          \
  template <class A, class B, class C>                                            \
  inline auto __metal_##name(A a, B b, C c, int = 0) { return metal::name(a, b, c); }
#define TRACEKIT_LANE(name)                                                       \
  template <class A>                                                              \
  inline A __metal_simd_##name(A a, TRACEKIT_HERE) { return metal::simd_##name(a, site); } \
  template <class A>                                                              \
  inline A __metal_quad_##name(A a, TRACEKIT_HERE) { return metal::quad_##name(a, site); }
#define TRACEKIT_LANE_BITS(name)                                                  \
  template <class A>                                                              \
  inline A __metal_simd_##name(A a, TRACEKIT_HERE) {                              \
    if constexpr (is_integral_v<A>) return metal::simd_##name(a, site);           \
    else return as_type<A>(metal::simd_##name(as_type<uint>(a), site));           \
  }
#define TRACEKIT_LANE_BY(name)                                                    \
  template <class A>                                                              \
  inline A __metal_simd_##name(A a, ushort by, TRACEKIT_HERE) {                   \
    return metal::simd_##name(a, by, site);                                       \
  }                                                                               \
  template <class A>                                                              \
  inline A __metal_quad_##name(A a, ushort by, TRACEKIT_HERE) {                   \
    return metal::quad_##name(a, by, site);                                       \
  }

namespace metal {
TRACEKIT_1(acos) TRACEKIT_1(acosh) TRACEKIT_1(asin) TRACEKIT_1(asinh) TRACEKIT_1(atan)
TRACEKIT_1(atanh) TRACEKIT_1(ceil) TRACEKIT_1(cos) TRACEKIT_1(cosh) TRACEKIT_1(cospi)
TRACEKIT_1(exp) TRACEKIT_1(exp2) TRACEKIT_1(exp10) TRACEKIT_1(fabs) TRACEKIT_1(floor)
TRACEKIT_1(fract) TRACEKIT_1(log) TRACEKIT_1(log2) TRACEKIT_1(log10) TRACEKIT_1(rint)
TRACEKIT_1(round) TRACEKIT_1(rsqrt) TRACEKIT_1(sin) TRACEKIT_1(sinh) TRACEKIT_1(sinpi)
TRACEKIT_1(sqrt) TRACEKIT_1(tan) TRACEKIT_1(tanh) TRACEKIT_1(tanpi) TRACEKIT_1(trunc)
TRACEKIT_2(atan2) TRACEKIT_2(divide) TRACEKIT_2(fmax) TRACEKIT_2(fmin) TRACEKIT_2(fmod)
TRACEKIT_2(nextafter) TRACEKIT_2(pow) TRACEKIT_2(powr) TRACEKIT_2(ldexp)
TRACEKIT_3(fma) TRACEKIT_3(fmax3) TRACEKIT_3(fmin3) TRACEKIT_3(fmedian3)
inline float __metal_frexp(float a, int* exponent, int = 0) { return metal::frexp(a, *exponent); }

TRACEKIT_LANE(sum) TRACEKIT_LANE(product) TRACEKIT_LANE(max) TRACEKIT_LANE(min)
TRACEKIT_LANE_BITS(and) TRACEKIT_LANE_BITS(or) TRACEKIT_LANE_BITS(xor)
TRACEKIT_LANE(prefix_inclusive_sum) TRACEKIT_LANE(prefix_exclusive_sum)
TRACEKIT_LANE(prefix_inclusive_product) TRACEKIT_LANE(prefix_exclusive_product)
TRACEKIT_LANE_BY(broadcast) TRACEKIT_LANE_BY(shuffle) TRACEKIT_LANE_BY(shuffle_xor)
TRACEKIT_LANE_BY(shuffle_up) TRACEKIT_LANE_BY(shuffle_down)
TRACEKIT_LANE_BY(shuffle_rotate_up) TRACEKIT_LANE_BY(shuffle_rotate_down)
template <class A>
inline A __metal_simd_shuffle_and_fill_up(A a, A filling, ushort by, ushort modulo, TRACEKIT_HERE) {
  return metal::simd_shuffle_and_fill_up(a, filling, by, modulo, site);
}
template <class A>
inline A __metal_simd_shuffle_and_fill_down(A a, A filling, ushort by, ushort modulo,
                                            TRACEKIT_HERE) {
  return metal::simd_shuffle_and_fill_down(a, filling, by, modulo, site);
}
inline ushort __metal_get_simdgroup_size(ushort) { return tracekit::LANES; }
inline ushort __metal_get_thread_index_in_simdgroup(ushort) { return ushort(tracekit::here->lane); }
}  // namespace metal

#undef TRACEKIT_1
#undef TRACEKIT_2
#undef TRACEKIT_3
#undef TRACEKIT_LANE
#undef TRACEKIT_LANE_BITS
#undef TRACEKIT_LANE_BY
