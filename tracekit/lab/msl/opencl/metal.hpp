// What clang's C++ for OpenCL must know to judge the address spaces of a Metal kernel.
// Declarations only: nothing of this is ever run. Types are looser than Metal's, so that what
// clang complains of is the kernel's own doing.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define device __global
#define threadgroup __local
#define constant __constant
#define thread __private
#define kernel
#define global global_
#define local local_
#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_CONST constant constexpr
#define __METAL__ 1
#define __METAL_VERSION__ 310
#define __HAVE_BFLOAT__ 1
#define alignas(...)
// Stands between a type and a parenthesis, so that no macro takes both.
#define TRACEKIT_NAMED
#define is_function_constant_defined(name) true
#define INFINITY __builtin_inff()
#define HUGE_VALF __builtin_inff()
#define NAN __builtin_nanf("")
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define MAXFLOAT FLT_MAX
#define HALF_MAX 65504.0h
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
typedef half float16_t;
#ifdef TRACEKIT_BFLOAT
typedef TRACEKIT_BFLOAT bfloat;
#else
typedef ushort bfloat;
#endif
typedef bfloat bfloat16_t;

// A call of it is a warning that names the bytes.
template <class T, size_t N> __attribute__((deprecated)) threadgroup T& tracekit_threadgroup();
template <class V, class... A> constexpr V tracekit_vector(A...) { return V(0); }

namespace metal {
template <class T> struct tracekit_element { using type = T; };
template <> struct tracekit_element<bool> { using type = char; };
template <class T, int N>
using vec = typename tracekit_element<T>::type __attribute__((ext_vector_type(N)));

#define TRACEKIT_VECTORS(T)                                                        \
  typedef vec<T, 2> T##2;                                                          \
  typedef vec<T, 3> T##3;                                                          \
  typedef vec<T, 4> T##4;                                                          \
  typedef T##2 packed_##T##2;                                                      \
  typedef T##3 packed_##T##3;                                                      \
  typedef T##4 packed_##T##4;
TRACEKIT_VECTORS(bool)
TRACEKIT_VECTORS(char)
TRACEKIT_VECTORS(uchar)
TRACEKIT_VECTORS(short)
TRACEKIT_VECTORS(ushort)
TRACEKIT_VECTORS(int)
TRACEKIT_VECTORS(uint)
TRACEKIT_VECTORS(long)
TRACEKIT_VECTORS(ulong)
TRACEKIT_VECTORS(half)
TRACEKIT_VECTORS(float)
TRACEKIT_VECTORS(bfloat)

template <class T, size_t N> struct array {
  T elements[N];
  thread T& operator[](size_t i) { return elements[i]; }
  const thread T& operator[](size_t i) const { return elements[i]; }
};

template <class T> struct numeric_limits {
  static constexpr T max() { return T(); }
  static constexpr T min() { return T(); }
  static constexpr T lowest() { return T(); }
  static constexpr T infinity() { return T(); }
  static constexpr T quiet_NaN() { return T(); }
  static constexpr T epsilon() { return T(); }
};
template <class T, T V> struct integral_constant { static constexpr constant T value = V; };
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> constexpr constant bool is_same_v = is_same<A, B>::value;
template <class A> struct is_floating_point : integral_constant<bool, A(0.5f) != A(0)> {};
template <class A> struct is_integral : integral_constant<bool, A(0.5f) == A(0)> {};
template <class A> constexpr constant bool is_floating_point_v = is_floating_point<A>::value;
template <class A> constexpr constant bool is_integral_v = is_integral<A>::value;
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F> struct conditional { using type = T; };
template <class T, class F> struct conditional<false, T, F> { using type = F; };
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;

// Functions of one, two and three arguments. The result is of the first argument's type, or of
// what the first two have in common.
#define TRACEKIT_1(name) template <class A> A name(A);
#define TRACEKIT_2(name) template <class A, class B> auto name(A, B) -> decltype(A() + B());
#define TRACEKIT_3(name) \
  template <class A, class B, class C> auto name(A, B, C) -> decltype(A() + B());
#define TRACEKIT_FLOATING                                                               \
  TRACEKIT_1(acos) TRACEKIT_1(acosh) TRACEKIT_1(asin) TRACEKIT_1(asinh)                 \
  TRACEKIT_1(atan) TRACEKIT_1(atanh) TRACEKIT_1(ceil) TRACEKIT_1(cos) TRACEKIT_1(cosh)  \
  TRACEKIT_1(cospi) TRACEKIT_1(exp) TRACEKIT_1(exp10) TRACEKIT_1(exp2)                  \
  TRACEKIT_1(fabs) TRACEKIT_1(floor) TRACEKIT_1(fract) TRACEKIT_1(log)                  \
  TRACEKIT_1(log10) TRACEKIT_1(log2) TRACEKIT_1(rint) TRACEKIT_1(round)                 \
  TRACEKIT_1(rsqrt) TRACEKIT_1(sin) TRACEKIT_1(sinh) TRACEKIT_1(sinpi)                  \
  TRACEKIT_1(sqrt) TRACEKIT_1(tan) TRACEKIT_1(tanh) TRACEKIT_1(tanpi)                   \
  TRACEKIT_1(trunc) TRACEKIT_1(saturate) TRACEKIT_1(sign) TRACEKIT_1(normalize)         \
  TRACEKIT_2(atan2) TRACEKIT_2(copysign) TRACEKIT_2(divide) TRACEKIT_2(fdim)            \
  TRACEKIT_2(fmax) TRACEKIT_2(fmin) TRACEKIT_2(fmod) TRACEKIT_2(pow) TRACEKIT_2(powr)   \
  TRACEKIT_2(step) TRACEKIT_3(fma) TRACEKIT_3(smoothstep) TRACEKIT_3(mix)               \
  template <class A, class B> constexpr auto max(A a, B b) -> decltype(a + b)           \
  { return a > b ? a : b; }                                                             \
  template <class A, class B> constexpr auto min(A a, B b) -> decltype(a + b)           \
  { return a < b ? a : b; }                                                             \
  TRACEKIT_1(abs) TRACEKIT_3(clamp)
TRACEKIT_FLOATING
namespace fast { TRACEKIT_FLOATING }
namespace precise { TRACEKIT_FLOATING }
TRACEKIT_2(absdiff) TRACEKIT_2(addsat) TRACEKIT_2(subsat) TRACEKIT_2(hadd) TRACEKIT_2(mulhi)
TRACEKIT_2(rotate) TRACEKIT_2(mul24) TRACEKIT_2(cross) TRACEKIT_2(ldexp) TRACEKIT_2(nextafter)
TRACEKIT_3(mad24) TRACEKIT_3(madhi) TRACEKIT_3(max3) TRACEKIT_3(min3) TRACEKIT_3(median3)
TRACEKIT_3(extract_bits)
TRACEKIT_1(clz) TRACEKIT_1(ctz) TRACEKIT_1(popcount) TRACEKIT_1(reverse_bits)
template <class A> A insert_bits(A, A, uint, uint);
template <class A, class C> A select(A, A, C);
template <class A> bool isnan(A);
template <class A> bool isinf(A);
template <class A> bool isfinite(A);
template <class A> bool signbit(A);
template <class A> bool any(A);
template <class A> bool all(A);
template <class A> auto dot(A a, A b) -> decltype(a.x * b.x);
template <class A> auto length(A a) -> decltype(a.x * a.x);
template <class A> auto length_squared(A a) -> decltype(a.x * a.x);
template <class A> auto distance(A a, A b) -> decltype(a.x * b.x);
template <class To, class From> To as_type(From);

enum class mem_flags { mem_none, mem_device, mem_threadgroup, mem_texture };
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
enum memory_order { memory_order_relaxed, memory_order_seq_cst };
enum thread_scope { thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
void atomic_thread_fence(mem_flags, memory_order, thread_scope = thread_scope_device);

struct simd_vote {
  typedef ulong vote_t;
  explicit operator vote_t() const;
  bool all() const;
  bool any() const;
};
typedef simd_vote quad_vote;
#define TRACEKIT_LANES(group)                                                           \
  TRACEKIT_1(group##_sum) TRACEKIT_1(group##_product) TRACEKIT_1(group##_max)           \
  TRACEKIT_1(group##_min) TRACEKIT_1(group##_and) TRACEKIT_1(group##_or)                \
  TRACEKIT_1(group##_xor) TRACEKIT_1(group##_broadcast_first)                           \
  TRACEKIT_1(group##_prefix_inclusive_sum) TRACEKIT_1(group##_prefix_exclusive_sum)     \
  TRACEKIT_1(group##_prefix_inclusive_product)                                          \
  TRACEKIT_1(group##_prefix_exclusive_product)                                          \
  template <class A> A group##_broadcast(A, ushort);                                    \
  template <class A> A group##_shuffle(A, ushort);                                      \
  template <class A> A group##_shuffle_xor(A, ushort);                                  \
  template <class A> A group##_shuffle_up(A, ushort);                                   \
  template <class A> A group##_shuffle_down(A, ushort);                                 \
  template <class A> A group##_shuffle_rotate_up(A, ushort);                            \
  template <class A> A group##_shuffle_rotate_down(A, ushort);                          \
  template <class A> A group##_shuffle_and_fill_up(A, A, ushort, ushort = 32);          \
  template <class A> A group##_shuffle_and_fill_down(A, A, ushort, ushort = 32);        \
  group##_vote group##_ballot(bool);                                                    \
  group##_vote group##_active_threads_mask();                                           \
  bool group##_all(bool);                                                               \
  bool group##_any(bool);                                                               \
  bool group##_is_first();
TRACEKIT_LANES(simd)
TRACEKIT_LANES(quad)

template <class T> struct atomic { T value; };
// OpenCL has types of these names.
#define atomic_int atomic<int>
#define atomic_uint atomic<uint>
#define atomic_ulong atomic<ulong>
#define atomic_bool atomic<bool>
#define atomic_float atomic<float>
#define TRACEKIT_ATOMIC(space)                                                          \
  template <class T> T atomic_load_explicit(const volatile space atomic<T>*, memory_order); \
  template <class T, class V> void atomic_store_explicit(volatile space atomic<T>*, V, memory_order); \
  TRACEKIT_FETCH(space, atomic_exchange_explicit)                                       \
  TRACEKIT_FETCH(space, atomic_fetch_add_explicit)                                      \
  TRACEKIT_FETCH(space, atomic_fetch_sub_explicit)                                      \
  TRACEKIT_FETCH(space, atomic_fetch_and_explicit)                                      \
  TRACEKIT_FETCH(space, atomic_fetch_or_explicit)                                       \
  TRACEKIT_FETCH(space, atomic_fetch_xor_explicit)                                      \
  TRACEKIT_FETCH(space, atomic_fetch_max_explicit)                                      \
  TRACEKIT_FETCH(space, atomic_fetch_min_explicit)                                      \
  template <class T, class V> bool atomic_compare_exchange_weak_explicit(               \
      volatile space atomic<T>*, thread T*, V, memory_order, memory_order);
#define TRACEKIT_FETCH(space, name) \
  template <class T, class V> T name(volatile space atomic<T>*, V, memory_order);
TRACEKIT_ATOMIC(device)
TRACEKIT_ATOMIC(threadgroup)
}  // namespace metal
using namespace metal;
