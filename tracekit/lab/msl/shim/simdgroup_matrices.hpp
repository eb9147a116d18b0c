// Matrices of 8 x 8 that the 32 lanes of a simdgroup hold together, two elements of a row each.
//
// Which lane holds which elements Apple does not say; MLX's kernels depend on it
// (BaseMMAFrag::get_coord in steel/gemm/mma.h), and so it is taken from there.
#pragma once
#include "memory.hpp"
#include "simd.hpp"

namespace tracekit {

constexpr unsigned row_of(unsigned lane) { return (lane / 4 & 4) + lane / 2 % 4; }
constexpr unsigned column_of(unsigned lane) { return (lane / 4 & 2) * 2 + lane % 2 * 2; }
constexpr unsigned lane_of(unsigned row, unsigned column) {
  return (row & 4) * 4 + (column & 4) * 2 + row % 4 * 2 + column % 4 / 2;
}
static_assert([] {
  for (unsigned lane = 0; lane < LANES; ++lane) {
    if (lane_of(row_of(lane), column_of(lane)) != lane) return false;
  }
  return true;
}());

}  // namespace tracekit

namespace metal {

template <class T, int COLUMNS = 8, int ROWS = 8>
struct simdgroup_matrix {
  static_assert(COLUMNS == 8 && ROWS == 8, "a simdgroup matrix has 8 rows and 8 columns");
  vec<T, 2> own;  // of this lane

  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    const unsigned row = tracekit::row_of(tracekit::here->lane);
    const unsigned column = tracekit::column_of(tracekit::here->lane);
    own = {row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0)};
  }
  vec<T, 2>& thread_elements() { return own; }
  const vec<T, 2>& thread_elements() const { return own; }
};
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int COLUMNS, int ROWS = COLUMNS>
inline simdgroup_matrix<T, COLUMNS, ROWS> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, COLUMNS, ROWS> made;
  made.own = vec<T, 2>(value);
  return made;
}
template <class T, int COLUMNS, int ROWS = COLUMNS>
inline simdgroup_matrix<T, COLUMNS, ROWS> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, COLUMNS, ROWS>(value);
}

// Where one of this lane's two elements lies.
inline ptrdiff_t tracekit_place(unsigned element, size_t row_elements, const ulong2& origin,
                                bool transposed) {
  const size_t row = tracekit::row_of(tracekit::here->lane);
  const size_t column = tracekit::column_of(tracekit::here->lane) + element;
  const size_t y = origin.y + (transposed ? column : row);
  const size_t x = origin.x + (transposed ? row : column);
  return ptrdiff_t(y * row_elements + x);
}
template <class P>
inline decltype(auto) tracekit_at(const P& memory, ptrdiff_t at, const tracekit::Site& site) {
  if constexpr (std::is_pointer_v<P> || std::is_array_v<P>) {
    return (memory[at]);
  } else {
    return memory[tracekit::Index(at, site)];
  }
}

template <class T, class P>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& to, const P& from, size_t row_elements = 8,
                           ulong2 origin = ulong2(0), bool transposed = false, TRACEKIT_HERE) {
  tracekit::meet(tracekit::State::at_simd, "simdgroup_load", site);
  for (unsigned i = 0; i < 2; ++i) {
    to.own[i] = T(tracekit_at(from, tracekit_place(i, row_elements, origin, transposed), site));
  }
}
template <class T, class P>
inline void simdgroup_store(const simdgroup_matrix<T, 8, 8>& from, const P& to,
                            size_t row_elements = 8, ulong2 origin = ulong2(0),
                            bool transposed = false, TRACEKIT_HERE) {
  tracekit::meet(tracekit::State::at_simd, "simdgroup_store", site);
  for (unsigned i = 0; i < 2; ++i) {
    tracekit_at(to, tracekit_place(i, row_elements, origin, transposed), site) = from.own[i];
  }
}

// d = a b + c: products and sums in float, rounded once.
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(
    simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
    const simdgroup_matrix<B, 8, 8>& b, const simdgroup_matrix<C, 8, 8>& c, TRACEKIT_HERE) {
  struct Given { A a[2]; B b[2]; };
  const auto lanes = tracekit::exchange(Given{{a.own[0], a.own[1]}, {b.own[0], b.own[1]}},
                                        "simdgroup_multiply_accumulate", site);
  const unsigned row = tracekit::row_of(tracekit::here->lane);
  const unsigned column = tracekit::column_of(tracekit::here->lane);
  float sums[2] = {float(c.own[0]), float(c.own[1])};
  for (unsigned k = 0; k < 8; ++k) {
    const float left = float(lanes[tracekit::lane_of(row, k)].a[k % 2]);
    const Given right = lanes[tracekit::lane_of(k, column)];
    for (unsigned i = 0; i < 2; ++i) sums[i] += left * float(right.b[i]);
  }
  d.own = {D(sums[0]), D(sums[1])};
}
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                               const simdgroup_matrix<B, 8, 8>& b, TRACEKIT_HERE) {
  const simdgroup_matrix<float, 8, 8> none = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_multiply_accumulate(d, a, b, none, site);
}
template <class A, class B>
inline simdgroup_matrix<A, 8, 8> operator*(const simdgroup_matrix<A, 8, 8>& a,
                                           const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_matrix<A, 8, 8> made;
  simdgroup_multiply(made, a, b);
  return made;
}

}  // namespace metal
