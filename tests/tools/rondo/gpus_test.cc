// What `rondo gpus` prints, for made-up machines; the command itself against the fake driver.
#include "tools/rondo/gpus.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/support/program.h"

namespace rondo::tool {
namespace {

using cuda::Link;
using cuda::Reach;

/// 0 and 1 share an NVLink, 2 reaches 0 by PCIe and 1 not at all.
Gpus three() {
  constexpr Link same{Reach::same, 0};
  constexpr Link fast{Reach::nvlink, 0};
  constexpr Link slow{Reach::pcie, 1};
  constexpr Link none{Reach::none, -1};
  return {.names = {"Made-up A", "Made-up A", "Made-up B"},
          .links = {same, fast, slow, fast, same, none, slow, none, same}};
}

using rondo::test::Run;

/// Runs the command with the fake driver as the machine's, or with none.
Run command(const std::string& arguments, bool with_driver) {
  const std::string folder = with_driver ? FAKE_DRIVER_FOLDER : "/nowhere";
  return rondo::test::run_command("LD_LIBRARY_PATH='" + folder + "' '" RONDO_PROGRAM "' gpus " +
                                  arguments);
}

TEST_CASE("a row for each GPU, a column for each that it reaches") {
  CHECK(gpus_text(three()) ==
        "  GPU  NAME       TO 0    1       2\n"
        "  0    Made-up A  -       NVLink  PCIe\n"
        "  1    Made-up A  NVLink  -       none\n"
        "  2    Made-up B  PCIe    none    -\n");
}

TEST_CASE("programs get the same, with the driver's order of the links") {
  const auto json = gpus_json(three());
  CHECK(json["obstacle"] == "");
  REQUIRE(json["gpus"].size() == 3);
  CHECK(json["gpus"][2]["name"] == "Made-up B");
  const auto& links = json["gpus"][2]["links"];
  REQUIRE(links.size() == 2);
  CHECK(links[0].dump() == R"({"to":0,"by":"PCIe","rank":1})");
  CHECK(links[1].dump() == R"({"to":1,"by":"none","rank":null})");
}

TEST_CASE("without a GPU the text says why and what to do") {
  const Gpus none{.obstacle = "the driver is on holiday", .remedy = "wait"};
  CHECK(gpus_text(none) ==
        "No GPU here: the driver is on holiday.\nTo have one: wait\n"
        "rondo works without a GPU, on host memory.\n");
  CHECK(gpus_json(none)["gpus"].empty());
}

TEST_CASE("the command asks the driver, where there is one") {
  const Run table = command("", true);
  INFO(table.output);
  CHECK(table.status == 0);
  CHECK(table.output.find("  1    Fake GPU 1  PCIe  -     PCIe") != std::string::npos);
  const Run json = command("--json", true);
  CHECK(json.status == 0);
  CHECK(nlohmann::json::parse(json.output)["gpus"].size() == 8);
  CHECK(command("--links", true).status == 2);
  CHECK(command("", false).status == 0);
}

}  // namespace
}  // namespace rondo::tool
