#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "rondo/quantized.h"
#include "tools/trainer/strategy/storage.h"

namespace rondo::train {
namespace {

class Rounding final : public Compressor {
 public:
  Rounding(const Workplace& place, const Partition& partition, Precision wire)
      : partition_(partition), packed_(place.ledger, Use::buckets, wire, partition.whole_size()) {}

  Collection pack(std::size_t segment, std::span<float> gradients) override {
    const std::size_t begin = partition_.segment(segment).whole;
    packed_.write(begin, gradients);
    return {Collective::all_reduce, packed_.at(begin), packed_.at(begin), gradients.size(),
            packed_.type()};
  }
  void unpack(std::size_t segment, std::span<float> gradients) override {
    packed_.read(partition_.segment(segment).whole, gradients);
  }

 private:
  const Partition& partition_;
  Values packed_;
};

class Quantized final : public Compressor {
 public:
  Quantized(const Workplace& place, const Partition& partition)
      : share_(1.0F / static_cast<float>(place.world.size())),
        partition_(partition),
        rest_(place.ledger, Use::compensation, partition.whole_size()) {
    for (std::size_t segment = 0; segment < partition.segments().size(); ++segment)
      blocks_.emplace_back(place.ledger, Use::buckets, quantized_blocks(partition.padded(segment)));
  }

  Collection pack(std::size_t segment, std::span<float> gradients) override {
    const auto rest = partition_.part(rest_.span(), segment);
    const auto blocks = blocks_[segment].span();
    quantize(gradients, blocks, rest);
    return {.input = blocks.data(),
            .output = blocks.data(),
            .count = blocks.size(),
            .own = &quantized_sum};
  }
  void unpack(std::size_t segment, std::span<float> gradients) override {
    dequantize(blocks_[segment].span(), gradients);
    for (float& gradient : gradients) gradient *= share_;
  }

 private:
  float share_;
  const Partition& partition_;
  Array<float> rest_;  ///< what the numbers that were sent are off
  std::vector<Array<QuantizedBlock>> blocks_{};
};

class TopK final : public Compressor {
 public:
  TopK(const Workplace& place, const Partition& partition, double share)
      : ranks_(static_cast<std::size_t>(place.world.size())),
        rank_(static_cast<std::size_t>(place.world.rank())),
        partition_(partition),
        rest_(place.ledger, Use::compensation, partition.whole_size()) {
    for (std::size_t segment = 0; segment < partition.segments().size(); ++segment) {
      const std::size_t size = partition.padded(segment);
      const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(size)));
      const std::size_t kept = std::clamp<std::size_t>(wanted, 1, size);
      entries_.emplace_back(place.ledger, Use::buckets, kept * ranks_);
    }
  }

  Collection pack(std::size_t segment, std::span<float> gradients) override {
    const auto rest = partition_.part(rest_.span(), segment);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] += gradients[i];
    const auto all = entries_[segment].span();
    const auto own = all.subspan(rank_ * (all.size() / ranks_), all.size() / ranks_);
    select(rest, own);
    return {Collective::all_gather, own.data(), all.data(), own.size_bytes(), DataType::uint8};
  }
  void unpack(std::size_t segment, std::span<float> gradients) override {
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    const float share = 1.0F / static_cast<float>(ranks_);
    for (const Entry& entry : entries_[segment].span())
      gradients[entry.index] += entry.value * share;
  }

 private:
  struct Entry {
    std::uint32_t index;  ///< in the segment
    float value;
  };

  /// Moves the entries of largest magnitude from `rest` into `kept`.
  void select(std::span<float> rest, std::span<Entry> kept) {
    order_.resize(rest.size());
    std::iota(order_.begin(), order_.end(), 0U);
    const auto larger = [&](std::uint32_t a, std::uint32_t b) {
      return std::fabs(rest[a]) > std::fabs(rest[b]);
    };
    if (kept.size() < order_.size()) {
      std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(kept.size()),
                       order_.end(), larger);
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
      kept[i] = {order_[i], std::exchange(rest[order_[i]], 0.0F)};
  }

  std::size_t ranks_, rank_;
  const Partition& partition_;
  Array<float> rest_;                    ///< what was not sent yet
  std::vector<Array<Entry>> entries_{};  ///< of a segment: those of every rank, in rank order
  std::vector<std::uint32_t> order_{};
};

}  // namespace

std::unique_ptr<Compressor> make_compressor(const Workplace& place, const Partition& partition,
                                            const StrategyOptions& options) {
  if (options.quantized) return std::make_unique<Quantized>(place, partition);
  if (options.top_k > 0) return std::make_unique<TopK>(place, partition, options.top_k);
  if (options.wire != options.precision)
    return std::make_unique<Rounding>(place, partition, options.wire);
  return nullptr;
}

}  // namespace rondo::train
