// Numbering: how a communicator's calls are identified: by their order, and by fingerprints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/control/call.h"

namespace rondo::detail {

/// A send to, or a receive from, `peer`. `call.root` is 0 on both sides.
struct Message {
  Call call{};
  int peer = 0;
  bool sends = false;
};

/// Under the progress lock.
class Numbering {
 public:
  struct Numbered {
    std::uint64_t sequence;
    std::uint64_t fingerprint;
  };

  /// Collectives are entered in `log`.
  Numbering(CallLog& log, int ranks)
      : log_(log),
        sent_(static_cast<std::size_t>(ranks)),
        received_(static_cast<std::size_t>(ranks)) {}

  /// The fingerprints of all collectives so far, mixed.
  std::uint64_t history() const { return history_; }
  /// The next collective of this rank. `apart`: calls that begin after it may end before it.
  Numbered number(const Call& call, std::uint64_t fingerprint_base, bool apart = false) {
    Call numbered = call;
    numbered.sequence = ++sequence_;
    if (apart) {
      log_.begin_apart(numbered);
    } else {
      log_.begin(numbered);
    }
    const std::uint64_t mixed = fingerprint(fingerprint_base, numbered.sequence);
    history_ = history_ * 0x9e3779b97f4a7c15ULL + mixed;
    return {numbered.sequence, mixed};
  }
  /// The next message with this peer in this direction.
  Numbered number(const Message& message) {
    Call numbered = message.call;
    numbered.sequence =
        ++(message.sends ? sent_ : received_)[static_cast<std::size_t>(message.peer)];
    return {numbered.sequence, fingerprint(numbered)};
  }

 private:
  CallLog& log_;
  std::uint64_t sequence_ = 0;  ///< collective calls made
  std::uint64_t history_ = 0;
  std::vector<std::uint64_t> sent_;  ///< by peer: sends made
  std::vector<std::uint64_t> received_;
};

}  // namespace rondo::detail
