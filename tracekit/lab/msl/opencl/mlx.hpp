// What MLX puts before a custom kernel, as declarations for the judge of address spaces.
#ifndef TRACEKIT_OWN_Limits
template <class T> struct Limits {
  static constexpr constant T max = T();
  static constexpr constant T min = T();
  static constexpr constant T finite_max = T();
  static constexpr constant T finite_min = T();
};
#endif
#ifndef TRACEKIT_OWN_complex64_t
struct complex64_t {
  float real;
  float imag;
};
#endif
#ifndef TRACEKIT_OWN_ceildiv
template <class T, class U> constexpr T ceildiv(T n, U m) { return (n + m - 1) / m; }
#endif
#ifndef TRACEKIT_OWN_log1p
template <class T> T log1p(T);
#endif
#ifndef TRACEKIT_OWN_elem_to_loc
template <class I = long>
I elem_to_loc(I, const constant int*, const constant long*, int);
template <class I = long>
I elem_to_loc(uint3, const constant int*, const constant long*, int);
#endif
