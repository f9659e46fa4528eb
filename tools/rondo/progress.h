// Says on a terminal what a command is busy with. The line goes when the object does.
#pragma once

#include <unistd.h>

#include <cstdio>

#include "tools/rondo/format.h"

namespace rondo::tool {

class Progress {
 public:
  Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  /// As printf() takes it.
  template <class... Values>
  void say(const char* form, Values... values) const {
    if (shown_) std::fprintf(stderr, "\r\033[K%s ...", format(form, values...).c_str());
  }

 private:
  bool shown_;
};

}  // namespace rondo::tool
