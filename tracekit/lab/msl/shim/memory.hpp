// Checked launches: pointers into buffers that know their buffer, refuse what lies outside, and
// count bytes. `device T*` is rewritten to `pointer<T>`, and so is `constant T*`.
//
// An operator cannot have a default argument, and so cannot learn where it is called; but its
// operand can be converted to a class whose constructor has one: hence Index, Place and Value.
#pragma once
#include <compare>
#include <initializer_list>

#include "bounds.hpp"

namespace tracekit {

template <class T>
struct pointer;

template <class T>
constexpr bool is_vector = metal::width<std::remove_cv_t<T>> > 1;
template <class T>
struct element_type { using type = T; };
template <class T>
  requires is_vector<T>
struct element_type<T> { using type = std::remove_reference_t<decltype(T().data[0])>; };
template <class T>
using element_of = typename element_type<T>::type;
template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> || metal::is_floating_point_v<T> ||
    std::is_enum_v<T> || is_vector<T>;

// A value that is about to be stored, and where.
template <class T>
struct Value {
  T value;
  Site site;
  template <class A>
    requires std::is_convertible_v<A, T> || std::is_constructible_v<T, A>
  Value(const A& from, Site site = Site::current()) : value(static_cast<T>(from)), site(site) {}
};

// What a mutable pointer points to: loads when it is read, stores when it is assigned to.
template <class T>
struct reference {
  T* at;
  int buffer;
  Site site;

  operator T() const { return load(); }
  // For a parameter `device T&`: what happens through it nobody follows.
  template <class U>
    requires std::is_same_v<U, T>
  operator U&() const {
    check(buffer, at, sizeof(T), Access::reference, site);
    return *at;
  }
  template <class A>
    requires is_vector<T> && std::is_constructible_v<A, T> && (!std::is_same_v<A, T>)
  explicit operator A() const { return A(load()); }
  T load() const {
    check(buffer, at, sizeof(T), Access::load, site);
    return *at;
  }
  const reference& operator=(const Value<T>& from) const {
    check(buffer, at, sizeof(T), Access::store, site);
    *at = from.value;
    return *this;
  }
  const reference& operator=(const reference& from) const { return *this = Value<T>(from.load()); }
  // `p[i] = {x, y};`
  const reference& operator=(std::initializer_list<element_of<T>> all) const
    requires is_vector<T>
  {
    T made;
    size_t i = 0;
    for (const auto& one : all) made[i++] = one;
    return *this = Value<T>(made, site);
  }
  pointer<T> operator&() const { return {at, buffer}; }

#define TRACEKIT_ASSIGN(op)                                                       \
  template <class A>                                                              \
  const reference& operator op##=(const A& by) const {                            \
    return *this = Value<T>(static_cast<T>(load() op static_cast<T>(by)));        \
  }
  TRACEKIT_ASSIGN(+) TRACEKIT_ASSIGN(-) TRACEKIT_ASSIGN(*) TRACEKIT_ASSIGN(/)
  TRACEKIT_ASSIGN(%) TRACEKIT_ASSIGN(&) TRACEKIT_ASSIGN(|) TRACEKIT_ASSIGN(^)
  TRACEKIT_ASSIGN(<<) TRACEKIT_ASSIGN(>>)
#undef TRACEKIT_ASSIGN
  const reference& operator++() const { return *this += 1; }
  const reference& operator--() const { return *this -= 1; }
  T operator++(int) const {
    const T before = load();
    *this = Value<T>(static_cast<T>(before + 1));
    return before;
  }
  T operator--(int) const {
    const T before = load();
    *this = Value<T>(static_cast<T>(before - 1));
    return before;
  }

  // Of a vector: its elements, one by one, and several of them.
  template <int I>
    requires is_vector<T>
  auto operator[](metal::swizzle_t<I>) const { return element(I); }
  template <int... I>
    requires(is_vector<T> && sizeof...(I) > 1)
  auto operator[](metal::swizzle_t<I...> tag) const { return static_cast<const T&>(*at)[checked(tag)]; }
  template <class I>
    requires(is_vector<T> && std::is_integral_v<I>)
  auto operator[](I i) const { return element(size_t(i)); }

 private:
  auto element(size_t i) const {
    using E = std::remove_reference_t<decltype(at->data[0])>;
    return reference<E>{&at->data[i], buffer, site};
  }
  template <int... I>
  auto checked(metal::swizzle_t<I...> tag) const {
    (check(buffer, &at->data[I], sizeof(at->data[I]), Access::load, site), ...);
    return tag;
  }
};

#define TRACEKIT_BETWEEN(op)                                                      \
  template <class T, class B>                                                     \
    requires is_vector<T>                                                         \
  auto operator op(const reference<T>& a, const B& b) { return a.load() op T(b); } \
  template <class A, class T>                                                     \
    requires(is_vector<T> && is_number<A>)                                        \
  auto operator op(const A& a, const reference<T>& b) { return T(a) op b.load(); }
TRACEKIT_BETWEEN(+) TRACEKIT_BETWEEN(-) TRACEKIT_BETWEEN(*) TRACEKIT_BETWEEN(/)
#undef TRACEKIT_BETWEEN

template <class T>
struct pointer {
  T* at = nullptr;
  int buffer = NOTHING;

  using Plain = std::remove_cv_t<T>;
  struct Place {
    pointer to;
    Site site;
    Place(const pointer& to, Site site = Site::current()) : to(to), site(site) {}
  };

  pointer() = default;
  pointer(decltype(nullptr)) {}
  pointer(T* at, int buffer) : at(at), buffer(buffer) {}
  pointer(T* memory) : at(memory), buffer(buffer_of(memory)) {}
  template <class U>
    requires std::is_convertible_v<U*, T*>
  pointer(const pointer<U>& from) : at(from.at), buffer(from.buffer) {}
  template <class U>
    requires(!std::is_convertible_v<U*, T*>)
  explicit pointer(const pointer<U>& from) : at((T*)from.at), buffer(from.buffer) {}
  template <class U>
    requires(!std::is_convertible_v<U*, T*>)
  explicit pointer(U* from) : pointer((T*)from) {}

  // A value of a const number, a reference<T> to a mutable one, a plain reference to a struct: of
  // a struct a kernel may take the address of a field.
  decltype(auto) operator[](const Index& i) const { return element(at + i.number, i.site); }
  friend decltype(auto) operator*(const Place& place) {
    return place.to.element(place.to.at, place.site);
  }
  T* operator->() const {
    check(buffer, at, sizeof(T), std::is_const_v<T> ? Access::load : Access::reference, Site());
    return at;
  }

  template <class I>
    requires std::is_integral_v<I>
  friend pointer operator+(const pointer& p, I by) { return {p.at + by, p.buffer}; }
  template <class I>
    requires std::is_integral_v<I>
  friend pointer operator+(I by, const pointer& p) { return {p.at + by, p.buffer}; }
  template <class I>
    requires std::is_integral_v<I>
  friend pointer operator-(const pointer& p, I by) { return {p.at - by, p.buffer}; }
  friend ptrdiff_t operator-(const pointer& a, const pointer& b) { return a.at - b.at; }
  template <class I>
  pointer& operator+=(I by) { at += by; return *this; }
  template <class I>
  pointer& operator-=(I by) { at -= by; return *this; }
  pointer& operator++() { ++at; return *this; }
  pointer& operator--() { --at; return *this; }
  pointer operator++(int) { return {at++, buffer}; }
  pointer operator--(int) { return {at--, buffer}; }
  friend bool operator==(const pointer& a, const pointer& b) { return a.at == b.at; }
  friend auto operator<=>(const pointer& a, const pointer& b) { return a.at <=> b.at; }
  explicit operator bool() const { return at != nullptr; }

  decltype(auto) element(T* of, const Site& site) const {
    if constexpr (std::is_const_v<T> && is_number<Plain>) {
      check(buffer, of, sizeof(T), Access::load, site);
      return Plain(*of);
    } else if constexpr (is_number<T>) {
      return reference<T>{of, buffer, site};
    } else {
      check(buffer, of, sizeof(T), Access::reference, site);
      return (*of);
    }
  }
};

// An index into an array that threads share; of anything else, it is left as it is. Where only
// the address is taken, it may be that of the end.
template <class T, size_t N>
ptrdiff_t within(T (&)[N], const Index& i, bool end_too = false) {
  if (i.number < 0 || size_t(i.number) >= N + end_too) {
    fail(i.site, "index %td of threadgroup memory with %zu elements by thread %u", i.number, N,
         here->index);
  }
  return i.number;
}
template <class A, class I>
  requires(!std::is_array_v<A>)
I within(const A&, I i, bool = false) { return i; }

// What `auto` takes: the value, not the way to it.
template <class A>
auto value(A&& from) { return static_cast<A&&>(from); }
template <class T>
T value(const reference<T>& from) { return from.load(); }
template <class T>
T value(reference<T>&& from) { return from.load(); }

}  // namespace tracekit
