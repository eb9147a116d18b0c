// Vectors of two to four elements, with Metal's sizes: a vector of three takes as much as of four.
#pragma once
#include "types.hpp"

namespace metal {

template <class T, int N>
struct vec;

// What `.xzy` is rewritten to: `[metal::swizzle<0, 2, 1>]`.
template <int... I>
struct swizzle_t {};
template <int... I>
constexpr swizzle_t<I...> swizzle{};

template <class T, int N>
struct elements;
template <class T>
struct alignas(2 * sizeof(T)) elements<T, 2> {
  union { T data[2]; struct { T x, y; }; struct { T r, g; }; };
};
template <class T>
struct alignas(4 * sizeof(T)) elements<T, 3> {
  union { T data[3]; struct { T x, y, z; }; struct { T r, g, b; }; };
};
template <class T>
struct alignas(4 * sizeof(T)) elements<T, 4> {
  union { T data[4]; struct { T x, y, z, w; }; struct { T r, g, b, a; }; };
};

template <class T, int N, class = vec<T, N>>  // so that its operators are found
struct packed_vec;

template <class A>
constexpr int width = 1;
template <class T, int N>
constexpr int width<vec<T, N>> = N;
template <class T, int N>
constexpr int width<packed_vec<T, N>> = N;
template <class T, int N, int... I>
struct part;
template <class T, int N, int... I>
constexpr int width<part<T, N, I...>> = sizeof...(I);

// A part of a vector: its value, and a way back.
template <class T, int N, int... I>
struct part : vec<T, sizeof...(I)> {
  using value = vec<T, sizeof...(I)>;
  vec<T, N>& whole;
  constexpr part(vec<T, N>& from) : value(from.data[I]...), whole(from) {}
  constexpr part(const part&) = default;
  constexpr part& operator=(const value& from) {
    int at = 0;
    value::operator=(from);
    ((whole.data[I] = from.data[at++]), ...);
    return *this;
  }
  constexpr part& operator=(const part& from) { return *this = value(from); }
  constexpr part& operator+=(const value& by) { return *this = value(*this) + by; }
  constexpr part& operator-=(const value& by) { return *this = value(*this) - by; }
  constexpr part& operator*=(const value& by) { return *this = value(*this) * by; }
  constexpr part& operator/=(const value& by) { return *this = value(*this) / by; }
};

#define TRACEKIT_BINARY(op)                                                       \
  friend constexpr vec operator op(const vec& a, const vec& b) {                  \
    vec made;                                                                     \
    for (int i = 0; i < N; ++i) made.data[i] = T(a.data[i] op b.data[i]);         \
    return made;                                                                  \
  }                                                                               \
  constexpr vec& operator op##=(const vec& b) { return *this = *this op b; }
#define TRACEKIT_COMPARE(op)                                                      \
  friend constexpr vec<bool, N> operator op(const vec& a, const vec& b) {         \
    vec<bool, N> made;                                                            \
    for (int i = 0; i < N; ++i) made.data[i] = a.data[i] op b.data[i];            \
    return made;                                                                  \
  }
#define TRACEKIT_UNARY(op)                                                        \
  friend constexpr vec operator op(const vec& a) {                                \
    vec made;                                                                     \
    for (int i = 0; i < N; ++i) made.data[i] = T(op a.data[i]);                   \
    return made;                                                                  \
  }

template <class T, int N>
struct vec : elements<T, N> {
  using elements<T, N>::data;

  vec() = default;
  constexpr vec(T all) {
    for (int i = 0; i < N; ++i) data[i] = all;
  }
  template <class A>
  explicit constexpr vec(const vec<A, N>& from) {
    for (int i = 0; i < N; ++i) data[i] = T(from.data[i]);
  }
  template <class A>
  explicit constexpr vec(const packed_vec<A, N>& from) {
    for (int i = 0; i < N; ++i) data[i] = T(from.data[i]);
  }
  template <class... A>
    requires(sizeof...(A) > 1 && (width<remove_cv_t<A>> + ...) == N)
  constexpr vec(const A&... from) {
    int at = 0;
    (put(at, from), ...);
  }

  constexpr T& operator[](size_t i) { return data[i]; }
  constexpr const T& operator[](size_t i) const { return data[i]; }
  template <int... I>
  constexpr auto operator[](swizzle_t<I...>) const { return vec<T, sizeof...(I)>(data[I]...); }
  template <int... I>
  constexpr auto operator[](swizzle_t<I...>) { return part<T, N, I...>(*this); }
  template <int I>
  constexpr T operator[](swizzle_t<I>) const { return data[I]; }
  template <int I>
  constexpr T& operator[](swizzle_t<I>) { return data[I]; }

  TRACEKIT_BINARY(+) TRACEKIT_BINARY(-) TRACEKIT_BINARY(*) TRACEKIT_BINARY(/)
  TRACEKIT_BINARY(%) TRACEKIT_BINARY(&) TRACEKIT_BINARY(|) TRACEKIT_BINARY(^)
  TRACEKIT_BINARY(<<) TRACEKIT_BINARY(>>)
  TRACEKIT_COMPARE(==) TRACEKIT_COMPARE(!=) TRACEKIT_COMPARE(<) TRACEKIT_COMPARE(<=)
  TRACEKIT_COMPARE(>) TRACEKIT_COMPARE(>=) TRACEKIT_COMPARE(&&) TRACEKIT_COMPARE(||)
  TRACEKIT_UNARY(-) TRACEKIT_UNARY(~) TRACEKIT_UNARY(+)
  friend constexpr vec<bool, N> operator!(const vec& a) { return a == vec(T(0)); }

 private:
  template <class A>
  constexpr void put(int& at, const A& from) {
    if constexpr (width<A> == 1) {
      data[at++] = T(from);
    } else {
      for (int i = 0; i < width<A>; ++i) data[at++] = T(from.data[i]);
    }
  }
};

// Elements without gaps, as in an array; arithmetic makes an ordinary vector of it.
template <class T, int N>
struct packed_elements;
template <class T>
struct packed_elements<T, 2> {
  union { T data[2]; struct { T x, y; }; struct { T r, g; }; };
};
template <class T>
struct packed_elements<T, 3> {
  union { T data[3]; struct { T x, y, z; }; struct { T r, g, b; }; };
};
template <class T>
struct packed_elements<T, 4> {
  union { T data[4]; struct { T x, y, z, w; }; struct { T r, g, b, a; }; };
};

template <class T, int N, class V>
struct packed_vec : packed_elements<T, N> {
  using packed_elements<T, N>::data;
  packed_vec() = default;
  constexpr packed_vec(T all) : packed_vec(vec<T, N>(all)) {}
  template <class... A>
    requires(sizeof...(A) > 1 && (width<remove_cv_t<A>> + ...) == N)
  constexpr packed_vec(const A&... from) : packed_vec(vec<T, N>(from...)) {}
  constexpr packed_vec(const vec<T, N>& from) {
    for (int i = 0; i < N; ++i) data[i] = from.data[i];
  }
  constexpr operator vec<T, N>() const {
    vec<T, N> made;
    for (int i = 0; i < N; ++i) made.data[i] = data[i];
    return made;
  }
  constexpr T& operator[](size_t i) { return data[i]; }
  constexpr const T& operator[](size_t i) const { return data[i]; }
  template <int... I>
  constexpr auto operator[](swizzle_t<I...> tag) const { return vec<T, N>(*this)[tag]; }
  template <int I>
  constexpr T& operator[](swizzle_t<I>) { return data[I]; }
  constexpr packed_vec& operator+=(const V& by) { return *this = V(*this) + by; }
  constexpr packed_vec& operator-=(const V& by) { return *this = V(*this) - by; }
  constexpr packed_vec& operator*=(const V& by) { return *this = V(*this) * by; }
  constexpr packed_vec& operator/=(const V& by) { return *this = V(*this) / by; }
};

template <class T, size_t N>
struct array {
  T data_[N];
  constexpr T& operator[](size_t i) { return data_[i]; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr size_t size() const { return N; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + N; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + N; }
};

#undef TRACEKIT_BINARY
#undef TRACEKIT_COMPARE
#undef TRACEKIT_UNARY

#define TRACEKIT_VECTORS(T)                                                       \
  using T##2 = vec<T, 2>;                                                         \
  using T##3 = vec<T, 3>;                                                         \
  using T##4 = vec<T, 4>;                                                         \
  using packed_##T##2 = packed_vec<T, 2>;                                         \
  using packed_##T##3 = packed_vec<T, 3>;                                         \
  using packed_##T##4 = packed_vec<T, 4>;
TRACEKIT_VECTORS(float) TRACEKIT_VECTORS(half) TRACEKIT_VECTORS(bfloat)
TRACEKIT_VECTORS(int) TRACEKIT_VECTORS(uint) TRACEKIT_VECTORS(short) TRACEKIT_VECTORS(ushort)
TRACEKIT_VECTORS(char) TRACEKIT_VECTORS(uchar) TRACEKIT_VECTORS(long) TRACEKIT_VECTORS(ulong)
TRACEKIT_VECTORS(bool)
#undef TRACEKIT_VECTORS

}  // namespace metal
