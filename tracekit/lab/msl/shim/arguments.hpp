// How a kernel is called: its buffers, and what Metal tells each thread about its place.
#pragma once
#include "atomics.hpp"

namespace tracekit {

template <class... A>
struct Types {};
template <class... A>
Types<A...> types_of(void (*)(A...));

template <unsigned I, class List>
struct type_at;
template <class First, class... Rest>
struct type_at<0, Types<First, Rest...>> { using type = First; };
template <unsigned I, class First, class... Rest>
struct type_at<I, Types<First, Rest...>> : type_at<I - 1, Types<Rest...>> {};
template <unsigned I, class List>
using type_at_t = typename type_at<I, List>::type;

// What a parameter points or refers to.
template <class A> struct pointee { using type = A; };
template <class T> struct pointee<T*> { using type = T; };
template <class T> struct pointee<T&> { using type = T; };
template <class T> struct pointee<pointer<T>> { using type = T; };

template <class A>
constexpr char kind_of = std::is_same_v<A, bool> ? '?' : std::is_same_v<A, metal::bfloat> ? 'b'
    : metal::is_floating_point_v<A> ? 'f' : !std::is_integral_v<A> ? 's'
    : std::is_signed_v<A> ? 'i' : 'u';

template <class T>
struct described { static constexpr Parameter as{kind_of<T>, sizeof(T), sizeof(T)}; };
template <class T, int N>
struct described<metal::vec<T, N>> {
  static constexpr Parameter as{kind_of<T>, sizeof(T), sizeof(metal::vec<T, N>)};
};
template <class T, int N>
struct described<metal::packed_vec<T, N>> {
  static constexpr Parameter as{kind_of<T>, sizeof(T), sizeof(metal::packed_vec<T, N>)};
};
template <class T>
struct described<metal::atomic<T>> : described<T> {};
template <>
struct described<void> { static constexpr Parameter as{'s', 1, 1}; };

template <class A>
constexpr Parameter description = described<std::remove_cv_t<typename pointee<A>::type>>::as;

template <class A>
inline A argument(unsigned buffer) {
  using T = typename pointee<A>::type;
  T* start = reinterpret_cast<T*>(group->buffers[buffer].start);
  if constexpr (std::is_pointer_v<A>) {
    return start;
  } else if constexpr (std::is_reference_v<A>) {
    return *start;
  } else {
    return start == nullptr ? A() : A(start, int(buffer));
  }
}

template <class A>
inline A threadgroup_parameter(unsigned index) {
  return A(static_cast<typename pointee<A>::type*>(threadgroup_argument(index)));
}

// Memory that the threads of a group share.
template <class T>
inline T& shared(unsigned declaration) {
  return *static_cast<T*>(threadgroup_memory(declaration, sizeof(T)));
}

// Three numbers, or as many of them as the parameter has.
template <class A>
inline A place(unsigned x, unsigned y, unsigned z) {
  using Plain = std::remove_cv_t<A>;
  if constexpr (metal::width<Plain> == 1) {
    return Plain(x);
  } else if constexpr (metal::width<Plain> == 2) {
    return Plain(x, y);
  } else {
    return Plain(x, y, z);
  }
}
template <class A>
inline A place(const unsigned (&at)[3]) { return place<A>(at[0], at[1], at[2]); }

#define TRACEKIT_ATTRIBUTE(name, ...)                                             \
  template <class A>                                                              \
  inline A at_##name() { return place<A>(__VA_ARGS__); }
TRACEKIT_ATTRIBUTE(thread_position_in_threadgroup, here->position)
TRACEKIT_ATTRIBUTE(threadgroup_position_in_grid, group->position)
TRACEKIT_ATTRIBUTE(threadgroups_per_grid, group->count)
TRACEKIT_ATTRIBUTE(threads_per_threadgroup, group->size)
TRACEKIT_ATTRIBUTE(dispatch_threads_per_threadgroup, group->dispatched)
TRACEKIT_ATTRIBUTE(threads_per_grid, group->grid)
TRACEKIT_ATTRIBUTE(thread_position_in_grid,
                   group->position[0] * group->dispatched[0] + here->position[0],
                   group->position[1] * group->dispatched[1] + here->position[1],
                   group->position[2] * group->dispatched[2] + here->position[2])
TRACEKIT_ATTRIBUTE(grid_origin, 0, 0, 0)
TRACEKIT_ATTRIBUTE(grid_size, group->grid)
TRACEKIT_ATTRIBUTE(thread_index_in_threadgroup, here->index, 0, 0)
TRACEKIT_ATTRIBUTE(thread_index_in_simdgroup, here->lane, 0, 0)
TRACEKIT_ATTRIBUTE(thread_index_in_quadgroup, here->lane % 4, 0, 0)
TRACEKIT_ATTRIBUTE(simdgroup_index_in_threadgroup, here->index / LANES, 0, 0)
TRACEKIT_ATTRIBUTE(quadgroup_index_in_threadgroup, here->index / 4, 0, 0)
TRACEKIT_ATTRIBUTE(simdgroups_per_threadgroup, (group->threads + LANES - 1) / LANES, 0, 0)
TRACEKIT_ATTRIBUTE(quadgroups_per_threadgroup, (group->threads + 3) / 4, 0, 0)
TRACEKIT_ATTRIBUTE(dispatch_simdgroups_per_threadgroup,
                   (group->dispatched[0] * group->dispatched[1] * group->dispatched[2] + LANES - 1) / LANES,
                   0, 0)
TRACEKIT_ATTRIBUTE(threads_per_simdgroup, LANES, 0, 0)
TRACEKIT_ATTRIBUTE(thread_execution_width, LANES, 0, 0)
#undef TRACEKIT_ATTRIBUTE

}  // namespace tracekit
