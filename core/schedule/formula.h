// Cost formulas as people write them: "2(P-1)/P", "2q", "min(P, 8)(q+1)".
//
// - Numbers, names, + - * / ^, parentheses. Two factors side by side are multiplied.
// - * and / and "side by side" bind alike, from left to right: "1/2P" is P/2. ^ binds closer.
// - Functions: ceil, floor, log2, min, max, ones.
// - ones(n) counts the one bits of all the numbers from 0 to n-1 in binary: ones(4) = 4, of 00, 01,
//   10 and 11.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rondo {

using Variables = std::map<std::string, double, std::less<>>;

/// P = ranks and q = ceil(log2 P).
Variables cost_variables(int ranks);

/// Throws Error{invalid_argument} that shows the formula, the column and what was expected there;
/// for an unknown name it lists the known ones.
double evaluate(std::string_view formula, const Variables& variables);

/// True when `value` is what the formula gives, within rounding.
bool agrees(std::string_view formula, double value, const Variables& variables);

}  // namespace rondo
