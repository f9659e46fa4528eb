// Backoff: how a waiting rank spends its time. Spin while an answer is likely within a hop's
// latency, then yield the core, then ask the caller to sleep.
#pragma once

#include <cstdint>

namespace rondo::detail {

class Backoff {
 public:
  /// `crowded`: ranks outnumber cores here, so spinning keeps somebody else from answering.
  explicit Backoff(bool crowded);

  void reset() { idle_ = 0; }
  /// Spins or yields once. True when it is time to sleep instead.
  bool pause();
  /// True every so often: time to look at what is costly to look at.
  bool look_around() const { return idle_ % 32 == 31; }

 private:
  std::uint32_t spins_;
  std::uint32_t yields_;
  std::uint32_t idle_ = 0;
};

}  // namespace rondo::detail
