// BlockBudget: counts the blocks that a device can run at once and that the kernels of a
// communicator rely on.
#pragma once

#include <string>

namespace rondo::resident {

/// What one communicator of this process takes on a device, as long as this lives. It is
/// always granted: the caller asks taken() and gives it back if that is too much. Threads: any.
class BlockBudget {
 public:
  /// `device`: its name, the same for all communicators of this process.
  BlockBudget(std::string device, unsigned blocks);
  ~BlockBudget();
  BlockBudget(const BlockBudget&) = delete;
  BlockBudget& operator=(const BlockBudget&) = delete;

  /// Gives back all but `blocks` of them.
  void reduce(unsigned blocks);
  /// Blocks that all communicators of this process took on the device so far, this one included.
  unsigned taken() const { return taken_; }

 private:
  const std::string device_;
  unsigned blocks_;
  unsigned taken_ = 0;
};

}  // namespace rondo::resident
