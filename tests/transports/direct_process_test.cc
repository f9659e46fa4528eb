// Direct access between processes: memory is really shared, and a killed process is noticed.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "core/transport/direct_access.h"
#include "rondo/error.h"
#include "rondo/memory.h"
#include "tests/catch.h"
#include "tests/support/processes.h"
#include "tests/transports/world.h"

namespace rondo::testing {
namespace {

using test::Child;

constexpr std::size_t most_ranks = 3;
constexpr std::size_t window_bytes = 70000;
constexpr std::size_t small_board = 4096;

/// Where processes meet before they have a transport: memory inherited by fork().
struct Meeting {
  std::atomic<int> arrived{0};
  std::array<std::array<char, 256>, most_ranks> addresses{};
  std::array<char, 256>& of(int rank) { return addresses[static_cast<std::size_t>(rank)]; }
};

struct SharedMeeting {
  SharedMeeting() {
    void* page =
        ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    meeting = std::construct_at(static_cast<Meeting*>(page));
  }
  ~SharedMeeting() { ::munmap(meeting, sizeof(Meeting)); }
  Meeting* meeting = nullptr;
};

/// What a rank says in the control block.
struct Words {
  Exposed window{};
  Exposed second_window{};
  Exposed ordinary{};
  std::atomic<int> said{0};     ///< release: the rest is there
  std::atomic<int> request{0};  ///< 1: answer what the memory holds
  std::atomic<int> answer{0};   ///< 1: as patterns 11 and 2 say; 2: something else
};

struct Rank {
  Rank(int rank, int ranks, Meeting& meeting) {
    transport = find_transport("shm")->make({.rank = rank,
                                             .ranks = ranks,
                                             .communicator = 5,
                                             .slot_bytes = 8192,
                                             .doorbell = &doorbell});
    const std::string address = transport->address();
    std::memcpy(meeting.of(rank).data(), address.c_str(), address.size() + 1);
    meeting.arrived.fetch_add(1, std::memory_order_acq_rel);
    wait_until([&] { return meeting.arrived.load(std::memory_order_acquire) == ranks; });
    std::vector<std::string> addresses;
    for (int peer = 0; peer < ranks; ++peer) addresses.emplace_back(meeting.of(peer).data());
    transport->meet(addresses);
  }
  DirectAccess& access() { return *transport->direct_access(); }
  Words& words(int rank) { return reinterpret_cast<Words*>(board)[rank]; }
  void await_board() {
    wait_until([&] {
      transport->progress();
      return (board = access().board(small_board)) != nullptr;
    });
  }
  std::byte* map(int peer, const Exposed& place) {
    std::byte* mapped = nullptr;
    wait_until([&] {
      transport->progress();
      return (mapped = access().map(peer, place, window_bytes)) != nullptr;
    });
    return mapped;
  }

  Doorbell doorbell{};
  std::unique_ptr<Transport> transport{};
  std::byte* board = nullptr;
};

bool holds(const void* memory, std::uint64_t number) {
  const auto expected = pattern(1, number, window_bytes);
  return std::memcmp(memory, expected.data(), window_bytes) == 0;
}

/// A rank that shows its memory, echoes frames of rank 0 and answers a request, until it is killed.
std::string serve(int number, int ranks, Meeting& meeting) {
  Rank rank(number, ranks, meeting);
  rank.await_board();
  const Memory window = allocate(window_bytes);
  const Memory second = allocate(window_bytes);
  std::vector<std::byte> ordinary = pattern(1, 2, window_bytes);
  std::memcpy(window.data(), pattern(1, 1, window_bytes).data(), window_bytes);
  Words& words = rank.words(number);
  words.window = rank.access().expose(window.data(), window_bytes);
  words.second_window = rank.access().expose(second.data(), window_bytes);
  words.ordinary = rank.access().expose(ordinary.data(), window_bytes);
  words.said.store(1, std::memory_order_release);
  SendChannel& out = rank.transport->sender(0, 0);
  ReceiveChannel& in = rank.transport->receiver(0, 0);
  std::optional<Message> message;
  for (;;) {
    rank.transport->progress();
    if (!message) message = try_receive(in);
    if (message && try_send(out, message->bytes, message->fingerprint)) message.reset();
    if (words.request.load(std::memory_order_acquire) == 1) {
      const bool right = holds(window.data(), 11) && holds(ordinary.data(), 2);
      words.answer.store(right ? 1 : 2, std::memory_order_release);
    }
  }
}

ErrorCode code_of(const std::function<void()>& call, int peer) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.peer() == peer);
    CHECK(!error.remedy().empty());
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::internal;
}

}  // namespace

TEST_CASE("direct access crosses processes; a killed peer harms nobody else", "[direct]") {
  const SharedMeeting shared;
  Meeting& meeting = *shared.meeting;
  Child first([&] { return serve(1, 3, meeting); });
  const Child second([&] { return serve(2, 3, meeting); });
  Rank rank(0, 3, meeting);
  DirectAccess& access = rank.access();
  rank.await_board();
  for (const int peer : {1, 2}) {
    Words& words = rank.words(peer);
    wait_until([&] { return words.said.load(std::memory_order_acquire) == 1; });
    CHECK(words.window.window != 0);
    CHECK(words.ordinary.window == 0);
    std::byte* const mapped = rank.map(peer, words.window);
    CHECK(holds(mapped, 1));
    std::memcpy(mapped, pattern(1, 11, window_bytes).data(), window_bytes);
    words.request.store(1, std::memory_order_release);
    wait_until([&] { return words.answer.load(std::memory_order_acquire) != 0; });
    CHECK(words.answer.load(std::memory_order_acquire) == 1);
  }

  access.check(1);
  first.kill();
  const auto lost = [&](const std::function<void()>& call) {
    return code_of([&] { wait_until([&] { return rank.transport->progress(), call(), false; }); },
                   1) == ErrorCode::peer_lost;
  };
  CHECK(lost([&] { access.check(1); }));
  CHECK(lost([&] { access.map(1, rank.words(1).second_window, window_bytes); }));
  CHECK(access.map(1, rank.words(1).window, window_bytes) != nullptr);  // its pages outlive it
  CHECK(access.board(small_board) == rank.board);
  access.wake(1);

  access.check(2);
  CHECK(rank.map(2, rank.words(2).second_window) != nullptr);
  SendChannel& out = rank.transport->sender(2, 0);
  ReceiveChannel& in = rank.transport->receiver(2, 0);
  const Message message{4, pattern(1, 3, 500)};
  std::optional<Message> echo;
  wait_until([&] {
    rank.transport->progress();
    return try_send(out, message.bytes, message.fingerprint);
  });
  wait_until([&] {
    rank.transport->progress();
    return (echo = try_receive(in)).has_value();
  });
  CHECK(*echo == message);
}

TEST_CASE("direct access: a peer killed before it gives the control block: an error", "[direct]") {
  const SharedMeeting shared;
  Meeting& meeting = *shared.meeting;
  Child child([&]() -> std::string {
    Rank rank(0, 2, meeting);
    for (;;) ::pause();
  });
  Rank rank(1, 2, meeting);
  CHECK(rank.access().board(small_board) == nullptr);
  for (int i = 0; i < 100; ++i) rank.transport->progress();
  CHECK(rank.access().board(small_board) == nullptr);
  child.kill();
  const auto code = code_of(
      [&] {
        wait_until([&] {
          rank.transport->progress();
          return rank.access().board(small_board) != nullptr;
        });
      },
      0);
  CHECK(code == ErrorCode::peer_lost);
}

}  // namespace rondo::testing
