// The table of functions in core/nccl/README.md is right: it lists all that the library exports, and
// what it says is refused is refused.
#include <dlfcn.h>

#include <fstream>
#include <set>

#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

/// Functions that are alike: | `ncclA`, `ncclB` | refused | why |.
struct Row {
  std::vector<std::string> names{};
  std::string support{};
  std::string remark{};
};

Row row_of(const std::string& line) {
  Row row;
  const auto end_of_names = line.find(" | ");
  const auto end_of_support = line.find(" | ", end_of_names + 3);
  for (auto at = line.find('`'); at < end_of_names; at = line.find('`', at + 1)) {
    const auto begin = std::exchange(at, line.find('`', at + 1)) + 1;
    row.names.push_back(line.substr(begin, at - begin));
  }
  row.support = line.substr(end_of_names + 3, end_of_support - end_of_names - 3);
  row.remark = line.substr(end_of_support + 3, line.size() - end_of_support - 5);
  return row;
}

/// The rows of the page's table that begin with functions.
std::vector<Row> rows() {
  std::ifstream page(SYMBOL_PAGE);
  std::vector<Row> found;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| `nccl") || line.starts_with("| `rondo")) found.push_back(row_of(line));
  }
  return found;
}

std::set<std::string> exported_functions() {
  std::ifstream file(SYMBOL_LIST);
  std::set<std::string> exported;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) exported.insert(line);
  }
  return exported;
}

TEST_CASE("the table lists every exported function once") {
  const std::set<std::string> kinds{"implemented", "accepted without effect", "refused"};
  std::set<std::string> listed;
  for (const Row& row : rows()) {
    CHECK(kinds.contains(row.support));
    for (const std::string& name : row.names) {
      INFO(name);
      CHECK(listed.insert(name).second);
    }
  }
  CHECK(listed.size() > 90);
  CHECK(listed == exported_functions());
}

TEST_CASE("both names of a function are the same code") {
  for (const std::string& name : exported_functions()) {
    INFO(name);
    void* const code = ::dlsym(RTLD_DEFAULT, name.c_str());
    CHECK(code != nullptr);
    CHECK(code == ::dlsym(RTLD_DEFAULT, ("p" + name).c_str()));
  }
}

TEST_CASE("what the table refuses is refused, in words") {
  // They look at no argument, so one shape of call serves all.
  using Function = ncclResult_t (*)(void*, void*, void*, void*, void*, void*);
  const std::set<std::string> without_result{"ncclLLA2ACalcSlots", "ncclTeamCft",
                                             "ncclTeamCftMultimem"};
  int refused = 0;
  for (const Row& row : rows()) {
    if (row.support != "refused") continue;
    for (const std::string& name : row.names) {
      INFO(name);
      const auto function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name.c_str()));
      const ncclResult_t result = function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
      if (!without_result.contains(name)) CHECK(result == ncclInvalidUsage);
      const std::string words = ncclGetLastError(nullptr);
      CHECK(words.find("rondo does not serve " + name + ": " + row.remark) != std::string::npos);
      ++refused;
    }
  }
  CHECK(refused == 19);
}

}  // namespace
}  // namespace rondo::test
