// Texts, and which rank sees which sample when.
#include <algorithm>
#include <numeric>
#include <set>

#include "rondo/error.h"
#include "tests/catch.h"
#include "tools/trainer/data/text.h"

namespace {

using namespace rondo::train;
using Numbers = std::vector<std::size_t>;

TEST_CASE("a text becomes blocks whose targets are the next characters") {
  const std::string text = "abcabcabcabcabcabcabcabcabcabcabcabcabcd";  // 40: 36 and 4
  const Text data(text, 3);
  CHECK(data.characters() == "abcd");
  CHECK(data.samples(Part::training) == 11);
  CHECK(data.samples(Part::validation) == 1);
  const Numbers numbers{0, 10};
  const auto batch = data.batch(Part::training, numbers);
  CHECK(batch.tokens == std::vector<std::int32_t>{0, 1, 2, 0, 1, 2});
  CHECK(batch.targets == std::vector<std::int32_t>{1, 2, 0, 1, 2, 0});
  const auto rest = data.batch(Part::validation, Numbers{0});
  CHECK(rest.targets == std::vector<std::int32_t>{1, 2, 3});
  CHECK(data.token('d') == 3);
  CHECK(data.token('?') == 0);
  CHECK(Text(text + "e", 3).fingerprint() != data.fingerprint());
}

TEST_CASE("a text that is too short is refused in words") {
  CHECK_THROWS_AS(Text("abc", 3), rondo::Error);
  CHECK_THROWS_AS(Text("abcdefghijklmnopqrstuvwxyz", 3), rondo::Error);  // 2 to validate on
  CHECK_THROWS_AS(Text("abc", 0), rondo::Error);
}

TEST_CASE("the built-in text is the same everywhere, and has more to learn than letters") {
  const auto text = story_text(200'000);
  CHECK(text.size() >= 200'000);
  CHECK(text.size() < 201'000);
  CHECK(text == story_text(200'000));
  std::uint64_t print = 0;
  for (const char character : text) print = print * 31 + static_cast<unsigned char>(character);
  CHECK(print == 0x328f68abb2f3c726U);
  CHECK(text.find(" make ") != std::string::npos);
}

/// PyTorch's DistributedSampler without shuffling: the indices, dropped or padded to a multiple of
/// the ranks, dealt out in turn.
Numbers distributed_sampler(std::size_t samples, std::size_t ranks, std::size_t rank, bool drop) {
  Numbers indices(samples);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  const std::size_t each = drop ? samples / ranks : (samples + ranks - 1) / ranks;
  for (std::size_t i = 0; indices.size() < each * ranks; ++i) indices.push_back(indices[i]);
  indices.resize(each * ranks);
  Numbers own;
  for (std::size_t i = rank; i < indices.size(); i += ranks) own.push_back(indices[i]);
  return own;
}

TEST_CASE("a batch of one sample a rank is DistributedSampler") {
  for (const bool drop : {true, false}) {
    for (const std::size_t samples : {7U, 8U, 11U}) {
      for (std::size_t rank = 0; rank < 4; ++rank) {
        Sampler sampler({.samples = samples,
                         .batch = 4,
                         .ranks = 4,
                         .rank = static_cast<int>(rank),
                         .shuffle = false,
                         .drop_last = drop});
        Numbers own;
        for (std::size_t step = 0; step < sampler.steps_per_epoch(); ++step) {
          for (const std::size_t number : sampler.at(step)) own.push_back(number);
        }
        CHECK(own == distributed_sampler(samples, 4, rank, drop));
      }
    }
  }
}

Numbers step_of_all(int ranks, std::size_t step, std::uint64_t seed = 3) {
  Numbers all;
  for (int rank = 0; rank < ranks; ++rank) {
    Sampler sampler({.samples = 25, .batch = 10, .ranks = ranks, .rank = rank, .seed = seed});
    for (const std::size_t number : sampler.at(step)) all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_CASE("any number of ranks sees the same global batches") {
  for (std::size_t step = 0; step < 5; ++step) {
    const auto one = step_of_all(1, step);
    CHECK(one.size() == 10);
    CHECK(std::set<std::size_t>(one.begin(), one.end()).size() == 10);
    for (int ranks = 2; ranks <= 5; ++ranks) CHECK(step_of_all(ranks, step) == one);
  }
  CHECK(step_of_all(1, 0) != step_of_all(1, 2));  // 2 steps an epoch: another order
  CHECK(step_of_all(1, 0) != step_of_all(1, 0, 4));
}

TEST_CASE("a sampler can begin anywhere") {
  Sampler running({.samples = 25, .batch = 10, .seed = 3});
  for (std::size_t step = 0; step < 3; ++step) running.at(step);
  Sampler resumed({.samples = 25, .batch = 10, .seed = 3});
  CHECK(resumed.at(3) == running.at(3));
}

TEST_CASE("padding repeats the epoch's beginning, even more than once") {
  Sampler sampler({.samples = 3, .batch = 8, .shuffle = false, .drop_last = false});
  CHECK(sampler.steps_per_epoch() == 1);
  CHECK(sampler.at(0) == Numbers{0, 1, 2, 0, 1, 2, 0, 1});
}

}  // namespace
