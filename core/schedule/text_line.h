// TextLine: one line of a schedule's text, read from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/schedule/formula.h"

namespace rondo {

/// Every function skips blanks first. What is not as expected is an Error{invalid_argument} with
/// source, line, column, what was expected and what is there.
class TextLine {
 public:
  /// `#` outside quotes begins a comment. The text and `source` outlive the line.
  TextLine(std::string_view text, int number, std::string_view source);

  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  /// Letters and underscores.
  std::string_view word(const std::string& expected);
  /// A letter, then letters, digits and underscores; empty, and nothing taken, where none is.
  std::string_view take_name();
  /// True, and taken, when the next word is this one.
  bool take_word(std::string_view wanted);
  void keyword(std::string_view wanted);
  bool take(std::string_view sign);
  void sign(std::string_view wanted);
  std::int64_t number(const std::string& expected, std::int64_t least, std::int64_t most);
  Formula formula(const std::string& expected, Formula::Names names);
  /// A run of characters without spaces and quotes, or anything in double quotes.
  std::string name(const std::string& expected);
  void end();

  /// Where the next thing begins, for fail_at() and back_to().
  std::size_t mark() { return (skip(), at_); }
  void back_to(std::size_t column) { at_ = column; }
  [[noreturn]] void fail_at(std::size_t column, const std::string& what);
  [[noreturn]] void fail(const std::string& what) const;
  int line() const { return number_; }

 private:
  void skip();

  std::string_view text_;
  int number_;
  std::string_view source_;
  std::size_t at_ = 0;
};

/// "source:line:column: ".
std::string place_text(std::string_view source, int line, std::size_t column);

}  // namespace rondo
