// Room: blocks that a device can run at once and that a communicator's kernels count on.
#pragma once

#include <string>

namespace rondo::resident {

/// What one communicator of this process takes on a device, as long as this lives. Taken without a
/// question: who makes it asks taken() and gives it back where that is too much. Threads: any.
class Room {
 public:
  /// `device`: its name, the same for all communicators of this process.
  Room(std::string device, unsigned blocks);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Blocks that all communicators of this process took on the device so far, this one included.
  unsigned taken() const { return taken_; }

 private:
  const std::string device_;
  const unsigned blocks_;
  unsigned taken_ = 0;
};

}  // namespace rondo::resident
