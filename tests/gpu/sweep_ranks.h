// The ranks that one thread of the sweep runs on a GPU, and their calls.
#pragma once

#include <memory>
#include <vector>

#include "bench/floor/team.h"
#include "tests/gpu/sweep_values.h"
#include "tests/nccl/device.h"

namespace rondo::gpu_test {

/// How the sweep's ranks run on the GPU that they share.
enum class Form {
  threads,     ///< a thread for each, with a stream
  one_thread,  ///< one thread for all, in a group; a stream for each
  one_stream,  ///< the same, with one stream for all
  processes,   ///< a process for each
};

/// One call, of `count` elements as its function takes them, and what it moves.
struct Point {
  const bench::Program* program;
  bench::Shape shape;
};

/// The ranks of one member of the team: all of them in a group of one thread, else one.
class Ranks {
 public:
  /// Collective. Device 0's context becomes this thread's. `most`: elements of a buffer.
  Ranks(bench::Member& member, Form form, int ranks, std::size_t most);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Device memory that all communicators together took, their first call included, in bytes.
  double device_bytes() const { return device_bytes_; }

  /// Puts the call of all these ranks into their streams.
  void call(const Point& point) const;
  /// Waits until the streams have done all.
  void finish() const;
  /// The only stream. Form::one_thread with several ranks has more.
  const test::DeviceStream& stream() const { return *streams_.front(); }

  void poison_outputs(const Point& point) const;
  /// Elements of these ranks' outputs that are not what the call makes.
  std::size_t count_wrong(const Point& point) const;

 private:
  struct Rank {
    int number = 0;
    ncclComm_t comm = nullptr;
    std::unique_ptr<DeviceFloats> input{};
    std::unique_ptr<DeviceFloats> output{};
    const test::DeviceStream* stream = nullptr;
  };
  void connect();
  void call_of(const Rank& rank, const Point& point) const;

  bench::Member& member_;
  const int all_;  ///< ranks of the communicator
  const Values values_;
  std::vector<std::unique_ptr<test::DeviceStream>> streams_{};
  std::vector<Rank> ranks_{};
  double device_bytes_ = 0;
};

}  // namespace rondo::gpu_test
