// Top-k with error feedback: values that are not sent now are kept and sent later.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "tools/trainer/memory/array.h"
#include "tools/trainer/strategy/reduction.h"
#include "tools/trainer/strategy/zero/pending.h"

namespace rondo::train {
namespace {

class TopK final : public Reduction {
 public:
  TopK(const Workplace& place, std::vector<Bucket> buckets, std::span<float> gradients,
       double share)
      : place_(place),
        gradients_(gradients),
        rest_(place.ledger, Use::compensation, gradients.size()) {
    const auto ranks = static_cast<std::size_t>(place_.world.size());
    for (const Bucket& bucket : buckets) {
      const auto wanted = std::ceil(share * static_cast<double>(bucket.size()));
      const auto kept = std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, bucket.size());
      messages_.push_back({bucket, kept, Array<Entry>(place.ledger, Use::buckets, kept * ranks)});
    }
  }

  void start(std::size_t bucket) override {
    Message& message = messages_[bucket];
    const auto gradients = gradients_.subspan(message.bucket.begin, message.bucket.size());
    const auto rest = rest_.span().subspan(message.bucket.begin, message.bucket.size());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] += gradients[i];
    Entry* const own = message.entries.data() + place_.world.rank() * message.kept;
    select(rest, {own, message.kept});
    message.work = Pending(place_.watch, [&] {
      return place_.machine.all_gather(place_.world, own, message.entries.data(),
                                       message.kept * sizeof(Entry), DataType::uint8);
    });
  }

  void finish(std::size_t bucket) override {
    Message& message = messages_[bucket];
    message.work.wait(place_.watch);
    const auto gradients = gradients_.subspan(message.bucket.begin, message.bucket.size());
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    const float share = 1.0F / static_cast<float>(place_.world.size());
    for (const Entry& entry : message.entries.span()) gradients[entry.index] += entry.value * share;
  }

 private:
  struct Entry {
    std::uint32_t index;  ///< in the bucket
    float value;
  };
  struct Message {
    Bucket bucket;
    std::size_t kept;
    Array<Entry> entries;  ///< the `kept` of every rank, in rank order
    Pending work{};        ///< after entries, which it sends
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
    for (std::size_t i = 0; i < kept.size(); ++i) {
      kept[i] = {order_[i], std::exchange(rest[order_[i]], 0.0F)};
    }
  }

  Workplace place_;
  std::span<float> gradients_;
  Array<float> rest_;
  std::vector<Message> messages_{};
  std::vector<std::uint32_t> order_{};
};

}  // namespace

std::unique_ptr<Reduction> reduce_top_k(const Workplace& place, std::vector<Bucket> buckets,
                                        std::span<float> gradients, double share) {
  return std::make_unique<TopK>(place, std::move(buckets), gradients, share);
}

}  // namespace rondo::train
