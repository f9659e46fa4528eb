// The two sides that rondo_price compares, for one algorithm over one transport.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/floor/team.h"
#include "bench/floor/trial.h"
#include "bench/price/by_hand.h"
#include "bench/price/wire.h"
#include "rondo/rondo.h"

namespace rondo::bench {

/// Vectors that both sides add up, of this member's own.
struct Vectors {
  explicit Vectors(std::size_t bytes)
      : input(bytes / sizeof(float)), output(bytes / sizeof(float)) {}
  std::vector<float> input;
  std::vector<float> output;
};

/// By hand on a wire, and by the executor on a communicator. Each has channels of its own, alike.
class Sides {
 public:
  /// Collective. `number` is unique among all sides. `meeting` holds Wire::meeting_bytes.
  Sides(Member& member, SharedMemory& meeting, const std::string& transport,
        const std::string& algorithm, std::uint64_t number);

  const std::string& transport() const { return transport_; }
  const std::string& algorithm() const { return algorithm_; }
  /// Whether the code by hand takes vectors of this length.
  bool takes(std::size_t bytes) const;
  /// The trial by hand, then that of the executor. `vectors` outlives them.
  std::vector<Trial> trials(std::size_t bytes, Vectors& vectors);
  /// Collective. Call it last.
  void finalize();

 private:
  Trial trial(const std::string& name, std::size_t count, Vectors& vectors,
              std::function<void()> call);

  Member& member_;
  std::string transport_;
  std::string algorithm_;
  Wire wire_;
  std::unique_ptr<HandAllReduce> by_hand_;
  Communicator world_;
  std::size_t salt_ = 0;
};

}  // namespace rondo::bench
