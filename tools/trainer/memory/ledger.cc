#include "tools/trainer/memory/ledger.h"

#include <string>

#include "rondo/error.h"

namespace rondo::train {

std::shared_ptr<void> Ledger::take(Use use, std::size_t bytes) {
  const auto index = static_cast<std::size_t>(use);
  if (limit_ != 0 && total_ + bytes > limit_) {
    throw Error(ErrorCode::out_of_memory,
                std::to_string(bytes) + " bytes more for " + std::string(uses[index].name) +
                    " would make " + std::to_string(total_ + bytes) + ", the limit is " +
                    std::to_string(limit_),
                {.remedy = "a smaller model or batch, --checkpoint-activations, a strategy that "
                           "shards, or a larger --memory-limit"});
  }
  std::shared_ptr<void> memory;
  if (kind_ == Kind::taking) memory = machine_->take(use, bytes);
  void* const begin = memory.get();
  total_ += bytes;
  held_[index] += bytes;
  peak_[index] = std::max(peak_[index], held_[index]);
  total_peak_ = std::max(total_peak_, total_);
  const auto give = [this, index, bytes, memory = std::move(memory)](void*) mutable {
    memory.reset();
    held_[index] -= bytes;
    total_ -= bytes;
  };
  return {begin, give};
}

}  // namespace rondo::train
