// The place where a rank computes: its memory, its operations, and collectives on that memory. It
// is the CPU (here) or a GPU (tools/trainer/device).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "rondo/rondo.h"
#include "tools/trainer/math/math.h"
#include "tools/trainer/memory/supply.h"
#include "tools/trainer/optimize/optimizer.h"

namespace rondo::train {

/// A collective that is under way.
class Started {
 public:
  virtual ~Started() = default;
  /// Returns when it is complete and operations may use its buffers, or throws its error. Call it
  /// once.
  virtual void wait() = 0;
};

/// Belongs to one rank; one thread at a time. Spans and buffers lie in its memory, unless a name
/// says otherwise. Errors are rondo::Error.
class Machine {
 public:
  virtual ~Machine() = default;

  virtual const Math<float>& math() const = 0;
  /// The supply for the ledger's arrays; null: this process's own memory.
  virtual Supply* supply() const = 0;
  virtual double sum_of_squares(std::span<const float> values) const = 0;
  /// One step of the optimizer on a range.
  virtual void update(const Optimizer& optimizer, const Range& range, const Step& step) const = 0;
  /// Returns when all operations so far are complete.
  virtual void finish() const = 0;

  /// Like Communicator's asynchronous calls, among the ranks of `world`. They start after the
  /// operations so far, and may work in place.
  virtual std::unique_ptr<Started> all_reduce(Communicator& world, void* buffer, std::size_t count,
                                              DataType type, ReduceOperator op) const = 0;
  virtual std::unique_ptr<Started> reduce_scatter(Communicator& world, const void* input,
                                                  void* output, std::size_t count, DataType type,
                                                  ReduceOperator op) const = 0;
  virtual std::unique_ptr<Started> all_gather(Communicator& world, const void* input, void* output,
                                              std::size_t count, DataType type) const = 0;
  /// What `world` and these calls have sent.
  virtual Traffic traffic(const Communicator& world) const = 0;

  /// Copies between its memory and the host's; done on return.
  template <class T>
  void read(std::span<const T> from, std::span<T> host) const {
    if (from.empty()) return;
    if (supply() != nullptr) return supply()->read(from.data(), host.data(), from.size_bytes());
    std::copy(from.begin(), from.end(), host.begin());
  }
  template <class T>
  void write(std::span<const T> host, std::span<T> into) const {
    if (host.empty()) return;
    if (supply() != nullptr) return supply()->write(host.data(), into.data(), host.size_bytes());
    std::copy(host.begin(), host.end(), into.begin());
  }
  /// `values` in the host's memory: themselves, or a copy in `room`.
  template <class T>
  std::span<const T> shown(std::span<const T> values, std::vector<T>& room) const {
    if (supply() == nullptr) return values;
    room.resize(values.size());
    read(values, std::span<T>(room));
    return room;
  }
};

/// The CPU with this process's memory. Any thread.
const Machine& host_machine();

}  // namespace rondo::train
