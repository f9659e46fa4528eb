#include "tools/trainer/strategy/reduction.h"

#include <utility>

#include "tools/trainer/memory/array.h"
#include "tools/trainer/strategy/zero/pending.h"

namespace rondo::train {
namespace {

class InPlace final : public Reduction {
 public:
  InPlace(const Workplace& place, std::vector<Bucket> buckets, void* gradients, Precision precision)
      : place_(place),
        buckets_(std::move(buckets)),
        works_(buckets_.size()),
        gradients_(static_cast<std::byte*>(gradients)),
        type_(info(precision)) {}

  void start(std::size_t bucket) override {
    std::byte* const begin = gradients_ + buckets_[bucket].begin * type_.bytes;
    works_[bucket] = Pending(place_.watch, [&] {
      return place_.machine.all_reduce(place_.world, begin, buckets_[bucket].size(), type_.wire,
                                       ReduceOperator::avg);
    });
  }
  void finish(std::size_t bucket) override { works_[bucket].wait(place_.watch); }

 private:
  Workplace place_;
  std::vector<Bucket> buckets_;
  std::vector<Pending> works_;
  std::byte* gradients_;
  const PrecisionInfo& type_;
};

class Narrow final : public Reduction {
 public:
  Narrow(const Workplace& place, std::vector<Bucket> buckets, std::span<float> gradients,
         Precision wire)
      : place_(place),
        buckets_(std::move(buckets)),
        gradients_(gradients),
        packed_(place.ledger, Use::buckets, gradients.size()),
        works_(buckets_.size()),
        wire_(wire) {}

  void start(std::size_t bucket) override {
    const auto packed = part(packed_.span(), bucket);
    narrow(part(gradients_, bucket), packed, wire_);
    works_[bucket] = Pending(place_.watch, [&] {
      return place_.machine.all_reduce(place_.world, packed.data(), packed.size(), info(wire_).wire,
                                       ReduceOperator::avg);
    });
  }
  void finish(std::size_t bucket) override {
    works_[bucket].wait(place_.watch);
    widen(part(packed_.span(), bucket), part(gradients_, bucket), wire_);
  }

 private:
  template <class T>
  std::span<T> part(std::span<T> whole, std::size_t bucket) const {
    return whole.subspan(buckets_[bucket].begin, buckets_[bucket].size());
  }

  Workplace place_;
  std::vector<Bucket> buckets_;
  std::span<float> gradients_;
  Array<std::uint16_t> packed_;
  std::vector<Pending> works_;  ///< after packed_, which they send
  Precision wire_;
};

}  // namespace

std::unique_ptr<Reduction> reduce_in_place(const Workplace& place, std::vector<Bucket> buckets,
                                           void* gradients, Precision precision) {
  return std::make_unique<InPlace>(place, std::move(buckets), gradients, precision);
}

std::unique_ptr<Reduction> reduce_narrow(const Workplace& place, std::vector<Bucket> buckets,
                                         std::span<float> gradients, Precision wire) {
  return std::make_unique<Narrow>(place, std::move(buckets), gradients, wire);
}

}  // namespace rondo::train
