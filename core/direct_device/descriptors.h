// Passing of descriptors: a rank gives the file descriptors of its memory to ranks in other
// processes of the host, over a Unix socket. It sends each only when it is asked for, because the
// kernel limits how many descriptors of a user may be on their way.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/base/unique_fd.h"

namespace rondo::direct_device {

/// Gives descriptors to processes of this user, on a thread of its own, as long as it lives.
class DescriptorServer {
 public:
  /// Throws Error{system} where no socket can be had.
  explicit DescriptorServer(std::vector<UniqueFd> files);
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  /// Where to ask: one word.
  const std::string& name() const { return name_; }

 private:
  void serve();
  void accept_askers(std::vector<UniqueFd>& askers) const;
  bool answer(const UniqueFd& asker) const;

  const std::vector<UniqueFd> files_;
  const std::string name_;
  UniqueFd listener_;   ///< the thread's
  const UniqueFd end_;  ///< can be read from once this goes
  std::thread thread_;
};

/// The other side.
class DescriptorClient {
 public:
  /// `patience`: for each answer. Throws Error{system} if no process answers, or another user's
  /// does.
  DescriptorClient(const std::string& name, std::chrono::milliseconds patience);
  /// The next descriptor, in the order of the giver's. Throws Error{system}: the giver is gone or
  /// silent, or this process has no descriptor left.
  UniqueFd next();

 private:
  const std::chrono::milliseconds patience_;
  UniqueFd socket_{};
  std::uint64_t number_ = 0;  ///< of the next one
};

}  // namespace rondo::direct_device
