// Reports the ends of child processes to the code that started them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>

#include "tools/rondorun/process.h"

namespace rondo::launch {

/// Collects every child of this process, including those it adopted as a subreaper.
class Children {
 public:
  using Handler = std::function<void(Ending)>;

  /// `handler` is called once, in reap().
  void add(pid_t child, Handler handler) { handlers_[child] = std::move(handler); }
  /// `handler` is called in reap() whenever no child at all is left.
  void when_none_left(std::function<void()> handler) { none_left_ = std::move(handler); }

  /// Call it on SIGCHLD.
  void reap();

 private:
  std::map<pid_t, Handler> handlers_;
  std::function<void()> none_left_;
};

}  // namespace rondo::launch
