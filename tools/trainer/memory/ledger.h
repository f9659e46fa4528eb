// Counts the memory of every large array by its use, so that the textbook's bytes per parameter can
// be compared with the real ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tools/trainer/machine/machine.h"

namespace rondo::train {

/// Counts in bytes. Belongs to one rank; one thread at a time.
class Ledger {
 public:
  /// Arrays of a planning ledger are counted but take no memory. Nothing may read or write them.
  enum class Kind : std::uint8_t { taking, planning };

  /// Arrays lie in the memory of `machine`, which outlives them.
  explicit Ledger(const Machine& machine = host_machine(), Kind kind = Kind::taking)
      : machine_(&machine), kind_(kind) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  const Machine& machine() const { return *machine_; }
  /// For arrays from now on.
  void take_from(const Machine& machine) { machine_ = &machine; }
  /// Counts the bytes, and has them until the last reference goes; null in a planning ledger.
  std::shared_ptr<void> take(Use use, std::size_t bytes) {
    std::shared_ptr<void> memory;
    if (kind_ == Kind::taking) memory = machine_->take(use, bytes);
    void* const begin = memory.get();
    const auto index = static_cast<std::size_t>(use);
    total_peak_ = std::max(total_peak_, total_ += bytes);
    peak_[index] = std::max(peak_[index], held_[index] += bytes);
    const auto give = [this, index, bytes, memory = std::move(memory)](void*) mutable {
      memory.reset();
      held_[index] -= bytes;
      total_ -= bytes;
    };
    return {begin, give};
  }

  std::size_t held(Use use) const { return held_[static_cast<std::size_t>(use)]; }
  std::size_t peak(Use use) const { return peak_[static_cast<std::size_t>(use)]; }
  std::size_t held() const { return total_; }
  std::size_t peak() const { return total_peak_; }

 private:
  const Machine* machine_;
  Kind kind_;
  std::size_t total_ = 0;
  std::size_t total_peak_ = 0;
  std::array<std::size_t, uses.size()> held_{};
  std::array<std::size_t, uses.size()> peak_{};
};

/// Owns `size()` zeroed elements in the memory that a Ledger names and outlives. Movable.
template <class T>
class Array {
 public:
  Array() = default;
  Array(Ledger& ledger, Use use, std::size_t count)
      : machine_(&ledger.machine()),
        size_(count),
        memory_(count > 0 ? ledger.take(use, count * sizeof(T)) : nullptr) {}
  Array(Array&&) = default;
  Array& operator=(Array&&) = default;

  T* data() { return static_cast<T*>(memory_.get()); }
  const T* data() const { return static_cast<const T*>(memory_.get()); }
  /// 0 where it was moved away.
  std::size_t size() const { return memory_.use_count() > 0 ? size_ : 0; }
  bool empty() const { return size() == 0; }
  T& operator[](std::size_t index) { return data()[index]; }
  T* begin() { return data(); }  // so it is a span where one is wanted
  T* end() { return data() + size(); }
  std::span<T> span() { return {data(), size()}; }
  std::span<const T> span() const { return {data(), size()}; }
  const Machine& machine() const { return *machine_; }
  /// Copies from this process's own memory into the elements from `begin` on; done on return.
  void write(std::size_t begin, std::span<const T> values) {
    machine_->write(values.data(), data() + begin, values.size_bytes());
  }
  void zero() {
    if (memory_) machine_->zero(data(), size_ * sizeof(T));
  }

 private:
  const Machine* machine_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<void> memory_{};
};

}  // namespace rondo::train
