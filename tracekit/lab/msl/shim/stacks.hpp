// Stacks for the threads of a threadgroup, each with room below it that nobody may touch.
#pragma once
#include <sys/mman.h>

#include <mutex>
#include <vector>

#include "interface.hpp"

namespace tracekit {

constexpr size_t STACK = 64 * 1024;
constexpr size_t GUARD = 256 * 1024;  // pages that are never there; a private array may jump far

class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;

  // Makes sure of `count` stacks; false where the system has no room for them.
  bool grow(unsigned count) {
    while (lowest_.size() < count) {
      constexpr unsigned batch = 32;
      void* start = mmap(nullptr, batch * (GUARD + STACK), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
      if (start == MAP_FAILED) return false;
      for (unsigned i = 0; i < batch; ++i) {
        char* lowest = static_cast<char*>(start) + i * (GUARD + STACK);
        if (mprotect(lowest, GUARD, PROT_NONE) != 0) return false;
        lowest_.push_back(lowest + GUARD);
      }
    }
    return true;
  }
  char* top(unsigned index) const { return lowest_[index] + STACK; }
  bool is_below(unsigned index, const void* address) const {
    const char* at = static_cast<const char*>(address);
    return at < lowest_[index] && at >= lowest_[index] - GUARD;
  }

 private:
  std::vector<char*> lowest_;
};

// Stacks are kept between launches: mapping a thousand takes longer than running a small kernel.
class StackPool {
 public:
  Stacks* take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return new Stacks;
    Stacks* taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give_back(Stacks* stacks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(stacks);
  }

 private:
  std::mutex mutex_;
  std::vector<Stacks*> free_;
};

// One for all libraries of the process: a system allows so many mappings and no more.
inline StackPool*& stack_pool() {
  static StackPool* pool = new StackPool;  // outlives every thread that may still use it
  return pool;
}

// The threadgroup memory of a worker, with room around it that nobody may touch: a pointer into it
// is not checked, and one that has left it must not reach other memory of the process.
struct Arena {
  static constexpr size_t ROOM = 4 * 1024 * 1024;
  char* start = nullptr;

  Arena() {
    void* room = mmap(nullptr, 2 * ROOM + MOST_THREADGROUP_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return;
    char* middle = static_cast<char*>(room) + ROOM;
    if (mprotect(middle, MOST_THREADGROUP_BYTES, PROT_READ | PROT_WRITE) == 0) start = middle;
  }
  Arena(const Arena&) = delete;
  ~Arena() {
    if (start != nullptr) munmap(start - ROOM, 2 * ROOM + MOST_THREADGROUP_BYTES);
  }

  // Returns whether an address is near the memory, and not in it.
  bool is_around(const void* address) const {
    const char* at = static_cast<const char*>(address);
    return start != nullptr && at >= start - ROOM && at < start + MOST_THREADGROUP_BYTES + ROOM;
  }
};

}  // namespace tracekit
