// With checksums a byte that changes on the way ends the call in an error that names the link and
// the call, for every algorithm over every transport. Without them the same change is a wrong
// result, so the test would notice one.
#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "algorithms/table.h"
#include "core/communicator/exchange.h"
#include "core/execute/engine.h"
#include "core/plan/decide.h"
#include "core/schedule/reference.h"
#include "kernels/cpu/reduce.h"
#include "tests/catch.h"
#include "tests/sanitizers.h"
#include "tests/transports/world.h"

namespace rondo::testing {
namespace {

constexpr int ranks = 3;
constexpr std::size_t slot_bytes = 4096;
/// More than peers mostly take that have begun, so that short calls are run op by op to their end.
constexpr std::uint32_t looks = 100'000;

const Arithmetic arithmetic{
    .reduce = [](DataType type, ReduceOperator op, void* out, std::span<const void* const> operands,
                 std::size_t count) { reduce(type, op, out, operands, count); },
    .scale = scale,
    .divide = divide};

/// One bit of one frame of one rank changes.
struct Spoiling {
  int rank = 0;
  std::uint64_t frame = 0;
};

/// How the ranks' engines get the operation.
enum class Run : std::uint8_t { at_once, queued, as_message };

/// One rank's operation.
struct Part {
  std::shared_ptr<const PreparedCall> prepared{};
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  int peer = -1;       ///< Run::as_message: where this rank takes part
  bool sends = false;  ///< likewise
};

struct RankEnd {
  bool done = false;
  std::optional<Error> thrown{};   ///< by the engine
  std::optional<Error> failure{};  ///< of the communicator
  std::uint64_t frames = 0;        ///< sent
};

/// One operation of engines whose transports are wrapped.
class Scene {
 public:
  Scene(const Variant& variant, const Spoiling& spoiling, bool checksum)
      : world_(with_checksum(variant, checksum), ranks, slot_bytes),
        controls_(meet_threads(ranks, {})),
        checksum_(checksum) {
    auto& spoilt = world_.transports[static_cast<std::size_t>(spoiling.rank)];
    spoilt = wrap(std::move(spoilt), {.seed = 3 + spoiling.frame, .corrupt_frame = spoiling.frame});
  }

  /// make(rank) is the rank's Part.
  template <class Make>
  std::vector<RankEnd> run(Run how, Make make) {
    std::vector<RankEnd> ends(ranks);
    if (how == Run::at_once && world_[0].link_class() == LinkClass::memory) connect();
    on_all_ranks(ranks, [&](int rank) {
      ends[static_cast<std::size_t>(rank)] = run_rank(rank, how, make(rank));
    });
    return ends;
  }

 private:
  static Variant with_checksum(Variant variant, bool checksum) {
    variant.checksum = checksum;
    return variant;
  }

  /// A call that is run op by op makes no connections.
  void connect() {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int peer : {(rank + 1) % ranks, (rank + 2) % ranks}) {
        for (const int lane : {0, 1, detail::point_to_point_lane})
          world_.until([&] { return !world_[rank].sender(peer, lane).acquire().empty(); });
      }
    }
  }

  RankEnd run_rank(int rank, Run how, const Part& part) {
    std::vector<Transport*> to;
    for (int peer = 0; peer < ranks; ++peer) to.push_back(peer == rank ? nullptr : &world_[rank]);
    const auto control = controls_[static_cast<std::size_t>(rank)]->open(1, {0, 1, 2});
    detail::Engine engine(rank, to, nullptr, *control, false, checksum_);
    detail::Operation operation;
    start(operation, part);
    RankEnd end;
    for (++begun_; begun_ < ranks;) std::this_thread::yield();
    try {
      if (how != Run::as_message) log(part.prepared->call, operation.sequence, control->calls());
      if (how != Run::at_once) engine.submit(&operation);
      end.done = how == Run::at_once && engine.run_at_once(&operation, looks);
      await(engine, *control, operation);
      end.done = operation.is_done();
    } catch (const Error& error) {
      end.thrown = error;
    }
    --under_way_;
    // Peers may still connect, and read what was sent.
    while (under_way_ > 0 && !control->failed()) {
      if (!end.thrown) engine.progress_transports();
      std::this_thread::yield();
    }
    if (control->failed()) end.failure = control->failure();
    if (!end.done) engine.fail_all(std::make_exception_ptr(std::runtime_error("the test is over")));
    end.frames = engine.traffic().frames;
    return end;
  }

  static void start(detail::Operation& operation, const Part& part) {
    operation.start(part.prepared, part.input, part.output);
    operation.sequence = 1;
    operation.fingerprint = fingerprint(part.prepared->call);
    operation.point_to_point_peer = part.peer;
    operation.sends = part.sends;
  }

  static void log(Call call, std::uint64_t sequence, CallLog& calls) {
    call.sequence = sequence;
    call.blocks == between_pairs ? calls.begin_apart(call) : calls.begin(call);
  }

  static void await(detail::Engine& engine, const ControlChannel& control,
                    const detail::Operation& operation) {
    while (!operation.is_done() && !control.failed()) {
      if (!engine.progress() && !engine.progress_transports()) std::this_thread::yield();
    }
  }

  World world_;
  std::vector<std::shared_ptr<Control>> controls_;
  bool checksum_;
  std::atomic<int> begun_{0};
  std::atomic<int> under_way_{ranks};
};

/// Every rank's buffers of a call, and what must come out.
struct Buffers {
  Schedule schedule;
  Call call{};
  std::vector<Bytes> inputs{};
  std::vector<Bytes> outputs{};
  std::vector<Bytes> expected{};

  Buffers(const Algorithm& row, std::size_t count)
      : schedule(row.build(ranks, 0)),
        call{.count = count, .collective = row.collective, .type = DataType::int32} {
    std::mt19937 random(7);
    const Partition partition(schedule.layout, count, size_of(call.type));
    const auto bytes = [&](Buffer buffer, int rank) {
      const ChunkSpan span = held(call.collective, buffer, schedule.layout, rank, call.root);
      return (partition.offset(span.first + span.count) - partition.offset(span.first)) *
             size_of(call.type);
    };
    for (int rank = 0; rank < ranks; ++rank) {
      inputs.emplace_back(bytes(Buffer::input, rank));
      std::ranges::generate(inputs.back(), [&] { return static_cast<std::byte>(random()); });
      outputs.emplace_back(bytes(Buffer::output, rank));
    }
    expected = reference(schedule, partition, call.type, call.op, inputs, arithmetic);
  }

  Part part(const Algorithm& row, int rank, Run how) {
    const Topology around{.ranks = ranks};
    const auto at = static_cast<std::size_t>(rank);
    Part made{.prepared = prepare(make_plan({.across = &row}, call.root, rank, around), call, rank,
                                  {.frame_bytes = slot_bytes}, "test"),
              .input = inputs[at].data(),
              .output = outputs[at].data()};
    if (how == Run::as_message && rank < 2) {
      made.sends = rank == call.root;
      made.peer = 1 - rank;
    }
    return made;
  }

  bool is_right(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return outputs[at] == expected[at];
  }
};

bool is_spoilt(const std::vector<RankEnd>& ends, const Spoiling& spoiling) {
  return ends[static_cast<std::size_t>(spoiling.rank)].frames > spoiling.frame;
}

/// The error that a rank threw names the link and the call, and all ranks have it.
void check_noticed(const std::vector<RankEnd>& ends, const Spoiling& spoiling,
                   const Variant& variant, const std::string& call) {
  int noticed = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankEnd& end = ends[static_cast<std::size_t>(rank)];
    REQUIRE(end.failure);
    CHECK(end.failure->code() == ErrorCode::system);
    CHECK(end.failure->call().find(call) != std::string::npos);
    CHECK(end.failure->message().find("data was changed on the way from rank " +
                                      std::to_string(spoiling.rank)) != std::string::npos);
    if (!end.thrown) continue;
    ++noticed;
    CHECK(end.thrown->code() == ErrorCode::system);
    CHECK(end.thrown->rank() == rank);
    CHECK(end.thrown->peer() == spoiling.rank);
    CHECK(end.thrown->message().find(" to rank " + std::to_string(rank) + " over " +
                                     std::string(variant.kind->name)) != std::string::npos);
    CHECK(end.thrown->call().find(call) != std::string::npos);
  }
  CHECK(noticed == 1);
}

/// True when the frame was sent. Counts wrong results.
bool check(const Variant& variant, const Algorithm& row, std::size_t count,
           const Spoiling& spoiling, Run how, bool checksum) {
  CAPTURE(variant.name, name(row.collective), row.name, count, spoiling.rank, spoiling.frame);
  CAPTURE(static_cast<int>(how), checksum);
  Buffers buffers(row, count);
  Scene scene(variant, spoiling, checksum);
  const auto ends = scene.run(how, [&](int rank) { return buffers.part(row, rank, how); });
  const bool spoilt = is_spoilt(ends, spoiling);
  int wrong = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const RankEnd& end = ends[static_cast<std::size_t>(rank)];
    if (!spoilt || !checksum) REQUIRE(end.done);
    if (end.done && !buffers.is_right(rank)) ++wrong;
  }
  if (spoilt && checksum) {
    CHECK(wrong == 0);
    const std::string call(name(row.collective));
    check_noticed(ends, spoiling, variant, how == Run::as_message ? call : call + " #1");
  } else {
    CHECK((wrong > 0) == spoilt);
  }
  return spoilt;
}

/// `all`: of every rank, in its first frame and in a later one. Else one rank by turns.
std::vector<Spoiling> spoilings(bool all, int turn) {
  if (!all) return {{.rank = turn % ranks}};
  std::vector<Spoiling> made;
  for (int rank = 0; rank < ranks; ++rank)
    for (const std::uint64_t frame : {0, 2}) made.push_back({rank, frame});
  return made;
}

/// Every way to run a call of so many elements: long ones are never run op by op.
std::vector<Run> ways(const Algorithm& row, std::size_t count) {
  std::vector<Run> all{Run::queued};
  if (count < 1000) all.push_back(Run::at_once);
  if (row.collective == Collective::send_recv) all.push_back(Run::as_message);
  return all;
}

}  // namespace

TEST_CASE("a byte that changes on the way is noticed: every algorithm and transport") {
  for (const Variant& variant : plain_variants()) {
    // Executors differ by what channels can do, and connecting takes its time: all cells by one.
    const bool all = variant.kind->name == "local" && !test::is_sanitized;
    std::vector<std::size_t> counts{300};
    if (!test::is_sanitized) counts.push_back(5000);
    if (all) counts.push_back(5);
    int spoilt = 0;
    int turn = 0;
    for (const Algorithm& row : algorithms()) {
      if (row.collective == Collective::barrier) continue;  // carries no bytes
      for (const std::size_t count : counts) {
        for (const Spoiling& spoiling : spoilings(all, turn++)) {
          for (const Run how : ways(row, count)) {
            if (!check(variant, row, count, spoiling, how, true)) continue;
            check(variant, row, count, spoiling, how, false);
            ++spoilt;
          }
        }
      }
    }
    CAPTURE(variant.name);
    CHECK(spoilt > (test::is_sanitized ? 30 : 100));
  }
}

namespace {

/// An all_to_all_v of as many elements between each pair, in short ops. Block b of every output is
/// to hold b + 1 in each byte.
class ShortExchange {
 public:
  explicit ShortExchange(std::size_t count) : count_(count) {
    for (int rank = 0; rank < ranks; ++rank) {
      inputs_.emplace_back(ranks * block(), static_cast<std::byte>(rank + 1));
      outputs_.emplace_back(ranks * block());
    }
  }

  Part part(int rank) {
    const auto at = static_cast<std::size_t>(rank);
    const std::vector<std::size_t> counts(ranks, count_);
    const detail::Exchange exchange{.input = inputs_[at].data(),
                                    .output = outputs_[at].data(),
                                    .type = DataType::int32,
                                    .sent = {counts},
                                    .received = {counts}};
    const auto prepared = std::make_shared<PreparedCall>();
    test::expect_that(shorten(exchange, rank, slot_bytes, *prepared), "blocks are short");
    for (ShortOp& op : prepared->short_ops)
      op.fingerprint = fingerprint(message_between(op.elements, exchange.type));
    return {.prepared = prepared, .input = inputs_[at].data(), .output = outputs_[at].data()};
  }

  /// Blocks of this rank.
  int wrong(std::size_t rank) const {
    int count = 0;
    for (std::size_t from = 0; from < ranks; ++from) {
      const auto is_right = [&](std::byte b) { return b == static_cast<std::byte>(from + 1); };
      const std::span<const std::byte> all(outputs_[rank]);
      if (!std::ranges::all_of(all.subspan(from * block(), block()), is_right)) ++count;
    }
    return count;
  }

 private:
  std::size_t block() const { return count_ * size_of(DataType::int32); }

  std::size_t count_;
  std::vector<Bytes> inputs_{};
  std::vector<Bytes> outputs_{};
};

void check_exchange(const Variant& variant, std::size_t count, int rank, bool checksum) {
  CAPTURE(variant.name, count, rank, checksum);
  const Spoiling spoiling{.rank = rank, .frame = 1};
  ShortExchange exchange(count);
  Scene scene(variant, spoiling, checksum);
  const auto ends = scene.run(Run::at_once, [&](int at) { return exchange.part(at); });
  REQUIRE(is_spoilt(ends, spoiling));
  int wrong = 0;
  for (std::size_t at = 0; at < ranks; ++at)
    if (ends[at].done) wrong += exchange.wrong(at);
  CHECK(wrong == (checksum ? 0 : 1));
  if (checksum) check_noticed(ends, spoiling, variant, "all_to_all_v #1");
}

}  // namespace

TEST_CASE("a byte that changes on the way is noticed: all_to_all_v in short ops") {
  for (const Variant& variant : plain_variants()) {
    if (World(variant)[0].link_class() == LinkClass::network) continue;  // has none
    for (const std::size_t count : {1u, 500u}) {
      for (int rank = 0; rank < ranks; ++rank)
        for (const bool checksum : {true, false}) check_exchange(variant, count, rank, checksum);
    }
  }
}

}  // namespace rondo::testing
