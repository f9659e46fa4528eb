#include "tools/trainer/data/text.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/trainer/data/random.h"
#include "tools/trainer/words.h"

namespace rondo::train {

Text::Text(const std::string& text, std::size_t block) : block_(block) {
  if (block == 0) reject("blocks of 0 characters hold nothing", "--block 64");
  std::array<bool, 256> seen{};
  for (const char character : text) seen[static_cast<unsigned char>(character)] = true;
  for (std::size_t byte = 0; byte < seen.size(); ++byte) {
    if (!seen[byte]) continue;
    number_[byte] = static_cast<std::int32_t>(characters_.size());
    characters_.push_back(static_cast<char>(byte));
  }
  tokens_.reserve(text.size());
  for (const char character : text) tokens_.push_back(token(character));
  split_ = tokens_.size() - tokens_.size() / 10;
  print_ = mix(train::fingerprint(text), block);
  for (const Part part : {Part::training, Part::validation}) {
    if (samples(part) > 0) continue;
    reject("the text of " + std::to_string(text.size()) + " characters is too short: its " +
               (part == Part::training ? "first nine tenths" : "last tenth") +
               " must hold a block of " + std::to_string(block) + " and one more",
           "a longer text or a smaller --block");
  }
}

// A sample is a block and, for its last target, the character after it.
std::size_t Text::samples(Part part) const {
  const std::size_t length = part == Part::training ? split_ : tokens_.size() - split_;
  return length > block_ ? (length - 1) / block_ : 0;
}

Batch Text::batch(Part part, std::span<const std::size_t> numbers) const {
  Batch batch{.rows = numbers.size(), .columns = block_};
  const std::size_t first = part == Part::training ? 0 : split_;
  for (const std::size_t number : numbers) {
    const auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(first + number * block_);
    const auto end = begin + static_cast<std::ptrdiff_t>(block_);
    batch.tokens.insert(batch.tokens.end(), begin, end);
    batch.targets.insert(batch.targets.end(), begin + 1, end + 1);
  }
  return batch;
}

std::string readable(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  // Other kinds of files have no end, such as /dev/zero, or can be read by one rank only, such as
  // pipes.
  const bool whole = std::filesystem::is_regular_file(path, ignored);
  std::ifstream file;
  if (whole) file.open(path, std::ios::binary);
  if (!whole || !file) {
    reject("cannot read the text " + path,
           "a file that is there, whole, for each rank on every host, or no --data for the "
           "built-in text");
  }
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) reject("the text " + path + " is empty", "a file with some 10,000 characters");
  return text;
}

Sampler::Sampler(const SamplerOptions& options)
    : options_(options),
      steps_((options.samples + (options.drop_last ? 0 : options.batch - 1)) / options.batch) {}

void Sampler::arrange(std::size_t epoch) {
  order_.resize(options_.samples);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (options_.shuffle) Random(mix(options_.seed, epoch)).shuffle(order_);
  const std::size_t total = steps_ * options_.batch;
  order_.resize(std::min(total, options_.samples));
  for (std::size_t i = order_.size(); i < total; ++i)
    order_.push_back(order_[i % options_.samples]);
  epoch_ = epoch;
}

std::vector<std::size_t> Sampler::at(std::size_t step) {
  const std::size_t epoch = step / steps_;
  if (order_.empty() || epoch != epoch_) arrange(epoch);
  const std::size_t begin = step % steps_ * options_.batch;
  std::vector<std::size_t> own;
  for (std::size_t i = static_cast<std::size_t>(options_.rank); i < options_.batch;
       i += static_cast<std::size_t>(options_.ranks)) {
    own.push_back(order_[begin + i]);
  }
  return own;
}

}  // namespace rondo::train
