#include "tools/rondorun/lines.h"

#include <utility>

namespace rondo::launch {
namespace {

/// One past the end of the first line in `text`, or npos. A carriage return at the very end may yet
/// be followed by its newline.
std::size_t line_end(std::string_view text, std::size_t from) {
  const auto end = text.find_first_of("\r\n", from);
  if (end == std::string_view::npos) return end;
  if (text[end] == '\n') return end + 1;
  if (end + 1 == text.size()) return std::string_view::npos;
  return text[end + 1] == '\n' ? end + 2 : end + 1;
}

}  // namespace

std::string LineCutter::add(std::string_view bytes) {
  // The part before this has no line's end in it, but perhaps a carriage return at its end.
  std::size_t from = partial_.empty() ? 0 : partial_.size() - 1;
  partial_ += bytes;
  std::string lines;
  std::size_t begin = 0;
  for (auto end = line_end(partial_, from); end != std::string::npos;
       end = line_end(partial_, from)) {
    begin_line(lines);
    lines.append(partial_, begin, end - begin);
    inside_line_ = false;
    begin = from = end;
  }
  partial_.erase(0, begin);
  if (partial_.size() > longest_line) lines += take_partial();
  return lines;
}

std::string LineCutter::take_partial() {
  std::string text;
  if (partial_.empty()) return text;
  begin_line(text);
  text += std::exchange(partial_, {});
  inside_line_ = text.back() != '\r';
  return text;
}

void LineCutter::begin_line(std::string& lines) const {
  if (!inside_line_) lines += prefix_;
}

}  // namespace rondo::launch
