// The textbook's formulas for data parallelism, in one place and as they are right.
//
// P ranks and f = (P-1)/P, what a rank sends when every rank gives, or takes, a P-th of a vector; A
// micro-steps to a step. G are the bytes of the gradients on the wire, W those of the parameters.
// In memory: p, g and s bytes a parameter of parameters, gradients and optimizer state (which
// includes a float32 master copy where there is one).
//
//            a rank sends in a step             a rank holds, bytes a parameter
//   ddp      2f G   (2A f G where every          p + g + s
//            micro-step is reduced)
//   zero1    f G + f W                           p + g + s/P
//   zero2    A f G + f W                         p + (g + s)/P
//   zero3    A f G + 2A f W                      (p + g + s)/P
//
// So with rings, and with every algorithm that sends no byte twice: a mean over the ranks. one_shot
// and recursive_doubling send more (report/call_cost.h).
//
// With G = W: 2f, 2f, (A+1)f and 3A f times the model. With Adam in float32 (4, 4, 8) memory is 16,
// 8 + 8/P, 4 + 12/P and 16/P, in mixed precision (2, 2, 12) 16, 4 + 12/P, 2 + 14/P and 16/P.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo::train {

/// One training run, as far as formulas care.
struct Traits {
  int ranks = 1;
  std::size_t parameters = 0;
  std::size_t padding = 0;      ///< elements that travel in each pass over the model beside its own
  std::size_t micro_steps = 1;  ///< A
  bool reduces_every_micro_step = false;  ///< ddp without no_sync
  std::size_t calls = 1;     ///< collective calls that a pass over the model is cut into
  double gradient_wire = 4;  ///< bytes of an element
  double parameter_wire = 4;
  double parameter_bytes = 4;  ///< p
  double gradient_bytes = 4;   ///< g
  double state_bytes = 8;      ///< s
  /// Algorithms, as call_cost.h names them, of the calls that reduce gradients, and of those that
  /// gather parameters. One that is not there counts as a ring.
  std::string reduced_by = "ring";
  std::string gathered_by = "ring";
};

/// As people write it, and what it gives.
struct Formula {
  std::string text{};
  double value = 0;
};

/// Payload bytes that a rank sends in a step, mean over the ranks. Throws Error{invalid_argument}
/// for a strategy that is not in the table above; so do the next three.
Formula bytes_a_step(std::string_view strategy, const Traits& traits);
/// Messages likewise; in a ring as many as rounds.
Formula messages_a_step(std::string_view strategy, const Traits& traits);
/// The step's calls one after the other, as their algorithms' cost lines have it.
struct StepCost {
  double rounds = 0;
  double bytes = 0;  ///< sent by the busiest rank
  double added = 0;  ///< bytes that the busiest rank combines with its own
};
StepCost cost_of_a_step(std::string_view strategy, const Traits& traits);
/// The algorithms' cost lines in words, for people; empty where all calls go round rings.
std::string cost_line_words(std::string_view strategy, const Traits& traits);
/// Bytes a rank holds beside activations and buffers.
Formula memory(std::string_view strategy, const Traits& traits);

/// S = P t_c / (t_c + max(0, t_comm - overlapped)): P ranks, each computing for t_c seconds a step,
/// against one that computes for P t_c.
double speed_up(int ranks, double compute, double communication, double overlapped);

}  // namespace rondo::train
