// Says on a terminal what a program is busy with. The line goes before other output, and at the end.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

namespace rondo::bench {

/// Silent where standard error is no terminal.
class Progress {
 public:
  Progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() { erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "measuring 16 MB ..."
  void say(const std::string& what) const {
    if (terminal_) std::fprintf(stderr, "\r\033[K%s ...", what.c_str());
  }
  void erase() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool terminal_;
};

}  // namespace rondo::bench
