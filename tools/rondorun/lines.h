// Cuts a stream of bytes into lines.
#pragma once

#include <string>
#include <string_view>

namespace rondo::launch {

/// Collects bytes and gives them back as whole lines, each beginning with a prefix. A carriage
/// return ends a line too, unless a newline follows: progress lines overwrite themselves that way.
class LineCutter {
 public:
  explicit LineCutter(std::string prefix) : prefix_(std::move(prefix)) {}

  /// The lines that `bytes` complete, ready to be written, each with its own end.
  std::string add(std::string_view bytes);
  /// The unfinished line as it stands, or nothing. It begins with the prefix only if no part of it
  /// was given before.
  std::string take_partial();
  bool has_partial() const { return !partial_.empty(); }
  /// True after take_partial(), until that line's end has been given.
  bool inside_line() const { return inside_line_; }
  /// The rest of the line will be shown as a line of its own.
  void restart_line() { inside_line_ = false; }

 private:
  /// A line this long is given in pieces, so that memory stays bounded.
  static constexpr std::size_t longest_line = std::size_t{1} << 20;

  void begin_line(std::string& lines) const;

  std::string prefix_;
  std::string partial_;
  bool inside_line_ = false;
};

}  // namespace rondo::launch
