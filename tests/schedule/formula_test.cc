#include "core/schedule/formula.h"

#include <bit>

#include "rondo/error.h"
#include "tests/catch.h"

using namespace rondo;

namespace {

double at(std::string_view formula, int ranks) { return evaluate(formula, cost_variables(ranks)); }

std::string message(std::string_view formula) {
  try {
    at(formula, 4);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

}  // namespace

TEST_CASE("cost formulas as people write them") {
  CHECK(at("2(P-1)/P", 4) == Approx(1.5));
  CHECK(at("2q", 5) == 6);
  CHECK(at("P-1", 1) == 0);
  CHECK(at("q/2", 64) == 3);
  CHECK(at("1/2P", 8) == 4);
  CHECK(at("-P+2", 8) == -6);
  CHECK(at("2^q - P", 5) == 3);
  CHECK(at("min(2, P/2)(q+1)", 16) == 10);
  CHECK(at("ceil(log2(P)) - q + max(1,2,3)", 9) == 3);
  CHECK(at(" 1.5 * ( P ) ", 2) == 3);
  CHECK(evaluate("h-1", {{"h", 3.0}}) == 2);
}

TEST_CASE("q is the number of doublings that reach P") {
  for (int ranks = 1, q = 0; ranks <= 1024; ++ranks) {
    if (ranks > (1 << q)) ++q;
    CHECK(at("q", ranks) == q);
  }
}

TEST_CASE("ones counts the one bits of the numbers below") {
  for (unsigned end = 0, ones = 0; end <= 1024; ++end) {
    CHECK(evaluate("ones(n)", {{"n", static_cast<double>(end)}}) == ones);
    ones += static_cast<unsigned>(std::popcount(end));
  }
}

TEST_CASE("a formula agrees with its value") {
  const Variables variables = cost_variables(4);
  CHECK(agrees("2(P-1)/P", 1.5, variables));
  CHECK_FALSE(agrees("2(P-1)/P", 1.25, variables));
}

TEST_CASE("what is wrong with a formula is said with its column") {
  CHECK(message("2(P-1") == "formula \"2(P-1\": expected ')' at column 6");
  CHECK(message("2+") == "formula \"2+\": expected a number, a name or '(' at column 3");
  CHECK(message("") == "formula \"\": expected a number, a name or '(' at column 1");
  CHECK(message("2P)") == "formula \"2P)\": expected an operator or the end at column 3");
  CHECK(message("3x") ==
        "formula \"3x\": unknown name 'x' (known: P, q, ceil, floor, log2, ones, min, max, host, "
        "index, size, member) at column 2");
  CHECK(message("1.2.3") == "formula \"1.2.3\": '1.2.3' is not a number, before at column 6");
  CHECK(message("1/(P-4)").find("division by zero") != std::string::npos);
  CHECK(message("ceil(1,2)").find("takes one argument") != std::string::npos);
}
