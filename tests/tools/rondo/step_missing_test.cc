// A rondo built without ncurses says what to install.
#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/rondo/step/terminal.h"

TEST_CASE("without ncurses --step names the package") {
  try {
    rondo::tool::step::show({});
    FAIL("no error");
  } catch (const rondo::Error& error) {
    CHECK(error.code() == rondo::ErrorCode::configuration);
    CHECK(std::string(error.what()).find("install libncurses-dev") != std::string::npos);
  }
}
