// Where threads meet: barriers, and what the lanes of a simdgroup tell each other.
#pragma once
#include "integers.hpp"

namespace tracekit {

// What the lanes gave to one operation; a lane that took no part holds bytes 0xff: NaN.
template <class T>
struct Lanes {
  const Simdgroup& from;
  T operator[](unsigned lane) const {
    T value;
    __builtin_memcpy(&value, from.values[lane % LANES], sizeof(T));
    return value;
  }
  bool took_part(unsigned lane) const { return lane < LANES && (from.participants >> lane & 1); }
};

template <class T>
inline Lanes<T> exchange(const T& value, const char* operation, const Site& site) {
  static_assert(sizeof(T) <= WIDEST_VALUE, "a lane can give at most 32 bytes");
  __builtin_memcpy(here->value, &value, sizeof(T));
  meet(State::at_simd, operation, site);
  return {*here->simdgroup};
}

// Combines in the order of a tree, 16, 8, 4, 2, 1 apart; once for all lanes.
template <class T, class Combine>
inline T reduce(const T& value, const char* operation, const Site& site, Combine combine) {
  const Lanes<T> lanes = exchange(value, operation, site);
  Simdgroup& simdgroup = *here->simdgroup;
  T result;
  if (!simdgroup.is_reduced) {
    T values[LANES];
    unsigned there = simdgroup.participants;
    for (unsigned lane = 0; lane < LANES; ++lane) values[lane] = lanes[lane];
    for (unsigned step = LANES / 2; step > 0; step /= 2) {
      for (unsigned lane = 0; lane < step; ++lane) {
        const bool has_other = there >> (lane + step) & 1;
        if (!has_other) continue;
        const bool has_own = there >> lane & 1;
        values[lane] = has_own ? combine(values[lane], values[lane + step]) : values[lane + step];
        there |= 1u << lane;
      }
    }
    __builtin_memcpy(simdgroup.reduced, &values[0], sizeof(T));
    simdgroup.is_reduced = true;
  }
  __builtin_memcpy(&result, simdgroup.reduced, sizeof(T));
  return result;
}

// Combines the values of the lanes first ... last that took part, one after the other.
template <class T, class Combine>
inline T fold(const Lanes<T>& lanes, unsigned first, unsigned last, T start, Combine combine) {
  for (unsigned lane = first; lane <= last; ++lane) {
    if (lanes.took_part(lane)) start = combine(start, lanes[lane]);
  }
  return start;
}

}  // namespace tracekit

namespace metal {

enum class mem_flags {
  mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4,
  mem_threadgroup_imageblock = 8, mem_object_data = 16
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }

#define TRACEKIT_HERE tracekit::Site site = tracekit::Site::current()

inline void threadgroup_barrier(mem_flags, TRACEKIT_HERE) {
  tracekit::meet(tracekit::State::at_barrier, "threadgroup_barrier", site);
}
inline void simdgroup_barrier(mem_flags, TRACEKIT_HERE) {
  tracekit::meet(tracekit::State::at_simd, "simdgroup_barrier", site);
}

#define TRACEKIT_REDUCTION(name, formula)                                         \
  template <class T>                                                              \
  inline T simd_##name(T value, TRACEKIT_HERE) {                                  \
    return tracekit::reduce(value, "simd_" #name, site,                           \
                            [](T a, T b) -> T { return T(formula); });            \
  }                                                                               \
  template <class T>                                                              \
  inline T quad_##name(T value, TRACEKIT_HERE) {                                  \
    const auto lanes = tracekit::exchange(value, "quad_" #name, site);            \
    const unsigned lane = tracekit::here->lane, first = lane & ~3u;               \
    unsigned start = first;                                                       \
    while (!lanes.took_part(start)) ++start;                                      \
    return tracekit::fold(lanes, start + 1, first + 3, lanes[start],              \
                          [](T a, T b) -> T { return T(formula); });              \
  }
TRACEKIT_REDUCTION(sum, a + b)
TRACEKIT_REDUCTION(product, a * b)
TRACEKIT_REDUCTION(max, max(a, b))
TRACEKIT_REDUCTION(min, min(a, b))
TRACEKIT_REDUCTION(and, a & b)
TRACEKIT_REDUCTION(or, a | b)
TRACEKIT_REDUCTION(xor, a ^ b)
#undef TRACEKIT_REDUCTION

#define TRACEKIT_PREFIX(group, size, name, unit, formula)                         \
  template <class T>                                                              \
  inline T group##_prefix_inclusive_##name(T value, TRACEKIT_HERE) {              \
    const auto lanes = tracekit::exchange(value, #group "_prefix_inclusive_" #name, site); \
    const unsigned lane = tracekit::here->lane;                                   \
    return tracekit::fold(lanes, lane & ~(size - 1u), lane, T(unit),              \
                          [](T a, T b) -> T { return T(formula); });              \
  }                                                                               \
  template <class T>                                                              \
  inline T group##_prefix_exclusive_##name(T value, TRACEKIT_HERE) {              \
    const auto lanes = tracekit::exchange(value, #group "_prefix_exclusive_" #name, site); \
    const unsigned lane = tracekit::here->lane;                                   \
    return lane % size == 0                                                       \
        ? T(unit)                                                                 \
        : tracekit::fold(lanes, lane & ~(size - 1u), lane - 1, T(unit),           \
                         [](T a, T b) -> T { return T(formula); });               \
  }
TRACEKIT_PREFIX(simd, 32u, sum, 0, a + b)
TRACEKIT_PREFIX(simd, 32u, product, 1, a * b)
TRACEKIT_PREFIX(quad, 4u, sum, 0, a + b)
TRACEKIT_PREFIX(quad, 4u, product, 1, a * b)
#undef TRACEKIT_PREFIX

// Reads the value of another lane; of `size` neighbours, those of a quad or of a simdgroup.
// What is outside gives the own value back, or that of `filling`.
#define TRACEKIT_SHUFFLES(prefix, size)                                           \
  template <class T>                                                              \
  inline T prefix##_shuffle(T value, ushort lane, TRACEKIT_HERE) {                \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle", site);       \
    return lanes[(tracekit::here->lane & ~(size - 1u)) + lane % size];            \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_xor(T value, ushort mask, TRACEKIT_HERE) {            \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_xor", site);   \
    const unsigned lane = tracekit::here->lane;                                   \
    return lanes[(lane & ~(size - 1u)) + ((lane ^ mask) & (size - 1u))];          \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_down(T value, ushort by, TRACEKIT_HERE) {             \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_down", site);  \
    const unsigned lane = tracekit::here->lane;                                   \
    return lane % size + by < size ? lanes[lane + by] : value;                    \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_up(T value, ushort by, TRACEKIT_HERE) {               \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_up", site);    \
    const unsigned lane = tracekit::here->lane;                                   \
    return lane % size >= by ? lanes[lane - by] : value;                          \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_and_fill_down(T value, T filling, ushort by, \
                ushort modulo = size, TRACEKIT_HERE) {      \
    const auto filled = tracekit::exchange(filling, #prefix "_shuffle_and_fill_down", site); \
    const unsigned lane = tracekit::here->lane;                                   \
    const T behind = filled[lane + by - modulo];                                    \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_and_fill_down", site); \
    return lane % modulo + by < modulo ? lanes[lane + by] : behind;                   \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_and_fill_up(T value, T filling, ushort by, \
                ushort modulo = size, TRACEKIT_HERE) {      \
    const auto filled = tracekit::exchange(filling, #prefix "_shuffle_and_fill_up", site); \
    const unsigned lane = tracekit::here->lane;                                   \
    const T before = filled[lane + modulo - by];                                    \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_and_fill_up", site); \
    return lane % modulo >= by ? lanes[lane - by] : before;                         \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_rotate_down(T value, ushort by, TRACEKIT_HERE) {      \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_rotate_down", site); \
    const unsigned lane = tracekit::here->lane;                                   \
    return lanes[(lane & ~(size - 1u)) + (lane + by) % size];                     \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_shuffle_rotate_up(T value, ushort by, TRACEKIT_HERE) {        \
    const auto lanes = tracekit::exchange(value, #prefix "_shuffle_rotate_up", site); \
    const unsigned lane = tracekit::here->lane;                                   \
    return lanes[(lane & ~(size - 1u)) + (lane + size - by % size) % size];       \
  }                                                                               \
  template <class T>                                                              \
  inline T prefix##_broadcast(T value, ushort lane, TRACEKIT_HERE) {              \
    const auto lanes = tracekit::exchange(value, #prefix "_broadcast", site);     \
    return lanes[(tracekit::here->lane & ~(size - 1u)) + lane % size];            \
  }
TRACEKIT_SHUFFLES(simd, 32u)
TRACEKIT_SHUFFLES(quad, 4u)
#undef TRACEKIT_SHUFFLES

// A bit for each lane.
struct simd_vote {
  using vote_t = uint64_t;
  vote_t votes;
  vote_t there;
  explicit constexpr simd_vote(vote_t votes = 0, vote_t there = 0xffffffffu)
      : votes(votes), there(there) {}
  constexpr explicit operator vote_t() const { return votes; }
  constexpr bool all() const { return (votes & there) == there; }
  constexpr bool any() const { return (votes & there) != 0; }
};

using quad_vote = simd_vote;

inline simd_vote tracekit_vote(bool yes, unsigned size, const char* operation,
                               const tracekit::Site& site) {
  const auto lanes = tracekit::exchange(yes, operation, site);
  const unsigned first = tracekit::here->lane & ~(size - 1);
  uint64_t votes = 0, there = 0;
  for (unsigned lane = 0; lane < size; ++lane) {
    there |= uint64_t(lanes.took_part(first + lane)) << lane;
    votes |= uint64_t(lanes.took_part(first + lane) && lanes[first + lane]) << lane;
  }
  return simd_vote(votes, there);
}

#define TRACEKIT_VOTES(group, size)                                               \
  inline group##_vote group##_ballot(bool yes, TRACEKIT_HERE) {                   \
    return tracekit_vote(yes, size, #group "_ballot", site);                      \
  }                                                                               \
  inline bool group##_all(bool yes, TRACEKIT_HERE) {                              \
    return tracekit_vote(yes, size, #group "_all", site).all();                   \
  }                                                                               \
  inline bool group##_any(bool yes, TRACEKIT_HERE) {                              \
    return tracekit_vote(yes, size, #group "_any", site).any();                   \
  }                                                                               \
  inline group##_vote group##_active_threads_mask(TRACEKIT_HERE) {                \
    return tracekit_vote(true, size, #group "_active_threads_mask", site);        \
  }                                                                               \
  inline bool group##_is_first(TRACEKIT_HERE) {                                   \
    const auto there = tracekit_vote(true, size, #group "_is_first", site);       \
    return unsigned(__builtin_ctzll(there.votes)) == tracekit::here->lane % size; \
  }                                                                               \
  template <class T>                                                              \
  inline T group##_broadcast_first(T value, TRACEKIT_HERE) {                      \
    const auto lanes = tracekit::exchange(value, #group "_broadcast_first", site); \
    unsigned first = tracekit::here->lane & ~(size - 1u);                         \
    while (!lanes.took_part(first)) ++first;                                      \
    return lanes[first];                                                          \
  }
TRACEKIT_VOTES(simd, 32u)
TRACEKIT_VOTES(quad, 4u)
#undef TRACEKIT_VOTES

}  // namespace metal
