// Atomics on device and threadgroup memory. Every order is sequentially consistent here.
#pragma once
#include "matrices.hpp"
#include "memory.hpp"
#include "simd.hpp"
#include "simdgroup_matrices.hpp"

namespace metal {

enum memory_order { memory_order_relaxed, memory_order_seq_cst };

template <class T>
struct atomic {
  using value_type = T;
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_ulong = atomic<ulong>;
using atomic_float = atomic<float>;
using atomic_bool = atomic<bool>;

template <class T>
inline T* tracekit_atomic(atomic<T>* from, tracekit::Access, const tracekit::Site&) {
  return &from->value;
}
template <class A>
inline auto* tracekit_atomic(const tracekit::pointer<A>& from, tracekit::Access access,
                             const tracekit::Site& site) {
  tracekit::check(from.buffer, from.at, sizeof(A), tracekit::Access::load, site);
  if (access == tracekit::Access::store) {
    tracekit::check(from.buffer, from.at, sizeof(A), access, site);
  }
  return &from.at->value;
}

// Replaces a value by one that is made of it; gives the value before.
template <class P, class Change>
inline auto tracekit_change(const P& at, const tracekit::Site& site, Change change) {
  auto* place = tracekit_atomic(at, tracekit::Access::store, site);
  auto before = *place;
  __atomic_load(place, &before, __ATOMIC_SEQ_CST);
  auto after = change(before);
  while (!__atomic_compare_exchange(place, &before, &after, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
    after = change(before);
  }
  return before;
}

#define TRACEKIT_ATOMIC(name, formula)                                            \
  template <class P, class V>                                                     \
  inline auto atomic_##name##_explicit(const P& at, V by, memory_order,           \
                                       tracekit::Site site = tracekit::Site::current()) { \
    return tracekit_change(at, site, [by](auto a) {                               \
      const decltype(a) b = by;                                                   \
      return decltype(a)(formula);                                                \
    });                                                                           \
  }
TRACEKIT_ATOMIC(fetch_add, a + b)
TRACEKIT_ATOMIC(fetch_sub, a - b)
TRACEKIT_ATOMIC(fetch_max, a < b ? b : a)
TRACEKIT_ATOMIC(fetch_min, b < a ? b : a)
TRACEKIT_ATOMIC(fetch_and, a & b)
TRACEKIT_ATOMIC(fetch_or, a | b)
TRACEKIT_ATOMIC(fetch_xor, a ^ b)
TRACEKIT_ATOMIC(exchange, ((void)a, b))
#undef TRACEKIT_ATOMIC

template <class P>
inline auto atomic_load_explicit(const P& at, memory_order,
                                 tracekit::Site site = tracekit::Site::current()) {
  auto* place = tracekit_atomic(at, tracekit::Access::load, site);
  auto value = *place;
  __atomic_load(place, &value, __ATOMIC_SEQ_CST);
  return value;
}
template <class P, class V>
inline void atomic_store_explicit(const P& at, V value, memory_order order,
                                  tracekit::Site site = tracekit::Site::current()) {
  atomic_exchange_explicit(at, value, order, site);
}
template <class P, class E, class V>
inline bool atomic_compare_exchange_weak_explicit(
    const P& at, E* expected, V wanted, memory_order, memory_order,
    tracekit::Site site = tracekit::Site::current()) {
  auto* place = tracekit_atomic(at, tracekit::Access::store, site);
  auto after = *place;
  after = wanted;
  return __atomic_compare_exchange(place, expected, &after, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST);
}
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup,
                    thread_scope_device };
inline void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

}  // namespace metal
