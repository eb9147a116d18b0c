// The rounds of one threadgroup: every thread runs until it waits for others, then they go on.
#pragma once
#include "worker.hpp"

namespace tracekit {

inline bool is_same_place(const Fiber& a, const Fiber& b) {
  return a.site.line() == b.site.line() && a.site.column() == b.site.column() &&
      strcmp(a.operation, b.operation) == 0;
}

// Where each thread is: one line for each change from a thread to the next.
inline std::string places(const Fiber* fibers, unsigned first, unsigned last) {
  std::string lines;
  for (unsigned i = first; i < last; ++i) {
    const Fiber& at = fibers[i];
    const bool is_done = at.state == State::done;
    if (i > first) {
      const Fiber& before = fibers[i - 1];
      if (is_done && before.state == State::done) continue;
      if (!is_done && before.state != State::done && is_same_place(at, before)) continue;
    }
    lines += "\n  from thread " + std::to_string(i) + ": ";
    lines += is_done ? "returned"
                     : std::string(at.operation) + " at " + at.site.file_name() + ":" +
                           std::to_string(at.site.line()) + ":" + std::to_string(at.site.column());
  }
  return lines;
}

struct Rounds {
  struct BarrierPlace {
    unsigned line, column;
    uint64_t meetings;
  };

  Worker& worker;
  Fiber* fibers;
  unsigned threads;
  std::vector<BarrierPlace> barriers;

  explicit Rounds(Worker& worker)
      : worker(worker), fibers(worker.fibers.data()), threads(worker.group.threads) {}

  // Runs the group to its end; false, with the worker's message set, where it cannot go on.
  bool run() {
    while (!worker.launch.stopping.load(std::memory_order_relaxed)) {
      worker.shuffle();
      for (const unsigned simdgroup : worker.simdgroup_order) {
        if (!run_simdgroup(simdgroup)) return false;
      }
      const unsigned done = count(State::done);
      if (done == threads) {
        count_barriers();
        return true;
      }
      if (done > 0 || !all_at_one_barrier()) {
        return complain("divergent threadgroup_barrier (not reached by every thread of the "
                        "threadgroup):", 0, threads);
      }
      ++worker.counts.barriers;
      note_barrier(fibers[0].site);
      for (unsigned i = 0; i < threads; ++i) fibers[i].state = State::ready;
    }
    return complain("stopped", 0, 0);
  }

 private:
  void note_barrier(const Site& site) {
    for (BarrierPlace& place : barriers) {
      if (place.line == site.line() && place.column == site.column()) {
        ++place.meetings;
        return;
      }
    }
    barriers.push_back({unsigned(site.line()), unsigned(site.column()), 1});
  }

  void count_barriers() {
    Counts& counts = worker.counts;
    uint64_t meetings = 0, repeated = 0;
    for (const BarrierPlace& place : barriers) {
      meetings += place.meetings;
      repeated += place.meetings > 1;
    }
    counts.most_barriers = std::max(counts.most_barriers, meetings);
    counts.barrier_places = std::max(counts.barrier_places, uint64_t(barriers.size()));
    counts.repeated_places = std::max(counts.repeated_places, repeated);
  }

  bool run_simdgroup(unsigned simdgroup) {
    const unsigned first = simdgroup * LANES, last = std::min(first + LANES, threads);
    while (true) {
      for (const unsigned lane : worker.lane_order) {
        if (first + lane < last) run_fiber(fibers[first + lane]);
      }
      if (worker.launch.stopping.load(std::memory_order_relaxed)) {
        return complain("stopped", 0, 0);
      }
      const Fiber* leader = first_waiting(first, last);
      if (leader == nullptr) return true;
      const uint32_t mask = waiting_with(*leader, first, last);
      if (!is_whole(mask, first, last)) {
        if (!worker.launch.request.lenient) {
          return complain("divergent simdgroup operation (lanes of one simdgroup are at "
                          "different places):", first, last);
        }
        ++worker.counts.partial_operations;
      }
      publish(worker.simdgroups[simdgroup], mask, first);
      ++worker.counts.simd_operations;
    }
  }

  void run_fiber(Fiber& fiber) {
    if (fiber.state != State::ready) return;
    here = &fiber;
    tracekit_switch(&worker.scheduler, fiber.stack_pointer);
    here = nullptr;
  }

  // The lane that waits at the place that stands first in the text: others, that have run ahead
  // of a branch or a loop, wait behind it.
  const Fiber* first_waiting(unsigned first, unsigned last) const {
    const Fiber* found = nullptr;
    for (unsigned i = first; i < last; ++i) {
      const Fiber& at = fibers[i];
      if (at.state != State::at_simd) continue;
      if (found == nullptr || at.site.line() < found->site.line() ||
          (at.site.line() == found->site.line() && at.site.column() < found->site.column())) {
        found = &at;
      }
    }
    return found;
  }

  uint32_t waiting_with(const Fiber& leader, unsigned first, unsigned last) const {
    uint32_t mask = 0;
    for (unsigned i = first; i < last; ++i) {
      if (fibers[i].state == State::at_simd && is_same_place(fibers[i], leader)) {
        mask |= 1u << (i - first);
      }
    }
    return mask;
  }

  bool is_whole(uint32_t mask, unsigned first, unsigned last) const {
    for (unsigned i = first; i < last; ++i) {
      if (fibers[i].state != State::done && !(mask >> (i - first) & 1)) return false;
    }
    return true;
  }

  void publish(Simdgroup& to, uint32_t mask, unsigned first) {
    to.participants = mask;
    to.is_reduced = false;
    for (unsigned lane = 0; lane < LANES; ++lane) {
      if (mask >> lane & 1) {
        memcpy(to.values[lane], fibers[first + lane].value, WIDEST_VALUE);
        fibers[first + lane].state = State::ready;
      } else {
        memset(to.values[lane], 0xff, WIDEST_VALUE);
      }
    }
  }

  bool all_at_one_barrier() const {
    for (unsigned i = 1; i < threads; ++i) {
      if (!is_same_place(fibers[i], fibers[0])) return false;
    }
    return true;
  }

  unsigned count(State state) const {
    return unsigned(std::count_if(fibers, fibers + threads,
                                  [state](const Fiber& one) { return one.state == state; }));
  }

  bool complain(const char* what, unsigned first, unsigned last) {
    const std::string all = what + places(fibers, first, last);
    snprintf(worker.message, sizeof(worker.message), "%s", all.c_str());
    return false;
  }
};

}  // namespace tracekit
