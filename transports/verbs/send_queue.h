// SendQueue: which sends of a queue pair are under way, and what memory they read.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "transports/verbs/open_port.h"

namespace rondo::verbs {

class SendQueue {
 public:
  /// One of so many sends is signalled, which frees the device's room for all of them.
  static constexpr std::uint32_t silent_sends = 16;

  /// At most so many are under way at a time.
  void set_capacity(std::uint32_t sends) {
    capacity_ = sends;
    uses_.resize(std::bit_ceil(sends));
  }
  bool has_room() const { return posted_ - done_ < capacity_; }
  bool is_acknowledged() const { return posted_ == done_; }
  /// The newest one asks for a completion.
  bool is_signalled() const { return signalled_ == posted_; }
  /// The newest one that reads the user's memory is not known to be acknowledged.
  bool reads_places() const { return done_ < newest_reader_; }

  /// Counts one more, and returns its number.
  std::uint64_t post() {
    ++posted_;
    uses_[place_of(posted_)] = 0;
    return posted_;
  }
  /// Whether the newest one asks for a completion: where that is wanted, or due.
  bool signals(bool wanted) {
    if (!wanted && posted_ - signalled_ < silent_sends) return false;
    signalled_ = posted_;
    return true;
  }
  /// The newest one reads memory of this use of the cached regions.
  void note_use(std::uint64_t use) {
    newest_reader_ = posted_;
    uses_[place_of(posted_)] = use;
  }
  /// `count`: the lower bits of the newest one that is acknowledged.
  void complete(std::uint32_t count) {
    done_ += (count - static_cast<std::uint32_t>(done_)) & request_count_mask;
  }
  /// Of those that are under way: which use of the cached regions the first one reads that reads
  /// any. What is not acknowledged may be sent once more, whether or not the peer has released it.
  std::uint64_t oldest_use() const {
    for (std::uint64_t number = done_ + 1; number <= newest_reader_; ++number) {
      if (const std::uint64_t use = uses_[place_of(number)]; use != 0) return use;
    }
    return RegionCache::Device::nothing_read;
  }

 private:
  std::size_t place_of(std::uint64_t number) const { return number & (uses_.size() - 1); }

  std::uint64_t capacity_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t signalled_ = 0;      ///< posted_ after the last signalled one
  std::uint64_t done_ = 0;           ///< those known to be acknowledged
  std::uint64_t newest_reader_ = 0;  ///< posted_ after the last one from the user's memory
  /// Which use of the cached regions each of the last sends reads; 0: none. The index is the send's
  /// number modulo the length, a power of two.
  std::vector<std::uint64_t> uses_{};
};

}  // namespace rondo::verbs
