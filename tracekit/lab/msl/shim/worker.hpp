// One operating-system thread of a launch: it runs one threadgroup after the other.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "branches.hpp"
#include "launch.hpp"
#include "stacks.hpp"
#include "switch.hpp"

namespace tracekit {

struct Worker {
  Launch& launch;
  Stacks& stacks;
  Group group{};
  Counts counts{};
  std::vector<Fiber> fibers;
  std::vector<Simdgroup> simdgroups;
  std::vector<unsigned> simdgroup_order, lane_order;
  std::mt19937_64 random;
  Paths paths;
  void* scheduler = nullptr;
  jmp_buf escape;  // out of a fiber that has failed, for good
  char message[1024] = "";

  Arena arena;
  size_t arena_used = 0;
  std::vector<std::pair<char*, size_t>> declared;
  std::vector<char*> arguments;

  Worker(Launch& launch, Stacks& stacks)
      : launch(launch), stacks(stacks), fibers(launch.threads()),
        simdgroups((launch.threads() + LANES - 1) / LANES) {}

  // Places group number `number` of the launch's order.
  void place(uint64_t number) {
    const auto& request = launch.request;
    if (Order(request.order) == Order::descending) number = launch.groups() - 1 - number;
    group.threads = 1;
    for (int axis = 0; axis < 3; ++axis) {
      group.position[axis] = unsigned(number % launch.group_count[axis]);
      number /= launch.group_count[axis];
      group.dispatched[axis] = launch.group_size[axis];
      group.grid[axis] = request.grid[axis];
      group.count[axis] = launch.group_count[axis];
      const unsigned left = request.grid[axis] - group.position[axis] * launch.group_size[axis];
      group.size[axis] = std::min(launch.group_size[axis], left);
      group.threads *= group.size[axis];
    }
    group.buffers = request.buffers;
    group.buffer_count = request.buffer_count;
    group.traffic = counts.traffic;
  }

  // Poisons threadgroup memory; bytes 0xff are NaN in every floating type.
  void poison() {
    memset(arena.start, launch.request.fill, MOST_THREADGROUP_BYTES);
    arena_used = 0;
    declared.clear();
    arguments.clear();
    for (unsigned i = 0; i < launch.request.argument_count; ++i) {
      arguments.push_back(reserve(launch.request.argument_bytes[i]));
    }
  }

  char* reserve(size_t bytes) {
    char* start = arena.start + arena_used;
    const size_t rounded = (bytes + 15) / 16 * 16;
    if (bytes > MOST_THREADGROUP_BYTES || rounded > MOST_THREADGROUP_BYTES - arena_used) {
      tracekit::fail(Site(), "threadgroup memory over %zu bytes: %zu", MOST_THREADGROUP_BYTES,
                     arena_used + rounded);
    }
    arena_used += rounded;
    counts.threadgroup_bytes = std::max<uint64_t>(counts.threadgroup_bytes, arena_used);
    return start;
  }

  void arm(void (*enter)()) {
    for (unsigned i = 0; i < group.threads; ++i) {
      Fiber& fiber = fibers[i];
      fiber.stack_pointer = prepared(stacks.top(i), enter);
      fiber.simdgroup = &simdgroups[i / LANES];
      fiber.index = i;
      fiber.lane = i % LANES;
      fiber.position[0] = i % group.size[0];
      fiber.position[1] = i / group.size[0] % group.size[1];
      fiber.position[2] = i / group.size[0] / group.size[1];
      fiber.state = State::ready;
    }
  }

  void order_threads(uint64_t number) {
    const auto order = Order(launch.request.order);
    simdgroup_order.resize((group.threads + LANES - 1) / LANES);
    lane_order.resize(LANES);
    for (auto* some : {&simdgroup_order, &lane_order}) {
      for (unsigned i = 0; i < some->size(); ++i) (*some)[i] = i;
      if (order == Order::descending) std::reverse(some->begin(), some->end());
    }
    random.seed(launch.request.seed + number);
  }

  void shuffle() {
    if (Order(launch.request.order) != Order::random) return;
    std::shuffle(simdgroup_order.begin(), simdgroup_order.end(), random);
    std::shuffle(lane_order.begin(), lane_order.end(), random);
  }
};

extern __thread Worker* worker;

}  // namespace tracekit
