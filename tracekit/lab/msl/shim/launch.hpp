// One launch: what the caller asks for, what it learns, and what its workers share.
#pragma once
#include <atomic>
#include <mutex>
#include <string>

#include "interface.hpp"

namespace tracekit {

enum class Order : int { ascending, descending, random };

// As ctypes lays it out: see tracekit/lab/msl/program.py.
struct Request {
  unsigned grid[3], threadgroup[3];
  int order;
  unsigned workers;
  uint64_t seed;
  int lenient;
  int fill;  // the byte that threadgroup memory holds at first
  unsigned buffer_count, argument_count;
  const Buffer* buffers;
  const size_t* argument_bytes;  // of each [[threadgroup(i)]]
  const int* stop;  // set to 1 by the caller to end the launch
};

struct Counts {
  uint64_t barriers, simd_operations, threadgroup_bytes;
  uint64_t idle_groups;  // threadgroups that returned without an access, a barrier, an operation
  uint64_t partial_operations;  // simd operations that some lanes skipped
  // Of the threadgroup with the most: barriers that it met, their places in the text, and those
  // of these places that it met again.
  uint64_t most_barriers, barrier_places, repeated_places;
  uint64_t parted_branches;  // branches at which lanes of one simdgroup went different ways
  Traffic traffic[MOST_BUFFERS];
};

struct Launch {
  const Request& request;
  const Entry& entry;
  unsigned group_size[3], group_count[3];
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> end{0};  // groups from here on are not begun
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::string message;  // of the failed group with the lowest number, or why all was stopped
  Counts counts{};

  Launch(const Request& request, const Entry& entry) : request(request), entry(entry) {
    for (int axis = 0; axis < 3; ++axis) {
      const unsigned grid = request.grid[axis], threads = request.threadgroup[axis];
      group_size[axis] = threads < grid ? threads : grid;
      group_count[axis] = (grid + group_size[axis] - 1) / group_size[axis];
    }
    end = groups();
  }
  uint64_t groups() const { return uint64_t(group_count[0]) * group_count[1] * group_count[2]; }
  unsigned threads() const { return group_size[0] * group_size[1] * group_size[2]; }

  void fail(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (message.empty()) message = why;
    stopping = true;
  }

  // Groups begin in order: those with lower numbers go on to their ends, so that the message is
  // the same whichever worker is faster.
  void fail_group(uint64_t number, const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (stopping || number >= end) return;
    message = why;
    end = number;
  }
};

}  // namespace tracekit
