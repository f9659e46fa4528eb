#include "core/resident/block_budget.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/undying.h"

namespace rondo::resident {
namespace {

/// Global, as devices are; never destroyed: communicators may end while the process exits.
struct Taken {
  std::mutex mutex{};
  std::map<std::string, unsigned> by_device{};  ///< blocks; under mutex
};

Taken& all_taken() {
  static Taken& taken = *undying<Taken>();
  return taken;
}

}  // namespace

BlockBudget::BlockBudget(std::string device, unsigned blocks)
    : device_(std::move(device)), blocks_(blocks) {
  const std::scoped_lock lock(all_taken().mutex);
  taken_ = all_taken().by_device[device_] += blocks_;
}

void BlockBudget::reduce(unsigned blocks) {
  const std::scoped_lock lock(all_taken().mutex);
  all_taken().by_device[device_] -= blocks_ - blocks;
  blocks_ = blocks;
}

BlockBudget::~BlockBudget() {
  const std::scoped_lock lock(all_taken().mutex);
  all_taken().by_device[device_] -= blocks_;
}

}  // namespace rondo::resident
