#include "tools/trainer/memory/ledger.h"

#include <algorithm>
#include <string>

#include "rondo/error.h"

namespace rondo::train {

void Ledger::take(Use use, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(use);
  if (limit_ != 0 && total_ + bytes > limit_) {
    throw Error(ErrorCode::out_of_memory,
                std::to_string(bytes) + " bytes more for " + std::string(uses[index].name) +
                    " would make " + std::to_string(total_ + bytes) + ", the limit is " +
                    std::to_string(limit_),
                {.remedy = "a smaller model or batch, --checkpoint-activations, a strategy that "
                           "shards, or a larger --memory-limit"});
  }
  total_ += bytes;
  held_[index] += bytes;
  peak_[index] = std::max(peak_[index], held_[index]);
  total_peak_ = std::max(total_peak_, total_);
}

void Ledger::give(Use use, std::size_t bytes) noexcept {
  held_[static_cast<std::size_t>(use)] -= bytes;
  total_ -= bytes;
}

void Ledger::restart_peaks() {
  peak_ = held_;
  total_peak_ = total_;
}

}  // namespace rondo::train
