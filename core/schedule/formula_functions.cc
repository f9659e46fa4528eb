#include "core/schedule/formula_functions.h"

#include <algorithm>
#include <cmath>

namespace rondo::formula {
namespace {

/// One bits of 0, 1, ... below `end`, written as binary numbers: bit by bit, each of which is one
/// in the second half of every period.
double ones_below(double end) {
  double ones = 0;
  for (double bit = 1; bit < end; bit *= 2)
    ones += std::floor(end / (2 * bit)) * bit + std::max(0.0, std::fmod(end, 2 * bit) - bit);
  return ones;
}

double divided(double a, double b) {
  if (b == 0) refuse("division by zero");
  return a / b;
}

double modulo(double a, double b) {
  if (b <= 0) refuse("% needs a positive number behind it, not " + number_text(b));
  const double rest = std::fmod(a, b);
  const double positive = rest < 0 ? rest + b : rest;
  return positive < b ? positive : 0;  // a tiny negative rest rounds up to b
}

/// One of the numbers from 0 to below `end`.
int checked(double value, int end, const char* of) {
  if (!(value >= 0 && value < end) || value != std::floor(value))
    refuse("there is no " + std::string(of) + " " + number_text(value));
  return static_cast<int>(value);
}

double member(Arguments a, const Hosts& hosts) {
  const int host = checked(a[0], hosts.count(), "host");
  const int place = checked(a[1], hosts.size(host), "rank at place");
  return hosts.ranks(host)[static_cast<std::size_t>(place)];
}

constexpr std::size_t any_number = 32;

// Operators are functions, too: those before `ceil` cannot be called by name.
const Function all[] = {
    {"+", 2, 2, [](Arguments a) { return a[0] + a[1]; }},
    {"-", 2, 2, [](Arguments a) { return a[0] - a[1]; }},
    {"*", 2, 2, [](Arguments a) { return a[0] * a[1]; }},
    {"/", 2, 2, [](Arguments a) { return divided(a[0], a[1]); }},
    {"%", 2, 2, [](Arguments a) { return modulo(a[0], a[1]); }},
    {"^", 2, 2, [](Arguments a) { return std::pow(a[0], a[1]); }},
    {"negated", 1, 1, [](Arguments a) { return -a[0]; }},
    {"==", 2, 2, [](Arguments a) { return a[0] == a[1] ? 1.0 : 0.0; }},
    {"!=", 2, 2, [](Arguments a) { return a[0] != a[1] ? 1.0 : 0.0; }},
    {"<=", 2, 2, [](Arguments a) { return a[0] <= a[1] ? 1.0 : 0.0; }},
    {">=", 2, 2, [](Arguments a) { return a[0] >= a[1] ? 1.0 : 0.0; }},
    {"<", 2, 2, [](Arguments a) { return a[0] < a[1] ? 1.0 : 0.0; }},
    {">", 2, 2, [](Arguments a) { return a[0] > a[1] ? 1.0 : 0.0; }},
    {"not", 1, 1, [](Arguments a) { return a[0] == 0 ? 1.0 : 0.0; }},
    {"and", 2, 2, [](Arguments a) { return a[0] != 0 && a[1] != 0 ? 1.0 : 0.0; }},
    {"or", 2, 2, [](Arguments a) { return a[0] != 0 || a[1] != 0 ? 1.0 : 0.0; }},
    {"ceil", 1, 1, [](Arguments a) { return std::ceil(a[0]); }},
    {"floor", 1, 1, [](Arguments a) { return std::floor(a[0]); }},
    {"log2", 1, 1, [](Arguments a) { return std::log2(a[0]); }},
    {"ones", 1, 1, [](Arguments a) { return ones_below(a[0]); }},
    {"min", 1, any_number, [](Arguments a) { return std::ranges::min(a); }},
    {"max", 1, any_number, [](Arguments a) { return std::ranges::max(a); }},
    {"host", 1, 1, nullptr,
     [](Arguments a, const Hosts& hosts) {
       return static_cast<double>(hosts.host_of(checked(a[0], hosts.ranks(), "rank")));
     }},
    {"index", 1, 1, nullptr,
     [](Arguments a, const Hosts& hosts) {
       return static_cast<double>(hosts.index_of(checked(a[0], hosts.ranks(), "rank")));
     }},
    {"size", 1, 1, nullptr,
     [](Arguments a, const Hosts& hosts) {
       return static_cast<double>(hosts.size(checked(a[0], hosts.count(), "host")));
     }},
    {"member", 2, 2, nullptr, member},
};
}  // namespace

void refuse(const std::string& what) { throw Formula::Wrong{what}; }

std::span<const Function> functions() { return all; }

std::uint8_t operation(std::string_view name) {
  return static_cast<std::uint8_t>(std::ranges::find(all, name, &Function::name) - std::begin(all));
}

}  // namespace rondo::formula
