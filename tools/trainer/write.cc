// Text from a trained model, character by character.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/trainer/data/random.h"
#include "tools/trainer/session.h"

namespace rondo::train {
namespace {

/// One of the scores' indices, with the probability of softmax(scores / temperature).
std::int32_t draw(std::span<const float> scores, double temperature, Random& random) {
  const float largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> sums;
  double sum = 0;
  for (const float score : scores) {
    sum += std::exp(static_cast<double>(score - largest) / temperature);
    sums.push_back(sum);
  }
  const double point = random.uniform() * sum;
  const auto found = std::upper_bound(sums.begin(), sums.end() - 1, point);
  return static_cast<std::int32_t>(found - sums.begin());
}

}  // namespace

// Every rank computes, as a strategy may need all ranks. Rank 0 draws, so all write the same text.
std::string Session::write(const std::string& prompt, std::size_t count, double temperature) {
  std::vector<std::int32_t> tokens;
  for (const char character : prompt) tokens.push_back(text_.token(character));
  if (tokens.empty()) tokens.push_back(text_.token('\n'));  // 0 where the text has no lines
  std::string text;
  Random random(mix(options_.seed, 2));
  while (text.size() < count) {
    const std::size_t length = std::min(tokens.size(), options_.block);
    Batch batch{.rows = 1, .columns = length};
    batch.tokens.assign(tokens.end() - static_cast<std::ptrdiff_t>(length), tokens.end());
    batch.targets.assign(length, 0);
    model_->forward(batch, *strategy_);
    const In last = model_->scores().last(text_.characters().size());
    std::vector<float> scores(last.size());
    machine().read(last.data(), scores.data(), last.size_bytes());
    std::int32_t next = draw(scores, temperature, random);
    control_.broadcast(&next, &next, 1, DataType::int32, 0);
    tokens.push_back(next);
    text += text_.characters()[static_cast<std::size_t>(next)];
  }
  return text;
}

}  // namespace rondo::train
