// Derivation: the communicators that are made from one: who is in them, and their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/communicator/membership.h"

namespace rondo::detail {

/// What a rank asks of a split. Ranks with a negative color, or that are gone, are in no child.
struct SplitWish {
  int color = -1;
  int key = 0;
};

/// Not thread-safe, but for what is const.
class Derivation {
 public:
  explicit Derivation(Membership parent) : parent_(std::move(parent)) {}

  const Membership& parent() const { return parent_; }
  /// Local, as all members know the same `wishes`, one for each. Empty where this rank's color is
  /// negative.
  std::optional<Membership> split(std::span<const SplitWish> wishes);
  /// Of the members that are not `excluded`. Local: they all exclude the same.
  Membership shrink(const std::vector<int>& excluded);
  /// A channel with a log of its own, for calls that do not go through the engine.
  std::shared_ptr<ControlChannel> open_stream_channel() const;

 private:
  /// `kind` keeps colors and other kinds of channels apart.
  std::shared_ptr<ControlChannel> open(std::uint64_t sequence, int kind) const;
  Membership child(const std::vector<int>& ranks, std::uint64_t sequence, int kind) const;

  Membership parent_;
  std::uint64_t splits_ = 0;
  std::uint64_t shrinks_ = 0;
};

}  // namespace rondo::detail
