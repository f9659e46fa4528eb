// The ends of child processes, told to whoever started them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>

#include "tools/rondorun/process.h"

namespace rondo::launch {

/// Collects every child of this process, those too that were adopted because it is a subreaper.
class Children {
 public:
  using Handler = std::function<void(Ending)>;

  /// `handler` is called once, in reap().
  void add(pid_t child, Handler handler) { handlers_[child] = std::move(handler); }
  /// To be called in reap() whenever no child at all is left.
  void when_none_left(std::function<void()> handler) { none_left_ = std::move(handler); }

  /// On SIGCHLD.
  void reap();

 private:
  std::map<pid_t, Handler> handlers_;
  std::function<void()> none_left_;
};

}  // namespace rondo::launch
