// Memory, registrations, parameters and the other functions that only answer questions.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/nccl/device_functions.h"
#include "tests/catch.h"
#include "tests/nccl/members.h"

namespace rondo::test {
namespace {

TEST_CASE("memory of ncclMemAlloc carries data, and is freed once") {
  with_members(2, [](int rank, ncclComm_t comm) {
    void* memory = nullptr;
    constexpr std::size_t count = 100000;
    expect(ncclMemAlloc(&memory, count * sizeof(float)));
    float* const values = static_cast<float*>(memory);
    std::fill_n(values, count, static_cast<float>(rank));
    expect(ncclAllReduce(values, values, count, ncclFloat, ncclSum, comm, nullptr));
    expect_that(values[0] == 1 && values[count - 1] == 1, "0 + 1");
    expect(ncclMemFree(memory));
    refused(ncclMemFree(memory), "no memory of ncclMemAlloc");
  });
  void* empty = nullptr;
  expect(ncclMemAlloc(&empty, 0));
  CHECK(empty != nullptr);
  expect(ncclMemFree(empty));
  expect(ncclMemFree(nullptr));
  refused(ncclMemAlloc(nullptr, 8), "ptr is null");
}

TEST_CASE("registrations are remembered until they are given back") {
  const std::vector<ncclComm_t> comms = init_all(2);
  std::array<char, 64> buffer{};
  void* handle = nullptr;
  expect(ncclCommRegister(comms[0], buffer.data(), buffer.size(), &handle));
  refused(ncclCommDeregister(comms[1], handle), "has no registration");
  expect(ncclCommDeregister(comms[0], handle));
  refused(ncclCommDeregister(comms[0], handle), "has no registration");
  ncclWindow_t window = nullptr;
  expect(ncclCommWindowRegister(comms[0], buffer.data(), 64, &window, NCCL_WIN_DEFAULT));
  void* pointer = nullptr;
  expect(ncclWinGetUserPtr(comms[0], window, &pointer));
  CHECK(pointer == buffer.data());
  expect(ncclCommWindowDeregister(comms[0], window));
  refused(ncclWinGetUserPtr(comms[0], window, &pointer), "has no registration");
  expect(ncclCommWindowDeregister(comms[0], nullptr));  // as in NCCL
  refused(ncclCommWindowDeregister(nullptr, nullptr), "the communicator is null");
  refused(ncclCommWindowRegister(comms[0], nullptr, 64, &window, 0), "buff is null");
  refused(ncclCommWindowRegister(comms[0], buffer.data(), 64, &window, 0x100), "winFlags");
  destroy(comms);
}

TEST_CASE("suspending has no effect, as there is no GPU memory") {
  with_members(2, [](int, ncclComm_t comm) {
    std::uint64_t bytes = 1;
    expect(ncclCommSuspend(comm, NCCL_SUSPEND_MEM));
    expect(ncclCommResume(comm));
    expect_sum(comm, 1, 2);
    expect(ncclCommMemStats(comm, ncclStatGpuMemTotal, &bytes));
    expect_that(bytes == 0, "no GPU memory");
    refused(ncclCommMemStats(comm, numbered<ncclCommMemStat_t>(9), &bytes), "statistic 9");
    refused(ncclCommSuspend(comm, 0), "flags");
  });
}

TEST_CASE("teams and properties") {
  const std::vector<ncclComm_t> comms = init_all(3);
  const ncclTeam world = ncclTeamWorld(comms[2]);
  CHECK(world.nRanks == 3);
  CHECK(world.rank == 2);
  CHECK(ncclTeamRankToWorld(comms[2], world, 1) == 1);
  CHECK(ncclTeamRankToWorld(comms[2], ncclTeamLsa(comms[2]), 0) == 2);
  CHECK(ncclTeamRankToLsa(comms[2], world, 2) == 0);
  CHECK(ncclTeamRail(comms[1]).nRanks == 3);
  CHECK(ncclTeamWorld(nullptr).nRanks == 0);
  ncclCommProperties properties{};
  properties.size = offsetof(ncclCommProperties, cudaDev);  // as an older client says
  properties.magic = NCCL_API_MAGIC;
  properties.cudaDev = 77;
  expect(ncclCommQueryProperties(comms[1], &properties));
  CHECK(properties.rank == 1);
  CHECK(properties.nRanks == 3);
  CHECK(properties.cudaDev == 77);
  properties.magic = 0;
  refused(ncclCommQueryProperties(comms[1], &properties), "NCCL_COMM_PROPERTIES_INITIALIZER");
  destroy(comms);
}

TEST_CASE("NCCL's variables without a setting of rondo's own can be read, too") {
  ncclParamHandle_t handle = nullptr;
  expect(ncclParamBind(&handle, "NCCL_SHM_DISABLE"));
  std::int64_t value = -1;
  expect(ncclParamGetI64(handle, &value));
  CHECK(value == 0);
  const char* text = nullptr;
  expect(ncclParamGetParameter("NCCL_SHM_DISABLE", &text, nullptr));
  CHECK(std::string(text) == "0");
}

TEST_CASE("settings of NCCL's files are read") {
  const std::string path = "nccl_settings_" + std::to_string(::getpid()) + ".conf";
  std::ofstream(path) << "NCCL_IB_RETRY_CNT=5\n";
  ::setenv("NCCL_CONF_FILE", path.c_str(), 1);
  const char* text = nullptr;
  expect(ncclParamGetParameter("NCCL_IB_RETRY_CNT", &text, nullptr));
  const std::string said = text;
  ::unsetenv("NCCL_CONF_FILE");
  std::filesystem::remove(path);
  CHECK(said == "5");
}

TEST_CASE("settings are read by NCCL's names") {
  ::setenv("NCCL_IB_TIMEOUT", "14", 1);
  ncclParamHandle_t handle = nullptr;
  expect(ncclParamBind(&handle, "NCCL_IB_TIMEOUT"));
  std::int8_t small = 0;
  std::uint64_t large = 0;
  expect(ncclParamGetI8(handle, &small));
  expect(ncclParamGetU64(handle, &large));
  CHECK(small == 14);
  CHECK(large == 14);
  const char* text = nullptr;
  int length = 0;
  expect(ncclParamGetParameter("NCCL_IB_TIMEOUT", &text, &length));
  CHECK(std::string(text) == "14");
  CHECK(length == 2);
  std::array<char, 3> raw{};
  expect(ncclParamGet(handle, raw.data(), 3, &length));
  CHECK(std::string(raw.data()) == "14");
  refused(ncclParamGet(handle, raw.data(), 2, &length), "3 bytes");
  ::setenv("NCCL_IB_TIMEOUT", "300", 1);
  refused(ncclParamGetI8(handle, &small), "\"300\"");
  ::setenv("NCCL_IB_TIMEOUT", "0x10", 1);
  expect(ncclParamGetI8(handle, &small));
  CHECK(small == 16);
  ::unsetenv("NCCL_IB_TIMEOUT");
  expect(ncclParamGetStr(handle, &text));
  CHECK(std::string(text) == "18");  // rondo's default
  refused(ncclParamBind(&handle, "NCCL_PROTO"), "does not honour the setting NCCL_PROTO");
  refused(ncclParamGetI8(nullptr, &small), "handle");
  const char** keys = nullptr;
  int count = 0;
  expect(ncclParamGetAllParameterKeys(&keys, &count));
  const std::set<std::string> all(keys, keys + count);
  CHECK(all.contains("NCCL_ALGO"));
  CHECK(all.contains("NCCL_COMM_ID"));
  CHECK(all.contains("NCCL_NET"));
  CHECK(static_cast<int>(all.size()) == count);
}

}  // namespace
}  // namespace rondo::test
