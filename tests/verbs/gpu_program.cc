// A rank that sends from GPU memory of the stand-in for CUDA's driver to the next rank, receives from
// the rank before, and takes part in sums. Every byte is compared. The memory that is sent is
// overwritten in the stream right after the call, and freed and allocated again.
//
//   verbs_gpu_program GENERATIONS ROUNDS
//
// Prints how many bytes its streams have copied. Ends with status 4 after a wrong byte.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/nccl/include/nccl.h"
#include "tests/fake_driver/fake_driver.h"

namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t sizes[]{1, 100, 5000, 70'000, 600'001};
constexpr std::size_t summed = 90'000;
constexpr std::size_t room = std::size_t{1} << 20;

struct WrongByte {};

void cuda(int status) {
  if (status != 0) throw std::runtime_error("CUDA error " + std::to_string(status));
}
void nccl(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error(ncclGetLastError(nullptr));
}
int number(const char* variable) { return std::atoi(std::getenv(variable)); }

Bytes pattern(std::size_t bytes, int rank, int salt) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made[i] =
        static_cast<unsigned char>(i * 7 + i / 251 + static_cast<std::size_t>(rank * 41 + salt));
  return made;
}

/// The communicator and a stream of this rank.
struct Place {
  int rank = number("RANK");
  int ranks = number("WORLD_SIZE");
  cudaStream_t stream = nullptr;
  ncclComm_t comm = nullptr;

  Place() {
    rondo::cuda::Context context = nullptr;
    cuda(cuInit(0));
    cuda(cuDevicePrimaryCtxRetain(&context, 0));
    cuda(cuCtxSetCurrent(context));
    cuda(cuStreamCreate(&stream, 1));
    ncclUniqueId id;
    nccl(ncclGetUniqueId(&id));  // RONDO_COMM_ID is the same place for all
    nccl(ncclCommInitRank(&comm, ranks, id, rank));
  }
};

/// Puts an exchange with both neighbours into the stream, then overwrites what was sent.
void exchange(const Place& place, unsigned char* from, unsigned char* to, std::size_t bytes) {
  nccl(ncclGroupStart());
  nccl(ncclSend(from, bytes, ncclUint8, (place.rank + 1) % place.ranks, place.comm, place.stream));
  nccl(ncclRecv(to, bytes, ncclUint8, (place.rank + place.ranks - 1) % place.ranks, place.comm,
                place.stream));
  nccl(ncclGroupEnd());
  cuda(cuMemsetD8Async(rondo::cuda::address_of(from), 0xee, bytes, place.stream));
}

void check_is(const Place& place, unsigned char* to, const Bytes& wanted) {
  cuda(cuStreamSynchronize(place.stream));
  Bytes got(wanted.size());
  cuda(cuMemcpyDtoH_v2(got.data(), rondo::cuda::address_of(to), got.size()));
  if (got == wanted) return;
  std::printf("rank %d: %zu bytes are wrong\n", place.rank, got.size());
  throw WrongByte{};
}

void check(const Place& place, unsigned char* to, std::size_t bytes, int salt) {
  check_is(place, to, pattern(bytes, (place.rank + place.ranks - 1) % place.ranks, salt));
}

void fill(const Place& place, unsigned char* from, std::size_t bytes, int salt) {
  const Bytes mine = pattern(bytes, place.rank, salt);
  cuda(cuMemcpyHtoD_v2(rondo::cuda::address_of(from), mine.data(), bytes));
}

void sum(const Place& place, unsigned char* from, unsigned char* to, int salt) {
  fill(place, from, summed, salt);
  nccl(ncclAllReduce(from, to, summed, ncclUint8, ncclSum, place.comm, place.stream));
  Bytes sums(summed);
  for (int rank = 0; rank < place.ranks; ++rank) {
    const Bytes theirs = pattern(summed, rank, salt);
    for (std::size_t i = 0; i < summed; ++i)
      sums[i] = static_cast<unsigned char>(sums[i] + theirs[i]);
  }
  check_is(place, to, sums);
}

/// Captures one exchange in a graph and launches it twice.
void replay(const Place& place, unsigned char* from, unsigned char* to, int salt) {
  constexpr std::size_t bytes = 300'000;
  rondo::cuda::Graph graph = nullptr;
  rondo::test::GraphExec ready = nullptr;
  cuda(cuStreamBeginCapture_v2(place.stream, 1));
  exchange(place, from, to, bytes);
  cuda(cuStreamEndCapture(place.stream, &graph));
  cuda(cuGraphInstantiateWithFlags(&ready, graph, 0));
  cuda(cuGraphDestroy(graph));
  for (int turn = 0; turn < 2; ++turn) {
    fill(place, from, bytes, salt + turn);
    cuda(cuGraphLaunch(ready, place.stream));
    check(place, to, bytes, salt + turn);
  }
  cuda(cuGraphExecDestroy(ready));
}

void generation(const Place& place, int rounds, int salt) {
  void* memory = nullptr;
  rondo::cuda::DevicePointer received = 0;
  nccl(ncclMemAlloc(&memory, room));
  cuda(cuMemAlloc_v2(&received, room));
  auto* const from = static_cast<unsigned char*>(memory) + 3;
  auto* const to = reinterpret_cast<unsigned char*>(received);
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t bytes : sizes) {
      fill(place, from, bytes, salt + round);
      exchange(place, from, to, bytes);
      check(place, to, bytes, salt + round);
    }
  }
  sum(place, from, to, salt);
  replay(place, from, to, salt);
  cuda(cuMemFree_v2(received));
  nccl(ncclMemFree(memory));
}

void work(int generations, int rounds) {
  const Place place;
  for (int each = 0; each < generations; ++each) generation(place, rounds, 100 * each);
  nccl(ncclCommDestroy(place.comm));
  std::printf("rank %d: streams copied %zu bytes, descriptors left: %d\n", place.rank,
              fake_copied_bytes(), fake_descriptors());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    work(std::atoi(argv[1]), std::atoi(argv[2]));
    return 0;
  } catch (const WrongByte&) {
    return 4;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 3;
  }
}
