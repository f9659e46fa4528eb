// Short blocks of an all_to_all_v, which its caller moves itself: together with ranks whose
// messages are operations, and when it fails.
#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/api/expected_error.h"
#include "tests/catch.h"
#include "tests/support/call.h"
#include "tests/support/threads.h"

namespace rondo {
namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::expect;
using Sizes = std::vector<std::size_t>;

constexpr auto i32 = DataType::int32;

/// Elements that rank `from` sends to rank `to`.
using Pattern = std::size_t (*)(int from, int to, std::size_t element_bytes);

std::size_t few(int from, int to, std::size_t /*element_bytes*/) {
  return static_cast<std::size_t>(from * 7 + to * 3 + 1) % 5;  // 0 among them
}
std::size_t none(int /*from*/, int /*to*/, std::size_t /*element_bytes*/) { return 0; }
/// As many elements as are short, but one more for one pair, whose ranks therefore make operations.
std::size_t long_once(int from, int to, std::size_t element_bytes) {
  return (std::size_t{16} << 10) / element_bytes + (from == 0 && to == 1 ? 1 : 0);
}
/// As many elements as fit the smallest slot, or one more.
std::size_t full_slots(int from, int to, std::size_t element_bytes) {
  return 4096 / element_bytes + (from < to ? 1 : 0);
}

using Trials = std::vector<test::Trial>;

/// The exchange, whose blocks begin at an odd address.
test::Trial exchange(Pattern pattern, DataType type, int ranks, unsigned salt = 0) {
  return {{.call = {.type = type},
           .offset = 1,
           .salt = salt,
           .between = [=](int from, int to) { return pattern(from, to, size_of(type)); }},
          ranks};
}

/// An all_to_all_v, started in one of three ways.
void start(Communicator& comm, const test::Trial& trial, int way) {
  trial.run(comm.rank(), [&](const void* in, void* out) {
    const test::ExchangeSide sent = test::sent_by(trial.given(), comm.rank(), comm.size());
    const test::ExchangeSide received = test::received_by(trial.given(), comm.rank(), comm.size());
    const DataType type = trial.given().call.type;
    std::optional<Group> group;
    if (way == 0)
      return comm.all_to_all_v_async(in, {sent.counts}, out, {received.counts}, type).wait();
    if (way == 1) group.emplace();
    comm.all_to_all_v(in, {sent.counts}, out, {received.counts}, type);
    if (way == 1) group->wait();
  });
}

TEST_CASE("short exchanges of every type, by ranks that wait and ranks that test later") {
  const int ranks = GENERATE(1, 2, 3, 5);
  const char* const transport = GENERATE("local", "shm");
  const char* const slots = GENERATE("4096", "");
  INFO(ranks << " ranks over " << transport << ", slots of \"" << slots << "\" bytes");
  Trials trials;
  for (const DataTypeInfo& type : data_types) {
    for (const Pattern pattern : {few, none, long_once, full_slots}) {
      for (const unsigned again : {0U, 1U})
        trials.push_back(exchange(pattern, type.type, ranks, again));
    }
  }
  if (*slots != '\0') ::setenv("RONDO_SLOT_BYTES", slots, 1);
  test::with_world(ranks, {.transport = transport}, [&](Communicator& comm) {
    int turn = comm.rank();
    for (const test::Trial& trial : trials) start(comm, trial, turn++ % 5);
    if (comm.traffic().messages == 0 && comm.size() > 1)
      throw std::runtime_error("nothing was counted");
  });
  ::unsetenv("RONDO_SLOT_BYTES");
}

TEST_CASE("short exchanges between sends, receives and collectives that are under way") {
  const test::Trial short_ones = exchange(few, DataType::uint16, 3);
  const test::Trial one_long = exchange(long_once, DataType::uint8, 3);
  test::with_world(3, {}, [&](Communicator& comm) {
    const int next = (comm.rank() + 1) % 3;
    const int previous = (comm.rank() + 2) % 3;
    for (int round = 0; round < 30; ++round) {
      std::vector<int> sum(10'000, round);
      const std::vector<int> note(20'000, comm.rank());
      std::vector<int> heard(20'000, -1);
      // Ranks differ in what is under way when they make the exchange.
      std::vector<Work> works;
      works.push_back(comm.all_reduce_async(sum.data(), sum.data(), sum.size(), i32));
      if (round % 3 == comm.rank()) works.back().wait();
      start(comm, short_ones, 2);
      works.push_back(comm.send_async(note.data(), note.size(), i32, next));
      works.push_back(comm.recv_async(heard.data(), heard.size(), i32, previous));
      if (round % 2 == 0) {
        for (Work& work : works) work.wait();
      }
      start(comm, one_long, 2);
      for (Work& work : works) work.wait();
      if (sum != std::vector<int>(sum.size(), 3 * round)) throw std::runtime_error("wrong sum");
      if (heard != std::vector<int>(heard.size(), previous)) throw std::runtime_error("wrong note");
    }
  });
}

/// Two elements for every rank.
void small_exchange(Communicator& comm, DataType type = i32) {
  const Sizes two(static_cast<std::size_t>(comm.size()), 2);
  const std::vector<int> out(2 * two.size());
  std::vector<int> in(2 * two.size());
  comm.all_to_all_v(out.data(), {two}, in.data(), {two}, type);
}

TEST_CASE("a short exchange whose peer never comes ends at the deadline and names it") {
  const char* const transport = GENERATE("local", "shm");
  const bool first = GENERATE(true, false);  // in the first call nothing is connected
  test::with_world(3, {.transport = transport}, [&](Communicator& comm) {
    if (!first) small_exchange(comm);
    if (comm.rank() == 1) return;
    comm.set_timeout(std::chrono::milliseconds(1200));
    // The call does not wait for this.
    int value = 0;
    const Work to_self = comm.recv_async(&value, 1, i32, comm.rank());
    const Error error = error_of([&] { small_exchange(comm); });
    expect(error, ErrorCode::timeout, "rank 1");
    expect(error, ErrorCode::timeout, first ? "all_to_all_v #1" : "all_to_all_v #2");
    expect(error_of([&] { small_exchange(comm); }), ErrorCode::timeout, "rank 1");
  });
}

TEST_CASE("abort from any thread ends a short exchange that waits, on every rank") {
  const char* const transport = GENERATE("local", "shm");
  test::with_world(3, {.transport = transport}, [](Communicator& comm) {
    if (comm.rank() == 0) {
      std::thread aborter([&] { comm.abort("enough"); });
      return aborter.join();  // without making the call that the others wait in
    }
    expect(error_of([&] { small_exchange(comm); }), ErrorCode::aborted, "enough");
  });
}

TEST_CASE("a rank that leaves is named by the short exchange that waits for it") {
  const char* const transport = GENERATE("local", "shm");
  test::with_world(3, {.transport = transport}, [](Communicator& comm) {
    small_exchange(comm);
    if (comm.rank() == 2) return comm.finalize();
    const Error error = error_of([&] { small_exchange(comm); });
    if (std::string(error.what()).find("rank 2") == std::string::npos)
      throw std::runtime_error("unexpected: " + std::string(error.what()));
  });
}

TEST_CASE("ranks that disagree about the type of a short exchange are told so") {
  const DataType other = GENERATE(DataType::uint32, DataType::float32, DataType::int16);
  test::with_world(2, {}, [&](Communicator& comm) {
    small_exchange(comm);
    expect(error_of([&] {
             small_exchange(comm, comm.rank() == 0 ? i32 : other);
             comm.barrier();
           }),
           ErrorCode::mismatch, "");
  });
}

TEST_CASE("a short block that the other side takes for a long one is a mismatch") {
  const std::size_t other = GENERATE(std::size_t{4097}, std::size_t{100'000});  // beyond 16 KB
  const bool sender_has_short = GENERATE(true, false);
  test::with_world(2, {}, [&](Communicator& comm) {
    const bool is_sender = comm.rank() == 0;
    const std::size_t count = is_sender == sender_has_short ? 3 : other;
    const Sizes sent = is_sender ? Sizes{0, count} : Sizes{0, 0};
    const Sizes received = is_sender ? Sizes{0, 0} : Sizes{count, 0};
    const std::vector<int> out(count);
    std::vector<int> in(count);
    const Error error = error_of([&] {
      comm.all_to_all_v(out.data(), {sent}, in.data(), {received}, i32);
      comm.barrier();
    });
    expect(error, ErrorCode::mismatch, "receive count or type differs from the peer's send count");
  });
}

}  // namespace
}  // namespace rondo
