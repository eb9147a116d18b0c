// Small matrices of one thread: columns of vectors, as in Metal.
#pragma once
#include "integers.hpp"

namespace metal {

template <class T, int COLUMNS, int ROWS>
struct matrix {
  vec<T, ROWS> columns[COLUMNS];

  matrix() = default;
  explicit constexpr matrix(T diagonal) {
    for (int c = 0; c < COLUMNS; ++c) {
      for (int r = 0; r < ROWS; ++r) columns[c][r] = c == r ? diagonal : T(0);
    }
  }
  template <class A>
  explicit constexpr matrix(const matrix<A, COLUMNS, ROWS>& from) {
    for (int c = 0; c < COLUMNS; ++c) columns[c] = vec<T, ROWS>(from.columns[c]);
  }
  // All columns, or all elements column by column.
  template <class... A>
    requires(sizeof...(A) == COLUMNS && ((width<remove_cv_t<A>> == ROWS) && ...))
  constexpr matrix(const A&... from) : columns{vec<T, ROWS>(from)...} {}
  template <class... A>
    requires(sizeof...(A) == COLUMNS * ROWS && ((width<remove_cv_t<A>> == 1) && ...))
  constexpr matrix(const A&... from) {
    const T all[] = {T(from)...};
    for (int i = 0; i < COLUMNS * ROWS; ++i) columns[i / ROWS][i % ROWS] = all[i];
  }
  constexpr vec<T, ROWS>& operator[](size_t c) { return columns[c]; }
  constexpr const vec<T, ROWS>& operator[](size_t c) const { return columns[c]; }

  constexpr matrix operator-() const { return *this * T(-1); }
  friend constexpr matrix operator+(matrix a, const matrix& b) { return a += b; }
  friend constexpr matrix operator-(matrix a, const matrix& b) { return a -= b; }
  friend constexpr matrix operator*(matrix a, T by) { return a *= by; }
  friend constexpr matrix operator*(T by, matrix a) { return a *= by; }
  friend constexpr bool operator==(const matrix& a, const matrix& b) {
    for (int c = 0; c < COLUMNS; ++c) {
      if (!all(a.columns[c] == b.columns[c])) return false;
    }
    return true;
  }
  constexpr matrix& operator+=(const matrix& by) {
    for (int c = 0; c < COLUMNS; ++c) columns[c] += by.columns[c];
    return *this;
  }
  constexpr matrix& operator-=(const matrix& by) {
    for (int c = 0; c < COLUMNS; ++c) columns[c] -= by.columns[c];
    return *this;
  }
  constexpr matrix& operator*=(T by) {
    for (auto& column : columns) column *= vec<T, ROWS>(by);
    return *this;
  }
};

template <class T, int C, int R>
constexpr vec<T, R> operator*(const matrix<T, C, R>& a, const vec<T, C>& by) {
  vec<T, R> made = a[0] * vec<T, R>(by[0]);
  for (int c = 1; c < C; ++c) made += a[c] * vec<T, R>(by[c]);
  return made;
}
template <class T, int C, int R>
constexpr vec<T, C> operator*(const vec<T, R>& by, const matrix<T, C, R>& a) {
  vec<T, C> made;
  for (int c = 0; c < C; ++c) made[c] = dot(by, a[c]);
  return made;
}
template <class T, int C, int R, int K>
constexpr matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b) {
  matrix<T, C, R> made;
  for (int c = 0; c < C; ++c) made[c] = a * b[c];
  return made;
}
template <class T, int C, int R>
constexpr matrix<T, R, C> transpose(const matrix<T, C, R>& a) {
  matrix<T, R, C> made;
  for (int c = 0; c < C; ++c) {
    for (int r = 0; r < R; ++r) made[r][c] = a[c][r];
  }
  return made;
}
template <class T>
constexpr T determinant(const matrix<T, 2, 2>& a) { return a[0][0] * a[1][1] - a[1][0] * a[0][1]; }
template <class T>
constexpr T determinant(const matrix<T, 3, 3>& a) { return dot(a[0], cross(a[1], a[2])); }
template <class T>
constexpr T determinant(const matrix<T, 4, 4>& a) {
  T sum = 0;
  for (int left = 0; left < 4; ++left) {
    matrix<T, 3, 3> rest;
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < 3; ++r) rest[c][r] = a[c + (c >= left)][r + 1];
    }
    sum += (left % 2 ? -a[left][0] : a[left][0]) * determinant(rest);
  }
  return sum;
}

#define TRACEKIT_MATRICES(T, columns)                                             \
  using T##columns##x2 = matrix<T, columns, 2>;                                   \
  using T##columns##x3 = matrix<T, columns, 3>;                                   \
  using T##columns##x4 = matrix<T, columns, 4>;
TRACEKIT_MATRICES(float, 2) TRACEKIT_MATRICES(float, 3) TRACEKIT_MATRICES(float, 4)
TRACEKIT_MATRICES(half, 2) TRACEKIT_MATRICES(half, 3) TRACEKIT_MATRICES(half, 4)
#undef TRACEKIT_MATRICES

}  // namespace metal
