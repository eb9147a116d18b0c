// The engine: compiled once, linked to every kernel.
#include <condition_variable>
#include <thread>

#include "faults.hpp"
#include "rounds.hpp"

namespace tracekit {

__thread Fiber* here = nullptr;
__thread Group* group = nullptr;
__thread Worker* worker = nullptr;

void meet(State state, const char* operation, const Site& site) {
  Fiber& fiber = *here;
  fiber.operation = operation;
  fiber.site = site;
  fiber.state = state;
  tracekit_switch(&fiber.stack_pointer, worker->scheduler);
}

void fail(const Site& site, const char* message, ...) {
  va_list values;
  va_start(values, message);
  char* to = worker->message;
  const int length = vsnprintf(to, sizeof(worker->message), message, values);
  va_end(values);
  if (site.line() > 0) {
    snprintf(to + length, sizeof(worker->message) - size_t(length), " at %s:%u:%u",
             site.file_name(), unsigned(site.line()), unsigned(site.column()));
  }
  _longjmp(worker->escape, 1);
}

void fail_access(const Site& site, int buffer, const char* address, size_t bytes) {
  if (buffer < 0) fail(site, "access through a null pointer by thread %u", here->index);
  const Buffer& bound = group->buffers[buffer];
  fail(site, "access of %zu bytes at offset %td of buffer %d (%zu bytes) by thread %u", bytes,
       address - bound.start, buffer, bound.size, here->index);
}

void* threadgroup_memory(unsigned declaration, size_t bytes) {
  auto& declared = worker->declared;
  if (declared.size() <= declaration) declared.resize(declaration + 1);
  auto& [start, size] = declared[declaration];
  if (start == nullptr) {
    start = worker->reserve(bytes);
    size = bytes;
  }
  if (size != bytes) {
    fail(Site(), "a threadgroup variable has %zu bytes here and %zu there", size, bytes);
  }
  return start;
}

void* threadgroup_argument(unsigned index) {
  if (index >= worker->arguments.size()) {
    fail(Site(), "no size was given for threadgroup memory %u", index);
  }
  return worker->arguments[index];
}

static void enter() {
  worker->launch.entry.body();
  here->state = State::done;
  tracekit_switch(&here->stack_pointer, worker->scheduler);
}

// What groups did so far, in a number that grows with everything that is counted.
static uint64_t effort(const Counts& counts) {
  uint64_t sum = counts.barriers + counts.simd_operations;
  for (const Traffic& moved : counts.traffic) sum += moved.loaded + moved.stored;
  return sum;
}

// Runs one group; false, with the worker's message set, where it failed.
static bool run_group(uint64_t number) {
  worker->place(number);
  worker->order_threads(number);
  if (_setjmp(worker->escape) != 0) {
    here = nullptr;
    return false;
  }
  worker->poison();
  worker->arm(enter);
  const uint64_t before = effort(worker->counts);
  const bool has_ended = Rounds(*worker).run();
  worker->counts.parted_branches += worker->paths.take_parted();
  if (effort(worker->counts) == before) ++worker->counts.idle_groups;
  return has_ended;
}

static std::string where(const Group& group) {
  const auto* at = group.position;
  return "threadgroup (" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," +
      std::to_string(at[2]) + "): ";
}

static void add(Counts& to, const Counts& from) {
  to.barriers += from.barriers;
  to.simd_operations += from.simd_operations;
  to.idle_groups += from.idle_groups;
  to.threadgroup_bytes = std::max(to.threadgroup_bytes, from.threadgroup_bytes);
  to.partial_operations += from.partial_operations;
  to.most_barriers = std::max(to.most_barriers, from.most_barriers);
  to.barrier_places = std::max(to.barrier_places, from.barrier_places);
  to.repeated_places = std::max(to.repeated_places, from.repeated_places);
  to.parted_branches += from.parted_branches;
  for (unsigned i = 0; i < MOST_BUFFERS; ++i) {
    to.traffic[i].loaded += from.traffic[i].loaded;
    to.traffic[i].stored += from.traffic[i].stored;
  }
}

static void work(Launch& launch) {
  Stacks& stacks = *stack_pool()->take();
  if (!stacks.grow(launch.threads())) {
    launch.fail("there is no memory for the stacks of a threadgroup");
  } else {
    const SignalStack signal_stack;
    const auto own = std::make_unique<Worker>(launch, stacks);
    worker = own.get();
    group = &own->group;
    if (own->arena.start == nullptr) launch.fail("there is no room for threadgroup memory");
    while (!launch.stopping) {
      const uint64_t number = launch.next++;
      if (number >= launch.end) break;
      if (!run_group(number)) launch.fail_group(number, where(own->group) + own->message);
    }
    worker = nullptr;
    group = nullptr;
    const std::lock_guard<std::mutex> lock(launch.mutex);
    add(launch.counts, own->counts);
  }
  stack_pool()->give_back(&stacks);
}

static void run_workers(Launch& launch) {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned left = launch.request.workers;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < launch.request.workers; ++i) {
    threads.emplace_back([&] {
      work(launch);
      const std::lock_guard<std::mutex> lock(mutex);
      --left;
      changed.notify_all();
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return left == 0; })) {
    lock.unlock();
    if (__atomic_load_n(launch.request.stop, __ATOMIC_RELAXED) != 0) launch.fail("stopped");
    if (launch.stopping) {
      for (auto& one : threads) pthread_kill(one.native_handle(), WAKE);
    }
    lock.lock();
  }
  lock.unlock();
  for (auto& one : threads) one.join();
}

}  // namespace tracekit

#define TRACEKIT_EXPORTED extern "C" __attribute__((visibility("default")))

// Runs a kernel of this library. Returns 0, or 1 with a message.
TRACEKIT_EXPORTED int tracekit_run(const tracekit::Entry* entry, const tracekit::Request* request,
                                   tracekit::Counts* counts, char* message, size_t room) {
  tracekit::Launch launch(*request, *entry);
  tracekit::catch_faults();
  tracekit::run_workers(launch);
  tracekit::release_faults();
  *counts = launch.counts;
  snprintf(message, room, "%s", launch.message.c_str());
  return launch.message.empty() ? 0 : 1;
}

// What a kernel that notes its branches calls: see branches.py.
extern "C" void tracekit_branch(uint32_t function, uint32_t block, uint32_t join, uint64_t way) {
  tracekit::worker->paths.branch(tracekit::here->index, function, block, join, way);
}
extern "C" void tracekit_join(uint32_t function, uint32_t block) {
  tracekit::worker->paths.join(tracekit::here->index, function, block);
}
extern "C" void tracekit_leave(uint32_t function) {
  tracekit::worker->paths.leave(tracekit::here->index, function);
}

// Takes the stacks of another library, if one is given; returns those in use.
TRACEKIT_EXPORTED void* tracekit_share_stacks(void* given) {
  if (given != nullptr) tracekit::stack_pool() = static_cast<tracekit::StackPool*>(given);
  return tracekit::stack_pool();
}
