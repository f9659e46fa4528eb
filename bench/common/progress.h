// A line on the terminal that names the current measurement. It is erased before other output.
#pragma once

#include <cstddef>
#include <string_view>

namespace rondo::bench {

/// Silent unless `wanted` and standard error is a terminal.
class Progress {
 public:
  explicit Progress(bool wanted);
  ~Progress() { erase(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// "measuring 16 MB (5 of 9) ..."
  void show(std::size_t bytes, std::size_t step, std::size_t steps);
  void erase();

 private:
  bool enabled_;
  bool shown_ = false;
};

}  // namespace rondo::bench
