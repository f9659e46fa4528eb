// Device buffers of ranks that take each other for other hosts: through pinned memory and a
// network, for every collective and type, and with failures. Also runs the cases [members] that
// way. Other files of such cases start threads, after which a process must not fork. hosts.h
// defines a rank here.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/hosts.h"
#include "tests/nccl/ragged.h"

namespace rondo::test {
namespace {

/// How a type writes the ranks' numbers 1, 2 and 3, and their sum and product 6; little-endian.
struct Encoding {
  ncclDataType_t type;
  std::size_t bytes;
  std::uint64_t one;
  std::uint64_t two;
  std::uint64_t three;
  std::uint64_t six;

  std::uint64_t of(int number) const {
    return number == 1 ? one : number == 2 ? two : number == 3 ? three : six;
  }
};

constexpr std::array encodings{
    Encoding{ncclInt8, 1, 1, 2, 3, 6},
    Encoding{ncclUint8, 1, 1, 2, 3, 6},
    Encoding{ncclInt32, 4, 1, 2, 3, 6},
    Encoding{ncclUint32, 4, 1, 2, 3, 6},
    Encoding{ncclInt64, 8, 1, 2, 3, 6},
    Encoding{ncclUint64, 8, 1, 2, 3, 6},
    Encoding{ncclFloat16, 2, 0x3c00, 0x4000, 0x4200, 0x4600},
    Encoding{ncclFloat32, 4, 0x3f80'0000, 0x4000'0000, 0x4040'0000, 0x40c0'0000},
    Encoding{ncclFloat64, 8, 0x3ff0'0000'0000'0000, 0x4000'0000'0000'0000, 0x4008'0000'0000'0000,
             0x4018'0000'0000'0000},
    Encoding{ncclBfloat16, 2, 0x3f80, 0x4000, 0x4040, 0x40c0},
    Encoding{ncclFloat8e4m3, 1, 0x38, 0x40, 0x44, 0x4c},
    Encoding{ncclFloat8e5m2, 1, 0x3c, 0x40, 0x42, 0x46},
};
static_assert(encodings.size() == ncclNumTypes);

/// `count` numbers `of(i)`.
template <class Of>
Image encoded(const Encoding& encoding, std::size_t count, const Of& of) {
  Image image(count * encoding.bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = encoding.of(of(i));
    std::memcpy(image.data() + i * encoding.bytes, &bits, encoding.bytes);
  }
  return image;
}

constexpr int ranks = 3;

/// What rank `rank` has: 1, 2 and 3 in turn. At each place every number is on one of the ranks.
Image mine(const Encoding& encoding, std::size_t count, int rank) {
  return encoded(encoding, count, [&](std::size_t i) {
    return 1 + static_cast<int>((i + static_cast<std::size_t>(rank)) % ranks);
  });
}

Image all_of(const Encoding& encoding, std::size_t count, int number) {
  return encoded(encoding, count, [&](std::size_t) { return number; });
}

/// Each collective once, on blocks of `count` elements.
class Collectives {
 public:
  Collectives(int rank, ncclComm_t comm, const Encoding& encoding, std::size_t count)
      : rank_(rank), comm_(comm), encoding_(encoding), count_(count), whole_(count * ranks) {}

  void reduce() {
    constexpr std::array<std::pair<ncclRedOp_t, int>, 4> operators{
        {{ncclSum, 6}, {ncclProd, 6}, {ncclMax, 3}, {ncclMin, 1}}};
    for (const auto& [op, combined] : operators) {
      expect(ncclAllReduce(in_.data(), out_.data(), whole_, encoding_.type, op, comm_, stream_));
      check("all_reduce", all_of(encoding_, whole_, combined));
    }
    expect(ncclReduce(in_.data(), out_.data(), whole_, encoding_.type, ncclSum, 1, comm_, stream_));
    check("reduce", rank_ == 1 ? all_of(encoding_, whole_, 6) : Image{});
    expect(ncclReduceScatter(in_.data(), out_.data(), count_, encoding_.type, ncclSum, comm_,
                             stream_));
    check("reduce_scatter", all_of(encoding_, count_, 6));
  }

  void move() {
    expect(ncclBroadcast(in_.data(), out_.data(), whole_, encoding_.type, 2, comm_, stream_));
    check("broadcast", mine(encoding_, whole_, 2));
    expect(ncclAllGather(in_.data(), out_.data(), count_, encoding_.type, comm_, stream_));
    const Image firsts = blocks(ranks, [&](int from) { return mine(encoding_, count_, from); });
    check("all_gather", firsts);
    expect(ncclGather(in_.data(), out_.data(), count_, encoding_.type, 2, comm_, stream_));
    check("gather", rank_ == 2 ? firsts : Image{});
    expect(ncclScatter(in_.data(), out_.data(), count_, encoding_.type, 1, comm_, stream_));
    check("scatter", block_of(1));
    expect(ncclAlltoAll(in_.data(), out_.data(), count_, encoding_.type, comm_, stream_));
    check("all_to_all", blocks(ranks, [&](int from) { return block_of(from); }));
  }

  /// The same as an all-to-all, by messages.
  void pass() {
    const std::size_t bytes = count_ * encoding_.bytes;
    expect(ncclGroupStart());
    for (int peer = 0; peer < ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * bytes;
      expect(ncclSend(in_.data() + at, count_, encoding_.type, peer, comm_, stream_));
      expect(ncclRecv(out_.data() + at, count_, encoding_.type, peer, comm_, stream_));
    }
    expect(ncclGroupEnd());
    check("messages", blocks(ranks, [&](int from) { return block_of(from); }));
  }

 private:
  /// This rank's block of what rank `from` has.
  Image block_of(int from) const {
    const Image all = mine(encoding_, whole_, from);
    const auto bytes = static_cast<std::ptrdiff_t>(count_ * encoding_.bytes);
    return {all.begin() + rank_ * bytes, all.begin() + (rank_ + 1) * bytes};
  }
  /// Checks what the call has written, and that it has written nothing after that.
  void check(const std::string& what, Image wanted) {
    stream_.finish();
    wanted.resize(whole_ * encoding_.bytes, unwritten);
    expect_bytes(out_.get(), wanted, what + " of type " + std::to_string(encoding_.type));
    out_.set(Image(wanted.size(), unwritten));
  }

  static constexpr unsigned char unwritten = 0xee;
  int rank_;
  ncclComm_t comm_;
  const Encoding& encoding_;
  std::size_t count_;
  std::size_t whole_;
  DeviceStream stream_{};
  Bytes in_{mine(encoding_, whole_, rank_)};
  Bytes out_{whole_ * encoding_.bytes, unwritten};
};

TEST_CASE("every collective of every type between hosts", "[hosts]") {
  const std::size_t count = GENERATE(std::size_t{1}, std::size_t{1003});
  CHECK_NOTHROW(with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    for (const Encoding& encoding : encodings) {
      Collectives collectives(rank, comm, encoding, count);
      collectives.reduce();
      collectives.move();
      collectives.pass();
    }
  }));
}

TEST_CASE("long collectives between hosts, in slices that take turns", "[hosts]") {
  const std::size_t type = GENERATE(std::size_t{2}, std::size_t{6});  // types of 4 and of 2 bytes
  CHECK_NOTHROW(with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    Collectives collectives(rank, comm, encodings[type], 1'000'003);
    collectives.reduce();
    collectives.move();
    collectives.pass();
  }));
}

/// Checks the collectives whose blocks differ in size, by ragged.h's patterns.
void expect_ragged(int rank, ncclComm_t comm, const Counts& counts) {
  const DeviceStream stream;
  const Numbers all = numbers(counts, rank);
  const DeviceBuffer<int> in(all);
  const DeviceBuffer<int> gathered_blocks(all.size(), -1);
  const DeviceBuffer<int> at_root(all.size(), -1);
  const DeviceBuffer<int> scattered(all.size(), -1);
  const DeviceBuffer<int> sums(all.size(), -1);
  int* const own = in.data() + first_of(counts, rank);
  const std::size_t* const list = counts.data();
  expect(rondoAllGatherv(own, gathered_blocks.data(), list, ncclInt, comm, stream));
  expect(rondoGatherv(own, at_root.data(), list, ncclInt, 2, comm, stream));
  expect(rondoScatterv(in.data(), scattered.data(), list, ncclInt, 1, comm, stream));
  expect(rondoReduceScatterv(in.data(), sums.data(), list, ncclInt, ncclSum, comm, stream));
  stream.finish();
  const auto same = [&](const DeviceBuffer<int>& buffer, Numbers wanted, const char* what) {
    wanted.resize(all.size(), -1);
    expect_that(buffer.get() == wanted, what);
  };
  same(gathered_blocks, gathered(counts), "rondoAllGatherv");
  same(at_root, rank == 2 ? gathered(counts) : Numbers{}, "rondoGatherv");
  same(scattered, block(numbers(counts, 1), counts, rank), "rondoScatterv");
  same(sums, block(summed(counts), counts, rank), "rondoReduceScatterv");
}

/// Checks an exchange with another count for each peer, also none, and places in reverse order.
void expect_ragged_exchange(int rank, ncclComm_t comm) {
  Counts to;
  Counts from;
  for (int peer = 0; peer < ranks; ++peer) {
    to.push_back(sent(rank, peer));
    from.push_back(sent(peer, rank));
  }
  const Counts places = displacements(from);
  const std::size_t room = places.front() + from.front();
  const DeviceStream stream;
  const DeviceBuffer<int> out(numbers(total(to) + 1, rank));
  const DeviceBuffer<int> in(room + 1, -1);
  expect(rondoAllToAllv(out.data(), to.data(), nullptr, in.data(), from.data(), places.data(),
                        ncclInt, comm, stream));
  stream.finish();
  Numbers wanted(room + 1, -1);
  for (int peer = 0; peer < ranks; ++peer) {
    std::size_t first = 0;
    for (int other = 0; other < rank; ++other) first += sent(peer, other);
    const std::size_t count = from[static_cast<std::size_t>(peer)];
    const Numbers its = numbers(first + count, peer);
    std::copy_n(
        its.begin() + static_cast<std::ptrdiff_t>(first), count,
        wanted.begin() + static_cast<std::ptrdiff_t>(places[static_cast<std::size_t>(peer)]));
  }
  expect_that(in.get() == wanted, "rondoAllToAllv");
}

TEST_CASE("blocks that differ in size between hosts", "[hosts]") {
  const int pattern = GENERATE(0, 1, 2);
  CHECK_NOTHROW(with_hosts(ranks, [&](int rank, ncclComm_t comm) {
    expect_ragged(rank, comm, counts_of(pattern, ranks));
    expect_ragged_exchange(rank, comm);
  }));
}

TEST_CASE("between hosts nothing goes from device to device, and the log says why", "[hosts]") {
  for (const Ended& each :
       run_hosts(2, [](int, ncclComm_t comm) { expect_sum(comm, 1, 2); }, {"RONDO_DEBUG=INFO"})) {
    INFO(each.words);
    CHECK(each.status == 0);
    CHECK(each.words.find("GPU buffers go through the host's memory: rank 0: the ranks are on "
                          "several machines") != std::string::npos);
  }
}

/// Puts a call into the stream that waits for the other ranks.
void call(ncclComm_t comm, const DeviceBuffer<int>& buffer, std::size_t count,
          cudaStream_t stream) {
  expect(ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt, ncclSum, comm, stream));
}

TEST_CASE("all other hosts report a host that is killed in the middle of a call", "[hosts]") {
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{3'000'000});
  const std::vector<Ended> ended = run_hosts(ranks, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(count, 1);
    call(comm, buffer, count, stream);
    stream.finish();
    if (rank == 2) ::kill(::getpid(), SIGKILL);
    // The call is refused at once where the death is known already.
    const ncclResult_t at_once =
        ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt, ncclSum, comm, stream);
    if (at_once != ncclSuccess) expect(at_once, ncclRemoteError);
    stream.finish();  // the call comes to its end
    expect(failure_of(comm), ncclRemoteError);
    expect_error(ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt, ncclSum, comm, stream),
                 ncclRemoteError, "rank 2");
  });
  CHECK(ended[2].status == SIGKILL);
  for (int rank = 0; rank < 2; ++rank) {
    INFO(ended[static_cast<std::size_t>(rank)].words);
    CHECK(ended[static_cast<std::size_t>(rank)].status == 0);
  }
}

TEST_CASE("an abort on one host ends calls and replays on all", "[hosts]") {
  const std::size_t count = GENERATE(std::size_t{10}, std::size_t{3'000'000});
  const bool captured = GENERATE(false, true);
  CHECK_NOTHROW(with_hosts(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(count, 1);
    if (rank == 0) {
      expect(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
      return;
    }
    // The call may return the revocation's error, where that is known already.
    const auto reduce = [&] {
      ncclAllReduce(buffer.data(), buffer.data(), count, ncclInt, ncclSum, comm, stream);
    };
    if (captured) {
      const CapturedGraph graph(stream, reduce);
      graph.launch(stream);
      graph.launch(stream);
      stream.finish();
    } else {
      reduce();
      stream.finish();
    }
    expect(failure_of(comm), ncclRemoteError);
  }));
}

TEST_CASE("hosts whose calls differ are told so, whatever differs", "[hosts]") {
  enum class Differs { count, type, root, collective };
  const Differs what = GENERATE(Differs::count, Differs::type, Differs::root, Differs::collective);
  CHECK_NOTHROW(with_hosts(2, [&](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> buffer(100, rank);
    const bool other = rank == 1;
    const ncclDataType_t type = other && what == Differs::type ? ncclFloat : ncclInt;
    const std::size_t size = other && what == Differs::count ? 6 : 7;
    const ncclResult_t at_once =
        what == Differs::root
            ? ncclReduce(buffer.data(), buffer.data(), size, type, ncclSum, rank, comm, stream)
        : other && what == Differs::collective
            ? ncclAlltoAll(buffer.data() + 50, buffer.data(), size, type, comm, stream)
            : ncclAllReduce(buffer.data(), buffer.data(), size, type, ncclSum, comm, stream);
    if (at_once != ncclSuccess) expect(at_once, ncclInvalidUsage);
    stream.finish();
    expect(failure_of(comm), ncclInvalidUsage);
    const std::string words = ncclGetLastError(comm);
    expect_that(words.find("reduce") != std::string::npos, words);
  }));
}

TEST_CASE("a buffer that is nobody's is refused between hosts, and the next call works",
          "[hosts]") {
  CHECK_NOTHROW(with_hosts(2, [](int rank, ncclComm_t comm) {
    const DeviceStream stream;
    const DeviceBuffer<int> good(100, rank);
    const int* const freed = DeviceBuffer<int>(100).data();
    expect_error(ncclBroadcast(freed, good.data(), 100, ncclInt, rank, comm, stream),
                 ncclInvalidArgument, "neither host memory of this process nor memory of a GPU");
    call(comm, good, 100, stream);
    stream.finish();
    expect_that(good.get() == std::vector<int>(100, 1), "0 + 1");
  }));
}

}  // namespace
}  // namespace rondo::test
