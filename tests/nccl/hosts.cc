#include "tests/nccl/hosts.h"

#include <cstdlib>
#include <cstring>

#include "tests/nccl/device.h"
#include "tests/support/processes.h"

namespace rondo::test {
namespace {

void set_environment(int rank, Ranks ranks, const Environment& more) {
  ::setenv("RONDO_TRANSPORT", ranks.on_host > 1 ? "shm,tcp" : "tcp", 0);
  ::setenv("RONDO_HOSTID", ("host" + std::to_string(rank / ranks.on_host)).c_str(), 1);
  for (const std::string& each : more) {
    const std::size_t equals = each.find('=');
    ::setenv(each.substr(0, equals).c_str(), each.substr(equals + 1).c_str(), 1);
  }
}

/// Rank 0 tells each rank its id by that rank's pipe.
ncclUniqueId meet(int rank, const std::vector<Pipe>& ids) {
  ncclUniqueId id{};
  if (rank == 0) {
    expect(ncclGetUniqueId(&id));
    const auto* const bytes = reinterpret_cast<const char*>(&id);
    for (const Pipe& pipe : ids) pipe.write(std::string(bytes, sizeof id));
  }
  const std::string told = ids[static_cast<std::size_t>(rank)].read();
  expect_that(told.size() == sizeof id, "rank 0 has told its id");
  std::memcpy(&id, told.data(), sizeof id);
  return id;
}

void run_rank(int rank, int device, const std::vector<Pipe>& ids, const HostBody& body) {
  cuCtxSetCurrent(device_context(device));
  ncclComm_t comm = nullptr;
  expect(ncclCommInitRank(&comm, static_cast<int>(ids.size()), meet(rank, ids), rank));
  try {
    body(rank, comm);
  } catch (...) {
    ncclCommAbort(comm);  // the others would wait for this rank
    throw;
  }
  expect(ncclCommDestroy(comm));
  expect_blocks(0);
}

}  // namespace

std::vector<Ended> run_hosts(Ranks ranks, const HostBody& body, const Environment& more) {
  const std::vector<Pipe> ids(static_cast<std::size_t>(ranks.all));
  std::vector<Child> hosts;
  for (int rank = 0; rank < ranks.all; ++rank) {
    const auto be = [&, rank]() -> std::string {
      set_environment(rank, ranks, more);
      run_rank(rank, rank % ranks.on_host, ids, body);
      return "";
    };
    hosts.emplace_back(be, Child::Also::standard_error);
  }
  std::vector<Ended> ended;
  for (Child& host : hosts) {
    std::string words = host.report();
    ended.push_back({host.status(), std::move(words)});
  }
  return ended;
}

void with_hosts(Ranks ranks, const HostBody& body, const Environment& more) {
  std::string failures;
  for (const Ended& each : run_hosts(ranks, body, more)) {
    if (each.status != 0)
      failures += "ended with status " + std::to_string(each.status) + ": " + each.words;
  }
  expect_that(failures.empty(), failures);
}

void with_device_members(int ranks, const HostBody& body) {
  REQUIRE_NOTHROW(with_hosts(ranks, body));
}

}  // namespace rondo::test
