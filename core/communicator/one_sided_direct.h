// The waiting of one-sided calls, and their work in shared memory. Private to the files of OneSided.
#pragma once

#include "core/communicator/one_sided.h"

namespace rondo::detail {

/// Throws where the peer has taken its blocks away.
class OneSided::DirectWork {
 public:
  DirectWork(OneSided& calls, int peer);
  ~DirectWork() { end(); }
  DirectWork(const DirectWork&) = delete;
  DirectWork& operator=(const DirectWork&) = delete;

 private:
  void end() const;

  void* theirs_;  ///< the peer's counters; null: the block is this rank's own
  int rank_;
};

/// Lives while this rank waits for a peer. Each wait has a silence of its own.
class OneSided::Waiting {
 public:
  Waiting(OneSided& calls, const Wait& wait) : wait_(calls.wait_) {
    wait_ = wait;
    calls.state_->progress().note_move();
  }
  ~Waiting() { wait_.reset(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::optional<Wait>& wait_;
};

/// Ends with an error as soon as the communicator has failed. What comes directly moves nothing in the
/// engine, so it is noted here.
template <class Pending>
void OneSided::await(const Wait& wait, Pending is_pending) {
  if (!is_pending()) return;
  const Waiting waiting(*this, wait);
  state_->progress().drive_while([&] {
    require_usable();
    if (progress_counts()) state_->progress().note_move();
    return is_pending();
  });
}

}  // namespace rondo::detail
