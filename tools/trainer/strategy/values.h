// An array of float32 or 16-bit floats, chosen when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/ledger.h"

namespace rondo::train {

/// Owns `size()` zeroed elements, counted in the ledger. Movable.
class Values {
 public:
  Values() = default;
  Values(Ledger& ledger, Use use, Precision precision, std::size_t count)
      : precision_(precision), bytes_(ledger, use, count * info(precision).bytes) {}

  std::size_t size() const { return bytes_.size() / info(precision_).bytes; }
  bool empty() const { return bytes_.empty(); }
  bool is_narrow() const { return precision_ != Precision::float32; }
  DataType type() const { return info(precision_).wire; }
  void zero() { bytes_.zero(); }

  /// Where element `index` lies.
  std::byte* at(std::size_t index) { return bytes_.data() + index * info(precision_).bytes; }
  std::span<const std::byte> bytes(std::size_t begin, std::size_t count) {
    return {at(begin), count * info(precision_).bytes};
  }
  /// float32 only: the elements themselves.
  std::span<float> floats(std::size_t begin, std::size_t count) {
    return {reinterpret_cast<float*>(at(begin)), count};
  }
  /// `from` is float32 in this process's own memory.
  void write(std::size_t begin, std::span<const float> from);
  /// 16 bits only: to float32; adding, rounding once.
  void read(std::size_t begin, std::span<float> into) {
    widen(halves(begin, into.size()), into, precision_);
  }
  void add(std::size_t begin, std::span<const float> terms);
  /// Adds terms of the same type.
  void add(std::size_t begin, Values& terms, std::size_t terms_begin, std::size_t count);

 private:
  std::span<std::uint16_t> halves(std::size_t begin, std::size_t count) {
    return {reinterpret_cast<std::uint16_t*>(at(begin)), count};
  }

  Precision precision_ = Precision::float32;
  Array<std::byte> bytes_{};
};

/// Arrays that are taken for a short while, again and again. Memory is kept for the next array of
/// the same size. Contents are undefined.
class Pool {
 public:
  Pool(Ledger& ledger, Use use, Precision precision)
      : ledger_(&ledger), use_(use), precision_(precision) {}

  Values take(std::size_t count);
  void give(Values values) { idle_.push_back(std::move(values)); }

 private:
  Ledger* ledger_;
  Use use_;
  Precision precision_;
  std::vector<Values> idle_{};
};

}  // namespace rondo::train
