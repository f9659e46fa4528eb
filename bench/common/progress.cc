#include "bench/common/progress.h"

#include <unistd.h>

#include <cstdio>

#include "bench/common/size.h"

namespace rondo::bench {

Progress::Progress(bool wanted) : enabled_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::size_t bytes, std::size_t step, std::size_t steps) {
  if (!enabled_) return;
  erase();
  std::fprintf(stderr, "measuring %s (%zu of %zu) ...", format_size(bytes).c_str(), step, steps);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::erase() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace rondo::bench
