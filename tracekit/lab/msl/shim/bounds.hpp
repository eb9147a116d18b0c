// Where a buffer begins and ends, and which of its bytes were touched.
#pragma once
#include "integers.hpp"

namespace tracekit {

constexpr int NO_BUFFER = -1;  // memory of the kernel itself: not checked, not counted
constexpr int NOTHING = -2;    // a null pointer

struct Index {
  ptrdiff_t number;
  Site site;
  template <class I>
    requires std::is_convertible_v<I, ptrdiff_t>
  Index(I number, Site site = Site::current()) : number(ptrdiff_t(number)), site(site) {}
};

inline void touch(uint64_t* bits, size_t first, size_t bytes) {
  while (bytes > 0) {
    const size_t in_word = first % 64, count = bytes < 64 - in_word ? bytes : 64 - in_word;
    const uint64_t mask = (count == 64 ? ~0ull : (1ull << count) - 1) << in_word;
    uint64_t* word = bits + first / 64;
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != mask) {
      __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
    }
    first += count;
    bytes -= count;
  }
}

enum class Access { load, store, reference };

inline void check(int buffer, const void* address, size_t bytes, Access access, const Site& site) {
  if (buffer == NO_BUFFER) return;
  const char* at = static_cast<const char*>(address);
  if (buffer == NOTHING) fail_access(site, buffer, at, bytes);
  const Buffer& bound = group->buffers[buffer];
  const size_t offset = size_t(at - bound.start);
  if (offset > bound.size || bytes > bound.size - offset) fail_access(site, buffer, at, bytes);
  Traffic& traffic = group->traffic[buffer];
  if (access == Access::load) traffic.loaded += bytes;
  if (access == Access::store) traffic.stored += bytes;
  touch(bound.touched, offset, bytes);
}

// The buffer that an address lies in: that of a field of a struct, say.
inline int buffer_of(const void* address) {
  const char* at = static_cast<const char*>(address);
  if (at == nullptr) return NOTHING;
  if (group == nullptr) return NO_BUFFER;  // before a launch
  for (unsigned i = 0; i < group->buffer_count; ++i) {
    const Buffer& one = group->buffers[i];
    if (one.start != nullptr && at >= one.start && at < one.start + one.size) return int(i);
  }
  return NO_BUFFER;
}

}  // namespace tracekit
