// Text for people: complaints, numbers, sizes, lines of words and tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo::tool {

/// Throws Error{invalid_argument}: what is wrong, and what to do.
[[noreturn]] void reject(const std::string& what, const std::string& remedy);

/// "a < b" as "a &lt; b".
std::string html_text(std::string_view text);

/// As a shell takes it: quoted where it has to be.
std::string shell_word(const std::string& word);

/// As printf() writes it, up to 255 bytes.
template <class... Values>
std::string format(const char* form, Values... values) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(), form, values...);
  return text.data();
}

/// "1 call", "2 calls".
template <class Integer>
std::string counted(Integer number, const std::string& thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

/// Four significant digits.
std::string number_text(double value);
/// "40 B", "1.5 MiB", every byte of less than 100,000; `between` number and unit.
std::string size_text(double bytes, std::string_view between = " ");
/// The same, but KiB from 1024 bytes on.
std::string bytes_text(double bytes);

std::string padded(std::string text, std::size_t width);
/// A line of text, without blanks at its end.
std::string ended_line(std::string text);

/// "0-3,12": ascending numbers, several in a row by the first and the last.
std::string ranks_text(const std::vector<int>& ranks, std::string_view between = ",");

/// What stands between blanks.
std::vector<std::string> words_of(const std::string& text);

/// Appends `words` to `first`, cut into lines of `width`; later ones are indented.
std::string wrapped(const std::string& first, const std::vector<std::string>& words,
                    std::size_t indent, std::size_t width);

/// Columns are as wide as their widest cell. The first `left` ones are aligned left, the others
/// right.
class Table {
 public:
  explicit Table(std::size_t left) : left_(left) {}

  void row(std::vector<std::string> cells) {
    if (widths_.size() < cells.size()) widths_.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }
  std::string text() const {
    std::string all;
    for (const auto& cells : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string room(widths_[i] - cells[i].size(), ' ');
        line += (i == 0 ? "" : "  ") + (i < left_ ? cells[i] + room : room + cells[i]);
      }
      all += ended_line(std::move(line));
    }
    return all;
  }

 private:
  std::size_t left_;
  std::vector<std::size_t> widths_{};
  std::vector<std::vector<std::string>> rows_{};
};

}  // namespace rondo::tool
