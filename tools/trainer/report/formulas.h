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
};

/// As people write it, and what it gives.
struct Formula {
  std::string text{};
  double value = 0;
};

/// Payload bytes that a rank sends in a step. Throws Error{invalid_argument} for a strategy that is
/// not in the table above; so do the next two.
Formula bytes_a_step(std::string_view strategy, const Traits& traits);
/// Bytes that a rank combines with its own in a step where calls go round rings.
double reduced_bytes_a_step(std::string_view strategy, const Traits& traits);
/// Messages that a rank sends in a step where each call goes round a ring: as many as rounds.
Formula ring_messages_a_step(std::string_view strategy, const Traits& traits);
/// Bytes a rank holds beside activations and buffers.
Formula memory(std::string_view strategy, const Traits& traits);

/// S = P t_c / (t_c + max(0, t_comm - overlapped)): P ranks, each computing for t_c seconds a step,
/// against one that computes for P t_c.
double speed_up(int ranks, double compute, double communication, double overlapped);

}  // namespace rondo::train
