#include "tools/rondorun/children.h"

#include <sys/wait.h>

#include <cerrno>

namespace rondo::launch {

void Children::reap() {
  while (true) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, WNOHANG);
    if (child == 0) return;
    if (child < 0) break;
    const auto found = handlers_.find(child);
    if (found == handlers_.end()) continue;  // adopted
    const Handler handler = std::move(found->second);
    handlers_.erase(found);
    handler(Ending(status));
  }
  if (errno == ECHILD && none_left_) none_left_();
}

}  // namespace rondo::launch
