// Warnings of what strangers may cause as often as they like.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "core/base/log.h"

namespace rondo {

/// Logs the first 8 warnings, then the 16th, 32nd and so on, with their number. One thread at a time.
class RareLog {
 public:
  explicit RareLog(int rank = -1) : rank_(rank) {}

  void warn(const std::string& text) {
    if (++count_ > 8 && !std::has_single_bit(count_)) return;
    log(LogLevel::warn, rank_,
        text + (count_ < 8 ? "" : " (" + std::to_string(count_) + " so far; not all are shown)"));
  }

 private:
  int rank_;
  std::uint64_t count_ = 0;
};

}  // namespace rondo
