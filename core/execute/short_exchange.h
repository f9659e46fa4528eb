// One rank's part of an all_to_all_v of short blocks whose caller waits for it. Each message is one
// frame that moves between its channel and the caller's memory, without an operation of its own.
// The channels carry the same as with operations, so each rank is free to choose either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "rondo/types.h"

namespace rondo::detail {

struct ShortMessage {
  std::int32_t peer = 0;
  std::byte* memory = nullptr;  ///< sent from, and then only read; or received into
  std::size_t bytes = 0;
  std::uint64_t fingerprint = 0;
};

/// Only the holder of the progress lock touches it.
struct ShortExchange {
  DataType type = DataType::uint8;
  std::vector<ShortMessage> sends{};     ///< those that have not left yet
  std::vector<ShortMessage> receives{};  ///< those that have not come yet
  std::exception_ptr error{};            ///< set before `done`
  bool done = true;

  std::size_t left() const { return sends.size() + receives.size(); }
};

}  // namespace rondo::detail
