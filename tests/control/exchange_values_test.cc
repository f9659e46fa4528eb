// What ranks say to each other is read with care, whatever it is.
#include "core/control/exchange_values.h"

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace rondo {
namespace {

struct Said {
  std::int32_t number = 0;
  bool truth = false;
  double seconds = 0;
  std::string text{};
  std::vector<std::string> list{};

  static void fields(auto& self, auto& archive) {
    archive(self.number, self.truth, self.seconds, self.text, self.list);
  }
  friend bool operator==(const Said&, const Said&) = default;
};

const Said sample{
    .number = -3, .truth = true, .seconds = 2.5, .text = "a", .list = {"", "bc", "d"}};

/// Rank 0 is this one; the others say what a test wants.
struct Channel {
  std::vector<std::string> others;
  std::vector<std::string> exchange(const std::string& mine) const {
    std::vector<std::string> all{mine};
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }
};

std::optional<Error> error_of(const std::string& bytes) {
  const Channel channel{{pack(sample), bytes}};
  try {
    exchange_values(&channel, sample);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

TEST_CASE("values arrive as they were sent, by rank") {
  Said other = sample;
  other.list.clear();
  const Channel channel{{pack(other)}};
  CHECK(exchange_values(&channel, sample) == std::vector<Said>{sample, other});
}

TEST_CASE("bytes that are no value are an error that names the rank") {
  const std::string good = pack(sample);
  CHECK_FALSE(error_of(good));
  std::vector<std::string> wrong{"", "0", good + "x", std::string(1000, '\xff')};
  for (std::size_t length = 0; length < good.size(); ++length)
    wrong.push_back(good.substr(0, length));
  std::string untrue = good;
  untrue[sizeof(std::int32_t)] = 2;
  wrong.push_back(untrue);
  for (const std::string& bytes : wrong) {
    const auto error = error_of(bytes);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::mismatch);
    CHECK(error->peer() == 2);
    CHECK(error->message().starts_with("what rank 2 said cannot be read: "));
  }
}

TEST_CASE("random bytes end in a value or an error") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10000; ++i) {
    std::string bytes = pack(sample);
    for (int flips = static_cast<int>(random() % 4); flips >= 0; --flips)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto error = error_of(bytes);
    if (error) REQUIRE(error->code() == ErrorCode::mismatch);
  }
}

}  // namespace
}  // namespace rondo
