// What the command prints.
#include <sstream>

#include "tests/catch.h"
#include "tools/rondo/calibrate/report.h"

using namespace rondo;
using namespace rondo::tool;

TEST_CASE("the columns of gamma are as wide as every type's and operator's name") {
  std::vector<GammaProfile> gammas;
  for (const DataTypeInfo& type : data_types) {
    for (const ReduceOperatorInfo& op : reduce_operators)
      gammas.push_back({.type = type.type,
                        .op = op.op,
                        .copies = {{.bytes = 1024}},
                        .reduces = {{.bytes = 1024}}});
  }
  std::istringstream lines(gammas_text(gammas));
  std::string line;
  while (line.find("type") == std::string::npos) std::getline(lines, line);
  const std::size_t width = line.size();
  while (std::getline(lines, line)) CHECK(line.size() == width);
}
