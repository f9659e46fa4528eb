#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "rondo/error.h"
#include "tools/trainer/data/dataset.h"
#include "tools/trainer/data/random.h"

namespace rondo::train {
namespace {

// Class c's arm at distance d from the centre points to 1.5 turns * d + c / classes of a turn, with
// a little noise. Points are drawn in random order of classes, so any range of them is a fair one.
class Spirals final : public Dataset {
 public:
  Spirals(std::size_t samples, std::size_t classes, std::uint64_t seed) : classes_(classes) {
    Random random(mix(seed, 1));
    for (std::size_t i = 0; i < samples; ++i) {
      const std::size_t arm = random.below(classes);
      const double distance = 0.05 + 0.95 * random.uniform();
      const double turn = 1.5 * distance + static_cast<double>(arm) / static_cast<double>(classes) +
                          0.02 * random.normal();
      const double angle = 2 * std::numbers::pi * turn;
      features_.push_back(static_cast<float>(distance * std::cos(angle)));
      features_.push_back(static_cast<float>(distance * std::sin(angle)));
      labels_.push_back(static_cast<std::int32_t>(arm));
    }
    split_ = samples - samples / 8;
    for (const float value : features_) print_ = mix(print_, std::bit_cast<std::uint32_t>(value));
  }

  std::size_t samples(Part part) const override {
    return part == Part::training ? split_ : labels_.size() - split_;
  }
  Batch batch(Part part, std::span<const std::size_t> numbers) const override {
    Batch batch{.rows = numbers.size(), .columns = 2};
    for (const std::size_t number : numbers) {
      const std::size_t index = part == Part::training ? number : split_ + number;
      batch.features.push_back(features_[2 * index]);
      batch.features.push_back(features_[2 * index + 1]);
      batch.targets.push_back(labels_[index]);
    }
    return batch;
  }
  std::size_t inputs() const override { return 2; }
  std::size_t outputs() const override { return classes_; }
  std::size_t targets_per_sample() const override { return 1; }
  std::uint64_t fingerprint() const override { return print_; }

 private:
  std::size_t classes_;
  std::size_t split_ = 0;
  std::uint64_t print_ = 0;
  std::vector<float> features_{};
  std::vector<std::int32_t> labels_{};
};

}  // namespace

std::unique_ptr<Dataset> make_spirals(std::size_t samples, std::size_t classes,
                                      std::uint64_t seed) {
  if (samples < 8 || classes < 2) {
    throw Error(ErrorCode::invalid_argument, "too few points or classes to classify",
                {.remedy = "at least 8 points and 2 classes"});
  }
  return std::make_unique<Spirals>(samples, classes, seed);
}

}  // namespace rondo::train
