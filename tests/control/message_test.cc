// The control plane's bytes: what goes in comes out, and nothing else gets in.
#include "core/control/message.h"

#include <algorithm>
#include <random>

#include "tests/catch.h"
#include "tests/control/sealed.h"

namespace rondo::control {
namespace {

constexpr std::size_t header_bytes = 12;

/// One of each kind, with every field set.
std::vector<Message> samples() {
  const HostInfo host{.host = "boot/1", .hostname = "x", .process = 9, .pid = 77};
  const CallReport report{.begun = 4,
                          .completed = 3,
                          .calls = {{4, 10, Collective::reduce, DataType::float16,
                                     ReduceOperator::min, 2, 7, DataType::float32, true}}};
  return {
      Credential{.proof = {1, 2, 3}},
      Hello{.rank = 3,
            .ranks = 4,
            .host = host,
            .standby = {.address = "::1", .port = 65535},
            .session = {4, 5},
            .received = 6},
      BootstrapExpired{.milliseconds = 60000},
      Welcome{.hosts = {host, host},
              .service = host,
              .standbys = {{.address = "10.0.0.1", .port = 77}, {}},
              .received = 8},
      Refused{.retry = 1, .peer = 2, .message = "m", .remedy = "r"},
      Received{.count = 9},
      Closing{.left = {0, 3}, .dead = {2}},
      Open{.communicator = 5, .members = {3, 1, 2}, .again = 1},
      Told{},
      Blob{.communicator = 5, .round = 3, .of_all = 4, .bytes = std::string("\0\xff", 2)},
      ExchangeExpired{.communicator = 5, .milliseconds = 7},
      Stall{.communicator = 5,
            .from = 1,
            .to = 2,
            .milliseconds = 3,
            .peer = 1,
            .what = "w",
            .expired = 1,
            .mismatch = 1,
            .timeout_from_program = 1},
      Answer{.communicator = 5, .diagnosis = 6, .report = report},
      Leave{.communicator = 5, .report = report},
      Bye{},
      Blobs{.communicator = 5,
            .round = 2,
            .bytes = {"a", "", "ccc"},
            .missing = {1},
            .refusal = "too few"},
      Query{.communicator = 5, .diagnosis = 6, .from = 7, .to = 8},
      Note{.communicator = 5, .text = "t"},
      Failure{.communicator = 5, .code = 4, .peer = 1, .message = "m", .call = "c", .remedy = "r"},
      Compare{.communicator = 5, .report = report},
      Alike{.communicator = 5},
      Departed{.communicator = 5, .ranks = {0, 2}, .reports = {report, {}}}};
}

TEST_CASE("every kind of message survives the wire, whole or byte by byte") {
  const auto messages = samples();
  REQUIRE(messages.size() == std::variant_size_v<Message>);
  std::string bytes;
  for (const auto& message : messages) bytes += encode(message);
  for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
    FrameReader reader;
    std::string again;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      const auto count = std::min(step, bytes.size() - at);
      reader.feed({bytes.data() + at, count});
      while (const auto message = reader.next()) again += encode(*message);
    }
    CHECK(again == bytes);
  }
}

TEST_CASE("a preamble is told from anything else at the first wrong byte") {
  const auto good = encode(Preamble{.version = 3, .nonce = {1, 2, 3}});
  REQUIRE(good.size() == preamble_bytes);
  for (std::size_t count = 0; count < good.size(); ++count) {
    FrameReader reader;
    reader.feed({good.data(), count});
    CHECK_FALSE(reader.preamble());
  }
  FrameReader reader;
  reader.feed(good);
  const auto preamble = reader.preamble();
  REQUIRE(preamble);
  CHECK(preamble->version == 3);
  CHECK(preamble->nonce == Nonce{1, 2, 3});
  for (std::size_t wrong = 0; wrong < 8; ++wrong) {
    auto bad = good.substr(0, wrong + 1);
    bad[wrong] = static_cast<char>(bad[wrong] ^ 1);
    FrameReader strict;
    strict.feed(bad);
    CHECK_THROWS_AS(strict.preamble(), NotRondo);
  }
}

/// Whether a reader lets the bytes through as a Credential after a preamble.
bool lets_in(const std::string& bytes) {
  FrameReader reader;
  reader.feed(bytes);
  try {
    const auto preamble = reader.preamble();
    if (!preamble || preamble->version != protocol_version) return false;
    const auto message = reader.next();
    return message && std::holds_alternative<Credential>(*message);
  } catch (const NotRondo&) {
    return false;
  }
}

TEST_CASE("ten thousand random byte strings are refused") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::string bytes(random() % 200, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    REQUIRE_FALSE(lets_in(bytes));
  }
}

TEST_CASE("random bytes after a good greeting never break the reader") {
  std::mt19937_64 random(2);
  const auto greeting = encode(Preamble{});
  const auto messages = samples();
  for (int i = 0; i < 10000; ++i) {
    auto frame = encode(messages[random() % messages.size()]).substr(header_bytes);
    for (int flips = static_cast<int>(random() % 6); flips >= 0; --flips) {
      frame[random() % frame.size()] = static_cast<char>(random());
    }
    FrameReader reader;
    reader.feed(greeting);
    reader.feed(test::sealed(frame, static_cast<std::uint32_t>(frame.size() - random() % 2)));
    REQUIRE(reader.preamble());
    try {
      while (reader.next()) {
      }
    } catch (const NotRondo&) {
    }
  }
  CHECK(lets_in(greeting + encode(Message(Credential{}))));
  CHECK_FALSE(lets_in(encode(Preamble{.version = 1}) + encode(Message(Credential{}))));
}

TEST_CASE("lengths and counts that lie are refused before memory is asked for") {
  FrameReader reader(1 << 16);
  reader.feed(test::sealed({}, 0x7fffffff));
  CHECK_THROWS_AS(reader.next(), NotRondo);
  auto blobs = encode(Message(Blobs{.communicator = 1, .bytes = {}})).substr(header_bytes);
  blobs[blobs.size() - 2] = '\x7f';  // a list of eight million
  FrameReader other(1 << 16);
  other.feed(test::sealed(blobs, static_cast<std::uint32_t>(blobs.size())));
  CHECK_THROWS_AS(other.next(), NotRondo);
}

TEST_CASE("no changed bit of a message is believed") {
  for (const auto& message : samples()) {
    const std::string good = encode(message);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
      FrameReader reader;
      reader.feed(bad);
      REQUIRE_THROWS_AS(reader.next(), NotRondo);
    }
  }
}

}  // namespace
}  // namespace rondo::control
