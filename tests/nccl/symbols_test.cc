// The table of functions is right: it lists all that the library exports, and what it says is
// refused is refused.
#include "core/nccl/symbols.h"

#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

using nccl::Support;

std::vector<std::string> names_of(const nccl::SymbolRow& row) {
  std::istringstream text{std::string(row.names)};
  return {std::istream_iterator<std::string>(text), {}};
}

TEST_CASE("the table lists every exported function once") {
  std::ifstream file(SYMBOL_LIST);
  std::set<std::string> exported;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) exported.insert(line);
  }
  std::set<std::string> listed;
  for (const nccl::SymbolRow& row : nccl::symbol_rows()) {
    for (const std::string& name : names_of(row)) {
      INFO(name);
      CHECK(listed.insert(name).second);
    }
  }
  CHECK(exported.size() > 90);
  CHECK(listed == exported);
}

TEST_CASE("both names of a function are the same code") {
  for (const nccl::SymbolRow& row : nccl::symbol_rows()) {
    for (const std::string& name : names_of(row)) {
      INFO(name);
      void* const code = ::dlsym(RTLD_DEFAULT, name.c_str());
      CHECK(code != nullptr);
      CHECK(code == ::dlsym(RTLD_DEFAULT, ("p" + name).c_str()));
    }
  }
}

TEST_CASE("what the table refuses is refused, in words") {
  // They look at no argument, so one shape of call serves all.
  using Function = ncclResult_t (*)(void*, void*, void*, void*, void*, void*);
  const std::set<std::string> without_result{"ncclLLA2ACalcSlots", "ncclTeamCft",
                                             "ncclTeamCftMultimem"};
  int refused = 0;
  for (const nccl::SymbolRow& row : nccl::symbol_rows()) {
    if (row.support != Support::refused) continue;
    for (const std::string& name : names_of(row)) {
      INFO(name);
      const auto function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name.c_str()));
      const ncclResult_t result = function(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
      if (!without_result.contains(name)) CHECK(result == ncclInvalidUsage);
      const std::string words = ncclGetLastError(nullptr);
      CHECK(words.find("rondo does not serve " + name + ": " + std::string(row.remark)) !=
            std::string::npos);
      ++refused;
    }
  }
  CHECK(refused == 19);
}

}  // namespace
}  // namespace rondo::test
