// Catch2's main(). Where this machine has no testbeds the whole program is a skipped test.
#define CATCH_CONFIG_RUNNER
#include <cstdio>

#include "tests/catch.h"
#include "tests/testbed/support/testbed.h"

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  const std::string obstacle = rondo::test::Testbed::obstacle();
  if (!obstacle.empty()) {
    std::fprintf(stderr, "WARNING: NOTHING IS TESTED HERE: %s", obstacle.c_str());
    return skipped;
  }
  return Catch::Session().run(argc, argv);
}
