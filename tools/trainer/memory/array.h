// An array in the memory that a Ledger names. The Ledger counts it for as long as it lives.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "rondo/memory.h"
#include "tools/trainer/memory/supply.h"

namespace rondo::train {

/// Whether arrays of this use go through collectives, so that peers should reach them directly.
constexpr bool travels(Use use) {
  return use == Use::parameters || use == Use::gradients || use == Use::buckets ||
         use == Use::working;
}

/// Where an array lies: in the ledger's supply, or in this process's own memory in any case.
enum class Lies : unsigned char { with_supply, here };

/// Owns `size()` zeroed elements; this process can read them unless they lie in a supply. The
/// ledger must outlive it. Movable.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  /// Throws Error{out_of_memory} beyond the limit of the ledger or the machine.
  Array(Ledger& ledger, Use use, std::size_t count, Lies lies = Lies::with_supply) : Array() {
    ledger.take(use, count * sizeof(T));
    ledger_ = &ledger;  // from here on the destructor gives back, should the rest throw
    use_ = use;
    size_ = count;
    if (ledger.plans() || count == 0) return;
    if (ledger.supply() != nullptr && lies == Lies::with_supply) {
      take_supplied();
    } else {
      travels(use) ? take_shared() : take_own();
    }
  }
  ~Array() { clear(); }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    Array taken(std::move(other));
    swap(taken);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  /// Copies from this process's own memory into the elements from `begin` on; done on return.
  void write(std::size_t begin, std::span<const T> values) {
    if (values.empty()) return;
    if (supply_ != nullptr)
      return supply_->write(values.data(), data_ + begin, values.size_bytes());
    std::copy(values.begin(), values.end(), data_ + begin);
  }
  void zero() {
    if (data_ == nullptr) return;
    if (supply_ != nullptr) return supply_->zero(data_, size_ * sizeof(T));
    std::memset(static_cast<void*>(data_), 0, size_ * sizeof(T));
  }

 private:
  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };

  void take_supplied() {
    supply_ = ledger_->supply();
    supplied_ = supply_->take(use_, size_ * sizeof(T));
    data_ = static_cast<T*>(supplied_.get());
  }
  void take_shared() {
    shared_ = allocate(size_ * sizeof(T));
    data_ = static_cast<T*>(shared_.data());
  }
  void take_own() {
    constexpr std::size_t line = 64;
    own_.reset(std::aligned_alloc(line, (size_ * sizeof(T) + line - 1) / line * line));
    if (!own_) throw std::bad_alloc();
    data_ = static_cast<T*>(own_.get());
    zero();
  }
  void clear() noexcept {
    if (ledger_ != nullptr) ledger_->give(use_, size_ * sizeof(T));
    ledger_ = nullptr;
  }
  void swap(Array& other) noexcept {
    std::swap(ledger_, other.ledger_);
    std::swap(use_, other.use_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    std::swap(supply_, other.supply_);
    std::swap(supplied_, other.supplied_);
    std::swap(shared_, other.shared_);
    std::swap(own_, other.own_);
  }

  Ledger* ledger_ = nullptr;
  Use use_ = Use::parameters;
  std::size_t size_ = 0;
  T* data_ = nullptr;
  Supply* supply_ = nullptr;
  std::shared_ptr<void> supplied_{};
  Memory shared_{};
  std::unique_ptr<void, Free> own_{};
};

}  // namespace rondo::train
