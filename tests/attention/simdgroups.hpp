// Just enough of a GPU to run one compute kernel on a CPU: each thread is a fiber, 32 of them
// are a simdgroup, and fibers switch only where threads meet, at simd_sum and at the barrier.
#pragma once
#include <ucontext.h>
#include <algorithm>
#include <cmath>
#include <vector>

using std::exp2;
using std::max;
using uint = unsigned;
struct uint3 { uint x, y, z; };
struct mem_flags { enum Scope { mem_threadgroup }; };

enum State { READY, AT_SIMD, AT_BARRIER, DONE };
constexpr int LANES_OF_A_SIMDGROUP = 32;
constexpr int THREADS = SIMDGROUPS_OF_A_GROUP * LANES_OF_A_SIMDGROUP;
constexpr size_t STACK = 1 << 16;

static ucontext_t scheduler, fibers[THREADS];
static State states[THREADS];
static int current;
static float slots[2][THREADS];
static int meetings[THREADS];
static uint3 group;

void kernel_body();

static void meet(State state) {
  states[current] = state;
  swapcontext(&fibers[current], &scheduler);
}

// Two buffers in turn: a lane may be one meeting ahead of a slower one, never two.
static float simd_sum(float value) {
  float* slot = slots[meetings[current]++ & 1];
  slot[current] = value;
  meet(AT_SIMD);
  const int first = current / LANES_OF_A_SIMDGROUP * LANES_OF_A_SIMDGROUP;
  float total = 0.0f;
  for (int lane = 0; lane < LANES_OF_A_SIMDGROUP; ++lane) total += slot[first + lane];
  return total;
}

static void threadgroup_barrier(mem_flags::Scope) { meet(AT_BARRIER); }

static void enter() {
  kernel_body();
  meet(DONE);
}

static int count(int first, int threads, State state) {
  return std::count(states + first, states + first + threads, state);
}

// Runs one threadgroup, threads in ascending or descending order. Returns 0; 1 where lanes of a
// simdgroup do not all come to its simd_sum; 2 where not all threads come to the barrier.
static int run_group(std::vector<char>& stacks, bool descending) {
  for (int thread = 0; thread < THREADS; ++thread) {
    getcontext(&fibers[thread]);
    fibers[thread].uc_stack.ss_sp = &stacks[thread * STACK];
    fibers[thread].uc_stack.ss_size = STACK;
    states[thread] = READY;
    meetings[thread] = 0;
    makecontext(&fibers[thread], enter, 0);
  }
  while (true) {
    for (int turn = 0; turn < SIMDGROUPS_OF_A_GROUP; ++turn) {
      const int simdgroup = descending ? SIMDGROUPS_OF_A_GROUP - 1 - turn : turn;
      const int first = simdgroup * LANES_OF_A_SIMDGROUP;
      while (true) {
        for (int step = 0; step < LANES_OF_A_SIMDGROUP; ++step) {
          current = first + (descending ? LANES_OF_A_SIMDGROUP - 1 - step : step);
          if (states[current] == READY) swapcontext(&scheduler, &fibers[current]);
        }
        const int there = count(first, LANES_OF_A_SIMDGROUP, AT_SIMD);
        if (there == 0) break;
        if (there != LANES_OF_A_SIMDGROUP) return 1;
        std::fill_n(states + first, LANES_OF_A_SIMDGROUP, READY);
      }
    }
    if (count(0, THREADS, DONE) == THREADS) return 0;
    if (count(0, THREADS, AT_BARRIER) != THREADS) return 2;
    std::fill_n(states, THREADS, READY);
  }
}

static int run_grid(int width, int height, bool descending) {
  std::vector<char> stacks(THREADS * STACK);
  for (uint y = 0; y < uint(height); ++y) {
    for (uint x = 0; x < uint(width); ++x) {
      group = {x, y, 0};
      if (const int failure = run_group(stacks, descending)) return failure;
    }
  }
  return 0;
}
