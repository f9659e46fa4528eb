// Values that all ranks of a communicator tell each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/archive.h"
#include "rondo/error.h"

namespace rondo {

/// What rank `rank` said. Throws Error{mismatch} that names the rank where it said something else.
template <class Value>
Value unpack_said(const std::string& said, std::size_t rank) {
  try {
    return unpack<Value>(said);
  } catch (const Malformed& wrong) {
    throw Error(ErrorCode::mismatch,
                "what rank " + std::to_string(rank) + " said cannot be read: " + wrong.what(),
                {.peer = static_cast<int>(rank),
                 .remedy = "make the same communicators in the same order on every rank, with the "
                           "same version of rondo"});
  }
}

/// Collective: everyone's value, by rank. `channel` points to what has exchange(), as
/// ControlChannel. Throws what that throws, and what unpack_said() does.
template <class Value, class Channel>
std::vector<Value> exchange_values(const Channel& channel, const Value& mine) {
  const std::vector<std::string> said = channel->exchange(pack(mine));
  std::vector<Value> all;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    all.push_back(unpack_said<Value>(said[rank], rank));
  return all;
}

/// The same among the ranks that live: see ControlChannel::exchange_living().
template <class Value, class Channel>
std::vector<std::optional<Value>> exchange_values_of_living(const Channel& channel,
                                                            const Value& mine,
                                                            std::chrono::milliseconds longest) {
  const auto said = channel->exchange_living(pack(mine), longest);
  std::vector<std::optional<Value>> all(said.size());
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (said[rank]) all[rank] = unpack_said<Value>(*said[rank], rank);
  return all;
}

}  // namespace rondo
