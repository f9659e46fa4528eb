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

/// Each wait has a silence of its own. What comes directly moves nothing in the engine, so it is noted
/// here.
template <class Pending>
void OneSided::await(const Wait& wait, Pending is_pending) {
  if (!is_pending()) return;
  struct Waiting {
    explicit Waiting(std::optional<Wait>& what) : what(what) {}
    ~Waiting() { what.reset(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    std::optional<Wait>& what;
  };
  wait_ = wait;
  const Waiting waiting(wait_);
  state_->progress().note_move();
  state_->progress().drive_while([&] {
    require_usable();
    if (progress_counts()) state_->progress().note_move();
    return is_pending();
  });
}

}  // namespace rondo::detail
