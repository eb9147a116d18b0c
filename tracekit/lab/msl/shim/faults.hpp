// Faults of the processor inside a kernel (a bad address, a division by zero, a stack that is full)
// end the launch, not the process. Faults elsewhere go where they went before.
#pragma once
#include <pthread.h>
#include <signal.h>

#include "worker.hpp"

namespace tracekit {

constexpr int WAKE = SIGURG;  // ignored by default, so that one that comes late does no harm
constexpr int CAUGHT[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, WAKE};
constexpr int CAUGHT_COUNT = sizeof(CAUGHT) / sizeof(CAUGHT[0]);

struct Faults {
  std::mutex mutex;
  int users = 0;
  struct sigaction before[CAUGHT_COUNT];
};
inline Faults faults;

inline void describe_fault(int signal, const void* address) {
  char* to = worker->message;
  const size_t room = sizeof(worker->message);
  const unsigned thread = here->index;
  if (signal == SIGFPE) {
    snprintf(to, room, "integer division by zero, or its result too large, in thread %u", thread);
  } else if (signal == SIGILL || signal == SIGTRAP) {
    snprintf(to, room, "thread %u came to what has no meaning in C++, such as a division by a "
             "constant zero", thread);
  } else if (signal == WAKE) {
    snprintf(to, room, "stopped");
  } else if (worker->stacks.is_below(thread, address)) {
    snprintf(to, room, "thread %u needs more than %zu bytes of stack (private arrays, calls)",
             thread, STACK);
  } else if (worker->arena.is_around(address)) {
    snprintf(to, room, "access of threadgroup memory at offset %td of its %zu bytes, in thread %u",
             static_cast<const char*>(address) - worker->arena.start, MOST_THREADGROUP_BYTES,
             thread);
  } else {
    snprintf(to, room, "access of memory that is not there, at %p, in thread %u", address, thread);
  }
}

inline void on_fault(int signal, siginfo_t* info, void*) {
  if (worker != nullptr && here != nullptr) {
    if (signal == WAKE && !worker->launch.stopping.load()) return;
    describe_fault(signal, info->si_addr);
    _longjmp(worker->escape, 1);
  }
  if (signal == WAKE) return;
  for (int i = 0; i < CAUGHT_COUNT; ++i) {
    if (CAUGHT[i] == signal) sigaction(signal, &faults.before[i], nullptr);
  }
}

inline void catch_faults() {
  const std::lock_guard<std::mutex> lock(faults.mutex);
  if (faults.users++ > 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  for (int i = 0; i < CAUGHT_COUNT; ++i) sigaction(CAUGHT[i], &action, &faults.before[i]);
}

inline void release_faults() {
  const std::lock_guard<std::mutex> lock(faults.mutex);
  if (--faults.users > 0) return;
  for (int i = 0; i < CAUGHT_COUNT; ++i) sigaction(CAUGHT[i], &faults.before[i], nullptr);
}

// A stack for the handler: the one that is full cannot serve.
struct SignalStack {
  std::vector<char> memory;
  stack_t before{};
  SignalStack() : memory(64 * 1024) {
    stack_t own{};
    own.ss_sp = memory.data();
    own.ss_size = memory.size();
    sigaltstack(&own, &before);
  }
  ~SignalStack() { sigaltstack(&before, nullptr); }
};

}  // namespace tracekit
