#include "core/schedule/formula.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

#include "rondo/error.h"

namespace rondo {
namespace {

using Arguments = std::vector<double>;

struct Function {
  std::string_view name;
  std::size_t least_arguments;
  std::size_t most_arguments;
  double (*value)(const Arguments&);
};

constexpr std::size_t any_number = 64;

/// One bits of 0, 1, ... below `end`, written as binary numbers: bit by bit, each of which is one
/// in the second half of every period.
double ones_below(double end) {
  double ones = 0;
  for (double bit = 1; bit < end; bit *= 2)
    ones += std::floor(end / (2 * bit)) * bit + std::max(0.0, std::fmod(end, 2 * bit) - bit);
  return ones;
}

const Function functions[] = {
    {"ceil", 1, 1, [](const Arguments& a) { return std::ceil(a[0]); }},
    {"floor", 1, 1, [](const Arguments& a) { return std::floor(a[0]); }},
    {"log2", 1, 1, [](const Arguments& a) { return std::log2(a[0]); }},
    {"ones", 1, 1, [](const Arguments& a) { return ones_below(a[0]); }},
    {"min", 1, any_number,
     [](const Arguments& a) { return *std::min_element(a.begin(), a.end()); }},
    {"max", 1, any_number,
     [](const Arguments& a) { return *std::max_element(a.begin(), a.end()); }},
};

/// Recursive descent: sum > product > signed > power > primary.
class Parser {
 public:
  Parser(std::string_view text, const Variables& variables) : text_(text), variables_(variables) {}

  double whole() {
    const double value = sum();
    if (peek() != '\0') fail("expected an operator or the end");
    return value;
  }

 private:
  double sum() {
    double value = product();
    for (;;) {
      if (take('+'))
        value += product();
      else if (take('-'))
        value -= product();
      else
        return value;
    }
  }

  double product() {
    double value = negated();
    for (;;) {
      if (take('*')) {
        value *= negated();
      } else if (take('/')) {
        const double divisor = negated();
        if (divisor == 0) fail("division by zero before");
        value /= divisor;
      } else if (starts_factor()) {
        value *= power();
      } else {
        return value;
      }
    }
  }

  double negated() { return take('-') ? -negated() : power(); }

  double power() {
    const double base = primary();
    return take('^') ? std::pow(base, negated()) : base;
  }

  double primary() {
    if (take('(')) {
      const double value = sum();
      expect(')');
      return value;
    }
    const char next = peek();
    if (std::isdigit(static_cast<unsigned char>(next)) != 0 || next == '.') return number();
    if (std::isalpha(static_cast<unsigned char>(next)) != 0) return named();
    fail("expected a number, a name or '('");
  }

  double number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
      ++at_;
    const std::string digits(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (end == digits.c_str() || *end != '\0') fail("'" + digits + "' is not a number, before");
    return value;
  }

  double named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    for (const Function& function : functions)
      if (function.name == name) return call(function);
    const auto found = variables_.find(name);
    if (found != variables_.end()) return found->second;
    at_ = begin;
    fail("unknown name '" + std::string(name) + "' (known: " + known() + ")");
  }

  double call(const Function& function) {
    expect('(');
    Arguments arguments{sum()};
    while (take(',')) arguments.push_back(sum());
    expect(')');
    if (arguments.size() > function.most_arguments || arguments.size() < function.least_arguments)
      fail(std::string(function.name) + " takes one argument, before");
    return function.value(arguments);
  }

  std::string known() const {
    std::string names;
    for (const auto& [name, value] : variables_) names += (names.empty() ? "" : ", ") + name;
    for (const Function& function : functions) names += ", " + std::string(function.name);
    return names;
  }

  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool starts_factor() {
    const char next = peek();
    return next == '(' || next == '.' || std::isalnum(static_cast<unsigned char>(next)) != 0;
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("expected '") + wanted + "'");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, "formula \"" + std::string(text_) + "\": " + what +
                                                 " at column " + std::to_string(at_ + 1));
  }

  std::string_view text_;
  const Variables& variables_;
  std::size_t at_ = 0;
};

}  // namespace

Variables cost_variables(int ranks) {
  const auto rounds = std::bit_width(static_cast<unsigned>(std::max(ranks, 1)) - 1);
  return {{"P", ranks}, {"q", static_cast<double>(rounds)}};
}

double evaluate(std::string_view formula, const Variables& variables) {
  return Parser(formula, variables).whole();
}

bool agrees(std::string_view formula, double value, const Variables& variables) {
  const double wanted = evaluate(formula, variables);
  return std::abs(value - wanted) <= 1e-9 * std::max(1.0, std::abs(wanted));
}

}  // namespace rondo
