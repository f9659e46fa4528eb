// Formulas as people write them: "2(P-1)/P", "2q", "min(P, 8)(q+1)", "(r-1) % P", "r < 4 and P > 2".
//
// - Numbers, names, + - * / % ^, parentheses. Two factors side by side, without a space between, are
//   multiplied.
// - * / % and "side by side" bind alike, from left to right: "1/2P" is P/2. ^ binds closer.
// - / does not round: 3/2 is 1.5. a % b is from 0 to below b, which must be positive: -1 % 4 is 3.
// - Comparisons == != < <= > >= give 1 or 0; not, and, or take 0 for false. What is behind `and` and
//   `or` has no effect where the part before decides.
// - Functions: ceil, floor, log2, min, max, ones. Of a topology (core/topology/topology.h): host(r),
//   the number of rank r's host; index(r), the place of r among its host's ranks; size(h), how many
//   ranks host h has; member(h, i), the rank at place i of host h.
// - ones(n) counts the one bits of all the numbers from 0 to n-1 in binary: ones(4) = 4, of 00, 01,
//   10 and 11.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/topology/topology.h"

namespace rondo {

/// A formula, parsed: value type. Its names stand for places in a list of values.
class Formula {
 public:
  /// What is wrong, and where in the text.
  struct Wrong {
    std::string what;
    std::size_t at = 0;
  };
  /// The names that a text may use. The value of the n-th is values[n].
  using Names = std::span<const std::string>;

  /// Reads as far as a formula goes from `at` on, and moves `at` behind it. Throws Wrong.
  static Formula parse(std::string_view text, std::size_t& at, Names names);
  explicit Formula(double constant = 0) : constant_(constant) {}
  /// Of those that a text may call.
  static bool is_function(std::string_view name);
  bool is_constant() const { return parts_.empty(); }
  /// The places of the values that it takes, ascending.
  std::vector<std::uint32_t> named() const;
  /// It calls a function of a topology.
  bool needs_hosts() const;

  /// `hosts`: for the functions of a topology; null: there is none. Throws Wrong, without a place, for
  /// what has no value, such as 1/0 and log2(-1).
  double value(std::span<const double> values, const Hosts* hosts = nullptr) const;

 private:
  friend class FormulaParser;
  /// An operand, an operator that follows its operands, or a jump over what need not be computed.
  struct Part {
    std::uint8_t operation = 0;  ///< of formula.cc
    std::uint8_t arguments = 0;
    double number = 0;  ///< or the place of a value, or the part to jump to
  };

  static double computed(const Part& part, std::span<const double> arguments, const Hosts* hosts);

  double constant_ = 0;  ///< where there are no parts
  std::vector<Part> parts_{};
};

/// A number as people would write it: "3", "1.5".
std::string number_text(double value);

using Variables = std::map<std::string, double, std::less<>>;

/// P = ranks and q = ceil(log2 P).
Variables cost_variables(int ranks);

/// Throws Error{invalid_argument} that shows the formula, the column and what was expected there;
/// for an unknown name it lists the known ones.
double evaluate(std::string_view formula, const Variables& variables);

/// True when `value` is what the formula gives, within rounding.
bool agrees(std::string_view formula, double value, const Variables& variables);

}  // namespace rondo
