// The table of channels that transports share.
#include "core/transport/channel_table.h"

#include <memory>

#include "tests/catch.h"

namespace rondo::testing {
namespace {

struct MadeUp {
  bool open = false;
};
using Table = ChannelTable<MadeUp, MadeUp>;
constexpr auto make = [] { return std::make_unique<MadeUp>(); };

std::ptrdiff_t awaited(const Table& table) {
  return table.count_wanted([](const MadeUp& channel) { return !channel.open; });
}

}  // namespace

TEST_CASE("a table makes each channel once and keeps it in its place", "[channels]") {
  Table table;
  CHECK(table.find_sender({1, 0}) == nullptr);
  const auto [first, is_new] = table.sender({1, 0}, make);
  CHECK(is_new);
  for (int lane = 1; lane < 100; ++lane) CHECK(table.sender({1, lane}, make).second);
  const auto again = table.sender({1, 0}, make);
  CHECK_FALSE(again.second);
  CHECK(&again.first == &first);
  CHECK(table.find_sender({1, 0}) == &first);
  CHECK(table.senders().size() == 100);
  CHECK(table.find_receiver({1, 0}) == nullptr);
}

TEST_CASE("every sender is awaited, but only the receivers that are wanted", "[channels]") {
  Table table;
  MadeUp& sender = table.sender({1, 0}, make).first;
  MadeUp& receiver = table.receiver({1, 0}, make).first;  // the peer has connected
  CHECK(awaited(table) == 1);
  CHECK(table.want({1, 0}));
  CHECK_FALSE(table.want({1, 0}));
  CHECK(awaited(table) == 2);
  receiver.open = true;
  CHECK(awaited(table) == 1);
  sender.open = true;
  CHECK(awaited(table) == 0);
}

TEST_CASE("a rare look is due once in many calls", "[channels]") {
  RareLook often(std::chrono::milliseconds(0));
  RareLook never(std::chrono::hours(1000000));
  int due = 0;
  for (int call = 0; call < 640; ++call) {
    due += often.is_due() ? 1 : 0;
    CHECK_FALSE(never.is_due());
  }
  CHECK(due == 10);
}

}  // namespace rondo::testing
