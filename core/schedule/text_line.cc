#include "core/schedule/text_line.h"

#include <algorithm>
#include <cctype>

#include "rondo/error.h"

namespace rondo {
namespace {

/// Where a '#' outside quotes is, or the end.
std::size_t comment(std::string_view text) {
  bool quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quotes = !quotes;
    if (text[i] == '#' && !quotes) return i;
  }
  return text.size();
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// The first word of a line's rest, as far as a terminal can show it.
std::string shown(std::string_view rest) {
  constexpr std::size_t most = 40;
  if (rest.empty()) return "the end of the line";
  std::string word(rest.substr(0, std::min(rest.find_first_of(" \t\r"), rest.size())));
  if (word.size() > most) word = word.substr(0, most) + "...";
  const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
  std::ranges::replace_if(word, is_control, '?');
  return "'" + word + "'";
}

}  // namespace

std::string place_text(std::string_view source, int line, std::size_t column) {
  return std::string(source) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

TextLine::TextLine(std::string_view text, int number, std::string_view source)
    : text_(text.substr(0, comment(text))), number_(number), source_(source) {}

void TextLine::skip() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

std::string_view TextLine::word(const std::string& expected) {
  skip();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
  if (at_ == begin) fail("expected " + expected);
  return text_.substr(begin, at_ - begin);
}

std::string_view TextLine::take_name() {
  skip();
  const std::size_t begin = at_;
  if (at_ < text_.size() && text_[at_] != '_' && is_letter(text_[at_]))
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  return text_.substr(begin, at_ - begin);
}

bool TextLine::take_word(std::string_view wanted) {
  const std::size_t before = mark();
  if (!at_end() && is_letter(text_[at_]) && word("a word") == wanted) return true;
  at_ = before;
  return false;
}

void TextLine::keyword(std::string_view wanted) {
  if (!take_word(wanted)) fail("expected '" + std::string(wanted) + "'");
}

bool TextLine::take(std::string_view sign) {
  skip();
  if (!text_.substr(at_).starts_with(sign)) return false;
  at_ += sign.size();
  return true;
}

void TextLine::sign(std::string_view wanted) {
  if (!take(wanted)) fail("expected '" + std::string(wanted) + "'");
}

std::int64_t TextLine::number(const std::string& expected, std::int64_t least, std::int64_t most) {
  skip();
  const std::size_t begin = at_;
  std::int64_t value = 0;
  while (at_ < text_.size() && is_digit(text_[at_]))
    value = std::min<std::int64_t>(value * 10 + (text_[at_++] - '0'), std::int64_t{1} << 40);
  if (at_ > begin && value >= least && value <= most) return value;
  fail_at(begin, "expected " + expected + ", a number from " + std::to_string(least) + " to " +
                     std::to_string(most));
}

Formula TextLine::formula(const std::string& expected, Formula::Names names) {
  const std::size_t begin = mark();
  try {
    return Formula::parse(text_, at_, names);
  } catch (const Formula::Wrong& wrong) {
    const bool nothing = wrong.at <= begin && wrong.what.starts_with("expected a number");
    fail_at(std::max(wrong.at, begin), nothing ? "expected " + expected : wrong.what);
  }
}

std::string TextLine::name(const std::string& expected) {
  skip();
  const bool quotes = take("\"");
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '"' && (quotes || !is_blank(text_[at_]))) ++at_;
  if (at_ == begin) fail("expected " + expected);
  std::string found(text_.substr(begin, at_ - begin));
  if (quotes) sign("\"");
  return found;
}

void TextLine::end() {
  if (!at_end()) fail("expected the end of the line");
}

void TextLine::fail_at(std::size_t column, const std::string& what) {
  at_ = column;
  fail(what);
}

void TextLine::fail(const std::string& what) const {
  throw Error(ErrorCode::invalid_argument,
              place_text(source_, number_, at_ + 1) + what + ", found " + shown(text_.substr(at_)));
}

}  // namespace rondo
