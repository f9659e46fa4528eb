// What rondo/nccl.h adds, on device buffers: through the host's memory, between devices, and by one
// thread for all ranks. Also captured.
#include <functional>
#include <memory>

#include "tests/catch.h"
#include "tests/nccl/between_devices.h"
#include "tests/nccl/ragged.h"
#include "tests/nccl/together.h"

namespace rondo::test {
namespace {

enum class Way { through_host, between_devices, captured, by_one_thread };

/// One rank's buffers and calls on them.
class Part {
 public:
  Part() = default;
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  /// Is called before issue(), outside captures and groups.
  virtual void prepare(ncclComm_t) {}
  virtual void issue(ncclComm_t comm, cudaStream_t stream) = 0;
  virtual void check() const = 0;
};
using MakePart = std::function<std::unique_ptr<Part>(int rank)>;

void run_part(Part& part, ncclComm_t comm, bool captured) {
  const DeviceStream stream;
  part.prepare(comm);
  if (captured) {
    const CapturedGraph graph(stream, [&] { part.issue(comm, stream); });
    graph.launch(stream);
    stream.finish();
  } else {
    part.issue(comm, stream);
    stream.finish();
  }
  part.check();
}

void run_all_parts(int ranks, const MakePart& make) {
  const std::vector<ncclComm_t> comms = init_on_device(ranks);
  std::vector<std::unique_ptr<Part>> parts;
  const std::vector<DeviceStream> streams(comms.size());
  for (int rank = 0; rank < ranks; ++rank) {
    parts.push_back(make(rank));
    parts.back()->prepare(comms[static_cast<std::size_t>(rank)]);
  }
  in_group(comms.size(), [&](std::size_t rank) { parts[rank]->issue(comms[rank], streams[rank]); });
  for (const DeviceStream& stream : streams) stream.finish();
  for (const auto& part : parts) part->check();
  destroy(comms);
}

void run_parts(Way way, int ranks, const MakePart& make) {
  if (way == Way::by_one_thread) return run_all_parts(ranks, make);
  run_on_device(way == Way::through_host ? init_through_host(ranks) : init_on_device(ranks),
                [&](int rank, ncclComm_t comm) {
                  const std::unique_ptr<Part> part = make(rank);
                  run_part(*part, comm, way == Way::captured);
                });
}

/// Bit `rank` is set everywhere, and bit 30 on all ranks but one.
class BitsPart : public Part {
 public:
  static constexpr std::size_t count = 300'001;
  BitsPart(int rank, int ranks)
      : ranks_(ranks), buffer_(count, 1 << rank | (rank == 1 ? 0 : 1 << 30)) {}
  void prepare(ncclComm_t comm) override {
    expect(rondoRedOpCreateBitwise(&or_, rondoBitOr, comm));
    expect(rondoRedOpCreateBitwise(&xor_, rondoBitXor, comm));
    expect(rondoRedOpCreateBitwise(&and_, rondoBitAnd, comm));
  }
  void issue(ncclComm_t comm, cudaStream_t stream) override {
    const auto reduce = [&](const DeviceBuffer<int>& to, ncclRedOp_t op) {
      expect(ncclAllReduce(buffer_.data(), to.data(), count, ncclInt, op, comm, stream));
    };
    reduce(or_result_, or_);
    reduce(xor_result_, xor_);
    reduce(and_result_, and_);
  }
  void check() const override {
    const int all = (1 << ranks_) - 1;
    const int odd = (ranks_ - (ranks_ > 1 ? 1 : 0)) % 2;
    expect_that(or_result_.get() == std::vector<int>(count, all | 1 << 30), "or");
    expect_that(xor_result_.get() == std::vector<int>(count, all | odd << 30), "exclusive or");
    expect_that(and_result_.get() == std::vector<int>(count, ranks_ == 1 ? 1 | 1 << 30 : 0), "and");
  }

 private:
  int ranks_;
  DeviceBuffer<int> buffer_;
  DeviceBuffer<int> or_result_{count, -1};
  DeviceBuffer<int> xor_result_{count, -1};
  DeviceBuffer<int> and_result_{count, -1};
  ncclRedOp_t or_ = ncclSum;
  ncclRedOp_t xor_ = ncclSum;
  ncclRedOp_t and_ = ncclSum;
};

TEST_CASE("operators on bits of device buffers") {
  const auto way =
      GENERATE(Way::through_host, Way::between_devices, Way::captured, Way::by_one_thread);
  const int ranks = GENERATE(1, 2, 3);
  run_parts(way, ranks, [&](int rank) { return std::make_unique<BitsPart>(rank, ranks); });
  CHECK(fake_violations() == 0);
}

/// Each collective on blocks that differ in size, root 0.
class RaggedPart : public Part {
 public:
  RaggedPart(int rank, const Counts& counts)
      : counts_(counts), rank_(rank), all_(numbers(counts, rank)) {
    const int ranks = static_cast<int>(counts.size());
    for (int peer = 0; peer < ranks; ++peer) {
      out_counts_.push_back(sent(rank, peer));
      in_counts_.push_back(sent(peer, rank));
    }
    in_places_ = displacements(in_counts_);
  }
  void issue(ncclComm_t comm, cudaStream_t stream) override {
    const std::size_t* const counts = counts_.data();
    int* const own = all_.data() + first_of(counts_, rank_);
    expect(rondoAllGatherv(own, gathered_.data(), counts, ncclInt, comm, stream));
    expect(rondoGatherv(own, at_root_.data(), counts, ncclInt, 0, comm, stream));
    expect(rondoScatterv(all_.data(), scattered_.data(), counts, ncclInt, 0, comm, stream));
    expect(rondoReduceScatterv(all_.data(), sums_.data(), counts, ncclInt, ncclSum, comm, stream));
    expect(rondoAllToAllv(sent_.data(), out_counts_.data(), nullptr, received_.data(),
                          in_counts_.data(), in_places_.data(), ncclInt, comm, stream));
  }
  void check() const override {
    const auto same = [&](const DeviceBuffer<int>& buffer, Numbers wanted, const char* what) {
      wanted.resize(size, -1);
      expect_that(buffer.get() == wanted, what + std::string(" on rank ") + std::to_string(rank_));
    };
    same(gathered_, gathered(counts_), "rondoAllGatherv");
    same(at_root_, rank_ == 0 ? gathered(counts_) : Numbers{}, "rondoGatherv");
    same(scattered_, block(numbers(counts_, 0), counts_, rank_), "rondoScatterv");
    same(sums_, block(summed(counts_), counts_, rank_), "rondoReduceScatterv");
    Numbers wanted(size, -1);
    for (std::size_t peer = 0; peer < in_counts_.size(); ++peer) {
      const Numbers its = to_send(static_cast<int>(peer));
      std::size_t from = 0;
      for (int other = 0; other < rank_; ++other) from += sent(static_cast<int>(peer), other);
      std::copy_n(its.begin() + static_cast<std::ptrdiff_t>(from), in_counts_[peer],
                  wanted.begin() + static_cast<std::ptrdiff_t>(in_places_[peer]));
    }
    same(received_, wanted, "rondoAllToAllv");
  }

 private:
  static constexpr std::size_t size = 700'000;
  static Numbers to_send(int rank) { return numbers(Counts{size}, rank); }

  Counts counts_;
  int rank_;
  DeviceBuffer<int> all_;
  DeviceBuffer<int> gathered_{size, -1};
  DeviceBuffer<int> at_root_{size, -1};
  DeviceBuffer<int> scattered_{size, -1};
  DeviceBuffer<int> sums_{size, -1};
  DeviceBuffer<int> received_{size, -1};
  DeviceBuffer<int> sent_{to_send(rank_)};
  Counts out_counts_{};
  Counts in_counts_{};
  Counts in_places_{};
};

TEST_CASE("blocks of device buffers that differ in size") {
  const auto way =
      GENERATE(Way::through_host, Way::between_devices, Way::captured, Way::by_one_thread);
  // One block is longer than a slice, and one rank has none.
  const Counts counts = GENERATE(Counts{7}, Counts{3, 600'001}, Counts{1000, 1, 0});
  run_parts(way, static_cast<int>(counts.size()),
            [&](int rank) { return std::make_unique<RaggedPart>(rank, counts); });
  CHECK(fake_violations() == 0);
}

TEST_CASE("operators on bits are refused for floats before anything is in a stream") {
  const std::vector<ncclComm_t> comms = init_on_device(1);
  const DeviceStream stream;
  const DeviceBuffer<float> buffer(10, 1);
  ncclRedOp_t op = ncclSum;
  expect(rondoRedOpCreateBitwise(&op, rondoBitAnd, comms[0]));
  CHECK_NOTHROW(
      expect_error(ncclAllReduce(buffer.data(), buffer.data(), 10, ncclFloat, op, comms[0], stream),
                   ncclInvalidArgument, "bit_and"));
  stream.finish();
  destroy(comms);
}

TEST_CASE("a peer that never comes to a call in a stream is reported at the timeout that was set") {
  const bool through_host = GENERATE(true, false);
  const std::vector<ncclComm_t> comms = through_host ? init_through_host(2) : init_on_device(2);
  const DeviceStream stream;
  const DeviceBuffer<int> buffer(1000, 1);
  expect(rondoCommSetTimeout(comms[0], 600));
  expect(ncclAllReduce(buffer.data(), buffer.data(), 1000, ncclInt, ncclSum, comms[0], stream));
  stream.finish();  // the failure releases it
  CHECK(failure_of(comms[0]) == ncclRemoteError);
  CHECK_NOTHROW(expect_error(ncclRemoteError, ncclRemoteError, "within 0.6 s: rank 1"));
  for (const ncclComm_t comm : comms) expect(ncclCommAbort(comm));
}

}  // namespace
}  // namespace rondo::test
