// All that a kernel's text may use, with what MLX puts before the text of every custom kernel.
#pragma once
#include "arguments.hpp"
#include "intrinsics.hpp"

// In a namespace of its own: a text that brings MLX's own header files has these itself.
namespace mlx_prelude {
using namespace metal;

template <class T>
struct Limits {
  static constexpr bool is_float = is_floating_point_v<T>;
  static constexpr T max = is_float ? numeric_limits<T>::infinity() : numeric_limits<T>::max();
  static constexpr T min = is_float ? T(-numeric_limits<T>::infinity()) : numeric_limits<T>::min();
  static constexpr T finite_max = numeric_limits<T>::max();
  static constexpr T finite_min = numeric_limits<T>::lowest();
};

// Where an element of a strided array lies; `elem` counts in row-major order.
template <class At = int64_t, class Shape, class Strides>
inline At elem_to_loc(At elem, Shape shape, Strides strides, int ndim) {
  At at = 0;
  for (int axis = ndim - 1; axis >= 0 && elem > 0; --axis) {
    const At extent = At(shape[axis]);
    at += At(elem % extent) * At(strides[axis]);
    elem /= extent;
  }
  return at;
}
template <class At = int64_t, class Shape, class Strides>
inline At elem_to_loc(uint3 elem, Shape shape, Strides strides, int ndim) {
  At at = At(elem.x) * At(strides[ndim - 1]) + At(elem.y) * At(strides[ndim - 2]);
  for (int axis = ndim - 3; axis >= 0; --axis) {
    at += At(elem.z % uint(shape[axis])) * At(strides[axis]);
    elem.z /= uint(shape[axis]);
  }
  return at;
}

template <class N, class D>
inline N ceildiv(N n, D d) { return (n + d - 1) / d; }

inline float log1p(float a) { return __builtin_log1pf(a); }
inline half log1p(half a) { return half(log1p(float(a))); }
inline bfloat log1p(bfloat a) { return bfloat(log1p(float(a))); }

}  // namespace mlx_prelude
