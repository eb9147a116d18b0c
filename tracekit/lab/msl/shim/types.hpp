// The scalar types of Metal, and their limits.
#pragma once
#include <type_traits>

#include "interface.hpp"

#define METAL_FUNC inline
#define __METAL__ 1
#define __METAL_VERSION__ 310
#define __HAVE_BFLOAT__ 1

namespace metal {

using half = _Float16;
using float16_t = half;
using uint = unsigned int;
using ushort = unsigned short;
using uchar = unsigned char;
using ulong = unsigned long;

using std::conditional, std::conditional_t, std::enable_if, std::enable_if_t;
using std::integral_constant, std::is_convertible, std::is_convertible_v;
using std::is_same, std::is_same_v, std::is_signed_v, std::is_unsigned_v;
using std::bool_constant, std::true_type, std::false_type;
using std::make_signed_t, std::make_unsigned_t;
template <class... A> using _disjunction = std::disjunction<A...>;
template <class... A> using _conjunction = std::conjunction<A...>;
template <class T> using remove_addrspace_t = T;
using std::remove_const_t, std::remove_cv, std::remove_cv_t;
using std::remove_reference_t, std::remove_pointer_t;

// 16 bits of a float: rounded to nearest, ties to even; NaN stays NaN.
struct bfloat {
  uint16_t bits;

  bfloat() = default;
  template <class A>
    requires std::is_arithmetic_v<A> || is_same_v<A, half>
  constexpr bfloat(A from) : bits(rounded(static_cast<float>(from))) {}
  constexpr operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }

  static constexpr bfloat of_bits(uint16_t bits) {
    bfloat made;
    made.bits = bits;
    return made;
  }
  static constexpr uint16_t rounded(float from) {
    const uint32_t all = __builtin_bit_cast(uint32_t, from);
    if ((all & 0x7fffffffu) > 0x7f800000u) return uint16_t(all >> 16 | 0x40u);
    return uint16_t((all + 0x7fffu + (all >> 16 & 1u)) >> 16);
  }
};
using bfloat16_t = bfloat;

// Only for two bfloats: beside a float they are floats.
template <class A> concept Bfloat = is_same_v<A, bfloat>;
template <Bfloat A> constexpr A operator+(A a, A b) { return A(float(a) + float(b)); }
template <Bfloat A> constexpr A operator-(A a, A b) { return A(float(a) - float(b)); }
template <Bfloat A> constexpr A operator*(A a, A b) { return A(float(a) * float(b)); }
template <Bfloat A> constexpr A operator/(A a, A b) { return A(float(a) / float(b)); }
template <Bfloat A> constexpr A operator-(A a) { return A::of_bits(a.bits ^ 0x8000u); }
template <Bfloat A, class B> constexpr A& operator+=(A& a, B b) { return a = A(a + b); }
template <Bfloat A, class B> constexpr A& operator-=(A& a, B b) { return a = A(a - b); }
template <Bfloat A, class B> constexpr A& operator*=(A& a, B b) { return a = A(a * b); }
template <Bfloat A, class B> constexpr A& operator/=(A& a, B b) { return a = A(a / b); }

template <class T>
constexpr bool is_floating_point_v = is_same_v<remove_cv_t<T>, float> ||
    is_same_v<remove_cv_t<T>, half> || is_same_v<remove_cv_t<T>, bfloat>;
template <class T>
struct is_floating_point : bool_constant<is_floating_point_v<T>> {};
template <class T>
constexpr bool is_integral_v = std::is_integral_v<T>;
template <class T>
struct is_integral : bool_constant<is_integral_v<T>> {};

// A value that its thread knows to be every other's too.
template <class T>
using uniform = T;
template <class T>
constexpr T make_uniform(T value) { return value; }

// `0.5h`
constexpr half operator""h(long double value) { return half(value); }
constexpr half operator""h(unsigned long long value) { return half(value); }

template <class T>
struct numeric_limits;

template <class T, uint64_t LARGEST, uint64_t SMALLEST, uint64_t EPSILON, uint64_t INF,
          uint64_t NOT, int DIGITS>
struct float_limits {
  using bits = conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
  static constexpr bool is_signed = true, is_integer = false, has_infinity = true;
  static constexpr bool is_specialized = true;
  static constexpr int digits = DIGITS;
  static constexpr T of(uint64_t value) { return __builtin_bit_cast(T, bits(value)); }
  static constexpr T max() { return of(LARGEST); }
  static constexpr T lowest() { return of(LARGEST | bits(1) << (8 * sizeof(T) - 1)); }
  static constexpr T min() { return of(SMALLEST); }
  static constexpr T epsilon() { return of(EPSILON); }
  static constexpr T infinity() { return of(INF); }
  static constexpr T quiet_NaN() { return of(NOT); }
  static constexpr T signaling_NaN() { return of(NOT); }
};
template <>
struct numeric_limits<float> : float_limits<float, 0x7f7fffff, 0x00800000, 0x34000000, 0x7f800000,
                                            0x7fc00000, 24> {};
template <>
struct numeric_limits<half> : float_limits<half, 0x7bff, 0x0400, 0x1400, 0x7c00, 0x7e00, 11> {};
template <>
struct numeric_limits<bfloat> : float_limits<bfloat, 0x7f7f, 0x0080, 0x3c00, 0x7f80, 0x7fc0, 8> {};

template <class T>
  requires std::is_integral_v<T>
struct numeric_limits<T> {
  static constexpr bool is_signed = T(-1) < T(0), is_integer = true, has_infinity = false;
  static constexpr bool is_specialized = true;
  static constexpr int digits = 8 * sizeof(T) - is_signed;
  static constexpr T max() { return T(~0ull >> (64 - 8 * sizeof(T) + is_signed)); }
  static constexpr T min() { return T(-max() - (is_signed ? 1 : 0)) * T(is_signed); }
  static constexpr T lowest() { return min(); }
  static constexpr T infinity() { return 0; }
  static constexpr T epsilon() { return 0; }
};
template <>
struct numeric_limits<bool> {
  static constexpr bool is_signed = false, is_integer = true, has_infinity = false;
  static constexpr bool is_specialized = true;
  static constexpr int digits = 1;
  static constexpr bool max() { return true; }
  static constexpr bool min() { return false; }
  static constexpr bool lowest() { return false; }
};

}  // namespace metal
