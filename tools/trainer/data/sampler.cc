#include "tools/trainer/data/sampler.h"

#include <numeric>

#include "tools/trainer/data/random.h"

namespace rondo::train {

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
