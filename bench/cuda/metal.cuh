// What a Metal kernel of ours needs of the Metal language, on an NVIDIA GPU: a simdgroup is a
// warp, threadgroup memory is shared memory. translate.py makes the rest.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstring>

using uint = unsigned;
using ushort = unsigned short;
using float16_t = __half;
using bfloat16_t = __nv_bfloat16;

#undef INFINITY
#define INFINITY __int_as_float(0x7f800000)

// CUDA's own have no constructor of one value.
struct alignas(16) Uint4 {
  uint x, y, z, w;
  Uint4() = default;
  __device__ explicit Uint4(uint value) : x(value), y(value), z(value), w(value) {}
};
#define uint4 Uint4
struct alignas(8) Uint2 {
  uint x, y;
  Uint2() = default;
  __device__ explicit Uint2(uint value) : x(value), y(value) {}
};
#define uint2 Uint2

namespace metal {
template <typename T, int N>
struct vec;
template <typename T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  T elements[4];
  __device__ T operator[](int at) const { return elements[at]; }
};
}
using namespace metal;

template <typename To, typename From>
__device__ inline To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

struct mem_flags {
  enum Scope { mem_none, mem_device, mem_threadgroup };
};
__device__ inline void threadgroup_barrier(mem_flags::Scope) { __syncthreads(); }

constexpr unsigned ALL_LANES = ~0u;
template <typename V>
__device__ inline V simd_shuffle_xor(V value, ushort mask) {
  return __shfl_xor_sync(ALL_LANES, value, mask);
}
template <typename V>
__device__ inline V simd_shuffle(V value, ushort lane) {
  return __shfl_sync(ALL_LANES, value, lane);
}
__device__ inline bool simd_any(bool value) { return __any_sync(ALL_LANES, value); }
template <typename V>
__device__ inline V simd_sum(V value) {
  for (int mask = 16; mask > 0; mask /= 2) value += simd_shuffle_xor(value, mask);
  return value;
}

// The shuffle tells the compiler that the index is the same in all lanes, as Metal says it is.
__device__ inline uint simdgroup_index_in_threadgroup_() {
  return __shfl_sync(ALL_LANES, (threadIdx.x + blockDim.x * threadIdx.y) >> 5, 0);
}
__device__ inline uint thread_index_in_threadgroup_() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
