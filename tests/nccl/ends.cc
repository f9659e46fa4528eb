// A rank that does not destroy its communicator: it sums a few times and ends.
//
//   nccl_ends RANK RANKS ID return|exit|fail
//
// For rank 0, ID is "-", and it writes the id.
// "fail": the last rank ends with status 1. The next call of the others, at the latest, must fail.
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr int sums = 20;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, ncclGetLastError(nullptr));
  std::_Exit(3);
}

/// Writes the id, two digits a byte.
void write_id(const ncclUniqueId& id) {
  for (const char byte : id.internal) std::printf("%02x", static_cast<unsigned char>(byte));
  std::printf("\n");
  std::fflush(stdout);
}

ncclUniqueId read_id(const std::string& digits) {
  ncclUniqueId id{};
  for (std::size_t at = 0; at < sizeof id.internal; ++at)
    id.internal[at] = static_cast<char>(std::stoi(digits.substr(2 * at, 2), nullptr, 16));
  return id;
}

ncclResult_t sum(ncclComm_t comm) {
  float values[4] = {1, 1, 1, 1};
  return ncclAllReduce(values, values, 4, ncclFloat, ncclSum, comm, nullptr);
}

void tell_death() { std::printf("%s\n", ncclGetLastError(nullptr)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int rank = std::atoi(argv[1]);
  const int ranks = std::atoi(argv[2]);
  const std::string how = argv[4];
  ncclUniqueId id{};
  if (rank > 0) {
    id = read_id(argv[3]);
  } else {
    if (ncclGetUniqueId(&id) != ncclSuccess) fail("ncclGetUniqueId");
    write_id(id);
  }
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) fail("ncclCommInitRank");
  for (int i = 0; i < sums; ++i) {
    const ncclResult_t result = sum(comm);
    // The last rank may be dead before the others have heard all of the last sum.
    if (how == "fail" && i == sums - 1 && result == ncclRemoteError) {
      tell_death();
      return 0;
    }
    if (result != ncclSuccess) fail(("sum " + std::to_string(i)).c_str());
  }
  if (how == "exit") std::exit(0);
  if (how == "fail") {
    if (rank == ranks - 1) std::exit(1);
    if (sum(comm) != ncclRemoteError) fail("the sum without the dead rank");
    tell_death();
  }
  return 0;
}
