// Values as bytes and back, for what ranks tell each other.
//
//   fields = numbers as they lie in memory, little-endian; truth is a byte, 0 or 1; strings and lists
//            follow their length, a u32; other plain values lie as they are
//
// A struct names its fields once, for both ways: by a function beside it that ADL finds,
// fields_of(value, archive), or as
//
//   static void fields(auto& self, auto& archive) { archive(self.count, self.name); }
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rondo {

/// Bytes that no Writer made.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

static_assert(std::endian::native == std::endian::little, "integers travel as they lie in memory");

class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : out_(out) {}

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }

 private:
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void put(Number value) { out_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

  void put(const std::string& text) {
    put(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }

  template <class Element>
  void put(const std::vector<Element>& list) {
    put(static_cast<std::uint32_t>(list.size()));
    for (const auto& element : list) put(element);
  }

  template <class Struct>
  requires std::is_class_v<Struct>
  void put(const Struct& value) {
    if constexpr (requires { Struct::fields(value, *this); }) {
      Struct::fields(value, *this);
    } else if constexpr (requires { fields_of(value, *this); }) {
      fields_of(value, *this);
    } else {
      static_assert(std::is_trivially_copyable_v<Struct>);
      out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }

  std::string& out_;
};

/// Trusts nothing: throws Malformed, and no length makes it allocate more than there are bytes.
class FieldReader {
 public:
  explicit FieldReader(std::string_view in) : in_(in) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }

  bool at_end() const { return in_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > in_.size()) throw Malformed("a message that ends too early");
    const auto taken = in_.substr(0, count);
    in_.remove_prefix(count);
    return taken;
  }

  template <class Number>
  requires std::is_arithmetic_v<Number>
  void get(Number& value) { std::memcpy(&value, take(sizeof(value)).data(), sizeof(value)); }

  void get(bool& value) {
    const char byte = take(1).front();
    if (byte != 0 && byte != 1) throw Malformed("a truth that is neither 0 nor 1");
    value = byte == 1;
  }

  void get(std::string& text) {
    std::uint32_t size = 0;
    get(size);
    text = take(size);
  }

  /// Elements take at least a byte each, so a count cannot ask for more than was received.
  template <class Element>
  void get(std::vector<Element>& list) {
    std::uint32_t size = 0;
    get(size);
    if (size > in_.size()) throw Malformed("a list longer than its message");
    for (std::uint32_t i = 0; i < size; ++i) get(list.emplace_back());
  }

  template <class Struct>
  requires std::is_class_v<Struct>
  void get(Struct& value) {
    if constexpr (requires { Struct::fields(value, *this); }) {
      Struct::fields(value, *this);
    } else if constexpr (requires { fields_of(value, *this); }) {
      fields_of(value, *this);
    } else {
      static_assert(std::is_trivially_copyable_v<Struct>);
      std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    }
  }

  std::string_view in_;
};

template <class Struct>
std::string pack(const Struct& value) {
  std::string bytes;
  FieldWriter writer(bytes);
  writer(value);
  return bytes;
}

/// Throws Malformed.
template <class Struct>
Struct unpack(std::string_view bytes) {
  FieldReader reader(bytes);
  Struct value{};
  reader(value);
  if (!reader.at_end()) throw Malformed("bytes that are left over");
  return value;
}

}  // namespace rondo
