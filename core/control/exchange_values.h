// Values that all ranks of a communicator tell each other.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/archive.h"
#include "rondo/error.h"

namespace rondo {

/// Collective: everyone's value, by rank. `channel` points to what has exchange(), as
/// ControlChannel. Throws what that throws, and Error{mismatch} that names the rank where another
/// one said something else.
template <class Value, class Channel>
std::vector<Value> exchange_values(const Channel& channel, const Value& mine) {
  const std::vector<std::string> said = channel->exchange(pack(mine));
  std::vector<Value> all;
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    try {
      all.push_back(unpack<Value>(said[rank]));
    } catch (const Malformed& wrong) {
      throw Error(
          ErrorCode::mismatch,
          "what rank " + std::to_string(rank) + " said cannot be read: " + wrong.what(),
          {.peer = static_cast<int>(rank),
           .remedy = "make the same communicators in the same order on every rank, with the "
                     "same version of rondo"});
    }
  }
  return all;
}

}  // namespace rondo
