// Values from every rank to every rank, through rondo itself.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "rondo/rondo.h"

namespace rondo::bench {

/// Rank r's values lie at [r * own.size(), (r + 1) * own.size()). Their number is the same on every
/// rank.
template <class Value>
std::vector<Value> gather_all(Communicator& communicator, std::span<const Value> own) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::vector<Value> all(own.size() * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(own.data(), all.data(), own.size_bytes(), DataType::uint8);
  return all;
}

template <class Value>
std::vector<Value> gather_all(Communicator& communicator, const Value& own) {
  return gather_all(communicator, std::span<const Value>(&own, 1));
}

}  // namespace rondo::bench
