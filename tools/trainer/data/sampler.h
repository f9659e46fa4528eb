// Which samples each rank sees in which step: PyTorch's DistributedSampler, in global batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::train {

/// Equal on every rank, except `rank`.
struct SamplerOptions {
  std::size_t samples = 0;
  std::size_t batch = 1;  ///< global: samples of all ranks in a step
  int ranks = 1;
  int rank = 0;
  bool shuffle = true;  ///< another order in each epoch
  std::uint64_t seed = 0;
  bool drop_last = true;  ///< else the last batch is filled up from the epoch's beginning
};

/// An epoch is the samples in one order, cut to whole global batches. From each batch rank r takes
/// positions r, r + ranks, r + 2 ranks, ... Together the ranks see the same samples as one rank
/// would. A global batch of `ranks` samples is DistributedSampler itself: the epoch is dropped or
/// padded to a multiple of the ranks and dealt out in turn. The caller checks the options: batch >=
/// ranks, samples >= 1, and with drop_last samples >= batch.
class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);

  std::size_t steps_per_epoch() const { return steps_; }
  /// This rank's samples of a step. Steps are counted over all epochs, from 0.
  std::vector<std::size_t> at(std::size_t step);

 private:
  void arrange(std::size_t epoch);

  SamplerOptions options_;
  std::size_t steps_;
  std::size_t epoch_ = 0;
  std::vector<std::size_t> order_{};  ///< of epoch_; empty before the first
};

}  // namespace rondo::train
