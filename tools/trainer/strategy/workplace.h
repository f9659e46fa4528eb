// What all parts of a strategy share: its options, its name, and what it works with.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/rondo.h"
#include "tools/trainer/math/narrow.h"
#include "tools/trainer/memory/ledger.h"
#include "tools/trainer/model/unit.h"
#include "tools/trainer/optimize/optimizer.h"
#include "tools/trainer/report/record.h"

namespace rondo::train {

/// Equal on every rank.
struct StrategyOptions {
  std::string kind = "ddp";                  ///< a name of strategies()
  std::size_t bucket_bytes = 25U << 20;      ///< of gradients in one call, on the wire
  Precision precision = Precision::float32;  ///< of the parameters that the model computes with
  Precision wire = Precision::float32;       ///< of gradients on the wire; not wider than precision
  bool sync_every_micro_step = false;        ///< accumulate without no_sync
  bool overlap = true;                       ///< communicate while backward goes on
  double top_k = 0;                          ///< share of a bucket's gradients sent; 0: all of them
  bool quantized = false;                    ///< gradients are sent as 8-bit numbers
  std::size_t local_steps = 8;               ///< local_sgd: between two changes that a rank sends
  std::size_t staleness = 4;  ///< asynchronous: steps that a rank makes before a peer takes one

  /// What is not sent yet is kept for the next step.
  bool compresses() const { return top_k > 0 || quantized; }
};

/// Each rank holds its own block only of what is sharded.
struct StrategyInfo {
  std::string_view name;
  bool shards_state;
  bool shards_gradients;
  bool shards_parameters;
  std::string_view summary;
  std::string_view bytes;        ///< sent by a rank in a step, as report/formulas.h writes it
  std::string_view memory;       ///< held by a rank, likewise
  bool has_local_steps = false;  ///< asynchronous; else each step's change is sent
};

/// The one table, in two parts; tests walk them. Ranks of the asynchronous ones do not wait for each
/// other (strategy/asynchronous.h), and there are no formulas for them.
std::span<const StrategyInfo> strategies();
std::span<const StrategyInfo> asynchronous_strategies();
bool is_asynchronous(const StrategyOptions& options);

/// The objects that a strategy uses. All of them outlive it.
struct Workplace {
  Communicator& world;
  const Layout& layout;
  const Optimizer& optimizer;
  Ledger& ledger;
  Stopwatch& watch;  ///< waiting for peers is Phase::communication

  const Machine& machine() const { return ledger.machine(); }
};

/// A collective that is waited for before its buffers are destroyed: declare it after them. If an
/// error ends the strategy early, the destructor waits until the call no longer uses them. An error
/// of the call itself is then dropped, as the first error is reported. Movable.
class Pending {
 public:
  Pending() = default;
  /// Starts it. The time that this takes counts as communication.
  Pending(const Workplace& place, const Collection& call) {
    const auto scope = place.watch.in(Phase::communication);
    work_ = place.machine().start(place.world, call);
  }
  ~Pending() { drop(); }
  Pending(Pending&& other) noexcept : work_(std::exchange(other.work_, nullptr)) {}
  Pending& operator=(Pending&& other) noexcept {
    drop();
    work_ = std::exchange(other.work_, nullptr);
    return *this;
  }
  /// Throws the call's error. Does nothing if there is none.
  void wait(Stopwatch& watch) {
    if (!work_) return;
    const auto scope = watch.in(Phase::communication);
    std::exchange(work_, nullptr)();
  }

 private:
  void drop() noexcept {
    try {
      if (work_) std::exchange(work_, nullptr)();
    } catch (...) {  // the communicator has failed: nothing is under way any more
    }
  }

  Machine::Wait work_{};
};

}  // namespace rondo::train
