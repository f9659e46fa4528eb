#include "core/schedule/formula.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/schedule/formula_functions.h"
#include "rondo/error.h"

namespace rondo {
namespace {

using formula::first_called;
using formula::Function;
using formula::functions;
using formula::operation;

constexpr std::size_t deepest = 64;  ///< most operands that wait for their operator
constexpr int most_nested = 100;     ///< parentheses, signs and powers inside each other

constexpr std::uint8_t number_part = 200;
constexpr std::uint8_t value_part = 201;
constexpr std::uint8_t unless_part = 202;  ///< jumps where the value before is 0, and it stays
constexpr std::uint8_t if_part = 203;      ///< where it is not 0

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

/// Recursive descent: or > and > not > comparison > sum > product > signed > power > primary.
class FormulaParser {
 public:
  FormulaParser(std::string_view text, std::size_t& at, Formula::Names names)
      : text_(text), at_(at), names_(names) {}

  Formula whole() {
    disjunction();
    if (made_.parts_.size() == 1 && made_.parts_[0].operation == number_part)
      return Formula(made_.parts_[0].number);
    return std::move(made_);
  }

 private:
  void disjunction() {
    conjunction();
    while (take_word("or")) decided("or", if_part, [this] { conjunction(); });
  }

  void conjunction() {
    negation();
    while (take_word("and")) decided("and", unless_part, [this] { negation(); });
  }

  /// Reads the part behind `word`, which need not be computed where the part before decides.
  template <class Read>
  void decided(std::string_view word, std::uint8_t jump, Read&& read) {
    const std::size_t at = made_.parts_.size();
    made_.parts_.push_back({.operation = jump});
    read();
    add(word, 2);
    made_.parts_[at].number = static_cast<double>(made_.parts_.size());
  }

  void negation() {
    if (!take_word("not")) return comparison();
    nested([this] { negation(); });
    add("not", 1);
  }

  void comparison() {
    sum();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      sum();
      return add(sign, 2);
    }
  }

  void sum() {
    product();
    for (;;) {
      const std::string_view sign = take("+") ? "+" : take("-") ? "-" : "";
      if (sign.empty()) return;
      product();
      add(sign, 2);
    }
  }

  void product() {
    negated();
    for (;;) {
      const std::string_view sign = take("*") ? "*" : take("/") ? "/" : take("%") ? "%" : "";
      if (!sign.empty())
        negated();
      else if (starts_factor())
        power();
      else
        return;
      add(sign.empty() ? "*" : sign, 2);
    }
  }

  void negated() {
    if (!take("-")) return power();
    nested([this] { negated(); });
    add("negated", 1);
  }

  void power() {
    primary();
    if (!take("^")) return;
    nested([this] { negated(); });
    add("^", 2);
  }

  void primary() {
    const char next = peek();
    if (take("(")) {
      nested([this] { disjunction(); });
      expect(")");
    } else if (std::isdigit(static_cast<unsigned char>(next)) != 0 ||
               (next == '.' && !at_range())) {
      number();
    } else if (std::isalpha(static_cast<unsigned char>(next)) != 0) {
      named();
    } else {
      fail("expected a number, a name or '('");
    }
    primary_end_ = at_;
  }

  void number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !at_range() &&
           (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.'))
      ++at_;
    const std::string digits(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    if (end == digits.c_str() || *end != '\0') fail("'" + digits + "' is not a number, before");
    push({.operation = number_part, .number = value});
  }

  void named() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (Formula::is_function(name)) return call(operation(name));
    // From the end: what was named last hides what has the same name.
    const auto found = std::find(names_.rbegin(), names_.rend(), name);
    if (found != names_.rend())
      return push(
          {.operation = value_part, .number = static_cast<double>(names_.rend() - found - 1)});
    at_ = begin;
    fail("unknown name '" + std::string(name) + "' (known: " + known() + ")");
  }

  void call(std::uint8_t function) {
    const Function& row = functions()[function];
    expect("(");
    std::size_t arguments = 0;
    do {
      nested([this] { disjunction(); });
      ++arguments;
    } while (take(","));
    expect(")");
    if (arguments > row.most_arguments || arguments < row.least_arguments)
      fail(std::string(row.name) + " takes " +
           (row.least_arguments == 1 ? "one argument" : "two arguments") + ", before");
    add(row.name, arguments);
  }

  /// The first of them.
  std::string known() const {
    constexpr int most_listed = 20;
    std::string all;
    int listed = 0;
    for (const std::string& name : names_)
      if (!name.empty() && ++listed <= most_listed) all += name + ", ";
    for (const Function& row : functions().subspan(first_called))
      all += std::string(row.name) + ", ";
    return all.substr(0, all.size() - 2);
  }

  template <class Read>
  void nested(Read&& read) {
    if (++nested_ > most_nested) fail("expected fewer formulas inside each other");
    read();
    --nested_;
  }

  void push(Formula::Part part) {
    if (++depth_ > deepest) fail("expected a shorter formula");
    made_.parts_.push_back(part);
  }
  void add(std::string_view name, std::size_t arguments) {
    made_.parts_.push_back(
        {.operation = operation(name), .arguments = static_cast<std::uint8_t>(arguments)});
    depth_ -= arguments - 1;
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  /// At "..", which is between two formulas.
  bool at_range() const { return text_.substr(at_).starts_with(".."); }
  /// Side by side with the factor before.
  bool starts_factor() const {
    if (at_ != primary_end_ || at_ >= text_.size() || at_range()) return false;
    const char next = text_[at_];
    return next == '(' || next == '.' || is_name(next);
  }
  bool take(std::string_view wanted) {
    peek();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }
  bool take_word(std::string_view wanted) {
    const std::size_t before = at_;
    if (take(wanted) && (at_ == text_.size() || !is_name(text_[at_]))) return true;
    at_ = before;
    return false;
  }
  void expect(std::string_view wanted) {
    if (!take(wanted)) fail("expected '" + std::string(wanted) + "'");
  }

  [[noreturn]] void fail(const std::string& what) const { throw Formula::Wrong{what, at_}; }

  std::string_view text_;
  std::size_t& at_;
  Formula::Names names_;
  Formula made_{};
  std::size_t primary_end_ = 0;
  std::size_t depth_ = 0;  ///< operands that wait for their operator
  int nested_ = 0;
};

Formula Formula::parse(std::string_view text, std::size_t& at, Names names) {
  return FormulaParser(text, at, names).whole();
}

bool Formula::is_function(std::string_view name) {
  const std::size_t found = operation(name);
  return found >= first_called && found < functions().size();
}

std::vector<std::uint32_t> Formula::named() const {
  std::vector<std::uint32_t> places;
  for (const Part& part : parts_)
    if (part.operation == value_part) places.push_back(static_cast<std::uint32_t>(part.number));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

bool Formula::needs_hosts() const {
  return std::ranges::any_of(parts_, [](const Part& part) {
    return part.operation < functions().size() && functions()[part.operation].of_hosts != nullptr;
  });
}

double Formula::value(std::span<const double> values, const Hosts* hosts) const {
  if (parts_.empty()) return constant_;
  std::array<double, deepest> stack;
  std::size_t top = 0;
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    const Part& part = parts_[at];
    if (part.operation == number_part) {
      stack[top++] = part.number;
    } else if (part.operation == value_part) {
      stack[top++] = values[static_cast<std::size_t>(part.number)];
    } else if (part.operation == unless_part || part.operation == if_part) {
      const bool holds = stack[top - 1] != 0;
      if (holds == (part.operation == if_part)) at = static_cast<std::size_t>(part.number) - 1;
    } else {
      top -= part.arguments;
      stack[top] = computed(part, std::span(stack).subspan(top, part.arguments), hosts);
      ++top;
    }
  }
  return stack[0];
}

double Formula::computed(const Part& part, std::span<const double> arguments, const Hosts* hosts) {
  const Function& function = functions()[part.operation];
  if (function.value == nullptr && hosts == nullptr)
    formula::refuse(std::string(function.name) + "() needs to know where the ranks are");
  const double value =
      function.value != nullptr ? function.value(arguments) : function.of_hosts(arguments, *hosts);
  if (!std::isfinite(value)) formula::refuse(std::string(function.name) + " has no value here");
  return value;
}

std::string number_text(double value) {
  std::string text = std::to_string(value + 0.0);  // -0 is 0
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

Variables cost_variables(int ranks) {
  const auto rounds = std::bit_width(static_cast<unsigned>(std::max(ranks, 1)) - 1);
  return {{"P", ranks}, {"q", static_cast<double>(rounds)}};
}

double evaluate(std::string_view formula, const Variables& variables) {
  std::vector<double> values;
  std::vector<std::string> names;
  for (const auto& [name, value] : variables) {
    names.push_back(name);
    values.push_back(value);
  }
  std::size_t at = 0;
  try {
    const Formula parsed = Formula::parse(formula, at, names);
    if (at < formula.size()) throw Formula::Wrong{"expected an operator or the end", at};
    return parsed.value(values);
  } catch (const Formula::Wrong& wrong) {
    throw Error(ErrorCode::invalid_argument,
                "formula \"" + std::string(formula) + "\": " + wrong.what + " at column " +
                    std::to_string((wrong.at == 0 ? at : wrong.at) + 1));
  }
}

bool agrees(std::string_view formula, double value, const Variables& variables) {
  const double wanted = evaluate(formula, variables);
  return std::abs(value - wanted) <= 1e-9 * std::max(1.0, std::abs(wanted));
}

}  // namespace rondo
