// The textbook's formulas for data parallelism, corrected. The table of strategies
// (strategy/strategy.cc) has those of bytes and memory as text:
//
//   P, q      ranks, ceil(log2 P)
//   f         (P-1)/P: the share of a vector that a rank sends in a reduce-scatter or all-gather
//   A         micro-steps in a step
//   G, W      bytes of the gradients and of the parameters on the wire
//   p, g, s   bytes in memory for each parameter: parameter, gradient, optimizer state (with the
//             float32 master copy, if there is one)
//
// The bytes sent are means over the ranks. They hold for rings and for every algorithm that sends
// no byte twice. one_shot and recursive_doubling send more (formulas.cc).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/table.h"
#include "core/schedule/formula.h"
#include "tools/trainer/strategy/workplace.h"

namespace rondo::train {

/// The properties of a training run that formulas use.
struct Traits {
  StrategyInfo strategy{};  ///< not an asynchronous one
  int ranks = 1;
  std::size_t parameters = 0;
  std::size_t padding = 0;      ///< elements that travel in each pass over the model beside its own
  std::size_t micro_steps = 1;  ///< A
  bool reduces_every_micro_step = false;  ///< ddp without no_sync
  std::size_t calls = 1;     ///< collective calls that a pass over the model is cut into
  double element = 4;        ///< p and g, and bytes of a parameter on the wire
  double gradient_wire = 4;  ///< bytes of a gradient on the wire
  double state_bytes = 8;    ///< s
  /// The algorithms of the calls that reduce gradients and of those that gather parameters. One
  /// that formulas.cc does not know counts as a ring.
  std::string reduced_by = "ring";
  std::string gathered_by = "ring";
};

/// The cost of a collective call by one of the library's algorithms, as formulas in P and q
/// (core/schedule/formula.h). N is the whole vector, all blocks together. The base is of the busiest
/// rank; a run counts means over the ranks. A tree's inner ranks send more than its leaves.
struct CallCost : CostLine {
  Collective kind;
  std::string_view algorithm;
  std::string_view messages;   ///< sent by a rank, mean over the ranks
  std::string_view mean_sent;  ///< in N, mean over the ranks
};
/// Of an all_reduce, a reduce_scatter or an all_gather; nothing if that algorithm does not have it.
std::optional<CallCost> find_call_cost(Collective kind, std::string_view algorithm);

/// A formula as text, and its value.
struct Formula {
  std::string text{};
  double value = 0;
};

/// What the link between ranks can carry, as measured by `rondo calibrate`.
struct Link {
  double rate = 0;      ///< bytes a second that a rank sends while it receives as many; 0: unknown
  double alpha = 0;     ///< seconds a message
  double beta = 0;      ///< seconds a byte that a rank sends while it receives as many
  double gamma = 0;     ///< seconds a byte that is combined, beyond copying it; float32 sums
  std::string words{};  ///< for people: which transport, ranks and machine
};

/// The formulas of a strategy. A step's calls pass over the model so many times.
class StepFormulas {
 public:
  /// The traits outlive it.
  explicit StepFormulas(const Traits& traits);

  Collective reducing() const { return costs_[0].kind; }  ///< all_reduce or reduce_scatter
  std::size_t reductions() const { return reduces_each_ ? traits_.micro_steps : 1; }
  std::size_t gathers() const {
    return row_.shards_parameters ? 2 * traits_.micro_steps : row_.shards_state ? 1 : 0;
  }
  /// Payload bytes that a rank sends in a step, mean over the ranks.
  Formula bytes() const;
  /// The same for messages. A ring has as many messages as rounds.
  Formula messages() const;
  /// Bytes that a rank holds, without activations and buffers.
  Formula memory() const;
  /// Of the step's calls one after the other, by their algorithms' cost lines.
  double seconds(const Link& link) const;
  /// Whether all calls go round rings. If not, cost_words() has their algorithms' cost lines.
  bool are_rings() const;
  std::string cost_words() const;

 private:
  double sum(std::string_view CallCost::*term, double reduction, double gather) const;
  double elements() const { return static_cast<double>(traits_.parameters + traits_.padding); }

  const StrategyInfo& row_;
  const Traits& traits_;
  bool reduces_each_;  ///< in every micro-step, not only in the last
  Variables variables_;
  std::vector<CallCost> costs_;  ///< of a reduction, and of a gather if there is one
};

}  // namespace rondo::train
