// What kernels and the engine know of each other. A kernel's unit sees only this side of the
// engine, which is compiled once: so a kernel compiles in a fraction of a second.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <source_location>

namespace tracekit {

using Site = std::source_location;

constexpr unsigned LANES = 32;
constexpr unsigned MOST_THREADS = 1024;         // of a threadgroup
constexpr unsigned MOST_BUFFERS = 64;           // bound to one launch
constexpr size_t MOST_THREADGROUP_BYTES = 32768;
constexpr size_t WIDEST_VALUE = 32;             // bytes that one lane gives to a simd operation

enum class State : uint8_t { ready, at_simd, at_barrier, done };

// What the lanes of a simdgroup gave to the operation that they passed last.
struct Simdgroup {
  alignas(32) unsigned char values[LANES][WIDEST_VALUE];
  alignas(32) unsigned char reduced[WIDEST_VALUE];
  unsigned participants;
  bool is_reduced;
};

// One Metal thread.
struct Fiber {
  alignas(32) unsigned char value[WIDEST_VALUE];  // what it gives to its next simd operation
  void* stack_pointer;
  Simdgroup* simdgroup;
  const char* operation;
  Site site;
  unsigned index, lane;
  unsigned position[3];
  State state;
};

// A buffer as bound to a launch; `touched` has a bit for each byte, in checked launches.
struct Buffer {
  char* start;
  size_t size;
  uint64_t* touched;
};

struct Traffic {
  uint64_t loaded, stored;
};

// The threadgroup that an operating-system thread runs at present.
struct Group {
  unsigned position[3], size[3], dispatched[3], count[3], grid[3];
  unsigned threads;
  const Buffer* buffers;
  unsigned buffer_count;
  Traffic* traffic;
};

extern __thread Fiber* here;
extern __thread Group* group;

// Waits until the others have come to the same operation.
void meet(State state, const char* operation, const Site& site);

// Ends the launch. The message holds `%` directives as printf's.
[[noreturn]] void fail(const Site& site, const char* message, ...)
    __attribute__((format(printf, 2, 3)));
[[noreturn]] void fail_access(const Site& site, int buffer, const char* address, size_t bytes);

// Memory that all threads of the group share, one piece for each declaration.
void* threadgroup_memory(unsigned declaration, size_t bytes);
void* threadgroup_argument(unsigned index);

// What a unit tells the engine of a kernel: how to call it, and the types of its parameters.
struct Parameter {
  int kind;       // 'f' floating, 'b' bfloat, 'i' signed, 'u' unsigned, '?' bool, 's' struct
  unsigned size;  // bytes of a scalar
  unsigned bytes; // bytes of an element: more for vectors and structs
};

struct Entry {
  void (*body)();
  const Parameter* parameters;
};

}  // namespace tracekit
